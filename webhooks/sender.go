package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

const (
	attemptTimeout     = 15 * time.Second
	dialTimeout        = 5 * time.Second
	answerMax          = 4 << 10  // How many bytes of an answer are read, so that its connection can be reused.
	answerHeadMax      = 16 << 10 // How many bytes the headers of an answer may have.
	idleTimeout        = 90 * time.Second
	idleConnectionsMax = 256 // Idle connections that are kept.
	retryAfterMax      = time.Hour
)

// Reasons why an attempt got no answer, as callers see them.
const (
	FailedAddress    = "address_refused" // The name resolved to an address that is not public.
	FailedTimeout    = "timeout"
	FailedTLS        = "tls"
	FailedConnection = "connection"
	FailedSecret     = "secret" // The webhook's secret cannot be decrypted: the cluster secret is another one.
)

// SenderConfig says which addresses may be called.
type SenderConfig struct {
	Secrets *seal.Secrets
	Version string
	Dev     bool           // Plain http and this machine may be called.
	Allow   []netip.Prefix // Private networks that may be called.
	Roots   *tls.Config    // Set by tests; nil: the system's certificate authorities.

	// Dial replaces the dialler in tests; nil dials public addresses alone.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sender makes the calls. It is safe for concurrent use.
type Sender struct {
	config SenderConfig
	guard  *ssrf.Guardian
	client *http.Client
}

// Attempt is the result of one call.
type Attempt struct {
	Status     int    // 0: there was no answer.
	Failure    string // Why there was no answer.
	RetryAfter time.Duration
	Took       time.Duration
}

// OK reports whether the event was received.
func (a *Attempt) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// NewSender returns a sender.
func NewSender(config SenderConfig) *Sender {
	s := &Sender{config: config, guard: ssrf.New(ssrf.WithPorts(443))}
	if config.Dev {
		s.config.Allow = append([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, config.Allow...)
	}
	// The address is checked when it is dialled, after the name was resolved, so that a
	// name cannot resolve to another address after the check.
	dialer := &net.Dialer{Timeout: dialTimeout, Control: s.checkAddress}
	dial := dialer.DialContext
	if config.Dial != nil {
		dial = config.Dial
	}
	s.client = &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			Proxy: nil, DialContext: dial, TLSHandshakeTimeout: dialTimeout, TLSClientConfig: config.Roots,
			MaxResponseHeaderBytes: answerHeadMax, MaxIdleConns: idleConnectionsMax, MaxIdleConnsPerHost: 2, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

func (s *Sender) checkAddress(network, address string, connection syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err == nil && s.isAllowed(at.Addr()) {
		return nil
	}
	return s.guard.Safe(network, address, connection)
}

func (s *Sender) isAllowed(address netip.Addr) bool {
	for _, network := range s.config.Allow {
		if network.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}

// Check returns what is wrong with a webhook's URL, or nil. The address that a name resolves
// to is checked at every call.
func (s *Sender) Check(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return errors.New("must be an absolute URL")
	case u.Scheme != "https" && (u.Scheme != "http" || !s.config.Dev):
		return errors.New("must begin with https://")
	case u.User != nil:
		return errors.New("must not hold a user or password: messages are signed")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return errors.New("must not have a fragment")
	}
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return errors.New("must be printable ASCII: write a name as it stands in the DNS")
		}
	}
	address, err := netip.ParseAddr(u.Hostname())
	if err == nil && !s.isAllowed(address) && s.guard.SafeAddr(address) != nil {
		return errors.New("must not be a private or reserved address")
	}
	if port := u.Port(); port != "" && port != "443" && len(s.config.Allow) == 0 {
		return errors.New("must be on port 443")
	}
	return nil
}

// Send signs one event and posts it. now is log time; it decides whether the older secret
// still signs.
func (s *Sender) Send(ctx context.Context, hook *wire.Webhook, now engine.Time, id string, body []byte) Attempt {
	begun := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return Attempt{Failure: FailedConnection}
	}
	var signatures []string
	for i, sealed := range hook.Secrets {
		if i > 0 && now >= hook.OlderUntil {
			break
		}
		key, err := s.config.Secrets.OpenWebhookKey(sealed)
		if err != nil {
			return Attempt{Failure: FailedSecret}
		}
		signatures = append(signatures, key.Sign(id, begun.Unix(), body))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "railguard/"+s.config.Version)
	request.Header["webhook-id"] = []string{id}
	request.Header["webhook-timestamp"] = []string{strconv.FormatInt(begun.Unix(), 10)}
	request.Header["webhook-signature"] = []string{strings.Join(signatures, " ")}
	answer, err := s.client.Do(request)
	if err != nil {
		return Attempt{Failure: classifyFailure(err), Took: time.Since(begun)}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, answerMax)
	return Attempt{Status: answer.StatusCode, RetryAfter: readRetryAfter(answer, begun), Took: time.Since(begun)}
}

func classifyFailure(err error) string {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedPort), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return FailedAddress
	case errors.As(err, &certificate), errors.As(err, &record):
		return FailedTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return FailedTimeout
	}
	return FailedConnection
}

// readRetryAfter returns the pause that an overloaded receiver asks for with Retry-After.
func readRetryAfter(answer *http.Response, now time.Time) time.Duration {
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return 0
	}
	text := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, retryAfterMax)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), retryAfterMax)
	}
	return 0
}
