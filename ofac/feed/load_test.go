package feed

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// transcript writes the whole result of a load, for the golden files of testdata.
func transcript(l Loaded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "source %q published %d\n", l.Meta.Source, l.Meta.PublishedAt)
	for _, f := range l.Files {
		fmt.Fprintf(&b, "file %s %v records %d entities %d names %d addresses %d dataAsOf %d\n", f.Name, f.Kind,
			f.Records, f.Entities, f.Names, f.Addresses, f.DataAsOf)
	}
	fmt.Fprintf(&b, "summary %+v\n", l.Summary)
	for _, w := range l.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	for i := range l.Entities {
		e := &l.Entities[i]
		fmt.Fprintf(&b, "\nentity %d %v lists %d sublists %q programs %q\n", e.UID, e.Type, e.Lists, e.Sublists, e.Programs)
		for _, n := range e.Names {
			fmt.Fprintf(&b, "  name %d %s primary %v weak %v %s %q parts %q\n", n.ID, n.AliasType, n.Primary, n.Weak, n.Script, n.Full, n.Parts)
		}
		for _, a := range e.Addresses {
			fmt.Fprintf(&b, "  address %s %s feature %d\n", a.Ticker, a.Value, a.FeatureID)
		}
		for _, f := range e.Facts {
			fmt.Fprintf(&b, "  fact %v %q %q\n", f.Kind, f.Label, f.Value)
		}
	}
	return b.String()
}

func TestLoadDirTranscripts(t *testing.T) {
	for _, folder := range []string{"enhanced", "advanced", "csv"} {
		t.Run(folder, func(t *testing.T) {
			loaded, err := LoadDir(filepath.Join("testdata", folder), nil)
			require.NoError(t, err)
			golden := filepath.Join("testdata", folder+".txt")
			got := transcript(loaded)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.Empty(t, Inspect(&loaded, DefaultCanaries()))
		})
	}
}

// The two XML formats give the same entities for the SDN sample.
func TestFormatsAgree(t *testing.T) {
	enhanced := parseSample(t, "enhanced/SDN_ENHANCED.XML")
	advanced := parseSample(t, "advanced/sdn_advanced.xml")
	require.Equal(t, enhanced.Entities, advanced.Entities)
	require.Equal(t, enhanced.DataAsOf, advanced.DataAsOf)
	require.Equal(t, ofac.ListSDN, advanced.Family)
}

func sample(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", path))
	require.NoError(t, err)
	return data
}

func parseSample(t testing.TB, path string) List {
	t.Helper()
	parse := ParseENHANCED
	if strings.Contains(path, "advanced") {
		parse = ParseADVANCED
	}
	list, err := parse(bytes.NewReader(sample(t, path)))
	require.NoError(t, err)
	return list
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zstandard(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func zipped(t testing.TB, members ...File) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.Name)
		require.NoError(t, err)
		_, err = f.Write(m.Data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func writeFolder(t testing.TB, files ...File) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644))
	}
	return dir
}

func requireRefused(t testing.TB, err error, reason Reason, parts ...string) {
	t.Helper()
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, reason, refused.Reason, "%v", err)
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
}

func TestLoadDirForms(t *testing.T) {
	sdn := sample(t, "enhanced/SDN_ENHANCED.XML")
	for _, form := range []File{
		{"SDN_ENHANCED.XML", sdn},
		{"sdn_enhanced.xml.gz", gzipped(t, sdn)},
		{"Sdn_Enhanced.xml.zst", zstandard(t, sdn)},
		{"SDN_ENHANCED.ZIP", zipped(t, File{"SDN_ENHANCED.XML", sdn})},
		{"sdn_enhanced.xml.zip", zipped(t, File{"any name.txt", sdn})},
		{"sdn_enhanced.xml.bz2", sdn}, // The file is already unpacked despite its name. The content decides.
		{"sdn_enhanced.xml", gzipped(t, sdn)},
	} {
		t.Run(form.Name, func(t *testing.T) {
			var last Progress
			loaded, err := LoadDir(writeFolder(t, form), func(p Progress) {
				require.LessOrEqual(t, p.FileRead, p.FileTotal)
				require.LessOrEqual(t, last.Read, p.Read)
				last = p
			})
			require.NoError(t, err)
			sum := sha256.Sum256(form.Data)
			size := int64(len(form.Data))
			require.Equal(t, hex.EncodeToString(sum[:]), loaded.Files[0].SHA256)
			require.Equal(t, size, loaded.Files[0].Bytes)
			require.Equal(t, 5, loaded.Summary.SDN.Entities)
			require.Equal(t, "SDN_ENHANCED 2026-02-03", loaded.Meta.Source)
			require.Equal(t, nanoseconds(t, "2026-02-03"), loaded.Meta.PublishedAt)
			require.Equal(t, []string{"no CONS list among the files"}, loaded.Warnings)
			require.Equal(t, Progress{form.Name, size, size, size, size}, last)

			uploaded, err := LoadFiles([]File{form}, nil)
			require.NoError(t, err)
			require.Equal(t, transcript(loaded), transcript(uploaded))
		})
	}
}

