package engine

import (
	"strings"

	"railguard/ofac"
)

// This file judges hits on lists beside OFAC's. An exact hit on a list with the effect block leads
// to the rule of an OFAC hit, with a reason of its own that names the list; on any other such list
// it is R21.

// Sub-reasons that name a list.
const (
	subOperatorWalletFurther Sub = 4 // Of R4.
	subPayerFurther          Sub = 5 // Of R4.
	subOperatorNameFurther   Sub = 6 // Of R5.
	subUserNameFurther       Sub = 7 // Of R5.
	subPartyWalletFurther    Sub = 3 // Of R6.
	subWalletFurther         Sub = 4 // Of R6.
	subPartyNameFurther      Sub = 4 // Of R7.
	subIdentifierFurther     Sub = 5 // Of R7.

	subPartyNameReviewed      Sub = 10 // Of R21, and the following.
	subOperatorNameReviewed   Sub = 11
	subUserNameReviewed       Sub = 12
	subPartyWalletReviewed    Sub = 13
	subOperatorWalletReviewed Sub = 14
	subPayerReviewed          Sub = 15
	subWalletReviewed         Sub = 16
	subIdentifierReviewed     Sub = 17
)

// reviewedList is the part of R21 about exact hits on lists that are reviewed.
func reviewedList(f *Facts) Sub {
	switch {
	case reviewedName(&f.PartyName) != 0:
		return subPartyNameReviewed
	case reviewedName(&f.OperatorName) != 0:
		return subOperatorNameReviewed
	case reviewedName(&f.UserName) != 0:
		return subUserNameReviewed
	case isReviewed(sureLists(f.PartyListed, &f.PartyWallet)):
		return subPartyWalletReviewed
	case isReviewed(sureLists(f.OperatorListed, &f.OperatorWallet)):
		return subOperatorWalletReviewed
	case f.payerOn(isReviewed) != 0:
		return subPayerReviewed
	case f.otherListed(false, isReviewed) != 0:
		return subWalletReviewed
	case f.identifierOn(isReviewed) != 0:
		return subIdentifierReviewed
	}
	return 0
}

func isReviewed(lists ofac.Lists) bool { return lists != 0 && !lists.Block() }

// reviewedName returns the lists of the first exact match of a name that is not blocked because its
// list is reviewed; 0: there is none, or a stronger match decides.
func reviewedName(result *ofac.Result) ofac.Lists {
	if result.Outcome != ofac.Possible {
		return 0
	}
	for i := range result.Matches {
		if match := &result.Matches[i]; match.Outcome == ofac.Possible && match.Sub == ofac.SubReviewSource {
			return match.Lists
		}
	}
	return 0
}

// listedName returns the lists of the matches of a name that block: OFAC's before others.
func listedName(result *ofac.Result) (lists ofac.Lists) {
	for i := range result.Matches {
		if match := &result.Matches[i]; match.Outcome == ofac.Listed {
			lists |= match.Lists
		}
	}
	return lists
}

// nameSub returns the sub-reason of a name that blocks: core for a core source, the one after it for
// another source of OFAC's, else further.
func nameSub(result *ofac.Result, core, further Sub) Sub {
	switch lists := listedName(result); {
	case lists.Core():
		return core
	case lists.IsFurther() && !lists.IsOFAC():
		return further
	}
	return core + 1
}

// NamedList returns the name of the list that the reason of a decision names; "": it names none.
func (f *Facts) NamedList(rule RuleID, sub Sub) string {
	lists := f.listsOf(rule, sub)
	if lists == 0 || f.List == nil {
		return ""
	}
	return f.List.NameOf(lists)
}

// ListNamed returns the name of the list that the first of the hits names; "": none does. A call
// has one such name, because of the rules that can name one the first decides before the others.
func (f *Facts) ListNamed(hits *Hits) string {
	for _, rule := range [...]RuleID{RuleOperatorWallet, RuleOperatorName, RulePartyWallet, RulePartyName, RulePossibleName} {
		if hits.Has(rule) {
			if name := f.NamedList(rule, hits.Subs[rule]); name != "" {
				return name
			}
		}
	}
	return ""
}

func (f *Facts) listsOf(rule RuleID, sub Sub) ofac.Lists {
	type reason struct {
		rule RuleID
		sub  Sub
	}
	switch (reason{rule, sub}) {
	case reason{RuleOperatorWallet, subOperatorWalletFurther}, reason{RulePossibleName, subOperatorWalletReviewed}:
		return f.OperatorWallet.Lists
	case reason{RuleOperatorWallet, subPayerFurther}:
		return f.payerOn(ofac.Lists.Block)
	case reason{RulePossibleName, subPayerReviewed}:
		return f.payerOn(isReviewed)
	case reason{RuleOperatorName, subOperatorNameFurther}:
		return listedName(&f.OperatorName)
	case reason{RuleOperatorName, subUserNameFurther}:
		return listedName(&f.UserName)
	case reason{RulePartyWallet, subPartyWalletFurther}, reason{RulePossibleName, subPartyWalletReviewed}:
		return f.PartyWallet.Lists
	case reason{RulePartyWallet, subWalletFurther}:
		return f.otherListed(false, ofac.Lists.Block)
	case reason{RulePossibleName, subWalletReviewed}:
		return f.otherListed(false, isReviewed)
	case reason{RulePartyName, subPartyNameFurther}:
		return listedName(&f.PartyName)
	case reason{RulePartyName, subIdentifierFurther}:
		return f.identifierOn(ofac.Lists.Block)
	case reason{RulePossibleName, subPartyNameReviewed}:
		return reviewedName(&f.PartyName)
	case reason{RulePossibleName, subOperatorNameReviewed}:
		return reviewedName(&f.OperatorName)
	case reason{RulePossibleName, subUserNameReviewed}:
		return reviewedName(&f.UserName)
	case reason{RulePossibleName, subIdentifierReviewed}:
		return f.identifierOn(isReviewed)
	}
	return 0
}

// payerOn returns the lists of the wallet that pays, if they are as asked for.
func (f *Facts) payerOn(are func(ofac.Lists) bool) ofac.Lists {
	if lists := sureLists(f.PayerListed, &f.PayerWallet); are(lists) {
		return lists
	}
	return f.otherListed(true, are)
}

// identifierOn returns the lists of the first identifier of the counterparty that is beyond doubt a
// listed party's, if they are as asked for.
func (f *Facts) identifierOn(are func(ofac.Lists) bool) ofac.Lists {
	for i := range f.Identified {
		if hit := &f.Identified[i]; hit.At != InMemo && hit.Hit.Doubt <= ofac.DoubtSource && are(hit.Hit.Lists) {
			return hit.Hit.Lists
		}
	}
	return 0
}

// listPlace stands in a reason for the name of a list.
const listPlace = "{list}"

// NamesList reports whether the reason of a decision has a place for the name of a list.
func (s *RuleSet) NamesList(rule RuleID, sub Sub) bool {
	return strings.Contains(s.Reason(rule, sub, 0), listPlace)
}

// NameList puts the name of a list into a reason that has a place for one. Without a name the reason
// says that it is one beside OFAC's.
func NameList(reason, list string) string {
	switch {
	case !strings.Contains(reason, listPlace):
		return reason
	case list == "":
		list = "of another authority"
	}
	return strings.Replace(reason, listPlace, list, 1)
}
