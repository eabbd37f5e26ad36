package casework

import (
	"bytes"
	"encoding/csv"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/valyala/fastjson"

	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The forms of a report's packet: JSON for programs, a page to print, the payments as a
// table (which filers attach), and a draft of a FinCEN batch file (sar_fincen.go). Filing
// happens elsewhere.

var sarForms = map[string]func(*border.Request, *sarPacket) (border.Answer, error){"": jsonPacket, "json": jsonPacket, "html": printPacket, "csv": tabulatePacket, "xml": draftPacket}

func jsonPacket(c *border.Request, p *sarPacket) (border.Answer, error) {
	return c.Reply(http.StatusOK, p.members), nil
}

// SarColumns are the columns of the table of payments.
var SarColumns = []string{"txnId", "screenedAt", "amountUSD", "verdict", "rule", "disposition", "chain", "rail", "cpName", "cpWallet"}

// tabulatePacket answers with the payments of the pair as CSV.
func tabulatePacket(c *border.Request, p *sarPacket) (border.Answer, error) {
	return tabulateRows(c, "sar-"+p.record.Text("txnId"), SarColumns, p.did.rows)
}

// tabulateRows answers with rows as CSV, to be saved as a file.
func tabulateRows(c *border.Request, name string, columns []string, rows [][]string) (border.Answer, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	if err := w.Write(columns); err != nil {
		return border.Answer{}, err
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = border.CSVCell(text)
		}
		if err := w.Write(cells); err != nil {
			return border.Answer{}, err
		}
	}
	if w.Flush(); w.Error() != nil {
		return border.Answer{}, w.Error()
	}
	attach(c, name+".csv")
	return c.Send(http.StatusOK, []string{"text/csv; charset=utf-8"}, out.Bytes()), nil
}

// attach makes browsers save an answer as a file.
func attach(c *border.Request, name string) {
	c.SetHeader("Content-Disposition", `attachment; filename="`+name+`"`)
}

// printPacket answers with the packet as a page to print. The page has no script, no style
// and loads nothing.
func printPacket(c *border.Request, p *sarPacket) (border.Answer, error) {
	return printPage(c, "Confidential: suspicious activity "+p.record.Text("txnId"), "Confidential: suspicious activity report", p.members)
}

// printPage answers with members as a page to print.
func printPage(c *border.Request, title, heading string, members strictjson.Members) (border.Answer, error) {
	v, err := fastjson.ParseBytes(members.Body())
	if err != nil {
		return border.Answer{}, err
	}
	var b strings.Builder
	b.WriteString(pageTop(c, title, heading))
	printObject(&b, v, 2)
	b.WriteString(pageEnd)
	return c.Send(http.StatusOK, []string{"text/html; charset=utf-8"}, []byte(b.String())), nil
}

// pageTop begins a page to print.
func pageTop(c *border.Request, title, heading string) string {
	c.SetHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; form-action 'none'; base-uri 'none'")
	return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + html.EscapeString(title) + "</title></head><body>\n<h1>" + html.EscapeString(heading) + "</h1>\n"
}

const pageEnd = "</body></html>\n"

// printedWords replace member names that mean little on a printed page.
var printedWords = map[string]string{"txnId": "Transaction", "bsaId": "Id of the filing", "dueAt": "To be filed by", "narrativeIsDraft": "Narrative is a skeleton", "complete": "All are counted"}

// printedLabel is the name of a member as words: openedAt is "Opened at".
func printedLabel(name string) string {
	if words, known := printedWords[name]; known {
		return words
	}
	if rest, ok := strings.CutPrefix(name, "cp"); ok && rest != "" && unicode.IsUpper(rune(rest[0])) {
		name = "counterparty" + rest
	}
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		switch begins := i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]); {
		case i == 0:
			r = unicode.ToUpper(r)
		case begins && i+1 < len(runes) && unicode.IsUpper(runes[i+1]): // An acronym such as USDC stays as it is.
			b.WriteByte(' ')
		case begins:
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// printObject prints plain members as a table, multi-line texts unchanged, and nested
// values below.
func printObject(b *strings.Builder, v *fastjson.Value, level int) {
	type part struct {
		name  string
		value *fastjson.Value
	}
	var inner []part
	b.WriteString("<table>\n")
	v.GetObject().Visit(func(key []byte, value *fastjson.Value) {
		switch text := string(value.GetStringBytes()); {
		case value.Type() == fastjson.TypeObject, value.Type() == fastjson.TypeArray && len(value.GetArray()) > 0, strings.Contains(text, "\n"):
			inner = append(inner, part{string(key), value})
		default:
			b.WriteString("<tr><th scope=\"row\" align=\"left\">" + html.EscapeString(printedLabel(string(key))) + "</th><td>" + printCell(value) + "</td></tr>\n")
		}
	})
	b.WriteString("</table>\n")
	tag := "h" + strconv.Itoa(min(level, 6))
	for _, p := range inner {
		b.WriteString("<" + tag + ">" + html.EscapeString(printedLabel(p.name)) + "</" + tag + ">\n")
		switch p.value.Type() {
		case fastjson.TypeObject:
			printObject(b, p.value, level+1)
		case fastjson.TypeArray:
			printList(b, p.value.GetArray(), level+1)
		default:
			b.WriteString("<pre>" + html.EscapeString(string(p.value.GetStringBytes())) + "</pre>\n")
		}
	}
}

// printList prints plain values as a list, plain objects as rows of one table, and other
// values one after the other.
func printList(b *strings.Builder, items []*fastjson.Value, level int) {
	if items[0].Type() != fastjson.TypeObject {
		b.WriteString("<ul>\n")
		for _, item := range items {
			b.WriteString("<li>" + printCell(item) + "</li>\n")
		}
		b.WriteString("</ul>\n")
		return
	}
	columns, plain := printedColumns(items)
	if !plain {
		for _, item := range items {
			printObject(b, item, level)
		}
		return
	}
	printHeads(b, columns)
	for _, item := range items {
		b.WriteString("<tr>")
		for _, column := range columns {
			b.WriteString("<td>" + printCell(item.Get(column)) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
}

// printHeads begins a table.
func printHeads(b *strings.Builder, columns []string) {
	b.WriteString("<table border=\"1\" cellpadding=\"4\">\n<tr>")
	for _, column := range columns {
		b.WriteString("<th scope=\"col\" align=\"left\">" + html.EscapeString(printedLabel(column)) + "</th>")
	}
	b.WriteString("</tr>\n")
}

// printedColumns returns the members of all items, in order of appearance. plain tells that
// no member holds an object or a list.
func printedColumns(items []*fastjson.Value) (columns []string, plain bool) {
	plain = true
	for _, item := range items {
		item.GetObject().Visit(func(key []byte, value *fastjson.Value) {
			plain = plain && value.Type() != fastjson.TypeObject && (value.Type() != fastjson.TypeArray || len(value.GetArray()) == 0)
			if !slices.Contains(columns, string(key)) {
				columns = append(columns, string(key))
			}
		})
	}
	return columns, plain
}

func printCell(v *fastjson.Value) string {
	switch {
	case v == nil, v.Type() == fastjson.TypeNull, v.Type() == fastjson.TypeArray && len(v.GetArray()) == 0:
		return "-"
	case v.Type() == fastjson.TypeString:
		return html.EscapeString(string(v.GetStringBytes()))
	case v.Type() == fastjson.TypeTrue:
		return "yes"
	case v.Type() == fastjson.TypeFalse:
		return "no"
	}
	return html.EscapeString(string(strictjson.AppendValue(nil, v)))
}
