package casework

import (
	"cmp"
	"slices"
	"strconv"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/parties"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// partyActsMost is how many acts are shown of a party.
const partyActsMost = 500

// actAt is one act, with what keeps it in its order.
type actAt struct {
	leaf uint64
	item strictjson.Members
}

// actList gathers what persons did about a party.
type actList struct{ all []actAt }

// take adds what one leaf says that somebody did.
func (a *actList) take(l *edge.Leaf, txn string) {
	if len(a.all) == partyActsMost {
		return
	}
	var m strictjson.Members
	m.Text("what", l.Kind())
	m.Raw("time", l.Raw("time"))
	m.Optional("txnId", txn)
	m.TextOrNull("actor", firstText(l, actorMembers...))
	m.TextOrNull("actorKeyId", l.Text("actorKeyId"))
	m.TextOrNull("reason", firstText(l, reasonMembers...))
	l.CopyTo(&m, "disposition", "from", "to", "state", "bsaId", "alertId", "caseId", "name", "clearedId")
	if l.Has("uid") {
		m.Text("uid", border.UintText(uint64(uidOf(l))))
	}
	a.all = append(a.all, actAt{l.Index, m})
}

func (a *actList) newestFirst() []strictjson.Members {
	slices.SortFunc(a.all, func(a, b actAt) int { return cmp.Compare(b.leaf, a.leaf) })
	items := make([]strictjson.Members, len(a.all))
	for i := range a.all {
		items[i] = a.all[i].item
	}
	return items
}

// takeRecord writes an officer's answer to a record, and takes all that was done about it.
func (a *actList) takeRecord(c *border.Request, m *strictjson.Members, l *edge.Leaf) error {
	txn := l.Text("txnId")
	view, err := c.Judge.Disposition(l, true)
	if err != nil {
		return err
	}
	if !view.Present {
		m.Null("disposition")
	} else {
		m.BeginObject("disposition")
		view.Leaf.CopyTo(m, "disposition", "reviewedBy", "reviewedAt", "notes", "sarEscalated")
		m.EndObject()
		a.take(&view.Leaf, txn)
	}
	if view.Proposed != nil {
		a.take(view.Proposed, txn)
	}
	for i := range view.Comments {
		a.take(&view.Comments[i], txn)
	}
	for i := range view.Payment {
		a.take(&view.Payment[i], txn)
	}
	return nil
}

// clearedOf returns the clearings of a party's names against its entry: those in force, void, and taken
// back (a clearing that was taken back stays with its party).
func clearedOf(c *border.Request, whole *wholeParty, acts *actList) ([]strictjson.Members, error) {
	items := []strictjson.Members{}
	if whole.party.Entry.UID == 0 {
		return items, nil
	}
	list, now := c.Published().List(), c.Published().LogTime()
	known := map[uint64]bool{}
	for _, pair := range c.Settings().Cleared {
		if parties.ClearedID(pair.Name, pair.UID) != whole.party.ID {
			continue
		}
		known[uint64(pair.ID)] = true
		var m strictjson.Members
		m.Text("clearedId", border.UintText(uint64(pair.ID)))
		m.Text("name", pair.Name)
		m.Object("grounds", c.Judge.Terms.WriteGrounds(&pair.Grounds))
		m.Text("reason", pair.Reason)
		m.TextOrNull("clearedBy", pair.By)
		m.Time("clearedAt", pair.At)
		void := ""
		if list != nil {
			void = edge.JudgeClearedPair(pair, list, now)
		}
		m.Bool("inForce", void == "")
		m.TextOrNull("void", void)
		m.Null("endedAt")
		m.Null("endedBy")
		m.Null("endReason")
		items = append(items, m)
	}
	ended, err := endedClearings(c, whole, known, acts)
	return append(items, ended...), err
}

// endedClearings reads from history the clearings of a party that were taken back or that lapsed.
func endedClearings(c *border.Request, whole *wholeParty, inForce map[uint64]bool, acts *actList) (items []strictjson.Members, err error) {
	added := map[uint64]edge.Leaf{}
	store := c.Records().Audit()
	from := store.FindTime(int64(max(c.Published().LogTime()-engine.Retention, 0)))
	held := edge.LeavesHeld(&c.Judge)
	defer edge.DropLeaves(&c.Judge, held)
	read := func(kind string, visit func(l *edge.Leaf)) error {
		var failed error
		scanned, err := store.Scan(audit.Query{From: from, To: store.Size(), Keys: []uint64{engine.FilterKey(engine.FilterKind, kind)}, Examine: border.LeafScanMax}, func(index uint64, stored audit.Leaf) bool {
			l, err := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
			if failed = err; err == nil {
				visit(&l)
			}
			return failed == nil
		})
		border.ChargeLooked(c, scanned.Examined)
		if failed != nil {
			return failed
		}
		if err != nil {
			return edge.LeafError(err)
		}
		return border.PassTurn(c)
	}
	err = read("cleared.added", func(l *edge.Leaf) {
		if parties.ClearedID(l.Text("normalised"), uidOf(l)) == whole.party.ID {
			added[l.Number("clearedId")] = *l
			acts.take(l, "")
		}
	})
	if err != nil {
		return nil, err
	}
	end := func(l *edge.Leaf) {
		id := l.Number("clearedId")
		first, ours := added[id]
		if !ours || inForce[id] {
			return
		}
		acts.take(l, "")
		var m strictjson.Members
		m.Text("clearedId", border.UintText(id))
		first.CopyTo(&m, "name")
		m.Raw("grounds", first.Raw("grounds"))
		first.CopyTo(&m, "reason", "clearedBy")
		m.Raw("clearedAt", first.Raw("time"))
		m.Bool("inForce", false)
		m.Text("void", "taken_back")
		m.Raw("endedAt", l.Raw("time"))
		m.TextOrNull("endedBy", firstText(l, "actor", "actorKeyId"))
		m.TextOrNull("endReason", l.Text("reason"))
		items = append(items, m)
	}
	return items, read("cleared.removed", end)
}

// uidOf reads the entry of the leaf of a clearing or of a sanctions case; 0: none.
func uidOf(l *edge.Leaf) uint32 {
	uid, err := strconv.ParseUint(l.Text("uid"), 10, 32)
	if err != nil { // The leaf of a sanctions case has a number.
		return uint32(l.Number("uid"))
	}
	return uint32(uid)
}

func firstText(l *edge.Leaf, names ...string) string {
	for _, name := range names {
		if text := l.Text(name); text != "" {
			return text
		}
	}
	return ""
}
