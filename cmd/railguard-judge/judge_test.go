package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/bundle"
	"railguard/audit/examine"
	"railguard/audit/note"
)

// samplePage stands for the page of a release.
var samplePage = []byte("<!doctype html><title>judge</title>\n")

// ask judges a folder as the page does.
func ask(t *testing.T, dir, keys string, carried bool) *answer {
	files, err := readFolder(dir)
	require.NoError(t, err)
	if carried {
		delete(files, "index.html")
		delete(files, "SHA256SUMS")
		delete(files, "cases/1.html")
		delete(files, "records/1.html")
	}
	return judge(question{files: files, carried: carried, keys: keys})
}

func stateOf(a *answer, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return f.State
		}
	}
	return ""
}

// altered are bundles with a fault: what is wrong with them, and in which file it is seen.
func altered(t *testing.T, page []byte) map[string]struct{ dir, file string } {
	one := func(file string, change func(dir string)) struct{ dir, file string } {
		dir := honest(t, page)
		change(dir)
		return struct{ dir, file string }{dir, file}
	}
	list := func(dir string) string {
		found, err := filepath.Glob(filepath.Join(dir, "lists", "*"))
		require.NoError(t, err)
		return "lists/" + filepath.Base(found[0])
	}
	dir, _ := lying(t, page)
	return map[string]struct{ dir, file string }{
		"a changed byte": one(bundle.RecordsName, func(dir string) {
			edit(t, dir, bundle.RecordsName, `"leafHash":"`, `"leafHash":"A`)
		}),
		"a record left out": one(bundle.RecordsName, func(dir string) {
			lines := strings.SplitAfter(read(t, dir, bundle.RecordsName), "\n")
			write(t, dir, bundle.RecordsName, strings.Join(append(lines[:9:9], lines[10:]...), ""))
			resum(t, dir)
		}),
		"a swapped verdict": one(bundle.RecordsName, func(dir string) {
			edit(t, dir, bundle.RecordsName, `"verdict":"BLOCK"`, `"verdict":"PROCEED"`)
			resum(t, dir)
		}),
		"a verdict that no rule gives": {dir, bundle.RecordsName},
		"another policy": one("policies/1.json", func(dir string) {
			edit(t, dir, "policies/1.json", "{", `{"x": 1,`)
			resum(t, dir)
		}),
		"a changed list": one(bundle.RecordsName, func(dir string) {
			write(t, dir, list(dir), read(t, dir, list(dir))+"x")
			resum(t, dir)
		}),
		"a list left out": one(bundle.RecordsName, func(dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, list(dir))))
			resum(t, dir)
		}),
		"other words": one("README.txt", func(dir string) { edit(t, dir, "README.txt", "a", "b") }),
		"a stranger": one("stranger.txt", func(dir string) {
			write(t, dir, "stranger.txt", "x")
			resum(t, dir)
		}),
	}
}

// The second judge says what railguard verify says of the same folder.
func TestJudgesAgree(t *testing.T) {
	dir := honest(t, samplePage)
	keys := read(t, dir, bundle.KeysName)
	for name, given := range map[string]string{"no keys": "", "keys": keys, "a line end more": keys + "\r\n"} {
		native, err := bundle.Verify(dir, strings.TrimSpace(given))
		require.NoError(t, err, name)
		a := ask(t, dir, given, false)
		require.Equal(t, native, a.Report, name)
		require.Equal(t, native.Export.Verdict(), a.Verdict, name)
		require.Equal(t, given != "", a.Proven, name)
		require.Len(t, a.Files, 11)
		for _, f := range a.Files {
			require.NotEqual(t, bundle.FileRefused, f.State, "%s: %s", f.Name, f.Why)
			require.NotEqual(t, "not reached", f.Why, f.Name)
		}
		require.Len(t, a.Rows, native.Export.Leaves)
		outcomes := map[string]int{}
		for _, r := range a.Rows {
			if outcomes[r.Outcome]++; r.Outcome == bundle.Same {
				require.Equal(t, r.Verdict, r.AgainVerdict)
				require.Equal(t, native.Lists[0], r.List)
			}
			require.Equal(t, strings.HasPrefix(r.Kind, "payment."), r.Of != nil)
		}
		confirmed := native.Replay.Confirmations
		require.Equal(t, bundle.Confirmations{Same: 3}, confirmed)
		require.Equal(t, map[string]int{"": native.Export.Leaves - native.Export.Screens - confirmed.Same, bundle.Same: native.Replay.Same + confirmed.Same, bundle.NotAgain: native.Replay.NoEvidence}, outcomes)
	}
	carried := ask(t, dir, keys, true)
	require.Equal(t, examine.Proven, carried.Verdict)
	require.Len(t, carried.Files, 7)
	require.Equal(t, bundle.FileOpen, stateOf(ask(t, dir, keys, false), "index.html"), "the page came from the maker")
}

// Every fault is seen by both, with the same words.
func TestJudgesRefuseAlike(t *testing.T) {
	for name, c := range altered(t, samplePage) {
		t.Run(name, func(t *testing.T) {
			_, err := bundle.Verify(c.dir, "")
			require.ErrorIs(t, err, bundle.ErrBundle)
			a := ask(t, c.dir, "", false)
			require.Equal(t, notProven, a.Verdict)
			require.False(t, a.Proven)
			require.Empty(t, a.Shown)
			require.Equal(t, err.Error(), a.Error)
			require.Equal(t, bundle.FileRefused, stateOf(a, c.file))
		})
	}
}

