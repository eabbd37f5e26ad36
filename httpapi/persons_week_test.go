package httpapi

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/bundle"
	"railguard/audit/examine"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// bankWeek is a week in a bank, over HTTP: persons act at random, and answer what others propose.
type bankWeek struct {
	*testNode
	random *rand.Rand
	token  string
	txns   []string // Of payments under review.
	lists  int      // Uploaded lists.
}

// bankStaff are the persons of the bank, by role; Pia holds two keys.
var bankStaff = map[uint16][]string{
	wire.RoleAdmin: {"ada", "alan"}, wire.RolePolicy: {"pia", "paul", "pia2"}, wire.RoleReviewer: {"rosa", "ron", "rita"},
}

// bankPolicies are policies among which the bank changes; all demand two persons for everything
// but reviews, for which some look at the amount or at the rules.
var bankPolicies = []string{
	`{"twoPersons":"bank"}`, `{"twoPersons":"bank","rules":{"R21":"off"}}`, `{"twoPersons":"bank","rules":{"R20":"off"}}`,
	`{"twoPersons":"bank","review":{"fourEyes":{"minAmount":60}}}`, `{"twoPersons":"bank","review":{"fourEyes":{"rules":["R19"]}}}`,
}

func newBankWeek(t *testing.T, seed uint64) *bankWeek {
	n := listNode(t)
	return &bankWeek{testNode: n, random: rand.New(rand.NewPCG(seed, 1))}
}

