package border

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"railguard/edge"
	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// RowScanMax is how many rows of the state one list call examines. A filter that few rows
// pass gives a short page and a cursor, never a long wait.
const RowScanMax = 65_536

// ListQuery is what a list call asks for: how many items, in which order, after which key. A
// cursor is the key of the last item examined, not a count, so items that come or go
// meanwhile shift nothing. A cursor belongs to one list and order; a garbled one, or one of
// another list, is refused.
type ListQuery struct {
	kind      string
	Limit     int
	Ascending bool
	After     []uint64 // The key; nil on the first page.
}

// ReadListQuery reads limit, order and cursor of a list whose key has that many parts.
func (c *Request) ReadListQuery(kind string, parts int) (ListQuery, error) {
	p := ListQuery{kind: kind, Limit: engine.PageDefault}
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > engine.PageMax {
			return p, BadQuery("limit", "must be a whole number from 1 to "+strconv.Itoa(engine.PageMax))
		}
		p.Limit = n
	}
	switch c.Query("order") {
	case "", "desc":
	case "asc":
		p.Ascending = true
	default:
		return p, BadQuery("order", "must be asc or desc")
	}
	if text := c.Query("cursor"); text != "" {
		after, ok := parseCursor(p.cursorKind(), parts, text)
		if !ok {
			return p, NoCursor()
		}
		p.After = after
	}
	return p, nil
}

func NoCursor() *Error { return BadQuery("cursor", "is not a cursor of this list") }

func (p *ListQuery) cursorKind() string {
	if p.Ascending {
		return p.kind + "+"
	}
	return p.kind + "-"
}

// Cursor returns the opaque text of a page that continues after key.
func (p *ListQuery) Cursor(key ...uint64) string { return writeCursor(p.cursorKind(), key...) }

