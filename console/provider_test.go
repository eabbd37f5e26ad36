package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/console/signin"
	"railguard/console/signin/providertest"
	"railguard/seal"
)

// TestSignInByAProvider goes the way of a browser with a console before an API that knows one key.
func TestSignInByAProvider(t *testing.T) {
	provider := providertest.Start()
	defer provider.Close()
	var let error
	var front http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { front.ServeHTTP(w, r) }))
	defer server.Close()
	door, err := signin.New(signin.Config{
		Issuer: provider.URL, ClientID: providertest.Client, ClientSecret: providertest.Secret, GroupsClaim: "groups", NameClaim: "email",
		Roles: map[string][]string{"officers": {"reviewer"}}, Secrets: seal.NewSecrets([]byte("0123456789abcdef")),
		Redirect: func() string { return server.URL + CallbackPath },
		Enter:    func(context.Context, *signin.Person) (string, error) { return goodKey, let },
	})
	require.NoError(t, err)
	d := newDesk(t, func(c *Config) { c.SignIn = door })
	front = d.c
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	ask := func(path string) (*http.Response, string) {
		answer, err := client.Get(server.URL + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer, string(text)
	}
	_, text := ask("/console/session")
	require.JSONEq(t, `{"signedIn":false,"provider":true}`, text)
	answer, _ := ask("/console/signin/oidc")
	require.Equal(t, "/console/", answer.Request.URL.RequestURI())
	_, text = ask("/console/session")
	require.Contains(t, text, `"signedIn":true`)
	require.Equal(t, "/v1/key", d.got[0].path)
	require.True(t, d.got[0].signsIn, "it is counted as a sign-in")

	let = &signin.Error{Why: signin.WhyEnded, Cause: errors.New("ended")}
	answer, _ = ask("/console/signin/oidc")
	require.Equal(t, "/console/?signin=ended", answer.Request.URL.RequestURI())
	_, text = ask("/console/session")
	require.Contains(t, text, `"signedIn":true`, "the session before stays")
	answer, _ = ask("/console/signin/oidc/callback?code=x&state=y")
	require.Equal(t, "/console/?signin=state", answer.Request.URL.RequestURI())

	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	require.Equal(t, 403, d.do("GET", "/console/signin/oidc", "", foreign).StatusCode)
	require.Equal(t, 405, d.do("POST", "/console/signin/oidc/callback", "", nil).StatusCode)
	none := newDesk(t, nil)
	require.Equal(t, 404, none.do("GET", "/console/signin/oidc", "", nil).StatusCode)
	require.Equal(t, 404, none.do("GET", "/console/signin/oidc/callback", "", nil).StatusCode)
}
