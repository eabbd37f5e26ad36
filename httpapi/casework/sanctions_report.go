package casework

import (
	"net/http"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The report of a case has the members that the regulation asks for: 31 CFR 501.604(b) for a
// rejected transaction, 31 CFR 501.603(b)(1) for blocked property. What only the filer knows stays
// empty, and is marked so. Filing happens in OFAC's own system.

const (
	rejectedRegulation = "31 CFR 501.604(b)"
	propertyRegulation = "31 CFR 501.603(b)(1)"
	annualRegulation   = "31 CFR 501.603(b)(2)"
)

// reportMember is one member of a report.
type reportMember struct {
	paragraph string // Of the regulation.
	text      string // What it asks for.
	value     func(*caseReport) []string
}

// caseReport is what the members are filled in from.
type caseReport struct {
	c       *border.Request
	row     *fsm.SanctionsRow
	records []edge.Leaf
}

// byFiler is the value of what only the filer knows.
func byFiler(*caseReport) []string { return nil }

var rejectedMembers = []reportMember{
	{"(1)", "Name and address of the person that rejected the transaction, and name, telephone and e-mail of a contact", byFiler},
	{"(2)(i)", "Type of the transaction", (*caseReport).transactionTypes},
	{"(2)(ii)", "Persons that take part in the transaction, and their locations", (*caseReport).participants},
	{"(2)(iii)", "Reference numbers, dates and what else identifies the transaction", (*caseReport).references},
	{"(3)", "The sanctions target or targets, their location, and their interest in the transaction", (*caseReport).targets},
	{"(4)", "Date on which the transaction was rejected", (*caseReport).dates},
	{"(5)", "Value in U.S. dollars", (*caseReport).values},
	{"(6)", "Legal authority under which the transaction was rejected", (*caseReport).authorities},
	{"(7)", "Copies of payment instructions and of other documents", (*caseReport).evidence},
}

var propertyMembers = []reportMember{
	{"(ii)(A)", "Name and address of the holder of the property, and name, telephone and e-mail of a contact", byFiler},
	{"(ii)(B)(1)", "Type of the transaction", (*caseReport).transactionTypes},
	{"(ii)(B)(2)", "Persons that take part in the transaction, and their locations", (*caseReport).participants},
	{"(ii)(B)(3)", "Reference numbers, dates and what else identifies the transaction", (*caseReport).references},
	{"(ii)(C)", "The sanctions target or targets, their location, and their interest in the property", (*caseReport).targets},
	{"(ii)(D)", "Description of the property and its location", (*caseReport).property},
	{"(ii)(E)", "Date on which the property was blocked", (*caseReport).dates},
	{"(ii)(F)", "Value in U.S. dollars", (*caseReport).values},
	{"(ii)(G)", "Legal authority under which the property is blocked", (*caseReport).authorities},
	{"(ii)(H)", "Copies of payment instructions and of other documents", (*caseReport).evidence},
}

// ofRecords returns what the payments of the case say, each with its transaction.
func (r *caseReport) ofRecords(say func(*edge.Leaf) string) (lines []string) {
	for i := range r.records {
		if text := say(&r.records[i]); text != "" {
			lines = append(lines, r.records[i].Text("txnId")+": "+text)
		}
	}
	return lines
}

// requested joins those members of a request that it has.
func requested(l *edge.Leaf, names ...string) string {
	var parts []string
	for _, name := range names {
		if text := l.Text("_request", name); text != "" {
			parts = append(parts, name+" "+text)
		}
	}
	return strings.Join(parts, ", ")
}

func (r *caseReport) transactionTypes() []string {
	return r.ofRecords(func(l *edge.Leaf) string {
		return strings.TrimSuffix("a payment, "+requested(l, "chain", "rail", "protocol"), ", ")
	})
}

func (r *caseReport) participants() []string {
	return r.ofRecords(func(l *edge.Leaf) string {
		text := "asked for by " + l.Text("operatorLegalName") + " through the agent " + l.Text("agentId")
		if party := requested(l, "cpName", "cpWallet", "cpType", "cpCountry", "cpRegion", "cpAddress", "payerWallet", "originCountry"); party != "" {
			text += "; " + party
		}
		return text
	})
}

func (r *caseReport) references() []string {
	return r.ofRecords(func(l *edge.Leaf) string {
		return strings.TrimSuffix("asked for at "+l.Text("screenedAt")+", "+requested(l, "paymentRef", "travelRuleRef", "memo"), ", ")
	})
}

func (r *caseReport) targets() []string {
	if code, is := r.row.Cause.Place(); is {
		return []string{"the place " + code}
	}
	uid, is := r.row.Cause.UID()
	if !is {
		return nil
	}
	text := "uid " + border.UintText(uint64(uid))
	if name := listedName(r.c, r.row); name != "" {
		text = name + ", " + text
	}
	if list := r.c.Published().List(); list != nil {
		if entry, known := list.Entry(uid); known {
			text += ", " + entry.Type.String() + "; programs " + strings.Join(entry.Programs, ", ")
		}
	}
	return []string{text}
}

func (r *caseReport) dates() []string {
	return []string{string(engine.NewYorkDay(r.row.At).AppendDate(nil)) + " in New York (" + r.row.At.String() + ")"}
}

func (r *caseReport) values() []string {
	if p := r.blocked(); p != nil {
		return []string{string(engine.AppendUSD(nil, p.Value))}
	}
	return append([]string{string(engine.AppendUSD(nil, r.row.Amount)) + " in " + border.UintText(r.row.Count) + " payments"},
		r.ofRecords(func(l *edge.Leaf) string { return string(l.Raw("_request", "amount")) })...)
}

func (r *caseReport) blocked() *wire.BlockedProperty {
	if r.row.Facts == nil {
		return nil
	}
	return r.row.Facts.Property
}

func (r *caseReport) property() []string {
	if p := r.blocked(); p != nil {
		return []string{p.Description, "location: " + p.Location, "of: " + p.Party}
	}
	return nil
}

func (r *caseReport) authorities() []string {
	if p := r.blocked(); p != nil && p.Authority != "" {
		return []string{p.Authority}
	}
	if uid, is := r.row.Cause.UID(); is {
		if list := r.c.Published().List(); list != nil {
			if entry, known := list.Entry(uid); known && len(entry.Programs) > 0 {
				return []string{"sanctions programs " + strings.Join(entry.Programs, ", ")}
			}
		}
	}
	return nil
}

func (r *caseReport) evidence() []string {
	return r.ofRecords(func(l *edge.Leaf) string { return "audit record, leaf hash " + border.LeafHash(l.Data) })
}

// reportColumns are the columns of a report as a table.
var reportColumns = []string{"regulation", "paragraph", "member", "value"}

// showCaseReport is GET /v1/sanctions/cases/{id}/report.
func showCaseReport(c *border.Request) (border.Answer, error) {
	form, err := readForm(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, row, err := loadCase(c)
	if err != nil {
		return border.Answer{}, err
	}
	if row.Kind == 0 {
		return border.Answer{}, caseConflict(row.State)
	}
	records, whole, err := caseRecords(c, row)
	if err != nil {
		return border.Answer{}, err
	}
	regulation, members := rejectedRegulation, rejectedMembers
	if row.Kind == wire.SanctionsProperty {
		regulation, members = propertyRegulation, propertyMembers
	}
	report := &caseReport{c: c, row: row, records: records}
	var m strictjson.Members
	m.Text("regulation", regulation)
	m.Text("note", noAdvice)
	writeCaseHead(c, &m, row, view.Time)
	items, rows := make([]strictjson.Members, len(members)), [][]string{}
	for i, member := range members {
		values := member.value(report)
		items[i].Text("paragraph", regulation+member.paragraph)
		items[i].Text("member", member.text)
		items[i].Texts("values", values)
		items[i].Bool("toBeFilledIn", len(values) == 0)
		if len(values) == 0 {
			values = []string{"TO BE FILLED IN"}
		}
		for _, value := range values {
			rows = append(rows, []string{regulation, member.paragraph, member.text, value})
		}
	}
	m.List("members", items)
	m.Bool("recordsComplete", whole)
	id := idsOf(c).CaseID(row.Leaf)
	return answerForm(c, form, m, "sanctions-"+id, "Report under "+regulation, reportColumns, rows)
}

// readForm reads the query parameter format.
func readForm(c *border.Request) (string, error) {
	switch form := c.Query("format"); form {
	case "", "json", "html", "csv":
		return form, nil
	}
	return "", border.BadQuery("format", "must be json, html or csv")
}

// answerForm answers with a document as JSON, as a page to print or as a table.
func answerForm(c *border.Request, form string, m strictjson.Members, name, heading string, columns []string, rows [][]string) (border.Answer, error) {
	switch form {
	case "html":
		return printPage(c, name, heading, m)
	case "csv":
		return tabulateRows(c, name, columns, rows)
	}
	return c.Reply(http.StatusOK, m), nil
}

// propertyColumns are the columns of the register as a table.
var propertyColumns = []string{"caseId", "blockedAt", "party", "description", "location", "authority", "valueUSD", "reference", "releasedAt"}

// propertyRowsMax is how much property one answer has. A register with more is refused, because a
// part of it would look whole.
const propertyRowsMax = 10_000

// listProperty is GET /v1/sanctions/blocked-property: the register as of the end of a day in New York,
// or as of now. Of 30 June it is the annual report, which is due on 30 September.
func listProperty(c *border.Request) (border.Answer, error) {
	form, err := readForm(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	asOf, day := view.Time, engine.NewYorkDay(view.Time)
	if text := c.Query("asOf"); text != "" {
		named, ok := engine.ParseDay(text)
		if !ok || named.EndInNewYork() > view.Time {
			return border.Answer{}, border.BadQuery("asOf", "must be a date such as 2026-06-30 that is over in New York")
		}
		asOf, day = named.EndInNewYork()-1, named
	}
	items, rows, total, more := []strictjson.Members{}, [][]string{}, engine.USD(0), false
	view.SanctionsCases(0, true, func(row fsm.SanctionsRow) bool {
		if !row.BlockedAt(asOf) {
			return true
		}
		if more = len(items) == propertyRowsMax; more {
			return false
		}
		m, cells := writeProperty(c, &row)
		items, rows, total = append(items, m), append(rows, cells), total.Plus(row.Facts.Property.Value)
		return true
	})
	if more {
		return border.Answer{}, border.Conflict("limit_reached", "the register has more than "+border.UintText(propertyRowsMax)+" entries: read it from the log", nil)
	}
	border.ChargeLooked(c, len(items))
	_, ends, due := engine.AnnualReport(view.Time)
	var m strictjson.Members
	m.Text("regulation", annualRegulation)
	m.Text("note", noAdvice)
	m.Text("asOf", string(day.AppendDate(nil)))
	m.Int("count", int64(len(items)))
	m.USD("totalUSD", total)
	m.Object("annualReport", annualMembers(ends, due))
	m.List("data", items)
	m.Uint("asOfIndex", view.Index)
	c.Judge.Index = view.Index
	name := "blocked-property-" + string(day.AppendDate(nil))
	return answerForm(c, form, m, name, "Register of blocked property as of "+string(day.AppendDate(nil)), propertyColumns, rows)
}

// annualMembers says which annual report is the newest.
func annualMembers(ends engine.Time, due engine.Day) (m strictjson.Members) {
	m.Text("asOf", string(engine.NewYorkDay(ends-1).AppendDate(nil)))
	m.Text("dueOn", string(due.AppendDate(nil)))
	return m
}

// writeProperty writes one entry of the register, as JSON and as cells.
func writeProperty(c *border.Request, row *fsm.SanctionsRow) (m strictjson.Members, cells []string) {
	p, id, released := row.Facts.Property, idsOf(c).CaseID(row.Leaf), ""
	m.Text("caseId", id)
	m.Time("blockedAt", row.At)
	m.Text("party", p.Party)
	m.Text("description", p.Description)
	m.Text("location", p.Location)
	m.TextOrNull("authority", p.Authority)
	m.USD("valueUSD", p.Value)
	m.TextOrNull("reference", row.Facts.Reference)
	if row.Ended != 0 {
		released = row.Ended.String()
	}
	m.TextOrNull("releasedAt", released)
	return m, []string{id, row.At.String(), p.Party, p.Description, p.Location, p.Authority, string(engine.AppendUSD(nil, p.Value)), row.Facts.Reference, released}
}
