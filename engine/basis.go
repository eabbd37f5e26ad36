package engine

// Basis names the versions that an edge judged with. Apply compares them with its own. If they
// differ, it refuses the record as stale and the edge judges again.
type Basis struct {
	List   uint64 `cbor:"1,keyasint"` // List version.
	Policy uint64 `cbor:"2,keyasint"` // Policy version (institution whitelist included).
	Revs   uint64 `cbor:"3,keyasint"` // Folded revisions of the profiles that the edge read.

	Matcher uint16 `cbor:"4,keyasint,omitempty"` // Version of the name matcher.
	Rules   uint16 `cbor:"5,keyasint,omitempty"` // Number of the rule set.

	// Cleared is the version of the cleared pairs, if they had or could have had a say: a name
	// has a possible match, or an entry is cleared for it. 0: no change of them can change the
	// judgement, so Apply does not compare.
	Cleared uint64 `cbor:"6,keyasint,omitempty"`
}

// Kinds of profile that Fold tells apart.
const (
	RevAgent byte = 1
	RevFleet byte = 2
	RevUser  byte = 3

	// RevPolicy is the institution's policy, folded where one sum stands for everything that a
	// profile leaf shows.
	RevPolicy byte = 4

	RevOperator byte = 5
)

// Fold adds one profile's revision to the sum. Revision 0 means that the edge knows no such
// profile. The order matters: the agent itself first, then its ancestors, the fleet, the
// operator, the user.
func (b *Basis) Fold(kind byte, slot uint32, rev uint32) {
	const prime = 0x9E3779B97F4A7C15
	h := b.Revs ^ (uint64(kind)<<56 ^ uint64(slot)<<24 ^ uint64(rev))
	h *= prime
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	h ^= h >> 32
	b.Revs = h
}
