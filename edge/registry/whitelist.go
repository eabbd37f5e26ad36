package registry

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// WhitelistChange is a change of the whitelist of an agent, a fleet or the institution
// (decision 42).
type WhitelistChange struct {
	old, next *engine.Whitelist
	done      strictjson.Members // What the change did, for its leaf.
}

// ReplaceWhitelist reads a whole list: mode and all entries.
func ReplaceWhitelist(f *strictjson.Fields, old *engine.Whitelist) WhitelistChange {
	c := WhitelistChange{old: old, next: edge.ReadWhitelistBody(f, old)}
	c.done.Text("change", "replaced")
	return c
}

// AddEntry reads one more entry. A list that was never set stays off until a call turns it on.
// Otherwise the next payment would be checked against a list of one.
func AddEntry(f *strictjson.Fields, old *engine.Whitelist) (WhitelistChange, error) {
	c := WhitelistChange{old: old, next: old.With(edge.ReadWhitelistEntry(f))}
	if !c.next.Enforce {
		c.next.Kinds = c.next.PresentKinds()
	}
	if len(c.next.Entries) > engine.WhitelistMax {
		return c, edge.MarkChangeable(edge.InvalidField("entries", "must have at most "+strconv.Itoa(engine.WhitelistMax)+" items"))
	}
	added := c.next.InOrder()
	c.done.Text("change", "added")
	c.done.Object("entry", edge.EntryMembers(&added[len(added)-1]))
	return c, nil
}

// RemoveEntry removes the entry with an id.
func RemoveEntry(id string, old *engine.Whitelist) (WhitelistChange, error) {
	missing := edge.MarkChangeable(edge.NotFound("no such entry"))
	number, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return WhitelistChange{}, missing
	}
	next, found := old.Without(uint32(number))
	if !found {
		return WhitelistChange{}, missing
	}
	c := WhitelistChange{old: old, next: next}
	at := slices.IndexFunc(old.Entries, func(e engine.WhitelistEntry) bool { return e.ID == uint32(number) })
	c.done.Text("change", "removed")
	c.done.Object("entry", edge.EntryMembers(&old.Entries[at]))
	return c, nil
}

// leafWhitelistMax is how many bytes of entries a leaf holds. For a longer list it holds only
// mode, version and count.
const leafWhitelistMax = 32 * engine.KiB

// writeFragment writes the change for the leaf. A widening needs the role policy.
func (c *WhitelistChange) writeFragment(j *edge.Judge, grounds edge.Grounds) (strictjson.Members, error) {
	if err := checkWidening(j, engine.WhitelistWidens(c.old, c.next), grounds.Reason); err != nil {
		return nil, err
	}
	m, list := slices.Clone(c.done), edge.WhitelistMembers(c.next)
	if len(list) > leafWhitelistMax {
		list = edge.WhitelistSummary(c.next)
	}
	m.Object("whitelist", list)
	grounds.Write(&m)
	return m, nil
}

// OfAgent builds the record that changes the whitelist of an agent.
func (c *WhitelistChange) OfAgent(j *edge.Judge, profile *engine.AgentProfile, grounds edge.Grounds) (*wire.Settings, error) {
	m, err := c.writeFragment(j, grounds)
	if err != nil {
		return nil, err
	}
	settings := profile.Settings
	settings.Whitelist = c.next
	return buildSettings(j, profile, settings, "agent.whitelist", m)
}

// OfFleet builds the record that changes the whitelist of a fleet.
func (c *WhitelistChange) OfFleet(j *edge.Judge, profile *engine.FleetProfile, grounds edge.Grounds) (*wire.FleetUpdate, error) {
	m, err := c.writeFragment(j, grounds)
	if err != nil {
		return nil, err
	}
	settings := *profile
	settings.Whitelist = c.next
	return buildFleet(j, profile, settings, "fleet.whitelist", m)
}

// OfInstitution builds the record that changes the institution's whitelist, which is part of
// its policy.
func (c *WhitelistChange) OfInstitution(j *edge.Judge, policy *engine.Policy, grounds edge.Grounds) (*wire.WhitelistPut, error) {
	m, err := c.writeFragment(j, grounds)
	if err != nil {
		return nil, err
	}
	record := &wire.WhitelistPut{Base: policy.Version, Whitelist: c.next}
	if engine.WhitelistWidens(c.old, c.next) {
		record.Acts = engine.ActPolicyWiden
		m.Texts("widened", []string{"whitelist"})
	}
	digest := sha256.Sum256(edge.WhitelistMembers(c.next))
	m.Hex("listDigest", digest[:]) // The leaf may be too short for the entries, and is signed all the same.
	said := slices.Clone(c.done)
	said.Hex("listDigest", digest[:])
	said.TextOrNull("reason", grounds.Reason)
	record.Common, err = j.RecordedSigned(m, edge.Statement{Act: "policy.whitelist", Said: said})
	return record, err
}
