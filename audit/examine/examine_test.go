package examine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
)

// fixture is a tree of records. It is made with another library than the verifier uses.
type fixture struct {
	leaves [][]byte
	hashes map[int64]tlog.Hash
	signer *note.Signer
}

const (
	from = "2026-03-22T00:00:00.000Z"
	to   = "2026-03-22T23:59:59.999Z"
)

// newFixture makes count records. Each fifth is the disposition of the one before.
func newFixture(t testing.TB, count int) *fixture {
	signer, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	f := &fixture{hashes: map[int64]tlog.Hash{}, signer: signer}
	for i := range count {
		leaf := fmt.Appendf(nil, `{"kind":"screen","txnId":"txn_%d","verdict":"PROCEED","rule":null,"screenedAt":"2026-03-22T03:33:28.589Z","leaf":%d,"agentId":"agt_1","agentName":"buyer","_request":{"amount":12.50}}`, i, i)
		switch {
		case i%5 == 4:
			leaf = fmt.Appendf(nil, `{"kind":"review.dispositioned","time":"2026-03-22T03:33:29.000Z","txnId":"txn_%d","leaf":%d,"reviewedLeaf":%d,"recordPrevious":%d,"disposition":"REJECTED","reviewedBy":"carla"}`, i-1, i, i-1, i-1)
		case i%5 == 3 && i > 5:
			leaf = fmt.Appendf(nil, `{"kind":"review.commented","time":"2026-03-22T03:33:29.000Z","txnId":"txn_%d","leaf":%d,"reviewedLeaf":%d,"recordPrevious":%d,"comment":"seen","by":"carla"}`, i-6, i, i-6, i-6)
		}
		f.add(t, i, leaf)
	}
	return f
}

// add appends a leaf to the log.
func (f *fixture) add(t testing.TB, i int, leaf []byte) {
	f.leaves = append(f.leaves, leaf)
	stored, err := tlog.StoredHashes(int64(i), leaf, f)
	require.NoError(t, err)
	at := tlog.StoredHashIndex(0, int64(i))
	for n, hash := range stored {
		f.hashes[at+int64(n)] = hash
	}
}

// ReadHashes makes the fixture a tlog.HashReader.
func (f *fixture) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = f.hashes[index]
	}
	return hashes, nil
}

type object = map[string]any

func (f *fixture) line(t testing.TB, index int) object {
	path, err := tlog.ProveRecord(int64(len(f.leaves)), int64(index), f)
	require.NoError(t, err)
	texts := []string{}
	for _, hash := range path {
		texts = append(texts, base64.StdEncoding.EncodeToString(hash[:]))
	}
	hash := tlog.RecordHash(f.leaves[index])
	return object{"type": "leaf", "leaf": string(f.leaves[index]), "leafHash": base64.StdEncoding.EncodeToString(hash[:]), "index": index, "path": texts}
}

func (f *fixture) root(t testing.TB) note.Hash {
	root, err := tlog.TreeHash(int64(len(f.leaves)), f)
	require.NoError(t, err)
	return note.Hash(root)
}

func (f *fixture) checkpoint(t testing.TB) string {
	return string(f.signer.Sign(uint64(len(f.leaves)), f.root(t), 1_774_150_408_000_000_000))
}

func (f *fixture) inner(t testing.TB, index int) object {
	p := f.line(t, index)
	delete(p, "type")
	p["treeSize"] = len(f.leaves)
	return p
}

func (f *fixture) proof(t testing.TB, index int) object {
	p := f.inner(t, index)
	p["checkpoint"], p["keys"], p["txnId"] = f.checkpoint(t), f.signer.VerifierKeys(), fmt.Sprintf("txn_%d", index)
	return p
}

// export returns an export of some leaves of a range, for an operator if one is given.
func (f *fixture) export(t testing.TB, first, end int, operator string, chosen ...int) []object {
	return f.exportOf(t, from, to, first, end, operator, chosen...)
}

