package feed

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railguard/ofac"
)

// Progress reports how far a load is. It counts bytes of the files as stored.
type Progress struct {
	File      string
	FileRead  int64
	FileTotal int64
	Read      int64 // Bytes of all the files to be read.
	Total     int64
}

// File is an uploaded or downloaded file.
type File struct {
	Name string
	Data []byte
}

// FileSummary describes one file that was read.
type FileSummary struct {
	Name      string
	Kind      Kind
	SHA256    string // The SHA-256 of the bytes as stored, in hex.
	Bytes     int64  // As stored.
	Records   int    // Records of a CSV file; 0 for XML.
	Entities  int    // Entities of the whole list. For a CSV set the primary file has this number.
	Names     int    // Given like Entities.
	Addresses int    // Digital currency addresses; given like Entities.
	DataAsOf  int64  // ns UTC; 0 where the format has no date (CSV).
}

// Loaded is the content of a set of files.
type Loaded struct {
	Entities []ofac.Entity // SDN and CONS merged, sorted by UID.
	Meta     ofac.Meta     // PublishedAt is 0 when no file has a date.
	Files    []FileSummary // The files that were read, SDN first.
	Summary  Summary
	Warnings []string // Notes for the operator; none of them stops the load.

	Quarantined []Quarantined // Malformed entities that were left out; also among the warnings.
	Suspects    []Suspect     // Features of unknown types that are digital currency addresses; also among the warnings.

	// Sums are the digests of what each source alone says, in canonical form; nil: no files of
	// it.
	Sums [ofac.SourcesMax][]byte
}

// LoadDir loads the published files that lie directly in dir and ignores every other name.
// For each family it prefers ENHANCED to ADVANCED, and ADVANCED to the CSV set. When it
// refuses a preferred file, the load fails; it never falls back in silence. report may be
// nil. The error is an *Error.
func LoadDir(dir string, report func(Progress)) (Loaded, error) {
	l := newLoader(report)
	defer l.closeFiles()
	folder, err := os.Open(dir)
	if err != nil {
		return Loaded{}, inFile(dir, err)
	}
	entries, err := folder.ReadDir(FolderFilesMax + 1)
	folder.Close()
	if err != nil && err != io.EOF {
		return Loaded{}, inFile(dir, err)
	}
	if len(entries) > FolderFilesMax {
		return Loaded{}, inFile(dir, newRefusal(ReasonTooLarge, "the folder has more than %d entries", FolderFilesMax))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		name := entry.Name()
		kind, ok := KindOf(name)
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.Mode().IsRegular():
			continue
		case !ok:
			l.addWarning("%s is not one of OFAC's published file names and was ignored", name)
			continue
		case err != nil:
			return Loaded{}, inFile(name, err)
		}
		l.documents = append(l.documents, &document{name: name, kind: kind, path: path, size: info.Size()})
	}
	if len(l.documents) == 0 {
		return Loaded{}, inFile(dir, newRefusal(ReasonNoFiles, "no list file here: expected were %s", expectedNames))
	}
	return l.loadLists()
}

const expectedNames = "SDN_ENHANCED.XML and CONS_ENHANCED.XML, or their ADVANCED forms, or SDN.CSV, ALT.CSV, ADD.CSV, SDN_COMMENTS.CSV and CONS_PRIM.CSV, CONS_ALT.CSV, CONS_ADD.CSV, CONS_COMMENTS.CSV; plain, .gz, .bz2, .zst or .zip"

// LoadFiles is LoadDir for files in memory. It identifies an XML file without a published
// name by its content, and it treats a zip archive of several files as those files. It
// refuses a file that it cannot identify.
func LoadFiles(files []File, report func(Progress)) (Loaded, error) {
	l := newLoader(report)
	if len(files) > FolderFilesMax {
		return Loaded{}, newRefusal(ReasonTooLarge, "more than %d files", FolderFilesMax)
	}
	for i := range files {
		if err := l.addFile(&files[i], true); err != nil {
			return Loaded{}, inFile(files[i].Name, err)
		}
	}
	if len(l.documents) == 0 {
		return Loaded{}, newRefusal(ReasonNoFiles, "no list file: expected were %s", expectedNames)
	}
	return l.loadLists()
}

