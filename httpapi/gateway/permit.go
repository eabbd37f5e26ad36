package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
)

// judgePermit judges the permit that the request brings: it must be this service's, for the
// profile's audience and for the payment of the request. Then it is used up, if the profile says so.
// Only the log knows whether it was used before, and whether the payment would still proceed.
func (q *question) judgePermit(values map[string]string) *answer {
	sent := q.r.Header.Values(permitHeader)
	switch {
	case len(sent) == 0 || len(sent) == 1 && sent[0] == "":
		return &answer{outcome: permitMissing, message: "the header " + permitHeader + " is missing"}
	case len(sent) > 1:
		return &answer{outcome: permitInvalid, message: "the header " + permitHeader + " stands twice"}
	}
	want, err := q.g.config.Trust()
	if err != nil {
		return &answer{outcome: noVerdict, message: unavailable}
	}
	want.Audience = q.profile.Audience
	claims, err := permit.Verify(sent[0], &want)
	if err != nil {
		return refusePermit(err)
	}
	if param := differs(sent[0], values); param != "" {
		return &answer{outcome: permitMismatch, param: param, message: "the permit is for another payment: " + param + " differs"}
	}
	if !q.profile.redeems() {
		return &answer{outcome: leave, verdict: proceed, txn: claims.TxnID, permit: sent[0]}
	}
	return q.redeem(sent[0])
}

func refusePermit(err error) *answer {
	a := &answer{outcome: permitInvalid, message: "the permit is none of this service, or not for this gateway"}
	var why *permit.Error
	if errors.As(err, &why) && why.Reason == permit.Expired {
		a.outcome, a.message = permitExpired, "the permit has expired"
	}
	return a
}

// differs compares a verified permit with the payment of the request: every value that is mapped must
// stand in the permit and be equal. It returns the name of the first that is not, or "".
func differs(raw string, values map[string]string) string {
	token, err := jws.Parse(raw, permit.BytesMax)
	if err != nil {
		return "pay"
	}
	claims, objection := jws.ReadObject(token.Payload)
	if objection != nil {
		return "pay"
	}
	pay := claims.Member("pay")
	for _, name := range []string{"amount", "currency", "payee", "payer", "chain", "rail", "ref"} {
		mine, told := values[name]
		if !told {
			continue
		}
		theirs := pay.TextOf(name)
		switch name {
		case "amount":
			amount, err := engine.ParseUSD(mine)
			if err != nil {
				return name
			}
			mine = string(engine.AppendUSD(nil, amount))
		case "payee", "payer":
			mine = engine.CanonicalWallet(mine)
		case "chain", "rail":
			mine = strings.ToUpper(mine)
		}
		if theirs == "" || mine != theirs {
			return name
		}
	}
	return ""
}

// redeem uses the permit up. It sends no Idempotency-Key: one that is made of the permit, or of what
// the client sends, would give a second payment the leave of the first.
func (q *question) redeem(raw string) *answer {
	body, err := json.Marshal(map[string]string{"permit": raw})
	if err != nil {
		panic("BUG: a permit: " + err.Error())
	}
	said := q.ask(http.MethodPost, "/v1/permits/redeem", body)
	if said.Status == http.StatusBadRequest || said.Status == http.StatusConflict || said.Status == http.StatusUnprocessableEntity {
		var why apiError
		_ = json.Unmarshal(said.Body.Bytes(), &why)
		switch why.Code {
		case permitExpired, "approval_lapsed", "invalid_transition": // The last: the payment was given back.
			return &answer{outcome: permitExpired, message: "the permit has ended"}
		case permitUsed:
			return &answer{outcome: permitUsed, message: "the permit was used before"}
		case permitMismatch:
			return &answer{outcome: permitMismatch, param: why.Param, message: "the permit is for another payment"}
		case permitInvalid:
			return &answer{outcome: permitInvalid, message: "the permit is none of this service"}
		}
	}
	a, v := readVerdict(said)
	switch {
	case a.outcome != leave:
		return a
	case v.State != "redeemed":
		return &answer{outcome: noVerdict, message: unavailable}
	}
	a.permit = raw
	return a
}
