package console

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"railguard/seal"
)

const (
	cookieName  = "railguard-session"
	hostPrefix  = "__Host-" // Browsers take a cookie of such a name from this host alone, over TLS (RFC 6265bis, section 4.1.3).
	cookieMax   = 2048      // The longest cookie that is read, in characters.
	tokenBytes  = 16
	renewAfter  = 30 * time.Second // A session is sealed anew at most this often.
	clockSpread = 2 * time.Minute  // The most that the clocks of nodes may differ.
)

var errNoSession = errors.New("no session")

// session is the content of the cookie. It is sealed: the browser can neither read nor make
// one. Every node can open what any node sealed.
type session struct {
	Key   string `json:"key"`   // The API key.
	Token string `json:"token"` // What a write must repeat in a header.
	Ended uint32 `json:"ended"` // How often the key's sessions had been ended when this one began.
	Born  int64  `json:"born"`  // Unix seconds.
	Seen  int64  `json:"seen"`  // Unix second of the last call by a person, not by the page itself.
}

func (c *Console) newSession(key string) *session {
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // Never fails (crypto/rand).
	now := c.config.Now().Unix()
	return &session{Key: key, Token: base64.RawURLEncoding.EncodeToString(random[:]), Born: now, Seen: now}
}

func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, s *session) error {
	plain, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sealed, err := c.config.Secrets.Seal(seal.LabelConsoleSession, plain)
	if err != nil {
		return err
	}
	http.SetCookie(w, c.newCookie(r, base64.RawURLEncoding.EncodeToString(sealed)))
	return nil
}

// overTLS tells whether the browser speaks TLS. Anybody can send the header, but it only makes
// the cookie stricter.
func (c *Console) overTLS(r *http.Request) bool {
	return c.config.Secure || r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// nameCookie returns the name of the cookie of a browser.
func (c *Console) nameCookie(r *http.Request) string {
	if c.overTLS(r) {
		return hostPrefix + cookieName
	}
	return cookieName
}

// newCookie returns a cookie that no script can read. Its path is /, as the prefix of its name
// demands; only the console reads it. It has no maximum age: it ends with the browser, or by
// the times that are sealed in it.
func (c *Console) newCookie(r *http.Request, value string) *http.Cookie {
	return &http.Cookie{
		Name: c.nameCookie(r), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.overTLS(r),
	}
}

func (c *Console) clearCookie(w http.ResponseWriter, r *http.Request) {
	gone := c.newCookie(r, "")
	gone.MaxAge = -1
	http.SetCookie(w, gone)
}

// openSession reads the session of a request. A session that was idle or lasted too long is
// an error.
func (c *Console) openSession(r *http.Request) (*session, error) {
	cookies := r.CookiesNamed(c.nameCookie(r))
	if len(cookies) != 1 || len(cookies[0].Value) > cookieMax {
		return nil, errNoSession
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return nil, errNoSession
	}
	plain, err := c.config.Secrets.Open(seal.LabelConsoleSession, sealed)
	if err != nil {
		return nil, errNoSession
	}
	s := new(session)
	if err := json.Unmarshal(plain, s); err != nil || s.Key == "" || s.Token == "" {
		return nil, errNoSession
	}
	now := c.config.Now()
	born, seen := time.Unix(s.Born, 0), time.Unix(s.Seen, 0)
	if now.Sub(seen) >= c.config.Idle || now.Sub(born) >= c.config.Longest || seen.Sub(now) > clockSpread {
		return nil, errNoSession
	}
	return s, nil
}
