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

// The gate before the protocol. Its SDK reads JSON as Go does: of two members of one name
// the last counts, what stands behind the message is passed over, an id beyond a float is
// answered as another one. Who stands between the agent and here (a gateway that looks at
// the amount) may read the other one: so every body passes the check that bodies of the
// API pass, before anybody reads it.

// soundID are the ids that come back as they came: a text, or a whole number below 10^15.
var soundID = regexp.MustCompile(`^("|null$|-?(0|[1-9][0-9]{0,14})$)`)

// gated lets one message through that everybody reads alike.
func gated(next http.Handler) http.Handler {
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
		if wrong := ambiguous(body); wrong != "" {
			http.Error(w, wrong, http.StatusBadRequest)
			return
		}
		r = r.WithContext(r.Context()) // The server keeps its own.
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// ambiguous says why a body is no single message that everybody reads alike; "": it is one.
func ambiguous(body []byte) string {
	if rest := bytes.TrimLeft(body, " \t\r\n"); len(rest) > 0 && rest[0] == '[' {
		return "one message a call: batches are no part of the protocol any more"
	}
	var gate strictjson.Gate
	if err := gate.Check(body, engine.ScreenValuesMax); err != nil {
		return "no message of the protocol: " + err.Error()
	}
	if id := gate.Raw("id"); id != nil && !soundID.Match(id) {
		return "no message of the protocol: id must be a text or a whole number"
	}
	return ""
}
