package x402

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/timing"
	"railguard/httpapi/guest"
)

// Root is the path prefix of the facilitator.
const Root = "/x402"

const (
	bodyMax     = 64 << 10
	inFlightMax = 1024 // Calls at once on one node: each may wait long for a chain.

	verifyDefault = 10 * time.Second
	settleDefault = 30 * time.Second
	timeoutLeast  = time.Second
	timeoutMost   = 2 * time.Minute
)

// Config is what the facilitator needs.
type Config struct {
	API           http.Handler // The public API, which answers everything outside of Root too.
	Upstream      string       // Address of the facilitator that knows the chain.
	UpstreamToken string       // Bearer token for it; "": none.
	Assets        []Asset      // What an atomic unit is worth; nil: Published.
	Logger        *slog.Logger // nil: none.

	VerifyTimeout time.Duration    // 0: 10 seconds.
	SettleTimeout time.Duration    // 0: 30 seconds.
	Now           func() time.Time // nil: time.Now.
}

// Facilitator is an http.Handler. It is safe for concurrent use.
type Facilitator struct {
	config Config
	client *http.Client
	known  supported
	places chan struct{}

	insists time.Duration // How long an unanswered call of the API is repeated: apiPatience; shorter in tests.
}

var (
	callsTotal = map[string]map[string]*metrics.Counter{}
	unbooked   = metrics.NewCounter("railguard_x402_unbooked_total")

	upstreamSeconds = map[string]*timing.Histogram{}
)

func init() {
	const nameCalls, nameSeconds = "railguard_x402_calls_total", "railguard_x402_upstream_seconds"
	for call, outcomes := range map[string][]string{
		"verify": {"valid", "invalid", "refused", "unavailable"},
		"settle": {"settled", "repeated", "duplicate", "failed", "refused", "pending", "unavailable"},
	} {
		callsTotal[call] = map[string]*metrics.Counter{}
		for _, outcome := range outcomes {
			callsTotal[call][outcome] = metrics.NewCounter(fmt.Sprintf(`%s{call=%q,outcome=%q}`, nameCalls, call, outcome))
		}
	}
	for _, call := range []string{"supported", "verify", "settle"} {
		upstreamSeconds["/"+call] = timing.New(nameSeconds, `call="`+call+`"`, timing.Disk)
	}
}

// New returns the API with the facilitator in front of it. The error says which setting
// is wrong.
func New(config Config) (*Facilitator, error) {
	if config.API == nil {
		return nil, errors.New("x402: the API is required")
	}
	if err := checkUpstream(config.Upstream); err != nil {
		return nil, fmt.Errorf("the facilitator behind: %w", err)
	}
	if config.Assets == nil {
		config.Assets = Published
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	for _, timeout := range []struct {
		of    *time.Duration
		unset time.Duration
	}{{&config.VerifyTimeout, verifyDefault}, {&config.SettleTimeout, settleDefault}} {
		if *timeout.of == 0 {
			*timeout.of = timeout.unset
		}
		if *timeout.of < timeoutLeast || *timeout.of > timeoutMost {
			return nil, fmt.Errorf("a timeout of the facilitator behind must be between %s and %s", timeoutLeast, timeoutMost)
		}
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Facilitator{config: config, client: newClient(), places: make(chan struct{}, inFlightMax), insists: apiPatience}, nil
}

// ServeHTTP answers what is below Root and leaves everything else to the API.
func (f *Facilitator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ours := strings.CutPrefix(r.URL.EscapedPath(), Root)
	method := http.MethodPost
	switch {
	case !ours || below != "/supported" && below != "/verify" && below != "/settle":
		f.config.API.ServeHTTP(w, r)
		return
	case below == "/supported":
		method = http.MethodGet
	}
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	if r.Method != method {
		head.Set("Allow", method)
		replyError(w, http.StatusMethodNotAllowed, "method_not_allowed", "this path takes "+method)
		return
	}
	if guest.RefuseQuery(w, r) {
		return
	}
	// A payment that has begun is completed even if the caller has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), f.config.VerifyTimeout+f.patience()+4*apiPatience)
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(f.config.VerifyTimeout + f.patience() + 5*apiPatience))
	g := &guestCall{f: f, r: r}
	key := g.askAPI(ctx, http.MethodGet, "/v1/key", "", 0, nil)
	if key.Status == http.StatusUnauthorized || key.Status == http.StatusBadRequest {
		head.Set("Content-Type", "application/json")
		head.Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(key.Body.Bytes())
		return
	}
	g.readKey(key)
	if below == "/supported" {
		replyJSON(w, http.StatusOK, json.RawMessage(f.readSupported(ctx)))
		return
	}
	f.answerCall(ctx, w, g, below)
}

// answerCall reads the payment from the body, and verifies or settles it.
func (f *Facilitator) answerCall(ctx context.Context, w http.ResponseWriter, g *guestCall, call string) {
	verify := call == "/verify"
	body, err := io.ReadAll(io.LimitReader(g.r.Body, bodyMax+1))
	var p *payment
	switch {
	case err != nil:
		replyError(w, http.StatusBadRequest, "bad_request", "the body did not come whole")
		return
	case len(body) > bodyMax:
		err = &invalid{"invalid_payload", "the body is larger than 64 KiB"}
	case len(g.r.Header.Values("X-Railguard-Token")) > 1:
		err = &invalid{"invalid_payload", "X-Railguard-Token stands twice"}
	default:
		p, err = readPayment(body, f.config.Assets, g.r.Header.Get("X-Railguard-Token"))
	}
	var bad *invalid
	switch {
	case errors.As(err, &bad) && verify:
		f.sendAnswer(w, notValid("invalid", bad.reason, bad.message), nil)
		return
	case errors.As(err, &bad):
		f.sendAnswer(w, nil, (&payment{}).notSettled("failed", bad.reason, bad.message, nil))
		return
	case err != nil:
		replyError(w, http.StatusBadRequest, "invalid_json", "the body must be one JSON object")
		return
	}
	select {
	case f.places <- struct{}{}:
		defer func() { <-f.places }()
	default:
		if verify {
			f.sendAnswer(w, verifyWithoutVerdict(errUnavailable), nil)
			return
		}
		f.sendAnswer(w, nil, p.settleWithoutVerdict(errUnavailable))
		return
	}
	if verify {
		f.sendAnswer(w, g.verifyPayment(ctx, p), nil)
		return
	}
	f.sendAnswer(w, nil, g.settlePayment(ctx, p))
}

// sendAnswer counts the one answer that is not nil, and sends it with status 200 in any
// case.
func (f *Facilitator) sendAnswer(w http.ResponseWriter, verified *verifyAnswer, settled *settleAnswer) {
	if verified != nil {
		callsTotal["verify"][verified.outcome].Inc()
		replyJSON(w, http.StatusOK, verified)
		return
	}
	callsTotal["settle"][settled.outcome].Inc()
	replyJSON(w, http.StatusOK, settled)
}

func replyError(w http.ResponseWriter, status int, code, message string) {
	replyJSON(w, status, map[string]string{"error": code, "code": code, "message": message})
}

func replyJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic("BUG: an answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
