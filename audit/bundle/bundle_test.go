package bundle

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/engine"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet")

// The derived files are compared byte by byte for as long as bundles are kept: a later release
// must write the same bytes for each version. So the golden files never change.
func TestGoldenFiles(t *testing.T) {
	for version := versionFirst; version <= versionNewest; version++ {
		requireGolden(t, version)
	}
}

func requireGolden(t *testing.T, version int) {
	policy, err := wordPolicy(engine.DefaultPolicy())
	require.NoError(t, err)
	c := &contents{
		madeBy: Program{Version: "0.1.0", Digest: strings.Repeat("0f", 32)},
		report: examine.Report{
			Kind: "export", Checkpoint: note.Checkpoint{Origin: "pay.example.com/cl_test", Size: 9}, Leaves: 3, Screens: 2, Cluster: "cl_test",
			First: 2, End: 7, From: "2026-05-01T00:00:00.000Z", To: "2026-05-31T23:59:59.999Z", Agent: "agt_1", Chain: examine.Chain{First: 5, Last: 6},
		},
		verdicts: map[string]int{"PROCEED": 1, "BLOCK": 1}, rules: map[string]int{"ALL_CLEAR": 1, "R7_COUNTERPARTY_NAME_OFAC": 1}, paid: 2,
		lists: map[string]int{strings.Repeat("ab", 32): 2}, policies: map[uint64][]byte{1: policy}, signed: "a checkpoint\n",
	}
	c.keysSum = strings.Repeat("cd", 32)
	c.chapters, c.listWords = []*Chapter{goldenChapter()}, map[string]string{strings.Repeat("ab", 32): "SDN of 19 November 2025"}
	c.addLine(&row{Leaf: 5, Time: "2026-05-02T00:00:00.000Z", Kind: "screen", Txn: "txn_1", Verdict: "BLOCK", Rule: "R7_COUNTERPARTY_NAME_OFAC", Agent: "Bot agt_1", Operator: "Acme", Amount: "1250.5", Party: "<b>Nicolas\u202e Maduro</b> "})
	c.judge = judgeOf([]byte("<!doctype html><title>the judge of a release</title>\n"))
	files, err := c.deriveFiles(version)
	require.NoError(t, err)
	require.Nil(t, files[pageName])
	files[pageName], err = c.carryFiles([]byte("<!doctype html><title>the judge of a release</title>\n"), Files{RecordsName: []byte("{}\n"), KeysName: []byte("keys\n"), sumsName: nil, "stranger.txt": nil}, files)
	require.NoError(t, err)
	for name, text := range files {
		golden := filepath.Join("testdata", fmt.Sprintf("v%d", version), strings.ReplaceAll(name, "/", "-"))
		if _, err := os.Stat(golden); *update && os.IsNotExist(err) {
			require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
			require.NoError(t, os.WriteFile(golden, text, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text), name)
	}
	require.Contains(t, string(files[policyFolder+"/1.json"]), `"attestationAbove": "$10,000"`)
	require.NotContains(t, string(files[policyFolder+"/1.json"]), "-1")
	require.Contains(t, string(files["cases/1.html"]), `<th scope="row">date of birth</th><td>1974</td><td>23 Nov 1962</td><td><strong>differs</strong></td>`)
	require.Contains(t, string(files["cases/1.html"]), `<th scope="row">country</th><td>VE</td><td>Venezuela</td><td><strong>agrees</strong></td>`)
	require.NotContains(t, string(files["records/1.html"]), "<b>")
	require.NotContains(t, string(files["records/1.html"]), "\u202e")
}

func goldenChapter() *Chapter {
	return &Chapter{
		Leaf: 5, Txn: "txn_1", Time: "2026-05-02T00:00:00.000Z", Verdict: "REVIEW", Rule: "R21_POSSIBLE_NAME_MATCH", Reason: "The counterparty name is a possible match of a listed name.",
		Rules: []string{"R10_SINGLE_TX_LIMIT", "R21_POSSIBLE_NAME_MATCH"}, Agent: "Bot agt_1", Operator: "Acme", Amount: "$1,250.50", Told: []Fact{{"name of the counterparty", "Nikolas Maduro"}, {"date of birth", "1974"}},
		Listed: []Listed{{UID: "22790", List: "SDN", Name: "MADURO MOROS, Nicolas", Names: []string{"MADURO MOROS, Nicolas", "MADURO, Nicolas"}, Type: "Individual", Programs: []string{"VENEZUELA"}, How: "“Nikolas Maduro” was compared with “MADURO MOROS, Nicolas”: score 0.8998 of 1, possible", Compared: []Pair{{"date of birth", "1974", "23 Nov 1962", false}, {"country", "VE", "Venezuela", true}}, Facts: []Fact{{"date of birth", "23 Nov 1962"}}}},
		List:   "SDN of 19 November 2025", Policy: 1, Outcome: "APPROVED by Ann",
		Steps: []Step{{Leaf: 6, Time: "2026-05-02T01:00:00.000Z", What: "decided: APPROVED", Who: "Ann, key key_1", Words: "Another person:\nborn 1974, <i>not</i> 1962."}},
	}
}

// A policy in words has no number that only a program reads.
func TestPoliciesInWords(t *testing.T) {
	policy := engine.DefaultPolicy()
	policy.FourEyes = &engine.FourEyes{MinAmount: 25_000 * engine.Dollar, Rules: 1 << 21}
	policy.TypeCaps[2] = 3_000 * engine.Dollar
	policy.NameReview, policy.ReviewSLA, policy.PartyTypes = 9_000, 36*engine.Hour, 1<<2
	policy.Document = []byte(`{"review":{"fourEyes":{"minAmount":25000,"rules":["R21"]}}}`)
	text, err := wordPolicy(policy)
	require.NoError(t, err)
	for _, line := range []string{
		`"fourEyes": {"minAmount":"$25,000","rules":["R21_POSSIBLE_NAME_MATCH"]}`, `"typeCaps": {"business":"$3,000","exchange":"no limit","individual":"no limit","unknown":"no limit"}`,
		`"nameReview": "0.9000"`, `"reviewSLA": "36 hours"`, `"partyTypes": ["business"]`, `"listReviewAge": "7 days"`, `"document": {"review":{"fourEyes"`,
	} {
		require.Contains(t, string(text), line)
	}
	require.NotContains(t, string(text), "2097152")
	require.NotContains(t, string(text), ":-1")
	for amount, words := range map[engine.USD]string{0: "$0", engine.Dollar / 10: "$0.10", 1_250_500_000: "$1,250.50", 1_234_567_890_123: "$1,234,567.890123", engine.NoLimit: "no limit"} {
		require.Equal(t, words, wordAmount(amount))
	}
}

// A bundle of more records than stand on one page has them all, page after page.
func TestRecordsAreComplete(t *testing.T) {
	c := &contents{}
	for leaf := range uint64(2*recordsOfPage + 1) {
		c.addLine(&row{Leaf: leaf, Kind: "screen"})
	}
	for range 2*casesOfPage + 1 {
		c.chapters = append(c.chapters, goldenChapter())
	}
	files := map[string][]byte{}
	c.deriveReading(files)
	lines, cases := 0, 0
	for name, text := range files {
		require.True(t, IsBundleFile(name), name)
		lines += strings.Count(string(text), "<tr><td>")
		cases += strings.Count(string(text), "<section id=")
	}
	require.Equal(t, []int{6, 2*recordsOfPage + 1, 2*casesOfPage + 1}, []int{len(files), lines, cases})
	require.Contains(t, string(files["records/1.html"]), `<a href="3.html">`)
	require.Contains(t, string(files["records/3.html"]), ">4000</td>")
}

// A program without the second judge says so in the page. Of a large bundle the page carries nothing.
func TestPagesThatCarryNothing(t *testing.T) {
	c := &contents{judge: nil}
	files, err := c.deriveFiles(versionNewest)
	require.NoError(t, err)
	require.Contains(t, string(files[pageName]), "This page judges nothing.")
	c.judge = judgeOf([]byte("page"))
	index, err := c.carryFiles([]byte("page"), Files{RecordsName: make([]byte, carriedMax+1)}, nil)
	require.NoError(t, err)
	require.Equal(t, "page", string(index))
	index, err = c.carryFiles([]byte("page"), Files{RecordsName: make([]byte, carriedMax)}, nil)
	require.NoError(t, err)
	require.Greater(t, len(index), carriedMax)
	require.LessOrEqual(t, int64(len(index)), c.judge.indexMax())
	index, err = c.carryFiles([]byte("page"), Files{KeysName: {1}, RecordsName: make([]byte, carriedMax)}, nil)
	require.NoError(t, err)
	require.Equal(t, "page", string(index), "all files together")
}

// The page of a bundle is the one that bundle.json names, and carries the files beside it. Which
// program it is, nothing in the bundle shows.
func TestPagesAreHeldToTheBundle(t *testing.T) {
	page := []byte("<!doctype html><title>judge</title>\n")
	dir := released(t)
	require.NoError(t, Finish(dir, Program{"0.2.0", strings.Repeat("0f", 32)}, page))
	report, err := Verify(dir, "")
	require.NoError(t, err)
	require.Equal(t, judgeOf(page), report.Judge)
	shown, open := report.Sentences()
	require.Contains(t, strings.Join(open, "; "), "have the SHA-256 "+report.Judge.Digest)
	require.NotContains(t, strings.Join(shown, "; "), "byte by byte")
	report.JudgeKnown = true
	shown, open = report.Sentences()
	require.Contains(t, strings.Join(shown, "; "), "the judge that this program carries, byte by byte")
	require.NotContains(t, strings.Join(open, "; "), report.Judge.Digest)

	index := readText(t, dir, pageName)
	for says, forged := range map[string]string{
		"is not the page that bundle.json names": strings.Replace(index, "judge", "fudge", 1),
		"does not carry the files beside it":     index + "<script>alert(1)</script>",
		"is not the page":                        "<",
		"is larger than a page":                  index + strings.Repeat(" ", 2*carriedMax),
	} {
		writeText(t, dir, pageName, forged)
		forge(t, dir)
		_, err := Verify(dir, "")
		require.ErrorContains(t, err, pageName+": "+says)
	}
	writeText(t, dir, pageName, index)
	writeText(t, dir, tableName, strings.Replace(readText(t, dir, tableName), report.Judge.Digest, "x", 1))
	forge(t, dir)
	_, err = Verify(dir, "")
	require.ErrorContains(t, err, "does not name the program of its page")
}

// A packed bundle cannot have a file name that leads out of the folder. A bundle that is cut
// or contains anything else is refused.
func TestUnpackIsStrict(t *testing.T) {
	for name, ok := range map[string]bool{
		"index.html": true, "SHA256SUMS": true, "policies/12.json": true, "lists/" + strings.Repeat("0f", 32) + ".entities": true,
		"../index.html": false, "/index.html": false, "lists/../index.html": false, "a/b.txt": false, "policies/x.json": false, ".txt": false, "index.html\n": false,
	} {
		require.Equal(t, ok, packedNames.MatchString(name), "%q", name)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.txt"), bytes.Repeat([]byte("words "), 10000), 0o600))
	var packed, again bytes.Buffer
	require.NoError(t, Pack(dir, &packed))
	require.NoError(t, Pack(dir, &again))
	require.Equal(t, packed.Bytes(), again.Bytes(), "equal folders are equal bytes")
	out := t.TempDir()
	require.NoError(t, Unpack(bytes.NewReader(packed.Bytes()), out))
	require.FileExists(t, filepath.Join(out, "README.txt"))
	require.Error(t, Unpack(bytes.NewReader(packed.Bytes()), out), "over files that are there")
	require.ErrorIs(t, Unpack(bytes.NewReader(packed.Bytes()[:packed.Len()/2]), t.TempDir()), ErrBundle)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other.bin"), []byte("x"), 0o600))
	packed.Reset()
	require.NoError(t, Pack(dir, &packed))
	require.ErrorContains(t, Unpack(&packed, t.TempDir()), "other.bin")
}

// Given keys lead to the keys that they endorse, and to no others.
func TestTrustedKeys(t *testing.T) {
	signer := func(of byte) *note.Signer {
		s, err := note.NewSigner("pay.example.com/cl_test", bytes.Repeat([]byte{of}, note.SeedSize))
		require.NoError(t, err)
		return s
	}
	a, b := signer(1), signer(2)
	rotated := note.SizesLine(5, 1<<64-1) + b.VerifierKeys() + a.Endorse(b, 5) + note.SizesLine(0, 4) + a.VerifierKeys()
	keys, err := trustedKeys(rotated, "")
	require.NoError(t, err)
	require.Equal(t, rotated, keys)
	keys, err = trustedKeys(a.VerifierKeys(), rotated)
	require.NoError(t, err)
	require.Equal(t, rotated, keys, "the given ones count")
	keys, err = trustedKeys(rotated, a.VerifierKeys())
	require.NoError(t, err)
	require.Contains(t, keys, b.VerifierKeys())
	crlf := strings.ReplaceAll(strings.TrimSpace(a.VerifierKeys()), "\n", "\r\n")
	keys, err = trustedKeys(a.VerifierKeys(), crlf)
	require.NoError(t, err)
	require.Equal(t, crlf, keys)
	for _, inside := range []string{"# words\n" + a.VerifierKeys(), b.VerifierKeys(), strings.SplitAfter(a.VerifierKeys(), "\n")[0], strings.SplitAfter(a.VerifierKeys(), "\n")[1], strings.Replace(rotated, a.Endorse(b, 5), "", 1), rotated + signer(3).VerifierKeys(), "", strings.TrimSuffix(a.VerifierKeys(), "\n")} {
		_, err := trustedKeys(inside, a.VerifierKeys())
		require.ErrorContains(t, err, KeysName, inside)
	}
}
