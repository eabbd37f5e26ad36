package parties

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"railguard/edge/recorded"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/ofac"
)

// told is one record as the index takes it.
type told struct {
	payment Payment
	payee   payee // Its form is "": nobody is named.
	form    string
	party   Party // Its Name is whom the hit is about.
	context ofac.Context
}

// read takes from a record what the index keeps. A call whose credential was not good is no
// payment of anybody; of one that names nobody and hit nothing there is nothing to keep.
func read(x *leafjson.Screen) (t told, kept bool) {
	if !x.Judged {
		return t, false
	}
	t.payment = Payment{Leaf: x.Leaf, At: x.At, Amount: x.Amount, Rules: x.Triggered, Verdict: x.Verdict, Rule: x.Rule}
	if x.Agent != nil && len(x.Agent.Agents) > 0 {
		t.payment.Agent = x.Agent.Agents[0].Slot
	}
	t.readPayee(x)
	hit := hitOf(x)
	t.payment.Score = hit.score
	t.party = Party{Name: t.payee.name, Side: hit.side, Entry: hit.entry}
	t.form = t.payee.form
	switch hit.side {
	case SideOperator:
		if x.Agent != nil && len(x.Agent.Agents) > 0 {
			t.party.Name = x.Agent.Agents[0].OperatorLegalName
		}
		t.form = formOf(t.party.Name)
	case SidePayer:
		t.party.Name = hit.wallet
		t.form = engine.CanonicalWallet(hit.wallet)
	case SideUser:
		if x.Party != nil {
			t.party.Name = x.Party.UserID
		}
		t.form = t.party.Name
	}
	t.party.ID = idOf(t.form, &t.party.Entry)
	if hit.side == SidePayee && hit.entry.UID != 0 {
		text := func(tag leaf.Tag) string { return recorded.ReadText(x.Edge.Get(tag)) }
		t.context = ofac.Context{Country: text(leaf.TagCountry), BirthDate: text(leaf.TagBirth), Address: text(leaf.TagAddress)}
	}
	return t, t.form != "" || t.party.Entry.IsHit()
}

// readPayee reads whom a call pays.
func (t *told) readPayee(x *leafjson.Screen) {
	text := func(tag leaf.Tag) string { return recorded.ReadText(x.Edge.Get(tag)) }
	p := &t.payee
	p.name = text(leaf.TagName)
	p.person = strings.EqualFold(text(leaf.TagPartyType), "individual")
	if wallet := text(leaf.TagWallet); wallet != "" {
		p.addWallet(wallet)
	}
	if raw := x.Edge.Get(leaf.TagWallets); raw != nil {
		var listed []struct{ Role, Address string }
		if json.Unmarshal(raw, &listed) == nil {
			for _, one := range listed {
				if one.Role == "payee" {
					p.addWallet(one.Address)
				}
			}
		}
	}
	if raw := x.Edge.Get(leaf.TagIdentifiers); raw != nil {
		var listed []struct{ Type, Value string }
		if json.Unmarshal(raw, &listed) == nil {
			for _, one := range listed {
				p.addIdentifier(one.Type, one.Value)
			}
		}
	}
	switch {
	case p.name != "":
		p.form = formOf(p.name)
	case len(p.links) > 0:
		p.name, p.unnamed = p.links[0].Text, true
		p.form = p.name
	}
}

func (p *payee) addWallet(wallet string) {
	if key, ok := engine.WalletFilterKey(wallet); ok {
		p.addLink(Link{Key: key, Text: engine.CanonicalWallet(wallet), Wallet: true})
	}
}

func (p *payee) addIdentifier(class, value string) {
	if form := engine.CanonicalIdentifier(class + ":" + value); form != "" {
		p.addLink(Link{Key: engine.FilterKey(engine.FilterIdentifier, form), Text: class + ":" + value})
	}
}

// hit is what of a record's evidence counts most.
type hit struct {
	side   Side
	entry  Entry
	score  uint16 // In 1e-4.
	wallet string // Of the payer.
	weight int    // 2: listed, or a blocked place; 1: possible; 0: nothing.
}

