package parties

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"railguard/ofac"
)

// ID identifies a party, the same on every node: half of a SHA-256 over who it is and what was hit.
type ID [12]byte

// idPrefix begins the text of an ID.
const idPrefix = "pty_"

// String returns the text of an id.
func (id ID) String() string { return idPrefix + hex.EncodeToString(id[:]) }

// ParseID reads the text of an id.
func ParseID(text string) (id ID, ok bool) {
	digits, ok := strings.CutPrefix(text, idPrefix)
	if !ok || len(digits) != 2*len(id) || strings.ToLower(digits) != digits {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(digits))
	return id, err == nil
}

// Side says which side of a payment a hit is about.
type Side uint8

// The sides.
const (
	SidePayee Side = iota
	SideOperator
	SidePayer
	SideUser
)

// String is the word of the API.
func (s Side) String() string { return [...]string{"payee", "operator", "payer", "user"}[s] }

// Entry is what a payment hit: a listed party or a place. The zero value is nothing.
type Entry struct {
	UID   uint32
	List  string // The list's name, as the newest record has it.
	Name  string // The entry's name, as the newest record has it.
	Place string // The code of a country or region; "" if a listed party was hit.
}

// IsHit tells whether anything was hit.
func (e *Entry) IsHit() bool { return e.UID != 0 || e.Place != "" }

// publisherShift divides a uid into its publisher and the publisher's own number.
const publisherShift = 28

// key is what identifies an entry. It does not change when OFAC moves an entry from one of its lists
// to another.
func (e *Entry) key() string {
	switch publisher := e.UID >> publisherShift; {
	case e.UID == 0:
		return cmp.Or(e.Place, "-")
	case publisher == 0:
		return "OFAC:" + strconv.FormatUint(uint64(e.UID), 10)
	default:
		return "LIST" + strconv.FormatUint(uint64(publisher), 10) + ":" + strconv.FormatUint(uint64(e.UID&(1<<publisherShift-1)), 10)
	}
}

// Party is a counterparty and the entry that its payments hit, or nothing.
type Party struct {
	ID    ID
	Name  string // As the newest record writes it; a wallet or an identifier where there is no name; "" for nobody.
	Side  Side
	Entry Entry
	payee uint32 // The payee it is, from 1; 0: the hit is not about the payee, or nobody is named.
}

// idOf makes the id of whoever has this form and hit this entry.
func idOf(form string, entry *Entry) (id ID) {
	sum := sha256.Sum256([]byte(form + "\n" + entry.key()))
	copy(id[:], sum[:])
	return id
}

// ClearedID returns the id of the party that a cleared pair is about.
func ClearedID(name string, uid uint32) ID {
	return idOf(formOf(name), &Entry{UID: uid})
}

// formOf is the form by which a name is the same name: the words of its normal form in alphabetical order,
// since family and given names are written in either.
func formOf(name string) string {
	words := strings.Fields(ofac.NormaliseName(name))
	if len(words) == 0 {
		return name
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
