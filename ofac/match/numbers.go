package match

import "fmt"

// numbers are the numbers of the evidence, in hundredths of a bit where nothing else is said. They are
// fitted by `railguard-bench names --fit` to a part of the labelled names; `--sensitivity` shows what
// moves when one of them is changed. Nothing else may change them.
type numbers struct {
	neededPerson, neededOther, neededContained int32
	pairNumbers
	lackNumbers
	surplusNumbers
	wholeNumbers
	provableWords, commonWord int32
}

// pairNumbers weigh paired words.
type pairNumbers struct {
	initial, slipGroup, slipFold, slipLeast, slipSlope, slipKnown, slipJoined int32
	gainsMost, gainsBeyond                                                    int32
}

// lackNumbers weigh words of the listed name that the query lacks.
type lackNumbers struct {
	missingGiven, missingLast, missingHalf, missingAny, missingSecond, missingMiddle, missingPatronymic, missingMost int32
	missingWord, missingShare                                                                                        int32
}

// surplusNumbers weigh words of the query that the listed name lacks.
type surplusNumbers struct {
	surplusTitle, surplusGrammar, surplusPatronymic, surplusInitial, surplusSyllable, surplusBusiness int32
	surplusBetween, surplusMore, surplusOutside, outsideMost                                          int32
	surplusGeneric, surplusWord, otherOutsideMost                                                     int32
}

// wholeNumbers weigh what names say as wholes.
type wholeNumbers struct {
	wholePerson, wholeOther, wholeGeneric       int32
	contradiction, contradictionKnown           int32
	formSame, formOther, formPerson, otherParty int32
}

// shipped are the numbers that the service uses.
var shipped = numbers{
	1730, 2180, 1000,
	pairNumbers{initial: 520, slipGroup: 198, slipFold: 143, slipLeast: 150, slipSlope: 1820, slipKnown: 639, slipJoined: 676, gainsMost: 2800, gainsBeyond: 20},
	lackNumbers{
		missingGiven: 1078, missingLast: 1183, missingAny: 400, missingHalf: 182, missingSecond: 0, missingMiddle: 84, missingPatronymic: 64, missingMost: 520,
		missingWord: 130, missingShare: 40,
	},
	surplusNumbers{
		surplusTitle: 10, surplusGrammar: 10, surplusPatronymic: 100, surplusInitial: 74, surplusSyllable: 700, surplusBusiness: 20,
		surplusBetween: 31, surplusMore: 200, surplusOutside: 549, outsideMost: 840,
		surplusGeneric: 152, surplusWord: 10, otherOutsideMost: 177,
	},
	wholeNumbers{
		wholePerson: 429, wholeOther: 988, wholeGeneric: 1130, contradiction: 741, contradictionKnown: 210,
		formSame: 815, formOther: 31, formPerson: 350, otherParty: 200,
	},
	3, 850,
}

// Constant is one number of the scorer, for documents and for the evaluator.
type Constant struct {
	Name    string
	Value   int32
	Meaning string
}

// constant describes a field of numbers.
type constant struct {
	name, meaning string
	field         func(*numbers) *int32
}

