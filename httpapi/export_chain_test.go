package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/engine"
	"railguard/httpapi/evidence"
	"railguard/seal"
)

// diary is a log in which one agent decides now and then, among others.
type diary struct {
	*testNode
	id, token string
	keys      string
	signer    *note.Signer
	first     engine.Time // Log time of the agent's first decision.
}

// newDiary makes an agent pay 24 times, once a second, between calls of another agent.
func newDiary(t testing.TB) *diary {
	n := newTestNode(t)
	d := &diary{testNode: n}
	w := n.do("admin", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"buy","spendPolicy":{"maxSingleTxUSDC":0}}`)
	require.Equal(t, 201, w.Code, w.Body)
	d.id, d.token = member(t, w.Body.Bytes(), "agentId"), member(t, w.Body.Bytes(), "token")
	w = n.do("admin", "POST", "/v1/agents/register", `{"agentName":"Other","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"buy"}`)
	other := member(t, w.Body.Bytes(), "token")
	n.advance(engine.Second)
	d.first = n.now
	for i := range 24 {
		txn := member(t, n.screen(d.token, "").Body.Bytes(), "txnId")
		n.screen(other, "")
		if i%3 == 0 {
			require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
		}
		n.advance(engine.Second)
	}
	d.keys = n.settings.Genesis.LogKeys
	seed, err := n.secrets.Open(seal.LabelLogSeed, n.settings.Genesis.LogSeed)
	require.NoError(t, err)
	d.signer, err = note.NewSigner("pay.example.com/cl_test", seed)
	require.NoError(t, err)
	return d
}

// export returns the export of the agent's decisions first to last. Its times fall between
// decisions.
func (d *diary) export(t testing.TB, first, last int) [][]byte {
	at := func(number int) string {
		return (d.first + engine.Time(number-1)*engine.Second - engine.Second/2).String()
	}
	return d.exportLines(t, "auditor", "?agentId="+d.id+"&from="+at(first)+"&to="+at(last+1))
}

func (d *diary) examine(lines [][]byte) (examine.Report, error) {
	return examine.File(bytes.NewReader(bytes.Join(lines, nil)), examine.Options{Keys: d.keys, KeysGiven: true})
}

// resign makes a new end line, as the cluster itself would: the holder of the log's key can
// sign any file. Only the tree and the numbers can then show a forgery.
func (d *diary) resign(t testing.TB, lines [][]byte) [][]byte {
	head, last := objectOf(lines[0]), len(lines)-1
	number := func(m object, name string) uint64 {
		n, err := m[name].(json.Number).Int64()
		require.NoError(t, err)
		return uint64(n)
	}
	text := func(name string) string { s, _ := head[name].(string); return s }
	point, err := note.Parse([]byte(text("checkpoint")))
	require.NoError(t, err)
	x := note.Export{
		Cluster: text("clusterId"), Size: point.Size, Root: point.Root, First: number(head, "first"), End: number(head, "end"),
		From: text("from"), To: text("to"), Agent: d.id, Chain: note.Chain{Before: note.EdgeNone, After: note.EdgeNone},
	}
	digest := sha256.New()
	for _, line := range lines[1:last] {
		m := objectOf(line)
		switch m["type"] {
		case "before":
			x.Chain.Before = note.EdgeHere
			continue
		case "after":
			x.Chain.After = note.EdgeHere
			continue
		}
		data := []byte(m["leaf"].(string))
		if raw, err := base64.StdEncoding.DecodeString(string(data)); err == nil {
			data = raw
		}
		hash := proof.LeafHash(data)
		digest.Write(binary.BigEndian.AppendUint64(nil, number(m, "index")))
		digest.Write(hash[:])
		x.Leaves++
		if n := numberOf(line); n != 0 {
			if x.Chain.Last = n; x.Chain.First == 0 {
				x.Chain.First = n
			}
		}
	}
	x.Digest = note.Hash(digest.Sum(nil))
	end := object{
		"type": "end", "first": x.First, "end": x.End, "leaves": x.Leaves, "digest": base64.StdEncoding.EncodeToString(x.Digest[:]),
		"before": x.Chain.Before, "after": x.Chain.After, "signature": string(d.signer.SignExport(x)),
	}
	data, err := json.Marshal(end)
	require.NoError(t, err)
	return append(slices.Clone(lines[:last]), append(data, '\n'))
}

// numberOf returns the number of a line's record among those about its agent; 0: it has none.
func numberOf(line []byte) uint64 {
	m := objectOf(line)
	record, ok := m["record"].(object)
	if text, event := m["leaf"].(string); !ok && event {
		record = objectOf([]byte(text))
	}
	number, _ := record["agentSequence"].(json.Number)
	n, _ := number.Int64()
	return uint64(n)
}

// numbered is the number of the diary's k-th decision: the registration and a disposition of
// every third decision have numbers too.
func numbered(k int) uint64 { return uint64(1 + k + (k+1)/3) }

func TestAgentExports(t *testing.T) {
	d := newDiary(t)
	for _, test := range []struct {
		first, last   int
		before, after uint64 // 0: none.
	}{{5, 12, 7, 18}, {1, 3, 1, 6}, {1, 24, 1, 0}, {20, 24, 27, 0}, {7, 7, 9, 12}} {
		report, err := d.examine(d.export(t, test.first, test.last))
		require.NoError(t, err)
		last := numbered(test.last)
		if test.last%3 == 1 {
			last++ // The decision's disposition.
		}
		require.Equal(t, [3]any{d.id, numbered(test.first), last}, [3]any{report.Agent, report.Chain.First, report.Chain.Last})
		require.Equal(t, test.last-test.first+1, report.Screens)
		for _, side := range []struct {
			edge *examine.Edge
			want uint64
		}{{report.Chain.Before, test.before}, {report.Chain.After, test.after}} {
			require.Equal(t, side.want == 0, side.edge == nil)
			if side.edge != nil {
				require.Equal(t, side.want, side.edge.Sequence)
			}
		}
	}
	// A time without decisions of the agent is proven empty: number 13 follows number 12.
	between := func(at engine.Time) string {
		return "?agentId=" + d.id + "&from=" + (at + engine.Second/4).String() + "&to=" + (at + engine.Second/2).String()
	}
	empty := d.exportLines(t, "auditor", between(d.first+7*engine.Second))
	report, err := d.examine(empty)
	require.NoError(t, err)
	require.Zero(t, report.Screens)
	require.Equal(t, [2]uint64{numbered(8), numbered(9)}, [2]uint64{report.Chain.Before.Sequence, report.Chain.After.Sequence})
	report, err = d.examine(d.exportLines(t, "auditor", between(d.first+23*engine.Second)))
	require.NoError(t, err)
	require.Equal(t, numbered(24), report.Chain.Before.Sequence)
	require.Nil(t, report.Chain.After)
	report, err = d.examine(d.exportLines(t, "auditor", between(d.first-engine.Second)))
	require.NoError(t, err)
	require.Equal(t, [2]uint64{1, 2}, [2]uint64{report.Chain.Before.Sequence, report.Chain.After.Sequence}, "the registration, and the first decision")

	// An export that broke off and was continued gives the same file.
	whole := d.export(t, 5, 12)
	w := d.do("auditor", "GET", "/v1/audit/export?agentId="+d.id+"&from="+objectOf(whole[0])["from"].(string)+"&to="+objectOf(whole[0])["to"].(string), "")
	rest := d.do("auditor", "GET", "/v1/audit/export?"+w.Header().Get(evidence.HeaderContinue)+"&cursor="+string(objectOf(whole[3])["index"].(json.Number)), "")
	require.Equal(t, 200, rest.Code, rest.Body)
	joined := append(slices.Clone(linesOf(w)[:4]), linesOf(rest)...)
	_, err = d.examine(joined)
	require.NoError(t, err)

	require.Equal(t, 400, d.do("auditor", "GET", "/v1/audit/export?agentId=agt_00000000", "").Code, "no id of ours")
	require.Equal(t, 404, d.do("auditor", "GET", "/v1/audit/export?agentId="+d.api.Judges().Now().IDs.AgentID(9999), "").Code)
	require.Equal(t, 400, d.do("auditor", "GET", "/v1/audit/export?format=csv&agentId="+d.id, "").Code)
	require.Equal(t, 400, d.do("auditor", "GET", "/v1/audit/export?agentId=", "").Code)
}

// The agent's numbers reveal decisions that were left out, moved or spliced in, even when
// the cluster itself signed the cut file.
func TestTheClusterCannotLeaveOutADecision(t *testing.T) {
	d := newDiary(t)
	whole := d.export(t, 5, 12)
	_, err := d.examine(d.resign(t, whole))
	require.NoError(t, err, "signed anew it is the same file")
	place := func(number uint64) int {
		return slices.IndexFunc(whole, func(line []byte) bool { return numberOf(line) == number })
	}
	var all []int
	for n := numbered(5); n <= numbered(12); n++ {
		all = append(all, place(n))
	}
	kind := func(name string) int {
		return slices.IndexFunc(whole, func(line []byte) bool { return objectOf(line)["type"] == name })
	}
	without := func(lines [][]byte, at ...int) [][]byte {
		var kept [][]byte
		var profile json.RawMessage // Profile of the first line: a forger keeps it with the remaining lines.
		for i, line := range lines {
			m := objectOf(line)
			if slices.Contains(at, i) {
				var raw struct{ Profile json.RawMessage }
				if _ = json.Unmarshal(line, &raw); profile == nil && m["type"] == "leaf" {
					profile = raw.Profile
				}
				continue
			}
			if record, ok := m["record"].(object); ok && profile != nil && m["type"] == "leaf" && record["kind"] == "screen" && m["profile"] == nil {
				line, profile = []byte(strings.TrimSuffix(string(line), "}\n")+`,"profile":`+string(profile)+"}\n"), nil
			}
			kept = append(kept, line)
		}
		return kept
	}
	for name, test := range map[string]struct {
		lines [][]byte
		says  string
	}{
		"one in the middle":        {without(whole, place(12)), "number 12 of the records about agent " + d.id},
		"a disposition":            {without(whole, place(11)), "number 11 of the records about agent " + d.id},
		"three":                    {without(whole, place(12), place(13), place(14)), "numbers 12 to 14 of the records"},
		"the first":                {without(whole, place(8)), "number 8 of"},
		"the last":                 {without(whole, place(17)), "number 17 of"},
		"the one before":           {without(whole, kind("before")), "number 7 of"},
		"the first and the before": {without(whole, place(8), kind("before")), "number 8 of"},
		"all of them":              {without(whole, all...), "numbers 8 to 17 of"},
	} {
		require.NotNil(t, test.lines)
		_, err := d.examine(d.resign(t, test.lines))
		require.ErrorIs(t, err, examine.ErrProof, name)
		require.ErrorContains(t, err, test.says, name)
	}
	// Without the decision after the range, its end is open, and the report says so.
	report, err := d.examine(d.resign(t, without(whole, kind("after"))))
	require.NoError(t, err)
	require.Contains(t, strings.Join(report.NotShown(), "\n"), "that none was left out at the end of the time")
}

// A record of another agent in place of one of its own is revealed too.
func TestTheClusterCannotSpliceADecision(t *testing.T) {
	d := newDiary(t)
	whole := d.export(t, 5, 12)
	mine := slices.IndexFunc(whole, func(line []byte) bool {
		return numberOf(line) == numbered(8)
	})
	before := slices.IndexFunc(whole, func(line []byte) bool { return objectOf(line)["type"] == "before" })
	other := d.exportLines(t, "auditor", "")
	foreign := slices.IndexFunc(other, func(line []byte) bool {
		record, _ := objectOf(line)["record"].(object)
		return record != nil && record["agentName"] == "Other" && record["kind"] == "screen" && objectOf(line)["index"].(json.Number) > objectOf(whole[1])["index"].(json.Number)
	})
	require.Positive(t, foreign)
	spliced := slices.Clone(whole)
	spliced[mine] = other[foreign]
	slices.SortStableFunc(spliced[1:before], func(a, b []byte) int {
		x, _ := objectOf(a)["index"].(json.Number).Int64()
		y, _ := objectOf(b)["index"].(json.Number).Int64()
		return int(x - y)
	})
	_, err := d.examine(d.resign(t, spliced))
	require.ErrorIs(t, err, examine.ErrProof)
}

// A thousand cuts by a forger who can sign (a quarter in the short form): none leaves out,
// moves or adds a decision of the agent unseen.
func TestAgentExportsCannotBeCut(t *testing.T) {
	d := newDiary(t)
	files := [][][]byte{d.export(t, 5, 12), d.export(t, 1, 6), d.export(t, 9, 20)}
	s := &scissors{random: rand.New(rand.NewPCG(5, 6))}
	for _, lines := range append(files, d.exportLines(t, "auditor", "")) {
		s.pieces = append(s.pieces, lines[1:len(lines)-1]...)
	}
	decisions := func(lines [][]byte) (found []string) {
		for _, line := range lines {
			m := objectOf(line)
			if m["type"] == "leaf" && numberOf(line) != 0 {
				found = append(found, string(m["index"].(json.Number)))
			}
		}
		return found
	}
	tried, refused, each := 0, 0, 1
	if testing.Short() {
		each = 4
	}
	for _, lines := range files {
		want := decisions(lines)
		for _, cut := range []string{"remove", "repeat", "repeat elsewhere", "swap", "splice in", "splice instead", "another's leaf", "relabel"} {
			for round := range 60 {
				forged := cuts[cut](s, slices.Clone(lines))
				if round%each != 0 || same(forged, lines) || objectOf(forged[len(forged)-1])["type"] != "end" {
					continue
				}
				tried++
				forged = d.resign(t, forged)
				if _, err := d.examine(forged); err != nil {
					refused++
					continue
				}
				require.Equal(t, want, decisions(forged), "%s:\n%s", cut, bytes.Join(forged, nil))
			}
		}
		for _, cut := range slices.Sorted(maps.Keys(cuts)) { // A forger who cannot sign achieves nothing.
			for range 6 {
				if forged := cuts[cut](s, slices.Clone(lines)); !same(forged, lines) {
					_, err := d.examine(forged)
					require.Error(t, err, "%s:\n%s", cut, bytes.Join(forged, nil))
				}
			}
		}
	}
	require.Greater(t, tried, 1000/each)
	require.Greater(t, refused, tried/2)
}