// document is one published file on its way into the loader: a file of its own,
// or a member of an archive.
type document struct {
	name   string // Name of the stored file, for messages.
	kind   Kind
	path   string // Set for a file on disk.
	data   []byte // Set for a file in memory.
	member int    // Index in an archive.
	size   int64  // As stored.

	parsed *List // Set when the content had to be parsed to find the kind.
	sum    string
}

type loader struct {
	report    func(Progress)
	documents []*document
	open      []io.Closer
	nested    int64 // Bytes of packed members of archives.
	read      int64 // Bytes of the documents that are already read.
	total     int64
	warnings  []string
	dropped   int // Warnings beyond the bound.
	files     []FileSummary
}

func newLoader(report func(Progress)) *loader { return &loader{report: report} }

func (l *loader) addWarning(format string, args ...any) {
	if len(l.warnings) == WarningsMax {
		l.dropped++
		return
	}
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

func (l *loader) closeFiles() {
	for _, file := range l.open {
		file.Close()
	}
	l.open = nil
}

// addFile identifies a file in memory and adds its documents. Of an archive whose members are packed
// themselves, as when several of OFAC's archives are sent at once, it adds what they hold; nests allows that.
func (l *loader) addFile(file *File, nests bool) error {
	members, err := openStored(bytes.NewReader(file.Data), int64(len(file.Data)))
	if err != nil {
		return err
	}
	for i := range members {
		if inner, err := l.readPacked(&members[i], nests); err != nil {
			return inFile(file.Name+"/"+members[i].name, err)
		} else if inner != nil {
			if err := l.addFile(inner, false); err != nil {
				return inFile(file.Name+"/"+members[i].name, err)
			}
			continue
		}
		d := &document{name: file.Name, data: file.Data, size: int64(len(file.Data)), member: i}
		kind, ok := KindOf(filepath.Base(file.Name))
		if len(members) > 1 || !ok && members[i].name != "" {
			d.name = file.Name + "/" + members[i].name
			kind, ok = KindOf(members[i].name)
		}
		d.kind = kind
		if !ok {
			if err := l.tellKind(d, members[i]); err != nil {
				return inFile(d.name, err)
			}
		}
		l.documents = append(l.documents, d)
	}
	return nil
}

// readPacked reads a member of an archive that is packed itself; nil: it is none, or may not be one.
func (l *loader) readPacked(m *member, nests bool) (*File, error) {
	if m.name == "" || !nests {
		return nil, nil
	}
	content, err := m.open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	head := make([]byte, markBytesMax)
	n, err := io.ReadFull(content, head)
	if err != nil || compressionOf(head[:n]) == compressionNone {
		return nil, nil // Whoever reads it as a document says what is wrong with it.
	}
	data, err := io.ReadAll(io.LimitReader(content, CompressedBytesMax+1-l.nested))
	if err != nil {
		return nil, err
	}
	if l.nested += int64(len(data)); l.nested > CompressedBytesMax {
		return nil, newRefusal(ReasonTooLarge, "the packed files in an archive have more than %d bytes", CompressedBytesMax)
	}
	return &File{Name: filepath.Base(m.name), Data: append(head, data...)}, nil
}

// tellKind finds the kind of an XML document without a published name.
func (l *loader) tellKind(d *document, m member) error {
	content, err := m.open()
	if err != nil {
		return err
	}
	s := newScanner(content)
	opened := s.openDocument()
	root, namespace := string(s.name), ""
	if declared, ok := s.findAttribute("xmlns"); ok {
		namespace = string(declared)
	}
	content.Close()
	format := FormatENHANCED
	switch {
	case !opened:
		return newRefusal(ReasonName, "the name is not one of OFAC's, and the content is no XML list (%v): expected were %s", s.failure, expectedNames)
	case root == rootAdvanced && namespace == namespaceAdvanced:
		format = FormatADVANCED
	case root != rootEnhanced || namespace != namespaceEnhanced:
		return newRefusal(ReasonRoot, "root element <%.40s> in namespace %.80q is not that of an OFAC list: expected were %s", root, namespace, expectedNames)
	}
	list, err := l.parseXML(d, format)
	if err != nil {
		return err
	}
	if list.Family == 0 {
		return newRefusal(ReasonName, "the content does not tell SDN from CONS: give the file its published name")
	}
	d.kind, d.parsed = Kind{list.Family, format, RoleWhole}, &list
	return nil
}

// loadLists chooses, reads and merges.
func (l *loader) loadLists() (Loaded, error) {
	chosen, err := l.chooseDocuments()
	if err != nil {
		return Loaded{}, err
	}
	l.read, l.total = 0, 0
	for _, family := range chosen {
		for _, d := range family {
			l.total += d.size
		}
	}
	var lists [2]*List
	for i, family := range chosen {
		if len(family) == 0 {
			l.addWarning("no %s list among the files", familyName(families[i]))
			continue
		}
		list, err := l.readFamily(family)
		if err != nil {
			return Loaded{}, err
		}
		lists[i] = list
	}
	loaded := Loaded{Files: l.files}
	loaded.Entities = l.mergeFamilies(lists[0], lists[1])
	loaded.Summary = summarizeLists(lists[0], lists[1], loaded.Entities)
	loaded.Meta = metaOf(lists[0], lists[1])
	for _, list := range lists {
		if list != nil {
			if loaded.Sums[list.Family.First()], err = list.sum(); err != nil {
				return Loaded{}, err
			}
			loaded.Quarantined = append(loaded.Quarantined, list.Quarantined...)
			loaded.Suspects = append(loaded.Suspects, list.Suspects...)
		}
	}
	others := l.warnings // Findings about the list itself come first.
	l.warnings = nil
	l.warnFindings(&loaded)
	for _, warning := range others {
		l.addWarning("%s", warning)
	}
	if l.dropped > 0 {
		l.warnings = append(l.warnings, fmt.Sprintf("%d more warnings", l.dropped))
	}
	loaded.Warnings = l.warnings
	return loaded, nil
}

// warnFindings warns of entities that were left out and of possible wallets under unknown
// feature types.
func (l *loader) warnFindings(loaded *Loaded) {
	for _, q := range loaded.Quarantined {
		l.addWarning("entity %d is malformed and was left out: %s", q.UID, q.Detail)
	}
	for _, s := range loaded.Suspects {
		l.addWarning("entity %d: %s, of type %q, is a digital currency address of a type that is not known", s.UID, s.Value, s.Type)
	}
}

// families is the order in which the two families are read and reported.
var families = [2]ofac.Lists{ofac.ListSDN, ofac.ListCONS}

// chooseDocuments picks for each family the documents of the preferred format.
func (l *loader) chooseDocuments() (chosen [2][]*document, err error) {
	byKind := map[Kind]*document{}
	for _, d := range l.documents {
		if other, twice := byKind[d.kind]; twice {
			return chosen, inFile(d.name, newRefusal(ReasonName, "%v twice: %s holds it too", d.kind, other.name))
		}
		byKind[d.kind] = d
	}
	for i, family := range families {
		best := Format(0)
		for _, d := range l.documents {
			if d.kind.Family == family {
				best = max(best, d.kind.Format)
			}
		}
		for _, d := range l.documents {
			switch {
			case d.kind.Family != family:
			case d.kind.Format == best:
				chosen[i] = append(chosen[i], d)
			default:
				l.addWarning("%s is not used: %s is preferred", d.name, Kind{family, best, 0}.listLabel())
			}
		}
	}
	return chosen, nil
}

// readFamily parses the documents of one family, all of one format.
func (l *loader) readFamily(documents []*document) (*List, error) {
	kind := documents[0].kind
	if kind.Format == FormatCSV {
		return l.readCSV(documents)
	}
	d := documents[0]
	if d.parsed != nil { // Already parsed to find its kind.
		l.tellProgress(d, d.size)
		l.read += d.size
	} else {
		list, err := l.parseXML(d, kind.Format)
		if err != nil {
			return nil, inFile(d.name, err)
		}
		if list.Family == 0 {
			list.Family = kind.Family
		}
		if list.Family != kind.Family {
			return nil, inFile(d.name, newRefusal(ReasonFamily, "the content is the %s list: the name says %v", familyName(list.Family), kind))
		}
		d.parsed = &list
	}
	list := d.parsed
	l.files = append(l.files, FileSummary{Name: d.name, Kind: kind, SHA256: d.sum, Bytes: d.size,
		Entities: len(list.Entities), Names: list.Names(), Addresses: list.Addresses(), DataAsOf: list.DataAsOf})
	return list, nil
}

func (l *loader) parseXML(d *document, format Format) (List, error) {
	content, err := l.openContent(d)
	if err != nil {
		return List{}, err
	}
	parse := ParseENHANCED
	if format == FormatADVANCED {
		parse = ParseADVANCED
	}
	list, err := parse(content)
	if err != nil {
		return List{}, err
	}
	return list, content.finishDocument()
}

func (l *loader) readCSV(documents []*document) (*List, error) {
	set := CSVSet{Family: documents[0].kind.Family}
	var contents []*content
	for _, d := range documents {
		content, err := l.openContent(d)
		if err != nil {
			return nil, inFile(d.name, err)
		}
		contents = append(contents, content)
		file := CSVFile{Name: d.name, Source: content}
		switch d.kind.Role {
		case RolePrimary:
			set.Primary = file
		case RoleAliases:
			set.Aliases = file
		case RoleAddresses:
			set.Addresses = file
		case RoleComments:
			set.Comments = file
		}
	}
	parsed, err := parseCSV(set)
	if err != nil {
		return nil, inFile(documents[0].name, err)
	}
	for i, d := range documents {
		if err := contents[i].finishDocument(); err != nil {
			return nil, inFile(d.name, err)
		}
		summary := FileSummary{Name: d.name, Kind: d.kind, SHA256: d.sum, Bytes: d.size, Records: parsed.records[d.kind.Role]}
		if d.kind.Role == RolePrimary {
			list := &parsed.list
			summary.Entities, summary.Names, summary.Addresses = len(list.Entities), list.Names(), list.Addresses()
		}
		l.files = append(l.files, summary)
	}
	for _, warning := range parsed.warnings {
		l.addWarning("%s", warning)
	}
	return &parsed.list, nil
}

// SourceJoint stands between the lists in Meta.Source.
const SourceJoint = " + "

// SourceText describes a list for Meta.Source: its source and format, and its date (ns UTC)
// if it has one.
func SourceText(source ofac.Source, format string, asOf int64) string {
	text := source.String() + "_" + format
	if asOf != 0 {
		text += " " + DateText(asOf)
	}
	return text
}

// DateText writes the date of a publication (ns UTC): its day, and the time where the file had
// one.
func DateText(asOf int64) string {
	at := time.Unix(0, asOf).UTC()
	if at.Equal(at.Truncate(24 * time.Hour)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}

// JoinMeta returns the Meta of two lists together.
func JoinMeta(a, b ofac.Meta) ofac.Meta {
	if a.Source != "" && b.Source != "" {
		a.Source += SourceJoint
	}
	a.Source += b.Source
	a.PublishedAt = max(a.PublishedAt, b.PublishedAt)
	for source, date := range b.AsOf {
		if date != 0 {
			a.AsOf[source] = date
		}
	}
	return a
}

func metaOf(lists ...*List) ofac.Meta {
	var meta ofac.Meta
	for _, list := range lists {
		if list == nil {
			continue
		}
		one := ofac.Meta{Source: SourceText(list.Family.First(), list.Format.String(), list.DataAsOf), PublishedAt: list.DataAsOf}
		one.AsOf[list.Family.First()] = list.DataAsOf
		meta = JoinMeta(meta, one)
	}
	return meta
}
