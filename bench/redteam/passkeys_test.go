package redteam

import (
	"time"

	"railguard/bench/conformance"
	"railguard/engine/passkey/passkeytest"
)

// page is where officers' pages are: a development cluster takes any port of this machine.
const (
	page = "http://localhost:8080"
	site = "localhost"
)

// forgedPasskeys: an act that a policy wants signed is done by nothing but the caller's own passkey,
// over this act, once, on this service's pages, with its person verified (T71).
func (w *world) forgedPasskeys(e conformance.Examiner) {
	ann, ben := passkeytest.New(page, site), passkeytest.New(page, site)
	register := func(who string, a *passkeytest.Authenticator, change func(*passkeytest.Said)) *conformance.Answer {
		return e.Call(conformance.Sent{Method: "POST", Path: "/admin/passkeys", Key: w.officers[who], Base: w.admin, Body: a.Register("own", change)})
	}
	for name, change := range map[string]func(*passkeytest.Said){
		"on another site":  func(s *passkeytest.Said) { s.Client["origin"] = "https://evil.example" },
		"nobody verified":  func(s *passkeytest.Said) { s.Flags = passkeytest.Present },
		"of another":       func(s *passkeytest.Said) { s.ID = ben.ID },
		"with another key": func(s *passkeytest.Said) { s.Client["challenge"] = "AAAA" },
	} {
		a := register("ann", passkeytest.New(page, site), change)
		e.Expect(a.Refused(), "a registration is taken %s: %d %.200s", name, a.Status, a.Raw)
	}
	e.Must(register("ann", ann, nil).OK() && register("ben", ben, nil).OK(), "the stage: passkeys are not registered")
	e.Expect(register("ben", ann, nil).Refused(), "ann's passkey is registered as ben's")
	w.must(e, w.root, "POST", "/v1/test/clock", obj{"advance": "25h"})
	w.settleSigned(e, ann)
	cases := make([]string, 3)
	for i := range cases {
		cases[i] = w.must(e, w.house.keys["screener"], "POST", "/v1/screen", obj{"token": w.house.owned["token"], "amount": 150 + i}).Text("txnId")
	}
	w.forgedSignatures(e, ann, ben, cases)

	a := e.Call(conformance.Sent{Method: "DELETE", Path: "/admin/passkeys/" + ann.Name(), Key: w.officers["ann"], Base: w.admin})
	e.Must(a.OK(), "the stage: a passkey is not removed: %d %.200s", a.Status, a.Raw)
	asked := w.decide(e, "ben", cases[2], "APPROVED", "")
	gone := w.decide(e, "ann", cases[2], "APPROVED", ann.Sign(asked.Text("challenge"), nil))
	e.Expect(gone.Refused() && w.decided(e, cases[2]) == "", "a passkey that was removed decides: %d %.200s", gone.Status, gone.Raw)
	for _, who := range []string{"ann", "ben"} { // Two persons take the demand away.
		a := w.call(e, w.officers[who], "PUT", "/v1/policy", obj{"policy": obj{}, "reason": "x"})
		e.Must(a.OK(), "the stage: the demand stays: %d %.200s", a.Status, a.Raw)
	}
}

// settleSigned puts a policy in force that wants decisions signed.
func (w *world) settleSigned(e conformance.Examiner, ann *passkeytest.Authenticator) {
	policy := obj{"policy": obj{"passkeys": list{"disposition"}}, "reason": "x"}
	asked := w.call(e, w.officers["ann"], "PUT", "/v1/policy", policy)
	e.Must(asked.Code == "passkey_required", "whoever demands passkeys needs none: %d %.200s", asked.Status, asked.Raw)
	a := e.Call(conformance.Sent{Method: "PUT", Path: "/v1/policy", Key: w.officers["ann"], Body: policy, Base: w.bases[0], Header: map[string]string{"X-Railguard-Passkey": ann.Sign(asked.Text("challenge"), nil)}})
	e.Must(a.OK(), "the stage: the policy is not taken: %d %.200s", a.Status, a.Raw)
	for began := time.Now(); time.Since(began) < spreadMax; time.Sleep(20 * time.Millisecond) {
		if w.call(e, w.root, "GET", "/v1/policy", nil).Text("policy.passkeys.0") != "" {
			break
		}
	}
}

