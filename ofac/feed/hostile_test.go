package feed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// parsers are the two XML parsers with a small valid file of each.
var parsers = []struct {
	name   string
	parse  func(io.Reader) (List, error)
	sample string
	root   string
	space  string
}{
	{"ADVANCED", ParseADVANCED, "advanced/sdn_advanced.xml", rootAdvanced, namespaceAdvanced},
	{"ENHANCED", ParseENHANCED, "enhanced/SDN_ENHANCED.XML", rootEnhanced, namespaceEnhanced},
}

// inUTF16 encodes text as UTF-16LE, with or without its byte order mark.
func inUTF16(text string, mark bool) string {
	var b strings.Builder
	if mark {
		b.WriteString("\xff\xfe")
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit))
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// billionLaughs is the classic document whose entities unfold without end.
const billionLaughs = `<?xml version="1.0"?>
<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
 <!ENTITY lol3 "&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;&lol2;">
]>
<lolz>&lol3;</lolz>`

// hostile is a document and the refusal it must get.
type hostile struct {
	text   string
	reason Reason
	detail string
}

// requireAllRefused parses each document and requires its refusal.
func requireAllRefused(t *testing.T, parse func(io.Reader) (List, error), documents map[string]hostile) {
	t.Helper()
	for name, document := range documents {
		t.Run(name, func(t *testing.T) {
			list, err := parse(strings.NewReader(document.text))
			requireRefused(t, err, document.reason, document.detail)
			require.Empty(t, list)
		})
	}
}

