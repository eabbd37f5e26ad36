package feed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
)

// content is the plain content of a document being read.
type content struct {
	io.ReadCloser
	loader   *loader
	document *document
	stored   *countedReaderAt
	sum      hash.Hash // Set for a plain file on disk, while it is read; else nil.
}

// openContent opens a document. It reads a compressed file into memory first, so that the
// parser sees exactly the bytes that are hashed; it hashes a plain file while the parser
// reads it.
func (l *loader) openContent(d *document) (*content, error) {
	c := &content{loader: l, document: d}
	var source io.ReaderAt = bytes.NewReader(d.data)
	if d.path != "" {
		file, err := os.Open(d.path)
		if err != nil {
			return nil, err
		}
		l.open = append(l.open, file)
		head := make([]byte, markBytesMax)
		n, err := file.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return nil, err
		}
		source = file
		if compressionOf(head[:n]) == compressionNone {
			c.sum = sha256.New()
		} else {
			if d.data, err = readAll(file, CompressedBytesMax); err != nil {
				return nil, err
			}
			d.size = int64(len(d.data))
			source = bytes.NewReader(d.data)
		}
	}
	if c.sum == nil && d.sum == "" {
		sum := sha256.Sum256(d.data)
		d.sum = hex.EncodeToString(sum[:])
	}
	c.stored = &countedReaderAt{source: source, content: c}
	members, err := openStored(c.stored, d.size)
	if err != nil {
		return nil, err
	}
	if d.path != "" && len(members) != 1 {
		return nil, newRefusal(ReasonCompression, "a zip archive of %d members: one was expected", len(members))
	}
	c.ReadCloser, err = members[d.member].open()
	return c, err
}

// readAll reads at most max bytes.
func readAll(r io.Reader, max int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(data)) > max {
		err = newRefusal(ReasonTooLarge, "a compressed file of more than %d bytes", max)
	}
	return data, err
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.sum != nil {
		c.sum.Write(p[:n])
	}
	return n, err
}

// finishDocument closes the document after its parser reached its end.
func (c *content) finishDocument() error {
	if c.sum != nil {
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
		c.document.sum = hex.EncodeToString(c.sum.Sum(nil))
	}
	c.document.data = nil
	c.loader.tellProgress(c.document, c.document.size)
	c.loader.read += c.document.size
	return c.Close()
}

// countedReaderAt reports how much of a stored file was read.
type countedReaderAt struct {
	source  io.ReaderAt
	content *content
	read    int64
}

// ReadAt implements io.ReaderAt.
func (c *countedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.source.ReadAt(p, at)
	c.read += int64(n)
	c.content.loader.tellProgress(c.content.document, c.read)
	return n, err
}

// tellProgress reports that read bytes of d are read. It caps the count at the file's size,
// because an archive's directory is read before its members.
func (l *loader) tellProgress(d *document, read int64) {
	if l.report == nil {
		return
	}
	read = min(read, d.size)
	total := max(l.total, d.size) // No document is chosen yet while the loader identifies files.
	l.report(Progress{File: d.name, FileRead: read, FileTotal: d.size, Read: min(l.read+read, total), Total: total})
}
