package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"railguard/engine"
	"railguard/strictjson"
)

// rowScanMax is how many rows of the state one list call looks at: a filter that
// hardly anything passes gives a short page and a cursor, never a long wait.
const rowScanMax = 65_536

// page is what a list call asks for: how many, in which order, and behind which key.
// A cursor is the key of the last item looked at, never a count of items: what came or
// went meanwhile moves nothing. It belongs to one list and order; one of another list,
// or a garbled one, is refused.
type page struct {
	kind      string
	limit     int
	ascending bool
	after     []uint64 // The key; nil on the first page.
}

// keyPage reads limit, order and cursor of a list whose key has so many parts.
func (c *call) keyPage(kind string, parts int) (page, error) {
	p := page{kind: kind, limit: engine.PageDefault}
	if text := c.query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > engine.PageMax {
			return p, badQuery("limit", "must be a whole number from 1 to "+strconv.Itoa(engine.PageMax))
		}
		p.limit = n
	}
	switch c.query("order") {
	case "", "desc":
	case "asc":
		p.ascending = true
	default:
		return p, badQuery("order", "must be asc or desc")
	}
	if text := c.query("cursor"); text != "" {
		after, ok := parseCursor(p.cursorKind(), parts, text)
		if !ok {
			return p, noCursor()
		}
		p.after = after
	}
	return p, nil
}

func noCursor() *Error { return badQuery("cursor", "is not a cursor of this list") }

func (p *page) cursorKind() string {
	if p.ascending {
		return p.kind + "+"
	}
	return p.kind + "-"
}

// cursor is the opaque text that goes on behind a key.
func (p *page) cursor(key ...uint64) string { return writeCursor(p.cursorKind(), key...) }

func writeCursor(kind string, key ...uint64) string {
	text := []byte(kind)
	for i, part := range key {
		text = append(text, ":."[min(i, 1)])
		text = strconv.AppendUint(text, part, 36)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads a cursor; false for anything but one of this kind and so many parts.
func parseCursor(kind string, parts int, text string) ([]uint64, bool) {
	if len(text) > engine.FieldMax {
		return nil, false
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, false
	}
	rest, ok := strings.CutPrefix(string(data), kind+":")
	texts := strings.Split(rest, ".")
	if !ok || len(texts) != parts {
		return nil, false
	}
	key := make([]uint64, parts)
	for i := range key {
		if key[i], err = strconv.ParseUint(texts[i], 36, 64); err != nil {
			return nil, false
		}
	}
	return key, true
}

// rowPage is a page of a table of the state, whose key is a row's number from 1.
type rowPage struct {
	page
	after uint64 // The last row of the page before; 0 on the first.
	call  *call  // Rests between rows; nil: nobody does.
}

// page reads what is asked for of a table.
func (c *call) page(kind string) (rowPage, error) {
	p, err := c.keyPage(kind, 1)
	if err != nil || p.after == nil {
		return rowPage{page: p, call: c}, err
	}
	if p.after[0] == 0 {
		return rowPage{page: p}, noCursor()
	}
	return rowPage{page: p, after: p.after[0], call: c}, nil
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
			return p.cursor(row - step)
		}
		if row > count {
			break // An ascending cursor behind the end.
		}
		if p.call != nil {
			rest(p.call)
		}
		if visit(row) {
			listed++
		}
	}
	return ""
}

// listing is a page that is written item by item: nothing of an item is held once it
// is written, and its room is used again. A page of 500 records is a megabyte; made
// anew for each call, such pages are what the collector has most to do with.
type listing struct {
	c     *call
	room  *[]byte
	count int
}

// pageRooms holds the room of pages that were sent, of pageRoomKept bytes at most.
var pageRooms = sync.Pool{New: func() any { return new([]byte) }}

func newListing(c *call) *listing {
	l := &listing{c: c, room: pageRooms.Get().(*[]byte)}
	c.shown = l
	*l.room = append((*l.room)[:0], `{"data":[`...)
	return l
}

