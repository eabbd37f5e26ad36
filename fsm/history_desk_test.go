package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// deskCommon returns the common part of an officer's record, with one of the API keys.
func (w *world) deskCommon(random *rand.Rand) wire.Common {
	common := randomCommon(random)
	if rows := w.deskRows(); len(rows) > 0 {
		row := rows[random.IntN(len(rows))]
		common.Key = &wire.KeyRef{Row: uint32(row + 1), Rev: w.m.settings.Keys[row].Rev}
	}
	return common
}

// deskRows are the rows of the keys of officers that are valid.
func (w *world) deskRows() (rows []int) {
	for i, key := range w.m.settings.Keys {
		if key.PersonKey != "" && key.RevokedAt == 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// deskStep makes one step of an officer or a node: a disposition with four eyes, a
// withdrawal, a report, an alert, or an acknowledgement.
func (w *world) deskStep(random *rand.Rand) {
	common := w.deskCommon(random)
	if len(w.deskRows()) < 3 {
		n := len(w.m.settings.Keys)
		w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{
			ID: fmt.Sprint("desk", n), Name: "n", Hashes: [][]byte{bytes.Repeat([]byte{byte(n), 1}, 16)}, Roles: wire.RoleReviewer, PersonKey: fmt.Sprint("officer ", n%2),
		}})
	}
	switch random.IntN(13) {
	case 11, 12:
		w.caseStep(random, common)
	case 10:
		w.retroStep(random)
	case 8, 9:
		w.reportStep(random, common)
	case 0, 1, 2, 3:
		if w.m.desk.reviews.Len() == 0 {
			return
		}
		at := w.m.desk.reviews.Next() - 1 - random.Uint64N(uint64(min(w.m.desk.reviews.Len(), 6)))
		row, word := *w.m.desk.reviews.At(at), 1+uint8(random.IntN(3))
		if p, open := w.someProposal(random, ofDisposition); open && random.IntN(2) == 0 {
			if found, known := w.m.Freeze().Review(p.Leaf); known {
				row, word = found, p.Disposition
			}
		}
		w.do(wire.KindDisposition, &wire.Disposition{
			Common: common, Leaf: row.Leaf, Disposition: word, Agent: row.Agent, Amount: row.Amount, Rules: 1 << row.Rule,
		})
	case 4:
		if p, open := w.someProposal(random, func(row *proposalRow) bool { return row.Act != nil }); open && random.IntN(2) == 0 {
			if random.IntN(2) == 0 {
				w.do(wire.KindWithdraw, &wire.Withdraw{Common: common, Proposal: p.Later})
			} else {
				w.do(wire.KindConfirm, &wire.Confirm{Common: common, Proposal: p.Later})
			}
			return
		}
		body := &wire.Withdraw{Common: common, Leaf: random.Uint64N(w.m.size + 1)}
		if p, open := w.someProposal(random, ofDisposition); open {
			body.Leaf = p.Leaf
		}
		w.do(wire.KindWithdraw, body)
	case 5:
		kind := uint8(random.IntN(int(wire.AlertKinds) + 2))
		subject := wire.AlertSubject(wire.Target(random.IntN(5)), random.Uint64N(w.m.size+9)%(1+random.Uint64N(w.m.size+9)))
		w.do(wire.KindAlert, &wire.Alert{Common: common, Op: uint8(1 + random.IntN(2)), Kind: kind, Subject: subject, List: random.Uint64N(4)})
	default:
		body := &wire.Alert{Common: common, Op: wire.AlertAcknowledge, Leaf: random.Uint64N(w.m.size + 1)}
		if n := w.m.desk.alerts.Len(); n > 0 && random.IntN(6) > 0 {
			body.Leaf = w.m.desk.alerts.At(w.m.desk.alerts.First() + random.Uint64N(uint64(n))).Leaf
		}
		w.do(wire.KindAlert, body)
	}
}

// reportStep opens a report of some record, writes one's narrative or moves one on.
func (w *world) reportStep(random *rand.Rand, common wire.Common) {
	body := &wire.SAR{Common: common, Op: uint8(random.IntN(5)), Leaf: random.Uint64N(w.m.size + 1), From: uint8(random.IntN(5)), To: uint8(1 + random.IntN(4))}
	if n := w.m.desk.sars.Len(); n > 0 && random.IntN(6) > 0 {
		row := w.m.desk.sars.At(w.m.desk.sars.First() + random.Uint64N(uint64(n)))
		body.Leaf, body.From, body.Seen = row.Leaf, row.State, row.Narrative
	}
	if body.Op == wire.SARWrite {
		body.Narrative, body.Finished = [32]byte{byte(random.IntN(9))}, random.IntN(4) > 0
	}
	w.do(wire.KindSAR, body)
}

func ofDisposition(row *proposalRow) bool { return row.Kind == wire.KindDisposition }

// someProposal returns one of the open proposals that are wanted.
func (w *world) someProposal(random *rand.Rand, wanted func(*proposalRow) bool) (found proposalRow, open bool) {
	for i := w.m.desk.proposals.First(); i < w.m.desk.proposals.Next(); i++ {
		if row := w.m.desk.proposals.At(i); wanted(row) && (!open || random.IntN(2) == 0) {
			found, open = *row, true
		}
	}
	return found, open
}

