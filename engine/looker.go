package engine

import (
	"unsafe"

	"railguard/ofac"
)

// Looker asks the list everything that the static rules need, once per call. It owns scratch
// memory and remembers answers, so one Looker serves one call at a time; the results of a call
// are valid until the next one. An answer is a pure function of list and query, so remembering
// it cannot change a verdict. It saves work because most calls of an edge repeat an operator's
// name, and many repeat a counterparty's.
type Looker struct {
	// Steps counts the work of the list since it was set to 0; a remembered answer has none.
	Steps int

	scratch *ofac.Scratch
	list    *ofac.Index // The list that gave the remembered answers.
	now     int64       // When the call is judged: the last end of an entry before it, ns; 0: none has ended.

	// One memory for each of the three names, so that a call's three results
	// cannot displace one another.
	operator, user [lookerAnswers]answer
	party          [partyAnswers]answer

	identified []Identified // Of the call.
	texts      textFindings
	matches    []ofac.Match // Of the names in the texts.
	query      ofac.IdentifierQuery
	form       ofac.IdentifierForm
	read       [IdentifiersMax]readIdentifier
	search     textSearch
}

// lookerAnswers is how many answers are remembered for operators and for users, each.
// partyAnswers is the number for counterparties, of which there are many more. The hash of a
// name chooses the place of its answer. Looking a name up in the list costs twenty times as
// much as a remembered answer.
const (
	lookerAnswers = 512
	partyAnswers  = 4096
)

// answer is a remembered result. It owns its matches.
type answer struct {
	query   ofac.Query
	name    []byte // Holds the bytes of query.Name, because the caller may reuse its own.
	result  ofac.Result
	matches []ofac.Match
	filter  uint64 // NameFilterKey of the name.
	known   bool
}

// NewLooker returns a Looker.
func NewLooker() *Looker { return &Looker{scratch: ofac.NewScratch()} }

// Look fills in the list's answers in facts. It must run before JudgeStatic. It does nothing
// for a credential that is not good: there is nobody to look up.
func (l *Looker) Look(f *Facts) {
	if f.Token != TokenGood {
		return
	}
	if l.list != f.List {
		l.forgetAnswers(f.List)
	}
	last, next := f.List.Ends(int64(f.Now))
	f.lowerValidUntil(Time(next))
	l.now = last // It stands for all times up to the next end, so that answers can be remembered.
	l.lookWallets(f)
	l.identified, l.matches, f.texts = l.identified[:0], l.matches[:0], nil
	if f.Request.IdentifierCount > 0 {
		l.lookIdentifiers(f)
	}
	query := ofac.Query{
		Brief: true, Review: f.Policy.NameReview, Block: f.Policy.NameBlock, WeakAliases: f.Policy.WeakAliases,
		NonSDNPossible: f.anyPolicy(func(p *SpendPolicy) bool { return p.CONS }), Now: l.now,
	}
	if f.ChainSize > 0 {
		query.Name, query.ClearedUIDs = f.Chain[0].OperatorLegalName, f.OperatorCleared
		f.OperatorName, _ = l.screenName(&query, l.operator[:])
	}
	if f.User != nil {
		query.Name, query.Type, query.ClearedUIDs = f.User.LegalName, ofac.PartyIndividual, f.UserCleared
		f.UserName, _ = l.screenName(&query, l.user[:])
	}
	hints := uint8(0)
	if f.Request.Name != "" {
		query.Name, query.ClearedUIDs = f.Request.Name, f.PartyCleared
		query.Type, _ = ParsePartyType(f.Request.Type)
		f.PartyName, f.PartyFilter = l.screenName(&query, l.party[:])
		hints = hintsOf(f.Request.Name)
	}
	l.lookTexts(f, &query, hints)
	f.Identified = l.identified
	f.lowerValidUntil(f.ClearedUntil)
}

// lookWallets looks up the wallets of the call. Of an operator's wallets, and of the counterparty's,
// the first one counts that blocks, or else the first one on any list.
func (l *Looker) lookWallets(f *Facts) {
	look := func(wallet string, match *ofac.WalletMatch, listed *bool) bool {
		if wallet == "" || *listed && match.Blocks() {
			return false
		}
		found, ok := f.List.WalletAt(wallet, l.now)
		if !ok || *listed && !found.Blocks() {
			return false
		}
		*match, *listed = found, true
		return true
	}
	for i := range f.ChainSize {
		if look(f.Chain[i].OperatorWallet, &f.OperatorWallet, &f.OperatorListed) {
			f.OperatorLevel = uint8(i)
		}
	}
	for i := 0; f.Operator != nil && i < len(f.Operator.Wallets); i++ {
		if look(f.Operator.Wallets[i].Wallet, &f.OperatorWallet, &f.OperatorListed) {
			f.OperatorLevel = 0
		}
	}
	look(f.Request.Wallet, &f.PartyWallet, &f.PartyListed)
	look(f.Request.Elsewhere, &f.PartyWallet, &f.PartyListed)
	f.PayerListed = false
	look(f.Request.Payer, &f.PayerWallet, &f.PayerListed)
	for i := range f.Request.Wallets[:f.Request.WalletCount] {
		if match, listed := f.List.WalletAt(f.Request.Wallets[i].Address, l.now); listed {
			f.OtherWallets[i], f.OtherListed = match, f.OtherListed|1<<i
		}
	}
}

// forgetAnswers drops every answer: another list may answer differently, and an answer must not
// keep an old list in memory.
func (l *Looker) forgetAnswers(list *ofac.Index) {
	l.list = list
	clear(l.operator[:])
	clear(l.user[:])
	clear(l.party[:])
}

// screenName answers from memory, otherwise from the list. For a counterparty it also returns
// the key of the name's normal form (see NameFilterKey).
func (l *Looker) screenName(query *ofac.Query, memory []answer) (ofac.Result, uint64) {
	if query.Name == "" {
		return ofac.Result{}, 0
	}
	a := &memory[nameHash(query.Name)%uint64(len(memory))]
	if a.known && sameQuery(&a.query, query) {
		return a.result, a.filter
	}
	result := l.list.Screen(query, l.scratch)
	l.Steps += l.scratch.Steps()
	a.matches = append(a.matches[:0], result.Matches...)
	a.query, a.result, a.known = *query, result, true
	a.name = append(a.name[:0], query.Name...)
	a.query.Name = unsafe.String(unsafe.SliceData(a.name), len(a.name)) // This string is only compared; its bytes change only together with the answer.
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

// NameFilterKey is FilterKey of a name's normalised form, 0 when that form is empty.
func NameFilterKey(name string) uint64 {
	var buffer [1024]byte
	return nameFormKey(ofac.AppendNormalised(buffer[:0], name))
}

func nameFormKey(form []byte) uint64 {
	if len(form) == 0 {
		return 0
	}
	return FilterKey(FilterName, unsafe.String(unsafe.SliceData(form), len(form))) // FilterKey only reads the bytes.
}

// sameQuery compares everything that an answer depends on. Two queries with cleared pairs never
// count as the same; they are rare.
func sameQuery(a, b *ofac.Query) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Review == b.Review && a.Block == b.Block &&
		a.WeakAliases == b.WeakAliases && a.NonSDNPossible == b.NonSDNPossible && a.Context == b.Context && a.Now == b.Now &&
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
