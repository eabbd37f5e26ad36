package httpapi

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm"
)

// Status lists (decision 53): whether a credential that verifies offline has been revoked or
// suspended since. Every node makes the same bytes of the same minute of log time.

func statusListRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/status-lists/{list}", scope: scopePublic, handle: showStatusList},
	}
}

var statusListType = []string{"application/" + credential.StatusListType}

// statusTokens are the tokens of one minute, each made when it is first asked for: there are as
// many as there are lists, each of at most 88 KiB.
type statusTokens struct {
	mutex  sync.Mutex // One is made at a time.
	at     engine.Time
	kid    string
	tokens map[uint64]*statusToken
	packed map[uint64]packedList
}

type statusToken struct {
	text []byte
	etag string
}

// packedList is a list's lst member, good for as long as the bits are the very same slice.
type packedList struct {
	bits *byte
	text string
}

// showStatusList is GET /status-lists/{list}.
func showStatusList(c *call) (Answer, error) {
	if c.hasQuery("time") {
		return Answer{}, failure(http.StatusNotImplemented, "time_not_supported", "status lists of the past are not kept")
	}
	terms, published := c.judge.Terms, c.api.deps.Published
	lists := published.Statuses()
	if lists == nil || terms.Settings.Genesis == nil {
		return Answer{}, unavailable("no_quorum", "this node has no status list that may be relied on: ask another one, or again within the minute")
	}
	number, err := strconv.ParseUint(c.r.PathValue("list"), 10, 64)
	if err != nil || strconv.FormatUint(number, 10) != c.r.PathValue("list") || lists.List(number) == nil {
		return Answer{}, notFound("no such status list, or every credential in it has expired")
	}
	token, err := c.api.statuses.token(c, lists, number)
	if err != nil {
		return Answer{}, err
	}
	left := (lists.At + engine.LimitsOf(terms.Settings.Format).StatusEvery - published.LogTime()) / engine.Second
	c.cacheable("public, max-age="+strconv.FormatInt(int64(max(left, 1)), 10), token.etag)
	c.header("Access-Control-Allow-Origin", "*")
	if hasVersion(c, token.etag) {
		return notModified(), nil
	}
	return c.send(http.StatusOK, statusListType, token.text), nil
}

// token returns the token of one list, making it once.
func (s *statusTokens) token(c *call, lists *fsm.Statuses, number uint64) (*statusToken, error) {
	terms := c.judge.Terms
	kid, key, err := statusSigner(c, lists.At)
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if lists.At != s.at || kid != s.kid {
		if lists.At < s.at {
			s.packed = nil // The test clock, or a state that was restored.
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

// pack compresses one list, unless it is the one of the minute before. Lists that are gone go.
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

// statusSigner is the key that signed credentials when the minute began, so that the minute's
// lists have one signature; the key of now, when that one was revoked since.
func statusSigner(c *call, at engine.Time) (kid string, key *ecdsa.PrivateKey, err error) {
	settings := c.judge.Terms.Settings
	active := settings.ActiveKey(at)
	if active == nil {
		active = settings.ActiveKey(c.api.deps.Published.LogTime())
	}
	if active == nil {
		return "", nil, unavailable("overloaded", "no signing key of the cluster is active")
	}
	if key, err = c.judge.Terms.Signer(active.KID); err != nil {
		c.api.log.Error("cannot sign a status list", "error", err)
		return "", nil, unavailable("overloaded", "this node cannot unseal the signing key")
	}
	return active.KID, key, nil
}
