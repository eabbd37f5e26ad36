package feed

import (
	"bytes"
	"strings"
)

// The two XML formats: root elements and namespaces.
const (
	namespaceBase     = "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/"
	namespaceEnhanced = namespaceBase + "ENHANCED_XML"
	namespaceAdvanced = namespaceBase + "ADVANCED_XML"
	rootEnhanced      = "sanctionsData"
	rootAdvanced      = "Sanctions"

	// namespaceDelta is the Sanctions List Service's delta publication, which
	// has the same root element as ENHANCED.
	namespaceDelta = "https://www.treasury.gov/ofac/DeltaFile/1.0"
)

// sniffBytes is how many of a document's first bytes are needed to judge its encoding.
const sniffBytes = 6

var (
	markUTF8        = []byte("\xef\xbb\xbf")
	declarationOpen = []byte("<?xml")
	declarationEnd  = []byte("?>")
)

// openDocument skips the byte order mark and the XML declaration and stops at the root
// element. It refuses every encoding but UTF-8.
func (s *scanner) openDocument() bool {
	for s.end < sniffBytes && s.readMore() {
	}
	if s.failure != nil {
		return false
	}
	head := s.window[:s.end]
	switch {
	case len(head) == 0:
		return s.keepFailuref(ReasonEmpty, "the file is empty")
	case wideEncoding(head):
		return s.keepFailuref(ReasonEncoding, "the file is UTF-16 or UTF-32: UTF-8 was expected")
	}
	if bytes.HasPrefix(head, markUTF8) {
		s.start = len(markUTF8)
		for s.end-s.start < sniffBytes && s.readMore() {
		}
	}
	if bytes.HasPrefix(s.window[s.start:s.end], declarationOpen) && !s.xmlDeclaration() {
		return false
	}
	if s.nextTag() == tokenStart {
		return true
	}
	return s.keepFailuref(ReasonTruncated, "the document has no root element")
}

// wideEncoding recognises UTF-16 and UTF-32 by their byte order marks or by the zero bytes
// in their ASCII text.
func wideEncoding(head []byte) bool {
	if len(head) < 2 {
		return false
	}
	switch {
	case head[0] == 0xfe && head[1] == 0xff, head[0] == 0xff && head[1] == 0xfe:
		return true
	case head[0] == 0 && head[1] == 0:
		return true
	}
	return head[0] == 0 && isPrintable(head[1]) || isPrintable(head[0]) && head[1] == 0
}

func isPrintable(b byte) bool { return b >= ' ' && b < 0x7f }

// xmlDeclaration reads <?xml version="1.0" encoding="utf-8"?>.
func (s *scanner) xmlDeclaration() bool {
	var length int
	for {
		rest := s.window[s.start:s.end]
		length = bytes.Index(rest, declarationEnd)
		if length >= 0 {
			break
		}
		if len(rest) > TagBytesMax {
			return s.keepFailuref(ReasonTooLarge, "the XML declaration is longer than %d bytes", TagBytesMax)
		}
		if !s.readMore() {
			return s.keepFailuref(ReasonTruncated, "the XML declaration has no end")
		}
	}
	inside := s.window[s.start+len(declarationOpen) : s.start+length]
	s.attributes, s.decoded = s.attributes[:0], s.decoded[:0]
	for {
		inside = bytes.TrimLeft(inside, " \t\r\n")
		if len(inside) == 0 {
			break
		}
		n := s.attributePair(inside)
		if n == 0 {
			return s.keepFailuref(ReasonMalformed, "the XML declaration")
		}
		inside = inside[n:]
	}
	if version, _ := s.findAttribute("version"); string(version) != "1.0" {
		return s.keepFailuref(ReasonMalformed, "XML version %s: 1.0 was expected", quoteShort(version))
	}
	if encoding, ok := s.findAttribute("encoding"); ok && !strings.EqualFold(string(encoding), "utf-8") {
		return s.keepFailuref(ReasonEncoding, "encoding %s declared: UTF-8 was expected", quoteShort(encoding))
	}
	s.start += length + len(declarationEnd)
	return true
}

// expectRoot refuses a root element or namespace other than the given ones.
func (s *scanner) expectRoot(element, namespace string) bool {
	declared, _ := s.findAttribute("xmlns")
	if string(s.name) == element && string(declared) == namespace {
		return true
	}
	hint := ""
	switch {
	case strings.EqualFold(string(s.name), "html"):
		hint = "an HTML page: "
	case string(declared) == namespaceDelta:
		hint = "a delta publication, which is not a full list: "
	case string(s.name) == "sdnList":
		hint = "the legacy SDN.XML form, which is not read: "
	}
	return s.keepFailuref(ReasonRoot, "%sroot element <%s> in namespace %q: <%s> in %q was expected",
		hint, s.name[:min(len(s.name), LabelBytesMax)], declared[:min(len(declared), LabelBytesMax)], element, namespace)
}

// closeDocument reads to the end of the source, so that it notices a damaged tail or
// anything after the document.
func (s *scanner) closeDocument() error {
	if s.failure != nil {
		return s.failure
	}
	s.mode = textBlank
	if t := s.nextTag(); t != tokenEOF {
		s.keepFailuref(ReasonMalformed, "more follows the end of the document")
	}
	return s.failure
}
