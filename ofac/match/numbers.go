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
	initial, slipFold, slipLeast, slipSlope, slipKnown, gainsMost, gainsBeyond int32
}

// lackNumbers weigh words of the listed name that the query lacks.
type lackNumbers struct {
	missingGiven, missingLast, missingAny, missingMiddle, missingShare int32
}

// surplusNumbers weigh words of the query that the listed name lacks.
type surplusNumbers struct{ surplusBetween, surplusOutside, surplusGeneric int32 }

// wholeNumbers weigh what names say as wholes.
type wholeNumbers struct {
	wholePerson, wholeOther, wholeLone, wholeGeneric, contradiction, contradictionKnown, formSame, otherParty int32
}

// shipped are the numbers that the service uses.
var shipped = numbers{
	1730, 2180, 1000,
	pairNumbers{initial: 520, slipFold: 143, slipLeast: 150, slipSlope: 1820, slipKnown: 639, gainsMost: 2800, gainsBeyond: 40},
	lackNumbers{missingGiven: 1078, missingLast: 1300, missingAny: 520, missingMiddle: 84, missingShare: 45},
	surplusNumbers{surplusBetween: 70, surplusOutside: 511, surplusGeneric: 152},
	wholeNumbers{wholePerson: 459, wholeOther: 988, wholeLone: 8000, wholeGeneric: 1200, contradiction: 741, contradictionKnown: 147, formSame: 815, otherParty: 200},
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
	{"slipFold", "cost of a known respelling (Mohammed, Muhammad), and of another spelling with the same fold", func(n *numbers) *int32 { return &n.slipFold }},
	{"slipLeast", "cost of any other difference, and ...", func(n *numbers) *int32 { return &n.slipLeast }},
	{"slipSlope", "... this times how unlike the words are", func(n *numbers) *int32 { return &n.slipSlope }},
	{"slipKnown", "more, where the word written is a word of its own", func(n *numbers) *int32 { return &n.slipKnown }},
	{"gainsMost", "bits of all pairs that count in full", func(n *numbers) *int32 { return &n.gainsMost }},
	{"gainsBeyond", "per cent that the bits beyond count", func(n *numbers) *int32 { return &n.gainsBeyond }},
	{"missingGiven", "a person's first name is missing", func(n *numbers) *int32 { return &n.missingGiven }},
	{"missingLast", "the first last name", func(n *numbers) *int32 { return &n.missingLast }},
	{"missingAny", "a word of a person's name that does not say which word is the last name", func(n *numbers) *int32 { return &n.missingAny }},
	{"missingMiddle", "a middle name, a patronymic, half of an East Asian given name", func(n *numbers) *int32 { return &n.missingMiddle }},
	{"missingShare", "a word of a company is missing: per cent of its bits", func(n *numbers) *int32 { return &n.missingShare }},
	{"surplusBetween", "a name between the first and the last name, an initial, a patronymic", func(n *numbers) *int32 { return &n.surplusBetween }},
	{"surplusOutside", "a name before or behind", func(n *numbers) *int32 { return &n.surplusOutside }},
	{"surplusGeneric", "a place or a kind of business beside a company", func(n *numbers) *int32 { return &n.surplusGeneric }},
	{"wholePerson", "gain where each word of a person's name has its pair", func(n *numbers) *int32 { return &n.wholePerson }},
	{"wholeOther", "the same of a company", func(n *numbers) *int32 { return &n.wholeOther }},
	{"wholeLone", "how like the only word of a company's name must be for that gain, 1e-4", func(n *numbers) *int32 { return &n.wholeLone }},
	{"wholeGeneric", "the same where places and kinds of business stand besides", func(n *numbers) *int32 { return &n.wholeGeneric }},
	{"contradiction", "cost of a word that stands where the other name has another", func(n *numbers) *int32 { return &n.contradiction }},
	{"contradictionKnown", "more, where it is a word of its own", func(n *numbers) *int32 { return &n.contradictionKnown }},
	{"formSame", "gain of the same legal form", func(n *numbers) *int32 { return &n.formSame }},
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
