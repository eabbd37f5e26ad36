package engine

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

var update = flag.Bool("update", false, "write the generated documents instead of comparing them")

// TestRulesDocument: docs/RULES.md matches the table.
func TestRulesDocument(t *testing.T) {
	path := filepath.Join("..", "docs", "RULES.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(RulesMarkdown()), 0o644))
	}
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, RulesMarkdown(), string(document), "run: go test ./engine -run TestRulesDocument -update")
}

func TestTableIsWhole(t *testing.T) {
	for _, table := range []map[RuleID]judge{staticJudges, liveJudges} {
		for id := range table {
			require.NotNil(t, RuleByID(id), "a judge of R%d, which the newest rule set has not", id)
		}
	}
	for id := range staticJudges {
		require.NotContains(t, liveJudges, id, "two rules have the number")
	}
	var seen [RuleBits]bool
	review := false
	for i := range Rules {
		rule := &Rules[i]
		require.False(t, seen[rule.ID], rule.Code)
		seen[rule.ID] = true
		require.True(t, strings.HasPrefix(rule.Code, rule.ID.Short()+"_"), rule.Code)
		require.NotEqual(t, rule.Static == nil, rule.Live == nil, "%s must be judged on one side", rule.Code)
		require.True(t, rule.ComparedStatic == nil || rule.Static != nil, rule.Code)
		require.True(t, rule.ComparedLive == nil || rule.Live != nil, rule.Code)
		require.NotEmpty(t, rule.Reasons)
		require.Regexp(t, `^[A-Z].*\.$`, rule.Trigger, "%s: officers read it as a sentence", rule.Code)
		require.NotRegexp(t, `[<>+=\[\]]|\b[a-z]+[A-Z]`, strings.ReplaceAll(strings.ReplaceAll(rule.Trigger, "(ofac.onStale)", ""), "OFAC+CONS", ""), "%s: no code", rule.Code)
		require.NotEmpty(t, rule.Default)
		require.NotEmpty(t, rule.Params)
		require.Same(t, rule, RuleByID(rule.ID))
		for n, reason := range rule.Reasons {
			require.NotEmpty(t, reason)
			require.Equal(t, reason, NewestRules.Reason(rule.ID, Sub(n+1), 0))
			require.Equal(t, n, slices.Index(rule.Reasons, reason), "two reasons of %s are one", rule.Code)
		}
		review = review || rule.Verdict == Review
		require.Equal(t, review, rule.Verdict == Review, "%s: BLOCK rows stand before REVIEW rows", rule.Code)
		id, known := RuleByCode(rule.Code)
		require.True(t, known)
		require.Equal(t, rule.ID, id)
	}
}

// TestOrder checks the order of decision 43 and the ids of the specification; a later rule set
// may have more.
func TestOrder(t *testing.T) {
	want := []string{
		"R1_NO_CREDENTIAL", "R2_CREDENTIAL_STATUS", "R3_OPERATOR_OFAC_ISSUANCE", "R4_OPERATOR_WALLET_LIVE",
		"R5_OPERATOR_NAME_OFAC", "R6_COUNTERPARTY_WALLET_OFAC", "R7_COUNTERPARTY_NAME_OFAC", "R8_OWNERSHIP_TRANSFER",
		"R14_MIXER_PROTOCOL", "R23_CREDENTIAL_CONTEXT", "R24_JURISDICTION",
		"R9_CHAIN_POLICY", "R10_SINGLE_TX_LIMIT", "R11_DAILY_LIMIT", "R12_FLEET_DAILY_LIMIT", "R13_COUNTERPARTY_WHITELIST",
		"R15_MODEL_CHANGED", "R16_VELOCITY_FLAG", "R17_UNUSUAL_HOUR", "R18_RAIL_POLICY", "R19_RAIL_CHAIN_MISMATCH",
		"R20_COUNTERPARTY", "R21_POSSIBLE_NAME_MATCH", "R22_ATTESTATION", "R25_STRUCTURING",
	}
	first := RulesOf(Format1).Rules
	require.Len(t, first, len(want))
	live := "R2 R8 R11 R12 R16 R17 R22 R25 "
	for i := range first {
		require.Equal(t, want[i], first[i].Code)
		require.Equal(t, first[i].Live != nil, strings.Contains(live, first[i].ID.Short()+" "), first[i].Code)
	}
}

