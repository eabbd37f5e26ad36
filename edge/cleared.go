package edge

import (
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// clearedPairs finds the entries a reviewer cleared for a name (decision 44, "Cleared pairs").
type clearedPairs struct {
	source []*wire.ClearedPair
	byName map[string][]*wire.ClearedPair // By normalised name.
}

func newClearedPairs(source []*wire.ClearedPair) *clearedPairs {
	p := &clearedPairs{source: source, byName: make(map[string][]*wire.ClearedPair, len(source))}
	for _, pair := range source {
		p.byName[pair.Name] = append(p.byName[pair.Name], pair)
	}
	return p
}

// lookUpCleared fills the cleared pairs of the call's names. A pair is void once
// it expired or its entry changed in a newer list.
func (j *Judge) lookUpCleared(list *ofac.Index) {
	f := &j.screen.facts
	if len(j.Terms.cleared.byName) == 0 || f.Token != engine.TokenGood {
		return
	}
	find := func(name string) (uids []uint32) {
		for _, pair := range j.Terms.cleared.byName[ofac.NormaliseName(name)] {
			digest, listed := list.EntryDigest(pair.UID)
			if !listed || digest != pair.EntryDigest || pair.ExpiresAt != 0 && pair.ExpiresAt <= f.Now {
				continue
			}
			uids = append(uids, pair.UID)
			if pair.ExpiresAt != 0 && (f.ClearedUntil == 0 || pair.ExpiresAt < f.ClearedUntil) {
				f.ClearedUntil = pair.ExpiresAt
			}
		}
		return uids
	}
	if f.ChainSize > 0 {
		f.OperatorCleared = find(f.Chain[0].OperatorLegalName)
	}
	if f.User != nil {
		f.UserCleared = find(f.User.LegalName)
	}
	if j.screen.request.Name != "" {
		f.PartyCleared = find(j.screen.request.Name)
	}
}
