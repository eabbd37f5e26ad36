package edge

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// nameCauses writes into the record whom the sanctions rules found, so that a BLOCK opens a case of
// each (decision 131). Of a name that matches several parties the best match is the cause, and
// the record's evidence has the others. It stays empty where no sanctions rule hit.
func (s *screening) nameCauses() {
	f := &s.facts
	s.record.Causes = s.causes[:0]
	if s.hits.Mask&engine.SanctionsRules == 0 || f.Token != engine.TokenGood {
		return
	}
	if f.OperatorListed && f.OperatorWallet.Blocks() {
		s.addCause(wire.PartyCause(f.OperatorWallet.UID))
	}
	if f.PayerListed && f.PayerWallet.Blocks() {
		s.addCause(wire.PartyCause(f.PayerWallet.UID))
	}
	if f.PartyListed && f.PartyWallet.Blocks() {
		s.addCause(wire.PartyCause(f.PartyWallet.UID))
	}
	f.ListedWallets(func(_ engine.WalletRole, match *ofac.WalletMatch) {
		if match.Blocks() {
			s.addCause(wire.PartyCause(match.UID))
		}
	})
	for _, result := range [...]*ofac.Result{&f.OperatorName, &f.UserName, &f.PartyName} {
		if at := slices.IndexFunc(result.Matches, func(match ofac.Match) bool { return match.Outcome == ofac.Listed }); at >= 0 {
			s.addCause(wire.PartyCause(result.Matches[at].UID))
		}
	}
	for i := range f.Identified {
		if hit := &f.Identified[i]; hit.At >= 0 && hit.Hit.Doubt == ofac.NoDoubt {
			s.addCause(wire.PartyCause(hit.Hit.UID))
		}
	}
	for i := range f.Places.Found[:f.Places.Count] {
		if found := &f.Places.Found[i]; found.Outcome == engine.OutcomeBlocked {
			s.addCause(wire.PlaceCause(found.Code.String()))
		}
	}
	s.causes = s.record.Causes
}

// addCause adds a cause, unless it is there already or the record has no room for it.
func (s *screening) addCause(cause wire.Cause) {
	if causes := s.record.Causes; len(causes) < wire.CausesMost && cause.Sound() && !slices.Contains(causes, cause) {
		s.record.Causes = append(causes, cause)
	}
}