func TestHostileDocuments(t *testing.T) {
	for _, p := range parsers {
		good := string(sample(t, p.sample))
		root := fmt.Sprintf("<%s xmlns=%q>", p.root, p.space)
		requireAllRefused(t, p.parse, map[string]hostile{
			"empty":                   {"", ReasonEmpty, "the file is empty"},
			"only blanks":             {" \r\n", ReasonTruncated, "no root element"},
			"only a declaration":      {`<?xml version="1.0"?>`, ReasonTruncated, "no root element"},
			"declaration without end": {`<?xml version="1.0" `, ReasonTruncated, "no end"},
			"HTML with doctype":       {"<!DOCTYPE html><html></html>", ReasonRoot, "HTML page"},
			"HTML":                    {"<html><body>403</body></html>", ReasonRoot, "HTML page"},
			"JSON":                    {`{"error":"forbidden"}`, ReasonRoot, "an XML document was expected"},
			"text":                    {"Access denied", ReasonRoot, "an XML document was expected"},
			"billion laughs":          {billionLaughs, ReasonEntity, "document type declaration"},
			"external entity":         {`<!DOCTYPE a SYSTEM "http://127.0.0.1/x"><a/>`, ReasonEntity, "document type declaration"},
			"unknown entity":          {root + "<x>&lol;</x>", ReasonEntity, "&lol;"},
			"entity in an attribute":  {root + `<x a="&lol;"/>`, ReasonEntity, "&lol;"},
			"UTF-16 with mark":        {inUTF16(good, true), ReasonEncoding, "UTF-16"},
			"UTF-16 without mark":     {inUTF16(good, false), ReasonEncoding, "UTF-16"},
			"UTF-32":                  {"\x00\x00\xfe\xff\x00\x00\x00<", ReasonEncoding, "UTF-32"},
			"declared ISO-8859-1":     {`<?xml version="1.0" encoding="ISO-8859-1"?>` + root, ReasonEncoding, "ISO-8859-1"},
			"declared UTF-7":          {`<?xml version="1.0" encoding="UTF-7"?>` + root, ReasonEncoding, "UTF-7"},
			"XML 1.1":                 {`<?xml version="1.1"?>` + root, ReasonMalformed, "1.0 was expected"},
			"Latin-1 bytes":           {root + "<x>caf\xe9</x>", ReasonEncoding, "not UTF-8"},
			"overlong UTF-8":          {root + "<x>\xc0\xbc</x>", ReasonEncoding, "not UTF-8"},
			"surrogate":               {root + "<x>\xed\xa0\x80</x>", ReasonEncoding, "not UTF-8"},
			"NUL":                     {root + "<x>\x00</x>", ReasonEncoding, "control character 0x00"},
			"reference to NUL":        {root + "<x>&#0;</x>", ReasonMalformed, "&#0;"},
			"reference beyond":        {root + "<x>&#x110000;</x>", ReasonMalformed, "&#x110000;"},
			"reference to surrogate":  {root + "<x>&#xD800;</x>", ReasonMalformed, "&#xD800;"},
			"lone ampersand":          {root + "<x>A & B</x>", ReasonMalformed, "begins no reference"},
			"wrong root":              {fmt.Sprintf("<other xmlns=%q/>", p.space), ReasonRoot, "<other>"},
			"no namespace":            {"<" + p.root + "/>", ReasonRoot, `namespace ""`},
			"wrong namespace":         {fmt.Sprintf(`<%s xmlns="https://example.com/"/>`, p.root), ReasonRoot, "example.com"},
			"delta publication":       {fmt.Sprintf("<sanctionsData xmlns=%q/>", namespaceDelta), ReasonRoot, "delta publication"},
			"legacy SDN.XML":          {`<sdnList xmlns="https://example.com/sdn"/>`, ReasonRoot, "legacy SDN.XML"},
			"inner namespace":         {root + `<x xmlns="https://example.com/"/>`, ReasonRoot, "namespace of its own"},
			"prefixed element":        {root + `<a:x/>`, ReasonRoot, "prefix"},
			"processing instruction":  {root + `<?php x ?>`, ReasonMalformed, "processing instruction"},
			"second declaration":      {`<?xml version="1.0"?><?xml version="1.0"?>` + root, ReasonMalformed, "processing instruction"},
			"crossed tags":            {root + "<a><b></a></b>", ReasonMalformed, "</b> was expected"},
			"end tag alone":           {"</a>", ReasonMalformed, "without a start tag"},
			"second root":             {good + "<x/>", ReasonMalformed, "second root"},
			"text after the root":     {good + "x", ReasonMalformed, "after the end"},
			"attribute twice":         {root + `<x a="1" a="2"/>`, ReasonMalformed, "twice"},
			"attribute bare":          {root + `<x a=1/>`, ReasonMalformed, "without quotes"},
			"attribute unfinished":    {root + `<x a/>`, ReasonMalformed, "attribute"},
			"attribute with <":        {root + `<x a="<"/>`, ReasonMalformed, "'<' in attribute"},
			"attributes glued":        {root + `<x a="1"b="2"/>`, ReasonMalformed, "the tag"},
			"slash inside":            {root + `<x / >`, ReasonMalformed, "'/' inside"},
			"name with a digit":       {root + `<1x/>`, ReasonMalformed, "a tag that begins with"},
		})
	}
}

