package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/proof"
	"railguard/httpapi/border"
	"railguard/ofac"
)

// These tests forge the evidence of a real node: whatever they cut, move, join or write
// into an export or a proof, `railguard verify` refuses it. Both logs of the test have one
// signing key: the second is a fork, the best that a forger could get without the key
// itself.

// takenRecords holds the evidence that a node gives out.
type takenRecords struct {
	keys    string
	whole   [][]byte // Lines of a complete export.
	earlier [][]byte // Lines of an earlier export.
	part    [][]byte // Lines of an export of a shorter time.
	proof   []byte   // Proof of a record with a disposition and comments.
	other   []byte   // Proof of another such record.
}

// newEvidence fills a log: screening calls of two operators, reviews with dispositions and
// comments. Another story gives another log.
func newEvidence(t testing.TB, story string) *takenRecords {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	w := n.do("admin", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"buy"}`)
	require.Equal(t, 201, w.Code, w.Body)
	foreign := member(t, w.Body.Bytes(), "token")
	e := &takenRecords{keys: n.settings.Genesis.LogKeys}
	var reviews []string
	for i := range 8 {
		if i == 4 {
			e.earlier = n.exportLines(t, "auditor", "")
		}
		txn := member(t, n.screen(token, `,"cpName":"é `+story+`"`).Body.Bytes(), "txnId")
		n.advance(1_000_000_000)
		require.Equal(t, "PROCEED null", verdict(t, n.screen(foreign, "")))
		require.Equal(t, 200, n.do("reviewer", "POST", "/v1/queue/"+txn+"/comment", `{"comment":"seen"}`).Code)
		require.Equal(t, 200, n.do("reviewer", "POST", "/v1/queue/"+txn+"/comment", `{"comment":"seen again"}`).Code)
		require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
		reviews = append(reviews, txn)
	}
	e.whole = n.exportLines(t, "auditor", "")
	e.part = n.exportLines(t, "auditor", "?from="+(testStart+2_000_000_000).String()+"&to="+(testStart+4_000_000_000).String())
	for i, to := range []*[]byte{&e.proof, &e.other} {
		w := n.do("auditor", "GET", "/v1/audit/"+reviews[i]+"/proof", "")
		require.Equal(t, 200, w.Code, w.Body)
		*to = w.Body.Bytes()
	}
	return e
}

func (n *testNode) exportLines(t testing.TB, role, query string) [][]byte {
	w := n.do(role, "GET", "/v1/audit/export"+query, "")
	require.Equal(t, 200, w.Code, w.Body)
	return linesOf(w)
}

func linesOf(w *httptest.ResponseRecorder) [][]byte {
	lines := bytes.SplitAfter(w.Body.Bytes(), []byte("\n"))
	return lines[:len(lines)-1] // The split leaves an empty text after the last line.
}

func (e *takenRecords) examine(lines ...[]byte) (examine.Report, error) {
	return examine.File(bytes.NewReader(bytes.Join(lines, nil)), examine.Options{Keys: e.keys, KeysGiven: true})
}

func TestEvidenceProves(t *testing.T) {
	e := newEvidence(t, "one")
	report, err := e.examine(e.whole...)
	require.NoError(t, err)
	require.False(t, report.Selection())
	require.Equal(t, len(e.whole)-2, report.Leaves)
	require.Equal(t, uint64(report.Leaves), report.End)
	require.Equal(t, 16, report.Screens)

	report, err = e.examine(e.part...)
	require.NoError(t, err)
	require.Positive(t, report.First)
	require.Less(t, report.End, report.Checkpoint.Size)
	require.Equal(t, 6, report.Screens)

	_, err = e.examine(e.earlier...)
	require.NoError(t, err)
	report, err = e.examine(e.proof)
	require.NoError(t, err)
	require.True(t, report.Disposition)
	require.Equal(t, 3, report.Later, "two comments and the disposition")
}

// scissors cuts exports. pieces are lines of other exports to splice in.
type scissors struct {
	random *rand.Rand
	pieces [][]byte
}

func (s *scissors) at(lines [][]byte) int     { return 1 + s.random.IntN(len(lines)-2) } // A random record's line.
func (s *scissors) piece() []byte             { return s.pieces[s.random.IntN(len(s.pieces))] }
func (s *scissors) any(lines [][]byte) int    { return s.random.IntN(len(lines)) }
func (s *scissors) behind(lines [][]byte) int { return len(lines) - 1 }

// cuts are a forger's methods. Each returns changed lines.
var cuts = map[string]func(*scissors, [][]byte) [][]byte{
	"remove": func(s *scissors, l [][]byte) [][]byte {
		at := s.at(l)
		return slices.Delete(l, at, min(at+1+s.random.IntN(3), len(l)-1))
	},
	"repeat": func(s *scissors, l [][]byte) [][]byte {
		at := s.at(l)
		return slices.Insert(l, at, l[at])
	},
	"repeat elsewhere": func(s *scissors, l [][]byte) [][]byte { return slices.Insert(l, s.at(l), l[s.at(l)]) },
	"swap": func(s *scissors, l [][]byte) [][]byte {
		a, b := s.at(l), s.at(l)
		l[a], l[b] = l[b], l[a]
		return l
	},
	"splice in":      func(s *scissors, l [][]byte) [][]byte { return slices.Insert(l, s.at(l), s.piece()) },
	"splice instead": func(s *scissors, l [][]byte) [][]byte { l[s.at(l)] = s.piece(); return l },
	"append":         func(s *scissors, l [][]byte) [][]byte { return append(l, s.piece()) },
	"append behind":  func(s *scissors, l [][]byte) [][]byte { return append(l, l[s.any(l)]) },
	"truncate":       func(s *scissors, l [][]byte) [][]byte { return l[:1+s.random.IntN(len(l)-1)] },
	"truncate but for the end": func(s *scissors, l [][]byte) [][]byte {
		return append(l[:s.at(l)], l[s.behind(l)])
	},
	"cut within a line": func(s *scissors, l [][]byte) [][]byte {
		at := s.any(l)
		l[at] = l[at][:s.random.IntN(len(l[at])-1)]
		return l[:at+1]
	},
	"relabel": func(s *scissors, l [][]byte) [][]byte {
		a, b := s.at(l), s.at(l)
		l[a] = rewrite(l[a], func(m object) { m["index"] = objectOf(l[b])["index"] })
		return l
	},
	"another's leaf": func(s *scissors, l [][]byte) [][]byte {
		a, b := s.at(l), s.at(l)
		l[a] = rewrite(l[a], func(m object) { other := objectOf(l[b]); m["leaf"], m["leafHash"] = other["leaf"], other["leafHash"] })
		return l
	},
	"head's range": func(s *scissors, l [][]byte) [][]byte {
		l[0] = rewrite(l[0], func(m object) {
			name := []string{"first", "end", "treeSize", "version"}[s.random.IntN(4)]
			m[name] = s.random.IntN(64)
		})
		return l
	},
	"narrower range": func(s *scissors, l [][]byte) [][]byte {
		drop := 1 + s.random.IntN(3)
		kept := append(l[:len(l)-1-drop:len(l)-1-drop], l[len(l)-1])
		end := json.Number(fmt.Sprint(len(kept) - 2))
		kept[0] = rewrite(kept[0], func(m object) { m["end"] = end })
		kept[len(kept)-1] = rewrite(kept[len(kept)-1], func(m object) { m["end"] = end })
		return kept
	},
	"called a selection": func(s *scissors, l [][]byte) [][]byte {
		l[0] = rewrite(l[0], func(m object) { m["selection"] = object{"operator": "nobody"} })
		at := s.at(l)
		return slices.Delete(l, at, at+1)
	},
	"called everything": func(s *scissors, l [][]byte) [][]byte {
		l[0] = rewrite(l[0], func(m object) { m["selection"] = nil })
		return slices.Delete(l, s.at(l), len(l)-1)
	},
	"another member": func(s *scissors, l [][]byte) [][]byte {
		at := s.any(l)
		l[at] = rewrite(l[at], func(m object) { m["verdict"] = "PROCEED" })
		return l
	},
	"a member less": func(s *scissors, l [][]byte) [][]byte {
		at := s.any(l)
		l[at] = rewrite(l[at], func(m object) { delete(m, someName(s.random, m)) })
		return l
	},
	"a member of another line": func(s *scissors, l [][]byte) [][]byte {
		at := s.any(l)
		other := objectOf(s.piece())
		l[at] = rewrite(l[at], func(m object) {
			name := someName(s.random, other)
			if _, there := m[name]; there || !strings.HasSuffix(strings.ToLower(name), "profile") {
				m[name] = other[name] // A proven profile is harmless in another line.
			}
		})
		return l
	},
	"a byte": func(s *scissors, l [][]byte) [][]byte {
		at := s.any(l)
		l[at] = alter(s.random, l[at])
		return l
	},
}

type object = map[string]any

func objectOf(line []byte) object {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var m object
	_ = decoder.Decode(&m)
	return m
}

func rewrite(line []byte, change func(object)) []byte {
	m := maps.Clone(objectOf(line))
	change(m)
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}

func someName(random *rand.Rand, m object) string {
	names := slices.Sorted(maps.Keys(m))
	return names[random.IntN(len(names))]
}

// alter changes one byte.
func alter(random *rand.Rand, line []byte) []byte {
	line = slices.Clone(line)
	line[random.IntN(len(line)-1)] ^= 1 << random.IntN(8)
	return line
}

// recount adjusts the end line's count and digest after a cut, which every forger can do.
func recount(lines [][]byte) [][]byte {
	last := len(lines) - 1
	if objectOf(lines[last])["type"] != "end" {
		return lines
	}
	digest, leaves := sha256.New(), 0
	for _, line := range lines[:last] {
		m := objectOf(line)
		text, ok := m["leaf"].(string)
		if !ok {
			continue
		}
		index, _ := m["index"].(json.Number)
		at, _ := index.Int64()
		hash := proof.LeafHash([]byte(text))
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(at)))
		digest.Write(hash[:])
		leaves++
	}
	sum := digest.Sum(nil)
	lines[last] = rewrite(lines[last], func(m object) {
		m["leaves"], m["digest"] = leaves, base64.StdEncoding.EncodeToString(sum)
	})
	return lines
}

// same reports whether two files have the same content: one JSON value may be spelled in
// two ways.
func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) && (!json.Valid(a[i]) || !reflect.DeepEqual(objectOf(a[i]), objectOf(b[i]))) {
			return false
		}
	}
	return true
}

func TestExportsCannotBeCut(t *testing.T) {
	e, fork := newEvidence(t, "one"), newEvidence(t, "two")
	_, err := fork.examine(fork.whole...)
	require.NoError(t, err)
	require.Equal(t, e.keys, fork.keys)
	s := &scissors{random: rand.New(rand.NewPCG(1, 2))}
	for _, lines := range [][][]byte{e.whole, e.earlier, e.part, fork.whole, fork.part} {
		s.pieces = append(s.pieces, lines...)
	}
	tried, each := 0, 1
	if testing.Short() { // Even rounds test something else than odd ones, so the step is odd and both kinds run.
		each = 3
	}
	for name, lines := range map[string][][]byte{"range": e.whole, "part": e.part} {
		for _, cut := range slices.Sorted(maps.Keys(cuts)) {
			for round := range 18 {
				forged := cuts[cut](s, slices.Clone(lines))
				if round%2 == 1 {
					forged = recount(forged)
				}
				if round%each != 0 || same(forged, lines) {
					continue
				}
				tried++
				_, err := e.examine(forged...)
				require.Error(t, err, "%s: %s, round %d:\n%s", name, cut, round, bytes.Join(forged, nil))
			}
		}
	}
	require.Greater(t, tried, 700/each)
	_, err = e.examine(e.whole...)
	require.NoError(t, err, "the untouched one still proves")
}

// If any byte of an export changes, the export is refused. This holds for the head, for an event,
// for records with and without a profile line, and for the end line.
func TestNoByteOfAnExportIsIdle(t *testing.T) {
	e := newEvidence(t, "one")
	first := func(kind, with, without string) int {
		at := slices.IndexFunc(e.whole, func(line []byte) bool {
			return bytes.Contains(line, []byte(with)) && (without == "" || !bytes.Contains(line, []byte(without)))
		})
		require.Positive(t, at, kind)
		return at
	}
	for _, at := range []int{
		0, first("event", `review.dispositioned`, ""), first("record", `"record":`, `"profile":`),
		first("record with a profile", `"profile":`, ""), len(e.whole) - 1,
	} {
		line := e.whole[at]
		step := max(1, len(line)/200)
		for i := 0; i < len(line)-1; i += step {
			forged := slices.Clone(e.whole)
			forged[at] = slices.Clone(line)
			forged[at][i] ^= 1
			if same(forged, e.whole) {
				continue
			}
			_, err := e.examine(forged...)
			require.Error(t, err, "line %d, byte %d: %s", at+1, i, forged[at][max(0, i-40):min(len(line), i+40)])
		}
	}
}

func TestProofsCannotBeCut(t *testing.T) {
	e, fork := newEvidence(t, "one"), newEvidence(t, "two")
	random := rand.New(rand.NewPCG(3, 4))
	inner := func(m object) object { // The record, or a leaf that was written about it since.
		if random.IntN(2) == 0 {
			return m["later"].([]any)[random.IntN(3)].(object)
		}
		return m
	}
	others := []object{objectOf(e.other), objectOf(fork.proof), objectOf(fork.other)}
	changes := map[string]func(m, other object){
		"another's member": func(m, other object) { name := someName(random, other); inner(m)[name] = other[name] },
		"another's case":   func(m, other object) { m["later"] = other["later"] },
		"one twice":        func(m, _ object) { list := m["later"].([]any); m["later"] = append(list, list[random.IntN(3)]) },
		"one left out":     func(m, _ object) { at := random.IntN(2); m["later"] = slices.Delete(m["later"].([]any), at, at+1) },
		"the order":        func(m, _ object) { slices.Reverse(m["later"].([]any)) },
		"another record":   func(m, other object) { maps.Copy(m, object{"leaf": other["leaf"], "leafHash": other["leafHash"]}) },
		"a foreign txnId":  func(m, other object) { m["txnId"] = other["txnId"] },
		"a wrong hash":     func(m, other object) { inner(m)["leafHash"] = other["leafHash"] },
		"a member more":    func(m, _ object) { inner(m)["verdict"] = "PROCEED" },
		"a member less": func(m, _ object) {
			part := inner(m)
			names := slices.DeleteFunc(slices.Sorted(maps.Keys(part)), func(name string) bool { return name == "later" })
			delete(part, names[random.IntN(len(names))])
		},
		"a path cut": func(m, _ object) { part := inner(m); part["path"] = part["path"].([]any)[1:] },
		"an index":   func(m, _ object) { inner(m)["index"] = random.IntN(40) },
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		for range 20 {
			m := objectOf(e.proof)
			changes[name](m, others[random.IntN(len(others))])
			data, err := json.Marshal(m)
			require.NoError(t, err)
			if same([][]byte{data}, [][]byte{e.proof}) {
				continue
			}
			_, err = e.examine(data)
			require.Error(t, err, "%s:\n%s", name, data)
		}
	}
	for range 400 {
		forged := alter(random, e.proof)
		if same([][]byte{forged}, [][]byte{e.proof}) {
			continue
		}
		_, err := e.examine(forged)
		require.Error(t, err, "%s", forged)
	}
	require.True(t, strings.Contains(string(e.proof), `"later"`))
}

// Whoever sees a match also sees who is meant: the list's facts about the entry that the
// record names, and where the call's context agrees or differs. The context changes no
// verdict.
func TestMatchesSayWhoIsMeant(t *testing.T) {
	n := newTestNode(t)
	person := func(uid uint32, born, country string) ofac.Entity {
		return ofac.Entity{
			UID: uid, Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
			Names: []ofac.Name{{ID: uid, AliasType: "Name", Primary: true, Script: "Latin", Full: "QUILLFEATHER, Ambrose"}},
			Facts: []ofac.Fact{{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: born}, {Kind: ofac.FactNationality, Label: "Nationality Country", Value: country}},
		}
	}
	n.activate([]ofac.Entity{person(501, "1962-11-23", "Venezuela"), person(502, "1975-01-01", "Iran")}, testMeta("2026-03-10", false))
	_, token := n.registered("")
	body := func(context string) string {
		return `{"token":"` + token + `","amount":1,"cpName":"Ambrose Quillfeather"` + context + `}`
	}
	plain := answer(t, n.do("screener", "POST", "/v1/screen", body("")), 200)
	v := answer(t, n.do("screener", "POST", "/v1/screen", body(`,"cpDateOfBirth":"1975","cpCountry":"IR"`)), 200)
	require.Equal(t, "BLOCK", textOf(plain, "verdict"))
	require.Equal(t, "BLOCK", textOf(v, "verdict"), "context never softens")
	require.Nil(t, v.Get("parties"), "nor tells the caller")
	path := "/v1/audit/" + textOf(v, "txnId")

	for _, place := range []struct{ role, path string }{{"reviewer", path}, {"auditor", path + "/explain"}} {
		shown := answer(t, n.do(place.role, "GET", place.path, ""), 200)
		require.Equal(t, "null", shown.Get("partiesUnavailable").String())
		require.Len(t, shown.GetArray("parties"), 2)
		require.Equal(t, "502", textOf(shown, "parties", "0", "uid"), "whom the context agrees with comes first")
		require.Equal(t, "date of birth", textOf(shown, "parties", "0", "facts", "0", "kind"))
		require.Equal(t, "date of birth agrees: 1975-01-01", textOf(shown, "parties", "0", "context", "0"))
		require.Equal(t, "date of birth differs: 1975 against 1962", textOf(shown, "parties", "1", "context", "0"))
	}
	require.Nil(t, answer(t, n.do("screener", "GET", path, ""), 200).Get("parties"))
	require.Nil(t, answer(t, n.do("ops", "GET", path, ""), 200).Get("parties"))
	masked := answer(t, n.do("ops", "GET", path, ""), 200)
	require.Equal(t, border.MaskedText, textOf(masked, "_request", "cpDateOfBirth"))
	dry := answer(t, n.do("reviewer", "POST", "/v1/screen/dry-run", body(`,"cpDateOfBirth":"23 Nov 1962"`)), 200)
	require.Equal(t, "501", textOf(dry, "parties", "0", "uid"))
	require.Equal(t, "date of birth agrees: 1962-11-23", textOf(dry, "parties", "0", "context", "0"))

	// Activate another list, and remove this one.
	digest := n.Settings().List.Digest
	n.activate(testEntities("SOMEBODY ELSE"), testMeta("2026-03-11", false))
	require.Len(t, answer(t, n.do("auditor", "GET", path, ""), 200).GetArray("parties"), 2, "still kept")
	delete(n.lists, digest)
	shown := answer(t, n.do("auditor", "GET", path, ""), 200)
	require.Empty(t, shown.GetArray("parties"))
	require.Equal(t, "no node that answers holds the list any more", textOf(shown, "partiesUnavailable"))
	require.Len(t, shown.GetArray("matches"), 2, "what matched stands in the record")
	for _, match := range shown.GetArray("matches") { // And so does what was compared.
		compared := `[{"what":"date of birth","asked":"1975","listed":"1962","agrees":false},{"what":"country","asked":"IR","listed":"Venezuela","agrees":false}]`
		if textOf(match, "uid") == "502" {
			compared = `[{"what":"date of birth","asked":"1975","listed":"1975-01-01","agrees":true},{"what":"country","asked":"IR","listed":"Iran","agrees":true}]`
		}
		require.JSONEq(t, compared, match.Get("compared").String())
	}
}
