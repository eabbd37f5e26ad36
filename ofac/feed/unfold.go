package feed

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// compression is how a stored file is packed. The first bytes decide, never the name: a
// mirror may unpack a file on the way.
type compression uint8

const (
	compressionNone compression = iota
	compressionGzip
	compressionBzip2
	compressionZstd
	compressionZip
)

var compressionMarks = []struct {
	mark []byte
	is   compression
}{
	{[]byte("\x1f\x8b"), compressionGzip},
	{[]byte("BZh"), compressionBzip2},
	{[]byte("\x28\xb5\x2f\xfd"), compressionZstd},
	{[]byte("PK\x03\x04"), compressionZip},
	{[]byte("PK\x05\x06"), compressionZip}, // An archive without members.
}

// markBytesMax is the length of the longest compression mark.
const markBytesMax = 4

func compressionOf(head []byte) compression {
	for i := range compressionMarks {
		if bytes.HasPrefix(head, compressionMarks[i].mark) {
			return compressionMarks[i].is
		}
	}
	return compressionNone
}

// Open returns the plain content of a stored file of size bytes, which may be packed as
// gzip, bzip2, Zstandard or a zip archive of one member. Reading fails with an *Error
// beyond UncompressedBytesMax and on a damaged stream.
func Open(stored io.ReaderAt, size int64) (io.ReadCloser, error) {
	members, err := openStored(stored, size)
	if err != nil {
		return nil, err
	}
	if len(members) != 1 {
		return nil, newRefusal(ReasonCompression, "a zip archive of %d members: one was expected", len(members))
	}
	return members[0].open()
}

// member is one document inside a stored file. A file that is no archive has itself as its
// only member, without a name.
type member struct {
	name string
	open func() (io.ReadCloser, error)
}

// openStored finds how a file is packed and lists its members.
func openStored(stored io.ReaderAt, size int64) ([]member, error) {
	head := make([]byte, markBytesMax)
	n, err := stored.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, refuseWith(err, ReasonRead, "reading: %v", err)
	}
	if size == 0 || n == 0 {
		return nil, newRefusal(ReasonEmpty, "the file is empty")
	}
	packed := compressionOf(head[:n])
	if packed == compressionNone && size > UncompressedBytesMax {
		return nil, tooLarge(UncompressedBytesMax)
	}
	if packed != compressionNone && size > CompressedBytesMax {
		return nil, newRefusal(ReasonTooLarge, "a compressed file of %d bytes: at most %d were expected", size, CompressedBytesMax)
	}
	if packed == compressionZip {
		return openZip(stored, size)
	}
	return []member{{open: func() (io.ReadCloser, error) {
		return openCompressed(io.NewSectionReader(stored, 0, size), packed, UncompressedBytesMax)
	}}}, nil
}

func tooLarge(bytesMax int64) *Error {
	return newRefusal(ReasonTooLarge, "the content unfolds to more than %d bytes", bytesMax)
}

// openCompressed opens one compressed stream, limited to bytesMax bytes of plain content.
func openCompressed(stored io.Reader, packed compression, bytesMax int64) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(stored, 64<<10)
	switch packed {
	case compressionGzip:
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, refuseWith(err, ReasonCompression, "gzip: %v", err)
		}
		return &bounded{source: r, form: "gzip", max: bytesMax}, nil
	case compressionBzip2:
		return &bounded{source: bzip2.NewReader(buffered), form: "bzip2", max: bytesMax}, nil
	case compressionZstd:
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(ZstdWindowBytesMax), zstd.WithDecoderMaxMemory(UncompressedBytesMax))
		if err != nil {
			return nil, refuseWith(err, ReasonCompression, "zstd: %v", err)
		}
		return &bounded{source: r, form: "zstd", max: bytesMax, release: r.Close}, nil
	}
	return &bounded{source: buffered, max: bytesMax}, nil
}

// bounded reads at most max bytes, so that it refuses a decompression bomb while it
// unfolds. It gives the errors of decompressors a Reason.
type bounded struct {
	source  io.Reader
	form    string // Name of the compressed form; empty for plain content.
	max     int64
	read    int64
	release func()
	once    [1]byte
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.read == b.max { // Does one more byte follow than is allowed?
		if n, err := b.source.Read(b.once[:]); n == 0 {
			return 0, b.withReason(err)
		}
		return 0, tooLarge(b.max)
	}
	n, err := b.source.Read(p[:min(int64(len(p)), b.max-b.read)])
	b.read += int64(n)
	return n, b.withReason(err)
}

func (b *bounded) withReason(err error) error {
	var known *Error
	switch {
	case err == nil || err == io.EOF || errors.As(err, &known):
		return err
	case b.form == "":
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuseWith(err, ReasonTruncated, "the %s stream is cut short", b.form)
	case errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded):
		return refuseWith(err, ReasonTooLarge, "the zstd stream asks for more memory than allowed: %v", err)
	}
	return refuseWith(err, ReasonCompression, "the %s stream is damaged: %v", b.form, err)
}

// Close implements io.Closer.
func (b *bounded) Close() error {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	return nil
}
