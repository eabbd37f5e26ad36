package examine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
	"railguard/fsm/leaf"
)

// agentLeaves are leaves of a log that only its own operator could have made: decisions of
// agents, some of them wrong.
var agentLeaves = []struct {
	agent              string
	day                int
	sequence, previous int
	kind               string
}{
	0:  {"agt_1", 21, 1, 0, leaf.KindScreen},
	1:  {"agt_2", 21, 1, 0, leaf.KindScreen},
	2:  {"agt_1", 22, 2, 0, leaf.KindScreen},
	3:  {"agt_1", 22, 3, 2, leaf.KindDispositioned},
	4:  {"agt_1", 22, 4, 3, leaf.KindScreen},
	5:  {"agt_2", 22, 2, 1, leaf.KindScreen},
	6:  {"agt_1", 22, 5, 4, leaf.KindScreen},
	7:  {"agt_1", 23, 6, 6, leaf.KindScreen},
	8:  {"agt_1", 23, 7, 7, leaf.KindScreen},
	9:  {"agt_1", 23, 8, 3, leaf.KindScreen}, // Names a leaf that does not stand before it.
	10: {"agt_1", 23, 7, 8, leaf.KindScreen}, // Has a number that was given already.
	11: {"agt_1", 23, 0, 8, leaf.KindScreen}, // Has no number.
	12: {"agt_1", 24, 0, 8, "something"},     // Has none, and may have none.
	13: {"agt_1", 24, 0, 8, leaf.KindScreen},
	14: {"agt_1", 24, 9, 8, leaf.KindScreen},
	15: {"agt_1", 24, 8, 6, leaf.KindScreen},
}

func newAgentFixture(t testing.TB) *fixture {
	signer, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	f := &fixture{hashes: map[int64]tlog.Hash{}, signer: signer}
	for i, l := range agentLeaves {
		at := "time"
		if l.kind == leaf.KindScreen {
			at = "screenedAt"
		}
		leaf := fmt.Appendf(nil, `{"kind":%q,%q:"2026-03-%d:00:00.000Z","leaf":%d,"agentId":%q,"agentSequence":%d,"agentPrevious":%d}`,
			l.kind, at, l.day, i, l.agent, l.sequence, l.previous)
		leaf = bytes.Replace(leaf, fmt.Appendf(nil, "-%d:00", l.day), fmt.Appendf(nil, "-%dT%02d:00", l.day, i), 1)
		f.leaves = append(f.leaves, leaf)
		stored, err := tlog.StoredHashes(int64(i), leaf, f)
		require.NoError(t, err)
		for n, hash := range stored {
			f.hashes[tlog.StoredHashIndex(0, int64(i))+int64(n)] = hash
		}
	}
	return f
}

// agentCut is an export of an agent's day that somebody altered.
type agentCut struct {
	agent         string // "": agt_1.
	day           int    // 0: the 22nd.
	first, end    int    // 0: from 2 to 7.
	lines         []string
	before, after string // What the end line says about them; "": the decisions are in the file.
	want          string // The error; "": the export is proven.
}

// fill sets the defaults.
func (c *agentCut) fill() {
	if c.agent == "" {
		c.agent = "agt_1"
	}
	if c.day == 0 {
		c.day = 22
	}
	if c.first == 0 && c.day != 21 {
		c.first = 2
	}
	if c.end == 0 {
		c.end = 7
	}
	for _, word := range []*string{&c.before, &c.after} {
		if *word == "" {
			*word = note.EdgeHere
		}
	}
}

