package wire

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"railguard/engine"
)

// RecordVersion is the version of all record bodies of format 1.
const RecordVersion uint8 = 1

var (
	encoding = mustEncoding()
	decoding = mustDecoding()
)

func mustEncoding() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic("BUG: cbor encoding options: " + err.Error())
	}
	return mode
}

// mustDecoding is strict: no duplicate keys, no unknown fields, no indefinite
// lengths, no tags, bounded nesting and counts.
func mustDecoding() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		MaxNestedLevels:   16,
		MaxArrayElements:  engine.FleetAgentsMax,
		MaxMapPairs:       1024,
		UTF8:              cbor.UTF8RejectInvalid,
	}.DecMode()
	if err != nil {
		panic("BUG: cbor decoding options: " + err.Error())
	}
	return mode
}

// Encode returns the deterministic CBOR of a record body or profile. A screening record has
// its own form. It panics only for a type that cannot be encoded, which would be a bug.
func Encode(v any) []byte {
	if s, ok := v.(*Screen); ok {
		return AppendScreen(make([]byte, 0, len(s.Fragment)+256), s)
	}
	data, err := encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: encode %T: %v", v, err))
	}
	return data
}

// DecodeBody reads a record body or profile into v. It copies bytes out of data, except for a
// screening record (see DecodeScreen).
func DecodeBody(data []byte, v any) error {
	if s, ok := v.(*Screen); ok {
		return DecodeScreen(data, s)
	}
	if err := decoding.Unmarshal(data, v); err != nil {
		return fmt.Errorf("record body: %w", err)
	}
	return nil
}

// PackHits writes hits to Mask and Subs of a Screen record.
func PackHits(h *engine.Hits, s *Screen) {
	s.Mask, s.Subs = h.Mask, s.Subs[:0]
	for id := engine.RuleID(1); id < engine.RuleBits; id++ {
		if h.Has(id) {
			s.Subs = append(s.Subs, byte(h.Subs[id]))
		}
	}
}

// UnpackHits reverses PackHits. It returns false if Mask and Subs contradict each other. It
// does not check that the rules exist in the record's rule set.
func UnpackHits(s *Screen, h *engine.Hits) bool {
	if s.Mask&1 != 0 {
		return false
	}
	at := 0
	for id := engine.RuleID(1); id < engine.RuleBits; id++ {
		if s.Mask&(1<<id) == 0 {
			continue
		}
		if at == len(s.Subs) || s.Subs[at] == 0 {
			return false
		}
		h.Add(id, engine.Sub(s.Subs[at]))
		at++
	}
	return at == len(s.Subs)
}