// deskLedger is a second bookkeeping of the officers' desk.
type deskLedger struct {
	two      *engine.FourEyes
	proposed map[uint64]proposedBy // Open proposals, by case.
	lapsed   map[uint64]uint64     // By the leaf that tells of it.
	alerts   map[uint64]bool       // Leaves of alerts, hits and reminders that are not a record's own leaf.
}

type proposedBy struct {
	by   string
	key  uint32 // The row of the proposer's API key.
	word uint8
	at   engine.Time
}

func newDeskLedger() deskLedger {
	return deskLedger{proposed: map[uint64]proposedBy{}, lapsed: map[uint64]uint64{}, alerts: map[uint64]bool{}}
}

// deskLeaf notes leaves that are not a record's own leaf.
func (l *bookkeeping) deskLeaf(out *Effects, at uint64, data []byte) {
	answered := slices.ContainsFunc(out.Results, func(r wire.Result) bool { return r.Code == wire.Applied && r.Leaf == at })
	switch text := string(data); {
	case strings.HasPrefix(text, `{"kind":"alert.opened"`):
		if !answered {
			l.alerts[at] = true
			l.counts["alert "+between(data, `"alert":"`, `"`)]++
		}
	case strings.HasPrefix(text, `{"kind":"retro.hit"`), strings.HasPrefix(text, `{"kind":"sanctions.opened"`) && !answered, strings.HasPrefix(text, `{"kind":"sanctions.blocked_again"`):
		l.alerts[at] = true // One record may write many hits; they are not booked.
	case strings.HasPrefix(text, `{"kind":"alert.ack`):
		l.counts["acknowledged"]++
	case strings.HasPrefix(text, `{"kind":"due"`) && (strings.Contains(text, leaf.DueReviewSLA.String()) || strings.Contains(text, leaf.DueSAR.String())):
		l.alerts[at] = true
		l.counts["overdue"]++
	case strings.HasPrefix(text, `{"kind":"due"`) && strings.Contains(text, leaf.DueProposal.String()):
		record, err := strconv.ParseUint(between(data, `"reviewedLeaf":`, `,`), 10, 64)
		if err != nil {
			l.add("leaf %d: %s", at, text)
		}
		l.lapsed[at] = record
	case strings.HasPrefix(text, `{"kind":"due"`) && !tellsOfHold(data):
		l.alerts[at] = true // Log time brought it about; it is not booked.
		l.counts["fell due"]++
	}
}

// deskPasses tells whether the next leaf is the desk's and not a record's own, and books it.
func (l *bookkeeping) deskPasses() bool {
	if l.alerts[l.leaves] {
		return true
	}
	record, lapsed := l.lapsed[l.leaves]
	if !lapsed {
		return false
	}
	if p, open := l.proposed[record]; !open || l.now < p.at+24*engine.Hour && !l.keyGone(p.key) {
		l.add("leaf %d: the proposal on leaf %d lapses; open: %v", l.leaves, record, open)
	}
	delete(l.proposed, record)
	l.counts["lapsed"]++
	return true
}

// keyGone tells whether an API key has been revoked or has expired.
func (l *bookkeeping) keyGone(row uint32) bool {
	key := &l.apiKeys[row-1]
	return key.RevokedAt != 0 || key.ExpiresAt != 0 && l.now >= key.ExpiresAt
}

// subject is who sent a record.
func (l *bookkeeping) subject(common *wire.Common) string {
	if common.Key == nil || common.Key.Row == 0 {
		return "machine"
	}
	return l.apiKeys[common.Key.Row-1].Subject().String()
}

// decided books a disposition; false if it is only a proposal. It checks that a case for two
// persons is decided by two, as long as there are two.
func (l *bookkeeping) decided(b *wire.Disposition, r *wire.Result) bool {
	two := l.two != nil && (b.Amount >= l.two.MinAmount || l.two.Rules&b.Rules != 0)
	p, open := l.proposed[b.Leaf]
	by, alone := l.subject(&b.Common), strings.Contains(string(r.Data), `"alone":true`)
	if strings.HasPrefix(string(r.Data), `{"kind":"review.proposed"`) {
		if !two || open || by == "machine" {
			l.add("leaf %d: proposed for leaf %d; two persons: %v, open: %v", r.Leaf, b.Leaf, two, open)
		}
		l.proposed[b.Leaf] = proposedBy{by, b.Key.Row, b.Disposition, l.now}
		l.counts["proposed"]++
		return false
	}
	if alone && (!two || open) {
		l.add("leaf %d: leaf %d is decided alone by %s", r.Leaf, b.Leaf, by)
	}
	if two && !alone {
		if !open || p.by == by || by == "machine" || p.word != b.Disposition || l.now >= p.at+24*engine.Hour {
			l.add("leaf %d: leaf %d is decided by one person: %+v, %v", r.Leaf, b.Leaf, p, open)
		}
		l.counts["confirmed"]++
	}
	delete(l.proposed, b.Leaf)
	return true
}

func (l *bookkeeping) withdrawn(b *wire.Withdraw, r *wire.Result) {
	if b.Proposal != 0 {
		return
	}
	if p, open := l.proposed[b.Leaf]; !open {
		l.add("leaf %d: nothing open was withdrawn: %+v", r.Leaf, p)
	} else if p.by == l.subject(&b.Common) {
		l.counts["taken back"]++
	}
	delete(l.proposed, b.Leaf)
	l.counts["withdrawn"]++
}
