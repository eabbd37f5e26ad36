package fsm

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/dchest/siphash"

	"railguard/fsm/wire"
)

// IDs maps dense slots to random-looking ids and back by keyed bijections (balanced Feistel
// networks with SipHash-2-4 as round function). So an id gives its slot without a lookup, two
// ids never collide, and an id alone tells "not yet" from "expired".
//
// A restored backup does not know the slots and leaves that were given out after it. So it
// begins an epoch: from there on, the epoch's number is put above the slot or leaf, and the
// ids that the lost machines gave out decode to nothing.
type IDs struct {
	low, high uint64        // The key's halves.
	epochs    []*wire.Epoch // Numbers and places rise; before the first is epoch 0.
}

// Each kind of id has a domain of its own, so that their permutations differ.
const (
	domainAgent byte = iota + 1
	domainUser
	domainFleet
	domainTxn
	_ // Once events.
	domainCredential
	domainOperator
	domainAlert
	domainStatus
	domainProposal
	domainCase
	domainLook
)

const (
	base32Digits = "abcdefghijklmnopqrstuvwxyz234567"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	agentBits  = 60                  // 12 base32 characters.
	txnBits    = 48                  // The smallest even width that covers 62^8; AppendTxnID walks until the value is below 62^8.
	txnCount   = 218_340_105_584_896 // 62^8
	txnDigits  = 8
	idDigits   = 12
	rounds     = 6
	uuidBits   = 122
	uuidPrefix = "urn:uuid:"

	epochShift = 40  // Leaves and slots are below 1<<epochShift.
	epochMax   = 197 // The last epoch whose leaves all have a txnId: 198<<40 is at most 62^8.
)

// NewIDs returns the bijections of a cluster's key and epochs.
func NewIDs(key [16]byte, epochs ...*wire.Epoch) *IDs {
	return &IDs{low: binary.LittleEndian.Uint64(key[:8]), high: binary.LittleEndian.Uint64(key[8:]), epochs: epochs}
}

// ofLeaf returns a leaf with its epoch's number in the bits above.
func (d *IDs) ofLeaf(leaf uint64) uint64 {
	for i := len(d.epochs) - 1; i >= 0; i-- {
		if e := d.epochs[i]; leaf >= e.Leaf {
			return uint64(e.Number)<<epochShift | leaf
		}
	}
	return leaf
}

// leafOf returns the leaf in a value, and whether the value has the leaf's epoch.
func (d *IDs) leafOf(value uint64) (uint64, bool) {
	if len(d.epochs) == 0 {
		return value, true
	}
	leaf := value & (1<<epochShift - 1)
	return leaf, d.ofLeaf(leaf) == value
}

// ofSlot returns a slot with its epoch's number in the bits above.
func (d *IDs) ofSlot(domain byte, slot uint32) uint64 {
	for i := len(d.epochs) - 1; i >= 0; i-- {
		e := d.epochs[i]
		first := e.Agents
		switch domain {
		case domainUser:
			first = e.Users
		case domainFleet:
			first = e.Fleets
		case domainOperator:
			first = e.Operators
		}
		if slot >= first {
			return uint64(e.Number)<<epochShift | uint64(slot)
		}
	}
	return uint64(slot)
}

// roundOf is the Feistel round function: SipHash of (half, domain, round).
func (d *IDs) roundOf(domain byte, n int, half uint64) uint64 {
	var in [10]byte
	binary.LittleEndian.PutUint64(in[:], half)
	in[8], in[9] = domain, byte(n)
	return siphash.Hash(d.low, d.high, in[:])
}

func (d *IDs) permuteNumber(domain byte, bits uint, value uint64) uint64 {
	half := bits / 2
	mask := uint64(1)<<half - 1
	left, right := value>>half, value&mask
	for n := range rounds {
		left, right = right, left^(d.roundOf(domain, n, right)&mask)
	}
	return left<<half | right
}

func (d *IDs) invertNumber(domain byte, bits uint, value uint64) uint64 {
	half := bits / 2
	mask := uint64(1)<<half - 1
	left, right := value>>half, value&mask
	for n := rounds - 1; n >= 0; n-- {
		left, right = right^(d.roundOf(domain, n, left)&mask), left
	}
	return left<<half | right
}

