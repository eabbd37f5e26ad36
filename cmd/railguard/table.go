package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// showAnswer prints an answer as indented JSON or as a table for people. columns selects and
// orders what a list shows. Without columns an object is shown member by member, in the order
// of the answer.
func showAnswer(out io.Writer, data []byte, output string, columns []string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if output == "json" {
		var indented bytes.Buffer
		if err := json.Indent(&indented, data, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, indented.String())
		return err
	}
	var page struct {
		Data       []map[string]json.RawMessage `json:"data"`
		NextCursor *string                      `json:"nextCursor"`
	}
	if err := json.Unmarshal(data, &page); err == nil && page.Data != nil {
		if page.NextCursor == nil || len(page.Data) > 0 {
			showRows(out, page.Data, columns)
		}
		if page.NextCursor != nil {
			showMore(out, len(page.Data), *page.NextCursor)
		}
		return nil
	}
	return showObject(out, data)
}

func showRows(out io.Writer, rows []map[string]json.RawMessage, columns []string) {
	if len(rows) == 0 {
		fmt.Fprintln(out, "none")
		return
	}
	if len(columns) == 0 {
		for _, row := range rows {
			for name := range row {
				columns = append(columns, name)
			}
		}
		slices.Sort(columns)
		columns = slices.Compact(columns)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = plainText(row[column])
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush()
}

// showObject prints an object's members in their order. Lists of objects follow below.
func showObject(out io.Writer, data []byte) error {
	if trimmed := bytes.TrimSpace(data); trimmed[0] != '{' {
		_, err := fmt.Fprintln(out, string(data))
		return err
	}
	var lists []member
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	err := eachMember(data, func(m member) {
		var rows []map[string]json.RawMessage
		if json.Unmarshal(m.value, &rows) == nil && len(rows) > 0 {
			lists = append(lists, m)
			fmt.Fprintf(table, "%s\t%d, below\n", m.name, len(rows))
			return
		}
		if m.value[0] == '{' {
			printNested(table, "  ", m, &lists)
			return
		}
		fmt.Fprintf(table, "%s\t%s\n", m.name, plainText(m.value))
	})
	if err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, m := range lists {
		if err := showList(out, m); err != nil {
			return err
		}
	}
	return nil
}

// printNested prints an object inside another one, with its members indented below its name.
// It collects lists of objects, which are printed later under their path.
func printNested(table io.Writer, indent string, m member, lists *[]member) {
	fmt.Fprintf(table, "%s\t\n", indent[2:]+lastOf(m.name))
	_ = eachMember(m.value, func(inner member) {
		var rows []map[string]json.RawMessage
		path := m.name + "." + inner.name
		switch {
		case json.Unmarshal(inner.value, &rows) == nil && len(rows) > 0:
			*lists = append(*lists, member{path, inner.value})
			fmt.Fprintf(table, "%s%s\t%d, below\n", indent, inner.name, len(rows))
		case inner.value[0] == '{' && len(indent) < nestedMax:
			printNested(table, indent+"  ", member{path, inner.value}, lists)
		default:
			fmt.Fprintf(table, "%s%s\t%s\n", indent, inner.name, plainText(inner.value))
		}
	})
}

// nestedMax bounds the indentation of members.
const nestedMax = 8

func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// showList prints a list of objects as a table. An object or list inside an item becomes one
// cell.
func showList(out io.Writer, m member) error {
	var rows []map[string]json.RawMessage
	var items []json.RawMessage
	if err := json.Unmarshal(m.value, &rows); err != nil {
		return err
	}
	if err := json.Unmarshal(m.value, &items); err != nil {
		return err
	}
	var columns []string // Of all items: a later one may have members that the first has not.
	for _, item := range items {
		err := eachMember(item, func(inner member) {
			if !slices.Contains(columns, inner.name) {
				columns = append(columns, inner.name)
			}
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s:\n", m.name)
	showRows(out, rows, columns)
	return nil
}

type member struct {
	name  string
	value json.RawMessage
}

// eachMember calls visit with each member of an object, in order.
func eachMember(data []byte, visit func(member)) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		visit(member{fmt.Sprint(name), value})
	}
	return nil
}

// plainText returns a JSON value as the text of a cell: strings without quotes and without
// characters that could fool a terminal, anything else compact.
func plainText(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return "-"
	}
	var text string
	if value[0] == '{' {
		return pairsText(value)
	}
	var objects []map[string]json.RawMessage
	if value[0] == '[' && json.Unmarshal(value, &objects) == nil && len(objects) > 0 {
		return rowsText(value)
	}
	if json.Unmarshal(value, &text) != nil {
		var compact bytes.Buffer
		if json.Compact(&compact, value) != nil {
			return string(value)
		}
		text = compact.String()
	}
	return printableText(text)
}

// rowsText returns a list of objects as the text of a cell.
func rowsText(value json.RawMessage) string {
	var rows []json.RawMessage
	_ = json.Unmarshal(value, &rows) // The caller has parsed it already, so there is no error.
	texts := make([]string, len(rows))
	for i, row := range rows {
		texts[i] = plainText(row)
	}
	return strings.Join(texts, "; ")
}

// pairsText returns an object as the text of a cell: names and values.
func pairsText(value json.RawMessage) string {
	var pairs []string
	_ = eachMember(value, func(m member) { pairs = append(pairs, printableText(m.name)+" "+plainText(m.value)) })
	return strings.Join(pairs, ", ")
}

// printableText replaces the characters of a text that could fool a terminal. A control of direction,
// which would show other words than are there, is written as its escape.
func printableText(text string) string {
	if strings.ContainsFunc(text, turnsText) {
		var b strings.Builder
		for _, r := range text {
			if turnsText(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '\ufffd'
		}
		return r
	}, text)
}

// turnsText reports whether a character is a control of direction.
func turnsText(r rune) bool {
	return r == 0x200e || r == 0x200f || r == 0x061c || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
