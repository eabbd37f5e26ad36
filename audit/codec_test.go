package audit

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"flag"

	"github.com/stretchr/testify/require"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/merkle"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet")

type memFile struct{ data []byte }

func (f *memFile) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(b []byte, at int64) (int, error) {
	if end := at + int64(len(b)); end > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
	}
	return copy(f.data[at:], b), nil
}

func (f *memFile) Truncate(size int64) error {
	for int64(len(f.data)) < size {
		f.data = append(f.data, 0)
	}
	f.data = f.data[:size]
	return nil
}
func (f *memFile) Close() error         { return nil }
func (f *memFile) Sync() error          { return nil }
func (f *memFile) Size() (int64, error) { return int64(len(f.data)), nil }

func testLeaves(first, count int) []Leaf {
	out := make([]Leaf, count)
	for i := range out {
		n := first + i
		out[i] = Leaf{Time: int64(n) * 1000, Data: fmt.Appendf(nil, `{"leaf":%d}`, n)}
		for k := range n % 4 {
			out[i].Keys = append(out[i].Keys, uint64(n%10)<<8|uint64(k))
		}
	}
	return out
}

func testSegment(t testing.TB, number uint64) (*memFile, *segmentFooter) {
	t.Helper()
	form := geometry{SegmentLevelMin}
	f := &memFile{}
	parts, err := writeSegment(f, form, number, 0, func(i int) (*bundleInput, error) {
		return newBundleInput(testLeaves(int(form.firstLeaf(number))+i*BundleLeaves, BundleLeaves), nil)
	}, &pacer{})
	require.NoError(t, err)
	return f, parts
}

func TestLeafHashIsTheLibrarys(t *testing.T) {
	hash := new(merkle.Hasher)
	for _, data := range [][]byte{nil, {0}, []byte("abc"), make([]byte, LeafSizeMax)} {
		h := hash.Leaf(data)
		require.Equal(t, rfc6962.DefaultHasher.HashLeaf(data), h[:])
	}
	a, b := Hash{1}, Hash{2}
	h := hashChildren(&a, &b)
	require.Equal(t, rfc6962.DefaultHasher.HashChildren(a[:], b[:]), h[:])
	for _, n := range []int{1, 2, 4, 128, 256, 512, 4096} {
		level := make([][]byte, n)
		hashes := make([]Hash, n)
		for i := range level {
			hashes[i] = Hash{byte(i), byte(i >> 8)}
			level[i] = slices.Clone(hashes[i][:])
		}
		for len(level) > 1 {
			for i := range len(level) / 2 {
				level[i] = rfc6962.DefaultHasher.HashChildren(level[2*i], level[2*i+1])
			}
			level = level[:len(level)/2]
		}
		root := subtreeRoot(hashes)
		require.Equal(t, level[0], root[:], "%d hashes", n)
	}
}

func TestFrameRoundTrip(t *testing.T) {
	for name, leaf := range map[string]Leaf{
		"empty":   {},
		"usual":   {Time: 1, Data: []byte("{}"), Keys: []uint64{1, 1 << 63}},
		"largest": {Time: -1, Data: make([]byte, LeafSizeMax), Keys: make([]uint64, LeafKeysMax)},
	} {
		t.Run(name, func(t *testing.T) {
			b := appendFrame([]byte("before"), frameLeaf, 7, &leaf)[6:]
			f, n, ok := decodeFrame(append(slices.Clone(b), "behind"...))
			require.True(t, ok)
			require.Equal(t, len(b), n)
			require.Equal(t, uint64(7), f.index)
			got := f.toLeaf(new([]uint64))
			require.Equal(t, leaf.Time, got.Time)
			require.Equal(t, leaf.Keys, got.Keys)
			require.True(t, bytes.Equal(leaf.Data, got.Data))
			for i := range min(len(b), 300) {
				bad := slices.Clone(b)
				bad[i] ^= 0x10
				_, _, ok := decodeFrame(bad)
				require.False(t, ok, "byte %d", i)
			}
			_, _, ok = decodeFrame(b[:len(b)-1])
			require.False(t, ok)
		})
	}
}

