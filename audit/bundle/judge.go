package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"regexp"
	"strings"

	"railguard/audit/examine"
	"railguard/engine"
	"railguard/fsm/leafjson"
)

// Options are the settings of JudgeSource.
type Options struct {
	Keys    string // The log's verifier keys, received another way; "": those in the bundle.
	Carried bool   // The files came out of index.html, so that neither that page nor SHA256SUMS is among them.
	All     bool   // Go on behind the first fault, to tell every file that is wrong.

	// Visit is called with every record and what became of it, in order. Whether the bundle is
	// proven is known only at the end.
	Visit func(*Decided)
}

// What is known of a file.
const (
	FileProven  = "proven"
	FileRefused = "refused"
	FileOpen    = "open" // Nothing shows it, or it was not reached.
)

// File is one file of a bundle, and whether it is proven.
type File struct {
	Name  string `json:"name"`
	Size  int64  `json:"bytes"`
	Sum   string `json:"sha256,omitempty"`
	State string `json:"state"`
	Why   string `json:"why"`
}

// Judgement is what became of a bundle.
type Judgement struct {
	Report *Report // nil if nothing is proven. It is there beside an Err that tells decisions which came out otherwise.
	Err    error   // The first fault.
	Files  []File  // In the order of their names.

	Chapters []*Chapter // The cases, if the records are proven.
}

// judging is one run of JudgeSource.
type judging struct {
	Judgement
	from     Source
	options  Options
	names    []string
	places   map[string]int // Of each file in Files.
	contents *contents
	derived  map[string][]byte // The derived files, as they must be.
	replayer replayer
	table    table
	keys     string
}

// errStop ends a run at its first fault.
var errStop = errors.New("stopped")

// JudgeSource proves a bundle and makes all its decisions again: with railguard verify, and in the
// examiner's browser.
func JudgeSource(from Source, options Options) *Judgement {
	j := &judging{from: from, options: options, places: map[string]int{}}
	j.replayer = replayer{from: from, looker: engine.NewLooker(), replay: Replay{Assumed: map[string]int{}}}
	for _, step := range []func() error{j.listFiles, j.checkSums, j.openTable, j.settleKeys, j.proveRecords, j.compareFiles, j.checkLists, j.verifyCosigned, j.comparePage} {
		if step() != nil {
			break
		}
	}
	if j.Report != nil && j.Err == nil {
		j.Report.Files = len(j.names)
		if p := &j.replayer.replay; p.DifferentCount > 0 {
			_ = j.refuse(fileError(RecordsName, "%d decisions come out otherwise when they are made again: %s", p.DifferentCount, strings.Join(p.Different, "; ")))
			return &j.Judgement
		}
	}
	if j.Err != nil {
		j.Report = nil
	}
	return &j.Judgement
}

// refuse keeps a fault, and marks its file. It returns errStop if the run ends here.
func (j *judging) refuse(err error) error {
	if j.Err == nil {
		j.Err = err
	}
	var in *FileError
	if errors.As(err, &in) {
		j.mark(in.Name, FileRefused, in.Err.Error())
	}
	if !j.options.All {
		return errStop
	}
	return nil
}

// mark says what is known of a file. What was refused stays refused.
func (j *judging) mark(name, state, why string) {
	place, there := j.places[name]
	if !there {
		place = len(j.Files)
		j.places[name] = place
		j.Files = append(j.Files, File{Name: name})
	}
	if f := &j.Files[place]; f.State != FileRefused {
		f.State, f.Why = state, why
	}
}

func (j *judging) listFiles() (err error) {
	if j.names, err = j.from.Names(); err != nil {
		_ = j.refuse(err)
		return errStop
	}
	for _, name := range j.names {
		j.mark(name, FileOpen, "not reached")
	}
	return nil
}

// checkSums compares every file with SHA256SUMS.
func (j *judging) checkSums() error {
	var is strings.Builder
	for _, name := range j.names {
		sum, size, err := checksumFile(j.from, name)
		if err != nil {
			_ = j.refuse(fileError(name, "%w", err))
			return errStop
		}
		f := &j.Files[j.places[name]]
		if f.Sum, f.Size = sum, size; name != sumsName {
			is.WriteString(sum + "  " + name + "\n")
		}
	}
	if j.options.Carried {
		return nil
	}
	written, err := readFile(j.from, sumsName)
	if err != nil {
		return j.refuse(fileError(sumsName, "%w", err))
	}
	if is.String() != string(written) {
		return j.compareSums(is.String(), string(written))
	}
	j.mark(sumsName, FileProven, "names every file with its checksum")
	return nil
}

