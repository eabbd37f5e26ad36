package conformance

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
)

// What another suite of the benches uses of this one: its language, its client and its demands.

// ReadScripts reads checks that are data from the files *.txt of a folder.
func ReadScripts(files fs.FS, folder string) ([]Check, error) {
	names, err := fs.Glob(files, folder+"/*.txt")
	if err != nil {
		return nil, err
	}
	var all []Check
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		some, err := readChecks(name, string(raw))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// NewCheck makes a check of a function.
func NewCheck(id, title string, run func(Examiner)) Check {
	return Check{ID: id, Title: title, Source: Ruling, run: func(p *probe) { run(Examiner{p}) }}
}

// RunChecks makes the given checks in their order. The scripts among them begin with the values
// that the map has when each begins.
func RunChecks(ctx context.Context, cfg Config, checks []Check, values map[string]any, report func(Result)) Summary {
	var summary Summary
	s := newSuite(cfg)
	s.values = values
	defer s.client.CloseIdleConnections()
	for _, check := range checks {
		if !check.selected(&s.cfg) {
			continue
		}
		result := s.runCheck(ctx, check)
		summary.add(result)
		report(result)
	}
	return summary
}

// startValues are the values that a script begins with.
func (s *suite) startValues() map[string]any {
	values := maps.Clone(s.values)
	if values == nil {
		values = map[string]any{}
	}
	return values
}

// Examiner makes the calls and demands of one check.
type Examiner struct{ probe *probe }

// Sent is a call: whose key it has (empty: none), where it goes (empty: the first node), what its
// body is (nil: none; a string is sent as it is written), and its headers.
type Sent struct {
	Method, Path string
	Key, Base    string
	Body         any
	Header       map[string]string
	Keep429      bool
}

// Answer is what came back.
type Answer struct {
	Status int
	Code   string // The error code.
	Raw    []byte
	Header http.Header
	tree   any
}

// Text returns the text at a path, or the number as it was written, or "".
func (a *Answer) Text(path string) string {
	whole := answer{tree: a.tree}
	return whole.text(path) + whole.number(path)
}

// OK tells whether the call was done.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Refused tells whether the call was refused for its caller or its content.
func (a *Answer) Refused() bool { return a.Status >= 400 && a.Status < 500 }

// Call makes a call that has to be answered.
func (e Examiner) Call(sent Sent) *Answer {
	options := []option{withKey(sent.Key)}
	if sent.Base != "" {
		options = append(options, atBase(sent.Base))
	}
	if sent.Keep429 {
		options = append(options, keep429)
	}
	for name, value := range sent.Header {
		options = append(options, header(name, value))
	}
	body := sent.Body
	if text, written := body.(string); written {
		body = literal(text)
	}
	a := e.probe.call(sent.Method, sent.Path, body, options...)
	return &Answer{Status: a.status, Code: a.code(), Raw: a.raw, Header: a.header, tree: a.tree}
}

// Context ends with the check.
func (e Examiner) Context() context.Context { return e.probe.ctx }

// Expect makes a demand and goes on when it does not hold.
func (e Examiner) Expect(holds bool, format string, args ...any) bool {
	return e.probe.expect(holds, format, args...)
}

// Must makes a demand and ends the check when it does not hold.
func (e Examiner) Must(holds bool, format string, args ...any) { e.probe.must(holds, format, args...) }

// Name makes a name that no other party has.
func (e Examiner) Name(stem string) string { return e.probe.name(stem) }
