package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unsafe"

	"railguard/ofac/identifier"
)

// FilterKey hashes one searchable fact of a record ("agentId" = "agt_…") to a 64-bit key.
// Searches of audit segments go by that key. The hash is FNV-1a over the field's number and the
// text.
func FilterKey(field FilterField, text string) uint64 {
	h := uint64(14695981039346656037)
	h = (h ^ uint64(field)) * 1099511628211
	for i := 0; i < len(text); i++ {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// WalletFilterKey is FilterKey of a wallet's canonical form. ok is false when that form is
// empty.
func WalletFilterKey(text string) (key uint64, ok bool) {
	var buffer [FieldMax]byte
	form := appendWallet(buffer[:0], text)
	return FilterKey(FilterWallet, unsafe.String(unsafe.SliceData(form), len(form))), len(form) > 0 // FilterKey only reads the bytes.
}

// IdentifierFilterKey is FilterKey of an identifier's normal form. ok is false when that form is
// empty.
func IdentifierFilterKey(class identifier.Class, text string) (key uint64, ok bool) {
	var room [1 + identifier.FormBytesMax]byte
	room[0] = class.Family()
	form := identifier.AppendForm(room[:1], class, text)
	return FilterKey(FilterIdentifier, unsafe.String(unsafe.SliceData(form), len(form))), len(form) > 1 // FilterKey only reads the bytes.
}

// CanonicalIdentifier is the text of FilterIdentifier for an identifier that is written as its type
// and its value, tax_id:7707083893; "" where there is no such type or nothing to compare in the value.
func CanonicalIdentifier(text string) string {
	word, value, _ := strings.Cut(text, ":")
	class, known := identifier.ClassNamed(word)
	if !known || len(value) > FieldMax {
		return ""
	}
	if form := identifier.AppendForm([]byte{class.Family()}, class, value); len(form) > 1 {
		return string(form)
	}
	return ""
}

// The lower bits of filters by which a leaf is found for long: by the Idempotency-Key of the call
// that wrote it, and by the payment whose end it tells. Whoever looks for these reads no others. A
// filter of another fact may look the same.
const (
	markBits   = 12
	markMask   = 1<<markBits - 1
	keyedMark  = 0x1d3
	endingMark = 0x1d4
	usedMark   = 0x1d5
)

// KeyedFilter is the filter key of a call's Idempotency-Key, of which it has 52 bits.
func KeyedFilter(key [16]byte) uint64 {
	return binary.BigEndian.Uint64(key[:])&^markMask | keyedMark
}

// EndingFilter is the filter key of the leaves that say what became of a recorded payment. Two
// records never have the same one.
func EndingFilter(record uint64) uint64 {
	return record*0x9e3779b97f4a7c15<<markBits | endingMark
}

// ReferenceFilter is the filter key of the leaves by which a payment reference was used, or became
// free again, of which it has 52 bits.
func ReferenceFilter(key ReferenceKey) uint64 {
	return binary.BigEndian.Uint64(key[:])&^markMask | usedMark
}

// ReviewKey stands in the place of a payment reference where a payment that this service's x402
// facilitator asks about becomes a REVIEW: by its filter the next payment of the same agent, of the
// same amount, to the same counterparty finds that review (decision 138).
func ReviewKey(agent AgentSlot, party PartyKey, amount USD) ReferenceKey {
	text := append([]byte("railguard review over x402\x00"), party[:]...)
	text = binary.BigEndian.AppendUint32(text, uint32(agent))
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(amount)))
	return ReferenceKey(sum[:16])
}

// IsReferenceFilter tells whether a filter key may be one of ReferenceFilter.
func IsReferenceFilter(key uint64) bool { return key&markMask == usedMark }

// IsEndingFilter tells whether a filter key may be one of EndingFilter.
func IsEndingFilter(key uint64) bool { return key&markMask == endingMark }

// IsKeyedFilter tells whether a filter key may be that of an Idempotency-Key.
func IsKeyedFilter(key uint64) bool { return key&markMask == keyedMark }

// FilterField says from which fact a filter key was made.
type FilterField byte

// The searchable facts of GET /v1/audit (decision 49).
const (
	FilterKind     FilterField = 1 // "screen", "agent.registered", ...
	FilterAgent    FilterField = 2 // agt_… or usr_…
	FilterOperator FilterField = 3 // Normalised legal name.
	FilterVerdict  FilterField = 4
	FilterRule     FilterField = 5 // The whole code, R6_COUNTERPARTY_WALLET_OFAC.
	FilterWallet   FilterField = 6 // Canonical wallet.
	FilterName     FilterField = 7 // Normalised counterparty name.
	FilterFleet    FilterField = 8
	FilterTxn      FilterField = 9  // txn_… that a later event refers to.
	FilterCase     FilterField = 10 // case_… of a sanctions case; of a record: its pair, see fsm.CasePair.

	FilterIdentifier FilterField = 11 // Family and normal form of an identifier of the counterparty.
)
