package examine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// reviewedBy returns the leaf of a REVIEW (R10) that names a rule set.
func reviewedBy(number uint16) []byte {
	s := leaf.Screen{
		Rules: number, At: 1_774_150_408_589_000_000, Txn: [8]byte([]byte("aZ09bY18")), Verdict: engine.Review, Rule: engine.RuleSingleLimit, Sub: 1,
		Triggered: 1 << engine.RuleSingleLimit, PolicyVersion: 1, ListVersion: 1, Matcher: 1,
	}
	var f leaf.Fragment
	f.Set(leaf.TagSource, []byte{1})
	f.Set(leaf.TagAmount, []byte("12.50"))
	f.Set(leaf.TagName, []byte(`"M\u00fcller <GmbH>\u2028 😀"`))
	s.Edge = f.Append(nil)
	return leaf.AppendScreen(nil, &s)
}

// proofOf returns a proof of a log with that one leaf, with a readable part.
func proofOf(t *testing.T, stored []byte, record string) string {
	signer, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	f := &fixture{leaves: [][]byte{stored}, hashes: map[int64]tlog.Hash{0: tlog.RecordHash(stored)}, signer: signer}
	p := f.proof(t, 0)
	p["leaf"], p["txnId"], p["record"] = base64.StdEncoding.EncodeToString(stored), "txn_aZ09bY18", json.RawMessage(record)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	return string(text)
}

func verifyText(text string) error {
	_, err := File(strings.NewReader(text), Options{})
	return err
}

// The readable part of a leaf follows from the rule set that the leaf names. Any other content
// is refused, but its spelling does not matter.
func TestReadablePartsAreComparedByValue(t *testing.T) {
	stored := reviewedBy(1)
	rendered, err := leafjson.Render(stored, nil)
	require.NoError(t, err)
	record := string(rendered)
	change := func(old, new string) string {
		require.Contains(t, record, old)
		return strings.Replace(record, old, new, 1)
	}
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(rendered, &members))
	sorted, err := json.Marshal(members) // encoding/json sorts names and escapes <.
	require.NoError(t, err)
	require.NotEqual(t, record, string(sorted))
	for name, text := range map[string]string{
		"as it is":        record,
		"sorted":          string(sorted),
		"a text unquoted": change(`\u00fc`, "ü"),
		"escaped":         change("<GmbH>", `\u003cGmbH\u003E`),
		"an emoji":        change("😀", `\ud83d\ude00`),
		"a number":        change("12.50", "1.25e1"),
		"a zero less":     change("12.50", "12.5"),
	} {
		require.NoError(t, verifyText(proofOf(t, stored, text)), name)
		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, []byte(proofOf(t, stored, text)), "", "  "))
		require.NoError(t, verifyText(indented.String()), "%s, indented", name)
	}
	for name, text := range map[string]string{
		"a hyphen":         change("single transaction", "single-transaction"),
		"a rule set":       change(`"2026.1"`, `"2031.1"`),
		"an amount":        change("12.50", "12.5000001"),
		"a text for it":    change("12.50", `"12.50"`),
		"a verdict":        change("REVIEW", "PROCEED"),
		"a letter":         change("GmbH", "Gmbh"),
		"a member more":    change(`"kind"`, `"note":"x","kind"`),
		"a member twice":   change(`"kind"`, `"kind":"screen","kind"`),
		"a member less":    change(`"policyVersion":1,`, ""),
		"a rule more":      change(`"triggered":["`, `"triggered":["R9_CHAIN_POLICY","`),
		"null for nothing": change(`"kind"`, `"hold":null,"kind"`),
	} {
		err := verifyText(proofOf(t, stored, text))
		require.ErrorIs(t, err, ErrProof, name)
		require.ErrorContains(t, err, "the readable record is not what its bytes say", name)
	}
}

