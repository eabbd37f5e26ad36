package console

import (
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"railguard/httpapi/guest"
	"railguard/strictjson"
)

const (
	tokenHeader = "X-Railguard-Console-Token"
	pollHeader  = "X-Railguard-Console-Poll" // The page made the call by itself: it does not prolong the session.
	otherHeader = "X-Railguard-Console"      // Of an answer: what became of the page's session.

	signInMax = 4 << 10 // Bytes.
	keyMax    = 256

	signInValues = 4 // JSON values of a sign-in.
)

// handleSession signs in (POST), tells who is signed in (GET), hears that the person is here (PUT) and
// signs out (DELETE).
func (c *Console) handleSession(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if isForeign(r) {
		writeError(w, http.StatusForbidden, "forbidden", "the console is called by its own pages alone")
		return
	}
	switch r.Method {
	case http.MethodGet:
		c.showSession(w, r)
	case http.MethodPost:
		c.signIn(w, r)
	case http.MethodPut:
		if c.admitCall(w, r) != nil {
			w.WriteHeader(http.StatusNoContent)
		}
	case http.MethodDelete:
		c.signOut(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, PUT, DELETE")
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "a session is read, begun and ended")
	}
}

// signIn exchanges an API key for a session if the API accepts the key.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" { // No form of another site can send this.
		writeError(w, http.StatusUnsupportedMediaType, "bad_request", "sign in with a JSON object")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, signInMax))
	var asked strictjson.Document
	if err == nil {
		err = asked.Read(body, signInValues)
	}
	fields := asked.Fields()
	key := fields.RequiredText("key", keyMax)
	var members map[string]json.RawMessage
	if err != nil || fields.Err() != nil || json.Unmarshal(body, &members) != nil || len(members) != 1 {
		writeError(w, http.StatusBadRequest, "bad_request", "key must be an API key")
		return
	}
	s, answer := c.beginSession(w, r, key)
	if s == nil {
		writeAnswer(w, answer)
		return
	}
	c.replySession(w, s, answer)
}

