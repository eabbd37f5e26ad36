package bundle

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
)

// forms holds the page and the README of each version of a folder's form. A version is frozen:
// every later release must write the same bytes for it. Changing the page or the README makes
// a new version.
//
//go:embed forms
var forms embed.FS

// form is the look of one version of folders.
type form struct {
	page  *template.Template
	style string // The page's only style; the security policy in the page's head names its digest.
	words []byte // The text of README.txt.
}

func readForm(version int) (*form, error) {
	dir := fmt.Sprintf("forms/%d/", version)
	page, err := template.ParseFS(forms, dir+pageName)
	if err != nil {
		return nil, err
	}
	style, err := forms.ReadFile(dir + "style.css")
	if err != nil {
		return nil, err
	}
	words, err := forms.ReadFile(dir + wordsName)
	return &form{page, string(style), words}, err
}

// renderPage returns index.html. It escapes every text that a caller wrote. The page runs no
// script and fetches nothing.
func (c *contents) renderPage(f *form) ([]byte, error) {
	sum := sha256.Sum256([]byte(f.style))
	var out bytes.Buffer
	err := f.page.Execute(&out, map[string]any{
		"R": &c.report, "C": map[string]any{"Verdicts": c.verdicts, "Rules": c.rules, "Lists": c.lists}, "Policies": c.policyVersions(),
		"Rows": c.rows, "More": c.more, "Style": template.CSS(f.style), "StyleHash": template.HTMLAttr(base64.StdEncoding.EncodeToString(sum[:])),
	})
	return out.Bytes(), err
}
