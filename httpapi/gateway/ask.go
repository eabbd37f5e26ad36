package gateway

import (
	"encoding/json"
	"net/http"
	"slices"

	"railguard/httpapi/guest"
)

// What the gateway's room asks the API, with the gateway's own key. Nothing is asked twice: a retry
// could be a second payment, and whoever asks repeats the question if nothing happened.

const (
	proceed = "PROCEED"

	withoutLeave = "this payment has no leave"
	unavailable  = "no verdict can be had now"
)

// verdict is what the API says of a payment.
type verdict struct {
	Verdict string `json:"verdict"`
	TxnID   string `json:"txnId"`
	State   string `json:"state"`
	Permit  string `json:"permit"`
}

// apiError is the API's refusal of a call.
type apiError struct {
	Code    string `json:"code"`
	Param   string `json:"param"`
	Message string `json:"message"`
}

func (q *question) ask(method, path string, body []byte) *guest.Answer {
	return guest.Ask(q.ctx, q.g.config.API, q.r, method, path, nil, body)
}

// admit lets a caller in whose key may ask as a gateway. It returns the request's id.
func (q *question) admit() (requestID string, refused *answer) {
	said := q.ask(http.MethodGet, "/v1/key", nil)
	requestID = said.Head.Get("X-Request-Id")
	var key struct {
		Roles []string `json:"roles"`
	}
	switch {
	case said.Status == http.StatusBadRequest: // Two headers with keys.
		return requestID, &answer{outcome: unauthorized, message: "one API key is required: Authorization: Bearer <key>"}
	case said.Status != http.StatusOK:
		return requestID, refuseCall(said)
	case json.Unmarshal(said.Body.Bytes(), &key) != nil:
		return requestID, &answer{outcome: noVerdict, message: unavailable}
	}
	if !slices.ContainsFunc(key.Roles, func(role string) bool { return role == "gateway" || role == "screener" || role == "admin" }) {
		return requestID, &answer{outcome: forbidden, message: "the API key lacks the role gateway|screener"}
	}
	return requestID, nil
}

// refuseCall is the answer where the API did not judge.
func refuseCall(said *guest.Answer) *answer {
	var why apiError
	_ = json.Unmarshal(said.Body.Bytes(), &why)
	switch said.Status {
	case http.StatusUnauthorized:
		return &answer{outcome: unauthorized, message: "a valid API key is required: Authorization: Bearer <key>"}
	case http.StatusForbidden:
		return &answer{outcome: forbidden, message: why.Message}
	}
	return &answer{outcome: noVerdict, message: unavailable, retryAfter: said.Head.Get("Retry-After")}
}

// screen screens the payment. It sends no Idempotency-Key: two equal payments are two.
func (q *question) screen(values map[string]string) *answer {
	call := map[string]any{}
	for name, text := range values {
		if to := members[name].api; to != "" {
			call[to] = text
		}
	}
	call["amount"] = json.RawMessage(values["amount"])
	if q.route.Permit != nil {
		call["permit"] = q.route.Permit
	}
	body, err := json.Marshal(call)
	if err != nil {
		panic("BUG: an amount that was read: " + err.Error())
	}
	said := q.ask(http.MethodPost, "/v1/screen", body)
	switch said.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		var why apiError
		_ = json.Unmarshal(said.Body.Bytes(), &why)
		return &answer{outcome: requestUnmapped, param: why.Param, message: "the values are not those of a payment: " + why.Message}
	}
	a, v := readVerdict(said)
	if a.outcome != leave || q.route.Permit == nil {
		return a
	}
	if a.permit = v.Permit; a.permit == "" { // Its key was revoked meanwhile.
		return &answer{outcome: noVerdict, message: unavailable}
	}
	return a
}

// readVerdict reads a judgement. Only PROCEED is a leave.
func readVerdict(said *guest.Answer) (*answer, verdict) {
	var v verdict
	if said.Status != http.StatusOK {
		return refuseCall(said), v
	}
	if json.Unmarshal(said.Body.Bytes(), &v) != nil || v.Verdict == "" || v.TxnID == "" {
		return &answer{outcome: noVerdict, message: unavailable}, v
	}
	if v.Verdict != proceed {
		return &answer{outcome: paymentRefused, message: withoutLeave, verdict: v.Verdict, txn: v.TxnID}, v
	}
	return &answer{outcome: leave, verdict: v.Verdict, txn: v.TxnID}, v
}
