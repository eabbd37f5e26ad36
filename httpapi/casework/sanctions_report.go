package casework

import (
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// The report of a case has the members that the regulation asks for: 31 CFR 501.604(b) for a
// rejected transaction, 31 CFR 501.603(b)(1) for blocked property, as amended on 10 May 2024
// (docs/sanctions.md says how that was compared). No paragraph lists members for a payment that went
// ahead: its report has what a complete account needs. A paragraph that asks for several things has a
// member for each. What only the filer knows stays empty, and is marked so. Filing happens in
// OFAC's own system.

const (
	rejectedRegulation = "31 CFR 501.604(b)"
	propertyRegulation = "31 CFR 501.603(b)(1)"

	processedRegulation = "31 CFR part 501, appendix A" // Voluntary self-disclosure of an apparent violation.
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
	{"(1)", "Name and address of the person that rejected the transaction, and name and telephone of a contact", byFiler},
	{"(2)", "Type of the transaction", (*caseReport).transactionTypes},
	{"(2)", "Persons that take part in the transaction, and their locations", (*caseReport).participants},
	{"(2)", "Description of the property that is the subject of the transaction", (*caseReport).subjects},
	{"(2)", "Reference numbers, account numbers, dates and what else identifies the transaction", (*caseReport).references},
	{"(3)", "The sanctions target or targets, their location, and, if not evident, their interest in the transaction", (*caseReport).targets},
	{"(4)", "Date on which the transaction was rejected", (*caseReport).dates},
	{"(5)", "Actual or estimated value in U.S. dollars", (*caseReport).values},
	{"(6)", "Legal authority under which the transaction was rejected; \"SDN\" is none", (*caseReport).authorities},
	{"(7)", "Copy of payment instructions and of other documents that were received", (*caseReport).evidence},
}

var propertyMembers = []reportMember{
	{"(ii)(A)", "Name and address of the holder of the property, and name, telephone and e-mail of a contact", byFiler},
	{"(ii)(B)", "Type of the transaction", (*caseReport).transactionTypes},
	{"(ii)(B)", "Persons that take part in the transaction, and their locations", (*caseReport).participants},
	{"(ii)(B)", "Reference numbers, dates and what else identifies the transaction", (*caseReport).references},
	{"(ii)(C)", "The sanctions target or targets, their location, and, if not evident, their interest in the property", (*caseReport).targets},
	{"(ii)(D)", "Description of the property, and its location", (*caseReport).property},
	{"(ii)(E)", "Date on which the property was blocked", (*caseReport).dates},
	{"(ii)(F)", "Actual or estimated value in U.S. dollars", (*caseReport).values},
	{"(ii)(G)", "Action taken with the property, such as a deposit into a blocked, interest-bearing account", (*caseReport).actions},
	{"(ii)(H)", "Legal authority under which the property is blocked; \"SDN\" is none", (*caseReport).authorities},
	{"(ii)(I)", "Copy of payment instructions and of other documents that were received", (*caseReport).evidence},
}

// processedMembers are numbered by us.
var processedMembers = []reportMember{
	{", item 1", "Name and address of the person that processed the transaction, and name and telephone of a contact", byFiler},
	{", item 2", "Where the money is", (*caseReport).whereabouts},
	{", item 3", "Type of the transaction", (*caseReport).transactionTypes},
	{", item 4", "Persons that took part in the transaction, and their locations", (*caseReport).participants},
	{", item 5", "Reference numbers, account numbers, dates and what else identifies the transaction", (*caseReport).references},
	{", item 6", "The sanctions target or targets, their location, and, if not evident, their interest in the transaction", (*caseReport).targets},
	{", item 7", "Date on which it was found", (*caseReport).dates},
	{", item 8", "Value in U.S. dollars", (*caseReport).values},
	{", item 9", "Sanctions programs", (*caseReport).authorities},
	{", item 10", "How it came about that the transaction was not stopped", (*caseReport).verdicts},
	{", item 11", "What was done since, and what prevents it from now on", byFiler},
	{", item 12", "Copy of payment instructions and of other documents that were received", (*caseReport).evidence},
}

// whereabouts says that nothing is held of what was paid.
func (r *caseReport) whereabouts() []string {
	return []string{string(engine.AppendUSD(nil, r.row.Amount)) + " USDC went ahead: the transaction was neither rejected nor blocked, and nothing of it is blocked property"}
}

// verdicts says what was said of the payments when they were asked for, and by which list.
func (r *caseReport) verdicts() []string {
	return r.ofRecords(func(l *edge.Leaf) string {
		return sarVerdict(l) + " List version " + border.UintText(l.Number("listVersion")) + "."
	})
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

func (r *caseReport) subjects() []string {
	return r.ofRecords(func(l *edge.Leaf) string {
		return strings.TrimSuffix(string(l.Raw("_request", "amount"))+" USDC, "+requested(l, "chain", "rail"), ", ")
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
	if entry, known := listedParty(r.c, r.row); known {
		text += ", " + entry.Type.String() + "; programs " + strings.Join(entry.Programs, ", ")
	}
	lines := []string{text}
	for _, address := range targetLocations(r.c, r.row) {
		lines = append(lines, "location: "+address)
	}
	return append(lines, r.ofRecords(func(l *edge.Leaf) string { return interestOf(l, border.UintText(uint64(uid))) })...)
}

// interestOf says as what a payment named a listed party, as far as its record tells.
func interestOf(l *edge.Leaf, uid string) string {
	var as []string
	for _, match := range l.Value.GetArray("matches") {
		if party := string(match.GetStringBytes("party")); string(match.GetStringBytes("uid")) == uid && party != "" && !slices.Contains(as, party) {
			as = append(as, party)
		}
	}
	if as == nil {
		return ""
	}
	return "named as " + strings.Join(as, " and ")
}

// targetLocations returns the addresses of the case's party in the list that this node has.
func targetLocations(c *border.Request, row *fsm.SanctionsRow) (all []string) {
	entry, known := listedParty(c, row)
	if !known {
		return nil
	}
	for _, fact := range entry.Facts {
		if fact.Kind == ofac.FactPostalAddress && len(all) < caseFactsMax {
			all = append(all, fact.Value)
		}
	}
	return all
}

func (r *caseReport) dates() []string {
	return []string{string(engine.NewYorkDay(r.row.At).AppendDate(nil)) + " in New York (" + r.row.At.String() + ")"}
}

func (r *caseReport) values() []string {
	if p := r.blocked(); p != nil {
		return []string{string(engine.AppendUSD(nil, p.Value))}
	}
	return append([]string{string(engine.AppendUSD(nil, r.row.Amount)) + " in " + countedPayments(r.row.Count)},
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
	if entry, known := listedParty(r.c, r.row); known && len(entry.Programs) > 0 {
		return []string{"sanctions programs " + strings.Join(entry.Programs, ", ")}
	}
	return nil
}

func (r *caseReport) actions() []string {
	if p := r.blocked(); p != nil && p.Action != "" {
		return []string{p.Action}
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
		return border.Answer{}, nothingToReport(row.State)
	}
	records, whole, err := caseRecords(c, row)
	if err != nil {
		return border.Answer{}, err
	}
	regulation, members := rejectedRegulation, rejectedMembers
	switch row.Kind {
	case wire.SanctionsProperty:
		regulation, members = propertyRegulation, propertyMembers
	case wire.SanctionsProcessed:
		regulation, members = processedRegulation, processedMembers
	}
	report := &caseReport{c: c, row: row, records: records}
	var m strictjson.Members
	m.Text("regulation", regulation)
	m.Text("note", noAdvice)
	writeCaseHead(c, &m, row, view, view.WorkOn(caseWork(row)))
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

// nothingToReport says that nobody told what to report, or that it is not the party.
func nothingToReport(in uint8) error {
	var extra strictjson.Members
	extra.Text("state", fsm.SanctionsState(in))
	return border.Conflict("invalid_transition", "this case is "+fsm.SanctionsState(in)+": there is a report once TRUE_MATCH says whether a transaction was rejected, property is blocked or a payment went ahead", extra)
}

func countedPayments(n uint64) string {
	if n == 1 {
		return "1 payment"
	}
	return border.UintText(n) + " payments"
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
