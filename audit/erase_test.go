package audit_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// looker reads a store's folder by docs/formats-audit.md alone, without the code that writes
// it.
type looker struct {
	t     tester
	texts map[string]string // all readable content, by file
	named map[string]string // Key: a leaf's text, such as txn_00000007. Value: a file that holds it.
	// Filters of segments and of their bundles; each function looks a key up.
	filters []func(key uint64) bool
}

func look(t tester, d *audittest.MemDir) *looker {
	l := &looker{t: t, texts: map[string]string{}, named: map[string]string{}}
	for name, size := range d.Files() {
		content := ""
		if size > 0 {
			content = contentOf(t, d, name)
		}
		l.texts[name] = content
		if name == "filters.idx" {
			l.filterFile([]byte(content))
		}
		if strings.HasSuffix(name, ".seg") {
			l.texts[name] = content + l.segment([]byte(content))
		}
	}
	for name, content := range l.texts {
		for at := strings.Index(content, "txn_"); at >= 0 && len(content) >= at+12; at = strings.Index(content, "txn_") {
			l.named[content[at:at+12]] = name
			content = content[at+4:]
		}
	}
	return l
}

func (l *looker) segment(b []byte) (text string) {
	require.Greater(l.t, len(b), 192)
	trailer := b[len(b)-128:]
	table := int(binary.LittleEndian.Uint64(trailer[40:]))
	filters, filterSize := len(b)-128, int(binary.LittleEndian.Uint64(trailer[48:]))
	filters -= bloomSize(binary.LittleEndian.Uint32(trailer[56:]))
	l.filters = append(l.filters, bloom(b[filters:], binary.LittleEndian.Uint32(trailer[56:])))
	filters -= filterSize
	decoder, err := zstd.NewReader(nil)
	require.NoError(l.t, err)
	defer decoder.Close()
	for i := range smallSegment / 256 {
		row := b[table+48*i:]
		at, packed := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint32(row[8:])
		block, err := decoder.DecodeAll(b[at:at+uint64(packed)], nil)
		require.NoError(l.t, err)
		if packed > 0 {
			raw, err := s2.Decode(nil, block)
			require.NoError(l.t, err)
			text += string(raw)
		}
		l.filters = append(l.filters, bloom(b[filters+int(binary.LittleEndian.Uint32(row[24:])):], binary.LittleEndian.Uint32(row[28:])))
	}
	return text
}

// filterFile adds the filters in the file of all filters, including void ones.
func (l *looker) filterFile(b []byte) {
	for len(b) > 0 {
		blocks := binary.LittleEndian.Uint32(b[16:])
		l.filters = append(l.filters, bloom(b[24:], blocks))
		b = b[24+bloomSize(blocks):]
	}
}

func bloomSize(blocks uint32) int { return int((blocks+126)/127*4 + blocks*32) }

func bloom(b []byte, blocks uint32) func(key uint64) bool {
	salts := [...]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}
	return func(k uint64) bool {
		if blocks == 0 {
			return false
		}
		k ^= k >> 33
		k *= 0xff51afd7ed558ccd
		k ^= k >> 33
		k *= 0xc4ceb9fe1a85ec53
		k ^= k >> 33
		block := uint32((k >> 32) * uint64(blocks) >> 32)
		at := 4*(block/127+1) + 32*block
		for i, salt := range salts {
			if binary.LittleEndian.Uint32(b[at+uint32(4*i):])>>(uint32(k)*salt>>27)&1 == 0 {
				return false
			}
		}
		return true
	}
}

func (l *looker) hasText(leaf uint64) (file string) { return l.named[fmt.Sprintf("txn_%08d", leaf)] }

// ownKeys returns the leaves below end whose own key is anywhere in a file.
func (l *looker) ownKeys(end uint64) (leaves []uint64) {
	sought := map[uint64]uint64{}
	for leaf := range end {
		sought[ownKey(leaf)] = leaf
	}
	for _, content := range l.texts {
		window := uint64(0) // The last eight bytes, little-endian.
		for i := range len(content) {
			window = window>>8 | uint64(content[i])<<56
			if leaf, ok := sought[window]; ok && i >= 7 {
				leaves = append(leaves, leaf)
			}
		}
	}
	return leaves
}

func (l *looker) passes(key uint64) bool {
	for _, filter := range l.filters {
		if filter(key) {
			return true
		}
	}
	return false
}

