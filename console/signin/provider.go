package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

const (
	askTimeout     = 10 * time.Second // For one call to the provider.
	answerMax      = 1 << 20          // Bytes of one answer of the provider.
	tokenMax       = 64 << 10         // Bytes of a token.
	groupsMax      = 2000
	nameMax        = 200              // Bytes of a person's name.
	subjectMax     = 255              // OpenID Connect Core, section 2.
	descriptionAge = 15 * time.Minute // After so long the provider and its keys are asked for anew: a key that it took away is not believed longer.
	tokenAgeMost   = 10 * time.Minute // A token is made for the sign-in that asked for it.
	tokenAhead     = time.Minute      // The most that the provider's clock may be ahead.

	// A token with an unknown key makes this node fetch the provider's keys: so often at most.
	fetchesASecond = 0.2
	fetchesAtOnce  = 5
)

// algorithms are those of signatures that are believed: none that a shared secret makes.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// provider is the identity provider, as far as this node knows it.
type provider struct {
	config *Config
	http   *http.Client

	mutex sync.Mutex
	known *description
}

// description is what a provider says of itself.
type description struct {
	endpoint oauth2.Endpoint
	scopes   []string
	verifier *oidc.IDTokenVerifier
	read     time.Time
}

func newProvider(config *Config) *provider {
	p := &provider{config: config}
	inner := config.Transport
	if inner == nil {
		inner = http.DefaultTransport
	}
	p.http = &http.Client{Transport: &transport{inner, newFetches(), newFetches()}, Timeout: askTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the provider sends elsewhere") // Neither its description nor a code is to be had at another address.
	}}
	return p
}

// transport bounds what a provider may cost: the length of its answers, and how often its
// description and its keys are fetched.
type transport struct {
	inner              http.RoundTripper
	descriptions, keys *rate.Limiter
}

func newFetches() *rate.Limiter { return rate.NewLimiter(fetchesASecond, fetchesAtOnce) }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	fetches := t.keys
	if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
		fetches = t.descriptions
	}
	if r.Method == http.MethodGet && !fetches.Allow() {
		return nil, errors.New("the provider was asked too often")
	}
	answer, err := t.inner.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, answerMax), answer.Body}
	}
	return answer, err
}

// describe returns what the provider says of itself, from memory while that is new.
func (p *provider) describe(ctx context.Context) (*description, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := p.config.Now()
	if p.known != nil && now.Sub(p.known.read) < descriptionAge && !now.Before(p.known.read) {
		return p.known, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout) // Others wait for the same answer.
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.http), p.config.Issuer)
	if err != nil {
		return nil, fail(WhyProvider, err)
	}
	var says struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, fail(WhyProvider, err)
	}
	known := &description{endpoint: found.Endpoint(), scopes: []string{oidc.ScopeOpenID}, read: now}
	for _, scope := range []string{"profile", "email", "groups"} {
		if slices.Contains(says.Scopes, scope) {
			known.scopes = append(known.scopes, scope)
		}
	}
	known.verifier = found.VerifierContext(oidc.ClientContext(context.Background(), p.http), &oidc.Config{
		ClientID: p.config.ClientID, SupportedSigningAlgs: algorithms, Now: p.config.Now,
	})
	p.known = known
	return known, nil
}

// exchange redeems a code, and returns the token that says who the person is.
func (p *provider) exchange(ctx context.Context, client *oauth2.Config, code, verifier string) (string, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), askTimeout)
	defer cancel()
	answer, err := client.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError:
		return "", fail(WhyCode, fmt.Errorf("the provider answered %d %q", refused.Response.StatusCode, refused.ErrorCode))
	case err != nil:
		return "", fail(WhyProvider, err)
	}
	token, _ := answer.Extra("id_token").(string)
	if token == "" || len(token) > tokenMax {
		return "", fail(WhyToken, errors.New("the provider's answer names nobody"))
	}
	return token, nil
}

// readToken checks the provider's statement and reads the person from it.
func (p *provider) readToken(ctx context.Context, known *description, text, nonce string) (*Person, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	token, err := known.verifier.Verify(ctx, text)
	if err != nil {
		return nil, fail(WhyToken, err)
	}
	now := p.config.Now()
	switch {
	case token.Nonce != nonce:
		return nil, fail(WhyToken, errors.New("the token is of another sign-in"))
	case token.IssuedAt.After(now.Add(tokenAhead)), now.Sub(token.IssuedAt) > tokenAgeMost:
		return nil, fail(WhyToken, errors.New("the token was not issued now"))
	case token.Subject == "", len(token.Subject) > subjectMax, !utf8.ValidString(token.Subject):
		return nil, fail(WhyToken, errors.New("the token names nobody"))
	}
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return nil, fail(WhyToken, err)
	}
	if party := readText(claims["azp"]); party != p.config.ClientID && (party != "" || len(token.Audience) > 1) {
		return nil, fail(WhyToken, errors.New("the token was issued to another party"))
	}
	person := &Person{Issuer: token.Issuer, Subject: token.Subject}
	if person.Name, err = p.readName(claims, token.Subject); err != nil {
		return nil, fail(WhyToken, err)
	}
	if person.Roles = p.rolesOf(readTexts(claims[p.config.GroupsClaim])); len(person.Roles) == 0 {
		return nil, fail(WhyRoles, errors.New("no group has a role"))
	}
	return person, nil
}

// readName returns what people call a person. An address that the provider does not vouch for is
// no name: another person may own it.
func (p *provider) readName(claims map[string]json.RawMessage, subject string) (string, error) {
	name := readText(claims[p.config.NameClaim])
	if p.config.NameClaim == "email" && string(claims["email_verified"]) == "false" {
		return "", errors.New("the person's address is not verified")
	}
	if name == "" {
		name = subject
	}
	if len(name) > nameMax || !utf8.ValidString(name) {
		return "", errors.New("the person's name is too long")
	}
	return name, nil
}

// rolesOf returns the roles that groups have.
func (p *provider) rolesOf(groups []string) (roles []string) {
	for _, group := range groups {
		for _, role := range p.config.Roles[group] {
			if !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	slices.Sort(roles)
	return roles
}

func readText(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// readTexts reads a list of texts, or one text.
func readTexts(raw json.RawMessage) (texts []string) {
	if json.Unmarshal(raw, &texts) != nil || len(texts) > groupsMax {
		texts = nil
	}
	if one := readText(raw); one != "" {
		texts = []string{one}
	}
	return texts
}
