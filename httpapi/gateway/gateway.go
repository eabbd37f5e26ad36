package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine/permit"
	"railguard/httpapi/guest"
)

// Root is the path prefix below which a gateway asks: Root, the name of a profile, and the target
// of the request as it came.
const Root = "/ext-authz/"

// The headers of an answer, and two of a question. What a client sends under the names of the first
// three is never read.
const (
	verdictHeader = "x-railguard-verdict"
	txnHeader     = "x-railguard-txn"
	errorHeader   = "x-railguard-error"
	permitHeader  = "railguard-permit"
	partialHeader = "x-envoy-auth-partial-body"
	removeHeader  = "x-envoy-auth-headers-to-remove" // Envoy takes these away from the request before it goes on.
)

const bodyMax = 64 << 10

// Config is what the gateway's room needs.
type Config struct {
	API   http.Handler                // The public API, which answers everything outside of Root too.
	Map   *Map                        //
	Trust func() (permit.Want, error) // The keys, the issuer and the time by which this service's permits are verified now.
}

// Gateway is an http.Handler. It is safe for concurrent use.
type Gateway struct{ config Config }

// New returns the API with the gateway's room in front of it.
func New(config Config) (*Gateway, error) {
	if config.API == nil || config.Map == nil || config.Trust == nil {
		return nil, errors.New("gateway: the API, a map and the keys of permits are required")
	}
	return &Gateway{config}, nil
}

// The outcomes. Those from permit_missing on are values of x-railguard-error too.
const (
	leave           = "leave"
	unasked         = "unasked" // The map lets the request through.
	paymentRefused  = "payment_refused"
	unauthorized    = "unauthorized" // The gateway's own API key.
	forbidden       = "forbidden"
	permitMissing   = "permit_missing"
	permitInvalid   = "permit_invalid"
	permitExpired   = "permit_expired"
	permitMismatch  = "permit_mismatch"
	permitUsed      = "permit_used"
	requestPartial  = "request_partial"
	requestUnmapped = "request_unmapped"
	noVerdict       = "no_verdict"
)

var callsTotal = map[string]*metrics.Counter{}

func init() {
	const name = "railguard_gateway_calls_total"
	for _, outcome := range []string{
		leave, unasked, paymentRefused, unauthorized, forbidden, permitMissing, permitInvalid, permitExpired, permitMismatch, permitUsed,
		requestPartial, requestUnmapped, noVerdict,
	} {
		callsTotal[outcome] = metrics.NewCounter(fmt.Sprintf("%s{outcome=%q}", name, outcome))
	}
}

// answer is what a gateway is told. The zero value is no leave.
type answer struct {
	outcome string
	message string
	param   string // The part of the payment that is wrong; "": none in particular.

	verdict, txn string
	permit       string
	retryAfter   string
	requestID    string
}

// question is one request that a gateway asks about.
type question struct {
	g       *Gateway
	r       *http.Request
	ctx     context.Context
	profile *profile
	route   *route
}

// ServeHTTP answers what is below Root and leaves everything else to the API. The target is taken as
// it was sent: a decoded one could lead to another profile, or to another path than the gateway's.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, ours := strings.CutPrefix(r.RequestURI, Root)
	if !ours {
		g.config.API.ServeHTTP(w, r)
		return
	}
	q := &question{g: g, r: r, ctx: guest.AsGateway(r.Context())}
	id, refused := q.admit()
	if refused == nil {
		refused = q.judge(target)
	}
	refused.requestID = id
	callsTotal[refused.outcome].Inc()
	refused.write(w)
}

// judge finds the request in the map and judges it.
func (q *question) judge(target string) *answer {
	var refused *answer
	if q.profile, q.route, refused = q.g.config.Map.find(q.r.Method, target); q.route == nil {
		return refused
	}
	if q.route.Allow {
		return &answer{outcome: unasked}
	}
	body, refused := q.readBody()
	if refused != nil {
		return refused
	}
	values, err := q.route.readValues(q.r.Header, body)
	if err != nil {
		return refuseValue(err)
	}
	if q.profile.Mode == modePermit {
		return q.judgePermit(values)
	}
	return q.screen(values)
}

