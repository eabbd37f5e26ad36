package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// What became of a payment that Pay made.
const (
	PaidSettled  = "settled"  // Sent, and the service knows.
	PaidReleased = "released" // Not sent, and the service knows.
	PaidRefused  = "refused"  // Not allowed: REVIEW, BLOCK, UNKNOWN, or no verdict at all.
	PaidOpen     = "open"     // Not ended: Resume does, or asks Check again.
)

// defaultHold is how long Pay holds an amount if the payment does not say.
const defaultHold = 600 // Seconds.

// Sent is what a rail says of a payment that was sent.
type Sent struct {
	RailRef string // What the rail calls it: a transaction hash, a bank's reference.
	Amount  *USD   // What was sent; nil: the amount that was screened.
}

// NotSent is the error of a send, or of a check, that knows for sure that no money moved and none will. Any
// other error leaves the payment counted.
type NotSent string

func (n NotSent) Error() string { return "not sent: " + string(n) }

// Paid is how far a payment came. Err is why it is open.
type Paid struct {
	ID      string // Its Idempotency-Key.
	State   string
	TxnID   string
	Verdict *Verdict // nil: it was judged before, or could not be.
	RailRef string
	Reason  string // Why it was not sent.
	Err     error
}

// Pay screens a payment with a hold, has send move the money if the verdict is PROCEED, and tells the service:
// it settles what was sent and releases what send says was NotSent. After any other error of send nobody
// knows, so the payment goes on counting, and stays open. Each step stands in the journal before it is made,
// so that Resume ends what a crash leaves, and nothing is sent twice.
//
// It returns an error if the payment is open; what is refused or released is an answer. A payment that the
// journal knows is not begun again. An officer's approval of a REVIEW is no leave for Pay: Confirm it.
// Settle and release need a settler's key (Options.SettlerKey), unless the policy says otherwise.
func (c *Client) Pay(ctx context.Context, payment *Payment, send func(ctx context.Context, verdict *Verdict) (Sent, error), journal *Journal) (*Paid, error) {
	if payment.IdempotencyKey = payment.key(); payment.IdempotencyKey == "" {
		payment.IdempotencyKey = NewKey()
	}
	id, seconds := payment.IdempotencyKey, defaultHold
	if payment.Hold != nil {
		seconds = payment.Hold.TTLSeconds
	}
	kept, err := paymentMembers(payment)
	if err != nil {
		return nil, err
	}
	if len(id) > journalIDMax {
		return nil, fmt.Errorf("railguard: the key of a payment has at most %d characters here", journalIDMax)
	}
	if err := journal.begin(journalStep{ID: id, Step: stepScreen, Payment: kept, HoldSeconds: seconds}); err != nil {
		return nil, err
	}
	defer journal.leave(id)
	p := &paying{client: c, journal: journal, paid: &Paid{ID: id, State: PaidOpen}}
	p.paid.Err = p.make(ctx, payment.Token, kept, seconds, send)
	return p.paid, p.paid.Err
}

// paymentMembers are the members of a screening call's body without token and hold, as an object.
func paymentMembers(payment *Payment) (json.RawMessage, error) {
	bare := *payment
	bare.Token, bare.Hold = "", nil
	raw, err := rawMember(&bare)
	if err != nil {
		return nil, fmt.Errorf("railguard: body: %w", err)
	}
	rest, ok := strings.CutPrefix(string(raw), `{"token":"",`)
	if !ok {
		panic("BUG: a payment does not begin with its token")
	}
	return json.RawMessage("{" + rest), nil
}

// screeningBody is the body of a screening call from the members that a journal keeps. It must be the same to
// the byte whenever it is sent, because an Idempotency-Key binds the bytes: the token, the members as they
// stand in the journal, the hold.
func screeningBody(token string, members json.RawMessage, holdSeconds int) (json.RawMessage, error) {
	quoted, err := rawMember(token)
	if err != nil {
		return nil, err
	}
	inner := strings.TrimSpace(string(members[1 : len(members)-1]))
	if inner != "" {
		inner += ","
	}
	return json.RawMessage(fmt.Sprintf(`{"token":%s,%s"hold":{"ttlSeconds":%d}}`, quoted, inner, holdSeconds)), nil
}

