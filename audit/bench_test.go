package audit_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/merkle"
)

// record returns a leaf with the size and content of a screening record: about 600 bytes,
// partly random like ids, salts and wallets.
func record(random *rand.Rand, index uint64) audit.Leaf {
	data := fmt.Appendf(nil, `{"txnId":"txn_%08x","verdict":"PROCEED","rule":"R%d","reason":"all rules passed","screenedAt":"2026-03-01T12:%02d:%02d.%03dZ",`+
		`"salt":"%016x%016x","agentId":"agt_%06x","agentName":"Procurement Agent %d","operatorLegalName":"Example Holdings %d GmbH",`+
		`"_request":{"amount":%d.%02d,"chain":"BASE","cpWallet":"0x%016x%016x%08x","cpName":"Vendor %d Ltd","rail":"x402"},`+
		`"listVersion":"%016x","policyVersion":12,"requestHash":"%016x%016x","evidence":{"spent":%d,"velocity":%d}}`,
		random.Uint32(), random.IntN(25), random.IntN(60), random.IntN(60), random.IntN(1000), random.Uint64(), random.Uint64(),
		random.IntN(1000), random.IntN(1000), random.IntN(300), random.IntN(9999), random.IntN(100), random.Uint64(), random.Uint64(),
		random.Uint32(), random.IntN(5000), 77777777, random.Uint64(), random.Uint64(), random.IntN(1e9), random.IntN(100))
	return audit.Leaf{
		Time: int64(index) * 1_000_000, Data: data,
		Keys: []uint64{random.Uint64N(1000), 1 << 40, uint64(2<<40 + random.IntN(25)), random.Uint64(), 3<<40 + random.Uint64N(5000)},
	}
}

func records(n int) []audit.Leaf {
	random := rand.New(rand.NewPCG(1, 1))
	out := make([]audit.Leaf, n)
	for i := range out {
		out[i] = record(random, 0)
	}
	return out
}