var constants = [...]constant{
	{"neededPerson", "bits from which the name of a person is possible", func(n *numbers) *int32 { return &n.neededPerson }},
	{"neededOther", "the same of a company", func(n *numbers) *int32 { return &n.neededOther }},
	{"neededContained", "the least bits of a listed name that is looked for among other words", func(n *numbers) *int32 { return &n.neededContained }},
	{"initial", "an initial that fits", func(n *numbers) *int32 { return &n.initial }},
	{"slipGroup", "cost of a known respelling (Mohammed, Muhammad)", func(n *numbers) *int32 { return &n.slipGroup }},
	{"slipFold", "cost of another spelling with the same fold", func(n *numbers) *int32 { return &n.slipFold }},
	{"slipLeast", "cost of any other difference, and ...", func(n *numbers) *int32 { return &n.slipLeast }},
	{"slipSlope", "... this times how unlike the words are", func(n *numbers) *int32 { return &n.slipSlope }},
	{"slipKnown", "more, where the word written is a word of its own", func(n *numbers) *int32 { return &n.slipKnown }},
	{"slipJoined", "more, where two words are written as one", func(n *numbers) *int32 { return &n.slipJoined }},
	{"gainsMost", "bits of all pairs that count in full", func(n *numbers) *int32 { return &n.gainsMost }},
	{"gainsBeyond", "per cent that the bits beyond count", func(n *numbers) *int32 { return &n.gainsBeyond }},
	{"missingGiven", "a person's first name is missing", func(n *numbers) *int32 { return &n.missingGiven }},
	{"missingLast", "the first last name", func(n *numbers) *int32 { return &n.missingLast }},
	{"missingHalf", "half of an East Asian given name", func(n *numbers) *int32 { return &n.missingHalf }},
	{"missingAny", "a word of a person's name that does not say which word is the last name", func(n *numbers) *int32 { return &n.missingAny }},
	{"missingSecond", "a second last name", func(n *numbers) *int32 { return &n.missingSecond }},
	{"missingMiddle", "a middle name", func(n *numbers) *int32 { return &n.missingMiddle }},
	{"missingPatronymic", "a patronymic", func(n *numbers) *int32 { return &n.missingPatronymic }},
	{"missingMost", "the most that middle names and further last names cost together", func(n *numbers) *int32 { return &n.missingMost }},
	{"missingWord", "a word of a company is missing, and ...", func(n *numbers) *int32 { return &n.missingWord }},
	{"missingShare", "... this per cent of its bits", func(n *numbers) *int32 { return &n.missingShare }},
	{"surplusTitle", "a title or a word of the payment besides", func(n *numbers) *int32 { return &n.surplusTitle }},
	{"surplusGrammar", "an article or a particle", func(n *numbers) *int32 { return &n.surplusGrammar }},
	{"surplusPatronymic", "a patronymic", func(n *numbers) *int32 { return &n.surplusPatronymic }},
	{"surplusInitial", "an initial", func(n *numbers) *int32 { return &n.surplusInitial }},
	{"surplusSyllable", "a syllable beside an East Asian name", func(n *numbers) *int32 { return &n.surplusSyllable }},
	{"surplusBusiness", "a place or a kind of business beside a person", func(n *numbers) *int32 { return &n.surplusBusiness }},
	{"surplusBetween", "a name between the first and the last name", func(n *numbers) *int32 { return &n.surplusBetween }},
	{"surplusMore", "more for each further one", func(n *numbers) *int32 { return &n.surplusMore }},
	{"surplusOutside", "a name before or behind", func(n *numbers) *int32 { return &n.surplusOutside }},
	{"outsideMost", "the most that words before and behind cost", func(n *numbers) *int32 { return &n.outsideMost }},
	{"surplusGeneric", "a place or a kind of business beside a company", func(n *numbers) *int32 { return &n.surplusGeneric }},
	{"surplusWord", "any other word beside a company", func(n *numbers) *int32 { return &n.surplusWord }},
	{"otherOutsideMost", "the most that words beside a company cost", func(n *numbers) *int32 { return &n.otherOutsideMost }},
	{"wholePerson", "gain where each word of a person's name has its pair", func(n *numbers) *int32 { return &n.wholePerson }},
	{"wholeOther", "the same of a company", func(n *numbers) *int32 { return &n.wholeOther }},
	{"wholeGeneric", "the same where places and kinds of business stand besides", func(n *numbers) *int32 { return &n.wholeGeneric }},
	{"contradiction", "cost of a word that stands where the other name has another", func(n *numbers) *int32 { return &n.contradiction }},
	{"contradictionKnown", "more, where it is a word of its own", func(n *numbers) *int32 { return &n.contradictionKnown }},
	{"formSame", "gain of the same legal form", func(n *numbers) *int32 { return &n.formSame }},
	{"formOther", "cost of another one", func(n *numbers) *int32 { return &n.formOther }},
	{"formPerson", "cost of a legal form where a person is listed", func(n *numbers) *int32 { return &n.formPerson }},
	{"otherParty", "cost where the caller says a person, and no person is listed", func(n *numbers) *int32 { return &n.otherParty }},
	{"provableWords", "words that a near spelling needs to block", func(n *numbers) *int32 { return &n.provableWords }},
	{"commonWord", "a word of fewer bits is common; a near match of common words alone does not block", func(n *numbers) *int32 { return &n.commonWord }},
}

// Constants lists the numbers of the scorer.
func Constants() []Constant {
	list := make([]Constant, 0, len(constants))
	for _, c := range constants {
		list = append(list, Constant{c.name, *c.field(&shipped), c.meaning})
	}
	return list
}

// NewTunedScratch returns a Scratch whose scorer has other values of some constants. Only the evaluator
// uses it, never a verdict.
func NewTunedScratch(values map[string]int32) (*Scratch, error) {
	s, other, found := NewScratch(), shipped, 0
	for _, c := range constants {
		if value, ok := values[c.name]; ok {
			*c.field(&other) = value
			found++
		}
	}
	if found < len(values) {
		return nil, fmt.Errorf("an unknown constant among %v", values)
	}
	s.scorer.numbers = &other
	return s, nil
}

// needed returns the bits from which a name is possible.
func (n *numbers) needed(person bool) int32 {
	if person {
		return n.neededPerson
	}
	return n.neededOther
}

// scoreRange is how many bits beyond the needed ones the highest score stands for.
const scoreRange = 2400

// scoreOf turns bits into a score, 1e-4: ReviewDefault stands for the bits that are needed.
func (n *numbers) scoreOf(said int32, person bool) int32 {
	needed := n.needed(person)
	if said < needed {
		return max(0, said) * ReviewDefault / needed
	}
	return ReviewDefault + min(said-needed, scoreRange-1)*(maxScore-ReviewDefault)/scoreRange
}

// leastBits returns the bits of the lowest score that counts.
func (n *numbers) leastBits(review int32, person bool) int32 {
	return n.needed(person) * review / ReviewDefault
}
