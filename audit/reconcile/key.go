package reconcile

import (
	"slices"
	"strings"
)

// namedBy finds the records that a settlement's texts name, way by way.
type namedBy struct {
	rows  [wayCount][]int32
	long  int32 // A chain that is too long to tell anything; -1: none.
	keys  []key // Keys of the texts, as railRef.
	texts []string
}

// find asks all texts of a settlement. The result is good until the next call.
func (n *namedBy) find(t *tables, s *Settlement) {
	for w := range n.rows {
		n.rows[w] = n.rows[w][:0]
	}
	n.long, n.keys = -1, n.keys[:0]
	n.texts = append(append(n.texts[:0], s.ID), s.Refs...)
	for _, text := range n.texts {
		eachTxn(text, func(txn [8]byte) {
			if at, known := t.byTxn[txn]; known {
				n.add(byTxn, at)
			}
		})
		low := lowered(text)
		rail := keyOf(keyRail, low)
		n.keys = append(n.keys, rail)
		n.follow(t, byRailRef, rail)
		n.follow(t, byPaymentRef, keyOf(keyPayment, text))
		n.follow(t, byNonce, keyOf(keyNonce, low))
	}
}

func (n *namedBy) follow(t *tables, w way, k key) {
	at, known := t.byKey[k]
	if !known || k == (key{}) {
		return
	}
	if t.chains[at].count > sharedMax {
		n.long = at
		return
	}
	for l := t.chains[at].head; l >= 0; l = t.links[l].next {
		n.add(w, t.links[l].at)
	}
}

func (n *namedBy) add(w way, record int32) {
	if !slices.Contains(n.rows[w], record) {
		n.rows[w] = append(n.rows[w], record)
	}
}

// decide returns the way that counts and its records. disagree reports that another way leads to
// other records alone.
func (n *namedBy) decide() (w way, rows []int32, disagree bool) {
	w = wayCount
	for i := range n.rows {
		if len(n.rows[i]) == 0 {
			continue
		}
		if w == wayCount {
			w = way(i)
			continue
		}
		if !slices.ContainsFunc(n.rows[i], func(r int32) bool { return slices.Contains(n.rows[w], r) }) {
			disagree = true
		}
	}
	if w == wayCount {
		return w, nil, false
	}
	return w, n.rows[w], disagree
}

// all returns the records of all ways.
func (n *namedBy) all() (rows []int32) {
	for i := range n.rows {
		for _, r := range n.rows[i] {
			if !slices.Contains(rows, r) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// eachTxn calls visit for every txnId in a text. Letters, digits and _ on either side make it a
// part of something else.
func eachTxn(text string, visit func([8]byte)) {
	const size = len(txnPrefix) + 8
	for from := 0; ; {
		at := strings.Index(text[from:], txnPrefix)
		if at < 0 || from+at+size > len(text) {
			return
		}
		start := from + at
		from = start + 1
		if start > 0 && isWordByte(text[start-1]) || start+size < len(text) && isWordByte(text[start+size]) {
			continue
		}
		if txn, ok := parseTxn(text[start : start+size]); ok {
			visit(txn)
		}
	}
}

func isWordByte(c byte) bool { return c == '_' || isTxnByte(c) }

// matchByKeys decides a settlement by what its texts name.
func (r *Run) matchByKeys(s *Settlement, at int32) error {
	t, n := &r.tables, &r.named
	n.find(t, s)
	if n.long >= 0 {
		return r.doubtChain(n, at)
	}
	w, rows, disagree := n.decide()
	row := &t.settlements[at]
	switch {
	case disagree:
		row.ending = endFound
		rows = n.all()
		for _, record := range rows {
			t.records[record].doubt = true
		}
		return r.say(finding{class: Ambiguous, settlement: at, list: r.keepList(rows, false), record: -1})
	case len(rows) == 0:
		return nil
	}
	row.ending, row.way, row.record = endMatched, w, rows[0]
	for _, record := range rows {
		if err := t.hit(record, at); err != nil {
			return err
		}
	}
	if len(rows) == 1 {
		told := t.records[rows[0]].railRef
		row.sameRail = told == key{} || slices.Contains(n.keys, told)
		return nil
	}
	row.record, row.list = -1, r.keepList(rows, r.isMerged(rows, row.amount))
	return nil
}

// isMerged reports whether an amount is the sum of the records' amounts, all of them allowed.
func (r *Run) isMerged(rows []int32, amount Amount) bool {
	var sum Amount
	for _, record := range rows {
		if !r.records[record].isAllowed() {
			return false
		}
		sum = sum.plus(Amount{Micro: r.records[record].amount})
	}
	return sum == amount
}

// doubtChain says that a settlement's key leads to too many records.
func (r *Run) doubtChain(n *namedBy, at int32) error {
	t := &r.tables
	c := &t.chains[n.long]
	rows := n.all()
	for l := c.head; l >= 0; l = t.links[l].next {
		if record := t.links[l].at; len(rows) < namedMax && !slices.Contains(rows, record) {
			rows = append(rows, record)
		}
		if c.doubted && len(rows) >= namedMax {
			break
		}
		t.records[t.links[l].at].doubt = true
	}
	for _, record := range rows {
		t.records[record].doubt = true
	}
	c.doubted = true
	t.settlements[at].ending = endFound
	list := r.keepList(rows, false)
	t.lists[list].more += max(0, int(c.count)-len(rows))
	return r.say(finding{class: Ambiguous, settlement: at, list: list, record: -1})
}

// keepList keeps the records of one finding or settlement, by txnId.
func (r *Run) keepList(rows []int32, merged bool) int32 {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, r.compareTxn)
	more := max(0, len(rows)-namedMax)
	r.lists = append(r.lists, recordList{rows: slices.Clip(rows[:len(rows)-more]), more: more, merged: merged})
	return int32(len(r.lists) - 1)
}

func (r *Run) compareTxn(a, b int32) int {
	return strings.Compare(string(r.records[a].txn[:]), string(r.records[b].txn[:]))
}
