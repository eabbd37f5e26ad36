package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"railguard/audit/bundle"
	"railguard/audit/examine"
	"railguard/audit/note"
)

// Bounds of what the page is given and shows.
const (
	recordsMax  = 20_000
	chaptersMax = 1_000
	packedMax   = 512 << 20 // Bytes of all files of a packed bundle. The page itself bounds a folder alike.
)

// Verdicts of a bundle that is neither proven nor consistent.
const (
	notProven = "NOT PROVEN"
	later     = "NEITHER PROVEN NOR ALTERED: OF A LATER RELEASE"
	unusable  = "NO KEYS"
)

// question is what the page asks.
type question struct {
	files   bundle.Files
	packed  bool   // The files are one packed bundle.
	carried bool   // They came out of the page itself.
	keys    string // The log's keys or their hash, as somebody typed them; "": none.
}

// answer is what the page shows. Nothing else in it comes from the bundle.
type answer struct {
	Verdict  string            `json:"verdict"`
	Headline string            `json:"headline"`
	Error    string            `json:"error,omitempty"`
	Proven   bool              `json:"proven"`
	Records  bool              `json:"recordsStand"` // The records stand in the signed tree, even if a decision comes out otherwise.
	Shown    []string          `json:"shown"`
	NotShown []string          `json:"notShown"`
	Keys     keys              `json:"keys"`
	Files    []bundle.File     `json:"files"`
	Rows     []*bundle.Decided `json:"rows"`
	More     int               `json:"more"` // Records behind those in rows.
	Report   *bundle.Report    `json:"report,omitempty"`

	Chapters []*bundle.Chapter `json:"chapters"` // The first cases.
	Cases    int               `json:"cases"`    // How many there are.
}

// keys are those that signed.
type keys struct {
	Given       bool     `json:"given"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Lines       []string `json:"lines"`
}

// judge answers a question.
func judge(q question) *answer {
	a := &answer{Shown: []string{}, NotShown: []string{}, Files: []bundle.File{}, Rows: []*bundle.Decided{}, Chapters: []*bundle.Chapter{}, Keys: keys{Lines: []string{}}}
	if q.packed {
		for _, data := range q.files {
			files, err := bundle.UnpackFiles(bytes.NewReader(data), packedMax)
			if err != nil {
				return a.refuse(err)
			}
			q.files = files
			break
		}
	}
	given := strings.TrimSpace(q.keys)
	if inside, isHash, err := bundle.KeysByHash(q.files, given); isHash {
		if given = inside; err != nil {
			return a.refuse(err)
		}
	}
	if given != "" {
		if err := note.CheckKeys(given); err != nil {
			return a.refuse(fmt.Errorf("%w: %w", examine.ErrKeys, err))
		}
	}
	j := bundle.JudgeSource(q.files, bundle.Options{Keys: given, Carried: q.carried, All: true, Visit: a.keepRow})
	if a.Files = j.Files; j.Report != nil {
		a.tell(j.Report)
		a.Cases = len(j.Chapters)
		a.Chapters = append(a.Chapters, j.Chapters[:min(a.Cases, chaptersMax)]...)
	}
	if j.Err != nil {
		return a.refuse(j.Err)
	}
	return a
}

// keepRow keeps a record for the page. Decisions that came out otherwise are always kept.
func (a *answer) keepRow(d *bundle.Decided) {
	if len(a.Rows) >= recordsMax && (d.Outcome != bundle.Different || len(a.Rows) >= 2*recordsMax) {
		a.More++
		return
	}
	a.Rows = append(a.Rows, d)
}

func (a *answer) tell(r *bundle.Report) {
	a.Report, a.Records, a.Proven = r, true, r.Export.KeysGiven
	a.Verdict, a.Headline = r.Export.Verdict(), r.Export.Headline()
	shown, open := r.Sentences()
	a.Shown, a.NotShown = append(r.Export.Shown(), shown...), append(r.Export.NotShown(), open...)
	a.Keys = keys{Given: r.Export.KeysGiven, Fingerprint: r.Export.Fingerprint(), Lines: []string{}}
	for line := range strings.Lines(r.Export.Keys) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			a.Keys.Lines = append(a.Keys.Lines, line)
		}
	}
}

// refuse says why a bundle is not proven.
func (a *answer) refuse(err error) *answer {
	a.Proven, a.Error, a.Shown = false, err.Error(), []string{}
	switch {
	case errors.Is(err, examine.ErrRelease):
		a.Verdict = later
	case errors.Is(err, examine.ErrKeys):
		a.Verdict = unusable
	default:
		a.Verdict = notProven
	}
	a.Headline = a.Verdict
	return a
}

func (a *answer) encode() []byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic("BUG: an answer that is no JSON: " + err.Error())
	}
	return text
}
