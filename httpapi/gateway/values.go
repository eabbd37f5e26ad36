package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/strictjson"
)

// unmapped says which value of a request cannot be read as the map says.
type unmapped struct{ member, why string }

func (u *unmapped) Error() string { return u.member + ": " + u.why }

const (
	dollars = "USD" // The one currency in which payments are judged.

	pointerMax  = 32 // Steps.
	exactDigits = 15 // Of a number: every parser reads so many alike, also one that knows floating point alone.
	literalMax  = 40
	textMax     = engine.TokenMax // A credential is the longest text.
)

// readValues reads the payment in a request, by the names of the map. Every value that is mapped must
// be there once. An amount is a decimal number of dollars then.
func (r *route) readValues(head http.Header, body []byte) (map[string]string, error) {
	values := make(map[string]string, len(r.Values)+len(r.Constants))
	for name, text := range r.Constants {
		values[name] = text
	}
	var document any
	for _, name := range r.order() {
		s := r.Values[name]
		if s.Pointer != "" && document == nil {
			var err error
			if document, err = readBody(head, body); err != nil {
				return nil, err
			}
		}
		text, err := s.read(name, head, document)
		if err != nil {
			return nil, err
		}
		values[name] = text
	}
	if currency, told := values["currency"]; told && currency != dollars {
		return nil, &unmapped{"currency", "only " + dollars + " is judged"}
	}
	return values, nil
}

// order returns the names of the values, so that the first fault that is told is always the same.
func (r *route) order() []string {
	names := make([]string, 0, len(r.Values))
	for name := range r.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// readBody reads the body if all parsers read it alike: one JSON object, sent as JSON, in which
// nothing stands twice.
func readBody(head http.Header, body []byte) (any, error) {
	if len(head["Content-Type"]) > 1 {
		return nil, &unmapped{"body", "Content-Type stands twice"}
	}
	// As a form the same bytes would be another payment; and where nothing is said, the API behind may guess a form.
	base, parameters, err := mime.ParseMediaType(head.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || base != "application/json" && !strings.HasSuffix(base, "+json") || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return nil, &unmapped{"body", "must be sent with content-type: application/json"}
	}
	if coding := head.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &unmapped{"body", "must not be compressed"}
	}
	var strict strictjson.Document
	if err := strict.Check(body, engine.BodyValuesMax); err != nil {
		return nil, &unmapped{"body", err.Error()}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, &unmapped{"body", strictjson.ErrSyntax.Error()}
	}
	return document, nil
}

func (s *source) read(name string, head http.Header, document any) (string, error) {
	if s.Header != "" {
		sent := head[s.Header]
		if len(sent) != 1 || sent[0] == "" {
			return "", &unmapped{name, "the header " + s.Header + " must be there once"}
		}
		return s.readText(name, sent[0], false)
	}
	value, err := s.follow(document)
	if err != nil {
		return "", &unmapped{name, err.Error()}
	}
	switch value := value.(type) {
	case string:
		return s.readText(name, value, false)
	case json.Number:
		if name == "amount" {
			return s.readText(name, string(value), true)
		}
	}
	return "", &unmapped{name, "is of another kind at " + s.Pointer}
}

// follow finds the value that the pointer names.
func (s *source) follow(value any) (any, error) {
	for _, step := range s.steps {
		var found bool
		switch inner := value.(type) {
		case map[string]any:
			for other := range inner {
				if other != step && strings.EqualFold(other, step) {
					return nil, fmt.Errorf("%q could be read in place of %q", other, step)
				}
			}
			value, found = inner[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(inner) && strconv.Itoa(i) == step {
				value, found = inner[i], true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is nothing at %s", s.Pointer)
		}
	}
	return value, nil
}

// readText checks a text, and makes an amount a decimal number of dollars.
func (s *source) readText(name, text string, isNumber bool) (string, error) {
	if text == "" || len(text) > textMax {
		return "", &unmapped{name, "is empty or too long"}
	}
	if name != "amount" {
		return text, nil
	}
	if text = decimal(text, s.Scale, isNumber); text == "" {
		return "", &unmapped{name, "must be a decimal number without sign and exponent; with a scale, a whole one"}
	}
	if _, err := engine.ParseUSD(text); err != nil {
		return "", &unmapped{name, err.Error()}
	}
	return text, nil
}

// decimal returns an amount as dollars; "" if it could be read in two ways.
func decimal(text string, scale *int, isNumber bool) string {
	digits := strings.Replace(text, ".", "", 1)
	if len(text) > literalMax || strings.Trim(digits, "0123456789") != "" || isNumber && len(strings.TrimLeft(digits, "0")) > exactDigits {
		return ""
	}
	if scale == nil {
		return text
	}
	if digits != text || text[0] == '0' && text != "0" {
		return ""
	}
	text = strings.Repeat("0", max(0, *scale+1-len(text))) + text
	if point := len(text) - *scale; *scale > 0 {
		return text[:point] + "." + text[point:]
	}
	return text
}

// readPointer splits a JSON pointer (RFC 6901) into its steps.
func readPointer(text string) (steps []string, sound bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, false
	}
	steps = strings.Split(rest, "/")
	for i, step := range steps {
		plain := strings.ReplaceAll(strings.ReplaceAll(step, "~1", ""), "~0", "")
		if strings.Contains(plain, "~") {
			return nil, false
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps, len(steps) <= pointerMax
}
