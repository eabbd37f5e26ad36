package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// packedOf returns a packed bundle with one file.
func packedOf(t testing.TB, name string, content io.Reader, size int64) []byte {
	var out bytes.Buffer
	compressed, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	archive := tar.NewWriter(compressed)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg}))
	_, err = io.CopyN(archive, content, size)
	require.NoError(t, err)
	require.NoError(t, errors.Join(archive.Close(), compressed.Close()))
	return out.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A packed bundle of somebody else must not fill the reader's disk.
func TestUnpackRefusesWhatSwells(t *testing.T) {
	dir := t.TempDir()
	data := packedOf(t, RecordsName, zeros{}, 64<<20)
	require.Less(t, len(data), 64<<10)
	require.ErrorIs(t, Unpack(bytes.NewReader(data), dir), errBomb)
	info, err := os.Stat(filepath.Join(dir, RecordsName))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(20<<20), "it ended early")

	require.NoError(t, Unpack(bytes.NewReader(packedOf(t, RecordsName, bytes.NewReader(make([]byte, 3<<20)), 3<<20)), t.TempDir()), "a little is nothing")
	for _, name := range []string{"../" + RecordsName, "/etc/passwd", "lists/../x", "lists"} {
		require.ErrorIs(t, Unpack(bytes.NewReader(packedOf(t, name, zeros{}, 3)), t.TempDir()), ErrBundle, name)
	}
}

// Whatever stands behind the end of a packed bundle is refused, since other programs read it.
func TestNothingStandsBehindABundle(t *testing.T) {
	whole := packedOf(t, RecordsName, zeros{}, 300_000)
	require.NoError(t, Unpack(bytes.NewReader(whole), t.TempDir()))
	encode := func(data []byte, options ...zstd.EOption) []byte {
		encoder, err := zstd.NewWriter(nil, options...)
		require.NoError(t, err)
		return encoder.EncodeAll(data, nil)
	}
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	archive, err := decoder.DecodeAll(whole, nil)
	require.NoError(t, err)
	again, err := decoder.DecodeAll(packedOf(t, pageName, bytes.NewReader([]byte("<p>forged")), 9), nil)
	require.NoError(t, err)
	skipped := []byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
	require.NoError(t, Unpack(bytes.NewReader(encode(archive, zstd.WithEncoderCRC(false))), t.TempDir()), "without a checksum")
	for name, packed := range map[string][]byte{
		"a byte":                          append(whole[:len(whole):len(whole)], 0),
		"bytes":                           append(whole[:len(whole):len(whole)], "forged"...),
		"a second archive":                append(whole[:len(whole):len(whole)], encode(again)...),
		"the same again":                  append(whole[:len(whole):len(whole)], whole...),
		"an empty frame":                  append(whole[:len(whole):len(whole)], encode(nil)...),
		"bytes to be skipped":             append(whole[:len(whole):len(whole)], skipped...),
		"bytes to be skipped in judge":    append(skipped[:len(skipped):len(skipped)], whole...),
		"a second archive in the frame":   encode(append(archive[:len(archive):len(archive)], again...)),
		"zeros in the frame":              encode(append(archive[:len(archive):len(archive)], make([]byte, 512)...)),
		"a byte in the frame":             encode(append(archive[:len(archive):len(archive)], 'x')),
		"a frame without its checksum":    whole[:len(whole)-4],
		"a frame without its last blocks": whole[:len(whole)/2],
	} {
		require.ErrorIs(t, Unpack(bytes.NewReader(packed), t.TempDir()), ErrBundle, name)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(packedOf(f, RecordsName, zeros{}, 300))
	f.Add([]byte("no bundle"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "in")
		require.NoError(t, os.Mkdir(dir, 0o700))
		_ = Unpack(bytes.NewReader(data), dir)
		outside, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Len(t, outside, 1, "nothing stands beside the folder")
	})
}
