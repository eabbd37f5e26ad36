package bundle

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"railguard/audit/examine"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/ofac"
)

// A chapter tells one case as an examiner reads it: what was asked for, whom on the list it named,
// what was compared, and what officers said of it, each with its words. Every decision that did not
// just proceed has one, and every one that named a listed party. It says what record and list say,
// and no more, so that it follows from the files of the bundle.

// chaptersMax bounds the chapters of a bundle. Its records are complete in their pages all the same.
const chaptersMax = 50_000

// Chapter is one case.
type Chapter struct {
	Leaf     uint64   `json:"leaf"`
	Txn      string   `json:"txnId"`
	Time     string   `json:"time"`
	Verdict  string   `json:"verdict"`
	Rule     string   `json:"rule,omitempty"`
	Reason   string   `json:"reason"`
	Rules    []string `json:"rules,omitempty"` // All that fired.
	Agent    string   `json:"agent,omitempty"`
	Operator string   `json:"operator,omitempty"`
	Amount   string   `json:"amount,omitempty"`
	Told     []Fact   `json:"told,omitempty"`   // What the call said of the payment.
	Listed   []Listed `json:"listed,omitempty"` // Whom it named.
	List     string   `json:"list,omitempty"`   // The list, by name and date.
	Policy   uint64   `json:"policyVersion,omitempty"`
	Steps    []Step   `json:"steps,omitempty"`
	Outcome  string   `json:"outcome,omitempty"` // The last word of officers: what they decided.

	digest string // Of the list, in hex.
}

// Fact is one detail and what it says.
type Fact struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// Listed is one listed party that a decision named.
type Listed struct {
	UID      string   `json:"uid"`
	List     string   `json:"list,omitempty"`
	Name     string   `json:"name,omitempty"`
	Names    []string `json:"names,omitempty"` // All its names.
	Type     string   `json:"type,omitempty"`
	Programs []string `json:"programs,omitempty"`
	How      string   `json:"how"` // What was compared, and what came of it.
	Compared []Pair   `json:"compared,omitempty"`
	Facts    []Fact   `json:"facts,omitempty"`
}

// Pair is one fact that payment and list both gave, as it was compared when the payment was judged.
type Pair struct {
	What   string `json:"what"`
	Asked  string `json:"asked"`
	Listed string `json:"listed"`
	Agrees bool   `json:"agrees"`
}

// Step is what happened to a case, in the words of who did it.
type Step struct {
	Leaf  uint64 `json:"leaf"`
	Time  string `json:"time"`
	What  string `json:"what"`
	Who   string `json:"who,omitempty"`
	Words string `json:"words,omitempty"`
}

// told are the members of a call that a chapter shows, and what they are called.
var told = []Fact{
	{"cpName", "name of the counterparty"}, {"cpType", "type of the counterparty"}, {"cpDateOfBirth", "date of birth"}, {"cpCountry", "country"}, {"cpRegion", "region"}, {"cpAddress", "address"},
	{"cpIdentifiers", "identifiers"}, {"cpWallet", "wallet of the counterparty"}, {"payerWallet", "wallet of the payer"}, {"wallets", "other wallets"}, {"chain", "chain"}, {"rail", "rail"}, {"originCountry", "country of origin"}, {"memo", "memo"}, {"paymentRef", "payment reference"},
}

// listedFacts are the kinds of facts of a listed party that distinguish it from others.
var listedFacts = []ofac.FactKind{
	ofac.FactBirthDate, ofac.FactBirthPlace, ofac.FactNationality, ofac.FactCitizenship, ofac.FactGender, ofac.FactPostalAddress, ofac.FactDocument, ofac.FactVessel, ofac.FactTitle, ofac.FactRemark,
}

// factsMax bounds the facts of one listed party that a chapter shows: some have hundreds of addresses.
const factsMax = 40

