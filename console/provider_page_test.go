package console_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"railguard/console"
	"railguard/console/signin/providertest"
)

// byProvider starts a cluster whose persons sign in by a provider.
func byProvider(t *testing.T, roles string) (*site, *providertest.Provider) {
	browser(t)
	provider := providertest.Start()
	t.Cleanup(provider.Close)
	t.Setenv("RAILGUARD_OIDC_ISSUER", provider.URL)
	t.Setenv("RAILGUARD_OIDC_CLIENT_ID", providertest.Client)
	t.Setenv("RAILGUARD_OIDC_CLIENT_SECRET", providertest.Secret)
	t.Setenv("RAILGUARD_OIDC_ROLE", roles)
	t.Setenv("RAILGUARD_OIDC_ADMINS", "true")
	return cluster(t, 1), provider
}

// signInAs signs a person in by the provider.
func (w *tab) signInAs(provider *providertest.Provider, subject, email string, groups ...string) {
	w.t.Helper()
	provider.Person = providertest.Person{Subject: subject, Email: email, Groups: groups}
	w.at("/", "Sign in")
	w.click(".provider a")
	w.arrives("h1", "Overview")
}

// arrives waits as shows does, while the browser goes from one site to another.
func (w *tab) arrives(selector, text string) {
	w.t.Helper()
	found := false
	asked := fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.innerText.includes(%q))`, selector, text)
	for began := time.Now(); !found; time.Sleep(50 * time.Millisecond) {
		require.Less(w.t, time.Since(began), patience, "%s never showed %q", selector, text)
		if chromedp.Run(w.ctx, chromedp.Evaluate(asked, &found)) != nil {
			found = false // The page was left while it was asked.
		}
	}
}

// TestSignInByAProviderInTheBrowser: a person signs in by the provider's word alone, acts under the
// name that it says, and does not come back once an admin has ended the person.
func TestSignInByAProviderInTheBrowser(t *testing.T) {
	s, provider := byProvider(t, "officers=reviewer+policy")
	w := s.window(0)
	w.signInAs(provider, "00u-olga", "olga@bank.example", "officers")
	w.shows(".menu summary", "olga@bank.example")
	keys := s.call(0, s.Key, "GET", "/admin/keys", "", 200)["data"].([]any)
	at := slices.IndexFunc(keys, func(key any) bool { return key.(map[string]any)["person"] == "olga@bank.example" })
	require.GreaterOrEqual(t, at, 0)
	row := keys[at].(map[string]any)
	w.at("/", "Overview")
	w.do(chromedp.Navigate(w.origin + console.CallbackPath + "?code=x&state=y"))
	w.shows("h1", "Overview")

	s.call(0, s.Key, "DELETE", "/admin/keys/"+row["keyId"].(string), "", 200)
	w.at("/", "Sign in")
	w.click(".provider a")
	w.arrives("[role=alert]", "Your access was ended here.")
	provider.Person.Groups = []string{"cooks"}
	w.click(".provider a")
	w.arrives("[role=alert]", "none of your groups has a role here")
	provider.Down = func(w http.ResponseWriter, path string) bool {
		if path == "/token" {
			w.WriteHeader(http.StatusBadGateway)
		}
		return path == "/token"
	}
	w.click(".provider a")
	w.arrives("[role=alert]", "The identity provider does not answer.")
}
