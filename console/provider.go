package console

import (
	"errors"
	"net/http"
	"net/url"

	"railguard/console/signin"
)

// beginSignIn sends a person to the identity provider. Only the console's own page does, so that
// no other site begins a sign-in in somebody's browser.
func (c *Console) beginSignIn(w http.ResponseWriter, r *http.Request) {
	if !c.hasProvider(w, r) {
		return
	}
	if isForeign(r) {
		writeError(w, http.StatusForbidden, "forbidden", "a sign-in begins on the console's own page")
		return
	}
	if err := c.config.SignIn.Begin(w, r, c.overTLS(r)); err != nil {
		c.tellWhy(w, r, err)
	}
}

// finishSignIn takes the person whom the provider sends back. A session that the browser has stays
// if this one does not begin.
func (c *Console) finishSignIn(w http.ResponseWriter, r *http.Request) {
	if !c.hasProvider(w, r) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	secret, err := c.config.SignIn.Finish(w, r, c.overTLS(r))
	if err != nil {
		c.tellWhy(w, r, err)
		return
	}
	if s, _ := c.beginSession(w, r, secret); s == nil {
		c.tellWhy(w, r, &signin.Error{Why: signin.WhyBusy, Cause: errors.New("the API does not take the session")})
		return
	}
	http.Redirect(w, r, Root+"/", http.StatusSeeOther)
}

func (c *Console) hasProvider(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case c.config.SignIn == nil:
		writeError(w, http.StatusNotFound, "not_found", "persons sign in with API keys here")
		return false
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "a sign-in is a page that is read")
		return false
	}
	return true
}

// tellWhy shows the sign-in page, which says why nobody was let in. Nothing that the provider said
// gets onto the page.
func (c *Console) tellWhy(w http.ResponseWriter, r *http.Request, err error) {
	var failed *signin.Error
	if !errors.As(err, &failed) {
		failed = &signin.Error{Why: signin.WhyBusy, Cause: err}
	}
	c.config.SignIn.Log(failed)
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, Root+"/?signin="+url.QueryEscape(string(failed.Why)), http.StatusSeeOther)
}
