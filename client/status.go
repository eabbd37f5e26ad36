package client

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The reasons why a status list, or a credential's entry in it, is not good. Errors in the
// list's own form, key, signature and time are the ErrToken errors.
var (
	ErrStatusNone        = errors.New("no_status")      // The credential does not say where its status is published.
	ErrStatusList        = errors.New("wrong_list")     // Another list, or not one with two bits an entry.
	ErrStatusRange       = errors.New("out_of_range")   // The list has no such entry.
	ErrStatusUnavailable = errors.New("status_unknown") // The list cannot be fetched.
	ErrRevoked           = errors.New("revoked")
	ErrSuspended         = errors.New("suspended")
)

// StatusReference says where a credential's status is published. It is the claim status.
type StatusReference struct {
	List struct {
		Index *int64 `json:"idx"`
		URI   string `json:"uri"`
	} `json:"status_list"`
}

const (
	statusType     = "statuslist+jwt"
	statusTokenMax = 256 << 10
	statusBytesMax = 1 << 20 // Bytes of an unpacked list.
	statusPath     = "/status-lists/"
	keysKept       = time.Hour
	keysFresh      = time.Hour / 2 // From here on they are read anew, and serve meanwhile.
	keysPause      = time.Minute   // Least time between two readings of the keys because of an unknown kid.
)

// statusList is the content of a status list token.
type statusList struct {
	Subject  string `json:"sub"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	TTL      int64  `json:"ttl"`
	List     struct {
		Bits   int    `json:"bits"`
		Packed string `json:"lst"`
	} `json:"status_list"`
	bits []byte
}

// VerifyStatus reads a credential's status from a status list token. It returns nil for VALID,
// ErrRevoked, ErrSuspended, or why the list is not good. It makes no call. Verify the
// credential first (VerifyToken): its claims name its list and entry.
func VerifyStatus(claims *Claims, list string, keys *JWKS, now time.Time) error {
	opened, err := openStatusList(claims, list, keys, now)
	if err != nil {
		return err
	}
	return opened.read(claims)
}

func openStatusList(claims *Claims, list string, keys *JWKS, now time.Time) (*statusList, error) {
	if claims.Status == nil || claims.Status.List.Index == nil || claims.Status.List.URI == "" {
		return nil, ErrStatusNone
	}
	payload, err := openToken(list, statusTokenMax, statusType, keys)
	if err != nil {
		return nil, err
	}
	opened := new(statusList)
	if err := json.Unmarshal(payload, opened); err != nil || opened.Subject == "" || opened.IssuedAt == 0 || opened.Expires == 0 || opened.TTL <= 0 {
		return nil, fmt.Errorf("%w: claims", ErrTokenMalformed)
	}
	switch seconds := now.Unix(); {
	case opened.Subject != claims.Status.List.URI || opened.List.Bits != 2:
		return nil, ErrStatusList
	case seconds >= opened.Expires:
		return nil, ErrTokenExpired
	case seconds+clockLeeway < opened.IssuedAt:
		return nil, ErrTokenEarly
	}
	return opened, opened.unpack()
}

func (s *statusList) unpack() error {
	packed, err := tokenBase64.DecodeString(s.List.Packed)
	if err != nil {
		return fmt.Errorf("%w: lst", ErrTokenMalformed)
	}
	reader, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("%w: lst", ErrTokenMalformed)
	}
	if s.bits, err = io.ReadAll(io.LimitReader(reader, statusBytesMax+1)); err != nil || len(s.bits) > statusBytesMax {
		return fmt.Errorf("%w: lst", ErrTokenMalformed)
	}
	return nil
}

// read returns the status in the credential's entry. A value without a meaning counts as
// revoked.
func (s *statusList) read(claims *Claims) error {
	index := *claims.Status.List.Index
	if index < 0 || index >= int64(len(s.bits))*4 {
		return ErrStatusRange
	}
	switch s.bits[index/4] >> (index % 4 * 2) & 3 {
	case 0:
		return nil
	case 2:
		return ErrSuspended
	}
	return ErrRevoked
}

// Verifier verifies credentials and their status. It keeps keys and lists as long as it may, so
// most verifications make no call. It may be used by many goroutines at once: one fetch serves all,
// each waits as long as its own context allows, and what is known serves while it is fetched anew.
type Verifier struct {
	client    *Client
	issuer    string
	now       func() time.Time
	published *publishedKeys

	mutex sync.Mutex // For the map alone.
	lists map[string]*kept[*statusList]
}

// listsMost is how many lists a Verifier keeps: 64 KiB each.
const listsMost = 64

// NewVerifier returns a Verifier that reads keys and lists from a client's addresses; neither
// needs an API key. now is the clock; nil means time.Now.
func NewVerifier(client *Client, issuer string, now func() time.Time) *Verifier {
	if now == nil {
		now = time.Now
	}
	return &Verifier{client: client, issuer: issuer, now: now, published: newPublishedKeys(client, now), lists: map[string]*kept[*statusList]{}}
}

// Verify returns the claims of a credential that is good and neither revoked nor suspended.
// After any error do not rely on the credential. Only ErrStatusUnavailable and a failure to
// read the keys may be temporary.
func (v *Verifier) Verify(ctx context.Context, token string) (*Claims, error) {
	var claims *Claims
	err := v.published.with(ctx, func(keys *JWKS) (err error) {
		claims, err = VerifyToken(token, keys, v.issuer, v.now())
		return err
	})
	if err != nil {
		return nil, err
	}
	if claims.Status == nil || claims.Status.List.Index == nil {
		return nil, ErrStatusNone
	}
	list, err := v.list(claims)
	if err != nil {
		return nil, err
	}
	present, err := list.get(ctx)
	var unanswered *Error
	if errors.As(err, &unanswered) {
		return nil, fmt.Errorf("%w: %w", ErrStatusUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	if !present.serves(v.now()) {
		return nil, ErrTokenExpired
	}
	if err := present.value.read(claims); err != nil {
		return nil, err
	}
	return claims, nil
}

// list returns the list that a credential names. Only the list's number comes from the
// credential, so its author cannot have another host asked.
func (v *Verifier) list(claims *Claims) (*kept[*statusList], error) {
	uri := claims.Status.List.URI
	at := strings.LastIndex(uri, statusPath)
	if at < 0 || !allDigits(uri[at+len(statusPath):]) {
		return nil, ErrStatusList
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if list := v.lists[uri]; list != nil {
		return list, nil
	}
	if len(v.lists) >= listsMost {
		clear(v.lists)
	}
	list := &kept[*statusList]{now: v.now, fetch: func(ctx context.Context, now time.Time) (known[*statusList], error) {
		return v.fetch(ctx, claims, uri[at:], now)
	}}
	v.lists[uri] = list
	return list, nil
}

// fetch reads a list. It serves until its exp, and is fetched anew when its ttl is over.
func (v *Verifier) fetch(ctx context.Context, claims *Claims, path string, now time.Time) (got known[*statusList], err error) {
	var text []byte
	if err := v.client.Call(ctx, http.MethodGet, path, nil, "", &text); err != nil {
		return got, err
	}
	err = v.published.with(ctx, func(keys *JWKS) (err error) {
		got.value, err = openStatusList(claims, string(text), keys, now)
		return err
	})
	if err != nil {
		return got, err
	}
	got.end = time.Unix(got.value.Expires, 0)
	got.fresh = time.Unix(min(now.Unix()+got.value.TTL, got.value.Expires), 0)
	return got, nil
}

func allDigits(text string) bool {
	return text != "" && len(text) < 20 && strings.Trim(text, "0123456789") == ""
}
