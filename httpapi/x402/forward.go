package x402

import (
	"slices"
	"strings"
)

// The facilitator behind gets the members that were judged here, and those that say how to make
// that payment. A member of the signed payload that is not known is refused, since it could be a
// second payment: a permit2Authorization beside an authorization, for example (signed.go). Any other member
// that is not known is not sent on.

var (
	sentTop          = []string{"x402Version", "paymentPayload", "paymentRequirements"}
	sentRequirements = []string{"scheme", "network", "asset", "amount", "maxAmountRequired", "payTo", "maxTimeoutSeconds", "extra", "resource",
		"description", "mimeType", "outputSchema"}
	sentPayment    = []string{"x402Version", "scheme", "network", "resource", "accepted", "payload", "extensions"}
	sentExtensions = []string{identifier, "bazaar"} // None of them moves money.
)

// encodeForward writes the body for the facilitator behind.
func encodeForward(top, payload, wanted object) []byte {
	payload, wanted = payload.selectMembers(sentPayment), wanted.selectMembers(sentRequirements)
	if accepted := payload.object("accepted"); accepted != nil {
		payload["accepted"] = accepted.selectMembers(sentRequirements)
	}
	if extensions := payload.object("extensions"); extensions != nil {
		payload["extensions"] = extensions.selectMembers(sentExtensions)
	}
	sent := top.selectMembers(sentTop)
	sent["paymentPayload"], sent["paymentRequirements"] = payload, wanted
	return sent.encodeObject()
}

// selectMembers returns the object with only the given members.
func (o object) selectMembers(names []string) object {
	selected := object{}
	for _, name := range names {
		if value, there := o[name]; there {
			selected[name] = value
		}
	}
	return selected
}

// refuseOthers refuses a signed object that has members that are not known.
func (o object) refuseOthers(where string, known []string) *invalid {
	var others []string
	for name := range o {
		if !slices.Contains(known, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &invalid{"invalid_payload", where + " has a member that is not judged here: " + shortenReason(slices.Min(others))}
}

// callID identifies a call of settle: by what a repetition must have in common with the first one, the
// payment's identifier and the resource; and by the payment, with its credential. The API records it as
// the request id of the claim; the key that called stands in that record too.
func (p *payment) callID() string {
	return callPrefix + p.bindingHash()[:callDigits] + "-" + hashParts("railguard x402 settle", p.travelRule, p.resource)[:callDigits]
}

const (
	callPrefix = "x402-"
	callDigits = 48 // 192 bits of each hash: nobody finds two payments, or two calls, that are alike in them.
)

// isOf tells whether a claim is of this payment with this credential, not of another one that has the
// same signed payment.
func (r *record) isOf(p *payment) bool {
	return strings.HasPrefix(r.RequestID, callPrefix+p.bindingHash()[:callDigits]+"-")
}