// paying is one payment under way.
type paying struct {
	client  *Client
	journal *Journal
	paid    *Paid
	first   bool // Pay begins it: its key must be new.
}

// ErrKeyUsed means that a payment's key was used before, and not by this journal: perhaps another one has
// sent the money.
var ErrKeyUsed = errors.New("railguard: the key was used before, by another program or journal: nothing is sent")

func (p *paying) make(ctx context.Context, token string, kept json.RawMessage, seconds int, send func(context.Context, *Verdict) (Sent, error)) error {
	p.first = true
	if err := p.screen(ctx, token, kept, seconds); err != nil || p.paid.State == PaidRefused {
		return err
	}
	if err := ctx.Err(); err != nil {
		return p.release(ctx, "the caller gave up before it was sent")
	}
	if err := p.note(journalStep{Step: stepSend, TxnID: p.paid.TxnID}); err != nil {
		return err
	}
	sent, err := send(ctx, p.paid.Verdict)
	return p.told(ctx, sent, err)
}

// note keeps a line of this payment.
func (p *paying) note(step journalStep) error {
	step.ID = p.paid.ID
	return p.journal.append(step)
}

// screen asks for the verdict, and ends a payment that has no leave.
func (p *paying) screen(ctx context.Context, token string, kept json.RawMessage, seconds int) error {
	body, err := screeningBody(token, kept, seconds)
	if err != nil {
		return err
	}
	verdict, head := new(Verdict), Head{}
	if err := p.client.Call(ctx, http.MethodPost, "/v1/screen", body, p.paid.ID, verdict, WithHead(&head)); err != nil {
		var failure *Error
		if errors.As(err, &failure) && failure.Outcome == OutcomeNone && !failure.again() && ctx.Err() == nil {
			return errors.Join(err, p.end(PaidRefused)) // It was not recorded, and will not be.
		}
		return err
	}
	if verdict.TxnID == "" || verdict.Verdict == "" {
		return &Error{Status: http.StatusOK, Code: CodeBadAnswer, Outcome: OutcomeUnknown, Message: "a verdict without an id", IdempotencyKey: p.paid.ID}
	}
	if p.first && head.Replayed && head.Attempts == 1 {
		return errors.Join(ErrKeyUsed, p.end(PaidRefused))
	}
	p.paid.Verdict, p.paid.TxnID = verdict, verdict.TxnID
	if err := p.note(journalStep{Step: stepVerdict, Verdict: verdict.Verdict, TxnID: verdict.TxnID}); err != nil {
		return err
	}
	if !verdict.Proceed() {
		return p.end(PaidRefused)
	}
	return nil
}

// told goes on with what send, or a check, says of the money.
func (p *paying) told(ctx context.Context, sent Sent, err error) error {
	var not NotSent
	switch {
	case errors.As(err, &not):
		p.paid.Reason = string(not)
		if err := p.note(journalStep{Step: stepNotSent, Reason: string(not)}); err != nil {
			return err
		}
		return p.release(ctx, string(not))
	case err != nil:
		return fmt.Errorf("railguard: nobody knows whether the payment was sent, so it counts: %w", err)
	}
	step := journalStep{Step: stepSent, RailRef: &sent.RailRef}
	if sent.Amount != nil {
		text := sent.Amount.String()
		step.Amount = &text
	}
	if err := p.note(step); err != nil {
		return err
	}
	return p.settle(ctx, sent)
}

