package providertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Client and Secret are what the service is known by.
const (
	Client = "railguard-console"
	Secret = "the secret of the client"
)

// Person is whom the provider signs in.
type Person struct {
	Subject, Email string
	Groups         []string
}

// Token is a token before it is signed. A test changes it.
type Token struct {
	Header, Claims map[string]any
	Key            any // *ecdsa.PrivateKey, *rsa.PrivateKey, []byte of a shared secret; nil: the token is not signed.
}

// Provider is the provider. A test sets its fields between sign-ins.
type Provider struct {
	*httptest.Server
	Person Person
	Change func(*Token)                                  // Changes the next tokens; nil: they are as they should be.
	Answer func(query url.Values)                        // Changes what the person is sent back with.
	Down   func(w http.ResponseWriter, path string) bool // Answers in place of the provider if it returns true.

	mutex  sync.Mutex
	keys   []*ecdsa.PrivateKey // The last one signs.
	kids   []string
	made   int
	codes  map[string]issued
	counts map[string]int
}

type issued struct {
	challenge, nonce, redirect string
	person                     Person
}

// Start starts a provider on loopback. The caller closes it.
func Start() *Provider {
	p := &Provider{codes: map[string]issued{}, counts: map[string]int{}, Person: Person{Subject: "00u-olga", Email: "olga@bank.example", Groups: []string{"officers"}}}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.describe)
	mux.HandleFunc("GET /keys", p.showKeys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.redeem)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.counts[r.URL.Path]++
		p.mutex.Unlock()
		if p.Down != nil && p.Down(w, r.URL.Path) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return p
}

// Count returns how often a path was asked for.
func (p *Provider) Count(path string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.counts[path]
}

// Rotate makes a new key, which signs from now on. The ones before stay published.
func (p *Provider) Rotate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.made++
	p.keys, p.kids = append(p.keys, key), append(p.kids, "key-"+strconv.Itoa(p.made))
}

// Withdraw takes all keys but the newest away.
func (p *Provider) Withdraw() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.keys, p.kids = p.keys[len(p.keys)-1:], p.kids[len(p.kids)-1:]
}

// Key returns the key that signs, and its name.
func (p *Provider) Key() (*ecdsa.PrivateKey, string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.keys[len(p.keys)-1], p.kids[len(p.kids)-1]
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		"scopes_supported": []string{"openid", "email", "groups"},
	})
}

func (p *Provider) showKeys(w http.ResponseWriter, _ *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	keys := []map[string]string{}
	for i, key := range p.keys {
		keys = append(keys, map[string]string{"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": p.kids[i], "x": number(key.X), "y": number(key.Y)})
	}
	reply(w, http.StatusOK, map[string]any{"keys": keys})
}

// authorize signs the person in without asking, and sends the browser back with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	if asked.Get("client_id") != Client || asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" || asked.Get("state") == "" || asked.Get("nonce") == "" {
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	code := random()
	p.mutex.Lock()
	p.codes[code] = issued{asked.Get("code_challenge"), asked.Get("nonce"), asked.Get("redirect_uri"), p.Person}
	p.mutex.Unlock()
	answer := url.Values{"code": {code}, "state": {asked.Get("state")}, "iss": {p.URL}}
	if p.Answer != nil {
		p.Answer(answer)
	}
	http.Redirect(w, r, asked.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

// redeem gives a token for a code, once.
func (p *Provider) redeem(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id, _ = url.QueryUnescape(id); id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	} else {
		secret, _ = url.QueryUnescape(secret)
	}
	p.mutex.Lock()
	code, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mutex.Unlock()
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != Client || secret != Secret:
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
	case !known, base64.RawURLEncoding.EncodeToString(challenge[:]) != code.challenge, r.PostFormValue("redirect_uri") != code.redirect:
		reply(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
	default:
		reply(w, http.StatusOK, map[string]any{"access_token": random(), "token_type": "Bearer", "expires_in": 300, "id_token": p.token(code)})
	}
}

// token makes and signs a token.
func (p *Provider) token(code issued) string {
	key, kid := p.Key()
	now := time.Now().Unix()
	t := &Token{
		Header: map[string]any{"alg": "ES256", "kid": kid, "typ": "JWT"}, Key: key,
		Claims: map[string]any{
			"iss": p.URL, "aud": Client, "sub": code.person.Subject, "email": code.person.Email, "email_verified": true, "groups": code.person.Groups,
			"nonce": code.nonce, "iat": now, "exp": now + 300,
		},
	}
	if p.Change != nil {
		p.Change(t)
	}
	return t.Sign()
}

// Sign returns the compact form of a token.
func (t *Token) Sign() string {
	text := encode(t.Header) + "." + encode(t.Claims)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	switch key := t.Key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			panic(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case *rsa.PrivateKey:
		signature, _ = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	case nil:
	default:
		panic(fmt.Sprintf("no key of a token: %T", key))
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encode(members map[string]any) string {
	data, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func number(n *big.Int) string {
	return base64.RawURLEncoding.EncodeToString(n.FillBytes(make([]byte, 32)))
}

func random() string {
	var some [16]byte
	_, _ = rand.Read(some[:])
	return base64.RawURLEncoding.EncodeToString(some[:])
}

func reply(w http.ResponseWriter, status int, members map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(members)
}
