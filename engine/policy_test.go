package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"railguard/ofac"
)

func params(wrong []FieldError) (names []string) {
	for _, w := range wrong {
		names = append(names, w.Param)
	}
	return names
}

func TestParseSpendPolicy(t *testing.T) {
	policy, wrong := ParseSpendPolicy([]byte(`{"maxSingleTxUSDC":500.10,"dailyLimitUSDC":0,"allowedChains":["SOL","ETH"],"allowedRails":[],
		"counterpartyScreening":"OFAC+CONS","noMixerProtocols":true,"MAXSINGLETXUSDC":1,"somethingElse":{"a":[1]}}`))
	require.Empty(t, wrong)
	require.Equal(t, SpendPolicy{MaxSingle: 500_100_000, DailyLimit: 0, ChainsSet: true, Chains: ChainSOL.Bit() | ChainETH.Bit(),
		RailsSet: true, CONS: true, ScreenSet: true, NoMixer: true, NoMixerSet: true}, policy)
	require.JSONEq(t, `{"maxSingleTxUSDC":500.1,"dailyLimitUSDC":0,"allowedChains":["ETH","SOL"],"allowedRails":[],
		"counterpartyScreening":"OFAC+CONS","noMixerProtocols":true}`, string(policy.AppendJSON(nil)))

	for _, text := range []string{"", "{}", " { } "} {
		policy, wrong = ParseSpendPolicy([]byte(text))
		require.Empty(t, wrong)
		require.Equal(t, NoSpendPolicy(), policy)
		require.Equal(t, "{}", string(policy.AppendJSON(nil)))
	}
}

func TestParseSpendPolicyRefuses(t *testing.T) {
	tests := []struct{ name, document, param string }{
		{"a list", `[]`, "spendPolicy"},
		{"null", `null`, "spendPolicy"},
		{"a string", `"x"`, "spendPolicy"},
		{"two objects", `{}{}`, "spendPolicy"},
		{"cut off", `{"maxSingleTxUSDC":1`, "spendPolicy"},
		{"equal names", `{"maxSingleTxUSDC":1,"maxSingleTxUSDC":2}`, "spendPolicy"},
		{"equal names behind an escape", `{"maxSingleTxUSDC":1,"\u006daxSingleTxUSDC":2}`, "spendPolicy"},
		{"not UTF-8", "{\"\xff\":1}", "spendPolicy"},
		{"negative limit", `{"maxSingleTxUSDC":-1}`, "spendPolicy.maxSingleTxUSDC"},
		{"limit a string", `{"dailyLimitUSDC":"1000"}`, "spendPolicy.dailyLimitUSDC"},
		{"limit null", `{"dailyLimitUSDC":null}`, "spendPolicy.dailyLimitUSDC"},
		{"limit NaN", `{"dailyLimitUSDC":NaN}`, "spendPolicy"},
		{"limit too large", `{"dailyLimitUSDC":1e13}`, "spendPolicy.dailyLimitUSDC"},
		{"unknown chain", `{"allowedChains":["ETH","DOGE"]}`, "spendPolicy.allowedChains[1]"},
		{"chain in lower case", `{"allowedChains":["eth"]}`, "spendPolicy.allowedChains[0]"},
		{"chains a string", `{"allowedChains":"ETH"}`, "spendPolicy.allowedChains"},
		{"chain a number", `{"allowedChains":[1]}`, "spendPolicy.allowedChains[0]"},
		{"unknown rail", `{"allowedRails":["SEPA"]}`, "spendPolicy.allowedRails[0]"},
		{"unknown screening", `{"counterpartyScreening":"NONE"}`, "spendPolicy.counterpartyScreening"},
		{"mixer flag a string", `{"noMixerProtocols":"true"}`, "spendPolicy.noMixerProtocols"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy, wrong := ParseSpendPolicy([]byte(test.document))
			require.Equal(t, []string{test.param}, params(wrong))
			require.Equal(t, NoSpendPolicy(), policy)
			require.NotEmpty(t, wrong[0].Message)
			require.Equal(t, test.param+" "+wrong[0].Message, wrong[0].Error())
		})
	}
	_, wrong := ParseSpendPolicy([]byte(`{"maxSingleTxUSDC":"x","allowedRails":["X","Y"]}`))
	require.Equal(t, []string{"spendPolicy.maxSingleTxUSDC", "spendPolicy.allowedRails[0]", "spendPolicy.allowedRails[1]"}, params(wrong),
		"everything wrong is told at once")
}