// file returns the export, signed by the log's own key for exactly its content. "4" is a line
// of the range, "<0" the decision before it and ">7" the one after it.
func (c *agentCut) file(t testing.TB, f *fixture) string {
	from, to := fmt.Sprintf("2026-03-%dT00:00:00.000Z", c.day), fmt.Sprintf("2026-03-%dT23:59:59.999Z", c.day)
	head := f.exportOf(t, from, to, c.first, c.end, "")[0]
	head["selection"] = object{"agent": c.agent}
	lines, digest := []object{head}, sha256.New()
	x := note.Export{
		Cluster: "cl_1", Size: uint64(len(f.leaves)), Root: f.root(t), First: uint64(c.first), End: uint64(c.end), From: from, To: to,
		Agent: c.agent, Chain: note.Chain{Before: c.before, After: c.after},
	}
	for _, text := range c.lines {
		kind := "leaf"
		switch text[0] {
		case '<':
			kind, text = "before", text[1:]
		case '>':
			kind, text = "after", text[1:]
		}
		i, err := strconv.Atoi(text)
		require.NoError(t, err)
		lines = append(lines, with(f.line(t, i), "type", kind))
		if kind != "leaf" {
			continue
		}
		x.Leaves++
		digestLeaf(digest, uint64(i), note.Hash(tlog.RecordHash(f.leaves[i])))
		if l := agentLeaves[i]; l.sequence > 0 {
			if x.Chain.Last == 0 {
				x.Chain.First = uint64(l.sequence)
			}
			x.Chain.Last = uint64(l.sequence)
		}
	}
	x.Digest = note.Hash(digest.Sum(nil))
	return encode(t, append(lines, object{
		"type": "end", "first": c.first, "end": c.end, "leaves": x.Leaves, "digest": base64.StdEncoding.EncodeToString(x.Digest[:]),
		"signature": string(f.signer.SignExport(x)), "before": c.before, "after": c.after,
	})...)
}

