package x402

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// The facilitator behind gets the members that were judged here, and those that say how to make
// that payment. A member of the signed payload that is not known is refused, since it could be a
// second payment: a permit2Authorization beside an authorization, for example. Any other member
// that is not known is not sent on.

var (
	sentTop          = []string{"x402Version", "paymentPayload", "paymentRequirements"}
	sentRequirements = []string{"scheme", "network", "asset", "amount", "maxAmountRequired", "payTo", "maxTimeoutSeconds", "extra", "resource",
		"description", "mimeType", "outputSchema"}
	sentPayment    = []string{"x402Version", "scheme", "network", "resource", "accepted", "payload", "extensions"}
	sentExtensions = []string{identifier, "bazaar"} // None of them moves money.

	signedMembers     = []string{"signature", "authorization"}
	authorizedMembers = []string{"from", "to", "value", "validAfter", "validBefore", "nonce"}
)

// transferMethod is how tokens move by an authorization; extra.assetTransferMethod names it.
const transferMethod = "eip3009"

// sameTransferMethod reports whether none of the terms names another way to move the tokens.
func sameTransferMethod(terms ...object) bool {
	for _, o := range terms {
		if method, there := o.object("extra")["assetTransferMethod"]; there && method != transferMethod {
			return false
		}
	}
	return true
}

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

// callID identifies a call of settle by what a repetition must have in common with the first
// one: the payment's identifier and the resource. The API records it as the request id of the
// claim; the key that called stands in that record too.
func (p *payment) callID() string {
	sum := sha256.New()
	for _, part := range []string{"railguard x402 settle", p.travelRule, p.resource} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return "x402-" + hex.EncodeToString(sum.Sum(nil))
}
