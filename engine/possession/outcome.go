package possession

import (
	"fmt"

	"railguard/engine"
)

// Reason is why there is no good proof, as a word.
type Reason string

// The reasons, in the order in which a proof is judged.
const (
	Missing   Reason = "missing"   // There is none, or only signatures that are none of ours.
	Malformed Reason = "malformed" // Its form is not that of a proof.
	Algorithm Reason = "algorithm" // Its algorithm is not that of the key.
	WrongKey  Reason = "key"       // It was made with another key.
	Signature Reason = "signature" // The signature is not that of the content.
	Component Reason = "component" // It leaves out a part of the request that it must cover, or the request has not what it covers.
	Audience  Reason = "audience"  // It is for another service.
	Action    Reason = "action"    // It is for another act.
	Request   Reason = "request"   // It is for another request.
	Lifetime  Reason = "lifetime"  // It does not say from when and until when it is good.
	Old       Reason = "old"
	Early     Reason = "early" // It was made in the future.
	Expired   Reason = "expired"
)

// The sub-reasons of R1 about possession.
const (
	SubKey     engine.Sub = 7
	SubRequest engine.Sub = 8
	SubTime    engine.Sub = 9
	SubMissing engine.Sub = 10
)

// Sub returns the sub-reason of R1 that a reason stands for. What is not in the form of a proof
// shows no key.
func (r Reason) Sub() engine.Sub {
	switch r {
	case Missing:
		return SubMissing
	case Component, Audience, Action, Request:
		return SubRequest
	case Lifetime, Old, Early, Expired:
		return SubTime
	}
	return SubKey
}

// Error says why there is no good proof. It quotes nothing of it.
type Error struct {
	Reason Reason
	Said   string
}

func (e *Error) Error() string { return "proof: " + string(e.Reason) + ": " + e.Said }

func refuse(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Said: fmt.Sprintf(format, args...)}
}

// The forms of a proof.
const (
	FormJWS     = "jws"
	FormMessage = "httpsig"
)

// Proof is a good proof.
type Proof struct {
	Form     string
	ID       string      // The jti, or the covered Idempotency-Key: the call's idempotency key.
	IssuedAt engine.Time // Whole seconds.
	// Digest is the SHA-256 of the compact JWS, or of a signature base followed by its signature
	// (64 bytes).
	Digest [32]byte
}

// Bounds of the policy's possession.maxAge: for how long a proof is good.
const (
	AgeLeast = engine.ProofAgeLeast
	AgeUsual = engine.ProofAgeUsual
	AgeMost  = engine.ProofAgeMost
)

// EarlyMost is how far ahead of this clock a proof may have been made.
const EarlyMost = 60 * engine.Second

// Window says when a proof is judged, and how old it may be. An AgeMost of 0 means AgeUsual.
type Window struct {
	Now     engine.Time
	AgeMost engine.Time
}

// check judges the time at which a proof was made.
func (w Window) check(made engine.Time) *Error {
	most := w.AgeMost
	if most == 0 {
		most = AgeUsual
	}
	switch {
	case w.Now-made > most:
		return refuse(Old, "it was made more than %d seconds ago", most/engine.Second)
	case made-w.Now > EarlyMost:
		return refuse(Early, "it was made in the future")
	}
	return nil
}

// secondsMax is above every time that a proof can name, and below what overflows as a Time.
const secondsMax = 1 << 33
