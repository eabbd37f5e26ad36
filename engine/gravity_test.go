package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func hitsOf(subs map[RuleID]Sub) *Hits {
	hits := &Hits{}
	for id := RuleID(1); id < RuleBits; id++ {
		hits.Add(id, subs[id])
	}
	return hits
}

// The gravest rule counts, wherever it stands in the rule set.
func TestGravestRule(t *testing.T) {
	for name, one := range map[string]struct {
		subs    map[RuleID]Sub
		gravest RuleID
		gravity Gravity
	}{
		"a limit":                          {map[RuleID]Sub{10: 1}, 10, GravityLimit},
		"a name behind a limit":            {map[RuleID]Sub{10: 1, 21: 1}, 21, GravityParty},
		"a name behind another model":      {map[RuleID]Sub{15: 1, 17: 1, 21: 9}, 21, GravityParty},
		"a name behind a pattern":          {map[RuleID]Sub{21: 1, 25: 1}, 21, GravityParty},
		"a pattern behind a limit":         {map[RuleID]Sub{11: 1, 25: 3}, 25, GravityPattern},
		"a reference used before":          {map[RuleID]Sub{15: 1, 25: SubDuplicate}, 25, GravityLimit},
		"a list too old":                   {map[RuleID]Sub{10: 1, 21: SubListStale}, 21, GravityPattern},
		"a place":                          {map[RuleID]Sub{10: 1, 20: subPlaceOfAddress}, 20, GravityParty},
		"a place of a text":                {map[RuleID]Sub{9: 1, 20: subPlaceOfText}, 20, GravityParty},
		"a place that cannot be read":      {map[RuleID]Sub{20: subPlaceUnread}, 20, GravityParty},
		"a type of payee":                  {map[RuleID]Sub{20: 2}, 20, GravityConduct},
		"a wallet that is not the payer's": {map[RuleID]Sub{10: 1, 20: subPayerForeign}, 10, GravityLimit},
		"equal: the first in the set":      {map[RuleID]Sub{12: 1, 11: 1, 16: 1}, 11, GravityLimit},
		"conduct alone":                    {map[RuleID]Sub{15: 1, 19: 4}, 15, GravityConduct},
	} {
		hits := hitsOf(one.subs)
		gravest, gravity := NewestRules.Gravest(hits, hits.Mask)
		require.Equal(t, one.gravest, gravest, name)
		require.Equal(t, one.gravity, gravity, name)
	}
	hits := hitsOf(map[RuleID]Sub{10: 1, 21: 1})
	gravest, gravity := NewestRules.Gravest(hits, 1<<10)
	require.Equal(t, RuleID(10), gravest, "a rule in shadow did not trigger")
	require.Equal(t, GravityLimit, gravity)
}

// The type of a payee, which the agent chooses, does not hide a place.
func TestTypeOfPayeeHidesNoPlace(t *testing.T) {
	policy := DefaultPolicy()
	policy.PartyTypes = partyTypesSet
	f := &Facts{Policy: policy, Request: &Request{Type: "no such type"}}
	require.EqualValues(t, 1, doubtfulParty(f))
	f.Places.Review = subPlaceOfAddress
	require.Equal(t, subPlaceOfAddress, doubtfulParty(f))
}
