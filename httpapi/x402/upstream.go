package x402

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The facilitator behind knows the chain, and is trusted about the chain only. An unclear
// answer counts as none: then the outcome is unknown.

// Bounds of its answers.
const (
	connectTimeout  = 5 * time.Second
	upstreamMax     = 64 << 10 // Bytes of an answer.
	upstreamHeaders = 32 << 10
	transactionMax  = 256
	reasonMax       = 256
)

var errUpstream = errors.New("the facilitator behind gave no answer that can be read")

// outcome is the result of a payment at the facilitator behind.
type outcome uint8

const (
	unknown outcome = iota // It may have happened.
	done
	failed // It certainly did not happen.
)

// newClient makes a client that calls the configured address alone: it uses no proxy and no
// cookies, and follows no redirects.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: connectTimeout,
			MaxResponseHeaderBytes: upstreamHeaders, DisableCompression: true, MaxConnsPerHost: inFlightMax, MaxIdleConnsPerHost: 64,
			IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// checkUpstream returns why payments cannot be sent to an address, nil if they can.
func checkUpstream(address string) error {
	target, err := url.Parse(address)
	switch {
	case err != nil || target.Host == "" || target.RawQuery != "" || target.Fragment != "" || target.User != nil:
		return errors.New("must be an address such as https://facilitator.example.org")
	case target.Scheme == "https":
		return nil
	case target.Scheme == "http" && (target.Hostname() == "127.0.0.1" || target.Hostname() == "::1" || target.Hostname() == "localhost"):
		return nil
	}
	return errors.New("must be https, unless it is on this machine")
}

// postPayment sends a payment on and returns the one JSON object of the answer.
func (f *Facilitator) postPayment(ctx context.Context, path string, body []byte) (object, int, error) {
	return f.exchangeJSON(ctx, http.MethodPost, path, body)
}

func (f *Facilitator) exchangeJSON(ctx context.Context, method, path string, body []byte) (object, int, error) {
	began := time.Now()
	defer func() { upstreamSeconds[path].Observe(time.Since(began)) }()
	call, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(f.config.Upstream, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	call.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		call.Header.Set("Content-Type", "application/json")
	}
	if f.config.UpstreamToken != "" {
		call.Header.Set("Authorization", "Bearer "+f.config.UpstreamToken)
	}
	answer, err := f.client.Do(call)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, upstreamMax+1))
	if err != nil || len(data) > upstreamMax {
		return nil, answer.StatusCode, errUpstream
	}
	said, err := readObject(data)
	if err != nil {
		return nil, answer.StatusCode, errUpstream
	}
	return said, answer.StatusCode, nil
}

// isJudgement tells whether facilitators answer with this status when they have judged a payment.
func isJudgement(status int) bool {
	return status == http.StatusOK || status == http.StatusBadRequest || status == http.StatusPaymentRequired
}

// verifyBehind asks whether the payment would be made, and returns why not.
func (f *Facilitator) verifyBehind(ctx context.Context, p *payment) (o outcome, reason, message string) {
	ctx, cancel := context.WithTimeout(ctx, f.config.VerifyTimeout)
	defer cancel()
	said, status, err := f.postPayment(ctx, "/verify", p.forward)
	valid, told := said["isValid"].(bool)
	if err != nil || !told || !isJudgement(status) {
		return unknown, "", ""
	}
	reason, message = shortenReason(said.text("invalidReason")), shortenReason(said.text("invalidMessage"))
	switch {
	case valid && status == http.StatusOK && p.mayBePayer(said.text("payer")):
		return done, "", ""
	case valid || reason == "":
		return unknown, "", ""
	}
	return failed, reason, message
}

// notDefinite are reasons of a failed settlement after which the payment may still be made.
var notDefinite = map[string]bool{
	"settlement_pending": true, "unexpected_settle_error": true, "unexpected_error": true, "invalid_transaction_state": true,
}

// settleBehind has the payment made. When it is done, it has the transaction.
func (f *Facilitator) settleBehind(ctx context.Context, p *payment) (o outcome, transaction, reason, message string) {
	ctx, cancel := context.WithTimeout(ctx, f.config.SettleTimeout)
	defer cancel()
	said, status, err := f.postPayment(ctx, "/settle", p.forward)
	success, told := said["success"].(bool)
	if err != nil || !told || !isJudgement(status) {
		return unknown, "", "", ""
	}
	transaction, reason, message = said.text("transaction"), shortenReason(said.text("errorReason")), shortenReason(said.text("errorMessage"))
	if success {
		// A payment of another payer, network or amount, or without an id, is not this payment.
		network, amount := said.text("network"), said.text("amount")
		mine := network == p.network || network == p.asset.Network
		if status != http.StatusOK || !mine || !p.mayBePayer(said.text("payer")) || amount != "" && amount != p.units || !isSoundID(transaction) {
			return unknown, "", "", ""
		}
		return done, transaction, "", ""
	}
	if reason == "" || notDefinite[reason] || transaction != "" { // A transaction that was sent may still be made.
		return unknown, "", reason, message
	}
	return failed, "", reason, message
}

// mayBePayer tells whether the payer that the facilitator behind named, if it named one, is a wallet
// that was judged as one that pays.
func (p *payment) mayBePayer(payer string) bool {
	return payer == "" || p.asset.sameAddress(payer, p.payer) || slices.ContainsFunc(p.signers, func(signer string) bool { return p.asset.sameAddress(payer, signer) })
}

// isSoundID tells whether a transaction's id can be recorded.
func isSoundID(id string) bool {
	for i := 0; i < len(id); i++ {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return id != "" && len(id) <= transactionMax
}

func shortenReason(text string) string {
	if len(text) > reasonMax {
		return strings.ToValidUTF8(text[:reasonMax], "")
	}
	return text
}

// rawMember returns a member as it was read, nil if there is none.
func (o object) rawMember(name string) json.RawMessage {
	value, there := o[name]
	if !there {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return data
}