func (d *IDs) encode32(prefix string, domain byte, value uint64) string {
	return string(d.append32(make([]byte, 0, 4+idDigits), prefix, domain, value))
}

func (d *IDs) append32(dst []byte, prefix string, domain byte, value uint64) []byte {
	v := d.permuteNumber(domain, agentBits, value)
	dst = append(append(dst, prefix...), "aaaaaaaaaaaa"...)
	for i := len(dst) - 1; i >= len(dst)-idDigits; i-- {
		dst[i] = base32Digits[v&31]
		v >>= 5
	}
	return dst
}

func (d *IDs) decode32(prefix, text string, domain byte) (uint64, bool) {
	if len(text) != len(prefix)+idDigits || text[:len(prefix)] != prefix {
		return 0, false
	}
	var v uint64
	for i := len(prefix); i < len(text); i++ {
		digit, ok := digit32(text[i])
		if !ok {
			return 0, false
		}
		v = v<<5 | digit
	}
	return d.invertNumber(domain, agentBits, v), true
}

func digit32(c byte) (uint64, bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return uint64(c - 'a'), true
	case c >= '2' && c <= '7':
		return uint64(c-'2') + 26, true
	}
	return 0, false
}

// AgentID returns agt_ and 12 base32 characters.
func (d *IDs) AgentID(slot uint32) string {
	return d.encode32("agt_", domainAgent, d.ofSlot(domainAgent, slot))
}

// AppendAgentID writes AgentID's text.
func (d *IDs) AppendAgentID(dst []byte, slot uint32) []byte {
	return d.append32(dst, "agt_", domainAgent, d.ofSlot(domainAgent, slot))
}

// UserID returns usr_ and 12 base32 characters.
func (d *IDs) UserID(slot uint32) string {
	return d.encode32("usr_", domainUser, d.ofSlot(domainUser, slot))
}

// FleetID returns flt_ and 12 base32 characters.
func (d *IDs) FleetID(slot uint32) string {
	return d.encode32("flt_", domainFleet, d.ofSlot(domainFleet, slot))
}

// OperatorID returns opr_ and 12 base32 characters.
func (d *IDs) OperatorID(slot uint32) string {
	return d.encode32("opr_", domainOperator, d.ofSlot(domainOperator, slot))
}

// EventID returns the id of the n-th event of a leaf: evt_4711_0. The first one is what the call that wrote the
// leaf is answered with. After a recovery the number has the epoch's number above the leaf's, so that no id
// comes twice.
func (d *IDs) EventID(leaf uint64, n int) string {
	return "evt_" + strconv.FormatUint(d.ofLeaf(leaf), 10) + "_" + strconv.Itoa(n)
}

// AlertID returns alr_ and 12 base32 characters for the leaf that opened an alert.
func (d *IDs) AlertID(leaf uint64) string { return d.encode32("alr_", domainAlert, d.ofLeaf(leaf)) }

// ProposalID returns prp_ and 12 base32 characters for the leaf of a proposal.
func (d *IDs) ProposalID(leaf uint64) string {
	return d.encode32("prp_", domainProposal, d.ofLeaf(leaf))
}

// CaseID returns case_ and 12 base32 characters for the leaf that opened a sanctions case.
func (d *IDs) CaseID(leaf uint64) string { return d.encode32("case_", domainCase, d.ofLeaf(leaf)) }

// LookID returns look_ and 12 base32 characters for the disposition that a second look is at. It tells
// nothing of the record.
func (d *IDs) LookID(decision uint64) string {
	return d.encode32("look_", domainLook, d.ofLeaf(decision))
}

// LookNumber returns the number of that id, and LookOfNumber the leaf of such a number.
func (d *IDs) LookNumber(decision uint64) uint64 {
	return d.permuteNumber(domainLook, agentBits, d.ofLeaf(decision))
}

func (d *IDs) LookOfNumber(number uint64) (uint64, bool) {
	if number >= 1<<agentBits {
		return 0, false
	}
	return d.leafOf(d.invertNumber(domainLook, agentBits, number))
}