// requireErased requires that no file holds the text of a leaf below oldest.
func requireErased(t tester, d *audittest.MemDir, oldest uint64) {
	t.Helper()
	l := look(t, d)
	for i := range oldest {
		require.Empty(t, l.hasText(i), "leaf %d of %d that are past retention", i, oldest)
	}
}

// ownKey returns a key that only this leaf has, like that of a name or a wallet.
func ownKey(index uint64) uint64 { return 0x9e3779b97f4a7c15 * (index + 1) }

func fillOwn(t tester, s *audit.Store, end uint64) {
	t.Helper()
	for first := s.Size(); first < end; {
		stop := min(end, first+100)
		leaves := leavesAt(first, stop)
		for i := range leaves {
			leaves[i].Keys = append(leaves[i].Keys, ownKey(first+uint64(i)))
		}
		require.NoError(t, s.Append(first, leaves))
		first = stop
	}
}

// Text and keys of leaves past retention are gone from every file, wherever the border is and
// whether the leaves are sealed. The other leaves are unchanged.
func TestErasedLeavesAreGoneFromEveryFile(t *testing.T) {
	for _, size := range []uint64{1, 300, smallSegment, smallSegment + 300, 2*smallSegment + 10} {
		for _, oldest := range []uint64{1, 100, 255, 256, 257, 511, 512, 513, 700, 1024} {
			if oldest > size {
				continue
			}
			t.Run(fmt.Sprintf("%d of %d", oldest, size), func(t *testing.T) {
				d := audittest.NewMemDir()
				s := open(t, d, small)
				fillOwn(t, s, size)
				require.NoError(t, s.SyncTo(size))
				root, err := s.Root(size)
				require.NoError(t, err)
				s.Prune(oldest)
				for n := 1; n > 0; {
					n, err = s.Erase(oldest, 1)
					require.NoError(t, err)
				}
				requireOwn(t, d, s, oldest, size)

				s = reopen(t, s, d)
				require.Equal(t, oldest, s.Oldest(), "known without being told")
				requireOwn(t, d, s, oldest, size)
				again, err := s.Root(size)
				require.NoError(t, err)
				require.Equal(t, root, again)
				require.NoError(t, s.Append(0, leavesAt(0, size)), "a replay is still compared")

				fillOwn(t, s, size+smallSegment) // Seals the tail.
				require.NoError(t, s.SyncTo(s.Size()))
				requireOwn(t, d, s, oldest, s.Size())
				require.Equal(t, rootOf(t, s.Size()), rootNow(t, s))
				require.Empty(t, s.Missing(3))
			})
		}
	}
}

func reopen(t tester, s *audit.Store, d *audittest.MemDir) *audit.Store {
	t.Helper()
	require.NoError(t, s.Close())
	return open(t, d, small)
}

func rootNow(t tester, s *audit.Store) audit.Hash {
	t.Helper()
	root, err := s.Root(s.Size())
	require.NoError(t, err)
	return root
}

func requireOwn(t *testing.T, d *audittest.MemDir, s *audit.Store, oldest, size uint64) {
	t.Helper()
	l := look(t, d)
	require.Empty(t, l.ownKeys(oldest), "leaves whose key is still in a file")
	passed := 0
	for i := range oldest {
		require.Empty(t, l.hasText(i), "leaf %d", i)
		if l.passes(ownKey(i)) {
			passed++
		}
		_, err := s.Leaf(i)
		require.ErrorIs(t, err, audit.ErrPruned)
		_, err = s.Inclusion(i, size)
		require.NoError(t, err, "leaf %d stays provable", i)
	}
	require.LessOrEqual(t, passed, 3+int(oldest)/10, "filters still know the keys of erased leaves")
	for i := oldest; i < size; i++ {
		require.NotEmpty(t, l.hasText(i), "leaf %d", i)
		got, err := s.Record(i)
		require.NoError(t, err)
		require.Equal(t, string(leafAt(i).Data), string(got.Data))
		if i%61 == 0 || i == oldest || i == size-1 {
			require.Equal(t, []uint64{i}, scanAll(t, s, audit.Query{To: size, Keys: []uint64{ownKey(i)}}))
		}
	}
	sum, err := s.Verify(t.Context(), func(d *audit.DamageError) { t.Errorf("%v", d) })
	require.NoError(t, err)
	require.Zero(t, sum.Missing)
	require.Equal(t, size-oldest, sum.Leaves)
}