// compareSums names the files that differ from SHA256SUMS.
func (j *judging) compareSums(is, written string) error {
	want := map[string]string{}
	for line := range strings.Lines(written) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || want[name] != "" {
			return j.refuse(fileError(sumsName, "is not a list of checksums"))
		}
		want[name] = sum
	}
	var faults []error
	for line := range strings.Lines(is) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		switch want[name] {
		case "":
			faults = append(faults, fileError(name, "does not belong to this bundle: it is not in %s", sumsName))
		case sum:
		default:
			faults = append(faults, fileError(name, "was changed: its checksum is another than in %s", sumsName))
		}
		delete(want, name)
	}
	for _, name := range sortedNames(want) {
		faults = append(faults, fileError(name, "is missing"))
	}
	if len(faults) == 0 {
		faults = append(faults, fileError(sumsName, "was changed"))
	}
	for _, fault := range faults {
		if err := j.refuse(fault); err != nil {
			return err
		}
	}
	return nil
}

func (j *judging) openTable() (err error) {
	if j.table, err = readTable(j.from); err != nil {
		_ = j.refuse(err)
		return errStop
	}
	return nil
}

func (j *judging) settleKeys() error {
	inside, err := readFile(j.from, KeysName)
	if err != nil {
		_ = j.refuse(fileError(KeysName, "%w", err))
		return errStop
	}
	if j.keys, err = trustedKeys(string(inside), j.options.Keys); err != nil {
		_ = j.refuse(err)
		return errStop
	}
	if j.options.Keys != "" {
		j.mark(KeysName, FileProven, "are the keys that you gave, or endorsed by them")
	} else {
		j.mark(KeysName, FileOpen, "came with the bundle: nothing shows whose they are")
	}
	return nil
}

func (j *judging) proveRecords() error {
	c, err := readRecords(j.from, j.keys, j.decide)
	if err != nil {
		_ = j.refuse(err)
		return errStop
	}
	if err := c.describeListed(j.from); err != nil {
		_ = j.refuse(err)
		return errStop
	}
	c.report.KeysGiven, c.madeBy, c.judge = j.options.Keys != "", j.table.MadeBy, j.table.Judge
	j.contents = c
	j.Report = &Report{Export: c.report, Replay: j.replayer.replay, Lists: sortedNames(c.lists), Policies: c.policyVersions(), MadeBy: j.table.MadeBy, Judge: j.table.Judge}
	j.Chapters = c.chapters
	j.mark(RecordsName, FileProven, "every record stands in the signed tree, and the log signed that these are all")
	return nil
}

// decide makes the decision of a record again.
func (j *judging) decide(r *row, x *leafjson.Screen) error {
	d := Decided{row: *r}
	if x != nil {
		d.ListVersion, d.PolicyVersion = x.ListVersion, x.PolicyVersion
		if x.ListDigest != [32]byte{} {
			d.List = hex.EncodeToString(x.ListDigest[:])
		}
		if err := j.replayer.decideAgain(x, &d); err != nil {
			return err
		}
	}
	if j.options.Visit != nil {
		j.options.Visit(&d)
	}
	return nil
}

// compareFiles checks that every derived file has the right content, and that the bundle has
// no other file. It compares JSON by value and other files by bytes.
func (j *judging) compareFiles() error {
	files, err := j.contents.deriveFiles(j.table.Bundle)
	if err != nil {
		_ = j.refuse(err)
		return errStop
	}
	if j.options.Carried { // Nothing is there to compare.
		maps.DeleteFunc(files, func(name string, _ []byte) bool { return name == pageName || isReading(name) })
	}
	for _, name := range sortedNames(files) {
		is, err := readFile(j.from, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fileError(name, "is missing")
		case err != nil:
			err = fileError(name, "%w", err)
		case !bytes.Equal(is, files[name]) && !(strings.HasSuffix(name, ".json") && examine.SameValue(is, files[name])):
			err = fileError(name, "is not what the records say")
		default:
			j.mark(name, FileProven, "says what the records say")
			continue
		}
		if err = j.refuse(err); err != nil {
			return err
		}
	}
	for _, name := range j.names {
		if !j.contents.owns(name, files) {
			if err := j.refuse(fileError(name, "does not belong to this bundle")); err != nil {
				return err
			}
		}
	}
	j.derived = files
	return nil
}