func TestNamesOfRules(t *testing.T) {
	id, known := RuleByCode("R6")
	require.True(t, known)
	require.Equal(t, RuleID(6), id)
	_, known = RuleByCode("R31")
	require.False(t, known)
	_, known = RuleByCode("")
	require.False(t, known)
	require.Nil(t, RuleByID(0))
	require.Nil(t, RuleByID(RuleID(len(Rules)+1)))
	require.Empty(t, RuleID(0).Code())
	require.Equal(t, NewestRules.Clear.All, NewestRules.Reason(0, 0, 0))
	require.Equal(t, Rules[0].Reasons[0], NewestRules.Reason(1, 0, 0), "a sub-reason that is not there gives the first")
	require.Equal(t, Rules[0].Reasons[0], NewestRules.Reason(1, 200, 0))
	for sub, word := range map[Sub]string{SubSuperseded: "superseded", SubKeyRevoked: "key", SubParentSuspend: "parent of the delegate is suspended",
		SubOperator: "operator is suspended", SubUserSuperseded: "user credential was superseded"} {
		require.Contains(t, NewestRules.Reason(2, sub, 0), word)
	}
	require.Contains(t, NewestRules.Reason(21, SubListStale, 0), "older")
}

// TestDecidePairs goes through every pair of hits. The one that comes first in the order
// decides, and the decision names both.
func TestDecidePairs(t *testing.T) {
	policy := DefaultPolicy()
	for i := range Rules {
		for j := i; j < len(Rules); j++ {
			var hits Hits
			hits.Add(Rules[j].ID, 1)
			hits.Add(Rules[i].ID, Sub(len(Rules[i].Reasons)))
			got := NewestRules.Decide(&hits, policy)
			require.Equal(t, Rules[i].ID, got.Rule, "%s and %s", Rules[i].Code, Rules[j].Code)
			require.Equal(t, Rules[i].Verdict, got.Verdict)
			require.Equal(t, Rules[i].Code, got.Code())
			require.Equal(t, Rules[i].Reasons[len(Rules[i].Reasons)-1], NewestRules.Reason(got.Rule, got.Sub, 0))
			require.Zero(t, got.Shadow)
			if Rules[i].ID == 1 {
				require.Equal(t, uint32(1<<1), got.Triggered, "R1 stands alone")
			} else {
				require.Equal(t, hits.Mask, got.Triggered)
			}
		}
	}
	require.Equal(t, Decision{Verdict: Proceed}, NewestRules.Decide(&Hits{}, policy))
}

// TestDecideModes goes through every pair with every mode of the second rule.
func TestDecideModes(t *testing.T) {
	for i := range Rules {
		for j := range Rules {
			if i == j || Rules[i].ID == 1 || Rules[j].ID == 1 {
				continue
			}
			for mode := ModeReview; mode <= ModeBlock; mode++ {
				policy := DefaultPolicy()
				policy.Modes[Rules[j].ID] = mode
				var hits Hits
				hits.Add(Rules[i].ID, 1)
				hits.Add(Rules[j].ID, 1)
				got := NewestRules.Decide(&hits, policy)
				first := min(i, j)
				if Rules[j].Verdict == Review {
					switch mode {
					case ModeOff:
						require.Zero(t, got.Triggered&(1<<Rules[j].ID))
						require.Zero(t, got.Shadow)
						first = i
					case ModeShadow:
						require.Equal(t, uint32(1<<Rules[j].ID), got.Shadow)
						require.Zero(t, got.Triggered&(1<<Rules[j].ID))
						first = i
					case ModeBlock:
						if Rules[i].Verdict == Review {
							first = j
						}
						require.Equal(t, Block, got.Verdict)
					}
				}
				require.Equal(t, Rules[first].ID, got.Rule, "%s with %s in mode %s", Rules[i].Code, Rules[j].Code, mode)
			}
		}
	}
}

func TestModesLeaveNothing(t *testing.T) {
	policy := DefaultPolicy()
	policy.Modes[10], policy.Modes[17] = ModeOff, ModeShadow
	var hits Hits
	hits.Add(10, 1)
	hits.Add(17, 1)
	require.Equal(t, Decision{Verdict: Proceed, Shadow: 1 << 17, Idle: 1<<10 | 1<<17}, NewestRules.Decide(&hits, policy))
}

