package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// What cannot be compared is R21 in every place where a name stands, with a reason of its own, and the
// explanation says which words. A match decides before it.
func TestWhatCannotBeComparedIsReviewed(t *testing.T) {
	list, looker := furtherLists(t), NewLooker()
	for name, c := range map[string]struct {
		change func(*Facts)
		sub    Sub
		told   string // The member and the words that are told.
	}{
		"nothing":              {func(f *Facts) { f.Request.Name, f.Request.Memo = "Jane Public 🙂", "for tea 🙂" }, 0, ""},
		"counterparty":         {func(f *Facts) { f.Request.Name = "สมชาย Ltd" }, subPartyUnread, "cpName สมชาย Thai"},
		"operator":             {func(f *Facts) { f.Chain[0].OperatorLegalName = "ហ៊ុន Acme" }, subOperatorUnread, "operatorLegalName ហ៊ុន Khmer"},
		"user":                 {func(f *Facts) { f.User = &UserProfile{LegalName: "नरेंद्र"} }, subUserUnread, "legalName Devanagari"},
		"memo":                 {func(f *Facts) { f.Request.Memo = "tea, ขอบคุณ" }, subMemoUnread, "memo ขอบคุณ Thai"},
		"counterparty, signs":  {func(f *Facts) { f.Request.Name = "???" }, subPartySigns, "cpName"},
		"operator, signs":      {func(f *Facts) { f.Chain[0].OperatorLegalName = "🙂" }, subOperatorSigns, "operatorLegalName"},
		"user, signs":          {func(f *Facts) { f.User = &UserProfile{LegalName: "-"} }, subUserSigns, "legalName"},
		"memo, signs":          {func(f *Facts) { f.Request.Memo = "???" }, 0, ""},
		"blank":                {func(f *Facts) { f.Request.Name = "  " }, 0, ""},
		"too long":             {func(f *Facts) { f.Request.Name = strings.Repeat("abcde fghij klmno ", 20) }, 5, ""},
		"a memo too long":      {func(f *Facts) { f.Request.Memo = strings.Repeat("a ", 300) }, subTextInPart, ""},
		"an address too long":  {func(f *Facts) { f.Request.Address = strings.Repeat("ab ", 300) }, subTextInPart, ""},
		"an address":           {func(f *Facts) { f.Request.Address = "สุขุมวิท ซอย 11" }, 0, ""},
		"a match":              {func(f *Facts) { f.Request.Name = "Sanctioned Sea Works สมชาย" }, 1, "cpName สมชาย Thai"},
		"a listed party":       {func(f *Facts) { f.Request.Name, f.Request.Memo = "Sanctioned Sea Works", "ขอบคุณ" }, subMemoUnread, "memo ขอบคุณ Thai"},
		"an identifier before": {func(f *Facts) { f.Request.Name = "สมชาย"; telling("UNITKPPYXXX")(f) }, subIdentifierReviewed, "cpName สมชาย Thai"},
		"a listed memo":        {func(f *Facts) { f.Request.Memo = "สมชาย for Sanctioned Sea Works" }, subMemo, "memo สมชาย Thai"},
		"as seen":              {func(f *Facts) { f.Request.Name = "\u202eskroW aeS denoitcnaS" }, 0, ""},
	} {
		for range 2 { // The second time from memory.
			f := cleanFacts()
			f.List, f.Now = list, 5
			c.change(f)
			looker.Look(f)
			hits := NewestRules.JudgeStatic(f)
			require.Equal(t, c.sub, hits.Subs[RulePossibleName], name)
			require.Equal(t, name == "a listed party" || name == "as seen", hits.Has(RulePartyName), name)
			require.Equal(t, c.told, toldUnread(f), name)
			f.PartyCleared = []uint32{1}
			looker.Look(f)
			if again := NewestRules.JudgeStatic(f).Subs[RulePossibleName]; name != "a match" {
				require.Equal(t, c.sub, again, "%s: no clearing silences it", name)
			} else {
				require.Equal(t, subPartyUnread, again)
			}
		}
	}
	require.Contains(t, NewestRules.Reason(RulePossibleName, subPartyUnread, 0), "could not be compared")
}

func toldUnread(f *Facts) string {
	compared := RuleByID(RulePossibleName).Compared(f, nil)
	if compared == nil {
		return ""
	}
	part := compared[0].Value.([][]Compared)[0]
	words := append([]string{part[0].Value.(string)}, part[2].Value.([]string)...)
	return strings.Join(append(words, part[3].Value.([]string)...), " ")
}

// A name that blocks is not reviewed besides because of its other words.
func TestAListedNameIsNotReviewedBesides(t *testing.T) {
	f := cleanFacts()
	f.PartyName = ofac.Result{Outcome: ofac.Listed, Unread: ofac.UnreadLetters}
	require.Zero(t, NewestRules.JudgeStatic(f).Subs[RulePossibleName])
}
