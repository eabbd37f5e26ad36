package feed

import (
	"errors"
	"fmt"
)

// Reason classifies a refusal; it fits in an API field or a metric label.
type Reason string

// The reasons to refuse a file or a set of files.
const (
	ReasonEmpty       Reason = "empty"         // No byte, or no entity.
	ReasonTooLarge    Reason = "too_large"     // A bound of limits.go is exceeded.
	ReasonTruncated   Reason = "truncated"     // The file ends before its format does.
	ReasonCompression Reason = "compression"   // The compressed stream is damaged or has a form that is refused.
	ReasonEncoding    Reason = "encoding"      // Not UTF-8.
	ReasonMalformed   Reason = "malformed"     // Not well-formed XML or CSV.
	ReasonEntity      Reason = "xml_entity"    // A document type declaration or a custom entity.
	ReasonRoot        Reason = "root"          // Wrong root element, namespace or kind of document.
	ReasonSchema      Reason = "schema"        // Well-formed, but not the published schema.
	ReasonFamily      Reason = "family"        // A filtered export, or another list family than the file name says.
	ReasonIncomplete  Reason = "incomplete"    // A file of a set is missing or is of another date.
	ReasonName        Reason = "file_name"     // Not a published name, or the same list twice.
	ReasonNoFiles     Reason = "no_list_files" // Nothing to load.
	ReasonRead        Reason = "read"          // The file cannot be read.
)

// Error says which file is refused and why. Its text says what was expected.
type Error struct {
	File   string // Name of the file; empty when a parser got a bare reader.
	Reason Reason
	Detail string
	cause  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.File == "" {
		return "ofac list: " + e.Detail
	}
	return "ofac list file " + e.File + ": " + e.Detail
}

// Unwrap returns the underlying read error, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// newRefusal makes an *Error without a file name; the loader adds the name.
func newRefusal(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// refuseWith is newRefusal with a cause that errors.Is can find.
func refuseWith(cause error, reason Reason, format string, args ...any) *Error {
	e := newRefusal(reason, format, args...)
	e.cause = cause
	return e
}

// inFile adds the file's name to an error that has none yet.
func inFile(name string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e.File == "" {
			named := *e
			named.File = name
			return &named
		}
		return err
	}
	return &Error{File: name, Reason: ReasonRead, Detail: err.Error(), cause: err}
}

// quoteShort quotes untrusted text for an error message and cuts it short.
func quoteShort(b []byte) string {
	const max = 40
	if len(b) > max {
		return fmt.Sprintf("%q...", b[:max])
	}
	return fmt.Sprintf("%q", b)
}
