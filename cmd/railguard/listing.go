package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"railguard/engine"
)

// A list verb may need several calls: a page may be short or empty and still have a cursor,
// because a call looks at a bounded part of history.

// Bounds of one listing. The cursor that is shown leads to the rest.
const (
	listRowsMax  = 100_000 // Rows held for one table.
	listPagesMax = 10_000  // Calls of one listing; each looks at 256 segments of history at most.
)

// listing is what a list verb shows.
type listing struct {
	rows []json.RawMessage
	size int             // Bytes in rows.
	last json.RawMessage // The whole last page.
	next string          // Cursor after the last row; "": there are no more rows.
}

// isPaged reports whether a verb lists something with cursors.
func (v *verb) isPaged() bool {
	for i := range v.query {
		if v.query[i].flag == "cursor" {
			return true
		}
	}
	return false
}

// fetchAnswer calls the service once; for a list, as often as needed.
func (v *verb) fetchAnswer(ctx context.Context, c *client, request *call, values map[string]*string, all bool) ([]byte, error) {
	if !v.isPaged() {
		return c.fetchAnswer(ctx, request)
	}
	rows, err := rowsWanted(*values["limit"], all)
	if err != nil {
		return nil, err
	}
	l, err := c.listRows(ctx, request, rows)
	if err != nil {
		return nil, err
	}
	return l.joinPages()
}

func rowsWanted(limit string, all bool) (int, error) {
	if all {
		if limit != "" {
			return 0, usageError("give --limit or --all")
		}
		return listRowsMax, nil
	}
	if limit == "" {
		return engine.PageDefault, nil
	}
	n, err := strconv.Atoi(limit)
	if err != nil || n < 1 || n > listRowsMax {
		return 0, usageError("--limit must be a whole number from 1 to %d", listRowsMax)
	}
	return n, nil
}

// listRows fetches pages until there are enough rows or none is left.
func (c *client) listRows(ctx context.Context, request *call, rows int) (*listing, error) {
	path, query, _ := strings.Cut(request.path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	l := &listing{next: values.Get("cursor")}
	for range listPagesMax {
		values.Set("limit", strconv.Itoa(min(rows-len(l.rows), engine.PageMax)))
		if l.next != "" {
			values.Set("cursor", l.next)
		}
		part := *request
		part.path = path + "?" + values.Encode()
		data, err := c.fetchAnswer(ctx, &part)
		if err != nil {
			return nil, err
		}
		before := l.next
		if err := l.addPage(data); err != nil {
			return nil, err
		}
		if l.next == "" || len(l.rows) >= rows || l.size > answerMax {
			return l, nil
		}
		if l.next == before {
			return nil, errors.New("the service answered a page with the cursor it was asked with")
		}
	}
	return l, nil
}

func (l *listing) addPage(data []byte) error {
	var page struct {
		Data       []json.RawMessage `json:"data"`
		NextCursor *string           `json:"nextCursor"`
	}
	if err := json.Unmarshal(data, &page); err != nil || page.Data == nil {
		return errors.New("the service answered no list")
	}
	l.rows, l.last, l.next = append(l.rows, page.Data...), data, ""
	if page.NextCursor != nil {
		l.next = *page.NextCursor
	}
	for _, row := range page.Data {
		l.size += len(row)
	}
	return nil
}

// joinPages returns the listing as one page: all rows, and the other members of the last page.
func (l *listing) joinPages() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	err := eachMember(l.last, func(m member) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", m.name)
		if m.name != "data" {
			b.Write(m.value)
			return
		}
		b.WriteByte('[')
		b.Write(bytes.Join(asBytes(l.rows), []byte(",")))
		b.WriteByte(']')
	})
	b.WriteByte('}')
	return b.Bytes(), err
}

func asBytes(rows []json.RawMessage) [][]byte {
	all := make([][]byte, len(rows))
	for i, row := range rows {
		all[i] = row
	}
	return all
}

// showMore says that a list goes on, and how to continue it. If there are no rows yet, it says
// "none so far", because later pages may have some.
func showMore(out io.Writer, rows int, cursor string) {
	if rows == 0 {
		fmt.Fprintln(out, "none so far")
	}
	fmt.Fprintf(out, "more: --cursor %s\n", cursor)
}
