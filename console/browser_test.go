package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
	"railguard/console/browsertest"
)

// The times are long enough for a busy, slow machine.
const (
	walkMax  = 15 * time.Minute
	patience = browsertest.Patience
)

// browser is the installed Chromium, or the test is skipped.
func browser(t *testing.T) string {
	return browsertest.Path(t, "the console's pages are not walked")
}

// site is a running development cluster.
type site struct {
	*testcluster.Development
	t *testing.T
}

// cluster builds the binary and starts real processes, with the given extra flags.
func cluster(t *testing.T, nodes int, more ...string) *site {
	return &site{testcluster.StartDevelopment(t, nodes, append([]string{"--test-clock"}, more...)...), t}
}

// call asks the API of a node and returns the answer's members.
func (s *site) call(node int, key, method, path, body string, status int) map[string]any {
	base := s.Nodes[node].HTTP
	if strings.HasPrefix(path, "/admin/") {
		base = s.Nodes[node].Admin
	}
	request, err := http.NewRequest(method, "http://"+base+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, status, response.StatusCode, "%s %s: %s", method, path, data)
	var members map[string]any
	require.NoError(s.t, json.Unmarshal(data, &members))
	return members
}

// key makes an API key with roles.
func (s *site) key(name, roles string) string {
	return s.call(0, s.Key, "POST", "/admin/keys", fmt.Sprintf(`{"name":%q,"roles":%q}`, name, roles), 201)["key"].(string)
}

// day is what waits for an officer in the morning.
type day struct {
	agent, runner, fleet, user string
	token                      string // The token of agent.
	limit, name, stale, model  string // Transaction ids of reviews, named by their reason.
	more                       []string
}

func (s *site) morning() *day {
	d := new(day)
	register := func(body string) (id, token string) {
		answer := s.call(0, s.Key, "POST", "/v1/agents/register", body, 201)
		return answer["agentId"].(string), answer["token"].(string)
	}
	d.fleet = s.call(0, s.Key, "POST", "/v1/fleets/create", `{"fleetName":"Europe","operatorLegalName":"Acme Robotics Inc","dailyLimitUSDC":90000}`, 201)["fleetId"].(string)
	var buyer, runner string
	d.agent, buyer = register(`{"agentName":"Procurement bot","agentType":"supervised","operatorLegalName":"Acme Robotics Inc","purpose":"pay invoices","fleetId":"` + d.fleet +
		`","spendPolicy":{"maxSingleTxUSDC":5000,"dailyLimitUSDC":40000}}`)
	d.runner, runner = register(`{"agentName":"Treasury runner","agentType":"autonomous","operatorLegalName":"Borealis Payments Ltd","purpose":"rebalance accounts","underlyingModel":"model-a",
		"spendPolicy":{"maxSingleTxUSDC":50000,"dailyLimitUSDC":60000,"allowedChains":["ETH","BASE"]}}`)
	d.user = s.call(0, s.Key, "POST", "/v1/users/register", `{"legalName":"Erika Mustermann","agentIds":["`+d.agent+`"],"operatorLegalName":"Acme Robotics Inc"}`, 201)["userId"].(string)
	d.token = buyer
	screen := func(token, members, verdict string) string {
		answer := s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+token+`",`+members+`}`, 200)
		require.Equal(s.t, verdict, answer["verdict"], members)
		return answer["txnId"].(string)
	}
	for i, name := range []string{"Harbour Freight", "Northwind Traders", "Lindqvist Papier", "Oakley Stationers", "Vesta Cleaning", "Marlow Print"} {
		screen(buyer, fmt.Sprintf(`"amount":%d,"chain":"BASE","rail":"USDC","cpName":%q,"cpType":"business"`, 2900+i*311, name), "PROCEED")
	}
	d.limit = screen(buyer, `"amount":6200,"chain":"BASE","rail":"USDC","cpName":"Northwind Traders","cpType":"business"`, "REVIEW")
	d.name = screen(buyer, `"amount":120,"cpName":"Nikolas Maduro","cpCountry":"Venezuela","cpDateOfBirth":"1962"`, "REVIEW")
	d.stale = screen(runner, `"amount":15000,"chain":"ETH","rail":"USDC","cpName":"Fjord Logistics"`, "REVIEW")
	d.model = screen(runner, `"amount":300,"underlyingModel":"model-b","cpName":"Fjord Logistics"`, "REVIEW")
	for i := range 3 {
		d.more = append(d.more, screen(runner, fmt.Sprintf(`"amount":%d,"chain":"SOL","cpName":"Kestrel Trading"`, 700+i), "REVIEW"))
	}
	screen(runner, `"amount":100,"cpName":"Nicolas Maduro Moros"`, "BLOCK")
	screen(runner, `"amount":100,"chain":"ETH","cpWallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"`, "BLOCK")
	return d
}

