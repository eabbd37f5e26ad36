package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTwoPersonsOfAPolicy(t *testing.T) {
	for document, want := range map[string]Acts{
		`{}`: ActsDefault, `{"twoPersons":[]}`: 0, `{"twoPersons":"bank"}`: ActsBank, `{"twoPersons":["clear","sar.move"]}`: ActClear | ActSARMove,
	} {
		policy, wrong := ParsePolicy([]byte(document), someday, NewestRules)
		require.Empty(t, wrong)
		require.Equal(t, want, policy.TwoPersons, document)
	}
	for _, name := range ActNames() {
		require.Equal(t, []string{name}, ParseAct(name).Names())
	}
	require.Len(t, ActNames(), 14)
}

// TestActsOf: what a change of the policy is called. A change that takes a demand away is called
// twoPersons beside policy.widen, and that name is demanded as soon as anything is.
func TestActsOf(t *testing.T) {
	for _, test := range []struct{ name, old, new, called, demanded string }{
		{"nothing", `{}`, `{}`, "", ""},
		{"tighter", `{}`, `{"twoPersons":"bank"}`, "", ""},
		{"wider", `{}`, `{"rules":{"R21":"off"}}`, "policy.widen", ""},
		{"wider in a bank", `{"twoPersons":"bank"}`, `{"twoPersons":"bank","rules":{"R21":"off"}}`, "policy.widen", "policy.widen"},
		{"settlement", `{"twoPersons":["policy.widen"]}`, `{"twoPersons":["policy.widen"],"settlement":"self"}`, "policy.widen", "policy.widen"},
		{"a higher limit of operators", `{"operators":{"dailyLimitUSDC":100}}`, `{"operators":{"dailyLimitUSDC":100.000001}}`, "policy.widen", ""},
		{"no limit of operators any more", `{"operators":{"dailyLimitUSDC":100}}`, `{}`, "policy.widen", ""},
		{"a first limit of operators", `{}`, `{"operators":{"dailyLimitUSDC":100}}`, "", ""},
		{"a demand less", `{}`, `{"twoPersons":["list.force","twoPersons"]}`, "policy.widen twoPersons", "twoPersons"},
		{"the demand for reviews", `{"twoPersons":[],"review":{"fourEyes":{}}}`, `{"twoPersons":[]}`, "policy.widen twoPersons", "twoPersons"},
		{"a higher amount", `{"twoPersons":["clear"],"review":{"fourEyes":{"minAmount":5}}}`, `{"twoPersons":["clear"],"review":{"fourEyes":{"minAmount":6}}}`, "policy.widen twoPersons", "twoPersons"},
		{"disposition means every review", `{"twoPersons":["disposition"]}`, `{"twoPersons":["disposition"],"review":{"fourEyes":{"minAmount":6}}}`, "policy.widen twoPersons", "twoPersons"},
		{"where nothing is demanded", `{"twoPersons":[]}`, `{"twoPersons":[],"rules":{"R21":"off"}}`, "policy.widen", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, wrong := ParsePolicy([]byte(test.old), someday, NewestRules)
			require.Empty(t, wrong)
			after, wrong := ParsePolicy([]byte(test.new), someday, NewestRules)
			require.Empty(t, wrong)
			acts := ActsOf(before, after)
			require.Equal(t, test.called, strings.Join(acts.Names(), " "))
			require.Equal(t, test.demanded, strings.Join(before.Demands(acts).Names(), " "))
		})
	}
}

// TestPersonKey: spellings that a reader takes for one name are one person, and different names
// are not.
func TestPersonKey(t *testing.T) {
	for _, spelling := range []string{"carla rossi", " Carla  ROSSI ", "Ｃarla\u00a0Rossi", "Car\u200bla Rossi", "Carla\u2003Rossi\ufe0f"} {
		require.Equal(t, "carla rossi", PersonKey(spelling), "%q", spelling)
	}
	require.Equal(t, PersonKey("Jürgen Groß"), PersonKey("JU\u0308RGEN GROSS"))
	require.NotEqual(t, PersonKey("Jürgen"), PersonKey("Jurgen"))
	require.Empty(t, PersonKey(" \u200b\ufe0f "))
}
