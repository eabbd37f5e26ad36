package learning

import (
	"cmp"
	"strconv"

	"railguard/engine"
	"railguard/strictjson"
)

// RowsMax is how many rows a table of the figures has at most, those with the most decisions.
const RowsMax = 500

// Names gives parties the names that people know.
type Names struct {
	Subject  func(subject string) string
	Operator func(id string) string
}

var answerNames = [answers]string{"approved", "rejected", "escalated"}

func (g *group) writeMembers(m *strictjson.Members) {
	m.Uint("decisions", g.decisions())
	for i, name := range answerNames {
		m.Uint(name, g.counts[i])
	}
	if wait, known := g.median(); known {
		m.Int("medianSeconds", int64(wait/engine.Second))
	} else {
		m.Null("medianSeconds")
	}
}

// Write writes the figures.
func (f *Figures) Write(m *strictjson.Members, names Names) {
	var total strictjson.Members
	f.total.writeMembers(&total)
	total.Uint("twoPersons", f.two)
	total.Object("secondLooks", f.total.looks.members())
	m.Object("total", total)
	m.List("officers", list(f.officers, (*officer).weight, cmp.Compare[string], func(m *strictjson.Members, subject string, who *officer) {
		m.Text("subject", subject)
		m.TextOrNull("name", names.Subject(subject))
		who.writeMembers(m)
		m.Object("agreement", counts("seconded", who.seconded, "confirmed", who.confirmed, "withdrawn", who.withdrawn))
		m.Object("reversals", counts("withdrawn", who.withdrawn, "rejudged", who.rejudged, "reopened", who.reopened))
		looks := who.looks.members()
		looks.Uint("given", who.given)
		m.Object("secondLooks", looks)
		m.List("rules", list(who.rules, (*group).decisions, cmp.Compare[string], writeRule))
	}))
	m.List("rules", list(f.rules, (*group).decisions, cmp.Compare[string], writeRule))
	m.List("entries", list(f.entries, (*group).findings, compareEntries, func(m *strictjson.Members, entry Entry, g *group) {
		m.Text("uid", entry.UID)
		m.TextOrNull("list", entry.List)
		m.TextOrNull("name", entry.Name)
		g.writeMembers(m)
		m.Uint("notTheParty", g.otherwise)
		m.Uint("falsePositives", g.falsePositives())
	}))
	m.List("operators", list(f.operators, (*group).decisions, cmp.Compare[string], func(m *strictjson.Members, id string, g *group) {
		m.Text("operatorId", id)
		m.TextOrNull("name", names.Operator(id))
		g.writeMembers(m)
		m.Uint("falsePositives", g.falsePositives())
	}))
	m.List("days", list(f.days, func(*day) uint64 { return 0 }, cmp.Compare[engine.Day], func(m *strictjson.Members, when engine.Day, d *day) {
		m.Text("day", string(when.AppendDate(nil)))
		m.Uint("opened", d.opened)
		d.writeMembers(m)
	}))
}

func (o *officer) weight() uint64 { return o.decisions() }

// falsePositives are the reviews that were approved, and the cases that were of another party.
func (g *group) falsePositives() uint64 { return g.counts[Approved] + g.otherwise }

// findings are all decisions on an entry.
func (g *group) findings() uint64 { return g.decisions() + g.otherwise }

func compareEntries(a, b Entry) int {
	return cmp.Or(cmp.Compare(a.List, b.List), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Name, b.Name))
}

func writeRule(m *strictjson.Members, rule string, g *group) {
	m.Text("rule", rule)
	g.writeMembers(m)
	m.Uint("falsePositives", g.falsePositives())
	m.Object("secondLooks", g.looks.members())
}

// members are the counts of looks as an object. The share is exact: of 10,000 answers so many agree,
// rounded down.
func (l *looks) members() (m strictjson.Members) {
	m = counts("asked", l.asked, "agreed", l.agreed, "disagreed", l.disagreed, "lapsed", l.lapsed)
	if share, known := l.share(); known {
		m.Uint("agreedBasisPoints", share)
	} else {
		m.Null("agreedBasisPoints")
	}
	return m
}

func (l *looks) share() (basisPoints uint64, known bool) {
	if l.agreed+l.disagreed == 0 {
		return 0, false
	}
	return 10_000 * l.agreed / (l.agreed + l.disagreed), true
}