// tab is one browser window, and the errors seen in it.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string
	before string // The origin of the node that it was at before: what its page had still to send goes there.
	lists  int    // How many lists were imported.
	mutex  sync.Mutex
	wrong  []string
}

// window opens a browser window with a fresh profile for one node.
func (s *site) window(node int, more ...chromedp.ExecAllocatorOption) *tab {
	options := []chromedp.ExecAllocatorOption{chromedp.WindowSize(1280, 860), chromedp.Flag("lang", "en-GB")}
	ctx := browsertest.Window(s.t, browser(s.t), walkMax, append(options, more...)...)
	w := &tab{t: s.t, ctx: ctx, origin: "http://" + s.Nodes[node].HTTP}
	chromedp.ListenTarget(ctx, w.watch)
	w.do(network.Enable(), log.Enable(), runtime.Enable())
	return w
}

// watch notes exceptions, console errors, violations of the page's policy, and requests to
// other origins. It ignores API answers that refuse a call.
func (w *tab) watch(event any) {
	var wrong string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong = "exception: " + e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			wrong = fmt.Sprintf("console: %s %s", e.Type, e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
			wrong = "log: " + e.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, w.origin+"/console") && u != w.origin+"/" && (w.before == "" || !strings.HasPrefix(u, w.before+"/console/api/")) && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "chrome") {
			wrong = "request to " + u
		}
	}
	if wrong != "" {
		w.mutex.Lock()
		w.wrong = append(w.wrong, wrong)
		w.mutex.Unlock()
	}
}

func (w *tab) clean() {
	w.t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	require.Empty(w.t, w.wrong)
}

func (w *tab) do(actions ...chromedp.Action) {
	w.t.Helper()
	if err := chromedp.Run(w.ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(w.ctx, chromedp.Text("body", &text, chromedp.ByQuery))
		require.NoError(w.t, err, "the page shows: %.600s; wrong: %v", text, w.wrong)
	}
}

// at opens an address and waits for its page.
func (w *tab) at(path, heading string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.origin + "/console" + path))
	w.shows("h1", heading)
}

// shows waits until the first element that a selector finds has a text.
func (w *tab) shows(selector, text string) {
	w.t.Helper()
	quoted, _ := json.Marshal(selector)
	wanted, _ := json.Marshal(text)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.Poll(fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.innerText.includes(%s))`, quoted, wanted), nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if err != nil {
		var body string
		_ = chromedp.Run(w.ctx, chromedp.Text("body", &body, chromedp.ByQuery))
		require.NoError(w.t, err, "%s never showed %q; the page shows: %.900s; wrong: %v", selector, text, body, w.wrong)
	}
}

// click clicks an element. A page that is brought up to date may replace the element between being
// found and being clicked; then nothing was clicked, and the new one is.
func (w *tab) click(selector string) {
	w.t.Helper()
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := chromedp.Click(selector, chromedp.ByQuery).Do(ctx)
			if err == nil || !strings.Contains(err.Error(), "Could not find node with given id") {
				return err
			}
		}
	}))
}

func (w *tab) press(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		w.do(chromedp.KeyEvent(key))
	}
}

func (w *tab) value(expression string) string {
	w.t.Helper()
	var got string
	w.do(chromedp.Evaluate("String("+expression+")", &got))
	return got
}

func (w *tab) signIn(key string) {
	w.t.Helper()
	w.at("/", "Sign in")
	w.do(chromedp.SendKeys("#key", key+"\n", chromedp.ByQuery))
	w.shows("h1", "Overview")
}
