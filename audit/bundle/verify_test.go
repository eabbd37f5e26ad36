package bundle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/note"
)

// released unpacks the bundle that the first release wrote. Every later release must verify
// it.
func released(t *testing.T) string {
	file, err := os.Open("../../cmd/railguard/testdata/releases/0.1.0/bundle.tar.zst")
	require.NoError(t, err)
	defer file.Close()
	dir := t.TempDir()
	require.NoError(t, Unpack(file, dir))
	return dir
}

func readText(t *testing.T, dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(text)
}

func writeText(t *testing.T, dir, name, text string) {
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// forge writes the checksums anew, as anybody who alters a folder can.
func forge(t *testing.T, dir string) {
	sums, err := checksumFolder(Folder(dir))
	require.NoError(t, err)
	writeText(t, dir, sumsName, sums)
}

func listOf(t *testing.T, dir string) string {
	lists, err := filepath.Glob(filepath.Join(dir, ListFolder, "*"+ListSuffix))
	require.NoError(t, err)
	require.Len(t, lists, 1)
	return ListFolder + "/" + filepath.Base(lists[0])
}

func TestVerifyAReleasedBundle(t *testing.T) {
	dir := released(t)
	keys := readText(t, dir, KeysName)
	report, err := Verify(dir, "")
	require.NoError(t, err)
	require.False(t, report.Export.KeysGiven)
	require.NotZero(t, report.Replay.Same, "decisions were made again")
	require.Zero(t, report.Replay.DifferentCount)
	require.Equal(t, []uint64{1}, report.Policies)
	require.Equal(t, []string{strings.TrimSuffix(filepath.Base(listOf(t, dir)), ListSuffix)}, report.Lists)
	require.Equal(t, 11, report.Files)
	require.Zero(t, report.Cosigned)
	given, err := Verify(dir, keys)
	require.NoError(t, err)
	require.True(t, given.Export.KeysGiven)
	shown, open := report.Sentences()
	require.Contains(t, strings.Join(shown, "; "), "came out as recorded")
	require.Equal(t, Confirmations{Same: 3}, report.Replay.Confirmations)
	require.Contains(t, strings.Join(shown, "; "), "3 confirmations and redemptions of payments were judged again")
	require.Contains(t, strings.Join(open, "; "), "had leave then")
	require.Len(t, open, 2+len(report.Replay.Assumed)+min(report.Replay.NoEvidence, 1)+min(report.Replay.NoMatcher, 1))

	lists, size, err := RequiredLists(dir)
	require.NoError(t, err)
	require.Equal(t, report.Lists, lists)
	require.Equal(t, report.Export.Checkpoint.Size, size)
}

// Finish writes the derived files as the release wrote them.
func TestFinishWritesTheSameFiles(t *testing.T) {
	dir, made := released(t), t.TempDir()
	for _, name := range []string{RecordsName, KeysName, listOf(t, dir)} {
		writeText(t, made, name, readText(t, dir, name))
	}
	program := Program{Version: "0.2.0-test+1", Digest: strings.Repeat("0f", 32)}
	require.NoError(t, Finish(made, program, nil))
	names, err := Folder(made).Names()
	require.NoError(t, err)
	require.Len(t, names, 11)
	report, err := Verify(made, "")
	require.NoError(t, err)
	require.Equal(t, 11, report.Files)
	require.Equal(t, program, report.MadeBy)
	_, open := report.Sentences()
	require.Contains(t, strings.Join(open, "; "), "it names railguard 0.2.0-test+1, whose file has the SHA-256 0f0f")
	var packed bytes.Buffer
	require.NoError(t, Pack(made, &packed))
	out := t.TempDir()
	require.NoError(t, Unpack(&packed, out))
	_, err = Verify(out, "")
	require.NoError(t, err)
	require.Error(t, Finish(t.TempDir(), program, nil), "without keys")
	for _, nobody := range []Program{{}, {Version: "0.2.0"}, {Digest: program.Digest}, {Version: "<b>", Digest: program.Digest}, {Version: "0.2.0", Digest: "0F"}} {
		require.ErrorContains(t, Finish(made, nobody, nil), "has no version or no digest")
	}
	for _, missing := range []string{RecordsName, KeysName} {
		require.NoError(t, os.Remove(filepath.Join(out, missing)))
		_, _, err = RequiredLists(out)
		require.Error(t, err)
	}
}

// If somebody alters a file and writes the checksums anew, the records still reveal it.
func TestForgedFilesAreNamed(t *testing.T) {
	replaced := func(name, old, fresh string) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			text := readText(t, dir, name)
			require.Contains(t, text, old)
			writeText(t, dir, name, strings.Replace(text, old, fresh, 1))
			return name
		}
	}
	added := func(name, text string) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			writeText(t, dir, name, text)
			return name
		}
	}
	for name, c := range map[string]struct {
		alter func(t *testing.T, dir string) string // Returns the name that the error must contain.
		says  string
	}{
		"the page":           {replaced(pageName, "<", "&lt;"), "is not what the records say"},
		"the words":          {replaced(wordsName, "a", "b"), "is not what the records say"},
		"the contents":       {replaced(tableName, "cl_", "c2_"), "is not what the records say"},
		"the checkpoint":     {replaced(checkpointName, "\n", "\n\n"), "is not what the records say"},
		"a policy":           {replaced(policyFolder+"/1.json", "{", `{"x":1,`), "is not what the records say"},
		"a verdict":          {replaced(RecordsName, `"verdict":"PROCEED"`, `"verdict":"REVIEW"`), ""},
		"a stranger":         {added("stranger.txt", "x"), "does not belong to this bundle"},
		"a list of nobody":   {added(ListFolder+"/"+strings.Repeat("0f", 32)+ListSuffix, "x"), "does not belong to this bundle"},
		"a proof of nothing": {added(ConsistencyName, "{}"), "stands without " + CosignedName},
		"witnesses of none":  {added(WitnessesName, "x"), "stands without " + CosignedName},
		"a cosigned text":    {added(CosignedName, "nothing signed"), ""},
		"keys that are none": {added(KeysName, "no key\n"), ""},
		"a version of none":  {replaced(tableName, `"bundle"`, `"bundel"`), "says no version"},
		"a maker of none":    {replaced(tableName, `"madeBy"`, `"madeBye"`), "does not name the program"},
		"a comment in keys":  {added(KeysName, "# believe this\n"+readText(t, released(t), KeysName)), "is none that a log serves"},
		"records cut in half": {func(t *testing.T, dir string) string {
			text := readText(t, dir, RecordsName)
			writeText(t, dir, RecordsName, text[:len(text)/2])
			return RecordsName
		}, ""},
		"another list": {func(t *testing.T, dir string) string {
			list := listOf(t, dir)
			writeText(t, dir, list, readText(t, dir, list)+"x")
			return list
		}, "is not the list that the records name"},
		"no list": {func(t *testing.T, dir string) string {
			list := listOf(t, dir)
			require.NoError(t, os.Remove(filepath.Join(dir, list)))
			return list
		}, "is missing"},
		"no page": {func(t *testing.T, dir string) string {
			require.NoError(t, os.Remove(filepath.Join(dir, pageName)))
			return pageName
		}, "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := released(t)
			altered := c.alter(t, dir)
			_, err := Verify(dir, "")
			require.ErrorIs(t, err, ErrBundle)
			require.ErrorContains(t, err, altered+": ", "by its checksum")
			forge(t, dir)
			_, err = Verify(dir, "")
			require.ErrorIs(t, err, ErrBundle)
			require.ErrorContains(t, err, altered+": ", "by what the records say")
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestChecksumsAreStrict(t *testing.T) {
	for says, alter := range map[string]func(sums string) string{
		"is not a list of checksums": func(sums string) string { return sums + "nothing\n" },
		"is missing":                 func(sums string) string { return sums + strings.Repeat("0", 64) + "  zzz.txt\n" },
		"was changed":                func(sums string) string { return sums + "\n" },
		"it is not in SHA256SUMS":    func(sums string) string { _, rest, _ := strings.Cut(sums, "\n"); return rest },
	} {
		dir := released(t)
		writeText(t, dir, sumsName, alter(readText(t, dir, sumsName)))
		if says == "was changed" {
			says = "is not a list of checksums" // An empty line is no checksum.
		}
		_, err := Verify(dir, "")
		require.ErrorContains(t, err, says)
	}
	dir := released(t)
	lines := strings.SplitAfter(readText(t, dir, sumsName), "\n")
	lines[0], lines[1] = lines[1], lines[0]
	writeText(t, dir, sumsName, strings.Join(lines, ""))
	_, err := Verify(dir, "")
	require.ErrorContains(t, err, sumsName+": was changed", "in another order")
	require.NoError(t, os.Remove(filepath.Join(dir, sumsName)))
	_, err = Verify(dir, "")
	require.ErrorContains(t, err, sumsName)
}

// For this program a bundle of a later release is neither proven nor wrong.
func TestVerifyALaterVersion(t *testing.T) {
	dir := released(t)
	writeText(t, dir, tableName, strings.Replace(readText(t, dir, tableName), `"bundle": 3`, `"bundle": 4`, 1))
	forge(t, dir)
	_, err := Verify(dir, "")
	require.ErrorIs(t, err, examine.ErrRelease)
	require.NotErrorIs(t, err, ErrBundle)
}

// The folder's keys must be among the given ones, or endorsed by them.
func TestVerifyWithOtherKeys(t *testing.T) {
	dir := released(t)
	other, err := note.NewSigner("pay.example.com/cl_test", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	_, err = Verify(dir, other.VerifierKeys())
	require.ErrorContains(t, err, "not among those given, nor endorsed by them")
}

// The given keys may be written otherwise. A bundle that lost one of the log's two keys is refused.
func TestKeysOfABundleAreASet(t *testing.T) {
	dir := released(t)
	keys := readText(t, dir, KeysName)
	for name, given := range map[string]string{
		"other line ends": strings.ReplaceAll(keys, "\n", "\r\n"), "no last newline": strings.TrimSpace(keys), "a comment": "# ours\n" + keys,
	} {
		report, err := Verify(dir, given)
		require.NoError(t, err, name)
		require.True(t, report.Export.KeysGiven)
	}
	lines := strings.SplitAfter(keys, "\n")
	for at, lost := range lines[:2] {
		dir := released(t)
		writeText(t, dir, KeysName, strings.Replace(keys, lost, "", 1))
		forge(t, dir)
		_, err := Verify(dir, keys)
		require.ErrorIs(t, err, ErrBundle)
		require.ErrorContains(t, err, KeysName+": the key ", at)
		require.ErrorContains(t, err, "is missing, which is among those given", at)
	}
}

// The form of a leaf's bytes in README.txt is the one of docs/FORMATS.md.
func TestReadmeHasTheFormOfTheBytes(t *testing.T) {
	formats, err := os.ReadFile("../../docs/FORMATS.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(formats), "**Screening record.**")
	_, rest, _ = strings.Cut(rest, "```\n")
	form, _, _ := strings.Cut(rest, "```")
	require.Contains(t, form, "flags: 1 judged")
	words, _, err := readForm(versionNewest)
	require.NoError(t, err)
	require.Contains(t, string(words), form)
}

// The log's own policy is shown and demands nothing. One that is none is refused.
func TestThePolicyInABundleIsNotUsed(t *testing.T) {
	dir := released(t)
	witness, err := note.NewCosigner("w.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	writeText(t, dir, PolicyName, "witness w "+witness.VerifierKey()+" https://w.example.org\nquorum w\n")
	forge(t, dir)
	report, err := Verify(dir, readText(t, dir, KeysName))
	require.NoError(t, err, "that nobody signed it does not matter")
	require.Equal(t, "w.example.org", report.Quorum)
	_, open := report.Sentences()
	require.Contains(t, strings.Join(open, "; "), "its own policy in the bundle (w.example.org) is not used")
	mine, err := note.JoinPolicy(readText(t, dir, KeysName), readText(t, dir, PolicyName))
	require.NoError(t, err)
	_, err = Verify(dir, mine)
	var short *note.QuorumError
	require.ErrorAs(t, err, &short, "the reader's own demands")
	require.Equal(t, []string{"w.example.org"}, short.Missing)
	writeText(t, dir, PolicyName, "quorum w\n")
	forge(t, dir)
	_, err = Verify(dir, "")
	require.ErrorContains(t, err, PolicyName+": ")
}

// A folder may hold a later checkpoint that the log and witnesses signed.
func TestVerifyACosignedCheckpoint(t *testing.T) {
	dir := released(t)
	signed := readText(t, dir, checkpointName)
	witness, err := note.NewCosigner("w.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	writeText(t, dir, CosignedName, signed)
	forge(t, dir)
	report, err := Verify(dir, "")
	require.NoError(t, err)
	require.Equal(t, report.Export.Checkpoint.Size, report.Cosigned)
	require.Empty(t, report.Witnesses)
	shown, _ := report.Sentences()
	require.Contains(t, strings.Join(shown, "; "), "later checkpoint")

	writeText(t, dir, WitnessesName, witness.VerifierKey()+"\n")
	forge(t, dir)
	_, err = Verify(dir, "")
	require.ErrorContains(t, err, "bears no signature of the witnesses")

	point, err := note.Verify([]byte(signed), readText(t, dir, KeysName))
	require.NoError(t, err)
	writeText(t, dir, CosignedName, signed+string(witness.Cosign(&point, 1_800_000_000)))
	forge(t, dir)
	report, err = Verify(dir, "")
	require.NoError(t, err)
	require.Equal(t, []string{"w.example.org"}, report.Witnesses)
	shown, open := report.Sentences()
	require.Contains(t, strings.Join(shown, "; "), "witnesses signed it, by the keys in witnesses.txt: w.example.org")
	require.Contains(t, strings.Join(open, "; "), "who those witnesses are")
}
