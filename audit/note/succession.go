package note

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// When a log gets new keys, the old ones sign an endorsement of them: whoever trusts the old
// keys can then trust the new ones. A thief of the old keys could sign one too, so after a
// theft the operator must give verifiers the new keys in another way.

const (
	keysLabel    = "railguard log keys 1"
	endorsedMark = "# endorsed "
)

var keysCosignLabel = []byte("railguard log keys 1\n\x00")

// endorsementText returns the text that the old keys sign: the new keys, and the tree size
// from which on they sign.
func endorsementText(origin string, from uint64, keys []string) []byte {
	return []byte(keysLabel + "\n" + origin + "\n" + strings.TrimPrefix(SizesLine(from, math.MaxUint64), sizesMark) + strings.Join(keys, "\n") + "\n")
}

// Endorse returns lines for a document of verifier keys. They say that next signs the log from
// a tree size on. Other tools take the lines for comments.
func (s *Signer) Endorse(next *Signer, from uint64) string {
	text := endorsementText(s.origin, from, strings.Split(strings.TrimSpace(next.VerifierKeys()), "\n"))
	message, err := sumdb.Sign(&sumdb.Note{Text: string(text)},
		&lineSigner{s.origin, keyID(s.origin, s.classicKey()), func(text []byte) ([]byte, error) {
			return ed25519.Sign(s.classic, text), nil
		}},
		&lineSigner{s.origin, keyID(s.origin, s.quantumKey()), func(text []byte) ([]byte, error) {
			signature := make([]byte, mldsa44.SignatureSize)
			return signature, mldsa44.SignTo(s.quantum, append(append([]byte{}, keysCosignLabel...), text...), nil, false, signature)
		}})
	if err != nil {
		panic("BUG: endorsement of a checked origin: " + err.Error())
	}
	var lines strings.Builder
	for line := range strings.Lines(string(message[len(text)+1:])) {
		lines.WriteString(endorsedMark + line)
	}
	return lines.String()
}

// Rotation is one change of a log's keys.
type Rotation struct {
	From uint64 // Size of the smallest tree that the new keys sign.
	Keys string
}

// Succession starts with trusted keys and reads a document of the log's keys (GET /log/keys).
// It follows the ranges of keys as long as each range endorses the next. It returns the
// trusted keys with the new ones added, and the rotations. It is no error if there are none. A
// range that is not endorsed is ErrUnverified. Witnesses and the quorum that the trusted keys demand stay
// demanded; those that the log lists do not matter.
func Succession(known, listed string) (string, []Rotation, error) {
	start, err := parseKeys(known)
	if err != nil {
		return "", nil, err
	}
	offered, err := parseKeys(listed)
	if err != nil {
		return "", nil, err
	}
	trusted, listedRanges := start.ranges, offered.ranges
	order := func(a, b *keyRange) int { return int(min(max(int64(a.from)-int64(b.from), -1), 1)) }
	slices.SortStableFunc(trusted, order)
	slices.SortStableFunc(listedRanges, order)
	last := trusted[len(trusted)-1]
	at := slices.IndexFunc(listedRanges, func(s *keyRange) bool { return slices.Equal(s.texts, last.texts) })
	if at < 0 {
		return "", nil, fmt.Errorf("the log does not list the keys that are trusted: %w", ErrUnverified)
	}
	var steps []Rotation
	for _, next := range listedRanges[at+1:] {
		if !next.isOfOrigin(last.keys[0].name) {
			continue
		}
		if next.from <= last.from || !last.endorses(next) {
			return "", nil, fmt.Errorf("keys from size %d on are not endorsed by the ones before: %w", next.from, ErrUnverified)
		}
		last.to = next.from - 1
		next.to = math.MaxUint64
		steps = append(steps, Rotation{From: next.from, Keys: strings.Join(next.texts, "\n") + "\n"})
		trusted, last = append(trusted, next), next
	}
	var text strings.Builder
	for _, s := range slices.Backward(trusted) {
		text.WriteString(SizesLine(s.from, s.to) + strings.Join(s.texts, "\n") + "\n")
	}
	for _, w := range start.witnesses {
		text.WriteString(w.key + "\n")
	}
	if start.policy != nil {
		text.WriteString(start.policy.text)
	}
	return text.String(), steps, nil
}

// endorses reports whether all keys of a range signed the endorsement of the next one.
func (s *keyRange) endorses(next *keyRange) bool {
	text := endorsementText(s.keys[0].name, next.from, next.texts)
	for _, v := range s.keys {
		signed := slices.ContainsFunc(next.endorsements, func(line string) bool {
			name, encoded, _ := strings.Cut(strings.TrimPrefix(line, signatureMark), " ")
			raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
			return err == nil && name == v.name && len(raw) >= 4 && v.verifyEndorsement(text, raw[4:])
		})
		if !signed {
			return false
		}
	}
	return true
}

// verifyEndorsement checks a key's signature under an endorsement's text.
func (v *verifier) verifyEndorsement(text, signature []byte) bool {
	if v.quantum == nil {
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(v.classic, text, signature)
	}
	return len(signature) == mldsa44.SignatureSize && mldsa44.Verify(v.quantum, append(append([]byte{}, keysCosignLabel...), text...), nil, signature)
}
