package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"railguard/engine"
)

// kind says what an operation asks for.
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
	// pending: the operation may have happened, at any moment since it was sent.
	pending outcome = iota
	// answered: the service gave a final answer, which may be an error of the caller.
	answered
	// nothing: the operation did not happen. The service said so, or it was certainly not sent.
	nothing
)

// operation is one call of a client with all its retries. Every attempt has the same
// Idempotency-Key, so at most one of them may take effect. A bare operation has no key and is
// sent once. If it counts twice, the service doubled it.
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
	floor       uint64 // For a read: the answer must not be older than this index.

	invoke, back time.Duration // Times since the history began.
	attempts     int
	stumbles     []stumble
	outcome      outcome
	reply
}

// stumble is an attempt that brought no final answer.
type stumble struct {
	at     time.Duration
	node   string
	status int // 0: there was no answer.
	code   string
}

// reply has the members of the final answer that checks need.
type reply struct {
	node     string
	status   int
	code     string // Code of an error.
	replayed bool
	seen     uint64 // X-Railguard-Index.

	verdict, rule, txn string
	at                 time.Time // Log time: screenedAt, attestedAt, changedAt, reviewedAt.
	index              uint64    // Raft index of a screening's leaf.
	list               uint64
	event              string // The leaf's eventId, for every operation but a screening or a review.
	id, token          string // The agentId or fleetId of a new agent or fleet, and its credential.
	credentialStatus   string
	unchanged          bool
	shown              string // Disposition shown by a read.
}

func (o *operation) done() bool { return o.outcome == answered && o.status >= 200 && o.status < 300 }

// history has all operations and their answers, in no particular order.
type history struct {
	start time.Time

	mu  sync.Mutex
	all []*operation
}

// never is the time of return of an operation whose caller never learned its outcome.
const never = time.Duration(1<<62 - 1)

func newHistory() *history { return &history{start: time.Now()} }

func (h *history) now() time.Duration { return time.Since(h.start) }

// begin adds an operation before its first byte is sent.
func (h *history) begin(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.invoke = h.now()
	h.all = append(h.all, o)
}

// end records the outcome of an operation.
func (h *history) end(o *operation, out outcome, r reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.back, o.outcome, o.reply = h.now(), out, r
}

// operations returns the history so far, sorted by the time of invocation. The caller may read
// only those operations that no client still works on.
func (h *history) operations() []*operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.all)
	slices.SortStableFunc(all, func(a, b *operation) int { return int(a.invoke - b.invoke) })
	return all
}

// errorsSince looks at the operations that began after an instant. It counts those that got a 5xx
// or no answer at least once, and returns the most attempts that one of them needed.
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

// eachVerdict visits the screening calls that have a verdict. Other calls may be in progress
// meanwhile.
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

// gap returns the longest time without a new verdict, among the times that begin or end in the
// window. If the window is that of a fault, it is how long callers got no verdict.
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
