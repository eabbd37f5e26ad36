package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Register issues a credential to an agent.
func (c *Client) Register(ctx context.Context, agent *Agent, options ...CallOption) (*Registration, error) {
	return answer[Registration](c, ctx, "/v1/agents/register", agent, agent.IdempotencyKey, options)
}

// Delegate issues a credential to a child of an agent.
func (c *Client) Delegate(ctx context.Context, child *Delegate, options ...CallOption) (*Registration, error) {
	return answer[Registration](c, ctx, "/v1/delegates/create", child, child.IdempotencyKey, options)
}

// Screen decides on one payment. An error is not a verdict: do not pay.
func (c *Client) Screen(ctx context.Context, payment *Payment, options ...CallOption) (*Verdict, error) {
	return answer[Verdict](c, ctx, "/v1/screen", payment, payment.key(), options)
}

// DryRun returns what Screen would decide, and changes nothing. Role screener gets the verdict;
// policy and reviewer also get the ladder.
func (c *Client) DryRun(ctx context.Context, payment *Payment, options ...CallOption) (*DryRun, error) {
	return answer[DryRun](c, ctx, "/v1/screen/dry-run", payment, payment.key(), options)
}

// Settle reports that a payment was made. amount nil means the recorded amount.
func (c *Client) Settle(ctx context.Context, txnID string, amount *USD, railRef string, options ...CallOption) (*Transaction, error) {
	return answer[Transaction](c, ctx, "/v1/transactions/"+url.PathEscape(txnID)+"/settle", struct {
		Amount  *USD   `json:"amount,omitempty"`
		RailRef string `json:"railRef,omitempty"`
	}{amount, railRef}, "", c.settling(options))
}

// Release reports that a payment was not made. Its amount no longer counts against limits.
func (c *Client) Release(ctx context.Context, txnID, reason string, options ...CallOption) (*Transaction, error) {
	return answer[Transaction](c, ctx, "/v1/transactions/"+url.PathEscape(txnID)+"/release", because{Reason: reason}, "", c.settling(options))
}

// Confirm judges a recorded payment again, right before it is made: one that an officer approved, or
// one that was let through some time ago. Pay only if the answer says Proceed.
func (c *Client) Confirm(ctx context.Context, txnID string, asked *Confirm, options ...CallOption) (*Confirmation, error) {
	return answer[Confirmation](c, ctx, "/v1/transactions/"+url.PathEscape(txnID)+"/confirm", asked, keyOr(asked.IdempotencyKey, asked.Proof), options)
}

// RedeemPermit takes the leave of a permit, once in the whole cluster. Hand over only if the answer
// says Taken. After an error, the same key (Error.IdempotencyKey) tells whether this call took it.
func (c *Client) RedeemPermit(ctx context.Context, redeem *Redeem, options ...CallOption) (*Redemption, error) {
	return answer[Redemption](c, ctx, "/v1/permits/redeem", redeem, redeem.IdempotencyKey, options)
}

// Review records an officer's answer to a REVIEW.
func (c *Client) Review(ctx context.Context, txnID, disposition, reviewedBy, notes string, options ...CallOption) (*Record, error) {
	return answer[Record](c, ctx, "/v1/reviews/"+url.PathEscape(txnID), struct {
		Disposition string `json:"disposition"`
		ReviewedBy  string `json:"reviewedBy"`
		Notes       string `json:"notes,omitempty"`
	}{disposition, reviewedBy, notes}, "", options)
}

// Attest vouches for an autonomous agent for 24 hours.
func (c *Client) Attest(ctx context.Context, agentID, attestedBy, note string, options ...CallOption) (*Attestation, error) {
	return answer[Attestation](c, ctx, "/v1/agents/"+url.PathEscape(agentID)+"/attest", struct {
		AttestedBy string `json:"attestedBy"`
		Note       string `json:"note,omitempty"`
	}{attestedBy, note}, "", options)
}

// Suspend stops an agent until Reinstate.
func (c *Client) Suspend(ctx context.Context, agentID, reason string, options ...CallOption) (*StatusChange, error) {
	return c.status(ctx, agentID, "suspend", because{Reason: reason}, options)
}

// Reinstate ends a suspension.
func (c *Client) Reinstate(ctx context.Context, agentID, reason string, options ...CallOption) (*StatusChange, error) {
	return c.status(ctx, agentID, "reinstate", because{Reason: reason}, options)
}