// evidence is a match in a record, and a place read of it.
type (
	evidence struct {
		Party, List, UID, Name, Outcome, Wallet, ClearedID, Clearing string
		Score                                                        json.Number
	}
	placeRead struct{ Read, Outcome string }
)

// scoreOne is the score of a match that is no matter of likeness.
const scoreOne = 10_000

// hitOf returns the worst hit of a record: what is listed before what is possible, a party before a
// place, the payee before the payer's side, then the best score. A match that an officer cleared
// counts as a possible one: it belongs to what was cleared.
func hitOf(x *leafjson.Screen) (best hit) {
	if raw := x.Edge.Get(leaf.TagMatches); raw != nil {
		var all []evidence
		if json.Unmarshal(raw, &all) != nil {
			return best
		}
		for i := range all {
			if found := all[i].hit(); found.isWorse(&best) {
				best = found
			}
		}
	}
	if raw := x.Edge.Get(leaf.TagPlaces); raw != nil {
		var all []placeRead
		if json.Unmarshal(raw, &all) != nil {
			return best
		}
		for i := range all {
			found := hit{entry: Entry{Place: all[i].Read}, score: scoreOne}
			switch all[i].Outcome {
			case engine.OutcomeBlocked.String():
				found.weight = 2
			case engine.OutcomeReviewed.String():
				found.weight = 1
			}
			if found.entry.Place != "" && found.isWorse(&best) {
				best = found
			}
		}
	}
	return best
}

func (e *evidence) hit() (found hit) {
	uid, err := strconv.ParseUint(e.UID, 10, 32)
	if err != nil {
		return found
	}
	found.entry, found.score = Entry{UID: uint32(uid), List: e.List, Name: e.Name}, scoreOne
	if score, err := e.Score.Float64(); err == nil && score > 0 && score < 1 {
		found.score = uint16(score*scoreOne + 0.5)
	}
	switch {
	case e.Outcome == "listed":
		found.weight = 2
	case e.Outcome == "possible", e.ClearedID != "" && e.Clearing == "":
		found.weight = 1
	}
	switch e.Party {
	case "operator":
		found.side = SideOperator
	case "payer":
		found.side, found.wallet = SidePayer, e.Wallet
	case "user":
		found.side = SideUser
	}
	return found
}

// isWorse tells whether a hit counts more than another.
func (h *hit) isWorse(than *hit) bool {
	switch {
	case h.weight != than.weight:
		return h.weight > than.weight
	case h.weight == 0 || h.entry.Place != "":
		return false
	case h.side != than.side:
		return h.side < than.side
	case h.score != than.score:
		return h.score > than.score
	}
	return h.entry.UID < than.entry.UID
}

// fate is what a later leaf says of a record: an officer's answer, or how the payment ended.
type fate struct {
	said  Said
	ended fsm.HoldState // HoldOpen: it has not ended.
}

// fateKinds begin the leaves that tell a fate; Apply writes the kind first.
var fateKinds = [][]byte{[]byte(`{"kind":"` + leaf.KindDispositioned), []byte(`{"kind":"hold.`), []byte(`{"kind":"payment.`), []byte(`{"kind":"` + leaf.KindDue + `"`)}

// readFate reads what an event says of a record. record is 0 if it is about none.
func readFate(data []byte) (record uint64, f fate) {
	if !startsWithAny(data, fateKinds) {
		return 0, f
	}
	_, event, err := leaf.Read(data)
	if err != nil {
		return 0, f
	}
	payment := leaf.Payment{}
	switch event := event.(type) {
	case leaf.Dispositioned:
		return event.ReviewedLeaf, fate{said: saidOf(event.Disposition)}
	case leaf.Settled:
		payment = event.Payment
	case leaf.Payment:
		payment = event
	case leaf.Confirmed:
		payment = event.Payment
	case leaf.HoldOver:
		payment = event.Payment
	}
	return payment.ScreenedLeaf, fate{ended: fsm.HoldStateNamed(payment.State)}
}

func startsWithAny(data []byte, all [][]byte) bool {
	for _, one := range all {
		if bytes.HasPrefix(data, one) {
			return true
		}
	}
	return false
}

func saidOf(word string) Said {
	switch word {
	case leaf.WordApproved:
		return Approved
	case "":
		return Undecided
	}
	return Stopped
}
