package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"

	"railguard/engine"
	"railguard/strictjson"
)

// The gate is in front of the protocol's SDK, which reads JSON as Go does: of two members
// with one name it takes the last, it ignores bytes after the message, and it rounds large
// ids. A gateway between the agent and this service may read such a message differently,
// and check another amount than the one that is screened. So every body must first pass the
// same check as bodies of the API.

// soundID matches ids that the SDK returns unchanged: a text, or a whole number below 10^15.
var soundID = regexp.MustCompile(`^("|null$|-?(0|[1-9][0-9]{0,14})$)`)

// gateMessages passes on a body that is one message and that all parsers read alike. It
// refuses any other body.
func gateMessages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			http.Error(w, "the body is larger than 128 KiB", http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			http.Error(w, "the body did not come whole", http.StatusBadRequest)
			return
		}
		if wrong := findAmbiguity(body); wrong != "" {
			http.Error(w, wrong, http.StatusBadRequest)
			return
		}
		r = r.WithContext(r.Context()) // A copy: the server keeps its own.
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// findAmbiguity returns why a body is not one message that all parsers read alike, or "".
func findAmbiguity(body []byte) string {
	if rest := bytes.TrimLeft(body, " \t\r\n"); len(rest) > 0 && rest[0] == '[' {
		return "one message a call: batches are no part of the protocol any more"
	}
	var validator strictjson.Validator
	if err := validator.Check(body, engine.ScreenValuesMax); err != nil {
		return "no message of the protocol: " + err.Error()
	}
	if id := validator.Raw("id"); id != nil && !soundID.Match(id) {
		return "no message of the protocol: id must be a text or a whole number"
	}
	return ""
}
