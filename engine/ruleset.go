package engine

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

// RuleSet is the rules of a format: which there are, in which order they decide, and the texts
// that records show. A screening record names its rule set, and every release shows the record
// by that set.
type RuleSet struct {
	Number uint16 // Records hold this number instead of the name.
	Name   string // "2026.1"
	Clear  Clear
	Rules  []Rule // In order of precedence: the first row with a hit decides.

	mask     uint32          // Bit n is set if Rn is one of Rules.
	byNumber [RuleBits]uint8 // Position in Rules plus one.
	static   []judgement[Facts]
	live     []judgement[Moment]
}

// Clear holds the texts of ALL_CLEAR. A rule that the policy has off, or in shadow, is not in
// force: nobody may say that it passed.
type Clear struct {
	All   string // Every rule was in force.
	Some  string // Some rules were not in force.
	Which string // Names those, in place of {rules}.
}

// Rule is one row of a rule set.
type Rule struct {
	ID      RuleID
	Code    string // "R6_COUNTERPARTY_WALLET_OFAC"
	Verdict Verdict
	Reasons []string // Fixed texts; sub-reason n is Reasons[n-1].
	judge
}

// judge adds to the frozen text of a rule its function and its documentation. Exactly one of
// Static and Live is set. Their types differ, so a rule cannot be in the wrong column: a static
// rule cannot read rows, a live rule cannot read the list.
type judge struct {
	Static func(*Facts) Sub
	Live   func(*Moment) Sub

	// What the rule looked at, for those who are shown a decision; without it they see the
	// reason alone.
	ComparedStatic func(*Facts) []Compared
	ComparedLive   func(*Moment) []Compared

	Trigger string // When it fires, for docs/RULES.md.
	Default string // What it does without configuration.
	Params  string // What an institution or operator can set.
}

// Compared is one thing that a rule looked at.
type Compared struct {
	Name  string
	Value any // A string ("": not given), a bool, an int, a USD, a Time, words, or for each level such things; nil: there is none.
}

// Compared returns what the rule looked at. moment is nil if the live rules were not judged.
func (r *Rule) Compared(facts *Facts, moment *Moment) []Compared {
	switch {
	case r.ComparedStatic != nil:
		return r.ComparedStatic(facts)
	case r.ComparedLive != nil && moment != nil:
		return r.ComparedLive(moment)
	}
	return nil
}

// wordsIn names the bits of a mask.
func wordsIn(mask uint8, names []string) []string {
	words := []string{}
	for bit := 1; bit < len(names); bit++ {
		if mask&(1<<bit) != 0 {
			words = append(words, names[bit])
		}
	}
	return words
}

// atLevel returns the sub-reason that names a level of the chain; index 0 is the agent itself.
func atLevel(index int) Sub { return Sub(index) + 1 }

// ruleSetTexts are frozen: every record that names a rule set is shown with its text.
//
//go:embed rulesets/*.txt
var ruleSetTexts embed.FS

// textOf returns the text of a rule set.
func textOf(name string) string {
	text, err := ruleSetTexts.ReadFile("rulesets/" + name + ".txt")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text)
}

func fillRules(rows [FormatNewest + 1]*RuleSet) [FormatNewest + 1]*RuleSet {
	for format := Format1 + 1; format <= FormatNewest; format++ {
		if rows[format] == nil {
			rows[format] = rows[format-1]
		}
	}
	return rows
}

// RulesOf returns the rule set of a format. It panics for a format that this binary does not
// know, because nothing of it may be applied.
func RulesOf(format Format) *RuleSet {
	if format < Format1 || format > FormatNewest {
		panic("BUG: rules of a format that this binary does not know")
	}
	return rulesByFormat[format]
}

// NewestRules are the rules of the newest format.
var NewestRules = RulesOf(FormatNewest)

// Rules is the rules of the newest format in order of precedence. It serves uses that do not
// depend on a format: names of metrics, filters, documents. A rule keeps its number and its
// code in every rule set.
var Rules = NewestRules.Rules

// RuleSetNumbered returns the rule set that a record names. It returns nil for one that this
// binary does not know.
func RuleSetNumbered(number uint16) *RuleSet {
	for _, set := range rulesByFormat[Format1:] {
		if set.Number == number {
			return set
		}
	}
	return nil
}

// RuleByID returns the newest row of a rule. It returns nil for 0 (ALL_CLEAR) and for a number
// that no rule has.
func RuleByID(id RuleID) *Rule { return NewestRules.Rule(id) }

// RuleByCode returns the number of a rule from its code or its short name ("R6").
func RuleByCode(code string) (RuleID, bool) { return NewestRules.RuleByCode(code) }

// Rule returns the row of a rule. It returns nil for 0 (ALL_CLEAR) and for a number that no
// rule has.
func (s *RuleSet) Rule(id RuleID) *Rule {
	if id >= RuleBits || s.byNumber[id] == 0 {
		return nil
	}
	return &s.Rules[s.byNumber[id]-1]
}

// RuleByCode returns the number of a rule from its code ("R6_COUNTERPARTY_WALLET_OFAC")
// or its short name ("R6").
func (s *RuleSet) RuleByCode(code string) (RuleID, bool) {
	for i := range s.Rules {
		if rule := &s.Rules[i]; code == rule.Code || code == rule.ID.Short() {
			return rule.ID, true
		}
	}
	return 0, false
}

