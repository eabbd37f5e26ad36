package bundle

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// forms holds the page and the README of each version of a folder's form. A version is frozen:
// every later release must write the same bytes for it. Changing the page or the README makes
// a new version.
//
//go:embed forms
var forms embed.FS

// carriedMax bounds the files that index.html carries, in bytes. Of a larger bundle it carries
// none, and asks its reader for the folder.
const carriedMax = 32 << 20

// judgeMax bounds the program of a page, in bytes.
const judgeMax = 64 << 20

// readForm returns the text of README.txt, and the page of a release that carries no second judge.
func readForm(version int) (words, plain []byte, err error) {
	dir := fmt.Sprintf("forms/%d/", version)
	words, err = forms.ReadFile(dir + wordsName)
	if err != nil {
		return nil, nil, err
	}
	plain, err = forms.ReadFile(dir + pageName)
	return words, plain, err
}

// Judge is the program at the head of index.html: the second judge (audit/bundle/judge). It is the
// same in all bundles that a release makes, so that its digest can be published with the release.
type Judge struct {
	Digest string `json:"sha256"` // In hex.
	Size   int    `json:"bytes"`
}

// judgeOf names a page; nil for none.
func judgeOf(page []byte) *Judge {
	if page == nil {
		return nil
	}
	sum := sha256.Sum256(page)
	return &Judge{hex.EncodeToString(sum[:]), len(page)}
}

// isNamed reports whether digest and size have their forms.
func (p *Judge) isNamed() bool {
	return programDigest.MatchString(p.Digest) && p.Size > 0 && p.Size <= judgeMax
}

// indexMax bounds index.html, in bytes.
func (p *Judge) indexMax() int64 { return int64(p.Size) + 2*carriedMax }

// cutPage returns the program at the head of index.html, and whether it is the one named.
func (p *Judge) cutPage(index []byte) (page []byte, named bool) {
	if len(index) < p.Size {
		return nil, false
	}
	sum := sha256.Sum256(index[:p.Size])
	return index[:p.Size], hex.EncodeToString(sum[:]) == p.Digest
}

// carryFiles appends to a page the files that it judges, except itself and SHA256SUMS, as blocks of
// data that a browser does not run. It writes base64 and does not compress, so that every later
// release writes the same bytes.
func (c *contents) carryFiles(page []byte, from Source, derived map[string][]byte) ([]byte, error) {
	names, err := from.Names()
	if err != nil {
		return nil, err
	}
	index := bytes.Clone(page)
	all, left := Files{}, carriedMax
	for name, text := range derived {
		if isReading(name) {
			continue
		}
		all[name] = text
		left -= len(text)
	}
	for _, name := range names {
		if all[name] != nil || name == pageName || name == sumsName || isReading(name) || !c.owns(name, derived) {
			continue
		}
		if all[name], err = readUpTo(from, name, left); err != nil {
			return nil, err
		}
		if left -= len(all[name]); left < 0 { // A bundle may be far larger than memory.
			return index, nil
		}
	}
	names, _ = all.Names()
	for _, name := range names {
		index = fmt.Appendf(index, "<script type=\"application/octet-stream\" data-name=\"%s\">", name)
		index = base64.StdEncoding.AppendEncode(index, all[name])
		index = append(index, "</script>\n"...)
	}
	return index, nil
}
