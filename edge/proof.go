package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"sync"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// A call can prove that it has the private key of its credential (decision 135). The proof is never
// kept: the record holds the key's thumbprint, the form, and the proof's SHA-256.

// proofGiven is a call's proof, and what became of it.
type proofGiven struct {
	text    string   // The compact JWS as sent; "": none. It shares the body's memory.
	request [32]byte // What it must be for: possession.Canonicaliser.RequestHash.
	act     string   // What it must be for, if the door that took it says so; "": what is being done.

	good    *possession.Proof // nil: none, or none that is good.
	key     *possession.Key   // The key that good is of.
	refused possession.Reason // Why it is not good; "": it is, or there is none.
}

// Proof is a proof that the door of a call took from elsewhere than the call's body.
type Proof struct {
	Text    string
	Act     string
	Request [32]byte
}

// ReadProof reads the proof of a call that is no screening call.
func (j *Judge) ReadProof(f *strictjson.Fields) {
	s := &j.screen
	s.proof = proofGiven{}
	if given := j.call.Proof; given != nil {
		s.proof.text, s.proof.act, s.proof.request = given.Text, given.Act, given.Request
		return
	}
	if f.Get(possession.ProofMember) == nil {
		return
	}
	s.proof.text = f.RequiredText(possession.ProofMember, possession.BytesMax)
	var err error
	if s.proof.request, err = hashRequest(j.call.Body); err != nil {
		f.Invalid(possession.ProofMember, "cannot be for this request: a number of a proven request must have at most 15 significant digits")
	}
}

var canonicalisers = sync.Pool{New: func() any { return new(possession.Canonicaliser) }}

// readProof reads the proof of a call, the last of its members, and returns the first error of them all. A number that
// canonical JSON would change is an error even if the proof is not good: the caller has to know.
func (j *Judge) readProof(f *strictjson.Spans) error {
	s := &j.screen
	s.proof = proofGiven{}
	if given := j.call.Proof; given != nil {
		s.proof.text, s.proof.act, s.proof.request = given.Text, given.Act, given.Request
		return f.Err()
	}
	if !f.Given(possession.ProofMember) {
		return f.Err()
	}
	text := f.TrimmedText(possession.ProofMember)
	if len(text) == 0 {
		f.Invalid(possession.ProofMember, "must be a compact JWS")
	}
	if err := f.Err(); err != nil {
		return err
	}
	s.proof.text = borrowText(text)
	var err error
	s.proof.request, err = hashRequest(j.call.Body)
	return err
}

// hashRequest returns the hash of a request's canonical form without its proof.
func hashRequest(body []byte) ([32]byte, error) {
	c := canonicalisers.Get().(*possession.Canonicaliser)
	hash, err := c.RequestHash(body, engine.JSONDepthMax)
	canonicalisers.Put(c)
	switch {
	case errors.Is(err, possession.ErrNumber):
		return hash, &Refusal{Code: "invalid_amount", Param: "amount", BadRequest: true,
			Message: "a number of a proven request must have at most 15 significant digits, because canonical JSON would change it",
		}
	case err != nil:
		return hash, &Refusal{Code: "invalid_field", Param: possession.ProofMember, BadRequest: true,
			Message: "the request has no canonical form (RFC 8785), so that no proof can be for it",
		}
	}
	return hash, nil
}

// prove judges the call's proof by the key of its credential. Most calls have neither.
func (j *Judge) prove(act string) error {
	s := &j.screen
	if s.facts.Token != engine.TokenGood {
		return nil
	}
	if s.agent.key == nil && s.proof.text == "" {
		s.facts.DemandProof()
		return nil
	}
	if s.proof.good == nil || s.proof.key != s.agent.key { // Otherwise the call is judged again, and was in time when it came.
		proof, err := j.findProof(act)
		var refusal *possession.Error
		if s.proof.refused = ""; errors.As(err, &refusal) && refusal.Reason != possession.Missing {
			s.proof.refused = refusal.Reason
			s.facts.Token = engine.TokenState(refusal.Reason.Sub())
			return nil
		}
		s.proof.good, s.proof.key = proof, s.agent.key
	}
	if s.facts.Proven = s.proof.good != nil; !s.facts.Proven {
		s.facts.DemandProof()
		return nil
	}
	return j.adoptID(act)
}

