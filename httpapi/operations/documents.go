package operations

import (
	"html"
	"net/http"
	"strconv"
	"strings"

	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/httpapi/openapi"
	"railguard/strictjson"
)

// Public documents outside of /v1.

func documentRoutes() []border.Route {
	routes := []border.Route{
		{Method: http.MethodGet, Path: "/docs/errors", Always: true, Handle: showErrors},
		{Method: http.MethodGet, Path: "/docs/rules", Always: true, Handle: showRules},
	}
	for _, file := range openapi.Files() {
		routes = append(routes, border.Route{Method: http.MethodGet, Path: file.Path, Always: true, Handle: showFile(file)})
	}
	return routes
}

// showFile serves one file of the API's document or its explorer.
func showFile(file openapi.File) func(*border.Request) (border.Answer, error) {
	return func(c *border.Request) (border.Answer, error) {
		data, err := file.Read()
		if err != nil {
			return border.Answer{}, err
		}
		c.SetHeader("Cache-Control", "public, max-age=3600")
		c.SetHeader("Content-Security-Policy", openapi.Policy)
		return c.Send(http.StatusOK, []string{file.Type}, data), nil
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
	for _, entry := range border.CodeTable {
		page.WriteString("<dt id=\"" + entry.Code + "\"><code>" + entry.Code + "</code> (" + strconv.Itoa(entry.Status) + ")</dt><dd>" +
			html.EscapeString(entry.Text) + "</dd>")
	}
	page.WriteString("</dl></html>\n")
	return []byte(page.String())
}()

// showErrors is GET /docs/errors, for people and, with Accept, for programs.
func showErrors(c *border.Request) (border.Answer, error) {
	c.SetHeader("Cache-Control", "public, max-age=3600")
	if !strings.Contains(c.RequestHeader("Accept"), "application/json") {
		c.SetHeader("Content-Security-Policy", "default-src 'none'")
		return c.Send(http.StatusOK, htmlType, errorsPage), nil
	}
	items := make([]strictjson.Members, len(border.CodeTable))
	for i, entry := range border.CodeTable {
		items[i].Text("code", entry.Code)
		items[i].Int("status", int64(entry.Status))
		items[i].Text("meaning", entry.Text)
	}
	c.Out.List("errors", items)
	return c.Reply(http.StatusOK, c.Out), nil
}

// showRules is GET /docs/rules: the rule table, generated from the code.
func showRules(c *border.Request) (border.Answer, error) {
	c.SetHeader("Cache-Control", "public, max-age=3600")
	return c.Send(http.StatusOK, markdownType, []byte(engine.RulesMarkdown())), nil
}

// kyaTerms are the terms of our JSON-LD context with their meaning. A term's address is the
// context's address with a fragment.
var kyaTerms = []string{
	"KYAAgentCredential", "KYADelegateCredential", "KYAUserCredential",
	"agentId", "agentName", "agentType", "operatorLegalName", "userId", "legalName", "agentIds",
	"spendPolicy", "maxSingleTxUSDC", "dailyLimitUSDC", "allowedChains", "allowedRails", "counterpartyScreening", "noMixerProtocols",
	"complianceAttestation", "ofacAtIssuance", "screenedAt", "credentialStatus",
	"delegation", "parentAgentId", "rootAgentId", "depth", "chain",
}

// kyaContext is GET /contexts/kya/v1: the second context of every credential.
func kyaContext(c *border.Request) (border.Answer, error) {
	base := "/contexts/kya/v1"
	if genesis := c.Settings().Genesis; genesis != nil {
		base = strings.TrimSuffix(genesis.PublicURL, "/") + base
	}
	var terms strictjson.Members
	terms.Raw("@version", []byte("1.1"))
	for _, term := range kyaTerms {
		terms.Text(term, base+"#"+term)
	}
	c.Out.Object("@context", terms)
	c.SetHeader("Cache-Control", "public, max-age=86400")
	return c.Send(http.StatusOK, contextType, c.Out.Body()), nil
}