// ParseLook returns the leaf index of the disposition that a second look is at.
func (d *IDs) ParseLook(text string) (uint64, bool) {
	v, ok := d.decode32("look_", text, domainLook)
	if !ok {
		return 0, false
	}
	return d.leafOf(v)
}

// ParseCase returns the leaf index of a sanctions case's id.
func (d *IDs) ParseCase(text string) (uint64, bool) {
	v, ok := d.decode32("case_", text, domainCase)
	if !ok {
		return 0, false
	}
	return d.leafOf(v)
}

// ParseProposal returns the leaf index of a proposal's id.
func (d *IDs) ParseProposal(text string) (uint64, bool) {
	v, ok := d.decode32("prp_", text, domainProposal)
	if !ok {
		return 0, false
	}
	return d.leafOf(v)
}

// ParseAlert returns the leaf index of an alert's id.
func (d *IDs) ParseAlert(text string) (uint64, bool) {
	v, ok := d.decode32("alr_", text, domainAlert)
	if !ok {
		return 0, false
	}
	return d.leafOf(v)
}

// ParseAgent returns the slot of an agent id. The caller checks whether the agent exists.
func (d *IDs) ParseAgent(text string) (uint32, bool) { return d.slot("agt_", text, domainAgent) }

// ParseUser returns the slot of a user id.
func (d *IDs) ParseUser(text string) (uint32, bool) { return d.slot("usr_", text, domainUser) }

// ParseFleet returns the slot of a fleet id.
func (d *IDs) ParseFleet(text string) (uint32, bool) { return d.slot("flt_", text, domainFleet) }

// ParseOperator returns the slot of an operator id.
func (d *IDs) ParseOperator(text string) (uint32, bool) { return d.slot("opr_", text, domainOperator) }

// ParseEvent returns the leaf index of the id of a leaf's first event.
func (d *IDs) ParseEvent(text string) (uint64, bool) {
	value, n, ok := SplitEventID(text)
	if !ok || n != 0 {
		return 0, false
	}
	return d.leafOf(value)
}

// SplitEventID returns the two numbers of an event's id, in the only form that EventID writes.
func SplitEventID(text string) (value uint64, n int, ok bool) {
	rest, prefixed := strings.CutPrefix(text, "evt_")
	first, second, two := strings.Cut(rest, "_")
	value, err := strconv.ParseUint(first, 10, 62)
	number, wrong := strconv.ParseUint(second, 10, 8)
	ok = prefixed && two && err == nil && wrong == nil && strconv.FormatUint(value, 10) == first && strconv.FormatUint(number, 10) == second
	return value, int(number), ok
}

// EventLeaf returns the leaf of an event id's first number, whatever its epoch.
func EventLeaf(value uint64) uint64 { return value & (1<<epochShift - 1) }

func (d *IDs) slot(prefix, text string, domain byte) (uint32, bool) {
	v, ok := d.decode32(prefix, text, domain)
	slot := uint32(v & (1<<32 - 1))
	if !ok || slot == 0 || d.ofSlot(domain, slot) != v {
		return 0, false
	}
	return slot, true
}

// AppendTxnID writes txn_ and 8 base62 characters for a leaf index below 62^8.
func (d *IDs) AppendTxnID(dst []byte, leaf uint64) []byte {
	v := d.ofLeaf(leaf)
	for { // Cycle walking: 62^8 fills 78 % of the 48-bit space, so 1.3 steps on average.
		v = d.permuteNumber(domainTxn, txnBits, v)
		if v < txnCount {
			break
		}
	}
	dst = append(dst, "txn_00000000"...)
	for i := len(dst) - 1; i >= len(dst)-txnDigits; i-- {
		dst[i] = base62Digits[v%62]
		v /= 62
	}
	return dst
}

// putTxn writes the eight characters of TxnID.
func (d *IDs) putTxn(dst *[txnDigits]byte, leaf uint64) {
	var text [4 + txnDigits]byte
	copy(dst[:], d.AppendTxnID(text[:0], leaf)[4:])
}

// TxnID returns the id of a screening record's leaf.
func (d *IDs) TxnID(leaf uint64) string { return string(d.AppendTxnID(make([]byte, 0, 12), leaf)) }

