package further

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// readOwnCSV reads CSV (RFC 4180). The first line names the columns, in any order; id and kind must
// be there. Values of one field are separated by semicolons.
func readOwnCSV(source io.Reader) (Part, error) {
	reader := csv.NewReader(source)
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err != nil {
		return Part{}, csvError(err)
	}
	if len(header) > columnsMax {
		return Part{}, refuse(1, "", "%d columns, at most %d", len(header), columnsMax)
	}
	columns := make([]string, len(header))
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case !slices.Contains(Columns(), name):
			return Part{}, refuse(1, cut(name, columnBytes), "it is none of %s", strings.Join(Columns(), ", "))
		case slices.Contains(columns[:i], name):
			return Part{}, refuse(1, name, "it is there twice")
		}
		columns[i] = name
	}
	for _, name := range []string{"id", "kind"} {
		if !slices.Contains(columns, name) {
			return Part{}, refuse(1, name, "it is missing")
		}
	}
	var all rows
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all.part, nil
		}
		if err != nil {
			return Part{}, csvError(err)
		}
		line, _ := reader.FieldPos(0)
		row, err := rowOf(line, columns, record)
		if err != nil {
			return Part{}, err
		}
		if err := all.add(line, &row); err != nil {
			return Part{}, err
		}
	}
}

func csvError(err error) error {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return refuse(0, "", "the file is empty")
	case errors.As(err, &parse):
		return refuse(parse.Line, "", "%v", parse.Err)
	}
	return err
}

func rowOf(line int, columns, record []string) (row Row, err error) {
	for i, text := range record {
		if len(text) > textBytesMax || !utf8.ValidString(text) {
			return row, refuse(line, columns[i], "%d bytes, at most %d, of UTF-8", len(text), textBytesMax)
		}
		text = strings.Clone(text)
		switch columns[i] {
		case "id":
			row.ID = text
		case "kind":
			row.Kind = text
		case "name":
			row.Name = text
		case "aliases":
			row.Aliases = values(text)
		case "wallets":
			row.Wallets = values(text)
		case "identifiers":
			row.identifiersWritten = values(text)
		case "countries":
			row.Countries = values(text)
		case "reason":
			row.Reason = text
		case "until":
			row.Until = text
		}
	}
	return row, nil
}

// values are the parts of a field that are not empty.
func values(text string) (all []string) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
