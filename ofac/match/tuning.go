package match

import (
	"fmt"

	"railguard/ofac/index"
)

// tuning holds the numbers by which the scorer judges possible matches. They are fixed:
// `railguard-bench names --sensitivity` shows the effect of changing one, and nothing else
// may change them. Weights and similarities are 1e-4, shares per cent.
type tuning struct {
	pairTuning
	lossTuning
	shareTuning
	Model
}

// Model are the numbers of the evidence, hundredths of a bit.
type Model struct {
	NeedPerson, NeedOther                                                                                                                                                                                    int32
	Initial, SlipGroup, SlipFold, SlipBase, SlipSlope, SlipKnown                                                                                                                                             int32
	WholePerson, WholeOther, SameForm, OtherForm, PersonForm                                                                                                                                                 int32
	MissingGiven, MissingLast, MissingHalf                                                                                                                                                                   int32
	MissingPatronymic, MissingSecond, MissingMiddle, MissingInitial, MinorMost                                                                                                                               int32
	SurplusTitle, SurplusGrammar, SurplusPatronymic, SurplusInitial                                                                                                                                          int32
	GainMost, GainBeyond, ContradictionKnown, OtherContradictionKnown, SurplusSyllable, WholeListed, SurplusGeneric, SurplusBusiness, OutsideMost, OtherOutsideMost, WholeGeneric, SlipJoined, NeedContained int32
	SurplusBetween, SurplusOutside, SurplusMore, Contradiction                                                                                                                                               int32
	MissingWord, MissingShare, SurplusWord, SurplusShare, OtherContradiction                                                                                                                                 int32
}

// Shipped is for experiments.
var Shipped = &shipped.Model

// pairTuning weighs paired words.
type pairTuning struct {
	impreciseBelow, impreciseWeight int32
	initialWeight, initialStrict    int32
	sameFormWeight, onlyFormWeight  int32
	oneWordForm, oneWordFormMin     int32
	oneWordMiddle, oneWordLong      int32
	shortWord                       int32
	provableWords, commonWord       int32
}

// lossTuning weighs words that only one side has.
type lossTuning struct {
	titleLeft, patronymicLeft                      int32
	surplusShare, surplusWhole                     int32
	missingName, missingStrict                     int32
	missingMiddle, missingMiddleStrict, middleMost int32
	missingPatronymic, missingBoth                 int32
}

// shareTuning holds the shares that lower a whole score.
type shareTuning struct {
	shortPairShare                    int32
	bothCloseBelow, bothCloseShare    int32
	commonNames, commonShare          int32
	otherFormShare, otherPartyShare   int32
	partialWordShare                  int32
	formPersonShare, formPersonStrict int32
	otherInitialShare, fatherShare    int32
	officeShare                       int32
}

// shipped are the numbers that the service uses.
var shipped = tuning{
	pairTuning{
		impreciseBelow: 9000, impreciseWeight: index.ImpreciseWeight, initialWeight: 800, initialStrict: 45, sameFormWeight: 1000, onlyFormWeight: 6000,
		oneWordForm: 7700, oneWordFormMin: 5, oneWordMiddle: 9300, oneWordLong: 8800, shortWord: 5, provableWords: 3, commonWord: 6000,
	},
	lossTuning{
		titleLeft: 300, patronymicLeft: 25, surplusShare: 90, surplusWhole: 45, missingName: 45, missingStrict: 80, missingMiddle: 17,
		missingMiddleStrict: 45, middleMost: 9000, missingPatronymic: 50, missingBoth: 35,
	},
	shareTuning{
		shortPairShare: 94, bothCloseBelow: 8800, bothCloseShare: 96, commonNames: 12000, commonShare: 96, otherFormShare: 93, otherPartyShare: 95,
		partialWordShare: 78, formPersonShare: 93, formPersonStrict: 85, otherInitialShare: 94, fatherShare: 90,
		officeShare: 97,
	},
	Model{
		SurplusBusiness: 150, OutsideMost: 1200, OtherOutsideMost: 900, WholeGeneric: 1000, SlipJoined: 400, NeedContained: 1200,
		NeedPerson: 1640, NeedOther: 2060, Initial: 250, SlipGroup: 70, SlipFold: 414, SlipBase: 150, SlipSlope: 2600, SlipKnown: 439, WholePerson: 196, WholeOther: 988, SameForm: 418, OtherForm: 390, PersonForm: 350, MissingGiven: 1078, MissingLast: 1183, MissingHalf: 200, MissingPatronymic: 70, MissingSecond: 15, MissingMiddle: 64, MissingInitial: 70, MinorMost: 520, SurplusTitle: 30, SurplusGrammar: 10, SurplusPatronymic: 100, SurplusInitial: 150, GainMost: 2800, GainBeyond: 40, ContradictionKnown: 300, OtherContradictionKnown: 200, SurplusSyllable: 700, WholeListed: 130, SurplusGeneric: 40, SurplusBetween: 123, SurplusOutside: 1120, SurplusMore: 200, Contradiction: 390, MissingWord: 100, MissingShare: 40, SurplusWord: 100, SurplusShare: 20, OtherContradiction: 200,
	},
}

// Constant is one number of the scorer, for documents and for the evaluator.
type Constant struct {
	Name    string
	Value   int32
	Meaning string
}

// constant describes a field of tuning.
type constant struct {
	name, meaning string
	field         func(*tuning) *int32
}

