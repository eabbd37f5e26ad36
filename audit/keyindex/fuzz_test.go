package keyindex

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
)

// FuzzFile: a file of the index, whatever is in it, is refused or searched within its bounds. Its
// checksums are made right first if mend is set, so that what lies behind them is reached too.
func FuzzFile(f *testing.F) {
	for _, rows := range []int{1, 2, pageRows, 2*pageRows + 7} {
		data := fileOf(f, rows)
		f.Add(data, uint64(rows)<<56, false)
		f.Add(data, uint64(1)<<60, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, key uint64, mend bool) {
		if mend {
			data = mendSums(slices.Clone(data))
		}
		dir := audittest.NewMemDir()
		put(t, dir, "x", data)
		opened, err := openFile(dir, "x")
		if err != nil {
			return
		}
		defer opened.release()
		p := new(buffer)
		for _, key := range []uint64{key, 0, 1 << 63, 1<<64 - 1} {
			leaves, err := opened.search(nil, key, 5, p)
			require.LessOrEqual(t, len(leaves), 5)
			if err == nil && !mend {
				require.True(t, slices.IsSortedFunc(leaves, func(a, b uint64) int { return sign(b < a) }), "newest first")
			}
		}
		for reader := (&stored{file: opened}); ; {
			if _, err := reader.nextRow(); err != nil {
				break
			}
		}
	})
}

// fileOf returns a file with so many rows.
func fileOf(t testing.TB, count int) []byte {
	history := newRecent(0)
	for i := range count {
		history.add(&audit.Leaf{Time: int64(i), Keys: []uint64{uint64(i%200+1) << 56}, Data: []byte{1}}, func(uint64) bool { return true })
	}
	history.add(&audit.Leaf{Data: []byte{1}}, func(uint64) bool { return false })
	dir := audittest.NewMemDir()
	x := &Index{dir: dir, options: Options{Inline: true}, stop: make(chan struct{})}
	slices.SortFunc(history.rows, row.compare)
	made, err := x.writeRows(history.stretch, uint64(len(history.rows)), &listed{history.rows})
	require.NoError(t, err)
	size, err := made.source.Size()
	require.NoError(t, err)
	data := make([]byte, size)
	require.NoError(t, readFull(made.source, data, 0))
	made.release()
	return data
}

func put(t testing.TB, dir audit.Dir, name string, data []byte) {
	file, err := dir.Create(name)
	require.NoError(t, err)
	_, err = file.WriteAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// mendSums makes the checksums of a file right, as far as it goes.
func mendSums(data []byte) []byte {
	if len(data) < headerSize {
		return data
	}
	copy(data, magic)
	rows := binary.LittleEndian.Uint64(data[8+8*4:])
	binary.LittleEndian.PutUint64(data[8+8*5:], uint64(blocksFor(rows)))
	binary.LittleEndian.PutUint32(data[headerSize-4:], crc32.Checksum(data[:headerSize-4], castagnoli))
	pages := func(from, to, page int) {
		for ; from+4 <= to; from += page {
			end := min(from+page, to)
			binary.LittleEndian.PutUint32(data[from:], crc32.Checksum(data[from+4:end], castagnoli))
		}
	}
	filter := headerSize + filterSize(blocksFor(rows))
	if filter < headerSize || filter > int64(len(data)) {
		return data
	}
	pages(headerSize, int(filter), blocksPage)
	pages(int(filter), len(data), rowsPage)
	return data
}
