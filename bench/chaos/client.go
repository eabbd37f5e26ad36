package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"railguard/engine"
)

// client is one caller of the service. It does one operation at a time; if a node does not
// answer, or answers that nothing happened, it tries another node with the same Idempotency-Key,
// a bounded number of times.
type client struct {
	id      int
	cluster *cluster
	caller  *caller
	history *history
	random  *rand.Rand
	home    int // Index of the node that is asked first. After a failure it is the next node's.
	pinned  bool
	serial  int
	known   uint64 // Highest index that any answer named to it.
	run     string
	patient time.Duration // How long one operation is tried.
}

// attempt sends the operation once to a node.
func (c *client) attempt(ctx context.Context, n *node, o *operation) (outcome, reply) {
	method := http.MethodPost
	if o.kind == opRead {
		method = http.MethodGet
	}
	r := request{method: method, url: n.api + o.path, idempotency: o.key, body: o.body}
	if o.bare {
		r.idempotency, r.header = "", http.Header{"X-Request-Id": {o.key}}
	}
	if o.floor > 0 {
		r.header = http.Header{"X-Railguard-Min-Index": {strconv.FormatUint(o.floor, 10)}}
	}
	a, err := c.caller.do(ctx, r)
	switch {
	case errors.Is(err, errNotSent):
		return nothing, reply{node: n.id, code: "connection refused"}
	case err != nil:
		return pending, reply{node: n.id, code: err.Error()}
	}
	return judge(o.kind, a)
}

// judge returns the outcome that follows from an answer.
func judge(k kind, a *answer) (outcome, reply) {
	r := readReply(k, a)
	switch {
	case a.status == http.StatusServiceUnavailable && a.header.Get("X-Railguard-Outcome") == "none":
		return nothing, r
	case a.status == http.StatusTooManyRequests:
		return nothing, r
	case a.status >= 500, a.status == http.StatusConflict && r.code == "idempotency_in_flight":
		return pending, r
	}
	return answered, r
}

// replyBody has the members of an answer that checks use.
type replyBody struct {
	Verdict          string    `json:"verdict"`
	Rule             string    `json:"rule"`
	TxnID            string    `json:"txnId"`
	ScreenedAt       time.Time `json:"screenedAt"`
	AttestedAt       time.Time `json:"attestedAt"`
	ChangedAt        time.Time `json:"changedAt"`
	ReviewedAt       time.Time `json:"reviewedAt"`
	Index            uint64    `json:"index"`
	ListVersion      uint64    `json:"listVersion"`
	EventID          string    `json:"eventId"`
	AttestationID    string    `json:"attestationId"`
	AgentID          string    `json:"agentId"`
	FleetID          string    `json:"fleetId"`
	Token            string    `json:"token"`
	CredentialStatus string    `json:"credentialStatus"`
	Unchanged        bool      `json:"unchanged"`
	Disposition      string    `json:"disposition"`
	Code             string    `json:"code"`
}

func readReply(k kind, a *answer) reply {
	r := reply{
		node: a.header.Get("X-Railguard-Node"), status: a.status,
		replayed: a.header.Get("Idempotent-Replayed") == "true",
	}
	r.seen, _ = strconv.ParseUint(a.header.Get("X-Railguard-Index"), 10, 64) // 0 if there is no such header.
	var b replyBody
	if err := json.Unmarshal(a.body, &b); err != nil {
		r.code = fmt.Sprintf("unreadable answer: %.100q", a.body)
		return r
	}
	r.code, r.credentialStatus, r.unchanged, r.shown = b.Code, b.CredentialStatus, b.Unchanged, b.Disposition
	r.event = b.EventID
	switch k {
	case opScreen, opRead:
		r.verdict, r.rule, r.txn, r.at, r.index, r.list = b.Verdict, b.Rule, b.TxnID, b.ScreenedAt, b.Index, b.ListVersion
	case opReview:
		r.verdict, r.txn, r.at = b.Verdict, b.TxnID, b.ReviewedAt
	case opAttest:
		r.at, r.event = b.AttestedAt, b.AttestationID
	case opFleet:
		r.id = b.FleetID
	case opRegister, opDelegate:
		r.id, r.token = b.AgentID, b.Token
	default:
		r.at = b.ChangedAt
	}
	return r
}

// call makes an operation until it has a final answer or patience ends. It returns the raw
// answer, too, for members that the history does not keep.
func (c *client) call(ctx context.Context, o *operation) {
	c.serial++
	o.client = c.id
	if o.kind != opRead {
		o.key = fmt.Sprintf("%s-%d-%d", c.run, c.id, c.serial)
	}
	c.history.begin(o)
	c.pursue(ctx, o, c.patient)
	if o.outcome == answered {
		c.known = max(c.known, o.seen, o.index)
	}
}

// pursue repeats an operation that has begun until it has an answer.
func (c *client) pursue(ctx context.Context, o *operation, patience time.Duration) {
	deadline := time.Now().Add(patience)
	unknown := o.outcome == pending && o.attempts > 0
	for {
		nodes := c.cluster.members()
		n := nodes[c.home%len(nodes)]
		o.attempts++
		out, r := c.attempt(ctx, n, o)
		if out == answered {
			c.history.end(o, answered, r)
			return
		}
		unknown = unknown || out == pending
		o.stumbles = append(o.stumbles, stumble{c.history.now(), n.id, r.status, r.code})
		if !c.pinned {
			c.home++
		}
		if o.bare || time.Now().After(deadline) || ctx.Err() != nil {
			if unknown {
				out = pending
			}
			c.history.end(o, out, r)
			return
		}
		time.Sleep(retryPause)
	}
}

// body encodes a request's members. Keys of maps are sorted, so that a retry has
// the same bytes.
func body(members map[string]any) []byte {
	raw, err := json.Marshal(members)
	if err != nil {
		panic("BUG: request body: " + err.Error())
	}
	return raw
}

// usd returns an amount as a JSON number.
func usd(amount engine.USD) json.RawMessage { return engine.AppendUSD(nil, amount) }
