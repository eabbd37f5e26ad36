package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"railguard/engine"
)

// kind is what an operation asked for.
type kind uint8

const (
	opFleet kind = iota + 1
	opRegister
	opDelegate
	opScreen
	opSuspend
	opReinstate
	opRevoke
	opAttest
	opReview
	opRead // GET /v1/audit/{txnId}
)

var kindNames = [...]string{
	opFleet: "fleet", opRegister: "register", opDelegate: "delegate", opScreen: "screen", opSuspend: "suspend",
	opReinstate: "reinstate", opRevoke: "revoke", opAttest: "attest", opReview: "review", opRead: "read",
}

func (k kind) String() string { return kindNames[k] }

// outcome is what is known of an operation.
type outcome uint8

const (
	// pending: it may have happened, at any moment since it was sent.
	pending outcome = iota
	// answered: the service gave its final word, an error of the caller's included.
	answered
	// nothing: the service said, or the network made certain, that it did not happen.
	nothing
)

// operation is one call of a client with all its retries: every attempt carried the
// same Idempotency-Key, so at most one of them may have taken effect. A bare one has
// no key and is sent once: what is counted twice then was doubled by the service.
type operation struct {
	client int
	kind   kind
	key    string // Idempotency-Key; of a bare operation its X-Request-Id.
	bare   bool
	path   string
	body   []byte

	group       int
	account     int    // Index of the agent in its group.
	subject     string // Agent id, fleet id, or the transaction of a review or read.
	amount      engine.USD
	disposition string
	listed      bool   // The payment names a counterparty that may be on the list.
	floor       uint64 // A read that must not be answered from anything older.

	invoke, back time.Duration // Since the history began.
	attempts     int
	stumbles     []stumble
	outcome      outcome
	reply
}

// stumble is an attempt that brought no final answer.
type stumble struct {
	at     time.Duration
	node   string
	status int // 0: no answer at all.
	code   string
}

// reply is the final answer, as far as checks need it.
type reply struct {
	node     string
	status   int
	code     string // Of an error.
	replayed bool
	seen     uint64 // X-Railguard-Index.

	verdict, rule, txn string
	at                 time.Time // Log time: screenedAt, attestedAt, changedAt, reviewedAt.
	index              uint64    // Raft index of a screening's leaf.
	list               uint64
	event              string // eventId of the leaf, of anything but a screening or review.
	id, token          string // agentId or fleetId of something new, and its credential.
	credentialStatus   string
	unchanged          bool
	shown              string // Disposition shown by a read.
}

func (o *operation) done() bool { return o.outcome == answered && o.status >= 200 && o.status < 300 }

// history is everything that callers were told, in no particular order.
type history struct {
	start time.Time

	mu  sync.Mutex
	all []*operation
}

// never is the return of an operation whose caller was not told what became of it.
const never = time.Duration(1<<62 - 1)

func newHistory() *history { return &history{start: time.Now()} }

func (h *history) now() time.Duration { return time.Since(h.start) }

// begin takes the operation in before its first byte is sent.
func (h *history) begin(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.invoke = h.now()
	h.all = append(h.all, o)
}

// end records how far the operation got.
func (h *history) end(o *operation, out outcome, r reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.back, o.outcome, o.reply = h.now(), out, r
}

// operations is the history so far, by the time of invocation. Only operations
// that no client works on any more may be looked into.
func (h *history) operations() []*operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.all)
	slices.SortStableFunc(all, func(a, b *operation) int { return int(a.invoke - b.invoke) })
	return all
}

// errorsSince counts the operations begun after an instant that met a 5xx, or no
// answer, and the most attempts that one of them needed.
func (h *history) errorsSince(from time.Duration) (hurt, attempts int, example string) {
	for _, o := range h.operations() {
		if o.invoke < from {
			continue
		}
		attempts = max(attempts, o.attempts)
		if len(o.stumbles) > 0 {
			hurt++
			example = fmt.Sprintf("%s: %d %s at %s", o.kind, o.stumbles[0].status, o.stumbles[0].code, o.stumbles[0].node)
		}
	}
	return hurt, attempts, example
}

// verdictSince reports whether a call that began after an instant has a verdict.
func (h *history) verdictSince(at time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.all) - 1; i >= 0 && h.all[i].invoke > at; i-- {
		if o := h.all[i]; o.kind == opScreen && o.done() && o.back != never {
			return true
		}
	}
	return false
}

// eachVerdict visits the screening calls whose callers have a verdict, also while
// others are under way.
func (h *history) eachVerdict(visit func(*operation)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.all {
		if o.kind == opScreen && o.done() && o.back != never {
			visit(o)
		}
	}
}

// tally counts operations for the report.
type tally struct {
	operations, answered, verdicts, proceeds, pending, nothing, retried, replayed int
}

func (h *history) tally() tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	var t tally
	for _, o := range h.all {
		t.operations++
		switch o.outcome {
		case answered:
			t.answered++
		case pending:
			t.pending++
		case nothing:
			t.nothing++
		}
		if o.kind == opScreen && o.done() {
			t.verdicts++
			if o.verdict == "PROCEED" {
				t.proceeds++
			}
		}
		if o.attempts > 1 {
			t.retried++
		}
		if o.replayed {
			t.replayed++
		}
	}
	return t
}

// gap is the longest time without a new verdict that begins or ends in the
// window; in a fault's window it is how long callers went without one.
func (h *history) gap(from, to time.Duration) time.Duration {
	var returns []time.Duration
	h.eachVerdict(func(o *operation) {
		if !o.replayed {
			returns = append(returns, o.back)
		}
	})
	slices.Sort(returns)
	longest, last := time.Duration(0), from
	for _, at := range returns {
		if at < from {
			continue
		}
		if last >= to {
			break
		}
		longest = max(longest, at-last)
		last = at
	}
	if last < to && (len(returns) == 0 || returns[len(returns)-1] < to) {
		longest = max(longest, to-last)
	}
	return longest
}
