package parties

import (
	"cmp"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/ofac"
)

// This file is how callers read an index. What it gives are copies.

// Payee is a counterparty as callers see it.
type Payee struct {
	Name  string
	Links []Link
}

// Find returns the payment that a leaf records, and its party.
func (x *Index) Find(leaf uint64) (Payment, Party, bool) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	payment := x.find(leaf)
	if payment == nil {
		return Payment{}, Party{}, false
	}
	return *payment, x.parties[payment.Party-1], true
}

// ContextOf returns what a payment that hit a listed party says of its payee.
func (x *Index) ContextOf(leaf uint64) ofac.Context {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.contexts[leaf]
}

// Party returns the party with an id, and its number.
func (x *Index) Party(id ID) (Party, uint32, bool) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	number, known := x.byID[id]
	if !known {
		return Party{}, 0, false
	}
	return x.parties[number-1], number, true
}

// PartyAt returns the party with a number; false: there is none any more.
func (x *Index) PartyAt(number uint32) (Party, bool) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	if number == 0 || int(number) > len(x.parties) {
		return Party{}, false
	}
	return x.parties[number-1], true
}

// PayeeAt returns the counterparty with a number.
func (x *Index) PayeeAt(number uint32) (Payee, bool) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	if number == 0 || int(number) > len(x.payees) {
		return Payee{}, false
	}
	p := &x.payees[number-1]
	return Payee{p.name, append([]Link(nil), p.links...)}, true
}

// PayeeOf returns the number of a party's payee; 0: its hit is not about the payee, or it names nobody.
func (p *Party) PayeeOf() uint32 { return p.payee }

// chunk is how many payments are visited without a rest.
const chunk = 4096

// Payments visits all payments, newest first, until visit returns false. between is called where
// nothing is held. Visit must not call the index.
func (x *Index) Payments(between func(), visit func(p *Payment) bool) {
	before := ^uint64(0)
	for {
		between()
		if !x.visitChunk(&before, visit) {
			return
		}
	}
}

func (x *Index) visitChunk(before *uint64, visit func(p *Payment) bool) (more bool) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	first := x.behind(*before)
	end := min(first+chunk, x.size())
	for i := first; i < end; i++ {
		payment := *x.at(i)
		*before = payment.Leaf
		if !visit(&payment) {
			return false
		}
	}
	return end < x.size()
}

// Counts tells how much the index holds.
func (x *Index) Counts() (payments, payees, parties int) {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.size(), len(x.payees), len(x.parties)
}

// Generation changes when the index numbers its payees and parties anew. Whoever uses numbers beyond one
// call compares it before and after.
func (x *Index) Generation() uint64 {
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	return x.generation
}

// PartiesOf returns the numbers of the parties whose entry has all the words of a text in its name.
func (x *Index) PartiesOf(text string) map[uint32]bool {
	found := map[uint32]bool{}
	words := strings.Fields(formOf(text))
	if len(words) == 0 {
		return found
	}
	x.mutex.RLock()
	defer x.mutex.RUnlock()
	names := map[string]bool{} // Many parties hit one entry.
	for i := range x.parties {
		name := x.parties[i].Entry.Name
		if name == "" {
			continue
		}
		is, asked := names[name]
		if !asked {
			score, _ := hasWords(formOf(name), words)
			is = score > 0
			names[name] = is
		}
		if is {
			found[uint32(i+1)] = true
		}
	}
	return found
}

// HasWords tells how like a name is to a text that may be a part of it; 0: it lacks some of its words.
func HasWords(name, text string) (score uint16, why string) {
	words := strings.Fields(formOf(text))
	if len(words) == 0 {
		return 0, ""
	}
	return hasWords(formOf(name), words)
}

// FoundLink is a wallet or an identifier that has a text in it, and who was paid by it.
type FoundLink struct {
	Link  Link
	Names []string
	Score uint16
	Why   string
}

// linkTextLeast is how many characters of a wallet or an identifier find it.
const linkTextLeast = 4

// Links returns the wallets and identifiers that have a text in them, the whole ones first.
func (x *Index) Links(text string, most int, between func()) []FoundLink {
	wanted, canonical := strings.ToLower(text), engine.CanonicalWallet(text)
	identifier := engine.CanonicalIdentifier(text)
	if len(wanted) < linkTextLeast {
		return nil
	}
	at := map[uint64]int{}
	var all []FoundLink
	for first := 0; ; first += chunk {
		between()
		x.mutex.RLock()
		payees := x.payees[min(first, len(x.payees)):min(first+chunk, len(x.payees))]
		for i := range payees {
			for _, link := range payees[i].links {
				score, why := link.has(wanted, canonical, identifier)
				if score == 0 {
					continue
				}
				where, known := at[link.Key]
				if !known {
					where = len(all)
					at[link.Key] = where
					all = append(all, FoundLink{Link: link, Score: score, Why: why})
				}
				if found := &all[where]; len(found.Names) < namesOfLink {
					found.Names = append(found.Names, payees[i].name)
				}
			}
		}
		x.mutex.RUnlock()
		if len(payees) < chunk || len(all) >= payeesMax {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b FoundLink) int { return cmp.Compare(b.Score, a.Score) })
	return all[:min(len(all), most)]
}

// namesOfLink is how many counterparties are named beside a wallet or an identifier.
const namesOfLink = 8

// has tells how a link has a text in it.
func (l *Link) has(wanted, wallet, identifier string) (uint16, string) {
	switch {
	case l.Wallet && l.Text == wallet, !l.Wallet && identifier != "" && engine.CanonicalIdentifier(l.Text) == identifier:
		return scoreOne, "the same"
	case strings.EqualFold(l.Text, wanted):
		return scoreOne, "the same"
	case strings.Contains(strings.ToLower(l.Text), wanted):
		return scoreParts, "has these characters"
	}
	return 0, ""
}
