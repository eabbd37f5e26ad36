package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"railguard/audit/examine"
)

var evidenceChecks = []Check{
	{ID: "T151", Title: "an export cut, repeated, spliced, relabelled or extended does not verify", Source: Ruling, run: checkCutExports},
}

// exportLines returns, line by line, the export of what was done between two moments.
func (p *probe) exportLines(from, to time.Time, options ...option) [][]byte {
	const form = "2006-01-02T15:04:05.000Z"
	a := p.get("/v1/audit/export?from="+from.UTC().Format(form)+"&to="+to.UTC().Format(form), options...)
	if a.status == http.StatusNotFound && !p.cfg.Strict {
		p.skip("the target has no export")
	}
	p.status(a, 200)
	lines := bytes.SplitAfter(a.raw, []byte("\n"))
	return lines[:len(lines)-1] // The last line ends with a newline too.
}

// logKeys are the verifier keys of the target's log.
func (p *probe) logKeys() string { return string(p.status(p.get("/log/keys", anonymous), 200).raw) }

func verifyExport(lines [][]byte, keys string) (examine.Report, error) {
	return examine.File(bytes.NewReader(bytes.Join(lines, nil)), examine.Options{Keys: keys, KeysGiven: true})
}

// relabelled is a line with some members changed.
func relabelled(line []byte, change obj) []byte {
	tree, err := decodeTree(line)
	object, ok := tree.(map[string]any)
	if err != nil || !ok {
		return line
	}
	for name, value := range change {
		object[name] = value
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return line
	}
	return append(raw, '\n')
}

// lineMember is a member of one line.
func lineMember(line []byte, name string) any {
	tree, err := decodeTree(line)
	if err != nil {
		return nil
	}
	value, _ := at(tree, name)
	return value
}

// cutExports returns forged exports by kind, made from two exports of the same log.
func cutExports(lines, other [][]byte) map[string][][]byte {
	last, middle := len(lines)-1, len(lines)/2
	without := func(at int) [][]byte { return slices.Delete(slices.Clone(lines), at, at+1) }
	changed := func(at int, change obj) [][]byte {
		forged := slices.Clone(lines)
		forged[at] = relabelled(lines[at], change)
		return forged
	}
	lowered := without(last - 1)
	lowered[last-1] = relabelled(lines[last], obj{"leaves": last - 2, "end": lineMember(lines[last-1], "index")})
	swapped := slices.Clone(lines)
	swapped[1], swapped[2] = lines[2], lines[1]
	spliced := slices.Clone(lines)
	spliced[middle] = other[1]
	return map[string][][]byte{
		"without its first record":                  without(1),
		"without one of its records":                without(middle),
		"without its last record, end line lowered": lowered,
		"without its end line":                      lines[:last],
		"with a record twice":                       slices.Insert(slices.Clone(lines), middle, lines[middle]),
		"with two records swapped":                  swapped,
		"with a record of another export":           spliced,
		"with a record behind the end":              append(slices.Clone(lines), lines[1]),
		"with the end line twice":                   append(slices.Clone(lines), lines[last]),
		"with another index on a record":            changed(middle, obj{"index": lineMember(lines[1], "index")}),
		"with another hash on a record":             changed(middle, obj{"leafHash": lineMember(lines[1], "leafHash")}),
		"with another text for a record":            changed(middle, obj{"leaf": lineMember(lines[1], "leaf")}),
		"with a member beside a record":             changed(middle, obj{"verdict": "PROCEED"}),
		"called a selection":                        changed(0, obj{"selection": obj{"operator": "nobody"}}),
		"called of another time":                    changed(0, obj{"from": "2026-01-01T00:00:00.000Z"}),
		"called of another cluster":                 changed(0, obj{"clusterId": "cl_other"}),
	}
}

func checkCutExports(p *probe) {
	g := p.register(policy(obj{"maxSingleTxUSDC": 100}))
	from := p.utc(p.screen(g, "1"), "screenedAt")
	for range 4 {
		p.screen(g, "1", obj{"cpName": cleanCounterparty})
	}
	middle := p.utc(p.screen(g, "150"), "screenedAt")
	to := p.utc(p.screen(g, "2"), "screenedAt")
	keys := p.logKeys()
	lines, other := p.exportLines(from, to), p.exportLines(middle, to)
	p.must(len(lines) > 7 && len(other) > 2, "an export of seven calls has %d lines", len(lines))
	report, err := verifyExport(lines, keys)
	p.must(err == nil, "the export does not verify: %v", err)
	p.expect(!report.Selection(), "the export of a key without an operator says that it is a selection")
	p.expect(report.Screens >= 7, "%d screening calls are in it, seven were made", report.Screens)
	for what, forged := range cutExports(lines, other) {
		_, err := verifyExport(forged, keys)
		p.expect(err != nil, "an export %s still verifies", what)
	}
}