// For leaves past retention a peer sends only hashes, even if its disk still has the text. A peer
// whose retention mark is behind may send the text. The node that fetches does not keep it.
func TestCatchUpBringsNothingBack(t *testing.T) {
	for _, size := range []uint64{300, smallSegment + 300} {
		for _, oldest := range []uint64{100, 256, 270} {
			for _, erased := range []bool{false, true} {
				for name, behind := range map[string]bool{"both know": false, "the peer is behind": true} {
					t.Run(fmt.Sprintf("%d of %d %v %s", oldest, size, erased, name), func(t *testing.T) {
						peer := open(t, audittest.NewMemDir(), small)
						fillOwn(t, peer, size)
						if !behind {
							peer.Prune(oldest)
							requireGivesHashes(t, peer, oldest)
						}
						if erased {
							_, err := peer.Erase(size, 5)
							require.NoError(t, err)
						}
						d := audittest.NewMemDir()
						s := open(t, d, small)
						s.Prune(oldest)
						catchUp(t, s, peer)
						require.NoError(t, s.SyncTo(size))
						requireOwn(t, d, s, oldest, size)
						require.Equal(t, rootOf(t, size), rootNow(t, s))
						s = reopen(t, s, d)
						require.Empty(t, s.Missing(3))
						requireOwn(t, d, s, oldest, size)
					})
				}
			}
		}
	}
}

func requireGivesHashes(t *testing.T, peer *audit.Store, oldest uint64) {
	t.Helper()
	for bundle := uint64(0); bundle*256 < oldest; bundle++ {
		leaves, err := peer.Bundle(bundle, int(min(256, peer.Size()-256*bundle)))
		require.NoError(t, err)
		for i, leaf := range leaves {
			if index := 256*bundle + uint64(i); index < oldest {
				require.Equal(t, audit.Leaf{Hash: audit.Hash(leafHash(leafAt(index).Data)), Erased: true}, leaf)
			}
		}
	}
}

// Hashes are not accepted in place of leaves within retention, neither for single leaves nor
// for a segment that was cut.
func TestErasedLeavesAreNotTakenForOnesThatAreOwed(t *testing.T) {
	const size = smallSegment + 300
	peer := open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	peer.Prune(smallSegment + 10)
	root := rootNow(t, peer)
	s := open(t, audittest.NewMemDir(), small)
	frontier, err := peer.Frontier(size)
	require.NoError(t, err)
	require.NoError(t, s.Adopt(size, frontier))
	roots, err := peer.SegmentRoots(size)
	require.NoError(t, err)
	require.NoError(t, s.ImportRoots(roots))
	s.Prune(smallSegment + 9)
	leaves, err := peer.Bundle(2, 256)
	require.NoError(t, err)
	path, err := peer.BundleProof(2, 256, size)
	require.NoError(t, err)
	trust := audit.Trust{Size: size, Root: root}
	require.ErrorIs(t, s.ImportBundle(2, leaves, trust, path), audit.ErrMissing)
	forged := append([]audit.Leaf{}, leaves...)
	forged[3].Hash[0]++
	s.Prune(smallSegment + 10)
	require.ErrorIs(t, s.ImportBundle(2, forged, trust, path), audit.ErrUnproven)
	require.NoError(t, s.ImportBundle(2, leaves, trust, path))

	peer = open(t, audittest.NewMemDir(), small)
	fill(t, peer, size)
	peer.Prune(20)
	file, err := peer.ExportSegment(0)
	require.NoError(t, err)
	defer file.Close()
	s = open(t, audittest.NewMemDir(), small)
	require.NoError(t, s.Adopt(size, frontier))
	require.NoError(t, s.ImportRoots(roots))
	s.Prune(19)
	require.ErrorIs(t, s.ImportSegment(0, file, file.Size()), audit.ErrUnproven)
	s.Prune(20)
	file, err = peer.ExportSegment(0)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, s.ImportSegment(0, file, file.Size()))
}