func TestLoadDirPrefers(t *testing.T) {
	enhanced := File{"sdn_enhanced.xml", sample(t, "enhanced/SDN_ENHANCED.XML")}
	advanced := File{"sdn_advanced.xml", sample(t, "advanced/sdn_advanced.xml")}
	other := File{"sdn_enhanced.derived.xml.bz2", []byte("not looked at")}
	csv := File{"sdn.csv", []byte("not looked at either")}

	loaded, err := LoadDir(writeFolder(t, csv, advanced, enhanced, other), nil)
	require.NoError(t, err)
	require.Equal(t, FormatENHANCED, loaded.Summary.SDN.Format)
	require.Len(t, loaded.Files, 1)
	require.Equal(t, []string{
		"sdn_enhanced.derived.xml.bz2 is not one of OFAC's published file names and was ignored",
		"sdn.csv is not used: SDN_ENHANCED is preferred",
		"sdn_advanced.xml is not used: SDN_ENHANCED is preferred",
		"no CONS list among the files",
	}, loaded.Warnings)

	loaded, err = LoadDir(writeFolder(t, csv, advanced), nil)
	require.NoError(t, err)
	require.Equal(t, FormatADVANCED, loaded.Summary.SDN.Format)

	_, err = LoadDir(writeFolder(t, advanced, File{"sdn_enhanced.xml", enhanced.Data[:1000]}), nil)
	requireRefused(t, err, ReasonTruncated, "sdn_enhanced.xml") // The loader does not fall back in silence.
}

func TestLoadDirRefuses(t *testing.T) {
	sdn, cons := sample(t, "enhanced/SDN_ENHANCED.XML"), sample(t, "enhanced/cons_enhanced.xml")
	for name, test := range map[string]struct {
		files  []File
		reason Reason
		text   string
	}{
		"no list file":           {[]File{{"notes.txt", []byte("x")}}, ReasonNoFiles, "expected were SDN_ENHANCED.XML"},
		"the same list twice":    {[]File{{"sdn_enhanced.xml", sdn}, {"SDN_ENHANCED.ZIP", zipped(t, File{"x", sdn})}}, ReasonName, "SDN_ENHANCED.XML twice"},
		"CONS under SDN's name":  {[]File{{"sdn_enhanced.xml", cons}}, ReasonFamily, "the content is the CONS list"},
		"ADVANCED as ENHANCED":   {[]File{{"sdn_enhanced.xml", sample(t, "advanced/sdn_advanced.xml")}}, ReasonRoot, "<sanctionsData>"},
		"XML as CSV":             {[]File{{"sdn.csv", sdn}, {"alt.csv", sdn}, {"add.csv", sdn}}, ReasonRoot, "a CSV file was expected"},
		"CSV as XML":             {[]File{{"sdn_enhanced.xml", sample(t, "csv/sdn.csv")}}, ReasonRoot, "an XML document was expected"},
		"CSV set without alt":    {[]File{{"sdn.csv", sample(t, "csv/sdn.csv")}, {"add.csv", sample(t, "csv/add.csv")}}, ReasonIncomplete, "lacks ALT.CSV"},
		"comments only":          {[]File{{"sdn_comments.csv", sample(t, "csv/sdn_comments.csv")}}, ReasonIncomplete, "lacks SDN.CSV"},
		"empty file":             {[]File{{"sdn_enhanced.xml", nil}}, ReasonEmpty, "the file is empty"},
		"archive of two members": {[]File{{"SDN_ENHANCED.ZIP", zipped(t, File{"a.xml", sdn}, File{"b.xml", sdn})}}, ReasonCompression, "2 members"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadDir(writeFolder(t, test.files...), nil)
			requireRefused(t, err, test.reason, test.text)
		})
	}
	_, err := LoadDir(filepath.Join(t.TempDir(), "absent"), nil)
	requireRefused(t, err, ReasonRead)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLoadFilesTellsByContent(t *testing.T) {
	sdn, cons := sample(t, "enhanced/SDN_ENHANCED.XML"), sample(t, "enhanced/cons_enhanced.xml")
	advanced := sample(t, "advanced/sdn_advanced.xml")
	whole, err := LoadFiles([]File{{"upload-1", sdn}, {"upload-2.bin", zstandard(t, cons)}}, nil)
	require.NoError(t, err)
	require.Equal(t, "SDN_ENHANCED 2026-02-03 + CONS_ENHANCED 2026-02-01", whole.Meta.Source)
	require.Equal(t, 6, whole.Summary.Entities)

	loaded, err := LoadFiles([]File{{"upload", advanced}}, nil)
	require.NoError(t, err)
	require.Equal(t, Kind{ofac.ListSDN, FormatADVANCED, RoleWhole}, loaded.Files[0].Kind)

	archive := zipped(t, File{"lists/SDN_ENHANCED.XML", sdn}, File{"lists/cons_enhanced.xml", cons})
	loaded, err = LoadFiles([]File{{"lists.zip", archive}}, nil)
	require.NoError(t, err)
	require.Equal(t, whole.Entities, loaded.Entities)
	require.Equal(t, "lists.zip/SDN_ENHANCED.XML", loaded.Files[0].Name)

	var set []File
	for _, name := range []string{"sdn.csv", "alt.csv", "add.csv", "sdn_comments.csv"} {
		set = append(set, File{name, sample(t, "csv/"+name)})
	}
	loaded, err = LoadFiles([]File{{"csv.zip", zipped(t, set...)}}, nil)
	require.NoError(t, err)
	require.Equal(t, FormatCSV, loaded.Summary.SDN.Format)
	require.Zero(t, loaded.Meta.PublishedAt)

	_, err = LoadFiles([]File{{"upload.csv", sample(t, "csv/sdn.csv")}}, nil)
	requireRefused(t, err, ReasonName, "upload.csv")
	_, err = LoadFiles([]File{{"upload.html", []byte("<!DOCTYPE html><html></html>")}}, nil)
	requireRefused(t, err, ReasonName, "HTML page")
	_, err = LoadFiles([]File{{"upload.xml", []byte("<list xmlns='x'></list>")}}, nil)
	requireRefused(t, err, ReasonRoot, "<list>")
	_, err = LoadFiles(nil, nil)
	requireRefused(t, err, ReasonNoFiles)
}

