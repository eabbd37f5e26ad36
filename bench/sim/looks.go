package sim

import (
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/cluster"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Clients look for what the state has forgotten, as edges do (decision 125).

// prepareProcess makes the state forget Idempotency-Keys and endings within seconds, makes two
// tables small, and lets garbage wait: the memory of a schedule is small. It is called before any node runs.
func prepareProcess() {
	debug.SetGCPercent(400)
	limits := engine.LimitsOf(engine.FormatNewest)
	limits.Idempotency, limits.Outcomes = 24, 12
	limits.Fleets, limits.Users = tableRows, tableRows
	sealOnce()
}

// sealOnce seals and reads one segment outside of all bubbles, because the compressors of the process
// wait for one another at channels, which must belong to no bubble.
func sealOnce() {
	store, err := audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	leaves := make([]audit.Leaf, 1<<audit.SegmentLevelMin)
	for i := range leaves {
		leaves[i].Data = []byte("{}")
	}
	if err := store.Append(0, leaves); err != nil {
		panic("BUG: " + err.Error())
	}
	if _, err := store.Leaf(0); err != nil {
		panic("BUG: " + err.Error())
	}
	if err := store.Close(); err != nil {
		panic("BUG: " + err.Error())
	}
}

// keyOf is an idempotency key made of a name.
func keyOf(name string) *wire.Idem {
	sum := sha256.Sum256([]byte(name))
	return &wire.Idem{Key: [16]byte(sum[:16]), Body: [16]byte(sum[16:])}
}

// lookForKey returns a key with what a node's files say of it; nil: without one.
func (h *History) lookForKey(node *cluster.Node, idem *wire.Idem) *wire.Idem {
	if idem == nil || node.KeysFrom() == 0 {
		return idem
	}
	leaves, looked, err := node.KeyedLeaves(idem.Key)
	if err != nil {
		return idem
	}
	known := &wire.Idem{Key: idem.Key, Body: idem.Body, Looked: looked}
	if len(leaves) > 0 {
		first := &leaves[len(leaves)-1]
		known.Found, known.FoundAt = first.Index+1, engine.Time(first.Time)
		h.forgotten.Add(1)
	}
	return known
}

// lookForEnding returns what a node's files say of the end of a payment; nil: the state has all.
func (h *History) lookForEnding(node *cluster.Node, record uint64) *wire.Past {
	if record >= node.EndedFrom() {
		return nil
	}
	leaves, looked, err := node.EndingLeaves(record)
	if err != nil {
		return nil
	}
	past := &wire.Past{Looked: looked}
	for i := range leaves {
		takeEnding(past, &leaves[i])
	}
	if past.State != 0 {
		h.forgotten.Add(1)
	}
	return past
}

func takeEnding(past *wire.Past, l *audit.PlacedLeaf) {
	var said struct {
		State  string
		Late   bool
		Judged string
	}
	_ = json.Unmarshal(l.Data, &said) // A leaf of the state is JSON.
	state := fsm.HoldStateNamed(said.State)
	switch {
	case said.Late:
		past.Late = l.Index
	case state == fsm.HoldUnresolved || said.Judged != "":
		past.Before = max(past.Before, l.Index)
	default:
		past.State, past.Later, past.At = uint8(state), l.Index, engine.Time(l.Time)
	}
}