// Reason returns the fixed text of a decision. For a sub-reason beyond the rule's texts it
// returns the first one. idle is Decision.Idle.
func (s *RuleSet) Reason(id RuleID, sub Sub, idle uint32) string {
	rule := s.Rule(id)
	switch {
	case rule == nil && idle != 0:
		return s.Clear.Some
	case rule == nil:
		return s.Clear.All
	}
	if sub == 0 || int(sub) > len(rule.Reasons) {
		sub = 1
	}
	return rule.Reasons[sub-1]
}

// whichNotAgain is Clear.Which of the rules that a confirmation left out. It is no text of a rule set: no
// screening call says it, and no evidence shows it.
const whichNotAgain = "Not judged again: {rules}."

// FullReason is Reason for those who may see what is behind the wall: of ALL_CLEAR it names the
// rules that were not in force. leftOut are those that were not judged again, of a payment that was
// confirmed or redeemed: they are in idle too, and whether the policy has them off makes no difference.
func (s *RuleSet) FullReason(id RuleID, sub Sub, idle, leftOut uint32) string {
	reason := s.Reason(id, sub, idle)
	if id != 0 {
		return reason
	}
	for _, part := range [...]struct {
		mask uint32
		text string
	}{{idle &^ leftOut, s.Clear.Which}, {idle & leftOut, whichNotAgain}} {
		if part.mask != 0 {
			reason += " " + strings.Replace(part.text, "{rules}", strings.Join(s.Codes(part.mask), ", "), 1)
		}
	}
	return reason
}

// Has reports whether id is ALL_CLEAR or one of the rules.
func (s *RuleSet) Has(id RuleID) bool { return id == 0 || s.Rule(id) != nil }

// HasAll reports whether every bit of a mask is one of the rules.
func (s *RuleSet) HasAll(mask uint32) bool { return mask&^s.mask == 0 }

// ReviewRules returns the mask of the rules whose own verdict is no BLOCK.
func (s *RuleSet) ReviewRules() (mask uint32) {
	for i := range s.Rules {
		if s.Rules[i].Verdict == Review {
			mask |= 1 << s.Rules[i].ID
		}
	}
	return mask
}

// Codes names the rules of a mask in order of precedence.
func (s *RuleSet) Codes(mask uint32) []string {
	codes := []string{}
	for i := range s.Rules {
		if mask&(1<<s.Rules[i].ID) != 0 {
			codes = append(codes, s.Rules[i].Code)
		}
	}
	return codes
}

// joinRules reads a frozen text and gives every rule its judge. Where a rule stands in several
// tables the last one holds. The texts are part of the binary, so a text that cannot be read or
// that has a rule without a judge is our mistake.
func joinRules(text string, judges ...map[RuleID]judge) *RuleSet {
	head, body, _ := strings.Cut(text, "\n\n")
	set := new(RuleSet)
	if n, err := fmt.Sscanf(head, "rule set %s number %d", &set.Name, &set.Number); n != 2 || err != nil {
		panic("BUG: the head of a rule set: " + head)
	}
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n\n") {
		lines := strings.Split(block, "\n\t")
		code, verdict, _ := strings.Cut(lines[0], " ")
		if code == AllClear && len(lines) == 4 {
			set.Clear = Clear{lines[1], lines[2], lines[3]}
			continue
		}
		rule := Rule{ID: numberOfCode(code), Code: code, Verdict: verdictNamed(verdict), Reasons: lines[1:]}
		for _, table := range judges {
			if judge, found := table[rule.ID]; found {
				rule.judge = judge
			}
		}
		if (rule.Static == nil) == (rule.Live == nil) || len(rule.Reasons) == 0 || set.byNumber[rule.ID] != 0 {
			panic("BUG: " + code + " of rule set " + set.Name + " has no reason, two rows or not one judge")
		}
		set.Rules = append(set.Rules, rule)
		set.byNumber[rule.ID] = uint8(len(set.Rules))
		set.mask |= 1 << rule.ID
	}
	if set.Clear == (Clear{}) {
		panic("BUG: rule set " + set.Name + " has no text for what is clear")
	}
	set.static = judgesOf(set.Rules, func(r *Rule) func(*Facts) Sub { return r.Static })
	set.live = judgesOf(set.Rules, func(r *Rule) func(*Moment) Sub { return r.Live })
	return set
}

// numberOfCode returns the number in a rule's code: 6 of "R6_COUNTERPARTY_WALLET_OFAC".
func numberOfCode(code string) RuleID {
	short, _, _ := strings.Cut(code, "_")
	number, err := strconv.ParseUint(strings.TrimPrefix(short, "R"), 10, 8)
	if err != nil || number == 0 || number >= RuleBits {
		panic("BUG: the code of a rule: " + code)
	}
	return RuleID(number)
}

func verdictNamed(word string) Verdict {
	for verdict := Proceed; verdict <= Unknown; verdict++ {
		if verdict.String() == word {
			return verdict
		}
	}
	panic("BUG: no verdict: " + word)
}

// judgement is the part of a rule's row that JudgeStatic and JudgeLive need. It is much smaller
// than the row.
type judgement[F any] struct {
	id    RuleID
	judge func(*F) Sub
}

// judgesOf returns one column of the rules without its empty cells.
func judgesOf[F any](rules []Rule, cell func(*Rule) func(*F) Sub) (filled []judgement[F]) {
	for i := range rules {
		if judge := cell(&rules[i]); judge != nil {
			filled = append(filled, judgement[F]{rules[i].ID, judge})
		}
	}
	return filled
}