// If the log's own operator omits decisions of an agent and signs the export, their numbers
// reveal it.
func TestAgentsExportsCannotBeCut(t *testing.T) {
	const behind, beside, said = "behind the records beside the time", "does not stand", "the end line speaks of records beside the time"
	const stranger, second = "not one about the agent of this export", "a second record"
	f := newAgentFixture(t)
	for name, c := range map[string]agentCut{
		"whole":                     {lines: []string{"2", "3", "4", "6", "<0", ">7"}},
		"the first ever":            {day: 21, first: 0, end: 2, lines: []string{"0", ">2"}, before: note.EdgeNone},
		"one left out":              {lines: []string{"2", "3", "6", "<0", ">7"}, want: "missing before record 6: number 4 of the records about agent agt_1"},
		"none follows":              {agent: "agt_2", lines: []string{"5", "<1"}, after: note.EdgeNone},
		"a disposition left out":    {lines: []string{"2", "4", "6", "<0", ">7"}, want: "missing before record 4: number 3"},
		"the one before is erased":  {lines: []string{"2", "3", "4", "6", ">7"}, before: note.EdgeErased},
		"the first left out":        {lines: []string{"3", "4", "6", "<0", ">7"}, want: "missing before record 3: number 2"},
		"the last left out":         {lines: []string{"2", "3", "4", "<0", ">7"}, want: "missing before record 7: number 5"},
		"all left out":              {lines: []string{"<0", ">7"}, want: "missing before record 7: numbers 2 to 5"},
		"the one before left out":   {lines: []string{"2", "3", "4", "6", ">7"}, before: note.EdgeNone, want: "missing: number 1 of the records about agent agt_1"},
		"all and the one before":    {lines: []string{">7"}, before: note.EdgeNone, want: "missing: number 5 of the records about agent agt_1"},
		"an erased one before none": {day: 21, first: 0, end: 2, lines: []string{"0", ">2"}, before: note.EdgeErased, want: "a record before number 1"},
		"behind the edges":          {lines: []string{"2", "<0", "3", "4", "6", ">7"}, want: behind},
		"another agent's":           {lines: []string{"2", "3", "4", "5", "6", "<0", ">7"}, want: "record 5 is not one about agent agt_1"},
		"without a number":          {day: 23, first: 7, end: 12, lines: []string{"11", "<6", ">14"}, want: "record 11 is not one about agent agt_1"},
		"spliced":                   {day: 23, first: 7, end: 12, lines: []string{"7", "8", "9", "<6", ">14"}, want: "record 9 names record 3 as the one before it about the agent, record 8 stands here: spliced"},
		"a number twice":            {day: 23, first: 7, end: 12, lines: []string{"7", "8", "10", "<6", ">15"}, want: "record 10 is number 7 about agent agt_1, and stands behind number 7"},
		"spliced at the end":        {day: 23, first: 7, end: 12, lines: []string{"7", "8", "<6", ">15"}, want: "record 15 names record 6 as the one before it about the agent, record 8 stands here: spliced"},
		"spliced in front":          {day: 24, first: 12, end: 16, lines: []string{"15", "<8"}, after: note.EdgeNone, want: "record 15 names record 6 as the one before it about the agent, record 8 stands here: spliced"},
		"before: another agent's":   {lines: []string{"2", "3", "4", "6", "<1", ">7"}, want: stranger},
		"after: without any":        {day: 23, first: 7, end: 12, lines: []string{"7", "8", "<6", ">12"}, want: stranger},
		"after: without a number":   {day: 23, first: 7, end: 12, lines: []string{"7", "8", "<6", ">13"}, want: stranger},
		"before: of the time":       {first: 3, lines: []string{"3", "4", "6", "<2", ">7"}, want: beside},
		"before: in the range":      {first: 1, day: 23, end: 12, lines: []string{"7", "8", "<6", ">14"}, want: beside},
		"after: of the time":        {end: 6, lines: []string{"2", "3", "4", "<0", ">6"}, want: beside},
		"after: in the range":       {end: 8, lines: []string{"2", "3", "4", "6", "<0", ">7"}, want: beside},
		"before: twice":             {lines: []string{"2", "3", "4", "6", "<0", "<0", ">7"}, want: second},
		"after: twice":              {lines: []string{"2", "3", "4", "6", "<0", ">7", ">8"}, want: second},
		"after before before":       {lines: []string{"2", "3", "4", "6", ">7", "<0"}, want: second},
		"before: said, not here":    {lines: []string{"2", "3", "4", "6", ">7"}, want: said},
		"before: here, not said":    {lines: []string{"2", "3", "4", "6", "<0", ">7"}, before: note.EdgeErased, want: said},
		"after: said, not here":     {lines: []string{"2", "3", "4", "6", "<0"}, want: said},
		"after: here, not said":     {lines: []string{"2", "3", "4", "6", "<0", ">7"}, after: note.EdgeNone, want: said},
		"before: another word":      {lines: []string{"2", "3", "4", "6", ">7"}, before: "lost", want: "the end line's before or after"},
		"after: another word":       {lines: []string{"2", "3", "4", "6", "<0"}, after: note.EdgeErased, want: "the end line's before or after"},
		"first ever: another word":  {day: 21, first: 0, end: 2, lines: []string{"0", ">2"}, before: "lost", want: "the end line's before or after"},
	} {
		t.Run(name, func(t *testing.T) {
			c.fill()
			report, err := examineText(c.file(t, f), f.signer.VerifierKeys())
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.before == note.EdgeErased, report.Chain.Erased)
			require.Equal(t, c.before == note.EdgeHere, report.Chain.Before != nil)
			require.Equal(t, c.after == note.EdgeHere, report.Chain.After != nil)
		})
	}
}

// Only an export of one agent may have records beside its time.
func TestEdgesAreOfAgents(t *testing.T) {
	f := newAgentFixture(t)
	lines := f.exportOf(t, "2026-03-22T00:00:00.000Z", "2026-03-22T23:59:59.999Z", 2, 7, "", numbers(2, 7)...)
	last := len(lines) - 1
	_, err := examineText(encode(t, lines...), "")
	require.NoError(t, err)
	_, err = examineText(encode(t, append(append(lines[:last:last], with(f.line(t, 0), "type", "before")), lines[last])...), "")
	require.ErrorContains(t, err, "not one about the agent of this export")
}
