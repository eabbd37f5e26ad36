package casework

import (
	"bytes"
	"encoding/csv"
	"html"
	"strings"

	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The register of blocked property is answered whole, because a part of it would look like a report.
// It may be long: so it is written piece by piece, from one view of the state, and each piece is
// made in a turn of the scans.

const annualRegulation = "31 CFR 501.603(b)(2)"

// annualByFiler is what the annual report needs and only the filer knows.
var annualByFiler = []string{
	annualRegulation + "(ii)(A): name and address of the holder of the property, and name, telephone and e-mail of a contact",
	annualRegulation + "(ii)(C): the interest of each target in the property, where it is not evident",
	annualRegulation + "(ii)(F): the value as of 30 June, where it is known: valueAsOf says of which day the value is",
}

// propertyColumns are the columns of the register as a table.
var propertyColumns = []string{
	"caseId", "blockedAt", "party", "uid", "place", "targetLocations", "description", "location", "authority", "action", "valueUSD", "valueAsOf", "reference", "releasedAt",
}

const (
	registerPiece = 512 // How many cases one turn looks at.
	registerRows  = 10  // How many entries cost as much as one leaf of an export: they are read from memory.
)

// register is one reading of the register of blocked property.
type register struct {
	c    *border.Request
	view *fsm.View
	asOf engine.Time
	day  engine.Day
}

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
	r := &register{c: c, view: view, asOf: view.Time, day: engine.NewYorkDay(view.Time)}
	if text := c.Query("asOf"); text != "" {
		named, ok := engine.ParseDay(text)
		if !ok || named.EndInNewYork() > view.Time {
			return border.Answer{}, border.BadQuery("asOf", "must be a date such as 2026-06-30 that is over in New York")
		}
		r.asOf, r.day = named.EndInNewYork()-1, named
	}
	head, count := r.head()
	border.ChargeLooked(c, count/registerRows)
	name := "blocked-property-" + dateText(r.day)
	switch form {
	case "html":
		top := pageTop(c, name, "Register of blocked property as of "+dateText(r.day))
		return border.StreamAnswer([]string{"text/html; charset=utf-8"}, func(out *border.Stream) error { return r.writePage(out, top, head) }), nil
	case "csv":
		attach(c, name+".csv")
		return border.StreamAnswer([]string{"text/csv; charset=utf-8"}, r.writeTable), nil
	}
	return border.StreamAnswer(border.JSONType, func(out *border.Stream) error { return r.writeJSON(out, head) }), nil
}

func dateText(day engine.Day) string { return string(day.AppendDate(nil)) }

// head returns what stands before the entries, and how many there are.
func (r *register) head() (m strictjson.Members, count int) {
	total := engine.USD(0)
	r.view.SanctionsCases(0, true, func(row fsm.SanctionsRow) bool {
		if row.BlockedAt(r.asOf) {
			count, total = count+1, total.Plus(row.Facts.Property.Value)
		}
		return true
	})
	_, ends, due := engine.AnnualReport(r.view.Time)
	m.Text("regulation", annualRegulation)
	m.Text("note", noAdvice)
	m.Text("asOf", dateText(r.day))
	m.Int("count", int64(count))
	m.USD("totalUSD", total)
	m.Texts("toBeFilledIn", annualByFiler)
	var annual strictjson.Members
	annual.Text("asOf", dateText(engine.NewYorkDay(ends-1)))
	annual.Text("dueOn", dateText(due))
	m.Object("annualReport", annual)
	return m, count
}

// write calls add with each entry, and sends after each turn what add wrote to piece.
func (r *register) write(out *border.Stream, piece *bytes.Buffer, add func(*entry) error) error {
	for after, more := uint64(0), true; more; {
		err := border.TakeTurn(r.c, func() (failed error) {
			more = false
			looked := 0
			r.view.SanctionsCases(after, true, func(row fsm.SanctionsRow) bool {
				after, looked = row.Leaf, looked+1
				if row.BlockedAt(r.asOf) {
					failed = add(r.entryOf(&row))
				}
				more = looked == registerPiece && failed == nil
				return failed == nil && !more
			})
			return failed
		})
		if err != nil {
			return err
		}
		if _, err := out.Write(piece.Bytes()); err != nil {
			return err
		}
		piece.Reset()
	}
	return nil
}

