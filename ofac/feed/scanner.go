package feed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// scanner reads the part of XML 1.0 that OFAC's files use: one UTF-8 document of elements,
// attributes, text, CDATA and comments, in one namespace that the root declares. It is
// strict where encoding/xml is lenient, and about ten times as fast. It refuses document
// type declarations, processing instructions, entities other than the five predefined ones,
// prefixed elements and any second namespace, so nothing can ever expand.
//
// It is a pull reader. nextChild steps to the next child of the current element; the caller
// must then consume that child whole, by nextChild, readText or skipElement. The first
// failure is kept: from then on nextChild is false and the readers return nothing, so a
// parser checks for it once.
type scanner struct {
	source     io.Reader
	sourceDone bool
	window     []byte // window[start:end] is read and not yet consumed.
	start, end int
	consumed   int64 // Document bytes that left the window.
	failure    error // The first failure; it is never cleared by reading.

	path       []byte // Names of the open elements joined by '/'.
	marks      []int  // Length of path before each open element was added.
	rootSeen   bool
	selfClosed bool // The element just started also ended: <x/>.

	// name and attributes belong to the element just started and are valid
	// until the next step.
	name       []byte
	attributes []attribute
	decoded    []byte // Storage for attribute values in which references were replaced.

	mode textMode
	text []byte
}

type attribute struct{ name, value []byte }

// textMode says how the current reader treats text between two tags.
type textMode uint8

const (
	textBlank   textMode = iota // White space only.
	textSkip                    // Anything well-formed, dropped.
	textCollect                 // Anything well-formed, collected in scanner.text.
)

type token uint8

const (
	tokenFailed token = iota
	tokenStart
	tokenEnd
	tokenEOF
)

// windowBytes must exceed every bound on one token.
const windowBytes = 128 << 10

// emptyReadsMax bounds how often a source may return nothing without an error.
const emptyReadsMax = 100

func newScanner(source io.Reader) *scanner {
	return &scanner{source: source, window: make([]byte, windowBytes)}
}

// keepFailure keeps the first failure. It returns false for the caller's convenience.
func (s *scanner) keepFailure(err error) bool {
	if s.failure == nil {
		s.failure = err
	}
	return false
}

func (s *scanner) keepFailuref(reason Reason, format string, args ...any) bool {
	if s.failure != nil {
		return false
	}
	e := newRefusal(reason, format, args...)
	if s.source != nil { // The scanner inside a CSV parser has no document and no position.
		place := fmt.Sprintf("at byte %d", s.consumed+int64(s.start))
		if len(s.path) > 0 {
			place += fmt.Sprintf(", in %q", s.path)
		}
		e.Detail += " (" + place + ")"
	}
	return s.keepFailure(e)
}

