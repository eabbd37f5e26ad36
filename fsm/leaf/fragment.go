package leaf

import (
	"encoding/binary"

	"railguard/fsm/wire"
)

// Tag names one member of a fragment. A number never changes its meaning; bytes and rendered
// members are in the order of the numbers.
type Tag byte

// The tags. Texts are UTF-8, unchanged; literals are the JSON values that the caller sent.
const (
	TagSource      Tag = 1  // ofacSource: 1 kv:live, 2 kv:sample.
	TagMixers      Tag = 2  // mixerVersion, text.
	TagZones       Tag = 3  // tzVersion, text.
	TagVersion     Tag = 4  // version of the binary that judged, text.
	TagCredential  Tag = 5  // jti, text.
	TagUserCred    Tag = 6  // userJti, text.
	TagAgent       Tag = 7  // agentId, text; from a valid signature that names no agent here.
	TagUser        Tag = 8  // userId, text.
	TagKey         Tag = 9  // keyId, text.
	TagNode        Tag = 10 // node, text.
	TagRequestID   Tag = 11 // requestId, text.
	TagRequestHash Tag = 12 // requestHash, 32 bytes.
	TagIdempotency Tag = 13 // idempotencyKeyHash, bytes.
	TagTrace       Tag = 14 // traceId, 16 bytes.
	TagMatches     Tag = 15 // matches, a JSON array.
	TagTruncated   Tag = 16 // matchesTruncated, empty.
	TagFlags       Tag = 17 // One byte: bit 0 a whitelist was in force, bit 1 the chain is broken.
	TagOperatorOK  Tag = 18 // Entries cleared for the operator's name, u32 each.
	TagUserOK      Tag = 19
	TagPartyOK     Tag = 20
	TagWarnings    Tag = 21 // warnings, a JSON array.
	TagElsewhere   Tag = 22 // walletsElsewhere, text: wallets in members that are meant for something else, with blanks between them; + at the end: there are more.

	TagPermit Tag = 23 // permitTerms, a JSON object: for whom a permit is and what it says of the lists; of a call that asked for one.

	TagProof Tag = 24 // proof, a JSON object: the thumbprint of the agent's key (jkt), and of a proof its form and SHA-256, or why it was refused.

	TagPlaces        Tag = 26 // places, a JSON array: what was read of the call's places and had a consequence.
	TagPlacesVersion Tag = 27 // placesVersion, text; of a call with places.

	TagListName Tag = 28 // listName, text: the list beside OFAC's that the reason names.

	TagAmount     Tag = 32 // _request.amount, literal. All tags below are literals of _request too.
	TagChain      Tag = 33
	TagWallet     Tag = 34 // cpWallet
	TagName       Tag = 35 // cpName
	TagRail       Tag = 36
	TagPartyType  Tag = 37 // cpType
	TagProtocol   Tag = 38
	TagModel      Tag = 39 // underlyingModel
	TagModelAlias Tag = 40 // model
	TagTravelRule Tag = 41 // travelRuleRef
	TagCountry    Tag = 42 // cpCountry
	TagBirth      Tag = 43 // cpDateOfBirth
	TagAddress    Tag = 44 // cpAddress
	TagPayment    Tag = 45 // paymentRef
	TagHold       Tag = 46 // hold
	TagPayer      Tag = 47 // payerWallet
	TagWallets    Tag = 48 // wallets

	TagRegion      Tag = 49 // cpRegion
	TagOrigin      Tag = 50 // originCountry
	TagMemo        Tag = 51 // memo
	TagIdentifiers Tag = 52 // cpIdentifiers
	TagPermitAsked Tag = 53 // permit

	// TagLast is the highest possible number. Unknown numbers are a newer release's: they are
	// kept, and shown as bytes.
	TagLast = 63
)

// sizes are the lengths of members; 0: any.
var sizes = [TagLast + 1]int{TagSource: 1, TagRequestHash: 32, TagTrace: 16, TagFlags: 1}

// Fragment is the edge's part of a screening record: the bytes of each member, by tag. The
// zero value is empty.
type Fragment struct {
	members [TagLast + 1][]byte
	given   uint64 // Bit n is set if tag n is present; a present member may be empty.
}

// Set adds a member. The bytes are not copied.
func (f *Fragment) Set(t Tag, value []byte) {
	f.members[t], f.given = value, f.given|1<<t
}

// Has tells whether a member is there.
func (f *Fragment) Has(t Tag) bool { return f.given&(1<<t) != 0 }

// Get returns a member's bytes; nil when it is absent or empty.
func (f *Fragment) Get(t Tag) []byte { return f.members[t] }

// Append writes the fragment: for each member in rising order its tag, the
// length as a uvarint and the bytes.
func (f *Fragment) Append(dst []byte) []byte {
	for t := TagSource; t <= TagLast; t++ {
		if f.Has(t) {
			dst = append(dst, byte(t))
			dst = binary.AppendUvarint(dst, uint64(len(f.members[t])))
			dst = append(dst, f.members[t]...)
		}
	}
	return dst
}

// Read reads a fragment's bytes; members alias data.
func (f *Fragment) Read(data []byte) error {
	*f = Fragment{}
	if !walk(data, f.Set) {
		return ErrForm
	}
	return nil
}

// SoundFragment tells whether bytes are a valid fragment.
func SoundFragment(data []byte) bool { return walk(data, nil) }

// walk calls visit for every member. It returns false if the bytes are not a valid fragment.
func walk(data []byte, visit func(Tag, []byte)) bool {
	r := wire.NewReader(data)
	last := Tag(0)
	for len(r.Rest()) > 0 {
		t := Tag(r.Byte())
		value := r.Take(r.Unsigned())
		if r.Broken() || t <= last || t > TagLast || sizes[t] != 0 && len(value) != sizes[t] {
			return false
		}
		if visit != nil {
			visit(t, value)
		}
		last = t
	}
	return !r.Broken()
}