// run lets a week of log time pass.
func (w *bankWeek) run() {
	for _, roles := range []uint16{wire.RoleAdmin, wire.RolePolicy, wire.RoleReviewer} {
		for _, name := range bankStaff[roles] {
			person := strings.TrimSuffix(name, "2")
			w.addKey(wire.APIKey{ID: "key_" + name, Name: name, Roles: roles, Person: person, PersonKey: person}, testSecret(name))
		}
	}
	w.advance(engine.DayLength)
	answer(w.t, w.do("pia", "PUT", "/v1/policy", bankPolicies[0]), 200)
	_, w.token = w.registered(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	for end := w.now + 7*engine.DayLength; w.now < end; w.advance(engine.Time(10+w.random.IntN(25)) * engine.Minute) {
		w.act()
	}
}

func (w *bankWeek) anyone(role uint16) string {
	return bankStaff[role][w.random.IntN(len(bankStaff[role]))]
}

// try does something that may be refused, but not for a reason of the server's.
func (w *bankWeek) try(who, method, path, body string) string {
	r := w.do(who, method, path, body)
	require.Less(w.t, r.Code, 500, r.Body)
	return r.Body.String()
}

func (w *bankWeek) act() {
	switch policy, reviewer := w.anyone(wire.RolePolicy), w.anyone(wire.RoleReviewer); w.random.IntN(14) {
	case 0, 1:
		r := answer(w.t, w.do("screener", "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":%d}`, w.token, 20+w.random.IntN(90))), 200)
		require.Equal(w.t, "REVIEW", textOf(r, "verdict"), "%s", r)
		w.txns = append(w.txns, textOf(r, "txnId"))
	case 2, 3, 4:
		if len(w.txns) > 0 {
			word := []string{"APPROVED", "REJECTED", "ESCALATE_SAR"}[w.random.IntN(3)]
			w.try(reviewer, "POST", "/v1/reviews/"+w.txns[w.random.IntN(len(w.txns))], `{"disposition":"`+word+`","reviewedBy":"Somebody","notes":"n"}`)
		}
	case 5:
		w.try(policy, "PUT", "/v1/policy", `{"policy":`+bankPolicies[w.random.IntN(len(bankPolicies))]+`,"reason":"r"}`)
	case 6, 12, 13:
		w.lists++
		id := w.upload([]string{"SDN.CSV", "suspicious"}[w.random.IntN(2)], fmt.Sprintf("2026-03-%02d;%s", 10+w.lists%15, manyNames(30+w.random.IntN(10))))
		w.try(policy, "POST", "/v1/ofac/"+id+"/activate", fmt.Sprintf(`{"force":%v,"reason":"r"}`, w.random.IntN(2) == 0))
	case 7:
		if w.random.IntN(2) == 0 {
			w.try(policy, "POST", "/v1/ofac/rollback", `{"reason":"bad list","force":true}`)
			return
		}
		admin := w.anyone(wire.RoleAdmin)
		r := w.doAdmin("POST", "/admin/keys", fmt.Sprintf(`{"name":"new","roles":["reviewer"],"person":"Person %d"}`, w.random.IntN(9)), "Authorization", "Bearer "+testSecret(admin))
		require.Less(w.t, r.Code, 500, r.Body)
	case 8:
		w.try(reviewer, "POST", "/v1/cleared", fmt.Sprintf(`{"name":"Lazarus Groupe","uid":"27307","reason":"our caterer %d","nameOnly":true,"expiresAt":"2026-12-01"}`, w.random.IntN(9)))
	case 9:
		if len(w.txns) > 0 {
			txn := w.txns[w.random.IntN(len(w.txns))]
			to := []string{`"READY"`, `"FILED","bsaId":"31000012345678"`, `"CLOSED","reason":"r"`, ""}[w.random.IntN(4)]
			if to == "" {
				w.try(reviewer, "PUT", "/v1/sar/"+txn+"/narrative", `{"by":"Somebody","narrative":"what was seen"}`)
				return
			}
			w.try(reviewer, "POST", "/v1/sar/"+txn+"/move", `{"by":"Somebody","to":`+to+`}`)
		}
	default:
		w.second()
	}
}

// second confirms what somebody proposed, or withdraws it.
func (w *bankWeek) second() {
	who := w.anyone([]uint16{wire.RoleAdmin, wire.RolePolicy, wire.RoleReviewer}[w.random.IntN(3)])
	open := answer(w.t, w.do(who, "GET", "/v1/proposals", ""), 200).GetArray("data")
	if len(open) == 0 {
		return
	}
	id, verb := textOf(open[w.random.IntN(len(open))], "proposalId"), "confirm"
	if w.random.IntN(8) == 0 {
		verb = "withdraw"
	}
	w.try(who, "POST", "/v1/proposals/"+id+"/"+verb, `{"reason":"r"}`)
}

// rewrite makes the log anew with other leaves; it is what a cluster that lies would sign.
func (w *bankWeek) rewrite(leaves []audit.Leaf) {
	store, err := audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = store.Close() })
	for i := range leaves {
		require.NoError(w.t, store.Append(uint64(i), leaves[i:i+1]))
	}
	w.mutex.Lock()
	w.store = store
	w.mutex.Unlock()
	w.reopen(nil)
}

var bundleMaker = bundle.Program{Version: "0.0.0-test", Digest: strings.Repeat("0f", 32)}

// bundleOf writes an examiner's folder of an export, as yet without lists.
func (w *bankWeek) bundleOf(query string) (dir, keys string) {
	dir, keys = w.t.TempDir(), w.Settings().Genesis.LogKeys
	var records []byte
	for _, line := range w.exportLines(w.t, "auditor", query) {
		records = append(records, line...)
	}
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, bundle.RecordsName), records, 0o600))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, bundle.KeysName), []byte(keys), 0o600))
	require.NoError(w.t, os.Mkdir(filepath.Join(dir, bundle.ListFolder), 0o700))
	return dir, keys
}

// verify finishes a folder and proves it as `railguard verify` does, from its files alone.
func (w *bankWeek) verify() (*bundle.Report, error) {
	dir, keys := w.bundleOf("")
	if _, _, err := bundle.RequiredLists(dir); err != nil {
		return nil, err
	}
	w.putLists(dir)
	if err := bundle.Finish(dir, bundleMaker, nil); err != nil {
		return nil, err
	}
	return bundle.Verify(dir, keys)
}

// putLists adds to a folder the lists that its records name.
func (w *bankWeek) putLists(dir string) []string {
	lists, _, err := bundle.RequiredLists(dir)
	require.NoError(w.t, err)
	for _, digest := range lists {
		raw, err := hex.DecodeString(digest)
		require.NoError(w.t, err)
		list, err := w.ListByDigest([32]byte(raw))
		require.NoError(w.t, err)
		data, err := ofac.EncodeEntities(list.Entities(), list.Meta())
		require.NoError(w.t, err)
		require.NoError(w.t, os.WriteFile(filepath.Join(dir, bundle.ListFolder, digest+bundle.ListSuffix), data, 0o600))
	}
	return lists
}

// actOf is what a leaf says of its act.
type actOf struct {
	Kind, To            string
	TwoPersons, Persons []string
	Alone               bool
}

// TestAWeekHasNoActOfOnePerson: a week of acts at random in a bank shows no act with fewer than
// two persons, by its bundle alone; and a log that says otherwise is not proven, although the
// cluster itself signed it.
func TestAWeekHasNoActOfOnePerson(t *testing.T) {
	kinds, hidden := map[string]int{}, false
	for seed := range uint64(2) {
		w := newBankWeek(t, seed)
		w.run()
		report, err := w.verify()
		require.NoError(t, err)
		require.Greater(t, report.Export.Acts.Two, 20)
		require.Zero(t, report.Export.Acts.Open)
		lied := map[string]bool{}
		for i := range w.written {
			var l actOf
			data := w.written[i].Data
			if leaf.FormOf(data) != leaf.FormEvent || json.Unmarshal(data, &l) != nil || len(l.Persons) == 0 {
				continue
			}
			require.False(t, l.Alone, "%s", data)
			require.Len(t, l.Persons, 2, "%s", data)
			require.NotEqual(t, engine.PersonKey(l.Persons[0]), engine.PersonKey(l.Persons[1]), "%s", data)
			for _, name := range l.TwoPersons {
				kinds[name]++
			}
			if !lied[l.TwoPersons[0]] && seed == 0 {
				lied[l.TwoPersons[0]] = true
				w.demandCaught(i, &l)
			}
			if !hidden && slices.Equal(l.TwoPersons, []string{"policy.widen"}) {
				hidden = true
				w.wideningTold(i)
			}
		}
	}
	for _, act := range []string{"disposition", "policy.widen", "list.activate", "list.force", "list.rollback", "key.create", "clear", "sar.move"} {
		require.Positive(t, kinds[act], "%s: %v", act, kinds)
	}
	require.True(t, hidden)
}

var ofPersons = regexp.MustCompile(`,"twoPersons":\[[^\]]*\],"persons":\[[^\]]*\],"proposedLeaf":[0-9]+`)

var ofWidening = regexp.MustCompile(`"widened":\[[^\]]*\]`)

// wideningTold signs the week with a wider policy of one person whose leaf is silent of that. The
// report tells of an act whose demand is not shown, because it compares the two policies.
func (w *bankWeek) wideningTold(at int) {
	leaves := append([]audit.Leaf(nil), w.written...)
	leaves[at].Data = ofWidening.ReplaceAll(ofPersons.ReplaceAll(leaves[at].Data, nil), []byte(`"widened":[]`))
	w.rewrite(leaves)
	report, err := w.verify()
	require.NoError(w.t, err, "%s", leaves[at].Data)
	require.Equal(w.t, 1, report.Export.Acts.Open)
	require.Contains(w.t, strings.Join(report.Export.NotShown(), "\n"), "whether 1 act(s) of one person needed two")
	w.rewrite(w.written)
}

// demandCaught signs the week with an act in it that was done otherwise.
func (w *bankWeek) demandCaught(at int, l *actOf) {
	text := string(w.written[at].Data)
	first, second := `["`+l.Persons[0]+`"`, `"`+l.Persons[1]+`"]`
	for what, forged := range map[string]string{
		"the same person twice": strings.Replace(text, second, `"`+strings.ToUpper(l.Persons[0])+`"]`, 1),
		"a key beside a person": strings.Replace(text, second, `"key:key_policy"]`, 1),
		"the machine":           strings.Replace(text, second, `"machine"]`, 1),
		"another proposer":      strings.Replace(text, first, `["person:eve"`, 1),
		"nobody is named":       ofPersons.ReplaceAllString(text, ""),
	} {
		require.NotEqual(w.t, text, forged, what)
		leaves := append([]audit.Leaf(nil), w.written...)
		leaves[at].Data = []byte(forged)
		w.rewrite(leaves)
		_, err := w.verify()
		require.ErrorIs(w.t, err, examine.ErrProof, "%s: %s", what, forged)
		require.ErrorContains(w.t, err, fmt.Sprintf("record %d (", at), what)
	}
	w.rewrite(w.written)
}
