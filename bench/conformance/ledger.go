package conformance

import (
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ledger holds the standing laws: demands on every answer of the run, judged where
// the answer comes in and reported by the checks of the last phase.
type ledger struct {
	mutex   sync.Mutex
	laws    map[string][]string // Violations by statement number, the first ledgerMax of each.
	answers int                 // Answers seen.
	errors  int                 // Answers of 400 and above.
	faults  int                 // Answers of 500 and above.
	secret  string              // The API key, which no answer may carry.
	tokens  []string            // Credentials of this run, for the log scan.
	hidden  []string            // Other texts that no log may carry.
	index   uint64              // Highest log index an answer named.
}

func (l *ledger) violate(law, format string, args ...any) {
	if len(l.laws[law]) < ledgerMax {
		l.laws[law] = append(l.laws[law], fmt.Sprintf(format, args...))
	}
}

// remember keeps a credential for the log scan.
func (l *ledger) remember(token string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if token != "" && len(l.tokens) < tokensMax {
		l.tokens = append(l.tokens, token)
	}
}

// hide keeps a text that must not turn up in an access log.
func (l *ledger) hide(text string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.hidden = append(l.hidden, text)
}

// seenIndex returns the highest log index that an answer of this run named, as text; "": none
// did.
func (l *ledger) seenIndex() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.index == 0 {
		return ""
	}
	return strconv.FormatUint(l.index, 10)
}

// underAPI tells whether the path belongs to the versioned API, whose bodies are JSON.
// A line-by-line export is the one exception.
func underAPI(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return strings.HasPrefix(path, "/v1/") && path != "/v1/audit/export"
}

// see judges one answer by the standing laws.
func (l *ledger) see(a *answer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.answers++
	if a.status >= 400 {
		l.errors++
	}
	if index, err := strconv.ParseUint(a.header.Get("X-Railguard-Index"), 10, 64); err == nil && a.ok() {
		l.index = max(l.index, index)
	}
	if l.secret != "" && strings.Contains(string(a.raw), l.secret) {
		l.violate("T015", "%s %s answered with the API key", a.method, a.path)
	}
	if !underAPI(a.path) || a.method == http.MethodHead {
		return
	}
	l.seeBody(a)
	if a.status >= 400 && a.jsonErr == nil && a.header.Get("Content-Type") != problemType {
		l.seeError(a)
	}
	if a.status >= 500 {
		l.seeFault(a)
	}
	if a.header.Get("X-Request-Id") == "" {
		l.violate("X-HDR-1", "%s %s (%d) has no X-Request-Id", a.method, a.path, a.status)
	}
	if a.status == http.StatusOK && a.path == "/v1/screen" {
		l.seeVerdict(a)
	}
}

const problemType = "application/problem+json"

func (l *ledger) seeBody(a *answer) {
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	isJSON := err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
	if a.jsonErr != nil || !isJSON {
		l.violate("T011", "%s %s (%d): Content-Type %q, body %q", a.method, a.path, a.status,
			a.header.Get("Content-Type"), cut(string(a.raw), 80))
	}
}

// seeError judges the flat shape of an error body.
func (l *ledger) seeError(a *answer) {
	label := fmt.Sprintf("%s %s (%d)", a.method, a.path, a.status)
	code := a.text("code")
	if code == "" || a.text("error") != code {
		l.violate("T016", "%s: error %q and code %q must be the same string", label, a.text("error"), code)
	}
	if a.text("message") == "" {
		l.violate("T016", "%s: no message", label)
	}
	request := a.text("requestId")
	if request == "" {
		l.violate("T016", "%s: no requestId", label)
	}
	if echoed := a.header.Get("X-Request-Id"); request != "" && echoed != "" && echoed != request {
		l.violate("T016", "%s: requestId %q differs from X-Request-Id %q", label, request, echoed)
	}
	if txn, there := a.at("txnId"); there && txn != nil && !txnShape.MatchString(a.text("txnId")) {
		l.violate("T016", "%s: txnId is %s", label, show(txn))
	}
}

var stackShape = regexp.MustCompile(`goroutine \d+|runtime error|\.go:\d+|panic:|\tat `)

func (l *ledger) seeFault(a *answer) {
	l.faults++
	if a.status == http.StatusInternalServerError {
		l.violate("T017", "%s %s %s answered 500 %q", a.method, a.path, cut(string(a.sent), 120), a.code())
	}
	if stackShape.Match(a.raw) {
		l.violate("T017", "%s %s leaks a stack: %s", a.method, a.path, cut(string(a.raw), 120))
	}
	if a.status == http.StatusServiceUnavailable && a.header.Get("X-Railguard-Outcome") == "" {
		l.violate("X-HDR-2", "%s %s (503 %q) has no X-Railguard-Outcome", a.method, a.path, a.code())
	}
}

var (
	txnShape   = regexp.MustCompile(`^txn_.{8}$`)
	ruledTxn   = regexp.MustCompile(`^txn_[0-9A-Za-z]{8}$`)
	allVerdict = map[string]bool{"PROCEED": true, "REVIEW": true, "BLOCK": true, "UNKNOWN": true}
)

// seeVerdict judges what every screening answer must have.
func (l *ledger) seeVerdict(a *answer) {
	if !allVerdict[a.text("verdict")] {
		l.violate("T040", "verdict is %q", a.text("verdict"))
	}
	if !ruledTxn.MatchString(a.text("txnId")) {
		l.violate("T042", "%s: txnId is %q", a.text("verdict"), a.text("txnId"))
	}
	rule, there := a.at("rule")
	name, isText := rule.(string)
	if a.text("verdict") == "PROCEED" && (!there || rule != nil) || a.text("verdict") != "PROCEED" && (!isText || name == "") {
		l.violate("T044", "%s: rule is %s (present: %t)", a.text("verdict"), show(rule), there)
	}
	if a.text("reason") == "" {
		l.violate("T045", "%s %s: empty reason", a.text("verdict"), name)
	}
	if _, there := a.at("_request"); there {
		l.violate("T048", "%s: the screening answer has _request", a.text("verdict"))
	}
	if !utcShape.MatchString(a.text("screenedAt")) {
		l.violate("T046", "%s: screenedAt is %q", a.text("verdict"), a.text("screenedAt"))
	}
	if latency, ok := rational(a.number("latencyMs")); !ok || latency.Sign() < 0 {
		l.violate("T046", "%s: latencyMs is %q", a.text("verdict"), a.number("latencyMs"))
	}
}
