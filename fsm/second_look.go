package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Second looks (decision 156): of the decisions on reviews a share is looked at again by another
// officer, who is not told what was decided. Which ones is drawn from the salt of the disposition's
// own leaf. The salt follows from a key that no caller has and from the place of the leaf, so nobody
// who decides knows before; it stands in the leaf, so everybody can draw again afterwards.

// SecondLookState is the state of a second look.
type SecondLookState uint8

// The states of a second look.
const (
	SecondLookOpen SecondLookState = iota
	SecondLookAnswered
	SecondLookLapsed
)

// SecondLookRow is one second look. Rows are in the order of the dispositions' leaves.
type SecondLookRow struct {
	Leaf     uint64 // The record under review.
	Decision uint64 // The leaf of its disposition, which identifies the look.
	At       engine.Time
	Ended    uint64 // The leaf that answered it, or says that it lapsed; 0: it is open.
	State    SecondLookState
	First    uint8 // What was decided: wire.Approved and so on.
	Second   uint8 // What the second officer would have decided; 0: he has not answered.
	Known    *lookKnown
}

// lookKnown are the persons who may not make a look: who decided, and who had it in hand before. It
// is immutable; a change replaces it.
type lookKnown struct {
	Keys     []uint32 `cbor:"1,keyasint,omitempty"` // Rows of API keys.
	Subjects []string `cbor:"2,keyasint,omitempty"`
}

// with returns the persons and one more.
func (k *lookKnown) with(key uint32, subject string) *lookKnown {
	more := &lookKnown{}
	if k != nil {
		more.Keys, more.Subjects = slices.Clone(k.Keys), slices.Clone(k.Subjects)
	}
	more.Keys, more.Subjects = append(more.Keys, key), append(more.Subjects, subject)
	return more
}

func codeSecondLookRow(c *coder, row *SecondLookRow) {
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Decision)
	codeSigned(c, &row.At)
	codeUnsigned(c, &row.Ended)
	codeByte(c, &row.State)
	codeByte(c, &row.First)
	codeByte(c, &row.Second)
	codeValue(c, &row.Known)
}

var secondLookDeclaration = &tableOf[SecondLookRow, secondLookPage]{
	section: section{
		number: sectionSecondLooks, most: func(l *engine.Limits) int { return l.SecondLooks }, shownAs: "second_looks",
		sound: func(m *Machine) error { return m.desk.checkInHand() },
	},
	of: func(t *tables) *Table[SecondLookRow, secondLookPage] { return &t.secondLooks }, code: codeSecondLookRow, queue: true,
	mark:   func(t *tables, meta *snapshotMeta) (held, noted *uint64) { return &t.looksOver, &meta.LooksOver },
	fits:   func(m *Machine) fitting[SecondLookRow] { return m.desk.fitsSecondLook },
	over:   func(m *Machine, row *SecondLookRow) bool { return row.Decision < m.oldest },
	forget: func(m *Machine) { m.desk.forgetSecondLook() },
}

// secondLookEnds returns when an open look lapses. It goes by the day of the decision alone, as all
// that is told of an open look does: its exact time would name the record.
func secondLookEnds(decided engine.Time, limits *engine.Limits) engine.Time {
	return decided.Day().Start() + limits.SecondLookKept
}

// lookNumber is the number that a salt draws.
func lookNumber(salt [leaf.SaltSize]byte) uint64 {
	sum := sha256.Sum256(append([]byte("railguard second look\x00"), salt[:]...))
	return binary.BigEndian.Uint64(sum[:8])
}

// lookAgain decides whether the disposition that is written next is looked at again, and opens the
// look. proposer is the row of the key that proposed it. A full table drops its oldest look; where that
// one is open, there is no other.
func (m *desk) lookAgain(b *wire.Disposition, proposer uint32) bool {
	rules := b.Rules
	if at, found := m.reviewRowOf(b.Leaf); found {
		rules |= m.reviews.At(at).Rules
	}
	if !m.policy().SecondLook.Draws(rules, lookNumber(m.nextSalt())) {
		return false
	}
	if m.secondLooks.Len() >= m.limits.SecondLooks {
		if m.secondLooks.At(m.secondLooks.First()).State == SecondLookOpen {
			return false
		}
		m.secondLooks.DropFront()
	}
	var known *lookKnown
	if key := m.keyAt(proposer); key != nil {
		known = known.with(proposer, key.Subject().String())
	}
	known = known.with(keyRow(&b.Common), m.subjectOf(&b.Common).String())
	m.secondLooks.Append(SecondLookRow{Leaf: b.Leaf, Decision: m.size, At: m.now, First: b.Disposition, Known: known})
	return true
}

