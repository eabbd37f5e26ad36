package bundle

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Suffix ends the name of a packed bundle.
const Suffix = ".tar.zst"

// Bounds of a packed bundle.
const (
	filesMax = 10_000
	sizeMax  = 1 << 40 // Bytes of all files.

	// A packed bundle may come from an attacker. Records and lists shrink to a fifth or a
	// twentieth; a file that shrinks more than 256 times was made to fill a disk.
	expandFree     = 16 << 20 // The ratio of unpacked to packed bytes is checked only beyond so many unpacked bytes.
	expandRatioMax = 256
)

// countingReader counts the bytes read from a packed bundle.
type countingReader struct {
	io.Reader
	read int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// isBomb reports whether far more bytes were unpacked than an honest bundle gives for the
// packed bytes read so far.
func (c *countingReader) isBomb(written int64) bool {
	return written > expandFree && written/expandRatioMax > c.read
}

// packedNames matches the names that files of a packed bundle may have. None of them leads
// out of the folder.
var packedNames = regexp.MustCompile(`^(?:[A-Za-z0-9]+\.(?:ndjson|txt|json|html)|SHA256SUMS|lists/[0-9a-f]{64}\.entities|policies/[0-9]{1,20}\.json|(?:cases|records)/[0-9]{1,4}\.html)$`)

// IsBundleFile reports whether a file of a bundle can have that slash-separated name.
func IsBundleFile(name string) bool { return packedNames.MatchString(name) }

// Pack writes a folder as one file. Equal folders give equal bytes.
func Pack(dir string, out io.Writer) error {
	names, err := Folder(dir).Names()
	if err != nil {
		return err
	}
	compressed, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, name := range names {
		if err := packFile(archive, dir, name); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func packFile(archive *tar.Writer, dir, name string) (err error) {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// Unpack writes a packed bundle into an empty folder.
func Unpack(in io.Reader, dir string) error {
	return unpackFiles(in, sizeMax, func(name string, file io.Reader) error {
		return unpackFile(file, filepath.Join(dir, filepath.FromSlash(name)))
	})
}

// UnpackFiles reads a packed bundle of at most so many bytes into memory.
func UnpackFiles(in io.Reader, max int64) (Files, error) {
	files := Files{}
	err := unpackFiles(in, max, func(name string, file io.Reader) (err error) {
		if _, twice := files[name]; twice {
			return fs.ErrExist
		}
		files[name], err = io.ReadAll(file)
		return err
	})
	return files, err
}

// unpackFiles calls keep with every file of a packed bundle.
func unpackFiles(in io.Reader, max int64, keep func(name string, file io.Reader) error) error {
	packed := &countingReader{Reader: in}
	single := &singleReader{in: bufio.NewReader(packed)}
	compressed, err := zstd.NewReader(single, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return err
	}
	defer compressed.Close()
	archive := tar.NewReader(compressed)
	content := &boundedReader{archive: archive, packed: packed}
	size := int64(0)
	for count := 0; ; count++ {
		header, err := archive.Next()
		if err == io.EOF {
			return demandEnd(compressed, single)
		}
		if err != nil {
			return fmt.Errorf("%w: not a whole packed bundle: %w", ErrBundle, err)
		}
		if size += header.Size; header.Typeflag != tar.TypeReg || !packedNames.MatchString(header.Name) || count == filesMax || size > max {
			return fileError(header.Name, "does not belong to a bundle, or is too large")
		}
		if err := keep(header.Name, content); err != nil {
			return fileError(header.Name, "%w", err)
		}
	}
}

// demandEnd returns an error if anything stands behind the end of the archive, in its frame or
// behind it. Other programs read such bytes: "tar -i" unpacks a second archive over the first.
func demandEnd(compressed io.Reader, single *singleReader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(compressed, 1))
	if err == nil && n == 0 {
		_, err = single.in.ReadByte()
	}
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return fmt.Errorf("%w: not a whole packed bundle: %w", ErrBundle, err)
	}
	return fmt.Errorf("%w: something stands behind the end of the packed bundle", ErrBundle)
}

// singleReader reads exactly one zstd frame (RFC 8878, section 3.1.1): a decoder would go on with
// the next one.
type singleReader struct {
	in       *bufio.Reader
	left     int // Bytes until the next block's head.
	begun    bool
	last     bool // The block being read is the frame's last one.
	checksum bool
}

const (
	blockHead     = 3 // Bytes of a block's head.
	checksumBytes = 4 // Bytes of the checksum behind the last block.
)

func (f *singleReader) Read(p []byte) (int, error) {
	if f.left == 0 && len(p) > 0 {
		if f.last {
			return 0, io.EOF
		}
		if err := f.readHead(); err != nil {
			return 0, err
		}
	}
	n, err := f.in.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// readHead reads the head of the frame, or of the next block, without taking it.
func (f *singleReader) readHead() error {
	if !f.begun {
		start, _ := f.in.Peek(zstd.HeaderMaxSize)
		var head zstd.Header
		if err := head.Decode(start); err != nil {
			return err
		}
		if head.Skippable {
			return errors.New("begins with bytes that are to be skipped")
		}
		f.begun, f.checksum, f.left = true, head.HasCheckSum, head.HeaderSize
		return nil
	}
	start, err := f.in.Peek(blockHead)
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	word := int(start[0]) | int(start[1])<<8 | int(start[2])<<16
	size := word >> 3
	if word>>1&3 == 1 { // A run of one byte: its size is that of what it unpacks to.
		size = 1
	}
	f.last, f.left = word&1 != 0, blockHead+size
	if f.last && f.checksum {
		f.left += checksumBytes
	}
	return nil
}

var errBomb = errors.New("holds far more than a bundle of this size can")

// boundedReader reads the files of a packed bundle, until they are far more than its bytes give.
type boundedReader struct {
	archive *tar.Reader
	packed  *countingReader
	written int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.archive.Read(p)
	if b.written += int64(n); b.packed.isBomb(b.written) {
		err = errBomb
	}
	return n, err
}

func unpackFile(content io.Reader, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
