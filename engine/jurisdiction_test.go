package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/identifier"
)

const licensed = `{"jurisdictions":{"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"operators":["opr_a"],"cpTypes":["business"],"maxAmount":500,"from":"2026-01-01","until":"2026-11-20","reason":"medicine"}]}}`

func TestJurisdictions(t *testing.T) {
	told := func(class identifier.Class, value, country string) func(*Request) {
		return func(r *Request) { r.Identifiers[0], r.IdentifierCount = Identifier{class, value, country}, 1 }
	}
	for _, c := range []struct {
		name   string
		rule   RuleID
		sub    Sub
		change func(*Request)
	}{
		{"nothing", 0, 0, func(*Request) {}},
		{"Iran", 24, 1, func(r *Request) { r.Country = "iran" }},
		{"North Korea", 24, 1, func(r *Request) { r.Country = "Korea, Democratic People's Republic of" }},
		{"Cuba by number", 24, 1, func(r *Request) { r.Country = "192" }},
		{"Crimea as a country", 24, 1, func(r *Request) { r.Country = "Crimea" }},
		{"Crimea", 24, 1, func(r *Request) { r.Country, r.Region = "UA", "43" }},
		{"Crimea said to be Russian", 24, 1, func(r *Request) { r.Country, r.Region = "RU", "Республика Крым" }},
		{"asked from Iran", 24, 2, func(r *Request) { r.Origin = "IRN" }},
		{"BIC", 24, 3, told(identifier.BIC, "MELIIRTHXXX", "")},
		{"e-mail", 24, 3, told(identifier.Email, "a@example.ir", "")},
		{"telephone", 24, 3, told(identifier.Phone, "+98 21 1234 5678", "")},
		{"tax number", 24, 3, told(identifier.TaxID, "12345678", "KP")},
		{"passport", 20, 8, told(identifier.Passport, "X12345678", "IR")},
		{"passport of a country that cannot be read", 20, 6, told(identifier.Passport, "X12345678", "?")},
		{"unread", 20, 6, func(r *Request) { r.Country = "Atlantis" }},
		{"asked from nowhere", 20, 6, func(r *Request) { r.Origin = "nowhere" }},
		{"Korea", 20, 8, func(r *Request) { r.Country = "Korea" }},
		{"Donetsk", 20, 7, func(r *Request) { r.Country, r.Region = "UA", "Donetsk" }},
		{"Luhansk by code", 20, 7, func(r *Request) { r.Region = "UA-09" }},
		{"Cuba in New York", 20, 8, func(r *Request) { r.Country, r.Region = "US", "Cuba" }},
		{"address", 20, 9, func(r *Request) { r.Address = "Valiasr 1, Tehran" }},
		{"a street", 20, 9, func(r *Request) { r.Country, r.Address = "GB", "12 Tehran Street, London, UK" }},
		{"Cuba, New York", 0, 0, func(r *Request) { r.Country, r.Address = "US", "Main Street 1, Cuba, NY 14727, USA" }},
		{"Ukraine", 0, 0, func(r *Request) { r.Country, r.Region, r.Address = "Ukraine", "Kyiv", "Khreshchatyk 1, Kyiv" }},
		{"Georgia", 0, 0, func(r *Request) { r.Country = "Georgia" }},
		{"Georgia, a state", 0, 0, func(r *Request) { r.Country, r.Region = "US", "Georgia" }},
		{"South Korea", 0, 0, func(r *Request) { r.Country, r.Origin = "Republic of Korea", "KR" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cleanFacts()
			f.List = emptyList()
			c.change(f.Request)
			placeLooker().Look(f)
			hits := NewestRules.JudgeStatic(f)
			if c.rule == 0 {
				require.Zero(t, hits.Mask)
				require.Zero(t, f.Places.Count)
				return
			}
			require.Equal(t, uint32(1)<<c.rule, hits.Mask)
			require.Equal(t, c.sub, hits.Subs[c.rule])
			require.NotZero(t, f.Places.Count)
		})
	}
}

