package console_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// authenticator gives the browser a virtual authenticator whose person is there and is verified.
func (w *tab) authenticator() {
	w.t.Helper()
	w.do(webauthn.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := webauthn.AddVirtualAuthenticator(&webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
			IsUserVerified: true, AutomaticPresenceSimulation: true,
		}).Do(ctx)
		return err
	}))
}

// TestPasskeysInTheBrowser: an officer registers a passkey, which signs a day later; then a policy
// demands it of decisions, which the page signs, one and many, and whoever has none decides nothing.
// The export proves it without the cluster.
func TestPasskeysInTheBrowser(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	require.NoError(t, s.LetOneAct(t.Context()))
	d := s.morning()
	key := s.call(0, s.Key, "POST", "/admin/keys", `{"name":"Olga","person":"Olga","roles":"reviewer,policy,auditor"}`, 201)["key"].(string)
	w := s.window(0)
	w.before, w.origin = w.origin, strings.Replace(w.origin, "127.0.0.1", "localhost", 1)
	w.authenticator()
	w.signIn(key)
	w.at("/passkeys", "Passkeys")
	w.shows("#passkeys", "None yet.")
	w.click(".register")
	w.types("dialog input[name=name]", "Olga's own")
	w.confirm()
	w.shows("#passkeys", "Olga's own")
	w.shows("#passkeys", "from")
	s.call(0, s.Key, "POST", "/v1/test/clock", `{"advance":"25h"}`, 200)
	w.at("/passkeys", "Passkeys")
	w.shows("#passkeys", "ok")

	ask := func(method, path, body string) string {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		var got string
		expression := `import('/console/web/api.js').then((api) => api.call('` + path + `', {method: '` + method + `', body: ` + string(text) + `})).then((a) => JSON.stringify(a), (e) => e.code)`
		w.do(chromedp.Evaluate(expression, &got, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		return got
	}
	got := ask("PUT", "/policy", `{"policy":{"twoPersons":[],"passkeys":["disposition"]},"reason":"signed"}`)
	require.Contains(t, got, `"passkeys":["disposition"]`)
	refused := s.call(0, s.Key, "POST", "/v1/reviews/"+d.limit, `{"disposition":"REJECTED","reviewedBy":"the key","notes":"no"}`, 403)
	require.Equal(t, "passkey_required", refused["code"])
	require.Empty(t, refused["passkeys"])
	require.Contains(t, ask("POST", "/reviews/"+d.limit, `{"disposition":"REJECTED","reviewedBy":"Olga","notes":"not ours"}`), `"disposition":"REJECTED"`)
	many := ask("POST", "/queue/bulk", `{"txnIds":["`+d.stale+`","`+d.model+`","`+d.more[0]+`"],"disposition":"REJECTED","reviewedBy":"Olga","notes":"together"}`)
	require.Equal(t, 3, strings.Count(many, `"disposition":"REJECTED"`), many)

	record := s.call(0, key, "GET", "/v1/audit/"+d.limit+"/proof", "", 200)
	require.NotEmpty(t, record)
}