// findProof returns the call's good proof: the one in its body, else a signature of the message. The error is
// a *possession.Error.
func (j *Judge) findProof(act string) (*possession.Proof, error) {
	s := &j.screen
	signing := j.Terms.Signing // Not nil: the credential was good.
	window := possession.Window{Now: s.facts.Now, AgeMost: s.facts.Policy.ProofAge()}
	switch {
	case s.proof.text != "" && s.agent.key == nil:
		return nil, &possession.Error{Reason: possession.WrongKey, Said: "the credential names no key"}
	case s.proof.text != "":
		if s.proof.act != "" {
			act = s.proof.act
		}
		return possession.VerifyJWS(s.proof.text, &possession.Want{
			Window: window, Key: s.agent.key, Audience: permitIssuer(signing.genesis), Act: act, Request: s.proof.request,
		})
	case j.call.Message != nil:
		message := *j.call.Message
		message.Scheme, message.Authorities = signing.scheme, signing.known
		return possession.VerifyMessage(&message, s.agent.key, window)
	}
	return nil, nil
}

// authoritiesOf returns the scheme of the public address, and the authorities under which this service
// is known, whatever Host says: that of the public address, and those that its operator named.
func authoritiesOf(address string, named []string) (scheme string, authorities []string) {
	public, err := url.Parse(address)
	if err != nil || public.Host == "" {
		return "https", named
	}
	own := possession.NormalAuthority(public.Host, public.Scheme)
	if slices.Contains(named, own) {
		return public.Scheme, named
	}
	return public.Scheme, append([]string{own}, named...)
}

// adoptID makes the proof's id the call's Idempotency-Key, in the scope of the agent's operator,
// whoever calls: a captured call is a replay, on any node and with any API key. A payment over x402
// goes by its own nonce, and a dry run leaves nothing.
func (j *Judge) adoptID(act string) error {
	s := &j.screen
	proof := s.proof.good
	if s.proof.act != "" || act == possession.ActDryRun {
		return nil
	}
	if sent := j.call.KeyText; sent != "" && sent != proof.ID {
		return &Refusal{Code: "bad_request", Param: "Idempotency-Key",
			Message: "the Idempotency-Key is not the jti of the proof: leave it out, or send that one",
		}
	}
	body := s.proof.request // Without the proof: one who signs anew repeats his call.
	if proof.Form == possession.FormMessage {
		body = sha256.Sum256(j.call.Body)
	}
	operator := Caller{Owner: s.facts.OperatorID}
	keyed := operator.keyedBy(j.call.Path, proof.ID, body)
	j.call.Idem, j.call.Hashed = &keyed.Idem, &keyed.Body
	if !s.again { // A recorded payment's record is another one, which is made later.
		s.record.Idem = j.keyed()
	}
	return nil
}

// nameProof writes the key and the proof of the call into its record.
func (s *screening) nameProof(f *leaf.Fragment) {
	if s.agent.key == nil && s.proof.refused == "" {
		return
	}
	var m strictjson.Members
	if s.agent.key != nil {
		m.Text("jkt", s.agent.key.Thumbprint())
	}
	switch {
	case s.proof.good != nil:
		m.Text("form", s.proof.good.Form)
		m.Text("sha256", hex.EncodeToString(s.proof.good.Digest[:]))
	case s.proof.refused != "":
		m.Text("refused", string(s.proof.refused))
		if s.proof.text != "" {
			digest := sha256.Sum256([]byte(s.proof.text))
			m.Text("sha256", hex.EncodeToString(digest[:]))
		}
	}
	f.Set(leaf.TagProof, append(append([]byte{'{'}, m...), '}'))
}
