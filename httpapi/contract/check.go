package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Exchange is one request and its answer.
type Exchange struct {
	Method, Path, Query string // As sent; Path is without the query.
	Sent                []byte
	Status              int
	Header              http.Header
	Body                []byte
}

// transport are headers of HTTP itself, which no document lists.
var transport = []string{"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "Content-Security-Policy",
	"Date", "Connection", "Transfer-Encoding", "Access-Control-Allow-Origin", "Vary", "Content-Encoding", "Traceresponse", "Ratelimit", "Ratelimit-Policy"}

// Check compares an exchange with the document. It returns an error for any part of the
// answer that the document does not declare, and for an accepted request that the document
// calls invalid.
func (c *Contract) Check(x *Exchange) error {
	operation, known := c.find(x.Method, x.Path)
	if err := c.checkAnswer(x, operation, known); err != nil {
		return fmt.Errorf("%s %s answered %d: %w", x.Method, x.Path, x.Status, err)
	}
	if operation != nil && x.Status < 300 {
		if err := c.checkAccepted(x, operation); err != nil {
			return fmt.Errorf("%s %s was accepted: %w", x.Method, x.Path, err)
		}
	}
	return nil
}

func (c *Contract) checkAnswer(x *Exchange, operation *Operation, known bool) error {
	status := strconv.Itoa(x.Status)
	if operation == nil && known && c.guests(x.Path) {
		if x.Status != http.StatusMethodNotAllowed || x.Header.Get("Allow") == "" {
			return errors.New("a guest's path takes another method, and does not say which")
		}
		return nil
	}
	if operation == nil {
		return c.checkStrange(x, known)
	}
	i := slices.IndexFunc(operation.Answers, func(a *Answer) bool { return a.Status == status })
	if i < 0 {
		return fmt.Errorf("a status that is not declared: %.300s", x.Body)
	}
	c.saw(operation, status)
	if err := c.checkBody(x, operation.Answers[i]); err != nil {
		return err
	}
	if x.Status < 400 || !isJSON(x.Header) {
		return nil
	}
	code, err := codeOf(x)
	if err != nil || x.Method == http.MethodHead {
		return err
	}
	if !slices.Contains(operation.Codes[status], code) && !slices.Contains(c.common[status], code) {
		return fmt.Errorf("code %q is not declared: %.300s", code, x.Body)
	}
	return nil
}

// guests tells whether a path belongs to a guest handler, which refuses calls in its own
// form.
func (c *Contract) guests(path string) bool {
	return slices.ContainsFunc(c.Operations, func(o *Operation) bool { return o.Guest != "" && o.Path == path })
}

// checkStrange judges the answer to a request that is no operation.
func (c *Contract) checkStrange(x *Exchange, known bool) error {
	want := "NotFound"
	switch {
	case x.Status == http.StatusBadRequest:
		want = "BadRequest"
	case x.Status == http.StatusTooManyRequests:
		want = "RateLimited"
	case x.Status == http.StatusRequestHeaderFieldsTooLarge:
		want = "HeadersTooLarge"
	case x.Status == http.StatusMethodNotAllowed && known:
		want = "MethodNotAllowed"
	case x.Status != http.StatusNotFound:
		return errors.New("no such operation is declared")
	}
	for _, a := range c.strange {
		if a.Status == want+"Response" {
			c.saw(anyOperation, strconv.Itoa(x.Status))
			return c.checkBody(x, a)
		}
	}
	return errors.New("components/responses lacks " + want + "Response")
}

func (c *Contract) checkBody(x *Exchange, a *Answer) error {
	if err := c.checkHeaders(x.Header, a); err != nil {
		return err
	}
	if len(a.Content) == 0 {
		if len(x.Body) > 0 {
			return errors.New("a body, and none is declared")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(x.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("content type: %w", err)
	}
	place, declared := a.Content[media]
	if !declared {
		return fmt.Errorf("content type %s is not declared", media)
	}
	if x.Method == http.MethodHead || place == "" || !isJSON(x.Header) {
		return nil
	}
	return c.valid(place, x.Body)
}

func (c *Contract) checkHeaders(given http.Header, a *Answer) error {
	for name, h := range a.Headers {
		text := given.Get(name)
		if text == "" {
			if h.required {
				return fmt.Errorf("header %s is missing", name)
			}
			continue
		}
		if err := c.validText(h.place, text); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	for name := range given {
		declared := slices.Contains(transport, name)
		for known := range a.Headers {
			declared = declared || http.CanonicalHeaderKey(known) == name
		}
		if !declared && name != "Server-Timing" && name != "Idempotent-Replayed" {
			return fmt.Errorf("header %s is not declared", name)
		}
	}
	return nil
}

// checkAccepted judges a request that was accepted.
func (c *Contract) checkAccepted(x *Exchange, operation *Operation) error {
	query, err := url.ParseQuery(x.Query)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if operation.Query == nil && x.Method != http.MethodGet {
		query = nil // The query is not read.
	}
	for name, values := range query {
		i := slices.IndexFunc(operation.Query, func(p Parameter) bool { return p.Name == name })
		if i < 0 {
			return fmt.Errorf("query parameter %s is not declared", name)
		}
		for _, value := range values {
			if err := c.validText(operation.Query[i].Schema, value); err != nil {
				return fmt.Errorf("query parameter %s: %w", name, err)
			}
		}
	}
	if operation.Body.Schema == "" || operation.Body.YAML && !json.Valid(x.Sent) {
		return nil
	}
	if len(bytes.TrimSpace(x.Sent)) == 0 {
		if operation.Body.Required {
			return errors.New("without the body that is required")
		}
		return nil
	}
	return c.valid(operation.Body.Schema, x.Sent)
}

func (c *Contract) valid(place string, body []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return c.Valid(place, ratable(value))
}

// ratable replaces numbers that the validator would not accept as numbers, since it
// compares fractions written out. The replacement has the same sign and is on the same side
// of one.
func ratable(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = ratable(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = ratable(inner)
		}
	case json.Number:
		if _, ok := new(big.Rat).SetString(string(v)); ok {
			return v
		}
		digits, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if strings.Trim(digits, "-0.") == "" {
			return json.Number("0")
		}
		sign := ""
		if digits[0] == '-' {
			sign = "-"
		}
		if strings.HasPrefix(exponent, "-") {
			return json.Number(sign + "1e-300")
		}
		return json.Number(sign + "1e300")
	}
	return value
}

// Valid checks a value by the schema at a place of the document.
func (c *Contract) Valid(place string, value any) error {
	schema, err := c.Schema(place)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// validText checks a header or parameter; it is a number where the schema says so.
func (c *Contract) validText(place, text string) error {
	at, said := c.resolve(place)
	var value any = text
	if kind := said["type"]; kind == "integer" || kind == "number" {
		value = json.Number(text)
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
	}
	return c.Valid(at, value)
}

func isJSON(h http.Header) bool {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media == "application/json" || strings.HasSuffix(media, "+json") && media != "application/ld+json"
}

func codeOf(x *Exchange) (string, error) {
	var said struct{ Code string }
	if x.Method == http.MethodHead {
		return "", nil
	}
	err := json.Unmarshal(x.Body, &said)
	return said.Code, err
}