// The scanner finds the next frame after damage, wherever the damage is, even across the border
// of the scanner's window.
func TestScannerFindsTheNextFrame(t *testing.T) {
	var file []byte
	var starts []int64
	big := Leaf{Data: make([]byte, 50_000)}
	for i := range uint64(60) {
		starts = append(starts, int64(len(file)))
		file = appendFrame(file, frameLeaf, i, &big)
	}
	require.Greater(t, len(file), 2*scanWindow)
	for i := range 59 {
		bad := slices.Clone(file)
		bad[starts[i]+100] ^= 1
		scan := &frameScanner{file: &memFile{bad}, size: int64(len(bad))}
		f, start, n, err := scan.nextFrame(starts[i])
		require.NoError(t, err)
		require.Equal(t, starts[i+1], start)
		require.Equal(t, uint64(i+1), f.index)
		require.Positive(t, n)
	}
	zeros := &memFile{make([]byte, 3*scanWindow)}
	_, _, n, err := (&frameScanner{file: zeros, size: 3 * scanWindow}).nextFrame(0)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestBundleRoundTripAndLimits(t *testing.T) {
	for _, shape := range [][2]int{{1, 0}, {255, 0}, {256, 0}, {1, 1}, {256, 1}, {256, 200}, {256, 256}} {
		count, erased := shape[0], shape[1]
		leaves := testLeaves(3, count)
		leaves[0].Time = -5
		for i := range leaves[:erased] {
			leaves[i] = Leaf{Hash: Hash{1, byte(i)}, Erased: true}
		}
		raw, err := AppendBundle(nil, leaves)
		require.NoError(t, err)
		got, err := ParseBundle(raw, count)
		require.NoError(t, err)
		for i := range leaves {
			require.Equal(t, string(leaves[i].Data), string(got[i].Data))
			require.Equal(t, leaves[i].Time, got[i].Time)
			require.True(t, slices.Equal(leaves[i].Keys, got[i].Keys))
			require.Equal(t, leaves[i].Erased, got[i].Erased)
			require.Equal(t, leaves[i].Hash, got[i].Hash)
		}
		_, err = ParseBundle(append(raw, 0), count)
		require.ErrorIs(t, err, errBundle, "a byte too many")
		for cut := 1; cut < min(len(raw), 500); cut++ {
			_, err = ParseBundle(raw[:len(raw)-cut], count)
			require.Error(t, err, "cut %d", cut)
		}
	}
	_, err := AppendBundle(nil, nil)
	require.ErrorIs(t, err, ErrLimit)
	_, err = AppendBundle(nil, testLeaves(0, 257))
	require.ErrorIs(t, err, ErrLimit)
	_, err = ParseBundle(make([]byte, 4), 257)
	require.ErrorIs(t, err, ErrLimit)

	largest := make([]Leaf, BundleLeaves)
	for i := range largest {
		largest[i] = Leaf{Time: int64(i%2) << 62, Data: make([]byte, LeafSizeMax), Keys: make([]uint64, LeafKeysMax)}
	}
	raw, err := appendBundle(nil, largest)
	require.NoError(t, err)
	packed := compressBundle(nil, raw)
	back, err := decompressBundle(packed, len(raw))
	require.NoError(t, err)
	require.True(t, bytes.Equal(raw, back))
	_, err = decompressBundle(packed, len(raw)-1)
	require.Error(t, err)
	_, err = decompressBundle(packed, len(raw)+1)
	require.Error(t, err)
	_, err = decompressBundle(packed, bundleRawSizeMax+1)
	require.ErrorIs(t, err, ErrLimit)
}

func TestFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 20, 1000, 200_000} {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = uint64(i) << 20 // keys that are poor hashes
		}
		filter, blocks := appendFilter(nil, slices.Clone(keys))
		require.Equal(t, filterSize(blocks), int64(len(filter)))
		ask := func(k uint64) bool {
			if blocks == 0 {
				return false
			}
			at, size := filterPageOf(k, blocks)
			has, sound := filterHas(filter[at:at+int64(size)], k, blocks)
			require.True(t, sound)
			return has
		}
		for _, k := range keys {
			require.True(t, ask(k))
		}
		wrong := 0
		for range 20_000 {
			if ask(random.Uint64() | 1) {
				wrong++
			}
		}
		require.Less(t, wrong, 20_000/100, "%d keys", n)
		shuffled := append(slices.Clone(keys), keys...)
		random.Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		again, _ := appendFilter(nil, shuffled)
		require.Equal(t, filter, again, "depends on the set alone")
	}
}

func TestSegmentNames(t *testing.T) {
	for _, n := range []uint64{0, 999, 1000, 12345, 999_999_999} {
		number, suffix, ok := parseSegmentName(segmentName(n, segmentSuffix))
		require.True(t, ok)
		require.Equal(t, segmentSuffix, suffix)
		require.Equal(t, n, number)
		number, ok = parseTailName(tailName(n))
		require.True(t, ok)
		require.Equal(t, n, number)
	}
	require.Equal(t, "000/012/345.seg", segmentName(12345, segmentSuffix))
	for _, bad := range []string{"", "000/000", "0/0/0.seg", "000/0a0/000.seg", "000/000/000/000.seg", "-01/000/000.seg", "+01/000/000.seg"} {
		_, _, ok := parseSegmentName(bad)
		require.False(t, ok, bad)
	}
	for _, bad := range []string{"1.log", "000000001.tmp", "+00000001.log"} {
		_, ok := parseTailName(bad)
		require.False(t, ok, bad)
	}
}