// A log can sign a verdict that its rules do not give. Both judges see which one it is.
func TestALyingLogIsSeen(t *testing.T) {
	dir, txn := lying(t, samplePage)
	a := ask(t, dir, read(t, dir, bundle.KeysName), true)
	require.Equal(t, notProven, a.Verdict)
	require.True(t, a.Records, "the records stand in the tree that its owner signed")
	require.Contains(t, a.Error, "1 decisions come out otherwise")
	different := 0
	for _, r := range a.Rows {
		if r.Outcome == bundle.Different {
			different++
			require.Equal(t, []string{txn, "PROCEED", "BLOCK"}, []string{r.Txn, r.Verdict, r.AgainVerdict})
		}
	}
	require.Equal(t, 1, different)
}

// A log can give leave with a judgement that its rules do not give, or say beside it what it does not
// say. Both judges see which one it is.
func TestALieAboutAConfirmationIsSeen(t *testing.T) {
	for says, lie := range liesOf() {
		dir, txn := lyingBy(t, samplePage, lie)
		_, err := bundle.Verify(dir, "")
		require.ErrorIs(t, err, bundle.ErrBundle)
		a := ask(t, dir, "", true)
		require.Equal(t, notProven, a.Verdict, says)
		require.True(t, a.Records)
		require.Equal(t, err.Error(), a.Error)
		require.Contains(t, a.Error, "1 decisions come out otherwise")
		require.Contains(t, a.Error, txn)
		require.Contains(t, a.Error, says)
		for _, r := range a.Rows {
			require.Equal(t, r.Txn == txn && r.Of != nil && r.Kind == "payment.confirmed", r.Outcome == bundle.Different, "%s: leaf %d", says, r.Leaf)
		}
	}
}

// The keys may be given by their hash. Another hash, or another log's keys, are refused.
func TestKeysByTheirHash(t *testing.T) {
	dir := honest(t, samplePage)
	sum := sha256.Sum256([]byte(read(t, dir, bundle.KeysName)))
	whole := hex.EncodeToString(sum[:])
	for _, given := range []string{whole, strings.ToUpper(whole) + "\n", whole[:32]} {
		require.Equal(t, examine.Proven, ask(t, dir, given, false).Verdict, given)
	}
	a := ask(t, dir, strings.Repeat("0", 64), false)
	require.Equal(t, notProven, a.Verdict)
	require.Contains(t, a.Error, "keys.txt: has the SHA-256 "+whole)
	require.Equal(t, unusable, ask(t, dir, "nothing", false).Verdict)
	other, _ := lying(t, samplePage)
	require.Contains(t, ask(t, dir, read(t, other, bundle.KeysName), false).Error, "not among those given, nor endorsed by them")
}

// Beside the keys, a policy of witnesses may be given: its quorum is demanded as by --policy.
func TestAPolicyBesideTheKeys(t *testing.T) {
	dir := honest(t, samplePage)
	witness, err := note.NewCosigner("w.example.org", make([]byte, note.SeedSize))
	require.NoError(t, err)
	keys := read(t, dir, bundle.KeysName)
	policy := "witness w " + witness.VerifierKey() + "\nquorum w\n"
	a := ask(t, dir, keys+policy, true)
	require.Equal(t, notProven, a.Verdict)
	require.Contains(t, a.Error, "the quorum of witnesses is not met: signed by none; wanted are w.example.org")
	joined, err := note.JoinPolicy(keys, policy)
	require.NoError(t, err)
	_, err = bundle.Verify(dir, joined)
	require.EqualError(t, err, a.Error)
	require.Equal(t, examine.Proven, ask(t, dir, keys+"quorum none\n", true).Verdict)
}

// A packed bundle is judged as it is. One that is cut or is none is refused.
func TestPackedBundles(t *testing.T) {
	dir := honest(t, samplePage)
	var packed bytes.Buffer
	require.NoError(t, bundle.Pack(dir, &packed))
	a := judge(question{files: bundle.Files{"may.tar.zst": packed.Bytes()}, packed: true})
	require.Equal(t, examine.Consistent, a.Verdict)
	require.Len(t, a.Files, 11)
	require.Equal(t, notProven, judge(question{files: bundle.Files{"may.tar.zst": packed.Bytes()[:packed.Len()/2]}, packed: true}).Verdict)
	require.Equal(t, notProven, judge(question{files: bundle.Files{"x": []byte("no bundle")}, packed: true}).Verdict)
	require.Equal(t, notProven, judge(question{files: bundle.Files{}}).Verdict)
}

// A bundle of a later form is neither proven nor altered.
func TestLaterBundles(t *testing.T) {
	dir := honest(t, samplePage)
	edit(t, dir, "bundle.json", `"bundle": 3`, `"bundle": 4`)
	resum(t, dir)
	require.Equal(t, later, ask(t, dir, "", false).Verdict)
}

// What the page keeps is bounded, and a decision that came out otherwise is never left out.
func TestRowsAreBounded(t *testing.T) {
	a := new(answer)
	for range recordsMax + 5 {
		a.keepRow(&bundle.Decided{Outcome: bundle.Same})
	}
	a.keepRow(&bundle.Decided{Outcome: bundle.Different})
	require.Len(t, a.Rows, recordsMax+1)
	require.Equal(t, 5, a.More)
	var back answer
	require.NoError(t, json.Unmarshal(a.encode(), &back))
	require.Equal(t, bundle.Different, back.Rows[recordsMax].Outcome)
}

// The released bundle is judged too, its page among the files.
func TestTheReleasedBundle(t *testing.T) {
	packed, err := os.ReadFile("../railguard/testdata/releases/0.1.0/bundle.tar.zst")
	require.NoError(t, err)
	a := judge(question{files: bundle.Files{"b": packed}, packed: true})
	require.Equal(t, examine.Consistent, a.Verdict)
	require.Equal(t, bundle.FileProven, stateOf(a, "index.html"))
}
