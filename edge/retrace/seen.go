package retrace

import (
	"crypto/sha256"

	"railguard/engine"
	"railguard/ofac"
)

// seenMax bounds how many counterparties are remembered, about 40 bytes each.
const seenMax = 1 << 19

// seenParties remembers the counterparties of a run that matched nobody on the list, so that
// many records of one counterparty ask the list once. Only the leader has it. It is emptied
// when it is full, and when the list or the policy changes.
type seenParties struct {
	basis   answerBasis
	parties map[[16]byte]struct{}
}

// answerBasis holds the lists and the policy on which an answer about a counterparty depends.
type answerBasis struct {
	lists  lists
	policy *engine.Policy
}

// partyQuery is a question to the list about a record's counterparty.
type partyQuery struct {
	name, kind, wallet string
	others             string // Everything that the call said of other wallets, identifiers and in the memo.
	cons               bool   // The payer counts possible matches on other lists than the SDN.
}

func partyQueryOf(c *Case) partyQuery {
	p := partyQuery{name: c.Facts.Request.Name, kind: c.Facts.Request.Type, wallet: c.Facts.Request.Wallet}
	p.others = c.OtherTold()
	for i := range c.Facts.ChainSize {
		p.cons = p.cons || c.Facts.Chain[i].Policy.CONS
	}
	return p
}

// hashKey returns half of a SHA-256 over the query. A weaker hash would let a payer choose a
// name that collides with another counterparty's.
func (p *partyQuery) hashKey() (key [16]byte) {
	var room [512]byte
	data := append(room[:0], p.name...)
	data = append(append(data, 0xff), p.kind...) // A separator: no text holds the byte 0xff.
	data = append(append(data, 0xff), p.wallet...)
	data = append(append(data, 0xff), p.others...)
	if p.cons {
		data = append(data, 0xff)
	}
	sum := sha256.Sum256(data)
	copy(key[:], sum[:])
	return key
}

// useBasis makes a basis the current one, and drops what was remembered under another.
func (s *seenParties) useBasis(b answerBasis) {
	if s.basis != b {
		s.dropAll()
		s.basis = b
	}
}

// dropAll drops everything, lists included.
func (s *seenParties) dropAll() { *s = seenParties{} }

func (s *seenParties) leadsToNobody(p partyQuery) bool {
	_, known := s.parties[p.hashKey()]
	return known
}

func (s *seenParties) addParty(p partyQuery) {
	if s.parties == nil || len(s.parties) >= seenMax {
		s.parties = map[[16]byte]struct{}{}
	}
	s.parties[p.hashKey()] = struct{}{}
}

// match is one entry that matches a wallet or a name.
type match struct {
	uid     uint32
	outcome ofac.Outcome
	wallet  bool
}

// walletMatch is the match of a wallet. On a list that is reviewed its party is only a possible one, as
// in a verdict: nobody is suspended for it.
func walletMatch(found *ofac.WalletMatch) match {
	if !found.Blocks() {
		return match{found.UID, ofac.Possible, true}
	}
	return match{found.UID, ofac.Listed, true}
}

func matchesOf(f *engine.Facts) (all []match) {
	if f.OperatorListed {
		all = append(all, walletMatch(&f.OperatorWallet))
	}
	if f.PartyListed {
		all = append(all, walletMatch(&f.PartyWallet))
	}
	if f.PayerListed {
		all = append(all, walletMatch(&f.PayerWallet))
	}
	f.ListedWallets(func(_ engine.WalletRole, found *ofac.WalletMatch) {
		all = append(all, walletMatch(found))
	})
	for i := range f.Identified {
		outcome := ofac.Listed
		if found := &f.Identified[i]; found.At < 0 || found.Hit.Doubt != ofac.NoDoubt {
			outcome = ofac.Possible
		}
		all = append(all, match{f.Identified[i].Hit.UID, outcome, false})
	}
	results := []*ofac.Result{&f.OperatorName, &f.UserName, &f.PartyName}
	texts := f.Texts()
	for i := range texts {
		if texts[i].Listed {
			all = append(all, match{texts[i].Wallet.UID, ofac.Possible, true})
		}
		results = append(results, &texts[i].Names)
	}
	for _, result := range results {
		for i := range result.Matches {
			if m := &result.Matches[i]; m.Outcome != ofac.Clear {
				all = append(all, match{m.UID, m.Outcome, false})
			}
		}
	}
	return all
}
