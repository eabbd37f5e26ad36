package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/engine"
)

// Report says what a folder proves.
type Report struct {
	Export    examine.Report `json:"export"`
	Replay    Replay         `json:"replay"`
	Lists     []string       `json:"lists"` // Digests, hex.
	Policies  []uint64       `json:"policies"`
	Cosigned  uint64         `json:"cosignedTreeSize"` // Size of the cosigned checkpoint's tree; 0 without one.
	Witnesses []string       `json:"witnesses"`        // Names of the witnesses whose cosignatures verify.
	Files     int            `json:"files"`
	MadeBy    Program        `json:"madeBy"` // As the folder says; nothing shows it.
}

// optional are the files that a folder may lack and that are not derived from its records.
var optional = []string{CosignedName, ConsistencyName, WitnessesName}

// Verify proves a folder and makes all its decisions again. keys are the log's verifier keys
// if the caller received them in another way; with "" it uses those in the folder. The error
// names the file. A decision that comes out differently is an error, too.
func Verify(dir, keys string) (*Report, error) {
	if err := checkSums(dir); err != nil {
		return nil, err
	}
	version, madeBy, err := readTable(dir)
	if err != nil {
		return nil, err
	}
	inside, err := os.ReadFile(filepath.Join(dir, KeysName))
	if err != nil {
		return nil, fileError(KeysName, "%w", err)
	}
	given := keys != ""
	if keys, err = trustedKeys(string(inside), keys); err != nil {
		return nil, err
	}
	p := &replayer{dir: dir, looker: engine.NewLooker(), replay: Replay{Assumed: map[string]int{}}}
	c, err := readRecords(dir, keys, p.decideAgain)
	if err != nil {
		return nil, err
	}
	c.report.KeysGiven, c.madeBy = given, madeBy
	if err := c.compareFiles(dir, version); err != nil {
		return nil, err
	}
	r := &Report{Export: c.report, Replay: p.replay, Lists: sortedNames(c.lists), Policies: c.policyVersions(), MadeBy: madeBy}
	if err := r.checkLists(dir); err != nil {
		return nil, err
	}
	if err := r.verifyCosigned(dir, keys); err != nil {
		return nil, err
	}
	names, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	if r.Files = len(names); p.replay.DifferentCount > 0 {
		return r, fileError(RecordsName, "%d decisions come out otherwise when they are made again: %s", p.replay.DifferentCount, strings.Join(p.replay.Different, "; "))
	}
	return r, nil
}

// checkSums compares every file with SHA256SUMS. The error names a file that differs.
func checkSums(dir string) error {
	written, err := os.ReadFile(filepath.Join(dir, sumsName))
	if err != nil {
		return fileError(sumsName, "%w", err)
	}
	is, err := checksumFolder(dir)
	if err != nil || is == string(written) {
		return err
	}
	want := map[string]string{}
	for line := range strings.Lines(string(written)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || want[name] != "" {
			return fileError(sumsName, "is not a list of checksums")
		}
		want[name] = sum
	}
	for line := range strings.Lines(is) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		switch want[name] {
		case "":
			return fileError(name, "does not belong to this bundle: it is not in %s", sumsName)
		case sum:
			delete(want, name)
		default:
			return fileError(name, "was changed: its checksum is another than in %s", sumsName)
		}
	}
	for _, name := range sortedNames(want) {
		return fileError(name, "is missing")
	}
	return fileError(sumsName, "was changed")
}

// readTable returns the version of a folder, and the program that made it. For a later version it
// returns ErrRelease: the folder is not wrong, but this program cannot read it.
func readTable(dir string) (int, Program, error) {
	text, err := os.ReadFile(filepath.Join(dir, tableName))
	if err != nil {
		return 0, Program{}, fileError(tableName, "%w", err)
	}
	var table struct {
		Bundle int
		MadeBy Program
	}
	if err := json.Unmarshal(text, &table); err != nil || table.Bundle < 1 {
		return 0, Program{}, fileError(tableName, "says no version")
	}
	if table.Bundle > versionNewest {
		return 0, Program{}, fmt.Errorf("%w: a bundle of version %d; this program reads versions up to %d", examine.ErrRelease, table.Bundle, versionNewest)
	}
	if !table.MadeBy.isNamed() {
		return 0, Program{}, fileError(tableName, "does not name the program that made the bundle")
	}
	return table.Bundle, table.MadeBy, nil
}

// compareFiles checks that every derived file has the right content, and that the folder has
// no other file. It compares JSON by value and other files by bytes.
func (c *contents) compareFiles(dir string, version int) error {
	files, err := c.deriveFiles(version)
	if err != nil {
		return err
	}
	for _, name := range sortedNames(files) {
		is, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return fileError(name, "is missing")
		}
		if err != nil {
			return fileError(name, "%w", err)
		}
		if !bytes.Equal(is, files[name]) && !(strings.HasSuffix(name, ".json") && examine.SameValue(is, files[name])) {
			return fileError(name, "is not what the records say")
		}
	}
	names, err := listFiles(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		list := c.lists[strings.TrimSuffix(strings.TrimPrefix(name, ListFolder+"/"), ListSuffix)] > 0
		if files[name] == nil && !list && name != RecordsName && name != KeysName && name != sumsName && !slices.Contains(optional, name) {
			return fileError(name, "does not belong to this bundle")
		}
	}
	return nil
}

