package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Outcome says whether a call that failed can have changed anything.
type Outcome string

// The outcomes. After OutcomeUnknown the call may have happened: make it again
// with the same key (Error.IdempotencyKey), or do not pay.
const (
	OutcomeNone    Outcome = "none"
	OutcomeUnknown Outcome = "unknown"
)

// Codes that this package makes where the service gave none.
const (
	CodeUnreachable = "unreachable" // No connection: nothing was sent.
	CodeNoAnswer    = "no_answer"   // The connection broke, or the time ran out, before an answer.
	CodeBadAnswer   = "bad_answer"  // What came was no answer of the service.
)

// Detail is one of several things wrong with a call.
type Detail struct {
	Param   string `json:"param"`
	Message string `json:"message"`
}

// Error is why a call failed: the service's own words, or one of the codes above.
type Error struct {
	Status         int      // HTTP status; 0 without an answer.
	Code           string   // Compare this, never Message.
	Message        string   // For people.
	Param          string   // The member or parameter at fault, where there is one.
	Details        []Detail // All that is wrong, where there is more.
	RequestID      string   // Give it to support.
	TxnID          string   // Of the record, where one exists.
	Outcome        Outcome
	RetryAfter     time.Duration   // What the service asked for; 0: nothing.
	Attempts       int             // How often the call was made.
	IdempotencyKey string          // Of the call, to go on with after OutcomeUnknown.
	Body           json.RawMessage // The whole answer: a conflict says what stands.
	Cause          error           // The transport's error, where there was no answer.
}

// Error is one line.
func (e *Error) Error() string {
	text := "railguard: " + e.Code
	if e.Status != 0 {
		text += " (" + strconv.Itoa(e.Status) + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return fmt.Sprintf("%s, outcome %s", text, e.Outcome)
}

// Unwrap is the transport's error.
func (e *Error) Unwrap() error { return e.Cause }

// again says whether another attempt can help, however the call is keyed.
func (e *Error) again() bool {
	switch {
	case e.Status == 0, e.Code == CodeBadAnswer, e.Status >= http.StatusInternalServerError, e.Status == http.StatusTooManyRequests:
		return true
	}
	return e.Code == codeInFlight
}

const (
	codeInFlight     = "idempotency_in_flight"
	retryAfterMax    = 24 * 60 * 60 // Seconds; more is as good as never.
	headerOutcome    = "X-Railguard-Outcome"
	headerKey        = "Idempotency-Key"
	headerRequestID  = "X-Request-Id"
	headerRetryAfter = "Retry-After"
)

// refusal reads an answer that is not 2xx. Where it cannot be read, the outcome is unknown.
func refusal(status int, header http.Header, body []byte) *Error {
	var told struct {
		Code      string   `json:"code"`
		Message   string   `json:"message"`
		Param     string   `json:"param"`
		Details   []Detail `json:"details"`
		RequestID string   `json:"requestId"`
		TxnID     string   `json:"txnId"`
	}
	e := &Error{Status: status, Outcome: OutcomeNone, RetryAfter: retryAfter(header)}
	if err := json.Unmarshal(body, &told); err != nil || told.Code == "" {
		e.Code, e.Outcome, e.Cause = CodeBadAnswer, OutcomeUnknown, err
	} else {
		e.Code, e.Message, e.Param, e.Details, e.TxnID, e.Body = told.Code, told.Message, told.Param, told.Details, told.TxnID, body
	}
	if e.RequestID = told.RequestID; e.RequestID == "" {
		e.RequestID = header.Get(headerRequestID)
	}
	said := Outcome(header.Get(headerOutcome))
	if status >= http.StatusInternalServerError && (status != http.StatusServiceUnavailable || said != OutcomeNone) || e.Code == codeInFlight {
		e.Outcome = OutcomeUnknown
	}
	return e
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get(headerRetryAfter), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(min(seconds, retryAfterMax)) * time.Second
}