// Revoke ends an agent for good. The reason code may be "".
func (c *Client) Revoke(ctx context.Context, agentID, reason, reasonCode string, options ...CallOption) (*StatusChange, error) {
	return c.status(ctx, agentID, "revoke", because{Reason: reason, ReasonCode: reasonCode}, options)
}

type because struct {
	Reason     string `json:"reason"`
	ReasonCode string `json:"reasonCode,omitempty"`
}

func (c *Client) status(ctx context.Context, agentID, verb string, why because, options []CallOption) (*StatusChange, error) {
	return answer[StatusChange](c, ctx, "/v1/agents/"+url.PathEscape(agentID)+"/"+verb, why, "", options)
}

// Audit reads the record of a screening call.
func (c *Client) Audit(ctx context.Context, txnID string, options ...CallOption) (*Record, error) {
	return read[Record](c, ctx, "/v1/audit/"+url.PathEscape(txnID), options)
}

// Limits reads what an agent may still pay today.
func (c *Client) Limits(ctx context.Context, agentID string, options ...CallOption) (*Limits, error) {
	return read[Limits](c, ctx, "/v1/agents/"+url.PathEscape(agentID)+"/limits", options)
}

// JWKS reads the keys that verify credentials. Keep them for an hour. If a token names a key
// that they lack, read them again, at most once a minute.
func (c *Client) JWKS(ctx context.Context, options ...CallOption) (*JWKS, error) {
	return read[JWKS](c, ctx, "/v1/.well-known/jwks.json", options)
}

// Health reads a node's state.
func (c *Client) Health(ctx context.Context, options ...CallOption) (*Health, error) {
	return read[Health](c, ctx, "/v1/health", options)
}

func answer[T any](c *Client, ctx context.Context, path string, body any, key string, options []CallOption) (*T, error) {
	into := new(T)
	if err := c.post(ctx, path, body, key, into, options); err != nil {
		return nil, err
	}
	return into, nil
}

func read[T any](c *Client, ctx context.Context, path string, options []CallOption) (*T, error) {
	into := new(T)
	if err := c.Call(ctx, http.MethodGet, path, nil, "", into, options...); err != nil {
		return nil, err
	}
	return into, nil
}

// keyed is a payment of a batch, with its idempotency key as a member.
type keyed struct {
	*Payment
	Key string `json:"idempotencyKey,omitempty"` // "": the proof has it, and this member is not signed.
}

