package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/console/signin/providertest"
	"railguard/seal"
)

// lobby is a door before a provider.
type lobby struct {
	t        *testing.T
	provider *providertest.Provider
	door     *Door
	ahead    time.Duration // Of the door's clock.
	entered  []Person
}

func newLobby(t *testing.T, change func(*Config)) *lobby {
	l := &lobby{t: t, provider: providertest.Start()}
	t.Cleanup(l.provider.Close)
	config := Config{
		Issuer: l.provider.URL, ClientID: providertest.Client, ClientSecret: providertest.Secret, Redirect: func() string { return "https://guard.example/console/signin/oidc/callback" },
		GroupsClaim: "groups", NameClaim: "email", Roles: map[string][]string{"officers": {"reviewer", "policy"}, "audit": {"auditor"}},
		Secrets: seal.NewSecrets([]byte("0123456789abcdef")), Now: func() time.Time { return time.Now().Add(l.ahead) },
		Enter: func(_ context.Context, person *Person) (string, error) {
			l.entered = append(l.entered, *person)
			return "rg_live_secret", nil
		},
	}
	if change != nil {
		change(&config)
	}
	var err error
	l.door, err = New(config)
	require.NoError(t, err)
	return l
}

// begin begins a sign-in, and returns its cookie and where the provider is asked.
func (l *lobby) begin() (*http.Cookie, string) {
	l.t.Helper()
	w := httptest.NewRecorder()
	require.NoError(l.t, l.door.Begin(w, httptest.NewRequest("GET", "/console/signin/oidc", nil), true))
	answer := w.Result()
	require.Equal(l.t, http.StatusSeeOther, answer.StatusCode)
	require.Len(l.t, answer.Cookies(), 1)
	return answer.Cookies()[0], answer.Header.Get("Location")
}

// visit lets the provider sign the person in, and returns the address to which it sends back.
func (l *lobby) visit(address string) string {
	l.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(address)
	require.NoError(l.t, err)
	answer.Body.Close()
	require.Equal(l.t, http.StatusFound, answer.StatusCode)
	return answer.Header.Get("Location")
}

func (l *lobby) finish(cookie *http.Cookie, address string) (string, Why) {
	l.t.Helper()
	r := httptest.NewRequest("GET", address, nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	secret, err := l.door.Finish(w, r, true)
	require.Len(l.t, w.Result().Cookies(), 1)
	require.Negative(l.t, w.Result().Cookies()[0].MaxAge, "the cookie of the sign-in goes in any case")
	var failed *Error
	if err != nil {
		require.ErrorAs(l.t, err, &failed)
		require.Empty(l.t, secret)
		return "", failed.Why
	}
	return secret, ""
}

// signIn is the whole way.
func (l *lobby) signIn() (string, Why) {
	l.t.Helper()
	cookie, address := l.begin()
	return l.finish(cookie, l.visit(address))
}

func TestSignIn(t *testing.T) {
	l := newLobby(t, nil)
	cookie, address := l.begin()
	require.Equal(t, "__Host-railguard-signin", cookie.Name)
	require.True(t, cookie.HttpOnly && cookie.Secure)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	asked, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, "S256", asked.Query().Get("code_challenge_method"))
	require.Equal(t, "openid email groups", asked.Query().Get("scope"))
	for _, secret := range []string{asked.Query().Get("state"), asked.Query().Get("nonce")} {
		require.Len(t, secret, 32)
		require.NotContains(t, cookie.Value, secret, "the cookie is sealed")
	}
	secret, why := l.finish(cookie, l.visit(address))
	require.Empty(t, why)
	require.Equal(t, "rg_live_secret", secret)
	person := l.entered[0]
	require.Equal(t, []string{"00u-olga", "olga@bank.example", l.provider.URL, "policy reviewer"}, []string{person.Subject, person.Name, person.Issuer, strings.Join(person.Roles, " ")})
	l.provider.Person.Groups = []string{"audit", "officers", "cooks"}
	_, why = l.signIn()
	require.Empty(t, why)
	require.Equal(t, []string{"auditor", "policy", "reviewer"}, l.entered[1].Roles)
	require.NotEqual(t, person.Flow, l.entered[1].Flow)
}