// beginSession makes a session of a key that the API accepts, and gives it to the browser. If it
// cannot, it returns the answer that says why.
func (c *Console) beginSession(w http.ResponseWriter, r *http.Request, key string) (*session, *guest.Answer) {
	s := c.newSession(key)
	answer := c.askAPI(translateCall(r.WithContext(guest.SigningIn(r.Context())), s, "/v1/key", ""), http.MethodGet)
	if answer.Status != http.StatusOK {
		return nil, answer
	}
	var known struct {
		Sessions uint32 `json:"sessions"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &known); err != nil {
		return nil, failedAnswer("the API's answer cannot be read")
	}
	s.Ended = known.Sessions
	if err := c.setCookie(w, r, s); err != nil {
		return nil, failedAnswer("the session could not be sealed")
	}
	return s, answer
}

func failedAnswer(message string) *guest.Answer {
	answer := guest.NewAnswer()
	writeError(answer, http.StatusInternalServerError, "internal_error", message)
	return answer
}

// signOut ends all sessions of the key, on every node: a copy of the cookie is worth nothing
// afterwards. If the log does not take it, the page's cookie goes and the answer says so.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	s, err := c.openSession(r)
	if err == nil && !s.repeatsToken(r) {
		writeError(w, http.StatusForbidden, "forbidden", "the console's token is missing or another's")
		return
	}
	c.clearCookie(w, r)
	if err == nil {
		if answer := c.askAPI(translateSession(r, s, "/v1/key/end-sessions", ""), http.MethodPost); answer.Status != http.StatusOK && answer.Status != http.StatusUnauthorized {
			writeAnswer(w, answer)
			return
		}
	}
	c.writeNobody(w)
}

// showSession tells a newly loaded page who is signed in. It is no error if nobody is.
func (c *Console) showSession(w http.ResponseWriter, r *http.Request) {
	s, err := c.openSession(r)
	if err != nil {
		c.writeNobody(w)
		return
	}
	answer := c.askAPI(translateSession(r, s, "/v1/key", ""), http.MethodGet)
	switch answer.Status {
	case http.StatusOK:
		c.replySession(w, s, answer)
	case http.StatusUnauthorized: // The key was revoked or has expired.
		c.clearCookie(w, r)
		c.writeNobody(w)
	default:
		writeAnswer(w, answer)
	}
}

// writeNobody says that nobody is signed in, and by what one can sign in beside a key.
func (c *Console) writeNobody(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, map[string]any{"signedIn": false, "provider": c.config.SignIn != nil})
}

func (c *Console) replySession(w http.ResponseWriter, s *session, answer *guest.Answer) {
	writeJSON(w, http.StatusOK, map[string]any{
		"signedIn": true, "provider": c.config.SignIn != nil, "uploads": c.config.Uploads != nil, "token": s.Token, "key": json.RawMessage(answer.Body.Bytes()),
		"idleSeconds": int64(c.config.Idle / time.Second), "endsAt": time.Unix(s.Born, 0).Add(c.config.Longest).UTC().Format(time.RFC3339),
	})
}

// forwardCall calls the API with the session's key. The API decides what the key may do; the
// console checks that the call comes from its own page.
func (c *Console) forwardCall(w http.ResponseWriter, r *http.Request, path string) {
	if s := c.admitCall(w, r); s != nil {
		c.config.API.ServeHTTP(w, translateSession(r, s, path, r.URL.RawQuery))
	}
}

// peoplePaths are the paths of the admin listener at which keys and passkeys are looked after.
var peoplePaths = []string{"/admin/keys", "/admin/passkeys"}

// forwardPeople calls the listener that looks after keys and passkeys with the session's key. That
// listener decides what the key may do.
func (c *Console) forwardPeople(w http.ResponseWriter, r *http.Request, path string) {
	ours := slices.ContainsFunc(peoplePaths, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
	if c.config.People == nil || !ours {
		writeError(w, http.StatusNotFound, "not_found", "no such page of people")
		return
	}
	if s := c.admitCall(w, r); s != nil {
		c.config.People.ServeHTTP(w, translateSession(r, s, path, r.URL.RawQuery))
	}
}

// uploadPath is the path at which the admin listener takes the files of a list.
const uploadPath = "/v1/ofac/snapshots"

// forwardUpload streams list files to the listener that takes them. That listener checks the
// key's role and the size, and reads one upload at a time; another call activates the list.
// The body must have a content type that no form of another site can send.
func (c *Console) forwardUpload(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "list files are sent, not read")
		return
	case c.config.Uploads == nil:
		writeError(w, http.StatusNotFound, "not_found", "this node takes no list files through the console")
		return
	case r.Header.Get("Content-Type") != "application/octet-stream":
		writeError(w, http.StatusUnsupportedMediaType, "bad_request", "list files are sent as bytes")
		return
	}
	if s := c.admitCall(w, r); s != nil {
		c.config.Uploads.ServeHTTP(w, translateSession(r, s, uploadPath, r.URL.RawQuery))
	}
}

// forwardBundle hands out an examiner's bundle. The export that it is made from checks the key's role.
func (c *Console) forwardBundle(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "a bundle is read")
		return
	case c.config.Bundles == nil:
		writeError(w, http.StatusNotFound, "not_found", "this node makes no bundles through the console")
		return
	}
	if s := c.admitCall(w, r); s != nil {
		c.config.Bundles.ServeHTTP(w, translateSession(r, s, "/v1/audit/export", r.URL.RawQuery))
	}
}

// admitCall returns the session of a call from the console's own page. It refuses any other
// call and returns nil.
func (c *Console) admitCall(w http.ResponseWriter, r *http.Request) *session {
	w.Header().Set("Cache-Control", "no-store")
	if isForeign(r) {
		writeError(w, http.StatusForbidden, "forbidden", "the console is called by its own pages alone")
		return nil
	}
	s, err := c.openSession(r)
	if err != nil {
		c.clearCookie(w, r)
		writeError(w, http.StatusUnauthorized, "unauthorized", "the session is over: sign in again")
		return nil
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if told := r.Header.Get(tokenHeader); (told != "" || !reads) && !s.repeatsToken(r) {
		w.Header().Set(otherHeader, "other-session") // Somebody else signed in at this browser: the page shows nothing more.
		writeError(w, http.StatusForbidden, "forbidden", "the console's token is missing or another's")
		return nil
	}
	if now := c.config.Now(); r.Header.Get(pollHeader) == "" && now.Sub(time.Unix(s.Seen, 0)) >= renewAfter {
		s.Seen = now.Unix()
		if err := c.setCookie(w, r, s); err != nil {
			writeError(w, http.StatusInternalServerError, "internal_error", "the session could not be sealed")
			return nil
		}
	}
	return s
}

// translateCall returns the same request for the API, with the session's key and without
// cookies.
func translateCall(r *http.Request, s *session, path, query string) *http.Request {
	call := r.Clone(r.Context())
	call.URL = &url.URL{Path: path, RawQuery: query}
	call.RequestURI = call.URL.RequestURI()
	for _, ours := range []string{"Cookie", tokenHeader, pollHeader} {
		call.Header.Del(ours)
	}
	call.Header.Set("Authorization", "Bearer "+s.Key)
	return call
}

// translateSession is translateCall for a call of a session: the API refuses it when the key's
// sessions were ended since this one began.
func translateSession(r *http.Request, s *session, path, query string) *http.Request {
	return translateCall(r.WithContext(guest.InSession(r.Context(), s.Ended)), s, path, query)
}

// askAPI makes a call without a body.
func (c *Console) askAPI(call *http.Request, method string) *guest.Answer {
	call.Method, call.Body, call.ContentLength, call.TransferEncoding = method, http.NoBody, 0, nil
	for _, name := range []string{"Content-Type", "Content-Length", "If-None-Match", "Idempotency-Key"} {
		call.Header.Del(name)
	}
	answer := guest.NewAnswer()
	c.config.API.ServeHTTP(answer, call)
	return answer
}

// repeatsToken reports whether a write repeats the session's token. A page of another site
// cannot read the token, even though its browser would send the cookie.
func (s *session) repeatsToken(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.Token)) == 1
}

// isForeign reports whether the browser says that the call comes from another site. A caller
// that does not say is an old browser or no browser; there the session's token protects.
func isForeign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return true
}

func writeAnswer(w http.ResponseWriter, b *guest.Answer) {
	for _, name := range []string{"Content-Type", "Retry-After", "X-Railguard-Outcome"} {
		if value := b.Head.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(b.Status)
	_, _ = w.Write(b.Body.Bytes())
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": code, "code": code, "message": message})
}

func writeJSON(w http.ResponseWriter, status int, members map[string]any) {
	body, err := json.Marshal(members)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal_error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
