package engine

import "encoding/json"

// SecondLook says which decided reviews another officer looks at again without knowing what was
// decided (decision 156). It is immutable.
type SecondLook struct {
	Share uint16 `cbor:"1,keyasint"`           // Of SecondLookAll decisions so many, 1 to SecondLookAll.
	Rules uint32 `cbor:"2,keyasint,omitempty"` // Of these rules one has triggered; 0: of any.
}

// SecondLookAll is the share that means every decision: it is told in basis points.
const SecondLookAll = 10_000

// Draws tells whether the decision on a record that triggered rules is looked at again. The number
// is anything that is as likely to be each of 64 bits.
func (s *SecondLook) Draws(rules uint32, number uint64) bool {
	return s != nil && (s.Rules == 0 || s.Rules&rules != 0) && number%SecondLookAll < uint64(s.Share)
}

// Sound tells whether the share is one.
func (s *SecondLook) Sound() bool { return s == nil || s.Share >= 1 && s.Share <= SecondLookAll }

// narrower reports whether fewer decisions are looked at again than by the setting before.
func (s *SecondLook) narrower(before *SecondLook) bool {
	if before == nil {
		return false
	}
	return s == nil || s.Share < before.Share || s.Rules != 0 && (before.Rules == 0 || before.Rules&^s.Rules != 0)
}

// readSecondLook reads {"basisPoints": 250, "rules": ["R21"]}. No basis points mean no looks.
func (r *documentReader) readSecondLook(param string, value json.RawMessage) *SecondLook {
	look := &SecondLook{}
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "basisPoints":
			look.Share = uint16(r.readInteger(path, value, 0, SecondLookAll))
		case "rules":
			look.Rules = r.readReviewing(path, value)
		default:
			r.addUnknown(path)
		}
	})
	if look.Share == 0 {
		return nil
	}
	return look
}