// ParseTxn returns the leaf index of a transaction id.
func (d *IDs) ParseTxn(text string) (uint64, bool) {
	if len(text) != 4+txnDigits || text[:4] != "txn_" {
		return 0, false
	}
	var v uint64
	for i := 4; i < len(text); i++ {
		digit, ok := digit62(text[i])
		if !ok {
			return 0, false
		}
		v = v*62 + digit
	}
	for {
		v = d.invertNumber(domainTxn, txnBits, v)
		if v < txnCount {
			return d.leafOf(v)
		}
	}
}

func digit62(c byte) (uint64, bool) {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0'), true
	case c >= 'A' && c <= 'Z':
		return uint64(c-'A') + 10, true
	case c >= 'a' && c <= 'z':
		return uint64(c-'a') + 36, true
	}
	return 0, false
}

// Kinds of credential in a credential id.
const (
	CredentialAgent byte = 1
	CredentialUser  byte = 2
)

// CredentialID returns urn:uuid: and an RFC 9562 version 8 UUID that holds (kind, epoch,
// slot, version) under the cluster's permutation. It needs no randomness, and the version can
// be read back from a token's id. The epoch is the one in which the version was issued, which
// may be later than the slot's.
func (d *IDs) CredentialID(kind byte, slot uint32, epoch, version uint16) string {
	high, low := d.permuteWide(uint64(epoch)<<8|uint64(kind), uint64(slot)<<16|uint64(version))
	return uuidPrefix + formatUUID(high, low)
}

// ParseCredential reverses CredentialID.
func (d *IDs) ParseCredential(text string) (kind byte, slot uint32, epoch, version uint16, ok bool) {
	if len(text) != len(uuidPrefix)+36 || text[:len(uuidPrefix)] != uuidPrefix {
		return 0, 0, 0, 0, false
	}
	high, low, ok := parseUUID(text[len(uuidPrefix):])
	if !ok {
		return 0, 0, 0, 0, false
	}
	left, right := d.invertWide(high, low)
	kind = byte(left)
	if kind > CredentialUser || kind == 0 || left>>8 > epochMax || right>>48 != 0 {
		return 0, 0, 0, 0, false
	}
	return kind, uint32(right >> 16), uint16(left >> 8), uint16(right), true
}

const wideMask = uint64(1)<<(uuidBits/2) - 1

func (d *IDs) permuteWide(left, right uint64) (uint64, uint64) {
	for n := range rounds {
		left, right = right, left^(d.roundOf(domainCredential, n, right)&wideMask)
	}
	return left, right
}

func (d *IDs) invertWide(left, right uint64) (uint64, uint64) {
	for n := rounds - 1; n >= 0; n-- {
		left, right = right^(d.roundOf(domainCredential, n, left)&wideMask), left
	}
	return left, right
}

// formatUUID lays 61+61 bits around the version (8) and variant (10) bits.
func formatUUID(high, low uint64) string {
	// 122 bits: high is bits 121..61, low bits 60..0.
	a := high >> 13 & (1<<48 - 1) // first 48 bits
	b := high >> 1 & 0xfff        // next 12
	c := high&1<<61 | low         // last 62
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], a<<16|0x8<<12|b)
	binary.BigEndian.PutUint64(raw[8:], 0x2<<62|c)
	const hexDigits = "0123456789abcdef"
	out := make([]byte, 0, 36)
	for i, v := range raw {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			out = append(out, '-')
		}
		out = append(out, hexDigits[v>>4], hexDigits[v&15])
	}
	return string(out)
}

func parseUUID(text string) (high, low uint64, ok bool) {
	var raw [16]byte
	at := 0
	for i := 0; i < len(text); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if text[i] != '-' {
				return 0, 0, false
			}
			continue
		}
		digit, good := digitHex(text[i])
		if !good {
			return 0, 0, false
		}
		raw[at/2] = raw[at/2]<<4 | digit
		at++
	}
	first := binary.BigEndian.Uint64(raw[:])
	second := binary.BigEndian.Uint64(raw[8:])
	if first>>12&0xf != 0x8 || second>>62 != 0x2 {
		return 0, 0, false
	}
	c := second & (1<<62 - 1)
	high = first>>16<<13 | first&0xfff<<1 | c>>61
	return high, c & (1<<61 - 1), true
}

func digitHex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