// beginChapter makes the chapter of a decision that has one.
func (c *contents) beginChapter(r *row, raw json.RawMessage, x *leafjson.Screen) error {
	var named []match
	if text := x.Edge.Get(leaf.TagMatches); len(text) > 0 {
		if err := json.Unmarshal(text, &named); err != nil {
			return err
		}
	}
	if r.Verdict == engine.Proceed.String() && len(named) == 0 {
		return nil
	}
	if len(c.chapters) == chaptersMax {
		c.chaptersMore++
		return nil
	}
	var said struct {
		Request map[string]json.RawMessage `json:"_request"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return err
	}
	one := &Chapter{
		Leaf: r.Leaf, Txn: r.Txn, Time: r.Time, Verdict: r.Verdict, Rule: r.Rule, Reason: r.Reason, Agent: strings.TrimSpace(r.Agent), Operator: r.Operator, Amount: dollars(r.Amount),
		Policy: x.PolicyVersion,
	}
	if set := x.RuleSet(); set != nil {
		one.Rules = set.Codes(x.Triggered)
	}
	for _, member := range told {
		if value := said.Request[member.What]; len(value) > 0 && string(value) != "null" {
			one.Told = append(one.Told, Fact{member.Value, literalText(value)})
		}
	}
	for i := range named {
		one.Listed = append(one.Listed, Listed{UID: named[i].UID, List: named[i].List, Name: named[i].Name, Type: named[i].Type, Programs: named[i].Programs, How: named[i].words(one.Told), Compared: named[i].Compared})
	}
	if x.ListDigest != [32]byte{} {
		one.digest = hex.EncodeToString(x.ListDigest[:])
	}
	if c.chapterOf == nil {
		c.chapterOf = map[uint64]*Chapter{}
	}
	c.chapters = append(c.chapters, one)
	c.chapterOf[one.Leaf] = one
	return nil
}

// match is one element of a record's matches.
type match struct {
	Party, List, UID, Type, Name, Alias, Quality, Outcome, Why, Wallet, Ticker string
	Programs                                                                   []string
	Compared                                                                   []Pair
	Score, Strict                                                              json.Number
}

// words says what was compared with whom, and what came of it.
func (m *match) words(told []Fact) string {
	of := "what the payment says"
	if m.Party == "counterparty" {
		for _, fact := range told {
			if fact.What == "name of the counterparty" {
				of = "“" + fact.Value + "”"
			}
		}
	} else if m.Party != "" {
		of = "the " + m.Party
	}
	if m.Wallet != "" {
		return strings.TrimSpace("the wallet " + m.Wallet + " of the " + m.Party + " is listed (" + m.Ticker + ") " + m.Why)
	}
	text := of + " was compared with the " + strings.TrimSpace(m.Quality+" name") + " “" + m.Alias + "”"
	if m.Score != "" {
		text += ": score " + m.Score.String() + " of 1"
	}
	if m.Outcome != "" {
		text += ", " + m.Outcome
	}
	if m.Why != "" {
		text += " (" + m.Why + ")"
	}
	return text
}

// dollars writes the literal of an amount for people; any other text unchanged.
func dollars(literal string) string {
	amount, err := engine.ParseUSD(literal)
	if literal == "" || err != nil {
		return literal
	}
	return wordAmount(amount)
}

// addStep adds to the chapter of a decision what happened to it.
func (c *contents) addStep(r *examine.Record) error {
	var said struct {
		ReviewedLeaf, ScreenedLeaf                                                           *uint64
		Type, Disposition, SecondDisposition, From, To, State, Verdict, Assignee, ProposedBy string
		Notes, Comment, Reason, Narrative, ConfirmedFor                                      string
		ReviewedBy, ReviewedByKey, By, Actor, ActorKeyId, ConfirmedByKey, BsaID              string
		Persons                                                                              []string
		Alone, Agrees                                                                        bool
		AmountUSDC                                                                           json.Number
	}
	if err := json.Unmarshal(r.Raw, &said); err != nil {
		return err
	}
	of := said.ReviewedLeaf
	if of == nil {
		of = said.ScreenedLeaf
	}
	if of == nil || c.chapterOf[*of] == nil {
		return nil
	}
	one := c.chapterOf[*of]
	step := Step{Leaf: r.Index, Time: r.Time, What: wordKind(r.Kind, said.Type)}
	detail := join(" ", said.Disposition, said.SecondDisposition, said.Verdict, said.State)
	if said.To != "" {
		detail = join(" ", "from", orNothing(said.From), "to", said.To)
	}
	if said.Assignee != "" {
		detail = join(" ", detail, "to", said.Assignee)
	}
	if said.AmountUSDC != "" {
		detail = join(", ", detail, dollars(said.AmountUSDC.String()))
	}
	if r.Kind == leaf.KindLookAnswered && !said.Agrees {
		detail += ", which is not what was decided"
	}
	step.What = join(": ", step.What, detail)
	step.Who = join(", ", said.ReviewedBy, said.By, said.Actor, join(" ", "key", firstOf(said.ReviewedByKey, said.ActorKeyId)))
	switch {
	case len(said.Persons) > 1:
		step.Who = join("; ", step.Who, "by two persons: "+strings.Join(said.Persons, " and "))
	case said.Alone:
		step.Who = join("; ", step.Who, "alone, though two are needed")
	case said.ProposedBy != "":
		step.Who = join("; ", step.Who, "proposed by "+said.ProposedBy)
	}
	step.Words = join("\n", said.Notes, said.Comment, said.Reason, said.ConfirmedFor, said.Narrative, join(" ", "BSA id", said.BsaID))
	if said.BsaID == "" {
		step.Words = join("\n", said.Notes, said.Comment, said.Reason, said.ConfirmedFor, said.Narrative)
	}
	one.Steps = append(one.Steps, step)
	if r.Kind == leaf.KindDispositioned {
		one.Outcome = join(" by ", said.Disposition, said.ReviewedBy)
	}
	return nil
}

func orNothing(state string) string { return firstOf(state, "nothing") }

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// join joins the texts that say something.
func join(between string, texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, between)
}

// wordKind says a kind of leaf in words.
func wordKind(kind, due string) string {
	if kind == leaf.KindDue {
		kind = due
	}
	if words := kindWords[kind]; words != "" {
		return words
	}
	return strings.NewReplacer(".", " ", "_", " ").Replace(kind)
}

var kindWords = map[string]string{
	leaf.KindDispositioned: "decided", leaf.KindProposed: "proposed, and waits for a second person", leaf.KindWithdrawn: "the proposal was taken back", leaf.KindCommented: "comment",
	leaf.KindClaimed: "taken", leaf.KindAssigned: "given", leaf.KindReleased: "given back", leaf.KindSAROpened: "a suspicious activity report was opened", leaf.KindSARWritten: "its narrative was written", leaf.KindSARMoved: "suspicious activity report", leaf.KindHoldSettled: "paid", leaf.KindHoldReleased: "not paid",
	leaf.KindPaymentConfirmed: "judged again before it was paid", leaf.KindPaymentRedeemed: "judged again when it was paid",
	leaf.DueReviewSLA.String(): "waited for longer than the policy allows", leaf.DueProposal.String(): "the proposal lapsed", leaf.DueApproval.String(): "the approval lapsed", leaf.DueHold.String(): "the hold ended",
	leaf.KindLookAnswered: "looked at again by an officer who did not know what was decided", leaf.DueLook.String(): "nobody looked at it again in time",
	leaf.DueUnresolved.String(): "nobody said what became of it", leaf.DueSAR.String(): "the report is due soon",
}

// describeListed adds to the chapters what the lists say of the parties that they name, and the
// lists' dates. One list is in memory at a time.
func (c *contents) describeListed(from Source) (err error) {
	if c.keysSum, _, err = checksumFile(from, KeysName); err != nil {
		return fileError(KeysName, "%w", err)
	}
	for _, digest := range sortedNames(c.lists) {
		var of []*Chapter
		for _, one := range c.chapters {
			if one.digest == digest {
				of = append(of, one)
			}
		}
		if len(of) == 0 {
			continue
		}
		name := ListFolder + "/" + digest + ListSuffix
		encoded, err := readFile(from, name)
		if errors.Is(err, fs.ErrNotExist) {
			return fileError(name, "is missing")
		}
		if err != nil {
			return fileError(name, "%w", err)
		}
		entities, meta, err := ofac.DecodeEntities(encoded)
		if err != nil {
			return fileError(name, "%w", err)
		}
		parties := map[string]*ofac.Entity{}
		for i := range entities {
			parties[strconv.FormatUint(uint64(entities[i].UID), 10)] = &entities[i]
		}
		dated := wordList(&meta)
		for _, one := range of {
			one.List = dated
			for i := range one.Listed {
				one.Listed[i].describe(parties[one.Listed[i].UID])
			}
		}
		c.listWords[digest] = dated
	}
	return nil
}

// wordList names a list and its date.
func wordList(meta *ofac.Meta) string {
	var parts []string
	day := func(at int64) string { return time.Unix(0, at).UTC().Format("2 January 2006") }
	for _, source := range ofac.Sources() {
		if at := meta.AsOf[source]; at != 0 {
			parts = append(parts, source.String()+" of "+day(at))
		}
	}
	if len(parts) == 0 && meta.PublishedAt != 0 {
		parts = append(parts, join(" of ", meta.Source, day(meta.PublishedAt)))
	}
	if len(parts) == 0 {
		parts = append(parts, firstOf(meta.Source, "a list without a date"))
	}
	for i := range meta.Further {
		parts = append(parts, meta.Further[i].Name)
	}
	if meta.Sample {
		parts = append(parts, "a sample and no published list")
	}
	return strings.Join(parts, ", ")
}

// describe adds what the list says of a party. Two slices are shared with the list: they live as long
// as the chapters.
func (l *Listed) describe(party *ofac.Entity) {
	if party == nil {
		return
	}
	for i := range party.Names {
		if name := party.Names[i].Full; party.Names[i].Primary {
			l.Name, l.Names = name, append([]string{name}, l.Names...)
		} else {
			l.Names = append(l.Names, name)
		}
	}
	l.Type, l.Programs = party.Type.String(), party.Programs
	for _, kind := range listedFacts {
		for i := range party.Facts {
			if party.Facts[i].Kind == kind && len(l.Facts) < factsMax {
				l.Facts = append(l.Facts, Fact{join(", ", kind.String(), party.Facts[i].Label), party.Facts[i].Value})
			}
		}
	}
}