// find returns the profile and the route of a request. Without a route the answer says what the map
// says of the request.
func (m *Map) find(method, target string) (*profile, *route, *answer) {
	target, _, asked := strings.Cut(target, "?")
	name, path, _ := strings.Cut(target, "/")
	path = "/" + path
	unmapped := func(message string) (*profile, *route, *answer) {
		return nil, nil, &answer{outcome: requestUnmapped, message: message}
	}
	p := m.profiles[name]
	switch {
	case p == nil || len(name) == len(target):
		return unmapped("the map has no such profile, or the path is missing behind it")
	case !isPlainPath(path):
		return unmapped("the path can be read in two ways")
	}
	r := p.find(method, path)
	switch {
	case r != nil && asked:
		return unmapped("a route takes no query")
	case r != nil:
		return p, r, nil
	case p.Otherwise != allowed || p.resembles(method, path):
		return unmapped("no route names this request")
	}
	return p, nil, &answer{outcome: unasked}
}

// readBody reads the body, all of it.
func (q *question) readBody() ([]byte, *answer) {
	partial := q.r.Header.Values(partialHeader)
	if slices.ContainsFunc(partial, func(said string) bool { return said != "false" }) {
		return nil, &answer{outcome: requestPartial, message: "a part of the body is not judged: let the gateway send all of it"}
	}
	body, err := io.ReadAll(io.LimitReader(q.r.Body, bodyMax+1))
	if err != nil || len(body) > bodyMax {
		return nil, &answer{outcome: requestPartial, message: "the body did not come whole, or is larger than 64 KiB"}
	}
	return body, nil
}

func refuseValue(err error) *answer {
	a := &answer{outcome: requestUnmapped, message: err.Error()}
	var wrong *unmapped
	if errors.As(err, &wrong) {
		a.param = wrong.member
	}
	return a
}

// status returns the status of the answer. Only a leave, and what the map lets through, is 200.
func (a *answer) status() int {
	switch a.outcome {
	case leave, unasked:
		return http.StatusOK
	case unauthorized:
		return http.StatusUnauthorized
	case noVerdict:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// write sends the answer. A client may see it: no rule and no reason stands in it.
func (a *answer) write(w http.ResponseWriter) {
	head, status := w.Header(), a.status()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Type", "application/json")
	var strange []string
	for _, one := range []struct{ name, value string }{
		{verdictHeader, a.verdict}, {txnHeader, a.txn}, {permitHeader, a.permit}, {"Retry-After", a.retryAfter}, {"X-Request-Id", a.requestID},
	} {
		switch {
		case one.value != "":
			head.Set(one.name, one.value)
		case strings.Contains(one.name, "railguard"):
			strange = append(strange, one.name)
		}
	}
	told := map[string]string{"verdict": a.verdict, "txnId": a.txn}
	switch {
	case status != http.StatusOK:
		told = map[string]string{"error": a.outcome, "code": a.outcome, "message": a.message, "param": a.param, "requestId": a.requestID, "txnId": a.txn}
		switch a.outcome {
		case paymentRefused:
		case unauthorized, forbidden:
			head.Set(errorHeader, noVerdict)
		default:
			head.Set(errorHeader, a.outcome)
		}
	case len(strange) > 0:
		head.Set(removeHeader, strings.Join(strange, ",")) // Else the API behind would take the client's word for ours.
	}
	if status == http.StatusUnauthorized {
		head.Set("WWW-Authenticate", "Bearer")
	}
	for name, value := range told {
		if value == "" {
			delete(told, name)
		}
	}
	data, err := json.Marshal(told)
	if err != nil {
		panic("BUG: an answer: " + err.Error())
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}
