package edge

import (
	"crypto/rand"

	"railguard/engine"
	"railguard/fsm/wire"
)

// LookCount is how often one API key looked at one kind of thing on this node within an hour.
type LookCount struct {
	Kind        uint8  // wire.LookSuspicion and so on.
	Key         uint32 // The row of the API key; 0: the admin token.
	Hour        engine.Time
	Count       uint32
	First, Last string // Addresses.
	UID         uint32 // Of a probe: the listed party.
	Reason      string // Of an export: why, as the caller said.
}

// KeyHour is an hour in which an API key was used on this node.
type KeyHour struct {
	Key  uint32
	Hour engine.Time
}

// EncodeLooks builds the record of what a node counted. A record that is sent again, because
// nobody knows what became of it, counts once.
func EncodeLooks(node string, looks []LookCount, used []KeyHour) []byte {
	b := &wire.Looks{Node: node}
	for i := range looks {
		l := &looks[i]
		b.Rows = append(b.Rows, wire.Look{Kind: l.Kind, Key: l.Key, Hour: l.Hour, Count: l.Count, First: l.First, Last: l.Last, UID: l.UID, Reason: l.Reason})
	}
	for _, u := range used {
		b.Used = append(b.Used, wire.KeyUsed{Key: u.Key, Hour: u.Hour})
	}
	if len(b.Rows) > 0 {
		b.Idem = &wire.Idem{Looked: wire.NeverUsed}
		_, _ = rand.Read(b.Idem.Key[:]) // Never fails (crypto/rand).
	}
	return wire.Encode(b)
}

// Probe is the name of a dry run that came near a listed party.
type Probe struct {
	UID  uint32 // The party that it comes nearest; 0: none.
	Name uint64 // A hash of the name's normal form.
}

// noteProbe keeps what the counterparty's name of a dry run came near.
func (j *Judge) noteProbe() {
	if found := j.screen.facts.PartyName.Matches; len(found) > 0 {
		j.Probe = Probe{UID: found[0].UID, Name: j.screen.facts.PartyFilter}
	}
}