func FuzzParseSpendPolicy(f *testing.F) {
	f.Add([]byte(`{"maxSingleTxUSDC":500.10,"allowedChains":["SOL"]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		policy, wrong := ParseSpendPolicy(document)
		if wrong != nil {
			return
		}
		again, wrong := ParseSpendPolicy(policy.AppendJSON(nil))
		require.Empty(t, wrong)
		require.Equal(t, policy, again)
	})
}

const fullPolicy = `{"rules":{"R17":"shadow","R10_SINGLE_TX_LIMIT":{"mode":"block"},"R25":"off","R9":"review"},
	"velocity":{"maxPerMinute":60,"maxPerHour":600},
	"operatingHours":{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:00","to":"18:00"}]},
	"attestation":{"above":5000,"issuanceCounts":true},
	"names":{"review":0.85,"block":0.9,"weakAliases":true},
	"requireCounterparty":"all","payer":{"mustBeOperators":"review"},"allowedCounterpartyTypes":["business"],"counterpartyCaps":{"exchange":3000},
	"ofac":{"maxAge":"24h","reviewAge":"48h","onStale":"review"},
	"structuring":{"count":3,"low":8000,"high":10000.5,"window":"48h"},
	"reconcile":[{"rail":"USDC","every":"24h"},{"rail":"ACH","every":"168h"}],
	"registration":{"onMatch":"refuse"}}`

func TestParsePolicy(t *testing.T) {
	policy, wrong := ParsePolicy([]byte(fullPolicy), someday, NewestRules)
	require.Empty(t, wrong)
	require.Equal(t, fullPolicy, string(policy.Document))
	require.NotNil(t, policy.Hours)
	policy.Hours, policy.Document = nil, nil
	want := DefaultPolicy()
	want.Document = nil
	want.Modes[17], want.Modes[10], want.Modes[25] = ModeShadow, ModeBlock, ModeOff
	want.Velocity = Velocity{MaxPerMinute: 60, MaxPerHour: 600, BurstFactor: 20}
	want.AttestationAbove, want.IssuanceAttests = 5000*Dollar, true
	want.NameReview, want.NameBlock, want.WeakAliases = 8500, 9000, true
	want.RequireParty, want.PayerOwn, want.PartyTypes = PartyOfAll, true, partyTypesSet|1<<ofac.PartyBusiness
	want.TypeCaps[ofac.PartyExchange] = 3000 * Dollar
	want.ListAgeMax, want.ListReviewAge, want.ListStaleReview = 24*Hour, 2*DayLength, true
	want.StructuringCount, want.StructuringLow, want.StructuringHigh, want.StructuringWindow = 3, 8000*Dollar, 10_000_500_000, 48*Hour
	want.Reconcile = []Reconciliation{{RailUSDC, DayLength}, {RailACH, 7 * DayLength}}
	want.RefuseOnMatch = true
	require.Equal(t, want, policy)

	policy, wrong = ParsePolicy([]byte(`{}`), someday, NewestRules)
	require.Empty(t, wrong)
	require.Equal(t, DefaultPolicy(), policy)
}

// score writes a threshold (in 1e-4) as the document does.
func score(threshold int32) string { return string(AppendUSD(nil, USD(threshold)*Dollar/10_000)) }

func TestThresholdsAtTheirBounds(t *testing.T) {
	policy, wrong := ParsePolicy([]byte(`{"names":{"review":`+score(ofac.ReviewDefault)+`,"block":`+score(ofac.BlockDefault)+`}}`), someday, NewestRules)
	require.Empty(t, wrong)
	require.Equal(t, int32(ofac.ReviewDefault), policy.NameReview)
	require.Equal(t, int32(ofac.BlockDefault), policy.NameBlock)
	require.Empty(t, Widens(DefaultPolicy(), policy))
	policy, wrong = ParsePolicy([]byte(`{"names":{"review":`+score(nameReviewMin)+`}}`), someday, NewestRules)
	require.Empty(t, wrong)
	require.Equal(t, int32(nameReviewMin), policy.NameReview)
}

func TestParsePolicyRefuses(t *testing.T) {
	tests := []struct{ name, document, param string }{
		{"not an object", `[]`, ""},
		{"unknown member", `{"rule":{}}`, "rule"},
		{"a member in another case", `{"Rules":{}}`, "Rules"},
		{"unknown rule", `{"rules":{"R31":"off"}}`, "rules.R31"},
		{"mode of a BLOCK rule", `{"rules":{"R14":"off"}}`, "rules.R14"},
		{"mode of R1", `{"rules":{"R1":"off"}}`, "rules.R1"},
		{"unknown mode", `{"rules":{"R9":"allow"}}`, "rules.R9"},
		{"unknown member of a rule", `{"rules":{"R9":{"node":"off"}}}`, "rules.R9.node"},
		{"velocity zero", `{"velocity":{"maxPerMinute":0}}`, "velocity.maxPerMinute"},
		{"velocity a fraction", `{"velocity":{"maxPerMinute":1.5}}`, "velocity.maxPerMinute"},
		{"velocity unknown", `{"velocity":{"max":1}}`, "velocity.max"},
		{"hours", `{"operatingHours":{"timezone":"UTC"}}`, "operatingHours.windows"},
		{"attestation raised", `{"attestation":{"above":10000.000001}}`, "attestation.above"},
		{"attestation unknown", `{"attestation":{"below":1}}`, "attestation.below"},
		{"review threshold loosened", `{"names":{"review":` + score(ofac.ReviewDefault+1) + `}}`, "names.review"},
		{"review threshold below the floor", `{"names":{"review":0.7499}}`, "names.review"},
		{"review threshold too fine", `{"names":{"review":0.86001}}`, "names.review"},
		{"review threshold of billions", `{"names":{"review":429496.8}}`, "names.review"},
		{"block threshold loosened", `{"names":{"block":` + score(ofac.BlockDefault+1) + `}}`, "names.block"},
		{"block below review", `{"names":{"review":0.8,"block":0.7999}}`, "names.block"},
		{"names unknown", `{"names":{"fuzzy":true}}`, "names.fuzzy"},
		{"unknown counterparty type", `{"allowedCounterpartyTypes":["charity"]}`, "allowedCounterpartyTypes[0]"},
		{"cap of an unknown type", `{"counterpartyCaps":{"charity":1}}`, "counterpartyCaps.charity"},
		{"list age too long", `{"ofac":{"maxAge":"721h"}}`, "ofac.maxAge"},
		{"service level too short", `{"review":{"sla":"59s"}}`, "review.sla"},
		{"service level too long", `{"review":{"sla":"721h"}}`, "review.sla"},
		{"service level no duration", `{"review":{"sla":24}}`, "review.sla"},
		{"list age no duration", `{"ofac":{"maxAge":48}}`, "ofac.maxAge"},
		{"list reviewed too soon", `{"ofac":{"reviewAge":"23h"}}`, "ofac.reviewAge"},
		{"list reviewed too late", `{"ofac":{"reviewAge":"721h"}}`, "ofac.reviewAge"},
		{"list age unknown", `{"ofac":{"onStale":"block"}}`, "ofac.onStale"},
		{"list unknown", `{"ofac":{"source":"x"}}`, "ofac.source"},
		{"structuring of one", `{"structuring":{"count":1}}`, "structuring.count"},
		{"structuring of seventeen", `{"structuring":{"count":17}}`, "structuring.count"},
		{"structuring band empty", `{"structuring":{"low":10000}}`, "structuring.low"},
		{"reconcile no list", `{"reconcile":{}}`, "reconcile"},
		{"reconcile of no rail", `{"reconcile":[{"rail":"usdc","every":"24h"}]}`, "reconcile[0].rail"},
		{"reconcile of a rail twice", `{"reconcile":[{"rail":"ACH","every":"24h"},{"rail":"ACH","every":"25h"}]}`, "reconcile[1].rail"},
		{"reconcile too often", `{"reconcile":[{"rail":"ACH","every":"59m"}]}`, "reconcile[0].every"},
		{"reconcile past retention", `{"reconcile":[{"rail":"ACH","every":"2161h"}]}`, "reconcile[0].every"},
		{"reconcile without a time", `{"reconcile":[{"rail":"ACH"}]}`, "reconcile[0]"},
		{"reconcile unknown", `{"reconcile":[{"rail":"ACH","every":"24h","payer":"x"}]}`, "reconcile[0].payer"},
		{"structuring unknown", `{"structuring":{"n":5}}`, "structuring.n"},
		{"an unknown profile of two persons", `{"twoPersons":"banks"}`, "twoPersons"},
		{"an unknown act of two persons", `{"twoPersons":["clear","clearing"]}`, "twoPersons[1]"},
		{"a payer of another word", `{"payer":{"mustBeOperators":"block"}}`, "payer.mustBeOperators"},
		{"a payer of another member", `{"payer":{"mustBeOperator":"off"}}`, "payer.mustBeOperator"},
		{"registration unknown", `{"registration":{"onMatch":"ignore"}}`, "registration.onMatch"},
		{"registration member unknown", `{"registration":{"match":"refuse"}}`, "registration.match"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy, wrong := ParsePolicy([]byte(test.document), someday, NewestRules)
			require.Nil(t, policy)
			require.Equal(t, []string{test.param}, params(wrong))
		})
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(fullPolicy))
	f.Add([]byte(`{"rules":{"R9":{"mode":"off"}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		policy, wrong := ParsePolicy(document, someday, NewestRules)
		if wrong != nil {
			require.Nil(t, policy)
			return
		}
		require.Empty(t, Widens(policy, policy), "a policy is no wider than itself")
		for id := RuleID(1); int(id) <= len(Rules); id++ {
			if RuleByID(id).Verdict != Review {
				require.Equal(t, ModeReview, policy.Modes[id])
			}
		}
	})
}

func TestSettingsOfAgents(t *testing.T) {
	setting, wrong := ParseVelocity([]byte(`{"maxPerHour":5}`))
	require.Empty(t, wrong)
	require.Equal(t, &Velocity{MaxPerHour: 5}, setting)
	_, wrong = ParseVelocity([]byte(`{"maxPerHour":"5"}`))
	require.Equal(t, []string{"velocity.maxPerHour"}, params(wrong))
	mask, wrong := ParsePartyTypes([]byte(`[]`))
	require.Empty(t, wrong)
	require.NotZero(t, mask, "an empty list is a list")
	require.False(t, partyTypeAllowed(mask, ofac.PartyBusiness))
	_, wrong = ParsePartyTypes([]byte(`["Business"]`))
	require.Equal(t, []string{"allowedCounterpartyTypes[0]"}, params(wrong))
}

func TestWidens(t *testing.T) {
	tests := []struct{ name, old, new, widened string }{
		{"nothing", fullPolicy, fullPolicy, ""},
		{"everything off again", fullPolicy, `{}`, "rules.R10 velocity.maxPerMinute velocity.maxPerHour operatingHours attestation.above " +
			"names.review names.block names.weakAliases requireCounterparty payer.mustBeOperators allowedCounterpartyTypes counterpartyCaps.exchange " +
			"ofac.maxAge ofac.reviewAge ofac.onStale structuring.count structuring.low structuring.high structuring.window reconcile registration.onMatch"},
		{"two persons of rules alone", `{"review":{"fourEyes":{"minAmount":100}}}`, `{"review":{"fourEyes":{"rules":["R21"]}}}`, "review.fourEyes"},
		{"two persons of fewer rules", `{"review":{"fourEyes":{"rules":["R21","R25"]}}}`, `{"review":{"fourEyes":{"rules":["R21"]}}}`, "review.fourEyes"},
		{"whoever screens gives back", `{"settlement":"settler"}`, `{"settlement":"self"}`, "settlement"},
		{"only settlers give back", `{"settlement":"self"}`, `{}`, ""},
		{"holds return", `{}`, `{"holds":{"onExpiry":"return"}}`, "holds.onExpiry"},
		{"fewer acts of two persons", `{"twoPersons":"bank"}`, `{}`, "review.fourEyes twoPersons"},
		{"more acts of two persons", `{}`, `{"twoPersons":"bank"}`, ""},
		{"a longer service level", `{"review":{"sla":"4h"}}`, `{"review":{"sla":"5h"}}`, "review.sla"},
		{"no service level", `{"review":{"sla":"4h"}}`, `{}`, "review.sla"},
		{"a shorter service level", `{"review":{"sla":"4h"}}`, `{"review":{"sla":"1m"}}`, ""},
		{"only tighter", `{}`, `{"rules":{"R9":"block"},"velocity":{"maxPerMinute":10},"attestation":{"above":1},"requireCounterparty":"all","payer":{"mustBeOperators":"review"},"ofac":{"maxAge":"2h"}}`, ""},
		{"a longer time without a list", `{}`, `{"ofac":{"reviewAge":"169h"}}`, "ofac.reviewAge"},
		{"mode review to off", `{}`, `{"rules":{"R17":"off"}}`, "rules.R17"},
		{"mode review to shadow", `{}`, `{"rules":{"R17":"shadow"}}`, "rules.R17"},
		{"mode off to shadow", `{"rules":{"R17":"off"}}`, `{"rules":{"R17":"shadow"}}`, ""},
		{"issuance counts", `{}`, `{"attestation":{"issuanceCounts":true}}`, "attestation.issuanceCounts"},
		{"a type more", `{"allowedCounterpartyTypes":["business"]}`, `{"allowedCounterpartyTypes":["business","exchange"]}`, "allowedCounterpartyTypes"},
		{"a type less", `{"allowedCounterpartyTypes":["business","exchange"]}`, `{"allowedCounterpartyTypes":["business"]}`, ""},
		{"a cap raised", `{"counterpartyCaps":{"exchange":3000}}`, `{"counterpartyCaps":{"exchange":3000.000001}}`, "counterpartyCaps.exchange"},
		{"a cap lowered", `{"counterpartyCaps":{"exchange":3000}}`, `{"counterpartyCaps":{"exchange":2999,"business":1}}`, ""},
		{"a rail compared less often", `{"reconcile":[{"rail":"ACH","every":"24h"}]}`, `{"reconcile":[{"rail":"ACH","every":"25h"}]}`, "reconcile"},
		{"another rail compared", `{"reconcile":[{"rail":"ACH","every":"24h"}]}`, `{"reconcile":[{"rail":"WIRE","every":"24h"}]}`, "reconcile"},
		{"a rail compared more often, and another", `{"reconcile":[{"rail":"ACH","every":"24h"}]}`, `{"reconcile":[{"rail":"WIRE","every":"24h"},{"rail":"ACH","every":"23h"}]}`, ""},
		{"hours shorter", fullPolicy, strings.Replace(fullPolicy, `"18:00"`, `"17:00"`, 1), ""},
		{"hours longer", fullPolicy, strings.Replace(fullPolicy, `"18:00"`, `"18:01"`, 1), "operatingHours"},
		{"hours in another zone", fullPolicy, strings.Replace(fullPolicy, `"UTC"`, `"Europe/Paris"`, 1), "operatingHours"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, wrong := ParsePolicy([]byte(test.old), someday, NewestRules)
			require.Empty(t, wrong)
			after, wrong := ParsePolicy([]byte(test.new), someday, NewestRules)
			require.Empty(t, wrong)
			require.Equal(t, test.widened, strings.Join(Widens(before, after), " "))
		})
	}
}

func TestNarrow(t *testing.T) {
	parse := func(document string) SpendPolicy {
		policy, wrong := ParseSpendPolicy([]byte(document))
		require.Empty(t, wrong)
		return policy
	}
	full := `{"maxSingleTxUSDC":100,"dailyLimitUSDC":1000,"allowedChains":["ETH","SOL"],"allowedRails":["USDC"],"counterpartyScreening":"OFAC+CONS","noMixerProtocols":true}`
	tests := []struct{ name, parent, requested, effective, wider string }{
		{"nothing asked: all inherited", full, `{}`, full, ""},
		{"equal", full, full, full, ""},
		{"narrower", full, `{"maxSingleTxUSDC":10,"allowedChains":["SOL"]}`, strings.NewReplacer("100,", "10,", `"ETH","SOL"`, `"SOL"`).Replace(full), ""},
		{"an empty list is nothing", full, `{"allowedChains":[]}`, strings.Replace(full, `"ETH","SOL"`, ``, 1), ""},
		{"a parent without limits", `{}`, full, full, ""},
		{"limit zero", full, `{"dailyLimitUSDC":0}`, strings.Replace(full, "1000", "0", 1), ""},
		{"single limit raised", full, `{"maxSingleTxUSDC":100.000001}`, "", "spendPolicy.maxSingleTxUSDC 100 100.000001"},
		{"daily limit raised", full, `{"dailyLimitUSDC":2000}`, "", "spendPolicy.dailyLimitUSDC 1000 2000"},
		{"a chain more", full, `{"allowedChains":["ETH","BASE"]}`, "", `spendPolicy.allowedChains ["ETH","SOL"] ["ETH","BASE"]`},
		{"a rail more", full, `{"allowedRails":["USDC","ACH"]}`, "", `spendPolicy.allowedRails ["USDC"] ["USDC","ACH"]`},
		{"screening loosened", full, `{"counterpartyScreening":"OFAC"}`, "", `spendPolicy.counterpartyScreening "OFAC+CONS" "OFAC"`},
		{"mixers allowed", full, `{"noMixerProtocols":false}`, "", `spendPolicy.noMixerProtocols true false`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parent := Grant{Policy: parse(test.parent), Type: Autonomous, ExpiresAt: someday}
			child, wider := Narrow(&parent, &Grant{Policy: parse(test.requested)})
			if test.wider != "" {
				require.Len(t, wider, 1)
				require.Equal(t, test.wider, wider[0].Param+" "+wider[0].Parent+" "+wider[0].Requested)
				return
			}
			require.Empty(t, wider)
			require.Equal(t, parse(test.effective), child.Policy)
			require.Equal(t, Autonomous, child.Type)
			require.Equal(t, someday, child.ExpiresAt)
		})
	}
}

func TestNarrowTheRest(t *testing.T) {
	parent := Grant{Policy: NoSpendPolicy(), Type: Supervised, ExpiresAt: someday, Hours: compileHours(t, newYorkOffice),
		Whitelist: listOf(t, walletA), PartyTypes: partyTypesSet | 1<<ofac.PartyBusiness}
	open := NoSpendPolicy()
	child, wider := Narrow(&parent, &Grant{Policy: open, Type: Supervised, ExpiresAt: someday - 1})
	require.Empty(t, wider)
	require.Equal(t, someday-1, child.ExpiresAt)
	require.Equal(t, parent.PartyTypes, child.PartyTypes)
	tests := []struct {
		name      string
		requested Grant
		want      Widening
	}{
		{"autonomous", Grant{Policy: open, Type: Autonomous}, Widening{"agentType", `"supervised"`, `"autonomous"`}},
		{"outlives", Grant{Policy: open, ExpiresAt: someday + Second}, Widening{"expiresAt", `"2026-03-26T12:00:00.000Z"`, `"2026-03-26T12:00:01.000Z"`}},
		{"types", Grant{Policy: open, PartyTypes: partyTypesSet | 1<<ofac.PartyExchange}, Widening{"allowedCounterpartyTypes", `["business"]`, `["exchange"]`}},
		{"whitelist", Grant{Policy: open, Whitelist: listOf(t, walletA, `Acme "Q" Ltd`)}, Widening{"whitelist", "null", `"Acme \"Q\" Ltd"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, wider := Narrow(&parent, &test.requested)
			require.Equal(t, []Widening{test.want}, wider)
		})
	}
	longer := compileHours(t, strings.Replace(newYorkOffice, "18:00", "19:00", 1))
	_, wider = Narrow(&parent, &Grant{Policy: open, Hours: longer})
	require.Len(t, wider, 1)
	require.Equal(t, "operatingHours", wider[0].Param)
}

// TestIntersectionIsNarrow: whatever a chain allows, each of its links allows. A child that
// Narrow accepts has exactly its own policy within the parent's.
func TestIntersectionIsNarrow(t *testing.T) {
	draw := func(rt *rapid.T, name string) SpendPolicy {
		limit := rapid.SampledFrom([]USD{NoLimit, 0, 10, 100})
		return SpendPolicy{
			MaxSingle: limit.Draw(rt, name+" single"), DailyLimit: limit.Draw(rt, name+" daily"),
			ChainsSet: rapid.Bool().Draw(rt, name+" chains"), Chains: rapid.Uint8Range(0, 0x7E).Draw(rt, name+" chain mask") &^ 1,
			RailsSet: rapid.Bool().Draw(rt, name+" rails"), Rails: rapid.Uint8Range(0, 0x3E).Draw(rt, name+" rail mask") &^ 1,
			CONS: rapid.Bool().Draw(rt, name+" cons"), NoMixer: rapid.Bool().Draw(rt, name+" mixer"),
			ScreenSet: true, NoMixerSet: true,
		}
	}
	allows := func(p *SpendPolicy, amount USD, chain Chain, rail Rail) bool {
		return !amount.Exceeds(p.MaxSingle) && !amount.Exceeds(p.DailyLimit) &&
			(!p.ChainsSet || p.Chains&chain.Bit() != 0) && (!p.RailsSet || p.Rails&rail.Bit() != 0)
	}
	rapid.Check(t, func(rt *rapid.T) {
		parent, child := draw(rt, "parent"), draw(rt, "child")
		if !parent.ChainsSet {
			parent.Chains = 0
		}
		both := EffectivePolicy([]*AgentProfile{{Policy: child}, {Policy: parent}})
		for _, amount := range []USD{0, 10, 11, 100, 101} {
			for chain := ChainETH; chain <= ChainSWIFT; chain++ {
				for rail := RailUSDC; rail <= RailIBAN; rail++ {
					want := allows(&parent, amount, chain, rail) && allows(&child, amount, chain, rail)
					require.Equal(t, want, allows(&both, amount, chain, rail))
				}
			}
		}
		require.Equal(t, parent.CONS || child.CONS, both.CONS)
		require.Equal(t, parent.NoMixer || child.NoMixer, both.NoMixer)
		granted, wider := Narrow(&Grant{Policy: parent}, &Grant{Policy: both})
		require.Empty(t, wider, "an intersection is never wider")
		require.Equal(t, both, granted.Policy)
	})
}