func (f *fixture) exportOf(t testing.TB, from, to string, first, end int, operator string, chosen ...int) []object {
	head := object{
		"type": "export", "version": 1, "clusterId": "cl_1", "checkpoint": f.checkpoint(t), "keys": f.signer.VerifierKeys(), "treeSize": len(f.leaves),
		"from": from, "to": to, "first": first, "end": end, "selection": nil,
	}
	if operator != "" {
		head["selection"] = object{"operator": operator}
	}
	lines := []object{head}
	digest := sha256.New()
	for _, i := range chosen {
		lines = append(lines, f.line(t, i))
		digestLeaf(digest, uint64(i), note.Hash(tlog.RecordHash(f.leaves[i])))
	}
	x := note.Export{
		Cluster: "cl_1", Size: uint64(len(f.leaves)), Root: f.root(t), First: uint64(first), End: uint64(end), From: from, To: to,
		Operator: operator, Leaves: uint64(len(chosen)), Digest: note.Hash(digest.Sum(nil)),
	}
	return append(lines, object{
		"type": "end", "first": first, "end": end, "leaves": len(chosen), "digest": base64.StdEncoding.EncodeToString(x.Digest[:]),
		"signature": string(f.signer.SignExport(x)),
	})
}

func numbers(first, end int) (list []int) {
	for i := first; i < end; i++ {
		list = append(list, i)
	}
	return list
}

func encode(t testing.TB, lines ...object) string {
	var text strings.Builder
	for _, line := range lines {
		data, err := json.Marshal(line)
		require.NoError(t, err)
		text.Write(append(data, '\n'))
	}
	return text.String()
}

func examineText(text, keys string) (Report, error) {
	return File(strings.NewReader(text), Options{Keys: keys, KeysGiven: keys != ""})
}

func TestProof(t *testing.T) {
	f := newFixture(t, 11)
	for i := range f.leaves {
		if i%5 > 2 {
			continue
		}
		var seen []*Record
		report, err := File(strings.NewReader(encode(t, f.proof(t, i))), Options{Visit: func(r *Record) error { seen = append(seen, r); return nil }})
		require.NoError(t, err)
		require.Equal(t, 1, report.Leaves)
		require.False(t, report.KeysGiven)
		require.Equal(t, "txn_"+fmt.Sprint(i), report.TxnID)
		require.JSONEq(t, string(f.leaves[i]), string(seen[0].Raw))
		require.Equal(t, "12.50", seen[0].Amount)
		require.Contains(t, strings.Join(report.NotShown(), "\n"), "no disposition")
		require.Contains(t, strings.Join(report.NotShown(), "\n"), "nothing was written about it behind", "with a disposition or without")
		require.Contains(t, strings.Join(report.NotShown(), "\n"), "fingerprint")
	}
	indented, err := json.MarshalIndent(f.proof(t, 0), "", "  ")
	require.NoError(t, err)
	report, err := examineText(string(indented), f.signer.VerifierKeys())
	require.NoError(t, err)
	require.True(t, report.KeysGiven)
}

func TestProofWithReview(t *testing.T) {
	f := newFixture(t, 15)
	p := f.proof(t, 3) // 4 is its disposition.
	p["later"] = []object{f.inner(t, 4)}
	report, err := examineText(encode(t, p), "")
	require.NoError(t, err)
	require.True(t, report.Disposition)
	require.Equal(t, [2]int{2, 1}, [2]int{report.Leaves, report.Later})
	require.Equal(t, 1, report.Screens)

	p = f.proof(t, 2) // 8 is a comment on it.
	p["later"] = []object{f.inner(t, 8)}
	report, err = examineText(encode(t, p), "")
	require.NoError(t, err)
	require.False(t, report.Disposition)

	for name, later := range map[string][]object{
		"another case's disposition": {f.inner(t, 14)},
		"a screening":                {f.inner(t, 5)},
		"another case's comment":     {f.inner(t, 13)},
		"a comment twice":            {f.inner(t, 8), f.inner(t, 8)},
	} {
		_, err := examineText(encode(t, with(f.proof(t, 2), "later", later)), "")
		require.ErrorIs(t, err, ErrProof, name)
	}
}