func writeCursor(kind string, key ...uint64) string {
	text := []byte(kind)
	for i, part := range key {
		text = append(text, ":."[min(i, 1)])
		text = strconv.AppendUint(text, part, 36)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor reads a cursor. It returns false unless the cursor is of this kind and has
// that many parts.
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

// RowQuery asks for a page of a table of the state. The key is a row's number, from 1.
type RowQuery struct {
	ListQuery
	After uint64   // The last row of the page before; 0 on the first.
	call  *Request // The call, which rests between rows; nil: it does not rest.
}

// ReadRowQuery reads limit, order and cursor for a table of the state.
func (c *Request) ReadRowQuery(kind string) (RowQuery, error) {
	p, err := c.ReadListQuery(kind, 1)
	if err != nil || p.After == nil {
		return RowQuery{ListQuery: p, call: c}, err
	}
	if p.After[0] == 0 {
		return RowQuery{ListQuery: p}, NoCursor()
	}
	return RowQuery{ListQuery: p, After: p.After[0], call: c}, nil
}

// Scan calls visit with the rows of a table, numbered from 1 to count, in the page's order,
// until visit has returned true for a full page. It returns the cursor after the last row
// examined, or "" when no rows are left.
func (p RowQuery) Scan(count uint64, visit func(row uint64) (listed bool)) (next string) {
	row, last, step := count, uint64(0), ^uint64(0)
	if p.After != 0 && p.After <= count {
		row = p.After - 1
	}
	if p.Ascending {
		row, last, step = p.After+1, count+1, 1
	}
	listed := 0
	for looked := 0; row != last; row, looked = row+step, looked+1 {
		if listed == p.Limit || looked == RowScanMax {
			return p.Cursor(row - step)
		}
		if row > count {
			break // The cursor is ascending and beyond the end.
		}
		if p.call != nil {
			RestBetween(p.call)
		}
		if visit(row) {
			listed++
		}
	}
	return ""
}

// Listing is a page that is written item by item. It keeps nothing of an item that is
// written, and its buffer is reused: a page of 500 records is a megabyte, and allocating
// one per call would be most of the garbage collector's work.
type Listing struct {
	c     *Request
	room  *[]byte
	Count int
}

// pageRooms pools the buffers of sent pages, each of at most pageRoomKept bytes.
var pageRooms = sync.Pool{New: func() any { return new([]byte) }}

func NewListing(c *Request) *Listing {
	l := &Listing{c: c, room: pageRooms.Get().(*[]byte)}
	c.shown = l
	*l.room = append((*l.room)[:0], `{"data":[`...)
	return l
}

// Add writes one item directly into the list. After an error the list cannot be sent.
func (l *Listing) Add(fill func(m *strictjson.Members) error) error {
	list := (*strictjson.Members)(l.room)
	if l.Count > 0 {
		*list = append(*list, ',')
	}
	*list = append(*list, '{')
	err := fill(list)
	list.EndObject()
	l.Count++
	return err
}

// End answers with the list.
func (l *Listing) End(next string) (Answer, error) {
	m := strictjson.Members(append(*l.room, ']'))
	endPage(l.c, &m, next)
	*l.room = append(m, '}')
	return l.c.Send(http.StatusOK, JSONType, *l.room), nil
}

// giveBack returns the buffer to the pool after the page was written.
func (l *Listing) giveBack() {
	if l != nil && l.room != nil && cap(*l.room) <= pageRoomKept {
		pageRooms.Put(l.room)
	}
}

// AnswerList answers with one page. The page names the log index of the state that the judge
// read. For history this is the last index that this node has applied.
func (c *Request) AnswerList(items []strictjson.Members, next string) (Answer, error) {
	m := c.Out[:0]
	m.List("data", items)
	endPage(c, &m, next)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

// AnswerListWith is AnswerList with further members before its end.
func (c *Request) AnswerListWith(more strictjson.Members, items []strictjson.Members, next string) (Answer, error) {
	m := c.Out[:0]
	m.List("data", items)
	m.Join(more)
	endPage(c, &m, next)
	c.Out = m
	return c.Reply(http.StatusOK, m), nil
}

// endPage writes the last members of a page.
func endPage(c *Request, m *strictjson.Members, next string) {
	if c.Judge.Index == 0 {
		c.Judge.Index = c.border.deps.Published.Applied()
	}
	m.TextOrNull("nextCursor", next)
	m.Uint("asOfIndex", c.Judge.Index)
}

// A misspelt, garbled or empty parameter would be a filter that filters nothing: the answer
// would hold everything and look right. So each route declares its parameters, the query is
// read once, and an error in it gives 400 with the parameter's name.

// parameter is one name and value of a query.
type parameter struct{ name, value string }

// BadQuery is the refusal of a query parameter.
func BadQuery(name, message string) *Error {
	e := NewError(http.StatusBadRequest, "bad_request", "the query parameter "+name+" "+message)
	e.Param = name
	return e
}

// readQuery reads the query of a call whose route is known. It refuses parameters that the
// route does not declare: the caller meant something by them.
func (c *Request) readQuery() error {
	text := c.r.URL.RawQuery
	if text == "" {
		return nil
	}
	waits := c.route.Parameters != nil || c.route.Method == http.MethodGet // The route takes consistency.
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		p, err := readParameter(pair)
		if err != nil {
			return err
		}
		flag := slices.Contains(c.route.Parameters, p.name+"?")
		switch {
		case !flag && !(waits && p.name == "consistency") && !slices.Contains(c.route.Parameters, p.name):
			return BadQuery(p.name, "is not known here")
		case !flag && strings.TrimSpace(p.value) == "":
			return BadQuery(p.name, "is empty: leave it out, or give it a value")
		case !flag && c.HasQuery(p.name):
			return BadQuery(p.name, "stands twice")
		case p.name == "reason" && len(p.value) > engine.FieldMax: // It goes into a leaf, see noteLook.
			return BadQuery(p.name, "is longer than "+strconv.Itoa(engine.FieldMax)+" bytes")
		}
		c.parameters = append(c.parameters, p)
	}
	return nil
}

// readParameter reads one name and value: percent-encoded UTF-8 without control characters.
func readParameter(pair string) (parameter, error) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(rawName)
	if err != nil || !utf8.ValidString(name) || len(name) > parameterNameMax || strings.Contains(pair, ";") {
		return parameter{}, BadQuery(strings.ToValidUTF8(rawName[:min(len(rawName), parameterNameMax)], ""), "cannot be read: it must be percent-encoded UTF-8")
	}
	value, err := url.QueryUnescape(rawValue)
	if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, isControl) {
		return parameter{}, BadQuery(name, "cannot be read: it must be percent-encoded UTF-8")
	}
	return parameter{name, value}, nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// AskByBody makes of a handler that reads its question from the query one that reads it from the
// body: balancers log queries, so a name is better asked for in a body. The members are called as
// the parameters are.
func AskByBody(handle func(*Request) (Answer, error)) func(*Request) (Answer, error) {
	return func(c *Request) (Answer, error) {
		f := c.ReadFields()
		for _, name := range slices.Sorted(maps.Keys(c.route.Shape)) {
			value := ""
			switch name {
			case "limit":
				if number, given := f.Integer(name, 1, engine.PageMax); given {
					value = strconv.FormatInt(number, 10)
				}
			case "explain":
				if flag, given := f.Flag(name); given {
					value = strconv.FormatBool(flag)
				}
			default:
				if value = f.Text(name, engine.TextMax); strings.ContainsFunc(value, isControl) {
					f.Invalid(name, "must have no control characters")
				}
			}
			if value != "" {
				c.parameters = append(c.parameters, parameter{name, value})
			}
		}
		if err := f.Err(); err != nil {
			return Answer{}, err
		}
		return handle(c)
	}
}

// Query returns a query parameter; "" when it is not given.
func (c *Request) Query(name string) string {
	for i := range c.parameters {
		if c.parameters[i].name == name {
			return c.parameters[i].value
		}
	}
	return ""
}

// QueryValues returns all values of a parameter that may be repeated.
func (c *Request) QueryValues(name string) (values []string) {
	for _, p := range c.parameters {
		if p.name == name {
			values = append(values, p.value)
		}
	}
	return values
}

// HasAnyQuery tells whether the call has a query.
func (c *Request) HasAnyQuery() bool { return len(c.parameters) > 0 }

func (c *Request) HasQuery(name string) bool {
	return slices.ContainsFunc(c.parameters, func(p parameter) bool { return p.name == name })
}

// NormaliseQuery returns a query parameter in the form that it is compared in. It refuses a
// value whose normalised form is empty, since that would match anything.
func (c *Request) NormaliseQuery(name string, form func(string) string) (string, error) {
	given := c.Query(name)
	if given == "" {
		return "", nil
	}
	text := form(given)
	if text == "" {
		return "", BadQuery(name, "has nothing to compare in it")
	}
	return text, nil
}

// OperatorQuery reads the parameter operator, an id or a legal name that one operator has; nil:
// it was not sent. It finds operators within the key's scope.
func (c *Request) OperatorQuery() (*engine.OperatorProfile, error) {
	return c.NamedOperator(c.Query("operator"), BadQuery)
}

// NamedOperator is OperatorQuery for a text from elsewhere; bad makes the refusal of an unknown
// one.
func (c *Request) NamedOperator(text string, bad func(param, message string) *Error) (*engine.OperatorProfile, error) {
	if text == "" {
		return nil, nil
	}
	profile, err := c.Judge.KnownOperator(text)
	if refused := (*edge.Refusal)(nil); errors.As(err, &refused) && refused.Code == "not_found" {
		return nil, bad("operator", "is neither an operator's id nor its legal name")
	}
	return profile, err
}

// PartyQuery reads a parameter that names an agent or a user by id.
func PartyQuery(c *Request, name string) (string, error) {
	id := c.Query(name)
	_, agent := c.Judge.Terms.ParseAgent(id)
	if _, user := c.Judge.Terms.ParseUser(id); id != "" && !agent && !user {
		return "", BadQuery(name, "must be an agent's or a user's id")
	}
	return id, nil
}

func ETag(version uint64) string {
	return `"` + UintText(version) + `"`
}

func UintText(n uint64) string { return strconv.FormatUint(n, 10) }

// TimeRange reads ?from= and ?to=. By default, from is span before to.
func TimeRange(c *Request, span engine.Time) (from, to engine.Time, err error) {
	to = c.Published().LogTime()
	if text := c.Query("to"); text != "" {
		var ok bool
		if to, ok = strictjson.ParseTime(text); !ok {
			return 0, 0, BadQuery("to", "must be an ISO 8601 time")
		}
	}
	from = max(to-span, 0)
	if text := c.Query("from"); text != "" {
		var ok bool
		if from, ok = strictjson.ParseTime(text); !ok {
			return 0, 0, BadQuery("from", "must be an ISO 8601 time")
		}
	}
	if from > to {
		return 0, 0, BadQuery("from", "must not be after to")
	}
	return from, to, nil
}

// ListOfVersion returns an activated list; nil where this node no longer has it.
func ListOfVersion(c *Request, version uint64) (list *ofac.Index) {
	for _, info := range c.Settings().History {
		if info.Version == version {
			list, _ = c.Published().ListByDigest(info.Digest)
		}
	}
	return list
}