// add writes one item where it stands in the page, which after an error is to be given up.
func (l *listing) add(fill func(m *strictjson.Members) error) error {
	page := (*strictjson.Members)(l.room)
	if l.count > 0 {
		*page = append(*page, ',')
	}
	*page = append(*page, '{')
	err := fill(page)
	page.End()
	l.count++
	return err
}

// end answers with the page.
func (l *listing) end(next string) (Answer, error) {
	m := strictjson.Members(append(*l.room, ']'))
	listed(l.c, &m, next)
	*l.room = append(m, '}')
	return l.c.send(http.StatusOK, jsonType, *l.room), nil
}

// give gives the room back once the page was written.
func (l *listing) give() {
	if l != nil && l.room != nil && cap(*l.room) <= pageRoomKept {
		pageRooms.Put(l.room)
	}
}

// list answers with one page as of the index that the judge read its state at, or of
// what this node has applied where it read history.
func (c *call) list(items []strictjson.Members, next string) (Answer, error) {
	m := c.out[:0]
	m.List("data", items)
	listed(c, &m, next)
	c.out = m
	return c.reply(http.StatusOK, m), nil
}

// listed ends the members of a page.
func listed(c *call, m *strictjson.Members, next string) {
	if c.judge.Index == 0 {
		c.judge.Index = c.api.deps.Published.Applied()
	}
	m.TextOrNull("nextCursor", next)
	m.Uint("asOfIndex", c.judge.Index)
}

// A parameter that is misspelt, garbled or empty would be a filter that filters
// nothing: everything would come back, and look like the answer. So each route declares
// its parameters, a query is read once, and what is wrong in it is 400 with its name.

// parameter is one name and value of a query.
type parameter struct{ name, value string }

// badQuery is the refusal of a query parameter.
func badQuery(name, message string) *Error {
	e := failure(http.StatusBadRequest, "bad_request", "the query parameter "+name+" "+message)
	e.Param = name
	return e
}

// readQuery reads the query of a call whose route is known, and refuses what that
// route does not declare: a caller who wrote it meant something by it.
func (c *call) readQuery() error {
	text := c.r.URL.RawQuery
	if text == "" {
		return nil
	}
	waits := c.route.parameters != nil || c.route.method == http.MethodGet // Takes consistency.
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		p, err := readParameter(pair)
		if err != nil {
			return err
		}
		flag := slices.Contains(c.route.parameters, p.name+"?")
		switch {
		case !flag && !(waits && p.name == "consistency") && !slices.Contains(c.route.parameters, p.name):
			return badQuery(p.name, "is not known here")
		case !flag && strings.TrimSpace(p.value) == "":
			return badQuery(p.name, "is empty: leave it out, or give it a value")
		case !flag && c.hasQuery(p.name):
			return badQuery(p.name, "stands twice")
		}
		c.parameters = append(c.parameters, p)
	}
	return nil
}

// readParameter reads one pair: percent-encoded UTF-8 without control characters.
func readParameter(pair string) (parameter, error) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil || !utf8.ValidString(name) || len(name) > parameterNameMax || strings.Contains(pair, ";") {
		return parameter{}, badQuery(strings.ToValidUTF8(rawName[:min(len(rawName), parameterNameMax)], ""), "cannot be read: it must be percent-encoded UTF-8")
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, isControl) {
		return parameter{}, badQuery(name, "cannot be read: it must be percent-encoded UTF-8")
	}
	return parameter{name, value}, nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// query returns a query parameter; "" when it is not given.
func (c *call) query(name string) string {
	for i := range c.parameters {
		if c.parameters[i].name == name {
			return c.parameters[i].value
		}
	}
	return ""
}

func (c *call) hasQuery(name string) bool {
	return slices.ContainsFunc(c.parameters, func(p parameter) bool { return p.name == name })
}

// normalised returns a query parameter in the form it is compared in. One of which
// nothing is left would match anything, and is refused.
func (c *call) normalised(name string, form func(string) string) (string, error) {
	given := c.query(name)
	if given == "" {
		return "", nil
	}
	text := form(given)
	if text == "" {
		return "", badQuery(name, "has nothing to compare in it")
	}
	return text, nil
}
