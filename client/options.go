package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// CallOption adds to one call what its arguments do not say.
type CallOption func(r *request)

// WithKey gives a call its Idempotency-Key. It goes before one in the arguments.
func WithKey(key string) CallOption { return func(r *request) { r.key = key } }

// WithIfMatch changes just that version: the ETag of a Head. Else the call is refused with 412.
func WithIfMatch(etag string) CallOption { return WithHeader("If-Match", etag) }

// WithMinIndex wants an answer from nothing older than an entry of the log: the Index of an earlier answer.
func WithMinIndex(index uint64) CallOption {
	return WithHeader("X-Railguard-Min-Index", strconv.FormatUint(index, 10))
}

// WithStrict has unknown members of a screening call refused, where they are else judged as absent.
func WithStrict() CallOption { return WithHeader("X-Railguard-Strict", "true") }

// WithHeader sends a header. The client's own (Authorization, Content-Type) stay; Idempotency-Key is WithKey.
func WithHeader(name, value string) CallOption {
	if strings.EqualFold(name, headerKey) {
		return WithKey(value)
	}
	return func(r *request) {
		if r.header == nil {
			r.header = http.Header{}
		}
		r.header.Set(name, value)
	}
}

// WithHead writes the head of the answer into a variable.
func WithHead(into *Head) CallOption { return func(r *request) { r.head = into } }

// Head is what an answer has beside its body. That of a refusal is in Error.
type Head struct {
	Status    int
	ETag      string // The version, for WithIfMatch.
	Index     uint64 // The log entry that the answer rests on, for WithMinIndex; 0: it rests on none.
	RequestID string // Support needs this.
	Replayed  bool   // The answer repeats the first one to this key.
	Attempts  int    // How many attempts were made.
	Header    http.Header
}

func readHead(answer *http.Response) Head {
	index, _ := strconv.ParseUint(answer.Header.Get("X-Railguard-Index"), 10, 64)
	return Head{
		Status: answer.StatusCode, ETag: answer.Header.Get("ETag"), Index: index, RequestID: answer.Header.Get(headerRequestID),
		Replayed: answer.Header.Get("Idempotent-Replayed") == "true", Header: answer.Header,
	}
}

// settling has a call made with the settler's API key.
func (c *Client) settling(options []CallOption) []CallOption {
	return append([]CallOption{func(r *request) { r.apiKey = c.options.SettlerKey }}, options...)
}

// Rows walks a list of the API from the query in path on, page by page: every list with data and nextCursor.
// It ends with the list, or with the first error.
//
//	for agent, err := range client.Rows[Agent](ctx, rail, "/v1/agents?status=ACTIVE") {
func Rows[T any](ctx context.Context, c *Client, path string, options ...CallOption) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for next := path; next != ""; {
			page := new(struct {
				Data []T    `json:"data"`
				Next string `json:"nextCursor"`
			})
			if err := c.Call(ctx, http.MethodGet, next, nil, "", page, options...); err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Data {
				if !yield(&page.Data[i], nil) {
					return
				}
			}
			before := next
			if next = behind(path, page.Next, len(page.Data)); next == before {
				yield(nil, &Error{Status: http.StatusOK, Code: CodeBadAnswer, Outcome: OutcomeNone, Message: "the list does not go on"})
				return
			}
		}
	}
}

// behind returns the path of the next page; "" behind the last. The events' list has no last page: it ends
// for now where a page is empty.
func behind(path, cursor string, rows int) string {
	name := "cursor"
	at, text, _ := strings.Cut(path, "?")
	if at == eventsPath {
		name = "after"
		if rows == 0 {
			return ""
		}
	}
	if cursor == "" {
		return ""
	}
	query, _ := url.ParseQuery(text)
	query.Set(name, cursor)
	return at + "?" + query.Encode()
}

// rawMember returns a value as JSON.stringify writes it: without escapes that HTML would need.
func rawMember(value any) (json.RawMessage, error) {
	var text strings.Builder
	writer := json.NewEncoder(&text)
	writer.SetEscapeHTML(false)
	if err := writer.Encode(value); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(text.String(), "\n")), nil
}
