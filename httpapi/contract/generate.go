package contract

import (
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Generator makes calls from the document: most of them valid, the rest spoilt. The same
// seed and the same answers give the same calls.
type Generator struct {
	contract *Contract
	random   *rand.Rand
	known    map[string][]string // Ids and tokens found in answers, by prefix.
}

// Call is one request of a walk.
type Call struct {
	Operation    *Operation
	Path         string // The path with its query.
	Body         string
	Name, Header string // A header to send, "" for none.
}

// knownMax is how many values of a kind are kept.
const knownMax = 64

// NewGenerator makes a generator for one walk.
func NewGenerator(c *Contract, seed uint64) *Generator {
	return &Generator{contract: c, random: rand.New(rand.NewPCG(seed, 1)), known: map[string][]string{}}
}

var values = regexp.MustCompile(`\b(agt|usr|flt|txn|snp)_[A-Za-z0-9]+|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)

// Learn collects ids and tokens from an answer, so that later calls find something.
func (g *Generator) Learn(answer []byte) {
	for _, found := range values.FindAllString(string(answer), 16) {
		kind := found[:3]
		if list := g.known[kind]; !slices.Contains(list, found) {
			g.known[kind] = append(list[max(0, len(list)-knownMax+1):], found)
		}
	}
}

// Next makes a call of a random operation, except of those that skip selects.
func (g *Generator) Next(skip func(*Operation) bool) Call {
	for {
		o := g.contract.Operations[g.random.IntN(len(g.contract.Operations))]
		if o.Guest != "" || skip(o) {
			continue
		}
		call := Call{Operation: o, Path: g.path(o) + g.query(o)}
		if o.Body.Schema != "" && (o.Body.Required || g.chance(2)) {
			call.Body = g.body(o)
		}
		if g.chance(8) {
			call.Name, call.Header = g.header()
		}
		return call
	}
}

// chance is true once in n times on average.
func (g *Generator) chance(n int) bool { return g.random.IntN(n) == 0 }

func pick[T any](g *Generator, from ...T) T { return from[g.random.IntN(len(from))] }

// kinds say which known values fit a placeholder or a member.
var kinds = map[string]string{
	"/v1/agents": "agt", "/v1/users": "usr", "/v1/fleets": "flt", "/v1/ofac": "snp", "{txnId}": "txn", "{agentId}": "agt",
	"agentId": "agt", "agentIds": "agt", "parentAgentId": "agt", "fleetId": "flt", "token": "eyJ", "parentToken": "eyJ", "userToken": "eyJ",
}

func (g *Generator) of(kind string) string {
	if list := g.known[kind]; len(list) > 0 && !g.chance(10) {
		return pick(g, list...)
	}
	return pick(g, "x", kind+"_x", "1", "0", kind+"_"+strings.Repeat("a", 300))
}

func (g *Generator) path(o *Operation) string {
	segments := slices.Clone(o.segments)
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		kind := kinds[segment]
		if kind == "" {
			kind = kinds[strings.Join(segments[:min(3, i)], "/")]
		}
		segments[i] = g.of(kind)
		if kind == "" {
			segments[i] = pick(g, "0", "1", "2", "x", "000", "entries", "99999999999999999999")
		}
	}
	return strings.Join(segments, "/")
}

func (g *Generator) query(o *Operation) string {
	query := url.Values{}
	for _, p := range o.Query {
		if !g.chance(4) {
			continue
		}
		value, isText := g.value(p.Schema, p.Name).(string)
		if !isText || g.chance(5) {
			value = pick(g, "", " ", "x", "-1", "0", "500", "501", "1e3", "2026-03-22", "2026-03-22T03:33:28.589Z", "9999-01-01", "\x00", "é", "R10", "true")
		}
		query.Set(p.Name, value)
	}
	if g.chance(40) {
		query.Set("zzUnknown", "1")
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

func (g *Generator) header() (name, value string) {
	name = pick(g, "Idempotency-Key", "If-Match", "X-Railguard-Timeout-Ms", "X-Railguard-Min-Index", "X-Railguard-Strict", "Accept", "Idempotency-Key")
	switch name {
	case "X-Railguard-Timeout-Ms":
		return name, pick(g, "0", "x", "-1", "99999999999", "2000")
	case "X-Railguard-Min-Index":
		return name, pick(g, "0", "1", "x", "-1", "1.5")
	case "If-Match":
		return name, pick(g, `"1"`, "*", "x", `W/"2"`, `"0"`)
	case "Accept":
		return name, "application/problem+json"
	}
	return name, pick(g, "a", "b", "c", "true", "é", " ", strings.Repeat("k", 300))
}

// body makes a valid body; one in three is then spoilt.
func (g *Generator) body(o *Operation) string {
	value := g.value(o.Body.Schema, "")
	if o.Path == "/v1/screen/batch" && g.chance(2) {
		value = map[string]any{"payments": []any{g.value("/components/schemas/BatchPayment", ""), g.value("/components/schemas/BatchPayment", "")}}
	}
	if g.chance(3) {
		value = g.spoil(value)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	text := string(data)
	if g.chance(60) {
		text = pick(g, text[:len(text)/2], text+"x", "[]", "null", "", `{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", strings.Repeat("[", 40), "yaml: [1")
	}
	return text
}
