package leaf

import "errors"

// Form is a leaf's first byte.
type Form byte

// The forms. A number is for ever: 0.2.0 and every later release reads it.
const (
	FormEvent   Form = '{' // One JSON object.
	FormScreen  Form = 1
	FormProfile Form = 2
)

// ErrForm means bytes that no encoder of this binary's forms has written. It is
// also what a newer release's leaf gives: upgrade to read it.
var ErrForm = errors.New("leaf: not a form this release can read")

// ErrRuleSet means a screening record of a rule set that this binary does not know: its
// bytes can be read, and what its rules are called cannot be said. Upgrade to read it.
var ErrRuleSet = errors.New("leaf: judged by a rule set that this release does not know")

// SaltSize is the length of a leaf's salt.
const SaltSize = 16

// FormOf returns the form of a leaf's bytes; 0 for none.
func FormOf(data []byte) Form {
	if len(data) == 0 {
		return 0
	}
	return Form(data[0])
}