func TestHitsMergeKeepsTheFirst(t *testing.T) {
	var static, live Hits
	static.Add(21, 1)
	static.Add(9, 0)
	live.Add(21, SubListStale)
	live.Add(11, 2)
	static.Merge(&live)
	require.Equal(t, uint32(1<<21|1<<11), static.Mask)
	require.Equal(t, Sub(1), static.Subs[21])
	require.Equal(t, Sub(2), static.Subs[11])
}

// cleanFacts is a call with nothing wrong, by an agent without a policy.
func cleanFacts() *Facts {
	return &Facts{
		Request: &Request{Amount: 100 * Dollar},
		Now:     someday,
		Policy:  DefaultPolicy(),
		Chain:   [DepthMax + 1]*AgentProfile{{Slot: 7, Rev: 1, Operator: 3, Root: 7, Type: Supervised, Policy: NoSpendPolicy(), OperatorLegalName: "Acme Inc"}},

		ChainSize: 1,
	}
}

// withParents makes the agent of cleanFacts a delegate of the given depth.
func withParents(f *Facts, depth int) *Facts {
	f.ChainSize = depth + 1
	for i := range f.ChainSize {
		profile := &AgentProfile{Slot: AgentSlot(7 - i), Operator: 3, Root: AgentSlot(7 - depth), Depth: uint8(depth - i), Type: Supervised, Policy: NoSpendPolicy()}
		if i < depth {
			profile.Parent = AgentSlot(6 - i)
		}
		f.Chain[i] = profile
	}
	return f
}

func TestCleanCallIsClear(t *testing.T) {
	require.Equal(t, Hits{}, NewestRules.JudgeStatic(cleanFacts()))
	for depth := 1; depth <= DepthMax; depth++ {
		require.Equal(t, Hits{}, NewestRules.JudgeStatic(withParents(cleanFacts(), depth)))
	}
	full := cleanFacts()
	full.Request = &Request{Amount: 100 * Dollar, Chain: "base", Rail: "usdc", Wallet: "0x52908400098527886E0F7030069857D2E4169EE7",
		Name: "Contoso Ltd", Type: "Business", Protocol: "Uniswap", Model: "model-1", TravelRule: "tr-1"}
	full.Chain[0].Model = "Model-1 "
	require.Equal(t, Hits{}, NewestRules.JudgeStatic(full), "T086: every optional field filled consistently")
}

func TestBadTokenStandsAlone(t *testing.T) {
	for state := TokenMalformed; state <= TokenProofMissing; state++ {
		f := cleanFacts()
		f.Token, f.PartyListed, f.ChainBad = state, true, true
		hits := NewestRules.JudgeStatic(f)
		require.Equal(t, uint32(1<<1), hits.Mask)
		require.NotEmpty(t, NewestRules.Reason(1, hits.Subs[1], 0))
		require.Equal(t, Sub(state), hits.Subs[1])
	}
	require.Len(t, Rules[0].Reasons, int(TokenProofMissing), "one reason for each token state")
}

// listedOn is the result for a name that is certainly listed.
func listedOn(lists ofac.Lists) ofac.Result {
	return ofac.Result{Outcome: ofac.Listed, Matches: []ofac.Match{{Outcome: ofac.Listed, Lists: lists}}}
}

var possibleMatch = ofac.Result{Outcome: ofac.Possible, Matches: []ofac.Match{{Outcome: ofac.Possible, Lists: ofac.ListSDN}}}

func spendPolicyOf(f *Facts, level int) *SpendPolicy { return &f.Chain[level].Policy }

const solAddress = "So11111111111111111111111111111111111111112"