// proposerOn returns the row of the key that proposed a disposition of a record; 0: nobody did.
func (m *desk) proposerOn(record uint64) uint32 {
	if at, open := m.proposalOn(dispositionTopic(record)); open {
		return m.proposals.At(at).Key
	}
	return 0
}

// mayLook tells why a key may not take a look in hand; 0: it may. Nobody looks again at what he
// decided, proposed or commented on, or had in hand before. Who is another person is judged as for
// acts of two persons.
func (t *deskTables) mayLook(s *Settings, now engine.Time, row *SecondLookRow, key *wire.APIKey) wire.Refusal {
	if key == nil {
		return wire.RefusedNoPerson
	}
	subject := key.Subject().String()
	if slices.Contains(row.Known.Subjects, subject) {
		return wire.RefusedSamePerson
	}
	others := slices.Clone(row.Known.Keys)
	at, found := searchReviews(t.reviews.First(), t.reviews.Next(), row.Leaf, func(i uint64) uint64 { return t.reviews.At(i).Leaf })
	if found && t.reviews.At(at).Claim != nil {
		for _, comment := range t.reviews.At(at).Claim.Comments {
			others = append(others, comment.Key)
		}
	}
	for i, other := range s.Keys {
		if !slices.Contains(others, uint32(i)+1) && !slices.Contains(row.Known.Subjects, other.Subject().String()) {
			continue
		}
		if why := Seconds(now, other, key); why != 0 {
			return why
		}
	}
	return 0
}

// secondLookOf finds the look at a disposition.
func (t *deskTables) secondLookOf(decision uint64) (at uint64, found bool) {
	return searchReviews(t.secondLooks.First(), t.secondLooks.Next(), decision, func(i uint64) uint64 { return t.secondLooks.At(i).Decision })
}

func (m *desk) fitsSecondLook(_ uint64, row, before *SecondLookRow) bool {
	open := row.State == SecondLookOpen
	return row.State <= SecondLookLapsed && m.hasLeaf(row.Leaf) && m.hasLeaf(row.Decision) && row.Leaf < row.Decision &&
		(before == nil || row.Decision > before.Decision && row.At >= before.At) && open == (row.Ended == 0) && (open || m.hasLeaf(row.Ended)) &&
		row.First >= wire.Approved && row.First <= wire.EscalateSAR && row.Second <= wire.EscalateSAR && (row.Second != 0) == (row.State == SecondLookAnswered) &&
		row.Known != nil && len(row.Known.Keys) == len(row.Known.Subjects) && len(row.Known.Keys) <= m.limits.SecondLookKnown
}

func (m *desk) forgetSecondLook() {
	m.dropInHand(m.secondLooks.At(m.secondLooks.First()).Decision)
	m.secondLooks.DropFront()
}

// HeldBy returns what the person of a key has in hand at a time.
func (s *Settings) HeldBy(key *wire.APIKey, now engine.Time) *wire.InHand {
	if key == nil {
		return nil
	}
	subject := key.Subject().String()
	for _, held := range s.InHand {
		if now >= held.Until {
			continue
		}
		if held.Subject == subject || held.Key != 0 && uint64(held.Key) <= uint64(len(s.Keys)) && samePerson(s.Keys[held.Key-1], key) {
			return held
		}
	}
	return nil
}

// HolderOf returns who has a look in hand at a time; nil: nobody.
func (s *Settings) HolderOf(decision uint64, now engine.Time) *wire.InHand {
	for _, held := range s.InHand {
		if held.Decision == decision && now < held.Until {
			return held
		}
	}
	return nil
}

// SecondLook returns the look at a disposition.
func (v *View) SecondLook(decision uint64) (SecondLookRow, bool) {
	at, found := v.secondLookOf(decision)
	if !found {
		return SecondLookRow{}, false
	}
	return *v.secondLooks.At(at), true
}

// SecondLooks calls fn with looks until fn returns false: those at dispositions before a leaf, newest
// first, or, if ascending, after it, oldest first.
func (v *View) SecondLooks(decision uint64, ascending bool, fn func(SecondLookRow) bool) {
	at, found := v.secondLookOf(decision)
	if ascending {
		if found {
			at++
		}
		for ; at < v.secondLooks.Next() && fn(*v.secondLooks.At(at)); at++ {
		}
		return
	}
	for ; at > v.secondLooks.First() && fn(*v.secondLooks.At(at - 1)); at-- {
	}
}

// MayLook tells why a key may not take a look in hand; 0: it may.
func (v *View) MayLook(row *SecondLookRow, key *wire.APIKey) wire.Refusal {
	return v.mayLook(v.settings, v.Time, row, key)
}

// SecondLookEnds returns when a look lapses if nobody answers it.
func (v *View) SecondLookEnds(row *SecondLookRow) engine.Time {
	return secondLookEnds(row.At, engine.LimitsOf(v.Format))
}