// TestTokensThatNobodyBelieves: whatever a token says wrongly, nobody is signed in.
func TestTokensThatNobodyBelieves(t *testing.T) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*lobby, *providertest.Token)
		why    Why
	}{
		"issuer":   {func(_ *lobby, t *providertest.Token) { t.Claims["iss"] = "https://evil.example" }, WhyToken},
		"audience": {func(_ *lobby, t *providertest.Token) { t.Claims["aud"] = "another-client" }, WhyToken},
		"second party": {func(_ *lobby, t *providertest.Token) {
			t.Claims["aud"] = []string{providertest.Client, "another-client"}
		}, WhyToken},
		"authorised":     {func(_ *lobby, t *providertest.Token) { t.Claims["azp"] = "another-client" }, WhyToken},
		"nonce":          {func(_ *lobby, t *providertest.Token) { t.Claims["nonce"] = "another" }, WhyToken},
		"no nonce":       {func(_ *lobby, t *providertest.Token) { delete(t.Claims, "nonce") }, WhyToken},
		"expired":        {func(_ *lobby, t *providertest.Token) { t.Claims["exp"] = time.Now().Unix() - 60 }, WhyToken},
		"no end":         {func(_ *lobby, t *providertest.Token) { delete(t.Claims, "exp") }, WhyToken},
		"old":            {func(_ *lobby, t *providertest.Token) { t.Claims["iat"] = time.Now().Unix() - 3600 }, WhyToken},
		"of the future":  {func(_ *lobby, t *providertest.Token) { t.Claims["iat"] = time.Now().Unix() + 3600 }, WhyToken},
		"no subject":     {func(_ *lobby, t *providertest.Token) { t.Claims["sub"] = "" }, WhyToken},
		"long subject":   {func(_ *lobby, t *providertest.Token) { t.Claims["sub"] = strings.Repeat("s", 256) }, WhyToken},
		"unsigned":       {func(_ *lobby, t *providertest.Token) { t.Header["alg"], t.Key = "none", nil }, WhyToken},
		"shared secret":  {func(_ *lobby, t *providertest.Token) { t.Header["alg"], t.Key = "HS256", []byte(providertest.Secret) }, WhyToken},
		"key as secret":  {func(l *lobby, t *providertest.Token) { t.Header["alg"], t.Key = "HS256", publicBytes(l) }, WhyToken},
		"stranger's key": {func(_ *lobby, t *providertest.Token) { t.Key = stranger }, WhyToken},
		"unknown key":    {func(_ *lobby, t *providertest.Token) { t.Key, t.Header["kid"] = stranger, "key-99" }, WhyToken},
		"unverified":     {func(_ *lobby, t *providertest.Token) { t.Claims["email_verified"] = false }, WhyToken},
		"long name":      {func(_ *lobby, t *providertest.Token) { t.Claims["email"] = strings.Repeat("e", 201) }, WhyToken},
		"no groups":      {func(_ *lobby, t *providertest.Token) { delete(t.Claims, "groups") }, WhyRoles},
		"other groups":   {func(_ *lobby, t *providertest.Token) { t.Claims["groups"] = []string{"Officers", "admin"} }, WhyRoles},
		"groups in one":  {func(_ *lobby, t *providertest.Token) { t.Claims["groups"] = map[string]bool{"officers": true} }, WhyRoles},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLobby(t, nil)
			l.provider.Change = func(token *providertest.Token) { c.change(l, token) }
			_, why := l.signIn()
			require.Equal(t, c.why, why)
			require.Empty(t, l.entered)
			l.provider.Change = nil
			_, why = l.signIn()
			require.Empty(t, why, "the next sign-in is not hurt by it")
		})
	}
}

func publicBytes(l *lobby) []byte {
	key, _ := l.provider.Key()
	data, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(l.t, err)
	return data
}