// Batch decides on up to 256 payments, each by itself. A payment without a key gets one,
// written into the slice, so that the call can be repeated whatever its outcome was. Payments
// that the service could not take are sent again, without the others, within attempts and
// deadline. The error is that of the first call as a whole. The results are in the order of the
// payments.
func (c *Client) Batch(ctx context.Context, payments []Payment, options ...CallOption) ([]BatchResult, error) {
	results, pending := make([]BatchResult, len(payments)), make([]int, len(payments))
	for i := range payments {
		pending[i] = i
		if payments[i].IdempotencyKey = payments[i].key(); payments[i].IdempotencyKey == "" {
			payments[i].IdempotencyKey = NewKey()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Deadline)
	defer cancel()
	for round := 0; ; round++ {
		again, err := c.batchRound(ctx, payments, results, pending, options)
		if err != nil && round == 0 {
			return nil, err
		}
		pending = again
		if err != nil || len(pending) == 0 || round+1 >= c.options.Attempts || !c.wait(ctx, c.backoff(round)) {
			return results, nil
		}
	}
}

// batchRound sends the pending payments and returns those to send again.
func (c *Client) batchRound(ctx context.Context, payments []Payment, results []BatchResult, pending []int, options []CallOption) ([]int, error) {
	body := struct {
		Payments []keyed `json:"payments"`
	}{make([]keyed, 0, len(pending))}
	for _, i := range pending {
		key := payments[i].IdempotencyKey
		if payments[i].Proof != "" {
			key = ""
		}
		body.Payments = append(body.Payments, keyed{&payments[i], key})
	}
	var told struct {
		Results []json.RawMessage `json:"results"`
	}
	r := request{method: http.MethodPost, path: "/v1/screen/batch", repeatable: true}
	for _, option := range options {
		option(&r)
	}
	r.key = "" // Each payment has its own.
	if err := c.do(ctx, &r, body, &told); err != nil {
		return nil, err
	}
	if len(told.Results) != len(pending) {
		return nil, &Error{Status: http.StatusOK, Code: CodeBadAnswer, Outcome: OutcomeUnknown, Message: "not a result for each payment"}
	}
	var again []int
	for n, i := range pending {
		result := readResult(told.Results[n])
		if before := results[i].Error; result.Error != nil {
			result.Error.IdempotencyKey = payments[i].IdempotencyKey
			if before != nil && before.Outcome == OutcomeUnknown {
				result.Error.Outcome = OutcomeUnknown
			}
			if result.Error.again() {
				again = append(again, i)
			}
		}
		results[i] = result
	}
	return again, nil
}

func readResult(raw json.RawMessage) BatchResult {
	var head struct {
		Status   int    `json:"status"`
		Outcome  string `json:"outcome"`
		Replayed bool   `json:"replayed"`
	}
	verdict := new(Verdict)
	err := json.Unmarshal(raw, &head)
	if err == nil && head.Status == http.StatusOK {
		if err = json.Unmarshal(raw, verdict); err == nil {
			return BatchResult{Verdict: verdict, Replayed: head.Replayed}
		}
	}
	if err != nil || head.Status < http.StatusBadRequest {
		return BatchResult{Error: &Error{Status: head.Status, Code: CodeBadAnswer, Outcome: OutcomeUnknown, Attempts: 1, Cause: err}}
	}
	failure := refusal(head.Status, http.Header{headerOutcome: {head.Outcome}}, raw)
	failure.Attempts = 1
	return BatchResult{Error: failure}
}

const eventsPath = "/v1/events"

// EventList is a page of events. Keep Next of an empty page too.
type EventList struct {
	Data []Event `json:"data"`
	Next string  `json:"nextCursor"`
	AsOf uint64  `json:"asOfIndex"`
}

// Events reads the events behind a cursor. "" begins with the oldest (30 days back), "latest"
// with the next one to come. If there are none, it waits up to wait, in whole seconds; wait
// must be less than the client's AttemptTimeout. types are names or groups (hold.*); none means
// nearly all.
func (c *Client) Events(ctx context.Context, after string, wait time.Duration, types ...string) (*EventList, error) {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if len(types) > 0 {
		query.Set("types", strings.Join(types, ","))
	}
	if wait >= time.Second {
		query.Set("wait", strconv.Itoa(int(wait/time.Second)))
	}
	path := eventsPath
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return read[EventList](c, ctx, path, nil)
}

// Webhook is a receiver of events.
type Webhook struct {
	WebhookID  string   `json:"webhookId,omitempty"`
	Name       string   `json:"name,omitempty"`
	URL        string   `json:"url"`
	Types      []string `json:"types,omitempty"` // Empty: nearly all.
	SARAllowed bool     `json:"sarAllowed,omitempty"`
	Off        bool     `json:"off,omitempty"`
	Secret     string   `json:"secret,omitempty"`     // One of your own, whsec_ and base64; "": the service makes one.
	State      string   `json:"state,omitempty"`      // Only in answers: on, off or key_gone.
	PublicKeys []string `json:"publicKeys,omitempty"` // Only in answers, as all below; the newest key comes first.
	Owner      string   `json:"owner,omitempty"`      // Whose events, an operator's id; "": all.
	KeyID      string   `json:"keyId,omitempty"`
	CreatedAt  string   `json:"createdAt,omitempty"`
	Rev        int64    `json:"rev,omitempty"`

	OlderSecretExpiresAt string `json:"olderSecretExpiresAt,omitempty"`
}

// WebhookChange is the result of a change of a webhook. Secret is set when one was made or
// rotated.
type WebhookChange struct {
	WebhookID string   `json:"webhookId"`
	Op        string   `json:"op"`
	Secret    string   `json:"secret"`
	Webhook   *Webhook `json:"webhook"`
	ChangedAt string   `json:"changedAt"`
	Rev       int64    `json:"rev"`
	Reason    string   `json:"reason"`
	EventID   string   `json:"eventId"`
	Count     int64    `json:"count"` // How many events are sent again.
}

// CreateWebhook makes a webhook that sends events to a URL. It needs role admin.
func (c *Client) CreateWebhook(ctx context.Context, hook *Webhook, options ...CallOption) (*WebhookChange, error) {
	return answer[WebhookChange](c, ctx, "/v1/webhooks", hook, "", options)
}

// Redeliver makes the service send one event again. eventID "" means all events that were given
// up.
func (c *Client) Redeliver(ctx context.Context, webhookID, eventID string, options ...CallOption) (*WebhookChange, error) {
	var body any = map[string]bool{"all": true}
	if eventID != "" {
		body = map[string]string{"eventId": eventID}
	}
	return answer[WebhookChange](c, ctx, "/v1/webhooks/"+url.PathEscape(webhookID)+"/redeliver", body, "", options)
}