// A case of which somebody leaves out what does not suit him: each leaf names the one before.
func TestWhatIsCutFromACaseIsSeen(t *testing.T) {
	f := newFixture(t, 0)
	for i, text := range []string{
		`{"kind":"screen","screenedAt":"2026-03-22T03:33:28.000Z","txnId":"txn_0","leaf":0}`,
		`{"kind":"review.dispositioned","time":"2026-03-22T03:33:29.000Z","txnId":"txn_0","leaf":1,"reviewedLeaf":0,"recordPrevious":0,"disposition":"ESCALATE_SAR"}`,
		`{"kind":"review.commented","time":"2026-03-22T03:33:29.000Z","txnId":"txn_0","leaf":2,"reviewedLeaf":0,"recordPrevious":1}`,
		`{"kind":"hold.settled","time":"2026-03-22T03:33:29.000Z","txnId":"txn_0","leaf":3,"screenedLeaf":0,"recordPrevious":2}`,
		`{"kind":"review.commented","time":"2026-03-22T03:33:29.000Z","txnId":"txn_0","leaf":4,"reviewedLeaf":0}`,
	} {
		f.add(t, i, []byte(text))
	}
	whole := []object{f.inner(t, 1), f.inner(t, 2), f.inner(t, 3)}
	report, err := examineText(encode(t, with(f.proof(t, 0), "later", whole)), "")
	require.NoError(t, err)
	require.Equal(t, [2]int{4, 3}, [2]int{report.Leaves, report.Later})
	for name, later := range map[string][]object{
		"the disposition is cut": {whole[1], whole[2]}, "a comment is cut": {whole[0], whole[2]}, "all but the settle": {whole[2]},
		"moved": {whole[1], whole[0], whole[2]}, "a leaf without a place": {whole[0], whole[1], whole[2], f.inner(t, 4)},
	} {
		_, err := examineText(encode(t, with(f.proof(t, 0), "later", later)), "")
		require.ErrorIs(t, err, ErrProof, name)
	}
}

func TestExport(t *testing.T) {
	f := newFixture(t, 300)
	report, err := examineText(encode(t, f.export(t, 0, 300, "", numbers(0, 300)...)...), f.signer.VerifierKeys())
	require.NoError(t, err)
	require.Equal(t, 300, report.Leaves)
	require.False(t, report.Selection())
	require.Contains(t, strings.Join(report.Shown(), "\n"), "leaves 0 to 299 are here without a gap")

	report, err = examineText(encode(t, f.export(t, 7, 12, "", numbers(7, 12)...)...), "")
	require.NoError(t, err)
	require.Equal(t, 5, report.Leaves)

	report, err = examineText(encode(t, f.export(t, 7, 12, "acme", 8, 11)...), "")
	require.NoError(t, err)
	require.True(t, report.Selection())
	require.Contains(t, strings.Join(report.NotShown(), "\n"), "a selection has gaps")
	data, err := json.Marshal(report)
	require.NoError(t, err)
	require.Contains(t, string(data), `"complete":false,"gaps":3`)

	for _, empty := range [][]object{f.export(t, 5, 5, ""), f.export(t, 5, 9, "acme")} {
		report, err = examineText(encode(t, empty...), "")
		require.NoError(t, err)
		require.Zero(t, report.Leaves)
	}
}