// writeJSON writes the register as one object.
func (r *register) writeJSON(out *border.Stream, head strictjson.Members) error {
	var piece bytes.Buffer
	piece.WriteString("{" + string(head) + `,"data":[`)
	comma := ""
	err := r.write(out, &piece, func(e *entry) error {
		piece.WriteString(comma + string(e.members().Body()))
		comma = ","
		return nil
	})
	if err != nil {
		return err
	}
	var end strictjson.Members
	end.Uint("asOfIndex", r.view.Index)
	_, err = out.Write([]byte("]," + string(end) + "}"))
	return err
}

// writeTable writes the entries for a spreadsheet.
func (r *register) writeTable(out *border.Stream) error {
	var piece bytes.Buffer
	w := csv.NewWriter(&piece)
	if err := w.Write(propertyColumns); err != nil {
		return err
	}
	w.Flush()
	return r.write(out, &piece, func(e *entry) error {
		cells := e.cells()
		for i, text := range cells {
			cells[i] = border.CSVCell(text)
		}
		if err := w.Write(cells); err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	})
}

// writePage writes the register as a page to print.
func (r *register) writePage(out *border.Stream, top string, head strictjson.Members) error {
	v, err := fastjson.ParseBytes(head.Body())
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(top)
	printObject(&b, v, 2)
	b.WriteString("<h2>Entries</h2>\n")
	printHeads(&b, propertyColumns)
	var piece bytes.Buffer
	piece.WriteString(b.String())
	err = r.write(out, &piece, func(e *entry) error {
		piece.WriteString("<tr>")
		for _, text := range e.cells() {
			if text == "" {
				text = "-"
			}
			piece.WriteString("<td>" + html.EscapeString(text) + "</td>")
		}
		piece.WriteString("</tr>\n")
		return nil
	})
	if err != nil {
		return err
	}
	_, err = out.Write([]byte("</table>\n" + pageEnd))
	return err
}

// entry is one entry of the register.
type entry struct {
	id, blockedAt, uid, place, valueAsOf, reference, releasedAt string
	locations                                                   []string
	property                                                    *wire.BlockedProperty
}

func (r *register) entryOf(row *fsm.SanctionsRow) *entry {
	e := &entry{
		id: idsOf(r.c).CaseID(row.Leaf), blockedAt: row.At.String(), property: row.Facts.Property, reference: row.Facts.Reference,
		valueAsOf: dateText(engine.NewYorkDay(row.At)), locations: targetLocations(r.c, row),
	}
	if uid, is := row.Cause.UID(); is {
		e.uid = border.UintText(uint64(uid))
	}
	e.place, _ = row.Cause.Place()
	if row.Ended != 0 {
		e.releasedAt = row.Ended.String()
	}
	return e
}

func (e *entry) members() (m strictjson.Members) {
	m.Text("caseId", e.id)
	m.Text("blockedAt", e.blockedAt)
	m.Text("party", e.property.Party)
	m.Optional("uid", e.uid)
	m.Optional("place", e.place)
	m.Texts("targetLocations", e.locations)
	m.Text("description", e.property.Description)
	m.Text("location", e.property.Location)
	m.TextOrNull("authority", e.property.Authority)
	m.TextOrNull("action", e.property.Action)
	m.USD("valueUSD", e.property.Value)
	m.Text("valueAsOf", e.valueAsOf)
	m.TextOrNull("reference", e.reference)
	m.TextOrNull("releasedAt", e.releasedAt)
	return m
}

// cells returns the entry in the order of propertyColumns.
func (e *entry) cells() []string {
	p := e.property
	return []string{
		e.id, e.blockedAt, p.Party, e.uid, e.place, strings.Join(e.locations, " | "), p.Description, p.Location, p.Authority, p.Action,
		string(engine.AppendUSD(nil, p.Value)), e.valueAsOf, e.reference, e.releasedAt,
	}
}