// The golden files of format 1 never change: every later program must read them.
func TestGoldenFiles(t *testing.T) {
	f, parts := testSegment(t, 3)
	var tail []byte
	for i, leaf := range testLeaves(3*512, 5) {
		tail = appendFrame(tail, frameLeaf, 3*512+uint64(i), &leaf)
	}
	tail = appendFrame(tail, frameMark, 3*512+5, &Leaf{Time: int64(len(tail))})
	for name, content := range map[string][]byte{"testdata/segment-v1.seg": f.data, "testdata/tail-v1.log": tail} {
		if _, err := os.Stat(name); *update && os.IsNotExist(err) {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(name, content, 0o644))
		}
	}
	golden, err := os.ReadFile("testdata/segment-v1.seg")
	require.NoError(t, err)
	info, err := provenSegment(&memFile{golden}, geometry{SegmentLevelMin}, 3, parts.info.root)
	require.NoError(t, err)
	require.Equal(t, int64(3*512*1000), info.timeFirst)
	open, err := readSegment(&memFile{golden}, "golden", geometry{SegmentLevelMin}, 3)
	require.NoError(t, err)
	b, err := open.readBundle(1)
	require.NoError(t, err)
	require.Equal(t, `{"leaf":1792}`, string(b.leafData(0)))

	golden, err = os.ReadFile("testdata/tail-v1.log")
	require.NoError(t, err)
	require.Equal(t, golden, tail, "frames are fixed to the byte")
	tl := newTail(geometry{SegmentLevelMin}, 3, &memFile{golden})
	report, err := tl.recoverFrames(false)
	require.NoError(t, err)
	require.Equal(t, &TailReport{File: "tail/000000003.log", Leaves: 5}, report)
}

// Cut segments (version 2) and frames of erased leaves have golden files, too.
func TestGoldenFilesOfErasure(t *testing.T) {
	f, parts := testSegment(t, 3)
	form := geometry{SegmentLevelMin}
	whole, err := readSegment(f, "segment", form, 3)
	require.NoError(t, err)
	cut := &memFile{}
	_, err = writeCut(cut, whole, 300, func(i int) ([]Hash, error) { return parts.hashes[i*BundleLeaves:][:BundleLeaves], nil })
	require.NoError(t, err)
	var tail []byte
	for i, leaf := range testLeaves(3*512, 5) {
		if i < 2 {
			leaf = Leaf{Time: leaf.Time, Hash: parts.hashes[i], Erased: true}
		}
		tail = appendLeafFrame(tail, 3*512+uint64(i), &leaf)
	}
	for name, content := range map[string][]byte{"testdata/segment-v2.seg": cut.data, "testdata/tail-v2.log": tail} {
		if _, err := os.Stat(name); *update && os.IsNotExist(err) {
			require.NoError(t, os.WriteFile(name, content, 0o644))
		}
	}
	golden, err := os.ReadFile("testdata/segment-v2.seg")
	require.NoError(t, err)
	info, err := provenSegment(&memFile{golden}, form, 3, parts.info.root)
	require.NoError(t, err)
	require.Equal(t, 300, info.cut)
	open, err := readSegment(&memFile{golden}, "golden", form, 3)
	require.NoError(t, err)
	_, err = open.readBundle(0)
	require.ErrorIs(t, err, ErrPruned)
	b, err := open.readBundle(1)
	require.NoError(t, err)
	require.Equal(t, 44, b.erasedBefore)
	require.Equal(t, `{"leaf":1836}`, string(b.leafData(0)))

	golden, err = os.ReadFile("testdata/tail-v2.log")
	require.NoError(t, err)
	require.Equal(t, golden, tail, "frames are fixed to the byte")
	tl := newTail(form, 3, &memFile{golden})
	report, err := tl.recoverFrames(false)
	require.NoError(t, err)
	require.Equal(t, &TailReport{File: "tail/000000003.log", Leaves: 5}, report)
	require.Equal(t, 2, tl.erasedEnd())
	require.Equal(t, parts.hashes[1], tl.hashes[1])
}

func TestHashFileKeepsTheTree(t *testing.T) {
	f, parts := testSegment(t, 1)
	open, err := readSegment(f, "segment", geometry{SegmentLevelMin}, 1)
	require.NoError(t, err)
	erased := &memFile{}
	_, err = writeCut(erased, open, int(open.info.leaves()), func(i int) ([]Hash, error) {
		tile, err := open.readTile(i)
		return hashesOf(tile), err
	})
	require.NoError(t, err)
	info, err := provenSegment(erased, geometry{SegmentLevelMin}, 1, parts.info.root)
	require.NoError(t, err)
	require.True(t, info.erased)
	hashes, err := readSegment(erased, "hashes", geometry{SegmentLevelMin}, 1)
	require.NoError(t, err)
	_, err = hashes.readBundle(0)
	require.ErrorIs(t, err, ErrPruned)
	tile, err := hashes.readTile(1)
	require.NoError(t, err)
	require.Equal(t, appendHashes(nil, parts.hashes[256:]), tile)
}