// These exports are signed by the log's own key, as a forger who has it could do. The tree
// alone refuses them.
func TestRangesAreWhole(t *testing.T) {
	f := newFixture(t, 20)
	for name, c := range map[string]struct {
		chosen   []int
		operator string
		want     string
	}{
		"one missing":             {[]int{2, 3, 5, 6, 7}, "", "line 4: not proven: missing before this line: record 4"},
		"several missing":         {[]int{2, 6, 7}, "", "line 3: not proven: missing before this line: 3 to 5"},
		"the first missing":       {[]int{3, 4, 5, 6, 7}, "", "line 2: not proven: missing before this line: record 2"},
		"the last missing":        {[]int{2, 3, 4, 5}, "", "line 6: not proven: missing before the end line: 6 to 7"},
		"none":                    {nil, "", "line 2: not proven: missing before the end line: 2 to 7"},
		"twice":                   {[]int{2, 3, 3, 4, 5, 6, 7}, "", "line 4: not proven: record 3 stands here twice"},
		"swapped":                 {[]int{2, 4, 3, 5, 6, 7}, "", "line 3: not proven: missing before this line: record 3"},
		"moved back":              {[]int{2, 3, 4, 2, 5, 6, 7}, "", "line 5: not proven: record 2 stands behind record 4: moved or repeated"},
		"one too many":            {[]int{2, 3, 4, 5, 6, 7, 8}, "", "line 8: not proven: record 8 does not belong here: the export is of leaves 2 to 7"},
		"selection: twice":        {[]int{3, 3}, "acme", "line 3: not proven: record 3 stands here twice"},
		"selection: swapped":      {[]int{6, 3}, "acme", "line 3: not proven: record 3 stands behind record 6: moved or repeated"},
		"selection: out of range": {[]int{1, 3}, "acme", "line 2: not proven: record 1 does not belong here: the export is of leaves 2 to 7"},
	} {
		_, err := examineText(encode(t, f.export(t, 2, 8, c.operator, c.chosen...)...), "")
		require.ErrorIs(t, err, ErrProof, name)
		require.EqualError(t, err, c.want, name)
	}
}

// A record whose time is outside of the export's does not belong to it.
func TestRecordsAreOfTheirTime(t *testing.T) {
	f := newFixture(t, 20)
	for _, times := range [][2]string{{"2001-01-01T00:00:00.000Z", "2001-01-02T00:00:00.000Z"}, {"2099-01-01T00:00:00.000Z", "2099-01-02T00:00:00.000Z"}} {
		_, err := examineText(encode(t, f.exportOf(t, times[0], times[1], 2, 8, "", numbers(2, 8)...)...), "")
		require.ErrorIs(t, err, ErrProof)
		require.ErrorContains(t, err, "line 2: not proven: record 2 is of ")
	}
}

// For a selection no tree shows that it is complete; the signature does.
func TestSelectionsAreSigned(t *testing.T) {
	f := newFixture(t, 20)
	whole, scoped := f.export(t, 2, 8, "", numbers(2, 8)...), f.export(t, 2, 8, "acme", 3, 5, 7)
	short := f.export(t, 2, 8, "acme", 3, 7)
	stranger, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{9}, 32))
	require.NoError(t, err)
	own := f.signer
	f.signer = stranger
	foreign := f.export(t, 2, 8, "acme", 3, 7)
	f.signer = own
	for name, lines := range map[string][]object{
		"removed, counted and digested anew":    {scoped[0], scoped[1], scoped[3], with(short[3], "signature", scoped[4]["signature"])},
		"another record instead":                {scoped[0], scoped[1], whole[3], scoped[3], scoped[4]},
		"removed, signed by another":            {scoped[0], scoped[1], scoped[3], foreign[3]},
		"a range called a selection":            append([]object{with(whole[0], "selection", object{"operator": "acme"})}, whole[1:]...),
		"a range cut and called a selection":    {scoped[0], whole[2], whole[6], with(short[3], "signature", whole[7]["signature"])},
		"another operator's":                    append([]object{with(scoped[0], "selection", object{"operator": "other"})}, scoped[1:]...),
		"a selection called a range":            append([]object{with(scoped[0], "selection", nil)}, scoped[1:]...),
		"another time":                          append([]object{with(scoped[0], "from", "2026-03-01T00:00:00.000Z")}, scoped[1:]...),
		"another cluster":                       append([]object{with(scoped[0], "clusterId", "cl_2")}, scoped[1:]...),
		"the end line of another, longer one":   {scoped[0], scoped[1], scoped[3], scoped[4]},
		"a smaller range, in head and end line": {with(scoped[0], "end", 7), scoped[1], scoped[2], with(short[3], "end", 7)},
	} {
		_, err := examineText(encode(t, lines...), own.VerifierKeys())
		require.ErrorIs(t, err, ErrProof, name)
	}
}

