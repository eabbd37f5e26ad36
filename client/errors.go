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

// The outcomes. After OutcomeUnknown the call may have taken effect: repeat it with the same
// key (Error.IdempotencyKey), or do not pay.
const (
	OutcomeNone    Outcome = "none"
	OutcomeUnknown Outcome = "unknown"
)

// Codes that this package sets if the service gave none.
const (
	CodeUnreachable = "unreachable" // No connection: nothing was sent.
	CodeNoAnswer    = "no_answer"   // The connection broke, or the time ran out, before an answer came.
	CodeBadAnswer   = "bad_answer"  // The answer is not one of the service.
)

// Detail is one of several errors in a call.
type Detail struct {
	Param   string `json:"param"`
	Message string `json:"message"`
}

// Error says why a call failed, in the service's own words or with one of the codes above.
type Error struct {
	Status         int      // HTTP status; 0 without an answer.
	Code           string   // Compare the code, never Message.
	Message        string   // A text for people.
	Param          string   // The member or parameter at fault, if there is one.
	Details        []Detail // All errors, if there are several.
	RequestID      string   // Support needs this.
	TxnID          string   // Id of the record, if there is one.
	Outcome        Outcome
	RetryAfter     time.Duration   // The wait that the service asked for; 0: none.
	Attempts       int             // How many attempts were made.
	IdempotencyKey string          // The call's key, to repeat it after OutcomeUnknown.
	Body           json.RawMessage // The whole answer; on a conflict it contains the present state.
	Cause          error           // The transport's error, if there was no answer.
}

// Error returns one line.
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

// Unwrap returns the transport's error.
func (e *Error) Unwrap() error { return e.Cause }

// again reports whether another attempt can help, apart from the call's key.
func (e *Error) again() bool {
	switch {
	case e.Status == 0, e.Code == CodeBadAnswer, e.Status >= http.StatusInternalServerError, e.Status == http.StatusTooManyRequests:
		return true
	}
	return e.Code == codeInFlight
}

const (
	codeInFlight     = "idempotency_in_flight"
	retryAfterMax    = 24 * 60 * 60 // In seconds. A longer Retry-After counts as this one.
	headerOutcome    = "X-Railguard-Outcome"
	headerKey        = "Idempotency-Key"
	headerRequestID  = "X-Request-Id"
	headerRetryAfter = "Retry-After"
)

// refusal reads an answer that is not 2xx. If it cannot be read, the outcome is unknown.
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
