package rulebook

import (
	"strconv"

	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// clearedMax is how long a pair may be cleared. After that somebody has to look again.
const clearedMax = 366 * engine.DayLength

// ClearedPair says that a name which resembles a listed one belongs to somebody else (decision
// 44).
type ClearedPair struct {
	name string // As the caller wrote it.
	pair wire.ClearedPair
}

// ReadClearedPair reads a name, the uid of an entry, the expiry of the clearing and its reason.
func ReadClearedPair(j *edge.Judge, f *strictjson.Fields) (ClearedPair, error) {
	name := f.RequiredName("name")
	uid := readUID(f, "uid")
	if f.Get("uid") == nil {
		f.Missing("uid")
	}
	reason, by := f.RequiredText("reason", engine.TextMax), f.Text("clearedBy", engine.FieldMax)
	expires, dated := f.Instant("expiresAt")
	if f.Get("expiresAt") == nil {
		f.Missing("expiresAt")
	}
	if now := j.LogTime(); dated && (expires <= now || expires > now+clearedMax) {
		f.Invalid("expiresAt", "must be in the future, and within a year")
	}
	pair := wire.ClearedPair{Name: ofac.NormaliseName(name), UID: uid, ExpiresAt: expires, Reason: reason, By: by}
	if name != "" && pair.Name == "" {
		f.Invalid("name", "must have letters or digits")
	}
	return ClearedPair{name, pair}, f.Err()
}

// readUID reads the id of a listed entry: a number, or the string that matches show.
func readUID(f *strictjson.Fields, name string) uint32 {
	v := f.Get(name)
	if v == nil || v.Type() != fastjson.TypeString {
		uid, _ := f.Integer(name, 1, 1<<32-1)
		return uint32(uid)
	}
	uid, err := strconv.ParseUint(f.Text(name, engine.FieldMax), 10, 32)
	if err != nil || uid == 0 {
		f.Invalid(name, "must be the uid of a listed entry")
	}
	return uint32(uid)
}

// Record builds the record against the present list. It refuses a name that does not resemble
// the entry: a typing error in either would let somebody else through. A BLOCK is never
// cleared.
func (c *ClearedPair) Record(j *edge.Judge) (*wire.ClearedPut, error) {
	list, err := j.ActiveList()
	if err != nil {
		return nil, err
	}
	entry, listed := list.Entry(c.pair.UID)
	if !listed {
		return nil, edge.MarkChangeable(edge.InvalidField("uid", "is no entry of the active list"))
	}
	near, same := j.Resembles(c.name, c.pair.UID, list)
	switch {
	case !near:
		return nil, edge.MarkChangeable(edge.InvalidField("name", "is not like the entry "+entry.Primary+": there is nothing to clear"))
	case same:
		return nil, edge.MarkChangeable(edge.InvalidField("name", "blocks by itself as the entry "+entry.Primary+": a BLOCK is never cleared"))
	}
	pair := c.pair
	pair.EntryDigest = entry.Digest
	var m strictjson.Members
	m.Text("name", c.name)
	m.Text("normalised", pair.Name)
	m.Text("uid", strconv.FormatUint(uint64(pair.UID), 10))
	m.Text("entryName", entry.Primary)
	m.Time("expiresAt", pair.ExpiresAt)
	m.Text("reason", pair.Reason)
	m.TextOrNull("clearedBy", pair.By)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	common, err := j.Recorded(m, engine.FilterKey(engine.FilterName, pair.Name))
	return &wire.ClearedPut{Common: common, Pair: pair}, err
}

// RemoveClearedPair builds the record that removes a cleared pair.
func RemoveClearedPair(j *edge.Judge, id uint32, grounds edge.Grounds) (*wire.ClearedPut, error) {
	var m strictjson.Members
	m.TextOrNull("reason", grounds.Reason)
	m.Optional("actor", grounds.Actor)
	common, err := j.Recorded(m)
	return &wire.ClearedPut{Common: common, Remove: true, Pair: wire.ClearedPair{ID: id}}, err
}
