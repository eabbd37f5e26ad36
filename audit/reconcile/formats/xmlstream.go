package formats

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of an XML file.
const (
	xmlBytesMax  = 256 << 20
	xmlDepthMax  = 32
	xmlTextMax   = 4 << 10
	xmlTokenMax  = 4 * xmlTextMax // A text may be written with references, which are longer.
	xmlSlackSize = 64 << 10
)

var (
	errXMLBytes = errors.New("larger than 256 MiB")
	errXMLDepth = errors.New("nested more than 32 deep")
	errXMLText  = errors.New("a text of more than 4 KiB")
	errXMLDTD   = errors.New("a DTD or a processing instruction: neither belongs into a statement")
)

// boundedBytes gives an XML decoder its bytes one by one, and no more for one token than a token
// may have: the decoder itself would keep a text of any length.
type boundedBytes struct {
	inner *bufio.Reader
	total int64
	token int // Bytes left for the token that is being read.
}

func (b *boundedBytes) ReadByte() (byte, error) {
	if b.total++; b.total > xmlBytesMax {
		return 0, errXMLBytes
	}
	if b.token--; b.token < 0 {
		return 0, errXMLText
	}
	return b.inner.ReadByte()
}

// Read is never called: a decoder reads a source with ReadByte by that alone.
func (b *boundedBytes) Read([]byte) (int, error) {
	panic("BUG: an XML decoder that does not read bytes one by one")
}

// xmlStream reads XML as a stream: the path of the open elements, and the text of the innermost.
type xmlStream struct {
	decoder *xml.Decoder
	source  *boundedBytes
	space   string // The namespace of the first element, and of all that count.
	path    []byte // Names of the open elements with / between them, from the root's first child.
	depth   int
	foreign int // Depth of the element of another namespace that is open; 0: none.
	text    strings.Builder
	size    int
}

func newXMLStream(file io.Reader) *xmlStream {
	source := &boundedBytes{inner: bufio.NewReaderSize(file, xmlSlackSize)}
	s := &xmlStream{source: source, decoder: xml.NewDecoder(source)}
	s.decoder.Strict = true
	return s
}

// visitor takes elements. path has no root. Text is given at the end of an element that has no
// element inside.
type visitor interface {
	root(name xml.Name) error
	begin(path string, attributes []xml.Attr) error
	end(path, text string) error
}

// read reads the whole file.
func (s *xmlStream) read(v visitor) error {
	for {
		s.source.token = xmlTokenMax
		token, err := s.decoder.Token()
		if errors.Is(err, io.EOF) && s.space != "" {
			return nil
		}
		if err == nil {
			err = s.take(token, v)
		}
		if err != nil {
			at, _ := s.decoder.InputPos()
			return fmt.Errorf("line %d: %w", at, err)
		}
	}
}

func (s *xmlStream) take(token xml.Token, v visitor) error {
	switch t := token.(type) {
	case xml.StartElement:
		return s.open(&t, v)
	case xml.EndElement:
		return s.close(v)
	case xml.CharData:
		if s.size += len(t); s.size > xmlTextMax {
			return errXMLText
		}
		s.text.Write(t)
	case xml.Directive:
		return errXMLDTD
	case xml.ProcInst:
		if t.Target != "xml" || s.depth > 0 {
			return errXMLDTD
		}
	}
	return nil
}

func (s *xmlStream) open(t *xml.StartElement, v visitor) error {
	s.text.Reset()
	s.size = 0
	if s.depth++; s.depth > xmlDepthMax {
		return errXMLDepth
	}
	if s.depth == 1 {
		if s.space != "" {
			return errors.New("a second root element")
		}
		s.space = t.Name.Space
		return v.root(t.Name)
	}
	if s.foreign == 0 && t.Name.Space != s.space {
		s.foreign = s.depth
	}
	if s.foreign > 0 {
		return nil
	}
	if len(s.path) > 0 {
		s.path = append(s.path, '/')
	}
	s.path = append(s.path, t.Name.Local...)
	return v.begin(string(s.path), t.Attr)
}

func (s *xmlStream) close(v visitor) error {
	text := strings.TrimSpace(s.text.String())
	s.text.Reset()
	s.size = 0
	s.depth--
	switch {
	case s.depth == 0:
		return nil
	case s.foreign > 0:
		if s.depth < s.foreign {
			s.foreign = 0
		}
		return nil
	}
	path := string(s.path)
	s.path = s.path[:max(0, strings.LastIndexByte(path, '/'))]
	return v.end(path, text)
}