// Several packed files in one archive, as a page sends them that were dropped together, are what they
// hold; an archive in an archive in an archive is not.
func TestPackedFilesTogether(t *testing.T) {
	sdn, cons := sample(t, "enhanced/SDN_ENHANCED.XML"), sample(t, "enhanced/cons_enhanced.xml")
	plain, err := LoadFiles([]File{{"SDN_ENHANCED.XML", sdn}, {"CONS_ENHANCED.XML", cons}}, nil)
	require.NoError(t, err)
	first, second := zipped(t, File{"SDN_ENHANCED.XML", sdn}), zipped(t, File{"CONS_ENHANCED.XML", cons})
	for name, together := range map[string][]File{
		"OFAC's archives":     {{"SDN_ENHANCED.ZIP", first}, {"CONS_ENHANCED.ZIP", second}},
		"gzip and Zstandard":  {{"sdn_enhanced.xml.gz", gzipped(t, sdn)}, {"cons_enhanced.xml.zst", zstandard(t, cons)}},
		"an archive and gzip": {{"a", first}, {"b", gzipped(t, cons)}},
	} {
		loaded, err := LoadFiles([]File{{"publication.zip", zipped(t, together...)}}, nil)
		require.NoError(t, err, name)
		require.Equal(t, plain.Entities, loaded.Entities, name)
	}
	_, err = LoadFiles([]File{{"publication.zip", zipped(t, File{"x.zip", zipped(t, File{"y.zip", first})}, File{"z.zip", second})}}, nil)
	require.Error(t, err, "one more level")
	_, err = LoadFiles([]File{{"publication.zip", zipped(t, File{"a.zip", first}, File{"b.zip", first})}}, nil)
	requireRefused(t, err, ReasonName, "twice")
}

func TestWarningsAreBounded(t *testing.T) {
	files := []File{{"sdn_enhanced.xml", sample(t, "enhanced/SDN_ENHANCED.XML")}}
	for i := range WarningsMax + 10 {
		files = append(files, File{fmt.Sprintf("notes-%03d.txt", i), nil})
	}
	loaded, err := LoadDir(writeFolder(t, files...), nil)
	require.NoError(t, err)
	require.Len(t, loaded.Warnings, WarningsMax+1)
	require.Equal(t, "11 more warnings", loaded.Warnings[WarningsMax]) // Ten files and the missing family have no room.

	_, err = LoadFiles(make([]File, FolderFilesMax+1), nil)
	requireRefused(t, err, ReasonTooLarge)
}

