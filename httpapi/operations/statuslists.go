package operations

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm"
	"railguard/httpapi/border"
)

// Status lists (decision 53) say whether a credential that verifies offline was revoked or
// suspended since. Every node makes the same bytes for the same minute of log time.

func (o *Room) statusListRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/status-lists/{list}", Handle: o.showStatusList},
	}
}

var statusListType = []string{"application/" + credential.StatusListType}

// statusTokens are the tokens of one minute. Each is made at its first use; there is one
// per list, of at most 88 KiB.
type statusTokens struct {
	mutex  sync.Mutex // Serialises making tokens.
	at     engine.Time
	kid    string
	tokens map[uint64]*statusToken
	packed map[uint64]packedList
}

type statusToken struct {
	text []byte
	etag string
}

// packedList is a compressed list. It is valid while the list's bits are the same slice.
type packedList struct {
	bits *byte
	text string
}

// showStatusList is GET /status-lists/{list}.
func (o *Room) showStatusList(c *border.Request) (border.Answer, error) {
	if c.HasQuery("time") {
		return border.Answer{}, border.NewError(http.StatusNotImplemented, "time_not_supported", "status lists of the past are not kept")
	}
	terms, published := c.Judge.Terms, c.Published()
	lists := published.Statuses()
	if lists == nil || terms.Settings.Genesis == nil {
		return border.Answer{}, border.Unavailable("no_quorum", "this node has no status list that may be relied on: ask another one, or again within the minute")
	}
	number, err := strconv.ParseUint(c.PathValue("list"), 10, 64)
	if err != nil || strconv.FormatUint(number, 10) != c.PathValue("list") || lists.List(number) == nil {
		return border.Answer{}, border.NotFound("no such status list, or every credential in it has expired")
	}
	token, err := o.statuses.token(c, lists, number)
	if err != nil {
		return border.Answer{}, err
	}
	left := (lists.At + engine.LimitsOf(terms.Settings.Format).StatusEvery - published.LogTime()) / engine.Second
	c.AllowCaching("public, max-age="+strconv.FormatInt(int64(max(left, 1)), 10), token.etag)
	if border.CallerHas(c, token.etag) {
		return border.NotModified(), nil
	}
	return c.Send(http.StatusOK, statusListType, token.text), nil
}

// token returns the token of one list, and makes it at its first use.
func (s *statusTokens) token(c *border.Request, lists *fsm.Statuses, number uint64) (*statusToken, error) {
	terms := c.Judge.Terms
	kid, key, err := statusSigner(c, lists.At)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if lists.At != s.at || kid != s.kid {
		if lists.At < s.at {
			s.packed = nil // Time went back: a test clock, or a restored state.
		}
		s.at, s.kid, s.tokens = lists.At, kid, map[uint64]*statusToken{}
	}
	if made := s.tokens[number]; made != nil {
		return made, nil
	}
	packed, err := s.pack(lists, number)
	if err != nil {
		return nil, err
	}
	text, err := credential.MintStatusList(&credential.StatusList{
		URL: terms.StatusURL(number), At: lists.At, TTL: engine.LimitsOf(terms.Settings.Format).StatusEvery, Compressed: packed,
	}, key, kid)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(text))
	made := &statusToken{[]byte(text), `"` + hex.EncodeToString(sum[:8]) + `"`}
	s.tokens[number] = made
	return made, nil
}

// pack compresses one list, unless its bits are those of the minute before. It forgets
// lists that no longer exist.
func (s *statusTokens) pack(lists *fsm.Statuses, number uint64) (string, error) {
	bits := lists.List(number).Bits
	if known := s.packed[number]; known.bits == &bits[0] {
		return known.text, nil
	}
	text, err := credential.CompressStatusList(bits)
	if err != nil {
		return "", err
	}
	kept := map[uint64]packedList{number: {&bits[0], text}}
	for i := range lists.Lists {
		if known, ok := s.packed[lists.Lists[i].Number]; ok && lists.Lists[i].Number != number {
			kept[lists.Lists[i].Number] = known
		}
	}
	s.packed = kept
	return text, nil
}

// statusSigner returns the key that signed credentials when the minute began, so that the
// minute's lists have one signature. If that key was revoked since, it returns the current
// key.
func statusSigner(c *border.Request, at engine.Time) (kid string, key crypto.Signer, err error) {
	settings := c.Settings()
	active := settings.ActiveKey(at)
	if active == nil {
		active = settings.ActiveKey(c.Published().LogTime())
	}
	if active == nil {
		return "", nil, border.Unavailable("overloaded", "no signing key of the cluster is active")
	}
	if key, err = c.Judge.Terms.Signer(active.KID); err != nil {
		c.Log().Error("cannot sign a status list", "error", err)
		return "", nil, border.Unavailable("overloaded", "this node cannot unseal the signing key")
	}
	return active.KID, key, nil
}
