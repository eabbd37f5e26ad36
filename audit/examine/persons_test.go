package examine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// bankWeek is a week of acts in a house whose policy is that of a bank.
type bankWeek struct {
	t      testing.TB
	m      *fsm.Machine
	out    fsm.Effects
	index  uint64
	now    engine.Time
	leaves [][]byte
	keys   []wire.APIKey
	rev    map[int]uint32
}

func (w *bankWeek) do(kind wire.Kind, body any) wire.Result {
	w.index++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: w.now})
	entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Seq: w.index, Body: wire.Encode(body)})
	w.m.Apply(w.index, 1, wire.Seal(entry, 1), &w.out)
	require.Empty(w.t, w.out.Stop)
	for _, l := range w.out.Leaves {
		w.leaves = append(w.leaves, l.Data)
	}
	return w.out.Results[0]
}

func (w *bankWeek) by(key int, fragment string) wire.Common {
	common := wire.Common{Fragment: []byte(fragment)}
	if key > 0 {
		common.Key = &wire.KeyRef{Row: uint32(key), Rev: w.m.Freeze().Settings().Keys[key-1].Rev}
	}
	return common
}

// makeKey makes a key as somebody; 0: the machine.
func (w *bankWeek) makeKey(maker int, person string, roles uint16) wire.Result {
	id := fmt.Sprint("k", w.index)
	secret := sha256.Sum256([]byte(id))
	return w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: w.by(maker, ``), Op: wire.KeyCreate, Key: wire.APIKey{
		ID: id, Prefix: id, Hashes: [][]byte{secret[:]}, Roles: roles, Person: person, PersonKey: engine.PersonKey(person),
	}})
}

// put puts a policy in force as the edge does.
func (w *bankWeek) put(key int, document string) wire.Result {
	old := w.m.Freeze().Settings().Policy
	policy, wrong := engine.ParsePolicy([]byte(document), w.now, engine.NewestRules)
	require.Empty(w.t, wrong)
	widened, err := json.Marshal(append([]string{}, engine.Widens(old, policy)...))
	require.NoError(w.t, err)
	return w.do(wire.KindPolicy, &wire.PolicyPut{
		Common: w.by(key, `"policy":`+document+`,"widened":`+string(widened)), Base: old.Version, Policy: *policy, Acts: engine.ActsOf(old, policy),
	})
}

func (w *bankWeek) activate(key int, random *rand.Rand, forced bool) wire.Result {
	data := fmt.Append(nil, "list ", random.IntN(3))
	digest := sha256.Sum256(data)
	w.do(wire.KindListChunk, &wire.ListChunk{Digest: digest, Total: uint32(len(data)), Data: data, Info: &wire.ListInfo{Digest: digest, Entries: 1, Uploaded: random.IntN(2) == 0}})
	rollback := random.IntN(2) == 0
	return w.do(wire.KindListActivate, &wire.ListActivate{Common: w.by(key, fmt.Sprintf(`"rollback":%v`, rollback)), Digest: digest, Rollback: rollback, Force: forced})
}

// act lets somebody do anything, or answer what others proposed.
func (w *bankWeek) act(random *rand.Rand) {
	key := 1 + random.IntN(len(w.m.Freeze().Settings().Keys))
	if w.m.Freeze().Settings().Keys[key-1].RevokedAt != 0 {
		return
	}
	var open []uint64
	w.m.Freeze().Proposals(^uint64(0), false, func(p fsm.Waiting) bool { open = append(open, p.Later); return true })
	switch random.IntN(9) {
	case 0:
		w.makeKey(key, "Person "+fmt.Sprint(random.IntN(12)), wire.RoleReviewer)
	case 1:
		w.put(key, []string{`{"twoPersons":"bank"}`, `{"twoPersons":"bank","rules":{"R21":"off"}}`, `{"twoPersons":"bank","rules":{"R20":"off"}}`, `{"twoPersons":["clear"]}`}[random.IntN(4)])
	case 2:
		w.activate(key, random, random.IntN(2) == 0)
	case 3:
		w.do(wire.KindCleared, &wire.ClearedPut{Common: w.by(key, ``), Pair: wire.ClearedPair{Name: "x", UID: uint32(random.IntN(4)), Reason: "r"}})
	case 4:
		if len(open) > 0 && random.IntN(3) == 0 {
			w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(key, ``), Proposal: open[random.IntN(len(open))]})
		}
	default:
		if len(open) > 0 {
			w.do(wire.KindConfirm, &wire.Confirm{Common: w.by(key, ``), Proposal: open[random.IntN(len(open))]})
		}
	}
}

