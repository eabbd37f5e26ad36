package fsm

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
)

// world drives one Machine as a sequencer would and keeps its log.
type world struct {
	t       testing.TB
	m       *Machine
	out     Effects
	index   uint64
	term    uint64
	now     engine.Time
	seq     uint64
	entries [][]byte
	terms   []uint64
	leaves  [][]byte
	list    []byte
	paid    []wire.Hold  // What an edge would send to settle or release the recorded calls.
	settler *wire.KeyRef // The key of the institution's settler, see end.
}

// start is 2026-03-22T03:33:28.589Z.
const start = engine.Time(1774150408589) * engine.Millisecond

func newWorld(t testing.TB) *world {
	w := &world{t: t, m: New(), term: 2, now: start}
	require.Equal(t, wire.Applied, w.do(wire.KindGenesis, testGenesis()).Code)
	w.activateList([]byte("not a real list, the machine never opens it"))
	return w
}

func testGenesis() *wire.Genesis {
	policy := engine.DefaultPolicy()
	return &wire.Genesis{
		ClusterID: "c-test", Dev: true, TestClock: true, Issuer: "did:kya:railguard", PublicURL: "http://127.0.0.1:8080",
		IDKey: [16]byte{1, 2, 3}, SaltKey: [16]byte{4, 5, 6}, Policy: *policy,
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{9}},
	}
}

func (w *world) activateList(data []byte) {
	r := w.do(wire.KindListActivate, &wire.ListActivate{Digest: w.stage(data)})
	require.Equal(w.t, wire.Applied, r.Code)
	require.Equal(w.t, data, w.out.ListData)
	w.list = data
}

// stage replicates a list, and returns its digest.
func (w *world) stage(data []byte) [32]byte {
	digest := sha(data)
	half := len(data) / 2
	info := &wire.ListInfo{Digest: digest, Source: "test", Entries: 3}
	require.Equal(w.t, wire.Unchanged, w.do(wire.KindListChunk, &wire.ListChunk{Digest: digest, Total: uint32(len(data)), Data: data[:half]}).Code)
	r := w.do(wire.KindListChunk, &wire.ListChunk{Digest: digest, Total: uint32(len(data)), Offset: uint32(half), Data: data[half:], Info: info})
	require.Equal(w.t, wire.Applied, r.Code)
	return digest
}

// entry seals records into one log entry of the world's term.
func (w *world) entry(records ...wire.Record) []byte {
	data := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: w.term, Time: w.now})
	for _, r := range records {
		data = wire.AppendRecord(data, r)
	}
	return wire.Seal(data, len(records))
}

func (w *world) record(kind wire.Kind, body any) wire.Record {
	w.seq++
	r := wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: w.seq}
	if body != nil {
		r.Body = wire.Encode(body)
	}
	return r
}

func (w *world) apply(entry []byte) {
	w.index++
	w.m.Apply(w.index, w.term, entry, &w.out)
	require.Empty(w.t, w.out.Stop)
	w.entries, w.terms = append(w.entries, entry), append(w.terms, w.term)
	for i, leaf := range w.out.Leaves {
		require.Equal(w.t, w.out.FirstLeaf+uint64(i), uint64(len(w.leaves)))
		require.Equal(w.t, new(merkle.Hasher).Leaf(leaf.Data), leaf.Hash, "history takes this hash as it is")
		w.leaves = append(w.leaves, leaf.Data)
	}
}

// do applies one record in an entry of its own.
func (w *world) do(kind wire.Kind, body any) wire.Result {
	w.apply(w.entry(w.record(kind, body)))
	require.Len(w.t, w.out.Results, 1)
	return w.out.Results[0]
}

func (w *world) tick() { w.do(wire.KindTick, &wire.Tick{}) }

// live lets the group live through some time: it ticks every hour. A leap of w.now is none.
func (w *world) live(span engine.Time) { w.liveUntil(w.now + span) }

func (w *world) liveUntil(end engine.Time) {
	for w.now < end {
		w.now = min(w.now+engine.Hour, end)
		w.tick()
	}
}

type agentOption func(*engine.AgentProfile)

func (w *world) register(name string, options ...agentOption) (engine.AgentSlot, wire.Result) {
	profile := engine.AgentProfile{
		AgentName: name, Type: engine.Supervised, OperatorLegalName: "Acme Inc",
		Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.NoLimit},
	}
	for _, option := range options {
		option(&profile)
	}
	body := &wire.Register{Profile: profile, Operator: named("acme inc")}
	quotedName, err := json.Marshal(name)
	require.NoError(w.t, err)
	body.Fragment = append([]byte(`"agentName":`), quotedName...)
	body.Basis.List = w.m.settings.ListVersion
	foldAgent(w.m.registry, &body.Basis, profile.Parent)
	r := w.do(wire.KindRegister, body)
	return engine.AgentSlot(w.m.registry.agents.Next() - 1), r
}

func dailyLimit(dollars engine.USD) agentOption {
	return func(p *engine.AgentProfile) { p.Policy.DailyLimit = dollars * engine.Dollar }
}

func parent(slot engine.AgentSlot) agentOption {
	return func(p *engine.AgentProfile) { p.Parent = slot }
}

func autonomous(p *engine.AgentProfile) { p.Type = engine.Autonomous }

// screening returns the record of a clean call, judged with the newest state.
func (w *world) screening(slot engine.AgentSlot, amount engine.USD) *wire.Screen {
	s := &wire.Screen{Agent: slot, Amount: amount, Fragment: withName(`"x"`)}
	s.Basis = engine.Basis{List: w.m.settings.ListVersion, Policy: w.m.settings.Policy.Version, Matcher: w.m.settings.Matcher, Rules: w.m.settings.Rules().Number}
	foldAgent(w.m.registry, &s.Basis, slot)
	if _, profile := w.m.registry.agentAt(slot); profile != nil {
		s.Version, s.Expires = profile.CredentialVersion, profile.ExpiresAt
	}
	return s
}

func (w *world) screen(slot engine.AgentSlot, dollars engine.USD) wire.Result {
	return w.do(wire.KindScreen, w.screening(slot, dollars*engine.Dollar))
}

func verdict(r wire.Result) string {
	return between(shown(r.Data), `"verdict":"`, `"`) + " " + between(shown(r.Data), `"rule":`, `,`)
}

// shown returns a leaf as JSON, without its profiles.
func shown(data []byte) []byte {
	text, err := leafjson.Render(data, nil)
	if err != nil {
		panic(err)
	}
	return text
}

// withName is the edge's part of a screening record.
func withName(name string) []byte {
	var f leaf.Fragment
	f.Set(leaf.TagName, []byte(name))
	return f.Append(nil)
}

func between(data []byte, from, to string) string {
	i := bytes.Index(data, []byte(from))
	if i < 0 {
		return ""
	}
	rest := data[i+len(from):]
	return string(rest[:bytes.Index(rest, []byte(to))])
}

func restoredFrom(t testing.TB, m *Machine) *Machine {
	var buffer bytes.Buffer
	_, err := m.Freeze().WriteTo(&buffer)
	require.NoError(t, err)
	copied, err := Restore(&buffer)
	require.NoError(t, err)
	return copied
}

// named refers to an operator by its name.
func named(name string) wire.OperatorRef { return wire.OperatorRef{Name: name, Fold: name} }

// operatorSlot is the slot of the one operator that has a name.
func (w *world) operatorSlot(name string) uint32 {
	slot, count := w.m.OperatorsNamed(name)
	require.Equal(w.t, 1, count, name)
	return uint32(slot)
}
