package casework

import (
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/fsm"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// The form follows the steps of OFAC's frequently asked question 5, "How do I determine if I have a
// valid OFAC match?". It is filled in from the newest record of the case and the list that the record
// was judged with. It compares; what follows from it, an officer says.

// comparison holds one detail of the call against the listed party's.
type comparison struct {
	what, asked, listed string
	agrees              *bool // nil: one side has it not, or nobody can tell.
}

// comparisonForm returns the form. Without any record it says why it is empty.
func comparisonForm(c *border.Request, row *fsm.SanctionsRow, records []edge.Leaf) (m strictjson.Members) {
	m.Text("source", "OFAC, frequently asked question 5")
	if len(records) == 0 {
		m.Text("unavailable", "history has no record of this case any more")
		return m
	}
	l := &records[len(records)-1]
	l.CopyTo(&m, "txnId", "screenedAt", "listVersion", "listDigest", "triggered", "matches")
	if code, is := row.Cause.Place(); is {
		writeSteps(&m, placeSteps(l, code), nil)
		return m
	}
	list, gone := c.Judges().ListOf(l)
	uid, named := row.Cause.UID()
	switch {
	case !named:
		m.Text("unavailable", "the registry had found the operator listed, and the list that the record was judged with does not name it: see the agent's registration")
		return m
	case list == nil:
		m.Text("unavailable", gone)
		return m
	}
	entry, known := list.Entry(uid)
	if !known {
		m.Text("unavailable", "that list has no such party")
		return m
	}
	m.Object("listed", listedMembers(&entry))
	compared := comparePartyWith(l, &entry, list)
	writeSteps(&m, partySteps(&entry, compared), compared)
	return m
}

// listedMembers shows what the list says of a party.
func listedMembers(entry *ofac.Entry) (m strictjson.Members) {
	m.Text("uid", border.UintText(uint64(entry.UID)))
	m.Text("name", entry.Primary)
	m.Text("type", entry.Type.String())
	m.Text("list", entry.List)
	m.Texts("sublists", entry.Sublists)
	m.Texts("programs", entry.Programs)
	names := []string{}
	for _, name := range entry.Names[:min(len(entry.Names), caseNamesMax)] {
		names = append(names, name.Full)
	}
	m.Texts("names", names)
	facts := []strictjson.Members{}
	for _, fact := range entry.Facts[:min(len(entry.Facts), caseFactsMax)] {
		var item strictjson.Members
		item.Text("kind", fact.Kind.String())
		item.Optional("label", fact.Label)
		item.Text("value", fact.Value)
		facts = append(facts, item)
	}
	m.List("facts", facts)
	return m
}

// How many names and facts of a party the form shows.
const (
	caseNamesMax = 100
	caseFactsMax = 100
)

// comparePartyWith compares what a record says with the listed party, detail by detail.
func comparePartyWith(l *edge.Leaf, entry *ofac.Entry, list *ofac.Index) (all []comparison) {
	yes, no := true, false
	uid := border.UintText(uint64(entry.UID))
	about := "counterparty"
	for _, match := range l.Value.GetArray("matches") {
		if string(match.GetStringBytes("uid")) != uid {
			continue
		}
		about = string(match.GetStringBytes("party"))
		if match.Exists("identifier") {
			continue // It is compared below, with the other identifiers.
		}
		if wallet := string(match.GetStringBytes("wallet")); wallet != "" {
			all = append(all, comparison{"wallet of the " + about, wallet, wallet, &yes})
			continue
		}
		agrees := (*bool)(nil) // A name that is only similar is for a person to judge.
		if match.GetFloat64("score") == 1 {
			agrees = &yes
		}
		all = append(all, comparison{"name of the " + about, askedName(l, about), string(match.GetStringBytes("alias")), agrees})
	}
	if about != "counterparty" { // The call's other details are the counterparty's.
		return all
	}
	kind := comparison{what: "kind of party", asked: l.Text("_request", "cpType"), listed: entry.Type.String()}
	if kind.asked != "" {
		kind.agrees = &no
		if (kind.asked == "individual") == (entry.Type == ofac.Individual) {
			kind.agrees = &yes
		}
	}
	all = append(all, kind)
	context := ofac.Context{Country: l.Text("_request", "cpCountry"), BirthDate: l.Text("_request", "cpDateOfBirth"), Address: l.Text("_request", "cpAddress")}
	agreements := list.Agreements(entry.UID, &context)
	for _, detail := range []struct {
		what, asked string
		kind        ofac.FactKind
		listed      []ofac.FactKind
	}{
		{"date of birth", context.BirthDate, ofac.FactBirthDate, []ofac.FactKind{ofac.FactBirthDate}},
		{"country", context.Country, ofac.FactNationality, []ofac.FactKind{ofac.FactNationality, ofac.FactCitizenship}},
		{"address", context.Address, ofac.FactPostalAddress, []ofac.FactKind{ofac.FactPostalAddress}},
		{"place of birth", "", ofac.FactBirthPlace, []ofac.FactKind{ofac.FactBirthPlace}},
	} {
		one := comparison{what: detail.what, asked: detail.asked, listed: factsOf(entry, detail.listed)}
		for i := range agreements {
			if agreements[i].Kind == detail.kind {
				one.listed, one.agrees = agreements[i].Listed, &agreements[i].Agrees
			}
		}
		all = append(all, one)
	}
	return append(all, compareIdentifiers(l, entry)...)
}

// askedName returns the name that a record says for whom a match stands.
func askedName(l *edge.Leaf, about string) string {
	switch about {
	case "operator":
		return l.Text("operatorLegalName")
	case "user":
		return l.Text("userId")
	}
	return l.Text("_request", "cpName")
}

// compareIdentifiers holds the identifiers of the call against the listed party's. One that hit stands
// beside the listed one; what did not hit differs from every number that the list has.
func compareIdentifiers(l *edge.Leaf, entry *ofac.Entry) (all []comparison) {
	listed := factsOf(entry, []ofac.FactKind{ofac.FactDocument, ofac.FactVessel})
	for i, asked := range l.Value.GetArray("_request", "cpIdentifiers") {
		one := comparison{what: "identifier " + string(asked.GetStringBytes("type")), asked: string(asked.GetStringBytes("value")), listed: listed}
		if hit := identifierHit(l, entry.UID, i); hit != nil {
			one.listed = strings.TrimSpace(string(hit.GetStringBytes("identifierLabel")) + " " + string(hit.GetStringBytes("identifier")))
			if sure := string(hit.GetStringBytes("why")) == ""; sure {
				one.agrees = &sure
			}
		} else if listed != "" {
			one.agrees = new(bool)
		}
		all = append(all, one)
	}
	if all == nil {
		all = append(all, comparison{what: "identifiers", listed: listed})
	}
	return all
}

// identifierHit returns the match of an identifier of the call with a party; nil if there is none.
func identifierHit(l *edge.Leaf, uid uint32, number int) *fastjson.Value {
	member := "cpIdentifiers[" + strconv.Itoa(number) + "]"
	for _, match := range l.Value.GetArray("matches") {
		if string(match.GetStringBytes("uid")) == border.UintText(uint64(uid)) && string(match.GetStringBytes("member")) == member {
			return match
		}
	}
	return nil
}

// factsOf returns the first listed values of some kinds.
func factsOf(entry *ofac.Entry, kinds []ofac.FactKind) string {
	var values []string
	for _, fact := range entry.Facts {
		if slices.Contains(kinds, fact.Kind) && len(values) < 5 {
			values = append(values, fact.Value)
		}
	}
	return strings.Join(values, "; ")
}

// step is one question of the form.
type step struct{ question, finding string }

// partySteps answers the questions of a hit against a listed party.
func partySteps(entry *ofac.Entry, compared []comparison) []step {
	var agree, differ, open []string
	kind, names := "the call does not say what kind of party it is", "no name was compared: the hit is by wallet or identifier"
	for _, one := range compared {
		switch {
		case one.agrees == nil:
			open = append(open, one.what)
		case *one.agrees:
			agree = append(agree, one.what)
		default:
			differ = append(differ, one.what)
		}
		if one.what == "kind of party" && one.agrees != nil {
			kind = "the call says " + one.asked + ", the list says " + one.listed
		}
		if strings.HasPrefix(one.what, "name of") {
			names = `"` + one.asked + `" against "` + one.listed + `"`
		}
	}
	words := func(list []string) string {
		if len(list) == 0 {
			return "nothing"
		}
		return strings.Join(list, ", ")
	}
	return []step{
		{"1. Is the hit against OFAC's SDN list or targeted countries, or for another reason?", "It is against " + entry.List + ", programs " + words(entry.Programs) + "."},
		{"2. Is one an individual while the other is a vessel, an organisation or a company?", "In the record: " + kind + "."},
		{"3. How much of the listed entry's name is matching?", "In the record: " + names + "."},
		{"4. Compare the complete entry with all the information on the matching name. What is missing?", "One side has it not, or only a person can tell: " + words(open) + "."},
		{"5. Are there a number of similarities or exact matches?", "Agrees: " + words(agree) + ". Differs: " + words(differ) + "."},
	}
}

// placeSteps answers the questions of a hit against a place.
func placeSteps(l *edge.Leaf, code string) []step {
	var says []string
	for _, read := range l.Value.GetArray("places") {
		if string(read.GetStringBytes("read")) == code {
			says = append(says, string(read.GetStringBytes("member"))+" read as "+code)
		}
	}
	for _, name := range []string{"cpCountry", "cpRegion", "originCountry", "cpAddress"} {
		if text := l.Text("_request", name); text != "" {
			says = append(says, name+" "+text)
		}
	}
	if says == nil {
		says = []string{"no country by itself: see the reason of the record"}
	}
	return []step{
		{"1. Is the hit against OFAC's SDN list or targeted countries, or for another reason?", "It is against the place " + code + "."},
		{"2. What of the payment names the place?", "The record says: " + strings.Join(says, ", ") + ". Its reason: " + l.Text("reason")},
		{"3. Does a licence or an exemption cover the payment?", "None was applied to the record, or it would not have been blocked."},
	}
}

func writeSteps(m *strictjson.Members, steps []step, compared []comparison) {
	items := make([]strictjson.Members, len(steps))
	for i, step := range steps {
		items[i].Text("question", step.question)
		items[i].Text("finding", step.finding)
	}
	m.List("steps", items)
	items = make([]strictjson.Members, len(compared))
	for i, one := range compared {
		items[i].Text("what", one.what)
		items[i].TextOrNull("asked", one.asked)
		items[i].TextOrNull("listed", one.listed)
		if one.agrees == nil {
			items[i].Null("agrees")
		} else {
			items[i].Bool("agrees", *one.agrees)
		}
	}
	m.List("comparisons", items)
}
