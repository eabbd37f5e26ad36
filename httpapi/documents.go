package httpapi

import (
	"html"
	"net/http"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/httpapi/openapi"
	"railguard/strictjson"
)

// Public documents outside of /v1.

func (a *API) documentRoutes() []route {
	routes := []route{
		{method: http.MethodGet, path: "/docs/errors", scope: scopePublic, always: true, handle: showErrors},
		{method: http.MethodGet, path: "/docs/rules", scope: scopePublic, always: true, handle: showRules},
	}
	for _, page := range openapi.Pages() {
		routes = append(routes, route{method: http.MethodGet, path: page.Path, scope: scopePublic, always: true, handle: showPage(page)})
	}
	return routes
}

// showPage serves one file of the API's document and its explorer.
func showPage(page openapi.Page) func(*call) (Answer, error) {
	return func(c *call) (Answer, error) {
		data, err := page.Read()
		if err != nil {
			return Answer{}, err
		}
		c.header("Cache-Control", "public, max-age=3600")
		c.header("Content-Security-Policy", openapi.Policy)
		return c.send(http.StatusOK, []string{page.Type}, data), nil
	}
}

var (
	htmlType     = []string{"text/html; charset=utf-8"}
	markdownType = []string{"text/markdown; charset=utf-8"}
	contextType  = []string{"application/ld+json"}
)

// errorsPage is /docs/errors as HTML, built once.
var errorsPage = func() []byte {
	var page strings.Builder
	page.WriteString("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Railguard error codes</title>" +
		"<h1>Railguard error codes</h1><p>Every error body is flat: error and code (the same word), message, requestId, " +
		"txnId where one exists, and param or details where a field is at fault.</p><dl>")
	for _, entry := range codeTable {
		page.WriteString("<dt id=\"" + entry.code + "\"><code>" + entry.code + "</code> (" + strconv.Itoa(entry.status) + ")</dt><dd>" +
			html.EscapeString(entry.text) + "</dd>")
	}
	page.WriteString("</dl></html>\n")
	return []byte(page.String())
}()

// showErrors is GET /docs/errors, for people and, with Accept, for programs.
func showErrors(c *call) (Answer, error) {
	c.header("Cache-Control", "public, max-age=3600")
	if !strings.Contains(c.r.Header.Get("Accept"), "application/json") {
		c.header("Content-Security-Policy", "default-src 'none'")
		return c.send(http.StatusOK, htmlType, errorsPage), nil
	}
	items := make([]strictjson.Members, len(codeTable))
	for i, entry := range codeTable {
		items[i].Text("code", entry.code)
		items[i].Int("status", int64(entry.status))
		items[i].Text("meaning", entry.text)
	}
	c.out.List("errors", items)
	return c.reply(http.StatusOK, c.out), nil
}

// showRules is GET /docs/rules: the rule table, generated from the code.
func showRules(c *call) (Answer, error) {
	c.header("Cache-Control", "public, max-age=3600")
	return c.send(http.StatusOK, markdownType, []byte(engine.RulesMarkdown())), nil
}

// kyaTerms are the terms of our JSON-LD context and what they mean; the address
// of each is the context's own with a fragment.
var kyaTerms = []string{
	"KYAAgentCredential", "KYADelegateCredential", "KYAUserCredential",
	"agentId", "agentName", "agentType", "operatorLegalName", "userId", "legalName", "agentIds",
	"spendPolicy", "maxSingleTxUSDC", "dailyLimitUSDC", "allowedChains", "allowedRails", "counterpartyScreening", "noMixerProtocols",
	"complianceAttestation", "ofacAtIssuance", "screenedAt", "credentialStatus",
	"delegation", "parentAgentId", "rootAgentId", "depth", "chain",
}

// kyaContext is GET /contexts/kya/v1: the second context of every credential.
func kyaContext(c *call) (Answer, error) {
	base := "/contexts/kya/v1"
	if genesis := c.judge.Terms.Settings.Genesis; genesis != nil {
		base = strings.TrimSuffix(genesis.PublicURL, "/") + base
	}
	var terms strictjson.Members
	terms.Raw("@version", []byte("1.1"))
	for _, term := range kyaTerms {
		terms.Text(term, base+"#"+term)
	}
	c.out.Object("@context", terms)
	c.header("Cache-Control", "public, max-age=86400")
	c.header("Access-Control-Allow-Origin", "*")
	return c.send(http.StatusOK, contextType, c.out.Body()), nil
}