// comparePage checks that index.html is the page that bundle.json names, and the files beside it. It
// comes last, so that a fault of another file bears that file's name.
func (j *judging) comparePage() error {
	if j.table.Judge == nil || j.options.Carried {
		return nil
	}
	if at, there := j.places[pageName]; there && j.Files[at].Size > j.table.Judge.indexMax() {
		return j.refuse(fileError(pageName, "is larger than a page with the files beside it can be"))
	}
	is, err := readFile(j.from, pageName)
	if errors.Is(err, fs.ErrNotExist) {
		return j.refuse(fileError(pageName, "is missing"))
	}
	if err != nil {
		return j.refuse(fileError(pageName, "%w", err))
	}
	page, named := j.table.Judge.cutPage(is)
	if !named {
		return j.refuse(fileError(pageName, "is not the page that %s names", tableName))
	}
	want, err := j.contents.carryFiles(page, j.from, j.derived)
	if err != nil {
		return j.refuse(fileError(pageName, "%w", err))
	}
	if !bytes.Equal(is, want) {
		return j.refuse(fileError(pageName, "does not carry the files beside it"))
	}
	j.mark(pageName, FileOpen, "carries the files beside it; its program is not shown: compare the SHA-256 of its page, "+j.table.Judge.Digest)
	return nil
}

// checkLists checks that every list by which decisions were made is there and unchanged.
func (j *judging) checkLists() error {
	for _, digest := range j.Report.Lists {
		name := ListFolder + "/" + digest + ListSuffix
		sum, _, err := checksumFile(j.from, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = fileError(name, "is missing")
		case err != nil:
			err = fileError(name, "%w", err)
		case sum != digest:
			err = fileError(name, "is not the list that the records name")
		default:
			j.mark(name, FileProven, "is the list that the records name")
			continue
		}
		if err = j.refuse(err); err != nil {
			return err
		}
	}
	return nil
}

func (j *judging) verifyCosigned() error {
	if err := j.Report.readPolicy(j.from); err != nil {
		return j.refuse(err)
	}
	if j.Report.Quorum != "" {
		j.mark(PolicyName, FileOpen, "is the log's own policy of witnesses, which is not used: "+j.Report.Quorum)
	}
	if err := j.Report.verifyCosigned(j.from, j.keys); err != nil {
		return j.refuse(err)
	}
	if j.Report.Cosigned == 0 {
		return nil
	}
	j.mark(CosignedName, FileProven, "is signed by the log, and continues the checkpoint of the records")
	if hasFile(j.from, ConsistencyName) {
		j.mark(ConsistencyName, FileProven, "leads from the checkpoint of the records to the later one")
	}
	if hasFile(j.from, WitnessesName) {
		j.mark(WitnessesName, FileOpen, "came with the bundle: nothing shows whose keys they are; these signed: "+strings.Join(j.Report.Witnesses, ", "))
	}
	return nil
}

var keysHash = regexp.MustCompile(`^(?:[0-9a-f]{32}|[0-9a-f]{64})$`)

// KeysByHash returns the keys in a bundle if a hash that somebody received another way is theirs:
// the SHA-256 of keys.txt in hex, or its first 32 digits, as railguard verify prints them. ok is
// false if the text is no such hash.
func KeysByHash(from Source, text string) (keys string, ok bool, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if !keysHash.MatchString(text) {
		return "", false, nil
	}
	inside, err := readFile(from, KeysName)
	if err != nil {
		return "", true, fileError(KeysName, "%w", err)
	}
	if sum := sha256.Sum256(inside); !strings.HasPrefix(hex.EncodeToString(sum[:]), text) {
		return "", true, fileError(KeysName, "has the SHA-256 %x, and not the one that you gave", sum)
	}
	return string(inside), true, nil
}