// staticCases change one thing of a clean call each and expect one rule.
var staticCases = []struct {
	name   string
	rule   RuleID // 0: nothing may fire; 0xFF: R9 and R19
	sub    Sub
	change func(*Facts)
}{
	{"R3 own wallet at issuance", 3, 1, func(f *Facts) { f.Chain[0].WalletMatched = true }},
	{"R3 parent's wallet at issuance", 3, 2, func(f *Facts) { withParents(f, 2).Chain[2].WalletMatched = true }},
	{"R3 not for the name flag", 0, 0, func(f *Facts) { f.Chain[0].NameMatched = true }},
	{"R4 own wallet", 4, 1, func(f *Facts) { f.OperatorListed, f.OperatorWallet.Lists = true, ofac.ListSDN }},
	{"R4 an ancestor's wallet", 4, 2, func(f *Facts) { f.OperatorListed, f.OperatorLevel, f.OperatorWallet.Lists = true, 3, ofac.ListSDN }},
	{"R5 operator on the SDN list", 5, 1, func(f *Facts) { f.OperatorName = listedOn(ofac.ListSDN) }},
	{"R5 operator on both lists", 5, 1, func(f *Facts) { f.OperatorName = listedOn(ofac.ListSDN | ofac.ListCONS) }},
	{"R5 operator on the non-SDN list", 5, 2, func(f *Facts) { f.OperatorName = listedOn(ofac.ListCONS) }},
	{"R5 user on the SDN list", 5, 3, func(f *Facts) { f.UserName = listedOn(ofac.ListSDN) }},
	{"R5 user on the non-SDN list", 5, 4, func(f *Facts) { f.UserName = listedOn(ofac.ListCONS) }},
	{"R6", 6, 1, func(f *Facts) { f.PartyListed, f.PartyWallet.Lists = true, ofac.ListSDN }},
	{"R7 SDN", 7, 1, func(f *Facts) { f.PartyName = listedOn(ofac.ListSDN) }},
	{"R7 non-SDN", 7, 2, func(f *Facts) { f.PartyName = listedOn(ofac.ListCONS) }},
	{"R21 counterparty", 21, 1, func(f *Facts) { f.PartyName = possibleMatch }},
	{"R21 operator", 21, 2, func(f *Facts) { f.OperatorName = possibleMatch }},
	{"R21 user", 21, 3, func(f *Facts) { f.UserName = possibleMatch }},
	{"R21 counterparty too long", 21, 5, func(f *Facts) { f.PartyName = ofac.Result{Truncated: true} }},
	{"R21 operator too long", 21, 6, func(f *Facts) { f.OperatorName = ofac.Result{Truncated: true} }},
	{"R21 user too long", 21, 7, func(f *Facts) { f.UserName = ofac.Result{Truncated: true} }},

	{"R9 own", 9, 1, func(f *Facts) { spendPolicyOf(f, 0).ChainsSet = true; f.Request.Chain, f.Request.Name = "ETH", "Shop" }},
	{"R9 grandparent", 9, 3, func(f *Facts) {
		withParents(f, 3)
		spendPolicyOf(f, 2).ChainsSet, spendPolicyOf(f, 2).Chains = true, ChainSOL.Bit()
		f.Request.Chain, f.Request.Name = "ETH", "Shop"
	}},
	{"R9 unknown chain", 9, 1, func(f *Facts) {
		spendPolicyOf(f, 0).ChainsSet, spendPolicyOf(f, 0).Chains = true, 0xFF
		f.Request.Chain = "DOGE"
	}},
	{"R9 allowed, any case", 0, 0, func(f *Facts) {
		spendPolicyOf(f, 0).ChainsSet, spendPolicyOf(f, 0).Chains = true, ChainETH.Bit()
		f.Request.Chain, f.Request.Name = " eth ", "Shop"
	}},
	{"R9 no chain given", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).ChainsSet = true }},
	{"R10 at the limit", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).MaxSingle = 100 * Dollar }},
	{"R10 a micro-dollar above", 10, 1, func(f *Facts) { spendPolicyOf(f, 0).MaxSingle = 100*Dollar - 1 }},
	{"R10 limit zero", 10, 1, func(f *Facts) { spendPolicyOf(f, 0).MaxSingle = 0 }},
	{"R10 limit zero, amount zero", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).MaxSingle = 0; f.Request.Amount = 0 }},
	{"R10 parent", 10, 2, func(f *Facts) { withParents(f, 1); spendPolicyOf(f, 1).MaxSingle = 99 * Dollar }},
	{"R18 own", 18, 1, func(f *Facts) {
		spendPolicyOf(f, 0).RailsSet, spendPolicyOf(f, 0).Rails = true, RailACH.Bit()
		f.Request.Rail = "WIRE"
	}},
	{"R18 unknown rail", 18, 1, func(f *Facts) { spendPolicyOf(f, 0).RailsSet = true; f.Request.Rail = "SEPA" }},
	{"R18 allowed", 0, 0, func(f *Facts) {
		spendPolicyOf(f, 0).RailsSet, spendPolicyOf(f, 0).Rails = true, RailACH.Bit()
		f.Request.Rail = "ach"
	}},
	{"R18 no rail given", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).RailsSet = true }},

	{"R14 protocol", 14, 1, func(f *Facts) { f.Request.Protocol = "TORNADO-CASH" }},
	{"R14 protocol, flag false", 14, 1, func(f *Facts) { spendPolicyOf(f, 0).NoMixerSet = true; f.Request.Protocol = "tornado cash" }},
	{"R14 not a part of the protocol", 0, 0, func(f *Facts) { f.Request.Protocol = "helix bakery" }},
	{"R14 protocol among other words", 14, 1, func(f *Facts) { f.Request.Protocol = "via Tornado Cash" }},
	{"R14 contract as the counterparty's wallet", 14, 3, func(f *Facts) { f.Request.Wallet = "0x910cbd523d972eb0a6f4cae4618ad62622b39dbf" }},
	{"R14 contract as a parent's wallet", 14, 4, func(f *Facts) {
		withParents(f, 1)
		f.Chain[1].OperatorWallet = "0x910Cbd523D972eb0a6f4cAe4618aD62622b39DbF"
	}},
	{"R14 name without the flag", 0, 0, func(f *Facts) { f.Request.Name = "Tornado Cash" }},
	{"R14 name with the flag", 14, 2, func(f *Facts) { spendPolicyOf(f, 0).NoMixer = true; f.Request.Name = "Tornado Cash" }},
	{"R14 name with a parent's flag", 14, 2, func(f *Facts) {
		withParents(f, 1)
		spendPolicyOf(f, 1).NoMixer = true
		f.Request.Name = "Blender.io"
	}},
	{"R14 ambiguous name with the flag", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).NoMixer = true; f.Request.Name = "Whirlpool" }},
	{"R14 name among other words", 14, 2, func(f *Facts) { spendPolicyOf(f, 0).NoMixer = true; f.Request.Name = "Tornado Cash v2" }},
	{"R14 ambiguous name among other words", 0, 0, func(f *Facts) { spendPolicyOf(f, 0).NoMixer = true; f.Request.Name = "Dash Electronics" }},

	{"R15 another model in the call", 15, 1, func(f *Facts) { f.Chain[0].Model = "model-1"; f.Request.Model = "model-2" }},
	{"R15 another model reported", 15, 1, func(f *Facts) { f.Chain[0].Model = "model-1"; f.Chain[0].Settings.CurrentModel = "model-2" }},
	{"R15 the call speaks first", 0, 0, func(f *Facts) {
		f.Chain[0].Model = "model-1"
		f.Chain[0].Settings.CurrentModel = "model-2"
		f.Request.Model = "MODEL-1"
	}},
	{"R15 composed and decomposed", 0, 0, func(f *Facts) { f.Chain[0].Model = "mod\u00e8le"; f.Request.Model = " MODE\u0300LE\t" }},
	{"R15 no baseline", 0, 0, func(f *Facts) { f.Request.Model = "model-2" }},
	{"R15 not given", 0, 0, func(f *Facts) { f.Chain[0].Model = "model-1" }},
	{"R15 a version apart", 15, 1, func(f *Facts) { f.Chain[0].Model = "gpt-4.1"; f.Request.Model = "gpt-41" }},

	{"R19 mismatch", 19, 1, func(f *Facts) { f.Request.Chain, f.Request.Rail, f.Request.Name = "ETH", "ACH", "Shop" }},
	{"R19 IBAN over SWIFT", 0, 0, func(f *Facts) { f.Request.Chain, f.Request.Rail = "SWIFT", "IBAN" }},
	{"R19 unknown chain", 19, 2, func(f *Facts) { f.Request.Chain = "DOGE" }},
	{"R19 unknown rail", 19, 3, func(f *Facts) { f.Request.Rail = "SEPA" }},
	{"R9 has the unknown chain, R19 the unknown rail", 0xFF, 0, func(f *Facts) {
		spendPolicyOf(f, 0).ChainsSet = true
		f.Request.Chain, f.Request.Rail = "DOGE", "SEPA"
	}},
	{"R19 ENS name on ETH", 19, 4, func(f *Facts) { f.Request.Chain, f.Request.Wallet = "ETH", "vitalik.eth" }},
	{"R19 39 digits", 19, 4, func(f *Facts) {
		f.Request.Chain, f.Request.Wallet = "BASE", "0x52908400098527886E0F7030069857D2E4169EE"
	}},
	{"R19 no 0x", 19, 4, func(f *Facts) {
		f.Request.Chain, f.Request.Wallet = "ETH", "52908400098527886E0F7030069857D2E4169EE7"
	}},
	{"R19 an address with blanks around it", 0, 0, func(f *Facts) {
		f.Request.Chain, f.Request.Wallet = "ETH", " 0X52908400098527886E0F7030069857D2E4169EE7 "
	}},
	{"R19 EVM address on SOL", 19, 5, func(f *Facts) {
		f.Request.Chain, f.Request.Wallet = "SOL", "0x52908400098527886E0F7030069857D2E4169EE7"
	}},
	{"R19 address on SOL", 0, 0, func(f *Facts) { f.Request.Chain, f.Request.Wallet = "SOL", solAddress }},
	{"R19 SOL address on ETH", 19, 4, func(f *Facts) { f.Request.Chain, f.Request.Wallet = "ETH", solAddress }},
	{"R19 no grammar, without a chain", 19, 6, func(f *Facts) { f.Request.Wallet = "vitalik.eth" }},
	{"R19 no grammar, on WIRE", 19, 6, func(f *Facts) { f.Request.Chain, f.Request.Wallet = "WIRE", "DE123" }},
	{"R19 a checksum that does not hold", 19, 6, func(f *Facts) { f.Request.Wallet = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb" }},
	{"R19 two accounts", 19, 7, func(f *Facts) {
		f.Request.Wallet = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa or 0x52908400098527886E0F7030069857D2E4169EE7"
	}},
	{"R19 any known chain's address without a chain", 0, 0, func(f *Facts) { f.Request.Wallet = "bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa" }},

	{"R20 unknown type", 20, 1, func(f *Facts) { f.Request.Type = "charity" }},
	{"R20 known type, any case", 0, 0, func(f *Facts) { f.Request.Type = "EXCHANGE" }},
	{"R20 not allowed by the institution", 20, 2, func(f *Facts) {
		f.Policy.PartyTypes = partyTypesSet | 1<<ofac.PartyIndividual
		f.Request.Type = "exchange"
	}},
	{"R20 not allowed by a parent", 20, 2, func(f *Facts) {
		withParents(f, 1).Chain[1].Settings.PartyTypes = partyTypesSet
		f.Request.Type = "business"
	}},
	{"R20 allowed", 0, 0, func(f *Facts) {
		f.Chain[0].Settings.PartyTypes = partyTypesSet | 1<<ofac.PartyBusiness
		f.Request.Type = "business"
	}},
	{"R20 not given", 0, 0, func(f *Facts) { f.Policy.PartyTypes = partyTypesSet }},
	{"R20 at the cap", 20, 3, func(f *Facts) { f.Policy.TypeCaps[ofac.PartyExchange] = 100 * Dollar; f.Request.Type = "exchange" }},
	{"R20 below the cap", 0, 0, func(f *Facts) { f.Policy.TypeCaps[ofac.PartyExchange] = 100*Dollar + 1; f.Request.Type = "exchange" }},
	{"R20 travel rule reference", 0, 0, func(f *Facts) {
		f.Policy.TypeCaps[ofac.PartyExchange] = 1
		f.Request.Type, f.Request.TravelRule = "exchange", "tr-1"
	}},
	{"R20 cap of another type", 0, 0, func(f *Facts) { f.Policy.TypeCaps[ofac.PartyExchange] = 1; f.Request.Type = "business" }},
	{"R20 nobody is paid over a chain", 20, 5, func(f *Facts) { f.Request.Chain = "sol" }},
	{"R20 nobody is paid by a token", 20, 5, func(f *Facts) { f.Request.Rail = "USDC" }},
	{"R20 somebody is named", 0, 0, func(f *Facts) { f.Request.Chain, f.Request.Name = "BASE", "Shop" }},
	{"R20 a payee among the wallets", 0, 0, func(f *Facts) {
		f.Request.Chain = "BASE"
		_ = f.Request.ReadWallets([]byte(`[{"role":"payee","address":"` + walletB + `"}]`))
	}},
	{"R20 only the payer is told", 20, 5, func(f *Facts) { f.Request.Chain, f.Request.Payer = "BASE", walletB }},
	{"R20 not asked for", 0, 0, func(f *Facts) { f.Request.Chain, f.Policy.RequireParty = "BASE", PartyOfNone }},
	{"R20 neither chain nor token", 0, 0, func(f *Facts) { f.Request.Chain = "WIRE" }},
	{"R20 counterparty required", 20, 4, func(f *Facts) { f.Policy.RequireParty = PartyOfAll }},
	{"R20 counterparty required on a crypto flow: a name is not enough", 20, 4, func(f *Facts) {
		f.Policy.RequireParty = PartyOfAll
		f.Request.Rail, f.Request.Name = "USDC", "Contoso Ltd"
	}},
	{"R20 counterparty required, named", 0, 0, func(f *Facts) {
		f.Policy.RequireParty = PartyOfAll
		f.Request.Rail, f.Request.Name = "ACH", "Contoso Ltd"
	}},

	{"R23 broken", 23, 1, func(f *Facts) { f.ChainBad = true }},
	{"R23 missing parent", 23, 1, func(f *Facts) { f.Chain[0].Parent, f.Chain[0].Depth = 6, 1 }},
	{"R23 parent of another child", 23, 1, func(f *Facts) { withParents(f, 2).Chain[0].Parent = 99 }},
	{"R23 another root", 23, 1, func(f *Facts) { withParents(f, 2).Chain[0].Root = 99 }},
	{"R23 wrong depth", 23, 1, func(f *Facts) { withParents(f, 2).Chain[1].Depth = 2 }},
	{"R23 too deep", 23, 2, func(f *Facts) { withParents(f, 3).Chain[0].Depth = 4 }},
	{"R23 autonomous under supervised", 23, 3, func(f *Facts) { withParents(f, 1).Chain[0].Type = Autonomous }},
	{"R23 supervised under autonomous", 0, 0, func(f *Facts) { withParents(f, 1).Chain[1].Type = Autonomous }},
	{"R23 another operator", 23, 4, func(f *Facts) { withParents(f, 1).Chain[0].Operator = 4 }},

	{"R23 user bound", 0, 0, func(f *Facts) { f.User = &UserProfile{Agents: []AgentSlot{3, 7}} }},
	{"R23 user bound to others", 23, 6, func(f *Facts) { f.User = &UserProfile{Agents: []AgentSlot{3, 8}} }},
	{"R23 user bound to none", 23, 6, func(f *Facts) { f.User = &UserProfile{} }},
	{"R23 user and autonomous agent", 23, 5, func(f *Facts) { f.User = &UserProfile{Agents: []AgentSlot{7}}; f.Chain[0].Type = Autonomous }},
	{"R23 user alone", 23, 7, func(f *Facts) { f.User = &UserProfile{Agents: []AgentSlot{7, 8}}; f.UserOnly, f.ChainSize = true, 0 }},
}

func TestStaticRules(t *testing.T) {
	for _, test := range staticCases {
		t.Run(test.name, func(t *testing.T) {
			f := cleanFacts()
			test.change(f)
			hits := NewestRules.JudgeStatic(f)
			switch test.rule {
			case 0:
				require.Zero(t, hits.Mask)
				return
			case 0xFF:
				require.Equal(t, uint32(1<<9|1<<19), hits.Mask)
				require.Equal(t, Sub(3), hits.Subs[19])
				return
			}
			require.Equal(t, uint32(1)<<test.rule, hits.Mask)
			require.Equal(t, test.sub, hits.Subs[test.rule])
		})
	}
}

// The mode of name matches does not apply to a list that is too old.
func TestStaleListReviewsWhateverTheModeOfNames(t *testing.T) {
	policy := DefaultPolicy()
	policy.ListStaleReview = true
	for _, mode := range []Mode{ModeOff, ModeShadow, ModeReview} {
		policy.Modes[21] = mode
		for _, matched := range []bool{false, true} {
			var hits Hits
			if matched {
				hits.Add(21, 1)
			}
			live := NewestRules.JudgeLive(&Moment{Now: someday, Policy: policy, ListStale: true})
			hits.Merge(&live)
			decision := NewestRules.Decide(&hits, policy)
			require.Equal(t, Review, decision.Verdict, "mode %s, matched %v", mode, matched)
			want := SubListStale
			if matched && mode == ModeReview {
				want = 1
			}
			require.Equal(t, want, decision.Sub)
		}
		policy.ListStaleReview = false
		live := NewestRules.JudgeLive(&Moment{Now: someday, Policy: policy, ListStale: true})
		require.Equal(t, Proceed, NewestRules.Decide(&live, policy).Verdict)
		policy.ListStaleReview = true
	}
}