// checkLists checks that every list by which decisions were made is there and unchanged.
func (r *Report) checkLists(dir string) error {
	for _, digest := range r.Lists {
		name := ListFolder + "/" + digest + ListSuffix
		sum, err := checksumFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return fileError(name, "is missing")
		}
		if err != nil {
			return fileError(name, "%w", err)
		}
		if sum != digest {
			return fileError(name, "is not the list that the records name")
		}
	}
	return nil
}

// verifyCosigned verifies the cosigned checkpoint, if there is one: that the log signed it,
// that it continues the checkpoint of the records, and which witnesses' signatures on it are
// valid.
func (r *Report) verifyCosigned(dir, keys string) error {
	signed, err := os.ReadFile(filepath.Join(dir, CosignedName))
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{ConsistencyName, WitnessesName} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return fileError(name, "stands without %s", CosignedName)
			}
		}
		return nil
	}
	if err != nil {
		return fileError(CosignedName, "%w", err)
	}
	point, err := note.Verify(signed, keys)
	if err != nil {
		return fileError(CosignedName, "%w", err)
	}
	was := &r.Export.Checkpoint
	switch {
	case point.Size < was.Size:
		return fileError(CosignedName, "is of a smaller tree than the records'")
	case point.Size == was.Size && point.Root != was.Root:
		return fileError(CosignedName, "is of another tree than the records'")
	case point.Size > was.Size:
		data, err := os.ReadFile(filepath.Join(dir, ConsistencyName))
		if err != nil {
			return fileError(ConsistencyName, "%w", err)
		}
		path, err := proof.ParseConsistency(data, was.Size, point.Size)
		if err == nil {
			err = proof.VerifyConsistency(was.Size, point.Size, was.Root, point.Root, path)
		}
		if err != nil {
			return fileError(ConsistencyName, "%w", err)
		}
	}
	r.Cosigned = point.Size
	witnesses, err := os.ReadFile(filepath.Join(dir, WitnessesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	found, err := note.Cosignatures(signed, string(witnesses))
	if err != nil {
		return fileError(WitnessesName, "%w", err)
	}
	for _, f := range found {
		if !slices.Contains(r.Witnesses, f.Name) {
			r.Witnesses = append(r.Witnesses, f.Name)
		}
	}
	if len(found) == 0 {
		return fileError(CosignedName, "bears no signature of the witnesses in %s", WitnessesName)
	}
	return nil
}

// trustedKeys returns the keys to verify a folder with. These are the given keys and those in
// the folder that they endorse; without given keys, all keys in the folder. It refuses a
// folder whose keys.txt has other keys, fewer keys of a range, or anything but keys.
func trustedKeys(inside, given string) (string, error) {
	if err := note.CheckServed(inside); err != nil {
		return "", fileError(KeysName, "%w", err)
	}
	if given == "" {
		return inside, nil
	}
	keys, _, err := note.MatchKeys(inside, given, inside)
	if err != nil {
		return "", fileError(KeysName, "%w", err)
	}
	return keys, nil
}

// Sentences says in words what is proven of the folder besides its records (shown), and what
// the reader still has to check (open).
func (r *Report) Sentences() (shown, open []string) {
	shown = append(shown, fmt.Sprintf("%d decisions were made again with the list and the policy in the bundle, and came out as recorded", r.Replay.Same))
	shown = append(shown, "page, words, policies and table of contents say what the records say")
	if r.Cosigned > 0 {
		shown = append(shown, fmt.Sprintf("the log's later checkpoint of %d leaves continues that of the records", r.Cosigned))
	}
	if len(r.Witnesses) > 0 {
		shown = append(shown, "witnesses signed it, by the keys in witnesses.txt: "+strings.Join(r.Witnesses, ", "))
		open = append(open, "who those witnesses are: compare their keys")
	}
	open = append(open, fmt.Sprintf("which program made the bundle: it names railguard %s, whose file has the SHA-256 %s", r.MadeBy.Version, r.MadeBy.Digest))
	if r.Replay.NoEvidence > 0 {
		open = append(open, fmt.Sprintf("%d decisions cannot be made again: without a usable credential nothing was judged, and credentials are not kept", r.Replay.NoEvidence))
	}
	if r.Replay.NoMatcher > 0 {
		open = append(open, fmt.Sprintf("of %d decisions the rules that ask the list were taken from the record: this program does not carry the version of the matcher they were judged with", r.Replay.NoMatcher))
	}
	for _, code := range sortedNames(r.Replay.Assumed) {
		open = append(open, fmt.Sprintf("in %d decisions %s was taken from the record, which does not hold what judges it", r.Replay.Assumed[code], code))
	}
	return shown, open
}
