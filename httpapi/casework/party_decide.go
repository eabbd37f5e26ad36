package casework

import (
	"encoding/hex"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/edge/parties"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// partyDecideMost is how many reviews one decision closes. The answer says how many are left.
const partyDecideMost = 1000

// decideParty is POST /v1/parties/{partyId}/decide {"disposition","notes","reviewedBy","only"}: one
// reasoned decision about all open reviews of a party. Each review is decided by itself, by the path of
// a bulk call, under every guard of a single one. Payments that hit nothing stay cases of their own, so
// for them the call names those that it decides.
func (b *Room) decideParty(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	only, given := f.Texts("only", partyDecideMost, engine.FieldMax)
	decision, err := desk.ReadReview(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	b.catch(c)
	party, number, err := b.pathParty(c)
	if err != nil {
		return border.Answer{}, err
	}
	if !party.Entry.IsHit() && !given {
		return border.Answer{}, edge.MissingField("only", "payments without a hit are cases of their own: name those that this decides")
	}
	items, left, err := b.reviewsOf(c, view, number, only)
	if err != nil {
		return border.Answer{}, err
	}
	results := []strictjson.Members{}
	for chunk := range slices.Chunk(items, BulkMax) {
		batch := reviewBatch(c, decision, chunk)
		if err := batch.run(); err != nil {
			return border.Answer{}, err
		}
		results = append(results, batch.results("txnId", showBulkReview)...)
	}
	var m strictjson.Members
	m.Text("partyId", party.ID.String())
	m.List("results", results)
	m.Int("left", int64(left))
	return c.Reply(http.StatusOK, m), nil
}

// reviewsOf returns the open reviews of a party, the oldest first, and how many more there are. Of a call
// that is sent again with its Idempotency-Key it also returns those that it decided the first time, so
// that it gets the same answer. With only, it is these, and each must be of the party.
func (b *Room) reviewsOf(c *border.Request, view *fsm.View, number uint32, only []string) (items []bulkItem, left int, err error) {
	ids := idsOf(c)
	if only != nil {
		seen := map[string]bool{}
		for _, id := range only {
			leaf, ok := ids.ParseTxn(id)
			payment, _, known := b.index.Find(leaf)
			if !ok || !known || payment.Party != number || seen[id] {
				return nil, 0, border.InvalidField("only", "must be payments of this party, each once: "+id+" is none, or stands twice")
			}
			seen[id] = true
			items = append(items, bulkItem{id: id})
		}
		return items, 0, nil
	}
	var leaves []uint64
	view.Open(func(row fsm.ReviewRow) bool {
		border.RestBetween(c)
		if payment, _, known := b.index.Find(row.Leaf); known && payment.Party == number {
			leaves = append(leaves, row.Leaf)
		}
		return true
	})
	if c.Asked.Idem != nil {
		again, err := b.decidedBefore(c, number)
		if err != nil {
			return nil, 0, err
		}
		leaves = append(leaves, again...)
	}
	slices.Sort(leaves)
	leaves = slices.Compact(leaves)
	for _, leaf := range leaves[:min(len(leaves), partyDecideMost)] {
		items = append(items, bulkItem{id: ids.TxnID(leaf)})
	}
	return items, len(leaves) - len(items), nil
}

// decidedBefore returns the reviews of a party that this call decided, or proposed to decide, when it was
// sent before.
func (b *Room) decidedBefore(c *border.Request, number uint32) (leaves []uint64, err error) {
	var done []uint64
	b.index.Payments(func() { border.RestBetween(c) }, func(p *parties.Payment) bool {
		if p.Party == number && p.Verdict == engine.Review && p.Said != parties.Undecided {
			done = append(done, p.Leaf)
		}
		return len(done) < partyDecideMost
	})
	for _, leaf := range done {
		at, decided := c.Published().Disposition(leaf)
		if !decided {
			continue
		}
		l, err := c.Judge.LoadLeaf(at)
		if err != nil {
			return nil, err
		}
		if l.Text("idempotencyKeyHash") == keyHash(c.Asked.Idem, idsOf(c).TxnID(leaf)) {
			leaves = append(leaves, leaf)
		}
		c.Judge.DropLeaf()
	}
	return leaves, nil
}

// keyHash is the hash of an item's Idempotency-Key, as leaves hold it.
func keyHash(whole *wire.Idem, id string) string {
	return hex.EncodeToString(desk.ItemIdempotency(whole, id).Key[:])
}