// newBankWeek makes a week of random acts.
func newBankWeek(t testing.TB, seed uint64) *bankWeek {
	w := &bankWeek{t: t, m: fsm.New(), now: 1_774_150_408_589_000_000}
	w.do(wire.KindGenesis, &wire.Genesis{
		ClusterID: "c", Issuer: "did:kya:railguard", SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64)}, Policy: *engine.DefaultPolicy(),
	})
	w.makeKey(0, "Ada", wire.RoleAdmin)
	w.activate(1, rand.New(rand.NewPCG(seed, 2)), true) // Nobody else is there yet.
	for _, person := range []string{"Alan", "ａlan", "Grace", " ALAN "} {
		w.makeKey(0, person, wire.RoleAdmin)
	}
	w.put(1, `{"twoPersons":"bank"}`)
	random := rand.New(rand.NewPCG(seed, 1))
	for end := w.now + 7*engine.DayLength; w.now < end; w.now += engine.Time(random.IntN(30)) * engine.Minute {
		w.act(random)
	}
	return w
}

// examineActs checks the persons of leaves, without the rest of a file.
func examineActs(leaves [][]byte) (Acts, error) {
	x := &examiner{proposed: map[uint64]string{}}
	x.Kind, x.End = "export", uint64(len(leaves))
	for i, data := range leaves {
		if data == nil || leaf.FormOf(data) != leaf.FormEvent {
			continue
		}
		if err := x.checkPersons(&Record{Index: uint64(i), Raw: data, stored: data}); err != nil {
			return x.Acts, err
		}
	}
	return x.Acts, nil
}

// TestAWeekHasNoActOfOnePerson: in a week of acts at random, no act that the policy names was
// done by fewer than two persons, as the leaves alone show; what is cut or forged does not pass.
func TestAWeekHasNoActOfOnePerson(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(6) {
		w := newBankWeek(t, seed)
		acts, err := examineActs(w.leaves)
		require.NoError(t, err)
		require.Greater(t, acts.Two, 20)
		require.Positive(t, acts.Alone)
		tried := 0
		for i, data := range w.leaves {
			var l actLeaf
			if leaf.FormOf(data) != leaf.FormEvent || json.Unmarshal(data, &l) != nil || len(l.Persons) != 2 {
				continue
			}
			kinds[l.Kind]++
			require.False(t, samePerson(l.Persons[0], l.Persons[1]), "%s", data)
			if tried++; tried > 25 {
				continue
			}
			forge := func(what string, data []byte) {
				leaves := slices.Clone(w.leaves)
				leaves[i] = data
				_, err := examineActs(leaves)
				require.ErrorIs(t, err, ErrProof, "%s: %s", what, data)
			}
			forge("the same person twice", bytes.Replace(data, []byte(`"`+l.Persons[1]+`"]`), []byte(`"`+strings.ToUpper(l.Persons[0])+`"]`), 1))
			forge("another proposer", bytes.Replace(data, []byte(`["`+l.Persons[0]+`"`), []byte(`["person:eve"`), 1))
			forge("nobody is named", bytes.Replace(bytes.Replace(data, []byte(`"twoPersons"`), []byte(`"x"`), 1), []byte(`"persons"`), []byte(`"y"`), 1))
			cut := slices.Clone(w.leaves)
			cut[l.ProposedLeaf] = nil
			_, err := examineActs(cut)
			require.ErrorIs(t, err, ErrProof, "the proposal of leaf %d is cut", i)
		}
	}
	for _, kind := range []string{"policy.activated", "list.activated", "key.created", "cleared.added"} {
		require.Positive(t, kinds[kind], kind)
	}
}
