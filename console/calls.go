package console

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"railguard/httpapi/guest"
)

const (
	tokenHeader = "X-Railguard-Console-Token"
	pollHeader  = "X-Railguard-Console-Poll" // The page asks, not the person: no sign of life.

	signInMax = 4 << 10 // Bytes.
	keyMax    = 256
)

// session signs in (POST), tells who is signed in (GET) and signs out (DELETE).
func (c *Console) session(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if foreign(r) {
		refuse(w, http.StatusForbidden, "forbidden", "the console is called by its own pages alone")
		return
	}
	switch r.Method {
	case http.MethodGet:
		c.whoIs(w, r)
	case http.MethodPost:
		c.signIn(w, r)
	case http.MethodDelete:
		if s, err := c.opened(r); err == nil && !s.proves(r) {
			refuse(w, http.StatusForbidden, "forbidden", "the console's token is missing or another's")
			return
		}
		c.forget(w, r)
		reply(w, http.StatusOK, map[string]any{"signedIn": false})
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "a session is read, begun and ended")
	}
}

// signIn exchanges an API key for a session, once the API knows the key.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" { // No form of another site can send this.
		refuse(w, http.StatusUnsupportedMediaType, "bad_request", "sign in with a JSON object")
		return
	}
	var asked struct {
		Key string `json:"key"`
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, signInMax))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil || asked.Key == "" || len(asked.Key) > keyMax {
		refuse(w, http.StatusBadRequest, "bad_request", "key must be an API key")
		return
	}
	s := c.newSession(asked.Key)
	answer := c.ask(r, s)
	if answer.Status != http.StatusOK {
		send(w, answer)
		return
	}
	if err := c.keep(w, r, s); err != nil {
		refuse(w, http.StatusInternalServerError, "internal_error", "the session could not be sealed")
		return
	}
	c.tell(w, s, answer)
}

// whoIs tells a page that was just loaded whom it works for. Nobody is no error.
func (c *Console) whoIs(w http.ResponseWriter, r *http.Request) {
	s, err := c.opened(r)
	if err != nil {
		reply(w, http.StatusOK, map[string]any{"signedIn": false})
		return
	}
	answer := c.ask(r, s)
	switch answer.Status {
	case http.StatusOK:
		c.tell(w, s, answer)
	case http.StatusUnauthorized: // Revoked or expired meanwhile.
		c.forget(w, r)
		reply(w, http.StatusOK, map[string]any{"signedIn": false})
	default:
		send(w, answer)
	}
}

func (c *Console) tell(w http.ResponseWriter, s *session, answer *guest.Answer) {
	reply(w, http.StatusOK, map[string]any{
		"signedIn": true, "uploads": c.config.Uploads != nil, "token": s.Token, "key": json.RawMessage(answer.Body.Bytes()),
		"idleSeconds": int64(c.config.Idle / time.Second), "endsAt": time.Unix(s.Born, 0).Add(c.config.Longest).UTC().Format(time.RFC3339),
	})
}

// call is one call to the API in the name of the session's key. What may be done is
// the API's affair; that the call is the page's own is ours.
func (c *Console) call(w http.ResponseWriter, r *http.Request, path string) {
	if s := c.admit(w, r); s != nil {
		c.config.API.ServeHTTP(w, translated(r, s, path, r.URL.RawQuery))
	}
}

// uploadPath is where the admin listener takes a list's files.
const uploadPath = "/v1/ofac/snapshots"

// upload passes list files on to the listener that takes them, as they come: nothing is
// kept here. That listener knows the key's role, the size and that one is read at a time;
// what is taken is staged, and activated by another call. The type of the body is one
// that no form of another site can send, whatever else holds such a call off.
func (c *Console) upload(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "list files are sent, not read")
		return
	case c.config.Uploads == nil:
		refuse(w, http.StatusNotFound, "not_found", "this node takes no list files through the console")
		return
	case r.Header.Get("Content-Type") != "application/octet-stream":
		refuse(w, http.StatusUnsupportedMediaType, "bad_request", "list files are sent as bytes")
		return
	}
	if s := c.admit(w, r); s != nil {
		c.config.Uploads.ServeHTTP(w, translated(r, s, uploadPath, r.URL.RawQuery))
	}
}

// admit returns the session of a call that is the page's own; nil: it was refused.
func (c *Console) admit(w http.ResponseWriter, r *http.Request) *session {
	w.Header().Set("Cache-Control", "no-store")
	if foreign(r) {
		refuse(w, http.StatusForbidden, "forbidden", "the console is called by its own pages alone")
		return nil
	}
	s, err := c.opened(r)
	if err != nil {
		c.forget(w, r)
		refuse(w, http.StatusUnauthorized, "unauthorized", "the session is over: sign in again")
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !s.proves(r) {
		refuse(w, http.StatusForbidden, "forbidden", "the console's token is missing or another's")
		return nil
	}
	if now := c.config.Now(); r.Header.Get(pollHeader) == "" && now.Sub(time.Unix(s.Seen, 0)) >= renewAfter {
		s.Seen = now.Unix()
		if err := c.keep(w, r, s); err != nil {
			refuse(w, http.StatusInternalServerError, "internal_error", "the session could not be sealed")
			return nil
		}
	}
	return s
}

// translated is the same request to the API. Cookies stay here.
func translated(r *http.Request, s *session, path, query string) *http.Request {
	call := r.Clone(r.Context())
	call.URL = &url.URL{Path: path, RawQuery: query}
	call.RequestURI = call.URL.RequestURI()
	for _, ours := range []string{"Cookie", tokenHeader, pollHeader} {
		call.Header.Del(ours)
	}
	call.Header.Set("Authorization", "Bearer "+s.Key)
	return call
}

// ask asks the API what the session's key is.
func (c *Console) ask(r *http.Request, s *session) *guest.Answer {
	call := translated(r, s, "/v1/key", "")
	call.Method, call.Body, call.ContentLength, call.TransferEncoding = http.MethodGet, http.NoBody, 0, nil
	for _, name := range []string{"Content-Type", "Content-Length", "If-None-Match", "Idempotency-Key"} {
		call.Header.Del(name)
	}
	answer := guest.NewAnswer()
	c.config.API.ServeHTTP(answer, call)
	return answer
}

// proves reports whether a write repeats the session's token: a page of another
// site cannot read it, whatever cookies its browser would send.
func (s *session) proves(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.Token)) == 1
}

// foreign reports whether a browser says that the call is not of our own pages. A
// caller that says nothing is no browser, or an old one that the token holds off.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

// send passes an answer of the API on.
func send(w http.ResponseWriter, b *guest.Answer) {
	for _, name := range []string{"Content-Type", "Retry-After", "X-Railguard-Outcome"} {
		if value := b.Head.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(b.Status)
	_, _ = w.Write(b.Body.Bytes())
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, map[string]any{"error": code, "code": code, "message": message})
}

func reply(w http.ResponseWriter, status int, members map[string]any) {
	body, err := json.Marshal(members)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal_error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