// TestExemption: a licence lets pass what it names, for as long as it lasts, and nothing else.
func TestExemption(t *testing.T) {
	policy, wrong := ParsePolicy([]byte(licensed), someday, NewestRules)
	require.Empty(t, wrong)
	from, until := policy.Jurisdictions.Exemptions[0].From, policy.Jurisdictions.Exemptions[0].Until
	require.Equal(t, "2026-11-21T00:00:00.000Z", until.String(), "the last day counts")
	for _, c := range []struct {
		name   string
		passes bool
		change func(*Facts)
	}{
		{"all as licensed", true, func(*Facts) {}},
		{"in the address too", true, func(f *Facts) { f.Request.Address = "Tehran, Iran" }},
		{"ended yesterday", false, func(f *Facts) { f.Now = until }},
		{"the last instant", true, func(f *Facts) { f.Now = until - 1 }},
		{"not begun", false, func(f *Facts) { f.Now = from - 1 }},
		{"another operator", false, func(f *Facts) { f.OperatorID = "opr_b" }},
		{"no operator", false, func(f *Facts) { f.OperatorID = "" }},
		{"another type", false, func(f *Facts) { f.Request.Type = "individual" }},
		{"no type", false, func(f *Facts) { f.Request.Type = "" }},
		{"a larger amount", false, func(f *Facts) { f.Request.Amount = 501 * Dollar }},
		{"another country", false, func(f *Facts) { f.Request.Country = "CU" }},
		{"another country as well", false, func(f *Facts) { f.Request.Origin = "KP" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cleanFacts()
			f.Policy, f.Now, f.OperatorID = policy, from, "opr_a"
			f.Request.Country, f.Request.Type, f.Request.Amount = "IR", "business", 500*Dollar
			c.change(f)
			hits := NewestRules.JudgeStatic(f)
			require.Equal(t, !c.passes, hits.Has(RuleJurisdiction))
			if c.passes {
				require.Zero(t, hits.Mask)
				require.Equal(t, until, f.ValidUntil, "the judgement lapses with the licence")
				require.Equal(t, OutcomeExempt, f.Places.Found[0].Outcome)
				require.Equal(t, "gl-8", policy.Exemption(f.Places.Found[0].Exemption).ID)
			}
		})
	}
}

func TestJurisdictionPolicy(t *testing.T) {
	for document, param := range map[string]string{
		`{"jurisdictions":{"block":["CU","IR","KP","UA-43"]}}`: "jurisdictions.block",
		`{"jurisdictions":{"block":[]}}`:                       "jurisdictions.block",
		`{"jurisdictions":{"review":["XX"]}}`:                  "jurisdictions.review[0]",
		`{"jurisdictions":{"review":["by"]}}`:                  "jurisdictions.review[0]",
		`{"jurisdictions":{"review":["BY","BY"]}}`:             "jurisdictions.review[1]",
		`{"jurisdictions":{"allow":[]}}`:                       "jurisdictions.allow",
		`{"jurisdictions":{"exemptions":[{"id":"a"}]}}`:        "jurisdictions.exemptions[0]",
		`{"jurisdictions":{"exemptions":[{"id":"a","licence":"l","countries":["IR"],"from":"2026-02-02","until":"2026-01-01","reason":"r"}]}}`: "jurisdictions.exemptions[0].until",
	} {
		_, wrong := ParsePolicy([]byte(document), someday, NewestRules)
		require.NotEmpty(t, wrong, document)
		require.Equal(t, param, wrong[0].Param, document)
	}
	parse := func(document string) *Policy {
		policy, wrong := ParsePolicy([]byte(document), someday, NewestRules)
		require.Empty(t, wrong)
		return policy
	}
	standard, more, with := parse(`{}`), parse(`{"jurisdictions":{"block":["CU","IR","KP","UA-43","UA-40","UA-14","BY"],"review":["UA-09"]}}`), parse(licensed)
	require.Empty(t, Widens(standard, more))
	require.Equal(t, []string{"jurisdictions.block"}, Widens(more, standard))
	require.Equal(t, []string{"jurisdictions.exemptions"}, Widens(standard, with))
	require.True(t, with.AlwaysTwo(standard), "one officer alone puts no licence in force")
	require.False(t, with.AlwaysTwo(with))
	require.False(t, standard.AlwaysTwo(with))
}