func FuzzTail(f *testing.F) {
	var tail []byte
	for i, leaf := range testLeaves(512, 4) {
		tail = appendFrame(tail, frameLeaf, 512+uint64(i), &leaf)
		if i == 2 {
			tail = appendFrame(tail, frameMark, 515, &Leaf{Time: int64(len(tail))})
		}
	}
	f.Add(tail)
	f.Add(appendLeafFrame(slices.Clone(tail), 516, &Leaf{Hash: Hash{5}, Erased: true}))
	f.Add(tail[:len(tail)-3])
	f.Add(append(slices.Clone(tail[:50]), tail[60:]...))
	f.Fuzz(func(t *testing.T, file []byte) {
		disk := &memFile{slices.Clone(file)}
		first := newTail(geometry{SegmentLevelMin}, 1, disk)
		report, err := first.recoverFrames(false)
		if err != nil {
			return // the same leaf twice with different bytes
		}
		kept := int64(len(file)) - report.Cut
		if rest, whole := bytes.CutPrefix(disk.data, file[:kept]); !whole || len(rest) != 0 && len(rest) != frameHeaderSize {
			t.Fatalf("%d bytes of %d, %d cut", len(disk.data), len(file), report.Cut) // A mark may be written again.
		}
		second := newTail(geometry{SegmentLevelMin}, 1, disk)
		again, err := second.recoverFrames(false)
		if err != nil || again.Cut != 0 || again.Leaves != report.Leaves {
			t.Fatalf("recovered twice: %+v, then %+v, %v", report, again, err)
		}
		for k := range first.place {
			if first.hasLeaf(k) {
				if _, err := first.readFrame(k); err != nil {
					t.Fatalf("leaf %d: %v", k, err)
				}
			}
		}
	})
}

func FuzzSegment(f *testing.F) {
	good, parts := testSegment(f, 2)
	f.Add(good.data)
	golden, err := os.ReadFile("testdata/segment-v1.seg")
	require.NoError(f, err)
	f.Add(golden)
	f.Add(good.data[:len(good.data)-1])
	f.Fuzz(func(t *testing.T, file []byte) {
		_, err := provenSegment(&memFile{file}, geometry{SegmentLevelMin}, 2, parts.info.root)
		if err != nil {
			return
		}
		open, err := readSegment(&memFile{file}, "fuzz", geometry{SegmentLevelMin}, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range open.table {
			b, err := open.readBundle(i)
			if open.info.erased {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for k, leaf := range testLeaves(2*512+i*BundleLeaves, BundleLeaves) {
				if !bytes.Equal(b.leafData(k), leaf.Data) {
					t.Fatalf("forged leaf %d of bundle %d", k, i)
				}
			}
		}
	})
}

func FuzzBundle(f *testing.F) {
	raw, err := AppendBundle(nil, testLeaves(0, 3))
	require.NoError(f, err)
	f.Add(raw, 3)
	f.Add([]byte{0, 0, 0, 0, 0}, 1)
	f.Add(append([]byte{2}, bytes.Repeat([]byte{7}, 2*hashSize)...), 2)
	f.Fuzz(func(t *testing.T, raw []byte, count int) {
		leaves, err := ParseBundle(raw, count)
		if err != nil {
			return
		}
		again, err := AppendBundle(nil, leaves)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseBundle(again, count)
		if err != nil {
			t.Fatal(err)
		}
		for i := range leaves {
			if !bytes.Equal(leaves[i].Data, back[i].Data) || leaves[i].Time != back[i].Time || !slices.Equal(leaves[i].Keys, back[i].Keys) {
				t.Fatalf("leaf %d changed", i)
			}
		}
	})
}

func FuzzFrontier(f *testing.F) {
	f.Add(encodeFrontier(5, make([]Hash, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if size, frontier, ok := decodeFrontier(b); ok && !bytes.Equal(encodeFrontier(size, frontier), b) {
			t.Fatal("another form")
		}
	})
}

func FuzzDecompress(f *testing.F) {
	f.Add(compressBundle(nil, []byte("hello hello hello")), 17)
	f.Fuzz(func(t *testing.T, packed []byte, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		if raw, err := decompressBundle(packed, size); err == nil && len(raw) != size {
			t.Fatal(len(raw))
		}
	})
}
