package engine

import "railguard/ofac"

// This file judges names that could not be compared with the list, or not as a whole. They are reviewed
// (R21): nobody can say whom they mean. A cleared pair does not silence that, because no entry is meant.

// Sub-reasons of R21 about what could not be compared.
const (
	subPartyUnread    Sub = 20 // Letters that no table reads, and the following.
	subOperatorUnread Sub = 21
	subUserUnread     Sub = 22
	subPartySigns     Sub = 23 // Neither a letter nor a digit, and the following.
	subOperatorSigns  Sub = 24
	subUserSigns      Sub = 25
	subMemoUnread     Sub = 26
	subTextInPart     Sub = 27 // A text was not searched to its end.
)

// uncompared is the part of R21 about what could not be compared.
func uncompared(f *Facts) Sub {
	for _, name := range [...]struct {
		result         *ofac.Result
		letters, signs Sub
	}{
		{&f.PartyName, subPartyUnread, subPartySigns},
		{&f.OperatorName, subOperatorUnread, subOperatorSigns},
		{&f.UserName, subUserUnread, subUserSigns},
	} {
		switch {
		case name.result.Outcome == ofac.Listed:
		case name.result.Unread == ofac.UnreadLetters:
			return name.letters
		case name.result.Unread == ofac.UnreadSigns:
			return name.signs
		}
	}
	sub := Sub(0)
	for i := range f.Texts() {
		switch found := &f.texts.found[i]; {
		case found.At == InMemo && found.Names.Unread == ofac.UnreadLetters:
			return subMemoUnread
		case found.Names.Truncated:
			sub = subTextInPart
		}
	}
	return sub
}

// memberUser is the one name of which no words are told: explanations of payments do not name users.
const memberUser = "legalName"

// unreadShown is how many unread words are told of one text.
const unreadShown = 8

// compareUnread tells which words could not be compared, and in which scripts they are. It reads the
// names again, because whoever explains a record does not ask the list.
func compareUnread(f *Facts) []Compared {
	var parts [][]Compared
	tell := func(member, text string, least ofac.Unread) {
		unread := ofac.UnreadOf(text)
		if unread < least {
			return
		}
		words, scripts := []string{}, []string{}
		for _, word := range ofac.UnreadWords(text, unreadShown) {
			if scripts = append(scripts, word.Script); member != memberUser {
				words = append(words, word.Word)
			}
		}
		parts = append(parts, []Compared{{"member", member}, {"why", unread.String()}, {"words", words}, {"scripts", scripts}})
	}
	tell("cpName", f.Request.Name, ofac.UnreadSigns)
	if f.ChainSize > 0 {
		tell("operatorLegalName", f.Chain[0].OperatorLegalName, ofac.UnreadSigns)
	}
	if f.User != nil {
		tell(memberUser, f.User.LegalName, ofac.UnreadSigns)
	}
	tell("memo", f.Request.Memo, ofac.UnreadLetters)
	if parts == nil {
		return nil
	}
	return []Compared{{"notCompared", parts}}
}