// decide decides a case as an officer, with what was signed.
func (w *world) decide(e conformance.Examiner, who, txn, disposition, signed string) *conformance.Answer {
	header := map[string]string{}
	if signed != "" {
		header["X-Railguard-Passkey"] = signed
	}
	return e.Call(conformance.Sent{Method: "POST", Path: "/v1/reviews/" + txn, Key: w.officers[who], Base: w.bases[0], Header: header, Body: obj{"disposition": disposition, "reviewedBy": who, "notes": "seen"}})
}

func (w *world) decided(e conformance.Examiner, txn string) string {
	return e.Call(conformance.Sent{Method: "GET", Path: "/v1/audit/" + txn, Key: w.root, Base: w.bases[0]}).Text("disposition")
}

// forgedSignatures tries to approve the first case with everything but ann's own signature over it.
func (w *world) forgedSignatures(e conformance.Examiner, ann, ben *passkeytest.Authenticator, cases []string) {
	challenge := func(who, txn, disposition string) string {
		return w.decide(e, who, txn, disposition, "").Text("challenge")
	}
	unknown := passkeytest.New(page, site)
	signed := func(change func(*passkeytest.Said)) func() string {
		return func() string { return ann.Sign(challenge("ann", cases[0], "APPROVED"), change) }
	}
	for _, attack := range []struct {
		name, who string
		header    func() string
	}{
		{"with nothing", "ann", func() string { return "" }},
		{"with what is no assertion", "ann", func() string { return "AAAA" }},
		{"with somebody else's passkey", "ann", func() string { return ben.Sign(challenge("ann", cases[0], "APPROVED"), nil) }},
		{"with somebody else's passkey under her id", "ann", func() string {
			return ben.Sign(challenge("ann", cases[0], "APPROVED"), func(s *passkeytest.Said) { s.ID = ann.ID })
		}},
		{"with what another signed for himself", "ben", func() string { return ann.Sign(challenge("ann", cases[0], "APPROVED"), nil) }},
		{"signed for another transaction", "ann", func() string { return ann.Sign(challenge("ann", cases[1], "APPROVED"), nil) }},
		{"signed for another decision", "ann", func() string { return ann.Sign(challenge("ann", cases[0], "REJECTED"), nil) }},
		{"signed on another site", "ann", signed(func(s *passkeytest.Said) { s.Client["origin"] = "https://evil.example" })},
		{"signed on a site that begins so", "ann", signed(func(s *passkeytest.Said) { s.Client["origin"] = "http://localhost.evil.example" })},
		{"signed within a foreign page", "ann", signed(func(s *passkeytest.Said) { s.Client["crossOrigin"] = true })},
		{"signed below a foreign page", "ann", signed(func(s *passkeytest.Said) { s.Client["topOrigin"] = "https://evil.example" })},
		{"signed for another relying party", "ann", signed(func(s *passkeytest.Said) { s.Site = "evil.example" })},
		{"signed as a registration", "ann", signed(func(s *passkeytest.Said) { s.Client["type"] = "webauthn.create" })},
		{"with nobody verified", "ann", signed(func(s *passkeytest.Said) { s.Flags = passkeytest.Present })},
		{"with nobody there", "ann", signed(func(s *passkeytest.Said) { s.Flags = passkeytest.Verified })},
		{"with a challenge of nobody", "ann", func() string { return ann.Sign("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", nil) }},
		{"with a copy that counts less", "ann", signed(func(s *passkeytest.Said) { s.Count = 1 })},
		{"with a copy that counts nothing", "ann", signed(func(s *passkeytest.Said) { s.Count = 0 })},
		{"with a passkey that nobody registered", "ann", func() string { return unknown.Sign(challenge("ann", cases[0], "APPROVED"), nil) }},
	} {
		a := w.decide(e, attack.who, cases[0], "APPROVED", attack.header())
		e.Expect(a.Refused() && w.decided(e, cases[0]) == "", "a case is decided %s: %d %.200s", attack.name, a.Status, a.Raw)
	}
	header := ann.Sign(challenge("ann", cases[0], "APPROVED"), nil)
	a := w.decide(e, "ann", cases[0], "APPROVED", header)
	e.Must(a.OK() && w.decided(e, cases[0]) == "APPROVED", "an honest signature is refused: %d %.200s", a.Status, a.Raw)
	for _, txn := range cases[:2] {
		a := w.decide(e, "ann", txn, "APPROVED", header)
		e.Expect(a.Refused(), "a signature counts twice: %d %.200s", a.Status, a.Raw)
	}
	e.Expect(w.decided(e, cases[1]) == "", "a signature that was used decides another case")
}
