package rulebook

import (
	"strconv"
	"strings"

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
	name  string // As the caller wrote it.
	txnID string // The case from which the pair is cleared; "": none.
	given bool   // The caller says on what the clearing rests, if on nothing but the name.
	pair  wire.ClearedPair

	operatorID, agentID string // Of the grounds, as the caller wrote them.
}

// ReadClearedPair reads a name, the uid of an entry, on what the clearing rests, its expiry and its
// reason.
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
	cleared := ClearedPair{name: name, pair: pair, txnID: f.Text("txnId", engine.FieldMax)}
	cleared.readGrounds(f)
	return cleared, f.Err()
}

// readGrounds reads on what a clearing rests (decision 141): the members of grounds, or the name
// alone by nameOnly. With txnId neither is needed.
func (c *ClearedPair) readGrounds(f *strictjson.Fields) {
	nameOnly, _ := f.Flag("nameOnly")
	c.given = nameOnly
	g := &c.pair.Grounds
	if inner, ok := f.Nested("grounds"); ok {
		*g = engine.ClearedGrounds{
			BirthDate: cutText(inner.Text("dateOfBirth", engine.FieldMax)), Country: cutText(inner.Text("country", engine.FieldMax)), Address: cutText(inner.Text("address", engine.FieldMax)),
		}
		inner.Items("identifiers", engine.IdentifiersMax, func(item strictjson.Fields) {
			g.AddIdentifier(item.RequiredOneOf("type", engine.IdentifierTypes()...), item.RequiredText("value", engine.FieldMax), item.Text("country", engine.FieldMax))
		})
		c.operatorID, c.agentID = inner.Text("operatorId", engine.FieldMax), inner.Text("agentId", engine.FieldMax)
		c.given = true
		switch none := g.NameOnly() && c.operatorID == "" && c.agentID == ""; {
		case nameOnly && !none:
			f.Invalid("nameOnly", "must not be true beside grounds")
		case !nameOnly && none:
			f.Invalid("grounds", "must name what the clearing rests on; nameOnly says that it is the name alone")
		}
	}
	if !c.given && c.txnID == "" {
		f.Missing("grounds")
	}
}

// settleGrounds returns what a clearing rests on. Where the caller does not say, that is what the record
// of its case says of the party: the officer clears what the screen showed. Where it says nothing, the
// clearing is for that operator's payments.
func (c *ClearedPair) settleGrounds(j *edge.Judge, terms *edge.Terms) (grounds engine.ClearedGrounds, err error) {
	grounds = c.pair.Grounds
	var known bool
	if grounds.Operator, known = terms.ParseOperator(c.operatorID); c.operatorID != "" && !known {
		return grounds, edge.InvalidField("grounds.operatorId", "is no operator's id")
	}
	if grounds.Agent, known = terms.ParseAgent(c.agentID); c.agentID != "" && !known {
		return grounds, edge.InvalidField("grounds.agentId", "is no agent's id")
	}
	if c.txnID == "" {
		return grounds, nil
	}
	l, err := j.Record(c.txnID)
	if err != nil {
		return grounds, err
	}
	told, known := terms.ToldOfRecord(&l, c.name)
	switch {
	case !known:
		return grounds, edge.InvalidField("txnId", "is a payment that names nobody so")
	case c.given:
		return grounds, nil
	}
	grounds = engine.ClearedGrounds{
		BirthDate: cutText(told.Context.BirthDate), Country: cutText(told.Context.Country), Address: cutText(told.Context.Address), Identifiers: told.Identifiers,
	}
	if grounds.NameOnly() {
		grounds.Operator = told.Operator
	}
	return grounds, nil
}

// cutText takes the blanks around a text away, and cuts it behind the last word that is whole within
// the bound.
func cutText(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= engine.FieldMax {
		return text
	}
	return text[:max(strings.LastIndexByte(text[:engine.FieldMax+1], ' '), 0)]
}

// readUID reads the id of a listed entry, as matches show it.
func readUID(f *strictjson.Fields, name string) uint32 {
	text := f.Text(name, engine.FieldMax)
	if f.Get(name) == nil || f.Get(name).Type() != fastjson.TypeString {
		return 0
	}
	uid, err := strconv.ParseUint(text, 10, 32)
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
	if pair.Grounds, err = c.settleGrounds(j, j.Terms); err != nil {
		return nil, err
	}
	pair.EntryDigest = entry.Digest
	var m strictjson.Members
	m.Text("name", c.name)
	m.Text("normalised", pair.Name)
	m.Text("uid", strconv.FormatUint(uint64(pair.UID), 10))
	m.Text("entryName", entry.Primary)
	m.Time("expiresAt", pair.ExpiresAt)
	m.Text("reason", pair.Reason)
	m.TextOrNull("clearedBy", pair.By)
	m.Object("grounds", j.Terms.WriteGrounds(&pair.Grounds))
	m.Bool("nameOnly", pair.Grounds.NameOnly())
	m.Optional("txnId", c.txnID)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	var said strictjson.Members
	said.Text("name", c.name)
	said.Text("uid", strconv.FormatUint(uint64(pair.UID), 10))
	said.Text("reason", pair.Reason)
	common, err := j.RecordedSigned(m, edge.Statement{Act: "cleared.added", Said: said}, engine.FilterKey(engine.FilterName, pair.Name))
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
