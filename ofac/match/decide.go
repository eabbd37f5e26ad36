package match

import (
	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Sub is the reason for a match's outcome. The numbers are written into audit records:
// never reuse one.
type Sub uint8

// The reasons.
const (
	SubNone            Sub = 0  // Nothing softens the match.
	SubOneWordPerson   Sub = 1  // The listed name of a person has one word only.
	SubShortWord       Sub = 2  // The listed name is one short word.
	SubLegalForm       Sub = 3  // The legal forms contradict each other.
	SubLegalFormAbsent Sub = 4  // One word, and a legal form on one side only.
	SubPartyType       Sub = 5  // The caller's party type contradicts the listed type.
	SubVessel          Sub = 6  // A vessel's name says nothing about a party.
	SubAircraft        Sub = 7  // An aircraft's name says nothing about a party.
	SubWeakAlias       Sub = 8  // OFAC calls the alias weak.
	SubTruncated       Sub = 9  // The name is one cut line of the listed name.
	SubJoined          Sub = 10 // The names are equal only without spaces, and they are short.
	SubSpelling        Sub = 11 // A close spelling, not the listed name.
	SubCleared         Sub = 12 // An officer cleared this pair.
	SubNotSDN          Sub = 13 // A possible match against an entry that is not on the SDN.
	SubContained       Sub = 14 // The whole listed name stands among other words.
	SubTransliterated  Sub = 15 // Read through a transliteration that loses letters; not the listed name in its own script.
	SubReviewSource    Sub = 16 // All of the entry's sources are ones that do not block.
	SubTwin            Sub = 18 // A wallet has the bytes of a listed one, in an address of another kind. 17 is another's.
)

var subWords = [...]string{
	"", "one-word name of a person", "one short word", "legal form differs", "one word with a legal form on one side only",
	"party type differs", "vessel", "aircraft", "weak alias", "truncated line", "equal without spaces", "close spelling",
	"cleared pair", "not on the SDN list", "listed name among other words", "read through a transliteration",
	"on a list that is reviewed",
	SubTwin: "same bytes as a listed wallet, in an address of another kind",
}

// String returns the reason in words, empty for SubNone.
func (s Sub) String() string {
	if int(s) < len(subWords) {
		return subWords[s]
	}
	return "unknown"
}

// reading says how the query was read to make a key.
type reading struct {
	forms   text.FormSet // legal forms in the query
	dropped bool         // the legal forms were left out of the key
	joined  bool         // the key has no spaces
}

// Letters that a name needs so that one exact form is enough to block.
const (
	primaryWordLetters = 4  // a company's one-word primary name (decision 44, "Exact hits")
	aliasWordLetters   = 6  // a company's one-word alias (decision 44, "Exact hits")
	joinedLetters      = 10 // a name equal only without spaces
)

// decideExact applies the table of decision 44, "Exact hits".
func decideExact(name *index.NameRecord, kind list.EntityType, form index.ExactForm, read reading, q *Query) (Outcome, Sub) {
	switch {
	case name.Flags&index.NameWeak != 0 && q.WeakAliases:
		return Possible, SubWeakAlias
	case name.Flags&index.NameWeak != 0:
		return Clear, SubWeakAlias
	case kind == list.Vessel:
		return Possible, SubVessel
	case kind == list.Aircraft:
		return Possible, SubAircraft
	case form == index.ExactTruncated:
		return Possible, SubTruncated
	case (form == index.ExactJoined || read.joined) && name.Letters < joinedLetters:
		return Possible, SubJoined
	}
	if form <= index.ExactSorted && !read.dropped {
		read.forms = name.Forms // every word is equal, including the words of the legal form
	}
	return decideName(name, kind, read, q)
}

// decideName decides exact hits, and near hits that are strong enough to block.
func decideName(name *index.NameRecord, kind list.EntityType, read reading, q *Query) (Outcome, Sub) {
	if kind == list.Individual {
		switch {
		case read.dropped && read.forms != 0:
			return Possible, SubLegalForm
		case name.Words < 2:
			return Possible, SubOneWordPerson
		}
		return Listed, SubNone
	}
	switch {
	case q.Type == PartyIndividual:
		return Possible, SubPartyType
	case read.forms.Contradicts(name.Forms):
		return Possible, SubLegalForm
	case name.Plain < 2 && read.forms.Kin() != name.Forms.Kin():
		return Possible, SubLegalFormAbsent
	case name.Plain < 2 && read.forms != name.Forms && read.forms|name.Forms == 1<<text.FormCompany:
		return Possible, SubLegalFormAbsent
	case name.Words >= 2 || name.Letters >= aliasWordLetters:
		return Listed, SubNone
	case name.Flags&index.NamePrimary != 0 && name.Letters >= primaryWordLetters:
		return Listed, SubNone
	}
	return Possible, SubShortWord
}
