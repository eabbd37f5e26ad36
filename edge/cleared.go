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

// The reasons why a cleared pair is void, in the words of the API.
const (
	VoidExpired      = "expired"
	VoidEntryRemoved = "entry_removed"
	VoidEntryChanged = "entry_changed"
)

// JudgeClearedPair returns why a cleared pair is void under a list, "" while it is in force.
// The reviewer cleared the entry as it was then. A later list may say more of that party.
func JudgeClearedPair(pair *wire.ClearedPair, list *ofac.Index, now engine.Time) (void string) {
	digest, listed := list.EntryDigest(pair.UID)
	switch {
	case pair.ExpiresAt != 0 && pair.ExpiresAt <= now:
		return VoidExpired
	case !listed:
		return VoidEntryRemoved
	case digest != pair.EntryDigest:
		return VoidEntryChanged
	}
	return ""
}

// findEntries returns the entries of a list that are cleared for a name, and when the first of
// those clearings lapses (0: never).
func (p *clearedPairs) findEntries(name string, list *ofac.Index, now engine.Time) (uids []uint32, until engine.Time) {
	if len(p.byName) == 0 || name == "" {
		return nil, 0
	}
	for _, pair := range p.byName[ofac.NormaliseName(name)] {
		if JudgeClearedPair(pair, list, now) != "" {
			continue
		}
		uids = append(uids, pair.UID)
		if pair.ExpiresAt != 0 && (until == 0 || pair.ExpiresAt < until) {
			until = pair.ExpiresAt
		}
	}
	return uids, until
}

// lookUpCleared looks up the cleared pairs of all names in the call.
func (j *Judge) lookUpCleared(list *ofac.Index) {
	f := &j.screen.facts
	if len(j.Terms.cleared.byName) == 0 || f.Token != engine.TokenGood {
		return
	}
	find := func(name string) []uint32 {
		uids, until := j.Terms.cleared.findEntries(name, list, f.Now)
		if until != 0 && (f.ClearedUntil == 0 || until < f.ClearedUntil) {
			f.ClearedUntil = until
		}
		return uids
	}
	if f.ChainSize > 0 {
		f.OperatorCleared = find(f.Chain[0].OperatorLegalName)
	}
	if f.User != nil {
		f.UserCleared = find(f.User.LegalName)
	}
	f.PartyCleared = find(j.screen.request.Name)
}