// counts makes an object of names and counts.
func counts(pairs ...any) (m strictjson.Members) {
	for i := 0; i < len(pairs); i += 2 {
		m.Uint(pairs[i].(string), pairs[i+1].(uint64))
	}
	return m
}

// list writes the rows with the most decisions, RowsMax at most.
func list[K comparable, V any](rows map[K]*V, weight func(*V) uint64, compare func(a, b K) int, write func(*strictjson.Members, K, *V)) []strictjson.Members {
	items := []strictjson.Members{}
	for _, key := range sorted(rows, weight, compare) {
		if len(items) == RowsMax {
			break
		}
		var m strictjson.Members
		write(&m, key, rows[key])
		items = append(items, m)
	}
	return items
}

// Columns are the columns of the figures as a table.
var Columns = []string{
	"table", "key", "name", "rule", "opened", "decisions", "approved", "rejected", "escalated", "medianSeconds", "twoPersons", "falsePositives", "notTheParty",
	"seconded", "confirmed", "withdrawn", "rejudged", "reopened",
	"looksAsked", "looksAgreed", "looksDisagreed", "looksLapsed", "looksAgreedBasisPoints", "looksGiven",
}

// Rows returns the same as Write as rows of one table. Cells that say nothing of a row are empty.
func (f *Figures) Rows(names Names) (rows [][]string) {
	add := func(table, key, name, rule string, g *group, more map[string]uint64) {
		cells := map[string]string{"table": table, "key": key, "name": name, "rule": rule, "decisions": number(g.decisions())}
		for i, answer := range answerNames {
			cells[answer] = number(g.counts[i])
		}
		if wait, known := g.median(); known {
			cells["medianSeconds"] = number(uint64(wait / engine.Second))
		}
		if table == "total" || rule != "" || table == "officer" {
			g.looks.addCells(cells)
		}
		for name, count := range more {
			cells[name] = number(count)
		}
		row := make([]string, len(Columns))
		for i, column := range Columns {
			row[i] = cells[column]
		}
		rows = append(rows, row)
	}
	add("total", "", "", "", &f.total, map[string]uint64{"twoPersons": f.two})
	for _, subject := range most(sorted(f.officers, (*officer).weight, cmp.Compare[string])) {
		who := f.officers[subject]
		add("officer", subject, names.Subject(subject), "", &who.group, map[string]uint64{
			"seconded": who.seconded, "confirmed": who.confirmed, "withdrawn": who.withdrawn, "rejudged": who.rejudged, "reopened": who.reopened, "looksGiven": who.given,
		})
		for _, rule := range sorted(who.rules, (*group).decisions, cmp.Compare[string]) {
			add("officer and rule", subject, names.Subject(subject), rule, who.rules[rule], nil)
		}
	}
	for _, rule := range sorted(f.rules, (*group).decisions, cmp.Compare[string]) {
		add("rule", rule, "", rule, f.rules[rule], map[string]uint64{"falsePositives": f.rules[rule].falsePositives()})
	}
	for _, entry := range most(sorted(f.entries, (*group).findings, compareEntries)) {
		g := f.entries[entry]
		add("entry", entry.List+" "+entry.UID, entry.Name, "", g, map[string]uint64{"notTheParty": g.otherwise, "falsePositives": g.falsePositives()})
	}
	for _, id := range most(sorted(f.operators, (*group).decisions, cmp.Compare[string])) {
		add("operator", id, names.Operator(id), "", f.operators[id], map[string]uint64{"falsePositives": f.operators[id].falsePositives()})
	}
	for _, when := range most(sorted(f.days, func(*day) uint64 { return 0 }, cmp.Compare[engine.Day])) {
		d := f.days[when]
		add("day", string(when.AppendDate(nil)), "", "", &d.group, map[string]uint64{"opened": d.opened})
	}
	return rows
}

// addCells writes the counts of looks into a row of the table.
func (l *looks) addCells(cells map[string]string) {
	cells["looksAsked"], cells["looksAgreed"], cells["looksDisagreed"], cells["looksLapsed"] = number(l.asked), number(l.agreed), number(l.disagreed), number(l.lapsed)
	if share, known := l.share(); known {
		cells["looksAgreedBasisPoints"] = number(share)
	}
}

func most[K any](keys []K) []K { return keys[:min(len(keys), RowsMax)] }

func number(n uint64) string { return strconv.FormatUint(n, 10) }
