package httpapi

import (
	"encoding/base64"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/strictjson"
)

// rowScanMax is how many rows of the state one list call looks at: a filter that
// hardly anything passes gives a short page and a cursor, never a long wait.
const rowScanMax = 65_536

// rowPage is what a list call asks for (decision 31, "Pages").
type rowPage struct {
	kind      string
	limit     int
	ascending bool
	after     uint64 // The last row of the page before; 0 on the first.
}

// page reads limit, order and cursor. A cursor belongs to one list and order.
func (c *call) page(kind string) (rowPage, error) {
	p := rowPage{kind: kind, limit: engine.PageDefault}
	if text := c.query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > engine.PageMax {
			return p, invalidField("limit", "must be a whole number from 1 to "+strconv.Itoa(engine.PageMax))
		}
		p.limit = n
	}
	switch c.query("order") {
	case "", "desc":
	case "asc":
		p.ascending = true
	default:
		return p, invalidField("order", "must be asc or desc")
	}
	if text := c.query("cursor"); text != "" {
		after, ok := parseRowCursor(p.cursorKind(), text)
		if !ok {
			return p, invalidField("cursor", "is not a cursor of this list")
		}
		p.after = after
	}
	return p, nil
}

func (p rowPage) cursorKind() string {
	if p.ascending {
		return p.kind + "+"
	}
	return p.kind + "-"
}

// scan calls visit with the rows of a table of count rows, numbered from 1, in
// the page's order, until visit has said "listed" often enough. It returns the
// cursor behind the last row looked at, "" when nothing is left.
func (p rowPage) scan(count uint64, visit func(row uint64) (listed bool)) (next string) {
	row, last, step := count, uint64(0), ^uint64(0)
	if p.after != 0 && p.after <= count {
		row = p.after - 1
	}
	if p.ascending {
		row, last, step = p.after+1, count+1, 1
	}
	listed := 0
	for looked := 0; row != last; row, looked = row+step, looked+1 {
		if listed == p.limit || looked == rowScanMax {
			return rowCursor(p.cursorKind(), row-step)
		}
		if row > count {
			break // An ascending cursor behind the end.
		}
		if visit(row) {
			listed++
		}
	}
	return ""
}

// rowCursor makes an opaque cursor.
func rowCursor(kind string, n uint64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + strconv.FormatUint(n, 36)))
}

// parseRowCursor reads one; false for anything but a cursor of this kind.
func parseRowCursor(kind, text string) (uint64, bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > engine.FieldMax {
		return 0, false
	}
	rest, ok := strings.CutPrefix(string(data), kind+":")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(rest, 36, 64)
	return n, err == nil && n != 0
}

// list answers with one page.
func (c *call) list(items []strictjson.Members, next string) error {
	var m strictjson.Members
	m.List("data", items)
	m.TextOrNull("nextCursor", next)
	m.Uint("asOfIndex", c.judge.Index)
	c.reply(200, m)
	return nil
}