// Each of these documents exceeds one bound and is refused there, however much follows.
func TestGiganticDocuments(t *testing.T) {
	for _, p := range parsers {
		root := fmt.Sprintf("<%s xmlns=%q>", p.root, p.space)
		requireAllRefused(t, p.parse, map[string]hostile{
			"too many attributes":    {root + "<x" + attributes(AttributesMax+1) + "/>", ReasonTooLarge, "more than 16 attributes"},
			"too deep":               {root + strings.Repeat("<x>", DepthMax), ReasonTooLarge, "nested deeper than 32"},
			"gigantic text":          {root + "<x>" + strings.Repeat("A", FieldBytesMax+1) + "</x>", ReasonTooLarge, "text longer than"},
			"gigantic text, endless": {root + "<x>" + strings.Repeat("A", 1<<20), ReasonTooLarge, "text longer than"},
			"gigantic blanks":        {root + strings.Repeat(" ", 1<<20), ReasonTooLarge, "text longer than"},
			"gigantic attribute":     {root + `<x a="` + strings.Repeat("A", 1<<20), ReasonTooLarge, "a tag longer than"},
			"gigantic tag":           {root + "<" + strings.Repeat("A", 1<<20), ReasonTooLarge, "a tag longer than"},
			"gigantic comment":       {root + "<!--" + strings.Repeat("A", 1<<20), ReasonTooLarge, "a tag longer than"},
			"gigantic CDATA":         {root + "<x><![CDATA[" + strings.Repeat("A", 1<<20), ReasonTooLarge, "a tag longer than"},
			"gigantic declaration":   {"<?xml " + strings.Repeat(" ", 1<<20), ReasonTooLarge, "XML declaration"},
		})
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d="1"`, i)
	}
	return b.String()
}

// A valid document that is cut anywhere is refused, and so is one whose reader fails
// midway.
func TestTruncatedAnywhere(t *testing.T) {
	for _, p := range parsers {
		t.Run(p.name, func(t *testing.T) {
			good := bytes.TrimSpace(sample(t, p.sample))
			_, err := p.parse(bytes.NewReader(good))
			require.NoError(t, err)
			step := 1
			if testing.Short() {
				step = 13
			}
			for cut := 0; cut < len(good); cut += step {
				_, err := p.parse(bytes.NewReader(good[:cut]))
				var refused *Error
				require.ErrorAs(t, err, &refused, "cut at %d", cut)
				if cut < len("<?xml") { // So short a cut still looks like a processing instruction.
					continue
				}
				require.Equal(t, ReasonTruncated, refused.Reason, "cut at %d: %v", cut, err)
			}
			broken := errors.New("the disk is gone")
			_, err = p.parse(io.MultiReader(bytes.NewReader(good[:500]), iotest.ErrReader(broken)))
			requireRefused(t, err, ReasonRead)
			require.ErrorIs(t, err, broken)
		})
	}
}

// The scanner reads the same document in whatever portions the bytes arrive.
func TestOneByteReads(t *testing.T) {
	for _, p := range parsers {
		want := parseSample(t, p.sample)
		got, err := p.parse(iotest.OneByteReader(bytes.NewReader(sample(t, p.sample))))
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = p.parse(iotest.DataErrReader(bytes.NewReader(sample(t, p.sample))))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ParseENHANCED(readNothing{})
	requireRefused(t, err, ReasonRead, "no more bytes")
}

type readNothing struct{}

func (readNothing) Read([]byte) (int, error) { return 0, nil }

// XML treats these spellings as the same document.
func TestSameDocument(t *testing.T) {
	want := parseSample(t, "enhanced/cons_enhanced.xml")
	good := string(sample(t, "enhanced/cons_enhanced.xml"))
	for name, text := range map[string]string{
		"byte order mark":     "\xef\xbb\xbf" + good,
		"no declaration":      good[strings.Index(good, "?>")+2:],
		"CRLF":                strings.ReplaceAll(good, "\n", "\r\n"),
		"no line ends":        strings.ReplaceAll(good, "\n", ""),
		"single quotes":       strings.ReplaceAll(good, `"`, `'`),
		"encoding upper case": strings.Replace(good, "utf-8", "UTF-8", 1),
		"character reference": strings.ReplaceAll(good, "&amp;", "&#x26;"),
		"decimal reference":   strings.ReplaceAll(good, "&amp;", "&#38;"),
		"CDATA":               strings.ReplaceAll(good, "EXAMPLE &amp; SONS", "<![CDATA[EXAMPLE & SONS]]>"),
		"comments":            strings.ReplaceAll(good, "<entity ", "<!-- one <entity> & more --><entity "),
		"comment in a name":   strings.ReplaceAll(good, "ONLY ON", "ONLY <!-- really -->ON"),
		"unknown elements":    strings.ReplaceAll(good, "<names>", "<novelty a='1'>text<more/></novelty><names>"),
		"blanks around words": strings.ReplaceAll(good, ">Latin<", "> Latin\n<"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseENHANCED(strings.NewReader(text))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}