func TestMergeOfMixedFormats(t *testing.T) {
	files := []File{{"sdn_enhanced.xml", sample(t, "enhanced/SDN_ENHANCED.XML")}}
	for _, name := range []string{"cons_prim.csv", "cons_alt.csv", "cons_add.csv", "cons_comments.csv"} {
		files = append(files, File{name, sample(t, "csv/"+name)})
	}
	loaded, err := LoadFiles(files, nil)
	require.NoError(t, err)
	both := byUID(loaded.Entities)[9100002]
	require.Equal(t, ofac.ListSDN|ofac.ListCONS, both.Lists)
	require.Equal(t, []string{"SAMPLE1", "SAMPLE2", "SAMPLE3"}, both.Programs)
	require.Equal(t, []string{"Consolidated List", "SDN List"}, both.Sublists)
	require.Len(t, both.Names, 2) // The primary name is kept once, although its ids differ.
	require.True(t, both.Names[0].Primary)
	require.False(t, both.Names[1].Primary)
}

func TestRealFolders(t *testing.T) {
	skipHeavy(t)
	dir := dataDir(t)
	loaded, err := LoadDir(filepath.Join(dir, "2025-11-19"), nil)
	require.NoError(t, err)
	require.Equal(t, FormatADVANCED, loaded.Summary.SDN.Format) // The ADVANCED file is used, because the derived ENHANCED file has no published name.
	require.Equal(t, 18367, loaded.Summary.Entities)
	require.Equal(t, 761, loaded.Summary.Addresses)
	require.Empty(t, Inspect(&loaded, DefaultCanaries()))

	cons, err := os.ReadFile(filepath.Join(dir, "2026-01-08", "cons_enhanced.xml.gz"))
	require.NoError(t, err)
	sdn, err := os.ReadFile(filepath.Join(dir, "2025-11-19", "sdn_advanced.xml.bz2"))
	require.NoError(t, err)
	both, err := LoadFiles([]File{{"cons_enhanced.xml.gz", cons}, {"sdn_advanced.xml.bz2", sdn}}, nil)
	require.NoError(t, err)
	require.Empty(t, both.Warnings)
	require.Equal(t, "SDN_ADVANCED 2025-11-19 + CONS_ENHANCED 2026-01-08", both.Meta.Source)
	require.Equal(t, nanoseconds(t, "2026-01-08"), both.Meta.PublishedAt)
	require.Equal(t, 442, both.Summary.CONS.Entities)
	shared := 18367 + 442 - both.Summary.Entities
	require.Equal(t, 88, shared) // The description of the data gives the same count.
	require.Equal(t, shared, countLists(both.Entities, ofac.ListSDN|ofac.ListCONS))
	for i := range both.Entities {
		require.Nil(t, checkEntity(&both.Entities[i]))
		if i > 0 {
			require.Less(t, both.Entities[i-1].UID, both.Entities[i].UID)
		}
	}
}

func countLists(entities []ofac.Entity, lists ofac.Lists) int {
	n := 0
	for i := range entities {
		if entities[i].Lists == lists {
			n++
		}
	}
	return n
}

// The dates of the sources stand in the Meta to the second, and the text shows a time where there
// is one.
func TestDatesOfMeta(t *testing.T) {
	sdn := List{Family: ofac.ListSDN, Format: FormatADVANCED, DataAsOf: nanoseconds(t, "2025-11-19")}
	cons := List{Family: ofac.ListCONS, Format: FormatENHANCED, DataAsOf: nanoseconds(t, "2026-01-08")}
	undated := List{Family: ofac.ListSDN, Format: FormatCSV}
	for _, c := range []struct {
		name      string
		lists     []*List
		sdn, cons int64
	}{
		{"both", []*List{&sdn, &cons}, sdn.DataAsOf, cons.DataAsOf},
		{"SDN alone", []*List{&sdn, nil}, sdn.DataAsOf, 0},
		{"CONS alone", []*List{nil, &cons}, 0, cons.DataAsOf},
		{"CSV has no date", []*List{&undated, &cons}, 0, cons.DataAsOf},
		{"nothing", nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, [ofac.SourcesMax]int64{ofac.SDN: c.sdn, ofac.CONS: c.cons}, metaOf(c.lists...).AsOf)
		})
	}
	sdn.DataAsOf += int64(14 * time.Hour)
	require.Equal(t, "SDN_ADVANCED 2025-11-19T14:00:00Z + CONS_ENHANCED 2026-01-08", metaOf(&sdn, &cons).Source)
}