// A record of an unknown rule set is neither proven nor altered. The members that do not
// depend on the rule set are still compared with the bytes.
func TestRecordsOfANewerRuleSet(t *testing.T) {
	stored := reviewedBy(65_000)
	rendered, err := leafjson.Render(stored, nil)
	require.ErrorIs(t, err, leaf.ErrRuleSet)
	newer := strings.Replace(string(rendered), `"verdict"`, `"reason":"Words of 2031.","ruleSet":"2031.1","rule":"R10_X","triggered":["R10_X"],"shadow":[],"verdict"`, 1)
	err = verifyText(proofOf(t, stored, newer))
	require.ErrorIs(t, err, ErrRelease)
	require.NotErrorIs(t, err, ErrProof)
	require.ErrorContains(t, err, "verify with a newer release")
	for _, old := range []string{`"REVIEW"`, "12.50", `"txn_`, "GmbH", `"policyVersion":1`} {
		require.Contains(t, newer, old)
		altered := strings.Replace(newer, old, strings.Replace(old, old[1:2], "7", 1), 1)
		require.ErrorIs(t, verifyText(proofOf(t, stored, altered)), ErrProof, old)
	}
	// If the leaf names a rule set that is unknown, the program's own rule set beside it
	// proves nothing.
	known, err := leafjson.Render(reviewedBy(1), nil)
	require.NoError(t, err)
	require.ErrorIs(t, verifyText(proofOf(t, stored, string(known))), ErrRelease)
	visited := 0
	_, err = File(strings.NewReader(proofOf(t, stored, newer)), Options{Visit: func(*Record) error { visited++; return nil }})
	require.ErrorIs(t, err, ErrRelease)
	require.Zero(t, visited, "a record that is not proven is not shown")
}

// Bytes of a form that only a newer release writes are neither proven nor altered.
func TestLeavesOfANewerForm(t *testing.T) {
	stored := append([]byte{9}, reviewedBy(1)[1:]...)
	err := verifyText(proofOf(t, stored, `{"kind":"screen"}`))
	require.ErrorIs(t, err, ErrRelease)
}

// An export stays the same if another program indents or compacts it.
func TestIndentedExport(t *testing.T) {
	f := newFixture(t, 9)
	text := encode(t, f.export(t, 2, 7, "", numbers(2, 7)...)...)
	require.NoError(t, verifyText(text))
	var indented bytes.Buffer
	for line := range strings.Lines(text) {
		require.NoError(t, json.Indent(&indented, []byte(line), "", "\t"))
		indented.WriteString("\r\n\r\n")
	}
	require.NoError(t, verifyText(indented.String()))
	require.ErrorIs(t, verifyText(indented.String()+"{}"), ErrProof)
	require.ErrorIs(t, verifyText(indented.String()[:indented.Len()/2]), ErrFormat)
}

func TestExactDecimals(t *testing.T) {
	for _, same := range [][]string{
		{"0", "-0", "0.000", "0e99", "-0.0E-3"}, {"12.5", "12.50", "1.25e1", "125E-1", "0.0125e3"}, {"-100", "-1e2", "-1E+2", "-100.0"},
		{"1774150408589000001", "1774150408589000001.0"},
	} {
		for _, literal := range same {
			require.True(t, SameValue([]byte(same[0]), []byte(literal)), literal)
		}
	}
	for _, pair := range [][2]string{
		{"1774150408589000001", "1774150408589000000"}, {"0.1", "0.10000000000000000001"}, {"1", "-1"}, {"1", `"1"`}, {"1e99999999999", "1e99999999998"},
		{"null", "0"}, {"null", "false"}, {"[1,2]", "[2,1]"}, {"[1]", "[1,1]"}, {`{"a":1}`, `{"a":1,"b":null}`}, {"1", "1 1"}, {"", ""},
	} {
		require.False(t, SameValue([]byte(pair[0]), []byte(pair[1])), "%s and %s", pair[0], pair[1])
	}
}
