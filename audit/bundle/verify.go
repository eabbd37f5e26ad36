package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/audit/proof"
)

// Report says what a folder proves.
type Report struct {
	Export     examine.Report `json:"export"`
	Replay     Replay         `json:"replay"`
	Lists      []string       `json:"lists"` // Digests, hex.
	Policies   []uint64       `json:"policies"`
	Cosigned   uint64         `json:"cosignedTreeSize"`    // Size of the cosigned checkpoint's tree; 0 without one.
	Witnesses  []string       `json:"witnesses"`           // Names of the witnesses whose cosignatures verify.
	Quorum     string         `json:"logQuorum,omitempty"` // What the log's own policy of witnesses wants, as the bundle says; it is not used.
	Files      int            `json:"files"`
	MadeBy     Program        `json:"madeBy"`          // As the folder says; nothing shows it.
	Judge      *Judge         `json:"judge,omitempty"` // The program in index.html, as the bundle says.
	JudgeKnown bool           `json:"judgeKnown"`      // The caller carries the same one.
}

// optional are the files that a folder may lack and that are not derived from its records.
var optional = []string{CosignedName, ConsistencyName, WitnessesName, PolicyName}

// Verify proves a folder and makes all its decisions again. keys are the log's verifier keys
// if the caller received them in another way; with "" it uses those in the folder. The error
// names the file. A decision that comes out differently is an error, too.
func Verify(dir, keys string) (*Report, error) {
	j := JudgeSource(Folder(dir), Options{Keys: keys})
	return j.Report, j.Err
}

// table is what bundle.json says that nothing else does.
type table struct {
	Bundle int
	MadeBy Program
	Judge  *Judge
}

// readTable returns the version of a bundle, the program that made it and the one in its page.
// For a later version it returns ErrRelease: the bundle is not wrong, but this program cannot
// read it.
func readTable(from Source) (table, error) {
	text, err := readFile(from, tableName)
	if err != nil {
		return table{}, fileError(tableName, "%w", err)
	}
	var t table
	if err := json.Unmarshal(text, &t); err != nil || t.Bundle < versionFirst {
		return table{}, fileError(tableName, "says no version")
	}
	switch {
	case t.Bundle > versionNewest:
		return table{}, fmt.Errorf("%w: a bundle of version %d; this program reads versions up to %d", examine.ErrRelease, t.Bundle, versionNewest)
	case !t.MadeBy.isNamed():
		return table{}, fileError(tableName, "does not name the program that made the bundle")
	case t.Judge != nil && !t.Judge.isNamed():
		return table{}, fileError(tableName, "does not name the program of its page")
	}
	return t, nil
}

// verifyCosigned verifies the cosigned checkpoint, if there is one: that the log signed it,
// that it continues the checkpoint of the records, and which witnesses' signatures on it are
// valid.
func (r *Report) verifyCosigned(from Source, keys string) error {
	signed, err := readFile(from, CosignedName)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{ConsistencyName, WitnessesName} {
			if hasFile(from, name) {
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
		data, err := readFile(from, ConsistencyName)
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
	witnesses, err := readFile(from, WitnessesName)
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

// readPolicy reads the log's own policy, if it is there. It is shown and demands nothing: a forger
// would bring his own.
func (r *Report) readPolicy(from Source) error {
	text, err := readFile(from, PolicyName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError(PolicyName, "%w", err)
	}
	policy, err := note.ParsePolicy(string(text))
	if err != nil {
		return fileError(PolicyName, "%w", err)
	}
	if r.Quorum = policy.Need(); r.Quorum == "" {
		r.Quorum = "nobody"
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

// derivedSentence says what follows from the records. A page that is a program does not.
func (r *Report) derivedSentence() string {
	if r.Judge != nil {
		return "words, policies and table of contents say what the records say; the page carries the files beside it, unaltered"
	}
	return "page, words, policies and table of contents say what the records say"
}

// Sentences says in words what is proven of the folder besides its records (shown), and what
// the reader still has to check (open).
func (r *Report) Sentences() (shown, open []string) {
	shown = append(shown, fmt.Sprintf("%d decisions were made again with the list and the policy in the bundle, and came out as recorded", r.Replay.Same))
	if n := r.Replay.Confirmations.Same; n > 0 {
		shown = append(shown, fmt.Sprintf("%d confirmations and redemptions of payments were judged again with the list and the policy in the bundle, and came out as recorded", n))
	}
	shown = append(shown, r.derivedSentence())
	if r.Cosigned > 0 {
		shown = append(shown, fmt.Sprintf("the log's later checkpoint of %d leaves continues that of the records", r.Cosigned))
	}
	if len(r.Witnesses) > 0 {
		shown = append(shown, "witnesses signed it, by the keys in witnesses.txt: "+strings.Join(r.Witnesses, ", "))
		open = append(open, "who those witnesses are: compare their keys")
	}
	if r.Quorum != "" {
		open = append(open, fmt.Sprintf("who must have witnessed the log: its own policy in the bundle (%s) is not used; hold it to yours (--policy)", r.Quorum))
	}
	switch {
	case r.JudgeKnown:
		shown = append(shown, "the page index.html begins with the judge that this program carries, byte by byte")
	case r.Judge != nil:
		open = append(open, fmt.Sprintf("which program the page index.html is: its first %d bytes have the SHA-256 %s; compare it with the one published for that release before you believe the page", r.Judge.Size, r.Judge.Digest))
	}
	open = append(open, fmt.Sprintf("which program made the bundle: it names railguard %s, whose file has the SHA-256 %s", r.MadeBy.Version, r.MadeBy.Digest))
	if r.Replay.NoEvidence > 0 {
		open = append(open, fmt.Sprintf("%d decisions cannot be made again: without a usable credential nothing was judged, and credentials are not kept", r.Replay.NoEvidence))
	}
	open = append(open, r.Replay.Confirmations.open()...)
	if r.Replay.NoMatcher > 0 {
		open = append(open, fmt.Sprintf("of %d decisions the rules that ask the list were taken from the record: this program does not carry the version of the matcher they were judged with", r.Replay.NoMatcher))
	}
	for _, code := range sortedNames(r.Replay.Assumed) {
		open = append(open, fmt.Sprintf("in %d decisions %s was taken from the record, which does not hold what judges it", r.Replay.Assumed[code], code))
	}
	return shown, open
}