// readMore makes room and reads more bytes. It returns false at the end of the source and
// on failure.
func (s *scanner) readMore() bool {
	if s.sourceDone || s.failure != nil {
		return false
	}
	if s.start > 0 {
		copy(s.window, s.window[s.start:s.end])
		s.consumed += int64(s.start)
		s.end -= s.start
		s.start = 0
	}
	if s.end == len(s.window) {
		return s.keepFailuref(ReasonTooLarge, "one token is longer than %d bytes", len(s.window))
	}
	for range emptyReadsMax {
		n, err := s.source.Read(s.window[s.end:])
		s.end += n
		if err != nil {
			s.sourceDone = true
			if err != io.EOF {
				s.keepFailure(readFailure(err))
				return false
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	return s.keepFailure(refuseWith(io.ErrNoProgress, ReasonRead, "the source gives no more bytes"))
}

// readFailure returns a refusal of the opening layer unchanged and turns any other error
// into one.
func readFailure(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuseWith(err, ReasonTruncated, "the file ends too early: %v", err)
	}
	return refuseWith(err, ReasonRead, "reading: %v", err)
}

// nextTag steps to the next tag or to the end of the document.
func (s *scanner) nextTag() token {
	if s.failure != nil {
		return tokenFailed
	}
	if s.selfClosed {
		s.selfClosed = false
		s.popElement()
		return tokenEnd
	}
	for {
		rest := s.window[s.start:s.end]
		at := bytes.IndexByte(rest, '<')
		if at > FieldBytesMax || at < 0 && len(rest) > FieldBytesMax {
			s.keepFailuref(ReasonTooLarge, "text longer than %d bytes without a tag", FieldBytesMax)
			return tokenFailed
		}
		if at < 0 {
			if s.readMore() {
				continue
			}
			return s.endOfSource(rest)
		}
		if at > 0 {
			if !s.takeText(rest[:at]) {
				return tokenFailed
			}
			s.start += at
		}
		t, again := s.readMarkup()
		if !again {
			return t
		}
	}
}

func (s *scanner) endOfSource(rest []byte) token {
	switch {
	case s.failure != nil:
	case len(s.marks) > 0:
		s.keepFailuref(ReasonTruncated, "the document ends with elements still open: it is cut short")
	case s.takeText(rest):
		s.start = s.end
		return tokenEOF
	}
	return tokenFailed
}

// readMarkup reads the markup that begins with the '<' at the window's start. again is true
// after a comment or CDATA, or when more bytes must be read first.
func (s *scanner) readMarkup() (t token, again bool) {
	rest := s.window[s.start:s.end]
	length := 0 // Length of the markup; 0 when its end is not in the window.
	switch {
	case len(rest) < 2:
	case rest[1] == '/':
		t = tokenEnd
		length = s.endTag(rest)
	case rest[1] == '!':
		again = true
		length = s.readDeclaration(rest)
	case rest[1] == '?':
		s.keepFailuref(ReasonMalformed, "a processing instruction: the published files hold none")
	default:
		t = tokenStart
		length = s.startTag(rest)
	}
	switch {
	case s.failure != nil:
		return tokenFailed, false
	case length > 0:
		s.start += length
		return t, again
	case len(rest) > FieldBytesMax || len(rest) > TagBytesMax && !bytes.HasPrefix(rest, cdataOpen):
		s.keepFailuref(ReasonTooLarge, "a tag longer than %d bytes", TagBytesMax)
		return tokenFailed, false
	case s.readMore():
		return tokenFailed, true
	}
	s.keepFailuref(ReasonTruncated, "the document ends inside a tag: it is cut short")
	return tokenFailed, false
}

var (
	commentOpen  = []byte("<!--")
	commentClose = []byte("-->")
	cdataOpen    = []byte("<![CDATA[")
	cdataClose   = []byte("]]>")
)

// readDeclaration reads a comment or a CDATA section and refuses everything else that
// begins with "<!". It returns the length, or 0 when the end is not in the window.
func (s *scanner) readDeclaration(rest []byte) int {
	switch {
	case bytes.HasPrefix(rest, commentOpen):
		at := bytes.Index(rest[len(commentOpen):], commentClose)
		if at < 0 {
			return 0
		}
		if !s.validText(rest[len(commentOpen):len(commentOpen)+at], false) {
			return 0
		}
		return len(commentOpen) + at + len(commentClose)
	case bytes.HasPrefix(rest, cdataOpen):
		at := bytes.Index(rest[len(cdataOpen):], cdataClose)
		if at < 0 {
			return 0
		}
		s.takeLiteral(rest[len(cdataOpen) : len(cdataOpen)+at])
		return len(cdataOpen) + at + len(cdataClose)
	case len(rest) < len(cdataOpen) && (bytes.HasPrefix(commentOpen, rest) || bytes.HasPrefix(cdataOpen, rest)):
		return 0
	}
	head := rest[:min(len(rest), len("<!DOCTYPE html>"))]
	if strings.EqualFold(string(head), "<!DOCTYPE html>") {
		s.keepFailuref(ReasonRoot, "an HTML page where a list file was expected")
		return 0
	}
	s.keepFailuref(ReasonEntity, "a document type declaration (%s): the published files hold none, and entities are never expanded", quoteShort(head))
	return 0
}

// endTag reads "</name>" and closes the element.
func (s *scanner) endTag(rest []byte) int {
	at := bytes.IndexByte(rest, '>')
	if at < 0 {
		return 0
	}
	name := bytes.TrimRight(rest[2:at], " \t\r\n")
	if len(s.marks) == 0 {
		s.keepFailuref(ReasonMalformed, "an end tag without a start tag")
		return 0
	}
	if open := s.openName(); !bytes.Equal(name, open) {
		s.keepFailuref(ReasonMalformed, "end tag %s where </%s> was expected", quoteShort(name), open)
		return 0
	}
	s.popElement()
	return at + 1
}

// openName is the name of the innermost open element.
func (s *scanner) openName() []byte {
	from := s.marks[len(s.marks)-1]
	if from > 0 {
		from++ // Position of the '/' before the name.
	}
	return s.path[from:]
}

func (s *scanner) pushElement(name []byte) bool {
	if len(s.marks) == DepthMax {
		return s.keepFailuref(ReasonTooLarge, "elements nested deeper than %d", DepthMax)
	}
	if len(s.marks) == 0 && s.rootSeen {
		return s.keepFailuref(ReasonMalformed, "a second root element")
	}
	s.rootSeen = true
	s.marks = append(s.marks, len(s.path))
	if len(s.path) > 0 {
		s.path = append(s.path, '/')
	}
	s.path = append(s.path, name...)
	return true
}

func (s *scanner) popElement() {
	last := len(s.marks) - 1
	s.path = s.path[:s.marks[last]]
	s.marks = s.marks[:last]
}

// nextChild steps to the next child of the current element. It returns false at the end of
// the element and on failure.
func (s *scanner) nextChild() bool {
	s.mode = textBlank
	return s.nextTag() == tokenStart
}

// skipElement consumes the element just started with all it holds.
func (s *scanner) skipElement() {
	s.mode = textSkip
	depth := len(s.marks)
	for len(s.marks) >= depth {
		if s.nextTag() == tokenFailed {
			return
		}
	}
}

// readText consumes the element just started, which may hold text only, and
// returns that text. It is valid until the next step.
func (s *scanner) readText() []byte {
	s.mode = textCollect
	s.text = s.text[:0]
	switch s.nextTag() {
	case tokenEnd:
		return s.text
	case tokenStart:
		s.keepFailuref(ReasonSchema, "an element where text was expected")
	}
	return nil
}

// findAttribute returns the value of an attribute of the element just started.
func (s *scanner) findAttribute(name string) ([]byte, bool) {
	for i := range s.attributes {
		if string(s.attributes[i].name) == name {
			return s.attributes[i].value, true
		}
	}
	return nil, false
}