// Damage in a part of a segment does not stop the erasure of other parts, and hides nothing.
func TestErasureGoesOnThroughDamage(t *testing.T) {
	const size = smallSegment + 10
	for name, bit := range map[string]int64{"the bundle that is cut": 64 + 300, "the bundle that stays": 0} {
		t.Run(name, func(t *testing.T) {
			d := audittest.NewMemDir()
			s := open(t, d, small)
			fillOwn(t, s, size)
			if bit == 0 {
				content := contentOf(t, d, "000/000/000.seg")
				table := binary.LittleEndian.Uint64([]byte(content[len(content)-128+40:]))
				bit = int64(binary.LittleEndian.Uint64([]byte(content[table+48:]))) + 300
			}
			require.NoError(t, d.FlipBit("000/000/000.seg", 8*bit))
			s = reopen(t, s, d)
			s.Prune(100)
			n, err := s.Erase(100, 5)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			n, err = s.Erase(100, 5)
			require.NoError(t, err)
			require.Zero(t, n)
			sum, err := s.Verify(t.Context(), nil)
			require.NoError(t, err)
			require.Positive(t, sum.Damaged, "it is still asked for")
			_, err = s.Scan(audit.Query{To: size, Keys: []uint64{ownKey(400)}}, func(uint64, audit.Leaf) bool { return true })
			if name == "the bundle that stays" {
				require.ErrorIs(t, err, audit.ErrCorrupt, "what cannot be read is not passed over")
			}
			peer := open(t, audittest.NewMemDir(), small)
			fillOwn(t, peer, size)
			catchUp(t, s, peer)
			requireOwn(t, d, s, 100, size)
		})
	}
}

// Appends, syncs and reads go on during erasure.
func TestErasureBesideEverything(t *testing.T) {
	const size = 2*smallSegment + 300
	d := audittest.NewMemDir()
	s := open(t, d, audit.Options{SegmentLevel: audit.SegmentLevelMin})
	fillOwn(t, s, 200)
	var all sync.WaitGroup
	all.Go(func() { fillOwn(t, s, size) })
	all.Go(func() {
		for s.Size() < size {
			require.NoError(t, s.SyncTo(s.Size()))
		}
	})
	all.Go(func() {
		for s.Size() < size {
			oldest, newest := s.Oldest(), s.Size()
			for i := oldest; i < newest; i += 7 {
				got, err := s.Record(i)
				if i < s.Oldest() {
					continue
				}
				require.NoError(t, err)
				require.Equal(t, string(leafAt(i).Data), string(got.Data))
			}
		}
	})
	for s.Size() < size {
		s.Prune(s.Size() / 2)
		_, err := s.Erase(size, 10)
		require.NoError(t, err)
	}
	all.Wait()
	s.Prune(size - 20)
	for n := 1; n > 0; {
		var err error
		n, err = s.Erase(size, 10)
		require.NoError(t, err)
	}
	require.NoError(t, s.SyncTo(size))
	requireOwn(t, d, s, size-20, size)
	requireOwn(t, d, reopen(t, s, d), size-20, size)
}

// The file of all filters answers for segments whose own files are not opened. It is rebuilt
// if it is lost or damaged, and a search never misses a leaf.
func TestFiltersOfAllSegmentsInOneFile(t *testing.T) {
	const size = 6*smallSegment + 20
	d := audittest.NewMemDir()
	s := open(t, d, small)
	fillOwn(t, s, size)
	absent := audit.Query{To: 6 * smallSegment, Keys: []uint64{0x1234_5678_9abc}}
	cheap, err := s.Scan(absent, nil)
	require.NoError(t, err)
	require.Equal(t, 6, cheap.Examined, "one for a segment")
	for name, spoil := range map[string]func(){
		"lost":     func() { require.NoError(t, d.Remove("filters.idx")) },
		"cut":      func() { truncate(t, d, "filters.idx", 50) },
		"damaged":  func() { require.NoError(t, d.FlipBit("filters.idx", 8*(24+10))) },
		"a header": func() { require.NoError(t, d.FlipBit("filters.idx", 8*9)) },
	} {
		require.NoError(t, s.Close())
		spoil()
		s = open(t, d, small)
		for _, i := range []uint64{3, 700, 3000, size - 1} {
			require.Equal(t, []uint64{i}, scanAll(t, s, audit.Query{To: size, Keys: []uint64{ownKey(i)}}), name)
		}
		_, err := s.Scan(absent, nil)
		require.NoError(t, err)
		again, err := s.Scan(absent, nil)
		require.NoError(t, err)
		require.Equal(t, 6, again.Examined, "%s: made again", name)
	}
	s.Prune(3*smallSegment + 100)
	_, err = s.Erase(size, 10)
	require.NoError(t, err)
	requireOwn(t, d, s, 3*smallSegment+100, size)
}

func truncate(t *testing.T, d *audittest.MemDir, name string, size int64) {
	t.Helper()
	f, err := d.Create(name)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Close())
}
