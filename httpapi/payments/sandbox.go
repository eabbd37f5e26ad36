package payments

import (
	"net/http"
	"strings"
	"time"

	"railguard/edge"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
)

// fault is how a call to a sandbox goes wrong after it did what it should.
type fault string

// The faults.
const (
	noFault    fault = ""
	lostAnswer fault = "outcome_unknown" // The answer says that the outcome is unknown.
	noAnswer   fault = "no_answer"       // The connection breaks.
)

// slowAnswer is how much later SANDBOX slow is answered: within a call's deadline, and longer than a caller
// likes to wait.
const slowAnswer = 1500 * time.Millisecond

// screenFault returns how the screening call of a sandbox goes wrong, or the error that it asked for. A name that asks
// for an answer that there is not is an error, so that a misspelt one passes for no verdict.
func screenFault(c *border.Request) (fault, error) {
	asked := edge.SandboxAsks(&c.Judge)
	verb, code, ofEnd := strings.Cut(asked, " ")
	switch {
	case asked == "" || edge.SandboxRule(&c.Judge) != 0:
		return noFault, nil
	case ofEnd && (verb == "settle" || verb == "release") && isFault(code):
		return noFault, nil
	case asked == "slow":
		wait := time.NewTimer(slowAnswer)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-c.Context().Done():
		}
		return noFault, nil
	case !isFault(asked):
		e := border.NewError(http.StatusBadRequest, "invalid_field", "cpName asks for an answer that no sandbox has; docs/sandbox.md lists them")
		e.Param = "cpName"
		return noFault, e
	}
	return faultOf(asked)
}

// endFault returns how the settle or the release of a sandbox's payment goes wrong: its counterparty is
// called SANDBOX, the verb, and the answer.
func endFault(c *border.Request, l *edge.Leaf, op uint8) (fault, error) {
	verb := "settle"
	if op == wire.HoldRelease {
		verb = "release"
	}
	code, asked := strings.CutPrefix(edge.SandboxAsksOf(c.Settings(), l.Text("_request", "cpName")), verb+" ")
	if !asked || !isFault(code) {
		return noFault, nil
	}
	return faultOf(code)
}

// isFault reports whether a sandbox has that answer: an error that a caller has to live with, whatever it
// sends.
func isFault(word string) bool {
	switch word {
	case string(noAnswer), "rate_limited", "idempotency_in_flight", "internal_error":
		return true
	}
	return border.StatusOf(word) == http.StatusServiceUnavailable
}

func faultOf(word string) (fault, error) {
	if f := fault(word); f == lostAnswer || f == noAnswer {
		return f, nil
	}
	const message = "the sandbox was asked for this"
	status := border.StatusOf(word)
	if status == http.StatusServiceUnavailable {
		return noFault, border.Unavailable(word, message)
	}
	e := border.NewError(status, word, message)
	if status != http.StatusInternalServerError {
		e.Retry = 1
	}
	return noFault, e
}

// strike lets the fault happen to a call that did what it should, the first time.
func (f fault) strike(replayed bool) error {
	switch {
	case replayed || f == noFault:
		return nil
	case f == noAnswer:
		panic(http.ErrAbortHandler)
	}
	return border.ProposalError(wire.ErrUnknown)
}