// BenchmarkAppend measures one leaf: hash, frame and write without sync, in batches of a log
// entry's size. In "sealing", full segments are sealed on the same cores meanwhile; the other
// cases stay within one segment.
func BenchmarkAppend(b *testing.B) {
	leaves := records(8192)
	run := func(name string, batch, perStore uint64) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(leaves[0].Data)))
			b.ReportAllocs()
			var s *audit.Store
			for at := uint64(0); b.Loop(); at++ {
				if s == nil || s.Size()+batch > perStore {
					b.StopTimer()
					s = open(b, audit.OSDir(b.TempDir()), audit.Options{})
					b.StartTimer()
				}
				if at%batch == 0 {
					from := at % 8192
					if err := s.Append(s.Size(), leaves[from:from+batch]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	for _, batch := range []uint64{1, 64, 512} {
		run(fmt.Sprintf("batch=%d", batch), batch, 1<<16-1)
	}
	run("batch=512/sealing", 512, 1<<62)
	for i := range leaves {
		leaves[i].Hash = new(merkle.Hasher).Leaf(leaves[i].Data)
	}
	run("batch=512/hashed", 512, 1<<16-1)
	run("batch=512/hashed/sealing", 512, 1<<62)
}

// filled returns a store with n records in sealed segments.
func filled(b *testing.B, n uint64) *audit.Store {
	b.Helper()
	s := open(b, audit.OSDir(b.TempDir()), audit.Options{SealInline: true})
	random := rand.New(rand.NewPCG(2, 2))
	batch := make([]audit.Leaf, 512)
	for s.Size() < n {
		for i := range batch {
			batch[i] = record(random, s.Size()+uint64(i))
		}
		require.NoError(b, s.Append(s.Size(), batch[:min(512, n-s.Size())]))
	}
	return s
}

func BenchmarkLeaf(b *testing.B) {
	const sealed, size = 4 << 16, 4<<16 + 1<<15
	s := filled(b, size)
	random := rand.New(rand.NewPCG(3, 3))
	run := func(name string, next func(i uint64) uint64) {
		b.Run(name, func(b *testing.B) {
			i := uint64(0)
			for b.Loop() {
				if _, err := s.Leaf(next(i)); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
	run("tail", func(uint64) uint64 { return sealed + random.Uint64N(size-sealed) })
	run("sealed-random", func(uint64) uint64 { return random.Uint64N(sealed) })
	run("sealed-in-order", func(i uint64) uint64 { return i % sealed })
	b.Run("inclusion", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Inclusion(random.Uint64N(size), size); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("root", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Root(size); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan-absent-key", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Scan(audit.Query{To: sealed, Keys: []uint64{99 << 40}}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan-by-agent-100", func(b *testing.B) {
		for b.Loop() {
			found := 0
			if _, err := s.Scan(audit.Query{To: size, Newest: true, Keys: []uint64{random.Uint64N(1000)}},
				func(uint64, audit.Leaf) bool { found++; return found < 100 }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	s := open(b, audit.OSDir(b.TempDir()), audit.Options{SealInline: true})
	leaves := records(512)
	for b.Loop() {
		for range 128 {
			if err := s.Append(s.Size(), leaves); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkImportSegment takes a whole segment from a peer: it writes the file, unpacks and
// hashes every leaf, compares the filters and syncs. MB/s counts the file's bytes.
func BenchmarkImportSegment(b *testing.B) {
	peer := filled(b, 1<<16+1)
	frontier, err := peer.Frontier(peer.Size())
	require.NoError(b, err)
	roots, err := peer.SegmentRoots(peer.Size())
	require.NoError(b, err)
	file, err := peer.ExportSegment(0)
	require.NoError(b, err)
	defer file.Close()
	data, err := io.ReadAll(file)
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s := open(b, audit.OSDir(b.TempDir()), audit.Options{})
		require.NoError(b, s.Adopt(peer.Size(), frontier))
		require.NoError(b, s.ImportRoots(roots))
		b.StartTimer()
		if err := s.ImportSegment(0, bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(1<<16)*float64(b.N)/b.Elapsed().Seconds(), "leaves/s")
}

// BenchmarkHistory reports the memory and disk that a long history takes:
// RAILGUARD_LEAVES=5000000 go test -run xxx -bench History -benchtime 1x
func BenchmarkHistory(b *testing.B) {
	n := uint64(200_000)
	if text := os.Getenv("RAILGUARD_LEAVES"); text != "" {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		require.NoError(b, err)
	}
	for b.Loop() {
		dir := b.TempDir()
		s, err := audit.Open(audit.OSDir(dir), audit.Options{})
		require.NoError(b, err)
		leaves := records(512)
		var peak uint64
		for s.Size() < n {
			for i := range leaves {
				leaves[i].Time = int64(s.Size())
				leaves[i].Keys[3] = s.Size() + uint64(i) // a wallet of its own
			}
			require.NoError(b, s.Append(s.Size(), leaves))
			if s.Size()%(1<<16) == 0 {
				peak = max(peak, heap())
			}
		}
		size := s.Size()
		for i := range uint64(1000) {
			_, err := s.Leaf(i * (size / 1000))
			require.NoError(b, err)
			_, err = s.Inclusion(i*(size/1000), size)
			require.NoError(b, err)
		}
		peak = max(peak, heap())
		runtime.GC()
		b.ReportMetric(float64(peak)/1e6, "peak-heap-MB")
		b.ReportMetric(float64(heap())/1e6, "settled-heap-MB")
		require.NoError(b, s.Close())
		s, err = audit.Open(audit.OSDir(dir), audit.Options{})
		require.NoError(b, err)
		require.Equal(b, size, s.Size())
		require.NoError(b, s.Close())
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRareKey searches for a key that no segment has. It uses many small segments,
// because it compares reading a page for each segment with opening a file for each.
func BenchmarkRareKey(b *testing.B) {
	const segments = 2000
	dir := b.TempDir()
	s := open(b, audit.OSDir(dir), small)
	fill(b, s, segments*smallSegment)
	run := func(name string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				q := audit.Query{To: segments * smallSegment, Keys: []uint64{99 << 40}}
				for done := false; !done; {
					page, err := s.Scan(q, nil)
					if err != nil {
						b.Fatal(err)
					}
					q.From, done = page.Next, page.Done
				}
			}
		})
	}
	run("one-file")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	var err error
	if s, err = audit.OpenReadOnly(audit.OSDir(dir), small); err != nil { // This case runs without the file of all filters.
		b.Fatal(err)
	}
	run("every-segment")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
