package engine

import (
	"unsafe"

	"railguard/ofac"
)

// Looker asks the list everything that the static rules need, once per call. It
// owns scratch memory and remembers answers, so one Looker serves one call at a
// time; the results of a call are valid until the next one. An answer is a pure
// function of list and query, so remembering it cannot change a verdict. It saves work
// because most calls of an edge repeat an operator's name, and many a counterparty's.
type Looker struct {
	scratch *ofac.Scratch
	list    *ofac.Index // What the answers below were asked of.

	// One memory for each of the three names, so that a call's three results
	// cannot displace one another.
	operator, user [lookerAnswers]answer
	party          [partyAnswers]answer
}

// lookerAnswers is how many answers are remembered of operators, and of users; partyAnswers is
// how many of counterparties, who are many more. The hash of a name chooses the place of its
// answer. Looking a name up in the list costs twenty times as much as a remembered answer.
const (
	lookerAnswers = 512
	partyAnswers  = 4096
)

// answer is a remembered result with matches of its own.
type answer struct {
	query   ofac.Query
	name    []byte // Holds the bytes of query.Name, because the caller may reuse its own.
	result  ofac.Result
	matches []ofac.Match
	filter  uint64 // Of the name: see NameFilterKey.
	known   bool
}

// NewLooker returns a Looker.
func NewLooker() *Looker { return &Looker{scratch: ofac.NewScratch()} }

// Look fills the results of facts. It must run before JudgeStatic. A credential
// that is not good has nobody to look up.
func (l *Looker) Look(f *Facts) {
	if f.Token != TokenGood {
		return
	}
	if l.list != f.List {
		l.forgetAnswers(f.List)
	}
	for i := 0; i < f.ChainSize && !f.OperatorListed; i++ {
		if wallet := f.Chain[i].OperatorWallet; wallet != "" {
			f.OperatorWallet, f.OperatorListed = f.List.Wallet(wallet)
			f.OperatorLevel = uint8(i)
		}
	}
	if f.Request.Wallet != "" {
		f.PartyWallet, f.PartyListed = f.List.Wallet(f.Request.Wallet)
	}
	query := ofac.Query{
		Brief: true, Review: f.Policy.NameReview, Block: f.Policy.NameBlock, WeakAliases: f.Policy.WeakAliases,
		NonSDNPossible: f.anyPolicy(func(p *SpendPolicy) bool { return p.CONS }),
	}
	if f.ChainSize > 0 {
		query.Name, query.ClearedUIDs = f.Chain[0].OperatorLegalName, f.OperatorCleared
		f.OperatorName, _ = l.screenName(&query, l.operator[:])
	}
	if f.User != nil {
		query.Name, query.Type, query.ClearedUIDs = f.User.LegalName, ofac.PartyIndividual, f.UserCleared
		f.UserName, _ = l.screenName(&query, l.user[:])
	}
	if f.Request.Name != "" {
		query.Name, query.ClearedUIDs = f.Request.Name, f.PartyCleared
		query.Type, _ = ParsePartyType(f.Request.Type)
		f.PartyName, f.PartyFilter = l.screenName(&query, l.party[:])
	}
	f.lowerValidUntil(f.ClearedUntil)
}

// forgetAnswers drops every answer: another list may give another one, and an answer
// must not keep an old list in memory.
func (l *Looker) forgetAnswers(list *ofac.Index) {
	l.list = list
	clear(l.operator[:])
	clear(l.user[:])
	clear(l.party[:])
}

// screenName answers from memory, else from the list; of a counterparty's name the key of
// its normal form, too (see NameFilterKey).
func (l *Looker) screenName(query *ofac.Query, memory []answer) (ofac.Result, uint64) {
	if query.Name == "" {
		return ofac.Result{}, 0
	}
	a := &memory[nameHash(query.Name)%uint64(len(memory))]
	if a.known && sameQuery(&a.query, query) {
		return a.result, a.filter
	}
	result := l.list.Screen(query, l.scratch)
	a.matches = append(a.matches[:0], result.Matches...)
	a.query, a.result, a.known = *query, result, true
	a.name = append(a.name[:0], query.Name...)
	a.query.Name = unsafe.String(unsafe.SliceData(a.name), len(a.name)) // Compared alone, and written only with the answer.
	a.result.Matches = a.matches
	if len(memory) == len(l.party) {
		if form, whole := l.scratch.Normal(); whole {
			a.filter = nameFormKey(form)
		} else {
			a.filter = NameFilterKey(query.Name)
		}
	}
	return a.result, a.filter
}

// NameFilterKey is FilterKey of a name's normalised form, 0 when nothing is left of it.
func NameFilterKey(name string) uint64 {
	var buffer [1024]byte
	return nameFormKey(ofac.AppendNormalised(buffer[:0], name))
}

func nameFormKey(form []byte) uint64 {
	if len(form) == 0 {
		return 0
	}
	return FilterKey(FilterName, unsafe.String(unsafe.SliceData(form), len(form))) // Only read.
}

// sameQuery compares all that an answer depends on. Queries with cleared pairs
// are rare and never taken for one another.
func sameQuery(a, b *ofac.Query) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Review == b.Review && a.Block == b.Block &&
		a.WeakAliases == b.WeakAliases && a.NonSDNPossible == b.NonSDNPossible && a.Context == b.Context &&
		len(a.ClearedUIDs) == 0 && len(b.ClearedUIDs) == 0
}

// nameHash is FNV-1a; it only chooses a place.
func nameHash(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}

// listFamily is 0 when a match that blocks stands on a core source, else 1.
func listFamily(result *ofac.Result) Sub {
	for i := range result.Matches {
		match := &result.Matches[i]
		if match.Outcome == ofac.Listed && match.Lists.Core() {
			return 0
		}
	}
	return 1
}