// A selection signed by its log's own key must still end within its tree.
func TestSelectionsEndWithTheirTree(t *testing.T) {
	f := newFixture(t, 9)
	_, err := examineText(encode(t, f.export(t, 2, 9, "acme", 3, 5)...), f.signer.VerifierKeys())
	require.NoError(t, err)
	_, err = examineText(encode(t, f.export(t, 2, 10, "acme", 3, 5)...), f.signer.VerifierKeys())
	require.ErrorIs(t, err, ErrProof)
	require.ErrorContains(t, err, "no range of a tree of 9")
}

func with(o object, name string, value any) object {
	o = maps.Clone(o)
	o[name] = value
	return o
}

func TestWhatDoesNotProve(t *testing.T) {
	f := newFixture(t, 9)
	other, err := note.NewSigner("example.org/log", bytes.Repeat([]byte{8}, 32))
	require.NoError(t, err)
	changed := func(change func(object)) string {
		p := f.proof(t, 2)
		change(p)
		return encode(t, p)
	}
	same := changed(func(object) {})
	cases := map[string]struct {
		text, keys string
		want       error
	}{
		"record altered":  {changed(func(p object) { p["leaf"] = strings.Replace(p["leaf"].(string), "PROCEED", "BLOCK", 1) }), "", ErrProof},
		"another index":   {changed(func(p object) { p["index"] = 5 }), "", ErrProof},
		"another txnId":   {changed(func(p object) { p["txnId"] = "txn_1" }), "", ErrProof},
		"no txnId":        {changed(func(p object) { delete(p, "txnId") }), "", ErrFormat},
		"another hash":    {changed(func(p object) { p["leafHash"] = f.line(t, 1)["leafHash"] }), "", ErrProof},
		"no hash":         {changed(func(p object) { delete(p, "leafHash") }), "", ErrFormat},
		"another size":    {changed(func(p object) { p["treeSize"] = 8 }), "", ErrProof},
		"a note beside":   {changed(func(p object) { p["verdict"] = "BLOCK" }), "", ErrProof},
		"a type":          {changed(func(p object) { p["type"] = "leaf" }), "", ErrProof},
		"another case":    {strings.Replace(same, `"txnId"`, `"TxnId"`, 1), "", ErrFormat},
		"a name twice":    {strings.Replace(same, `"txnId"`, `"txnId":"txn_1","txnId"`, 1), "", ErrFormat},
		"something after": {same + "{}\n", "", ErrFormat},
		"no screening":    {encode(t, with(f.proof(t, 4), "txnId", "txn_3")), "", ErrProof},
		"path cut":        {changed(func(p object) { p["path"] = p["path"].([]string)[1:] }), "", ErrProof},
		"path not a hash": {changed(func(p object) { p["path"] = []string{"AAAA"} }), "", ErrFormat},
		"checkpoint altered": {changed(func(p object) {
			p["checkpoint"] = strings.Replace(p["checkpoint"].(string), "\n9\n", "\n8\n", 1)
		}), "", ErrProof},
		"signed by others":   {same, other.VerifierKeys(), ErrProof},
		"other keys inside":  {changed(func(p object) { p["keys"] = other.VerifierKeys() }), f.signer.VerifierKeys(), ErrProof},
		"no checkpoint":      {changed(func(p object) { delete(p, "checkpoint") }), "", ErrFormat},
		"no index":           {changed(func(p object) { delete(p, "index") }), "", ErrFormat},
		"empty":              {"", "", ErrFormat},
		"not JSON":           {"hello\n", "", ErrFormat},
		"keys that are none": {same, "# nothing\n", ErrKeys},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := examineText(c.text, c.keys)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestWhatNoExportIs(t *testing.T) {
	f := newFixture(t, 9)
	exported := f.export(t, 0, 9, "", numbers(0, 9)...)
	altered := func(at int, name string, value any) string {
		lines := slices.Clone(exported)
		lines[at] = with(lines[at], name, value)
		return encode(t, lines...)
	}
	cases := map[string]struct {
		text string
		want error
	}{
		"export cut":             {encode(t, exported[:5]...), ErrProof},
		"export without a row":   {encode(t, append(slices.Clone(exported[:3]), exported[4:]...)...), ErrProof},
		"export with a stranger": {encode(t, exported[0], object{"type": "note"}), ErrFormat},
		"export of later format": {altered(0, "version", 2), ErrRelease},
		"export: end lowered":    {encode(t, append(slices.Clone(exported[:9]), with(exported[10], "leaves", 8))...), ErrProof},
		"export: line after":     {encode(t, append(slices.Clone(exported), exported[9])...), ErrProof},
		"export: word after":     {encode(t, exported...) + "x", ErrProof},
		"export: unknown member": {altered(3, "verdict", "BLOCK"), ErrProof},
		"export: head member":    {altered(0, "note", "x"), ErrProof},
		"export: end member":     {altered(10, "note", "x"), ErrProof},
		"export: hash":           {altered(3, "leafHash", exported[4]["leafHash"]), ErrProof},
		"export: size":           {altered(0, "treeSize", 10), ErrProof},
		"export: beyond tree":    {altered(0, "end", 10), ErrProof},
		"export: backwards":      {altered(0, "first", 10), ErrProof},
		"export: later time":     {altered(0, "from", to), ErrProof},
		"export: half selection": {altered(0, "selection", object{"verdict": "BLOCK"}), ErrFormat},
		"export: nobody's":       {altered(0, "selection", object{"operator": ""}), ErrFormat},
		"export: digest":         {altered(10, "digest", exported[1]["leafHash"]), ErrProof},
		"export: count":          {altered(10, "leaves", 8), ErrProof},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := examineText(c.text, "")
			require.ErrorIs(t, err, c.want)
		})
	}
}

// With an empty file of keys, the keys inside the export must not be used.
func TestEmptyKeysAreAnError(t *testing.T) {
	f := newFixture(t, 3)
	_, err := File(strings.NewReader(encode(t, f.proof(t, 0))), Options{KeysGiven: true})
	require.ErrorIs(t, err, ErrKeys)
}

func TestVisitEndsFile(t *testing.T) {
	f := newFixture(t, 6)
	stop := errors.New("enough")
	_, err := File(strings.NewReader(encode(t, f.export(t, 0, 6, "", numbers(0, 6)...)...)), Options{Visit: func(*Record) error { return stop }})
	require.Equal(t, stop, err)
}

func FuzzFile(f *testing.F) {
	fx := newFixture(f, 5)
	f.Add(encode(f, fx.proof(f, 1)))
	f.Add(encode(f, with(fx.proof(f, 3), "later", []object{fx.inner(f, 4)})))
	f.Add(encode(f, fx.export(f, 0, 5, "", numbers(0, 5)...)...))
	f.Add(encode(f, fx.export(f, 1, 4, "acme", 2)...))
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = File(strings.NewReader(text), Options{})
	})
}