// TestAnswersOfOthers: an answer counts in the browser that began the sign-in, once, for a while.
func TestAnswersOfOthers(t *testing.T) {
	l := newLobby(t, nil)
	cookie, address := l.begin()
	back := l.visit(address)
	_, why := l.finish(nil, back)
	require.Equal(t, WhyState, why, "another browser's")
	_, first := l.begin()
	_, why = l.finish(cookie, l.visit(first))
	require.Equal(t, WhyState, why, "another tab's")
	_, why = l.finish(cookie, back+"&state=x")
	require.Equal(t, WhyState, why, "a member twice")
	broken := *cookie
	broken.Value = "A" + cookie.Value[1:]
	_, why = l.finish(&broken, back)
	require.Equal(t, WhyState, why, "a cookie that this service did not seal")
	_, why = l.finish(cookie, back)
	require.Empty(t, why)
	_, why = l.finish(cookie, back)
	require.Equal(t, WhyCode, why, "the provider takes a code once")
	cookie, address = l.begin()
	back = l.visit(address)
	l.ahead = flowLength + time.Second
	_, why = l.finish(cookie, back)
	require.Equal(t, WhyLate, why)
	l.ahead = 0
	for name, c := range map[string]struct {
		change func(url.Values)
		why    Why
	}{
		"denied":         {func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") }, WhyRefused},
		"another issuer": {func(v url.Values) { v.Set("iss", "https://evil.example") }, WhyToken},
		"no code":        {func(v url.Values) { v.Del("code") }, WhyState},
		"a made up code": {func(v url.Values) { v.Set("code", "x") }, WhyCode},
		"a long code":    {func(v url.Values) { v.Set("code", strings.Repeat("x", codeMax+1)) }, WhyState},
	} {
		l.provider.Answer = c.change
		_, why := l.signIn()
		require.Equal(t, c.why, why, name)
	}
	require.Len(t, l.entered, 1)
}

// TestACodeIsBoundToItsBrowser: a code that was stolen on its way back is worth nothing with the
// thief's own sign-in (PKCE).
func TestACodeIsBoundToItsBrowser(t *testing.T) {
	l := newLobby(t, nil)
	_, address := l.begin()
	stolen, err := url.Parse(l.visit(address))
	require.NoError(t, err)
	cookie, mine := l.begin()
	back, err := url.Parse(l.visit(mine))
	require.NoError(t, err)
	query := back.Query()
	query.Set("code", stolen.Query().Get("code"))
	back.RawQuery = query.Encode()
	_, why := l.finish(cookie, back.String())
	require.Equal(t, WhyCode, why)
	require.Empty(t, l.entered)
}

// TestKeysOfTheProvider: new keys are learnt when a token names one, so often at most; a key that
// was taken away is not believed for longer than a quarter of an hour.
func TestKeysOfTheProvider(t *testing.T) {
	l := newLobby(t, nil)
	_, why := l.signIn()
	require.Empty(t, why)
	require.Equal(t, 1, l.provider.Count("/keys"))
	old, kid := l.provider.Key()
	l.provider.Rotate()
	_, why = l.signIn()
	require.Empty(t, why)
	require.Equal(t, 2, l.provider.Count("/keys"), "the new key was asked for")
	l.provider.Withdraw()
	withOld := func(token *providertest.Token) { token.Key, token.Header["kid"] = old, kid }
	l.provider.Change = withOld
	l.ahead = descriptionAge
	l.provider.Change = func(token *providertest.Token) {
		withOld(token)
		token.Claims["iat"], token.Claims["exp"] = time.Now().Add(l.ahead).Unix(), time.Now().Add(l.ahead+time.Minute).Unix()
	}
	_, why = l.signIn()
	require.Equal(t, WhyToken, why, "the key was taken away")
	l.ahead = 0
	l.provider.Change = func(token *providertest.Token) { token.Header["kid"] = "key-99" }
	for range 20 {
		_, why = l.signIn()
		require.NotEmpty(t, why)
	}
	require.LessOrEqual(t, l.provider.Count("/keys"), fetchesAtOnce+1, "unknown keys make nobody ask without end")
}

// TestTheProviderIsDown: a provider that does not answer, or not as one, lets nobody in, and is
// asked again when it is back.
func TestTheProviderIsDown(t *testing.T) {
	for name, down := range map[string]func(w http.ResponseWriter, path string) bool{
		"description": func(w http.ResponseWriter, path string) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		},
		"another issuer": func(w http.ResponseWriter, path string) bool {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example","authorization_endpoint":"https://evil.example/a"}`))
			return true
		},
		"elsewhere": func(w http.ResponseWriter, path string) bool {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusFound)
			return true
		},
		"endless": func(w http.ResponseWriter, path string) bool {
			_, _ = w.Write([]byte(strings.Repeat(" ", answerMax+1) + "{}"))
			return true
		},
	} {
		l := newLobby(t, nil)
		l.provider.Down = down
		var failed *Error
		require.ErrorAs(t, l.door.Begin(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), true), &failed, name)
		require.Equal(t, WhyProvider, failed.Why, name)
		l.provider.Down = nil
		_, why := l.signIn()
		require.Empty(t, why, name)
		l.provider.Down = func(w http.ResponseWriter, path string) bool {
			if path == "/token" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return path == "/token"
		}
		_, why = l.signIn()
		require.Equal(t, WhyProvider, why, name)
	}
}

func TestSettings(t *testing.T) {
	good := Config{
		Issuer: "https://idp.example", ClientID: "c", Roles: map[string][]string{"g": {"viewer"}}, Secrets: seal.NewSecrets([]byte("0123456789abcdef")),
		Redirect: func() string { return "" }, Enter: func(context.Context, *Person) (string, error) { return "", nil },
	}
	_, err := New(good)
	require.NoError(t, err)
	for _, issuer := range []string{"http://idp.example", "idp.example", "https://idp.example?x=1", "ftp://localhost", "https://a@idp.example", ""} {
		wrong := good
		wrong.Issuer = issuer
		_, err := New(wrong)
		require.Error(t, err, issuer)
	}
	none := good
	none.Roles = nil
	_, err = New(none)
	require.Error(t, err)
}

// TestWhoIsNotLetIn: the reason of whoever lets persons in is told.
func TestWhoIsNotLetIn(t *testing.T) {
	l := newLobby(t, func(c *Config) {
		c.Enter = func(context.Context, *Person) (string, error) { return "", &Error{WhyEnded, errors.New("ended")} }
	})
	_, why := l.signIn()
	require.Equal(t, WhyEnded, why)
}
