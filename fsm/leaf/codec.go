package leaf

import "errors"

// Form is a leaf's first byte.
type Form byte

// The forms. A number never changes its meaning: every release from 0.2.0 on reads it.
const (
	FormEvent   Form = '{' // One JSON object.
	FormScreen  Form = 1
	FormProfile Form = 2
)

// ErrForm means bytes that no encoder of this binary has written. A newer release's leaf also
// gives this error: upgrade to read it.
var ErrForm = errors.New("leaf: not a form this release can read")

// ErrRuleSet means a screening record of a rule set that this binary does not know: it can
// read the bytes but cannot name the rules. Upgrade to read it.
var ErrRuleSet = errors.New("leaf: judged by a rule set that this release does not know")

// SaltSize is the length of a leaf's salt.
const SaltSize = 16

// FormOf returns the form of a leaf; 0 if there are no bytes.
func FormOf(data []byte) Form {
	if len(data) == 0 {
		return 0
	}
	return Form(data[0])
}