// settle and release tell the service, whatever became of the caller meanwhile. A repeated call changes
// nothing.
func (p *paying) settle(ctx context.Context, sent Sent) error {
	p.paid.RailRef = sent.RailRef
	if _, err := p.client.Settle(context.WithoutCancel(ctx), p.paid.TxnID, sent.Amount, sent.RailRef, WithKey(p.paid.ID+".settle")); err != nil {
		return err
	}
	return p.end(PaidSettled)
}

func (p *paying) release(ctx context.Context, reason string) error {
	if reason == "" {
		reason = "not sent"
	}
	p.paid.Reason = reason
	_, err := p.client.Release(context.WithoutCancel(ctx), p.paid.TxnID, reason, WithKey(p.paid.ID+".release"))
	if err != nil && !givenBack(err) {
		return err
	}
	return p.end(PaidReleased)
}

// givenBack reports whether a release was refused because nothing counts any more.
func givenBack(err error) bool {
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != "invalid_transition" {
		return false
	}
	var stands struct {
		State string `json:"state"`
	}
	return json.Unmarshal(failure.Body, &stands) == nil && (stands.State == "expired" || stands.State == "released")
}

func (p *paying) end(state string) error {
	if err := p.note(journalStep{Step: stepEnd, State: state}); err != nil {
		return err
	}
	p.paid.State = state
	return nil
}

// Resuming answers what Resume cannot know.
type Resuming struct {
	// Token returns the token of a payment that was perhaps not screened. The journal holds none.
	Token func(ctx context.Context, id string) (string, error)
	// Check asks the rail whether a payment was sent: Sent, the error NotSent, or another error if it cannot
	// be told. Then the payment stays open.
	Check func(ctx context.Context, id, txnID string) (Sent, error)
}

// Resume ends what a crash, or an error of Pay, left open: it releases what was never sent, settles what was,
// and asks Check of what may have been. It never sends. It returns how far each open payment came; those
// that are still open say why, and the next Resume tries again. Payments that a Pay of this process works on
// are left alone.
func (c *Client) Resume(ctx context.Context, journal *Journal, resuming *Resuming) (all []Paid) {
	for _, step := range journal.claim() {
		p := &paying{client: c, journal: journal, paid: &Paid{ID: step.ID, State: PaidOpen, TxnID: step.TxnID}}
		p.paid.Err = p.resume(ctx, &step, resuming)
		journal.leave(step.ID)
		all = append(all, *p.paid)
	}
	return all
}

// keyLives is how long a key surely is known: the service's 24 hours, less what clocks may differ.
const keyLives = 24*time.Hour - 10*time.Minute

const crashed = "the program ended before it was sent"

func (p *paying) resume(ctx context.Context, step *journalStep, resuming *Resuming) error {
	switch step.Step {
	case stepScreen:
		if resuming.Token == nil {
			return errors.New("railguard: Resuming has no Token")
		}
		began, err := time.Parse(time.RFC3339, step.At)
		if err != nil || time.Since(began) > keyLives {
			return errors.New("railguard: the service has forgotten the payment's key: look for it in the audit")
		}
		token, err := resuming.Token(ctx, step.ID)
		if err != nil {
			return err
		}
		if err := p.screen(ctx, token, step.Payment, step.HoldSeconds); err != nil || p.paid.State == PaidRefused {
			return err
		}
		return p.release(ctx, crashed)
	case stepVerdict:
		if step.Verdict != VerdictProceed {
			return p.end(PaidRefused)
		}
		return p.release(ctx, crashed)
	case stepSend:
		if resuming.Check == nil {
			return errors.New("railguard: Resuming has no Check")
		}
		sent, err := resuming.Check(ctx, step.ID, step.TxnID)
		return p.told(ctx, sent, err)
	case stepSent:
		sent := Sent{RailRef: *step.RailRef}
		if step.Amount != nil {
			amount, err := ParseUSD(*step.Amount)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrJournal, err)
			}
			sent.Amount = &amount
		}
		return p.settle(ctx, sent)
	}
	return p.release(ctx, step.Reason)
}
