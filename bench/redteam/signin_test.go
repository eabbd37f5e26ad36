package redteam

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"railguard/bench/conformance"
	"railguard/console/signin/providertest"
)

// startProvider starts the identity provider of the world, whose officers are reviewers and whose
// chiefs are admins, and tells the nodes of it.
func startProvider(set func(key, value string)) *providertest.Provider {
	p := providertest.Start()
	for key, value := range map[string]string{
		"ISSUER": p.URL, "CLIENT_ID": providertest.Client, "CLIENT_SECRET": providertest.Secret, "ROLE": "officers=reviewer,chiefs=admin", "ADMINS": "true",
	} {
		set("RAILGUARD_OIDC_"+key, value)
	}
	return p
}

// visitor is a browser that follows no redirection by itself.
type visitor struct {
	*http.Client
	e    conformance.Examiner
	base string
}

func (w *world) visitor(e conformance.Examiner) *visitor {
	jar, err := cookiejar.New(nil)
	e.Must(err == nil, "the stage: %v", err)
	return &visitor{&http.Client{Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, e, w.bases[0]}
}

// get reads a page, and returns its status, where it sends the browser, and its text.
func (v *visitor) get(address string, header ...string) (status int, to, text string) {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	v.e.Must(err == nil, "the stage: %v", err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := v.Do(r)
	v.e.Must(err == nil, "the stage: %s: %v", address, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	v.e.Must(err == nil, "the stage: %v", err)
	return answer.StatusCode, answer.Header.Get("Location"), string(data)
}

// begin begins a sign-in, and returns the address to which the provider sends the browser back.
func (v *visitor) begin(query string) (back string) {
	status, to, text := v.get(v.base + "/console/signin/oidc" + query)
	v.e.Must(status == http.StatusSeeOther, "the stage: a sign-in does not begin: %d %.200s", status, text)
	_, back, _ = v.get(to)
	return back
}

// finish brings the provider's answer back to the node, and returns where the browser is sent.
func (v *visitor) finish(back string) (to string) {
	address, err := url.Parse(back)
	v.e.Must(err == nil && address.Path == "/console/signin/oidc/callback", "the stage: the provider sends back to %q", back)
	_, to, _ = v.get(v.base + address.RequestURI())
	return to
}

// signedIn returns as whom the browser is signed in; "": as nobody.
func (v *visitor) signedIn() (name string, roles []string) {
	_, _, text := v.get(v.base + "/console/session")
	var said struct {
		SignedIn bool
		Key      struct {
			Person string
			Roles  []string
		}
	}
	v.e.Must(json.Unmarshal([]byte(text), &said) == nil, "the stage: %.200s", text)
	if !said.SignedIn {
		return "", nil
	}
	return said.Key.Person, said.Key.Roles
}

func (v *visitor) cookie(name string) string {
	at, err := url.Parse(v.base + "/console/")
	v.e.Must(err == nil, "the stage: %v", err)
	for _, cookie := range v.Jar.Cookies(at) {
		if strings.HasSuffix(cookie.Name, name) {
			return cookie.Value
		}
	}
	return ""
}

// forgedTokens: whatever an ID token says wrongly, or whoever signed it, nobody is signed in, and the
// next honest sign-in is not hurt (T70).
func (w *world) forgedTokens(e conformance.Examiner) {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.Must(err == nil, "the stage: %v", err)
	olga := providertest.Person{Subject: "00u-olga", Email: "olga@bank.example", Groups: []string{"officers"}}
	var used map[string]any // The claims of an honest token.
	honest := func() {
		w.provider.Person, w.provider.Change = olga, func(t *providertest.Token) { used = maps.Clone(t.Claims) }
		v := w.visitor(e)
		v.finish(v.begin(""))
		name, roles := v.signedIn()
		e.Must(name == olga.Email && strings.Join(roles, " ") == "reviewer", "an honest sign-in fails: %q %v", name, roles)
	}
	honest()
	for name, change := range map[string]func(*providertest.Token){
		"alg none":               func(t *providertest.Token) { t.Header["alg"], t.Key = "none", nil },
		"alg none, signed":       func(t *providertest.Token) { t.Header["alg"] = "none" },
		"a shared secret":        func(t *providertest.Token) { t.Header["alg"], t.Key = "HS256", []byte(providertest.Secret) },
		"a stranger's key":       func(t *providertest.Token) { t.Key = stranger },
		"a key nobody published": func(t *providertest.Token) { t.Key, t.Header["kid"] = stranger, "key-99" },
		"another audience":       func(t *providertest.Token) { t.Claims["aud"] = "another-client" },
		"two audiences":          func(t *providertest.Token) { t.Claims["aud"] = []string{providertest.Client, "another-client"} },
		"another issuer":         func(t *providertest.Token) { t.Claims["iss"] = "https://evil.example" },
		"another nonce":          func(t *providertest.Token) { t.Claims["nonce"] = "another" },
		"no nonce":               func(t *providertest.Token) { delete(t.Claims, "nonce") },
		"expired":                func(t *providertest.Token) { t.Claims["exp"] = time.Now().Unix() - 60 },
		"never ends":             func(t *providertest.Token) { delete(t.Claims, "exp") },
		"an hour old":            func(t *providertest.Token) { t.Claims["iat"] = time.Now().Unix() - 3600 },
		"replayed":               func(t *providertest.Token) { t.Claims = used },
		"a mail nobody verified": func(t *providertest.Token) { t.Claims["email_verified"] = false },
	} {
		w.provider.Change = change
		v := w.visitor(e)
		to := v.finish(v.begin(""))
		who, _ := v.signedIn()
		e.Expect(who == "" && strings.HasPrefix(to, "/console/?signin="), "a token is believed: %s: signed in as %q, sent to %q", name, who, to)
	}
	honest()
	for name, groups := range map[string]any{
		"another case": []string{"Chiefs", "CHIEFS"}, "with a space": []string{"chiefs ", " chiefs"}, "one text of many": "officers,chiefs", "an object": map[string]bool{"chiefs": true}, "a list in a list": []any{[]string{"chiefs"}}, "a null byte": []string{"chiefs\x00"},
	} {
		w.provider.Change = func(t *providertest.Token) { t.Claims["groups"] = groups }
		v := w.visitor(e)
		v.finish(v.begin(""))
		who, roles := v.signedIn()
		e.Expect(who == "", "groups that nobody has give %v: %s", roles, name)
	}
	w.provider.Change = func(t *providertest.Token) { t.Claims["roles"], t.Claims["admin"] = []string{"admin"}, true }
	v := w.visitor(e)
	v.finish(v.begin(""))
	_, roles := v.signedIn()
	e.Expect(strings.Join(roles, " ") == "reviewer", "claims that are no groups give roles: %v", roles)
	w.provider.Change = nil
}

// foreignSignIns: nobody brings another's sign-in into a browser, uses a code twice, fixes a session
// or is sent elsewhere afterwards (T70).
func (w *world) foreignSignIns(e conformance.Examiner) {
	w.provider.Change, w.provider.Person = nil, providertest.Person{Subject: "00u-mallory", Email: "mallory@bank.example", Groups: []string{"officers"}}
	mallory, victim := w.visitor(e), w.visitor(e)
	back := mallory.begin("")
	victim.finish(back)
	who, _ := victim.signedIn()
	e.Expect(who == "", "a link signs the victim in as %q", who)
	victim.begin("") // The victim has a sign-in of its own open.
	victim.finish(back)
	who, _ = victim.signedIn()
	e.Expect(who == "", "a link signs the victim in as %q while another sign-in is open", who)
	status, _, _ := victim.get(victim.base+"/console/signin/oidc", "Sec-Fetch-Site", "cross-site")
	e.Expect(status == http.StatusForbidden, "another site begins a sign-in: %d", status)

	mallory.finish(back)
	who, _ = mallory.signedIn()
	e.Must(who == "mallory@bank.example", "an honest sign-in fails: %q", who)
	fixed := mallory.cookie("railguard-session")
	again := w.visitor(e)
	again.finish(back)
	who, _ = again.signedIn()
	e.Expect(who == "", "a code is good twice: %q", who)
	mallory.finish(back)
	e.Expect(mallory.cookie("railguard-session") == fixed, "a code that was used gives another session")

	w.provider.Person = providertest.Person{Subject: "00u-olga", Email: "olga@bank.example", Groups: []string{"officers"}}
	at, err := url.Parse(victim.base + "/console/")
	e.Must(err == nil, "the stage: %v", err)
	victim.Jar.SetCookies(at, []*http.Cookie{{Name: "railguard-session", Value: fixed, Path: "/"}})
	victim.finish(victim.begin(""))
	who, _ = victim.signedIn()
	e.Must(who == "olga@bank.example", "an honest sign-in fails: %q", who)
	e.Expect(victim.cookie("railguard-session") != fixed, "the session that mallory set became olga's")
	held := w.visitor(e)
	held.Jar.SetCookies(at, []*http.Cookie{{Name: "railguard-session", Value: fixed, Path: "/"}})
	who, _ = held.signedIn()
	e.Expect(who == "mallory@bank.example", "mallory's cookie is %q's", who)

	tossed := w.visitor(e) // A cookie for a part of the site, which a page of a neighbour may set, stands before the one of the sign-in.
	tossed.Jar.SetCookies(at, []*http.Cookie{{Name: "railguard-session", Value: fixed, Path: "/console"}})
	tossed.finish(tossed.begin(""))
	who, _ = tossed.signedIn()
	e.Expect(who != "mallory@bank.example", "olga works in mallory's session")

	for _, query := range []string{"", "?next=https://evil.example", "?return_to=//evil.example", "?redirect_uri=https://evil.example&redirect=https://evil.example"} {
		v := w.visitor(e)
		back := v.begin(query)
		e.Expect(!strings.Contains(back, "evil.example"), "the provider sends back to %q", back)
		to := v.finish(back + strings.ReplaceAll(query, "?", "&"))
		who, _ := v.signedIn()
		e.Expect(to == "/console/" || who == "" && strings.HasPrefix(to, "/console/?signin="), "after the sign-in the browser is sent to %q", to)
	}
}