var constants = [...]constant{
	{"impreciseBelow", "a pair of words below this similarity ...", func(t *tuning) *int32 { return &t.impreciseBelow }},
	{"impreciseWeight", "... weighs at least this much, however common the word", func(t *tuning) *int32 { return &t.impreciseWeight }},
	{"titleLeft", "weight of a title, or a word of the payment, in the query alone", func(t *tuning) *int32 { return &t.titleLeft }},
	{"patronymicLeft", "per cent of its weight that a patronymic in the query alone counts", func(t *tuning) *int32 { return &t.patronymicLeft }},
	{"initialWeight", "weight of an initial that fits", func(t *tuning) *int32 { return &t.initialWeight }},
	{"initialStrict", "per cent of the word's weight that an initial leaves open in the strict score", func(t *tuning) *int32 { return &t.initialStrict }},
	{"sameFormWeight", "weight of a legal form both names have", func(t *tuning) *int32 { return &t.sameFormWeight }},
	{"onlyFormWeight", "the same where the name is one word besides", func(t *tuning) *int32 { return &t.onlyFormWeight }},
	{"oneWordForm", "least similarity of that word", func(t *tuning) *int32 { return &t.oneWordForm }},
	{"oneWordFormMin", "and its least letters", func(t *tuning) *int32 { return &t.oneWordFormMin }},
	{"oneWordMiddle", "least similarity of a one-word name of seven or eight letters", func(t *tuning) *int32 { return &t.oneWordMiddle }},
	{"oneWordLong", "the same of a longer one", func(t *tuning) *int32 { return &t.oneWordLong }},
	{"shortWord", "letters of a word that a slip easily makes another", func(t *tuning) *int32 { return &t.shortWord }},
	{"shortPairShare", "per cent of the score where a person's word of that length is matched by another listed word", func(t *tuning) *int32 { return &t.shortPairShare }},
	{"bothCloseBelow", "a person's two names are both only close, one of them less than this, and the query's are names of their own:", func(t *tuning) *int32 { return &t.bothCloseBelow }},
	{"bothCloseShare", "per cent of the score", func(t *tuning) *int32 { return &t.bothCloseShare }},
	{"commonNames", "two names of a person that weigh less are too common to stand for one with more names:", func(t *tuning) *int32 { return &t.commonNames }},
	{"commonShare", "per cent of the score", func(t *tuning) *int32 { return &t.commonShare }},
	{"otherFormShare", "per cent of the score where words are only close and legal forms differ", func(t *tuning) *int32 { return &t.otherFormShare }},
	{"otherPartyShare", "per cent of the score where a person is said and a company listed", func(t *tuning) *int32 { return &t.otherPartyShare }},
	{"partialWordShare", "per cent of the score where the listed name is one word of several", func(t *tuning) *int32 { return &t.partialWordShare }},
	{"formPersonShare", "per cent of the score where the query has a legal form and a person is listed", func(t *tuning) *int32 { return &t.formPersonShare }},
	{"formPersonStrict", "the same of the strict score", func(t *tuning) *int32 { return &t.formPersonStrict }},
	{"otherInitialShare", "per cent of the score where an initial begins none of the names it could stand for", func(t *tuning) *int32 { return &t.otherInitialShare }},
	{"fatherShare", "per cent of the score where the query's first name is that of the listed person's father", func(t *tuning) *int32 { return &t.fatherShare }},
	{"officeShare", "per cent of the score where an office stands for the first names of a listed person", func(t *tuning) *int32 { return &t.officeShare }},
	{"surplusShare", "per cent of its weight that a word of the query alone counts", func(t *tuning) *int32 { return &t.surplusShare }},
	{"surplusWhole", "the same where the whole listed name of three words is in the query", func(t *tuning) *int32 { return &t.surplusWhole }},
	{"missingName", "per cent of its weight that a first or last name, or a company's word, counts that the query lacks", func(t *tuning) *int32 { return &t.missingName }},
	{"missingStrict", "the same in the strict score", func(t *tuning) *int32 { return &t.missingStrict }},
	{"missingMiddle", "per cent that a person's middle names and second last name count together", func(t *tuning) *int32 { return &t.missingMiddle }},
	{"missingMiddleStrict", "the same in the strict score", func(t *tuning) *int32 { return &t.missingMiddleStrict }},
	{"middleMost", "most weight of them that counts", func(t *tuning) *int32 { return &t.middleMost }},
	{"missingPatronymic", "per cent that a patronymic weighs among them", func(t *tuning) *int32 { return &t.missingPatronymic }},
	{"missingBoth", "per cent that a second last name counts where middle names are missing too", func(t *tuning) *int32 { return &t.missingBoth }},
	{"provableWords", "words a near spelling needs to block", func(t *tuning) *int32 { return &t.provableWords }},
	{"commonWord", "a word that weighs less is common; a near match of common words alone does not block", func(t *tuning) *int32 { return &t.commonWord }},
}

// Constants lists the numbers of the scorer.
func Constants() []Constant {
	list := make([]Constant, 0, len(constants))
	for _, c := range constants {
		list = append(list, Constant{c.name, *c.field(&shipped), c.meaning})
	}
	return list
}

// NewTunedScratch returns a Scratch whose scorer has another value of one constant. Only
// the evaluator uses it, never a verdict.
func NewTunedScratch(name string, value int32) (*Scratch, error) {
	s, other := NewScratch(), shipped
	for _, c := range constants {
		if c.name == name {
			*c.field(&other) = value
			s.scorer.tuned = &other
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown constant %q", name)
}
