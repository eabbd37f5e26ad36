package note

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// keysMax bounds the keys given to one call of Verify.
const keysMax = 256

// timestampMax keeps a signed time within the range of Time.
const timestampMax = 1 << 62

// Verify reads a signed checkpoint and checks it with verifier keys, one a line. It ignores
// empty lines and lines that begin with #. Every given key must have signed, and one of them
// must have the log's name. With both keys of a log the result is safe even if one of the two
// algorithms is broken. It ignores other signatures.
//
// If a log changed its name or its keys, the document lists all of them in ranges. Each range
// begins with a line that says which tree sizes its keys sign (SizesLine). The checkpoint must
// be signed by the keys of one range, and its size must be in that range.
//
// A witness's key belongs to no range: wherever it stands, its cosignature is required of every
// checkpoint, so that a rotation of the log's keys never ends the demand. Lines of a policy
// (ParsePolicy) demand a quorum of its witnesses in the same way.
func Verify(checkpoint []byte, keys string) (Checkpoint, error) {
	if len(checkpoint) > CheckpointSizeMax {
		return Checkpoint{}, fmt.Errorf("checkpoint of %d bytes: %w", len(checkpoint), ErrMalformed)
	}
	known, err := parseKeys(keys)
	if err != nil {
		return Checkpoint{}, err
	}
	origin, _, _ := strings.Cut(string(checkpoint), "\n")
	told := 0 // Rank of the error to return. It is the error of the range that came closest to verifying.
	for _, s := range known.ranges {
		c, why := s.verifyCheckpoint(checkpoint, known)
		near := 1
		switch {
		case why == nil:
			return c, nil
		case errors.Is(why, errWitness):
			near = 4
		case errors.Is(why, errSizes):
			near = 3
		case s.isOfOrigin(origin):
			near = 2
		}
		if near > told {
			told, err = near, why
		}
	}
	return Checkpoint{}, err
}

// HasKeysOf reports whether one of the verifier keys belongs to a log of that name.
func HasKeysOf(keys, origin string) bool {
	known, err := parseKeys(keys)
	return err == nil && slices.ContainsFunc(known.ranges, func(s *keyRange) bool { return s.isOfOrigin(origin) })
}

// NewestOrigin returns the name of the log that the newest range of a document of verifier keys
// is of; "" if it is no such document.
func NewestOrigin(keys string) string {
	known, err := parseKeys(keys)
	if err != nil {
		return ""
	}
	return slices.MaxFunc(known.ranges, func(a, b *keyRange) int { return cmp.Compare(a.from, b.from) }).keys[0].name
}

// IsReplaced reports whether the keys that sign trees of a checkpoint's size were replaced by
// others of the same log, which sign the larger ones.
func IsReplaced(keys string, c *Checkpoint) bool {
	known, err := parseKeys(keys)
	if err != nil {
		return false
	}
	for _, s := range known.ranges {
		if s.isOfOrigin(c.Origin) && s.from > c.Size {
			return true
		}
	}
	return false
}

// Witnesses returns the names of the witnesses whose cosignatures a document of verifier keys
// demands, or may be satisfied by.
func Witnesses(keys string) (names []string) {
	known, err := parseKeys(keys)
	if err != nil {
		return nil
	}
	for _, w := range known.witnesses {
		if !slices.Contains(names, w.name) {
			names = append(names, w.name)
		}
	}
	if known.policy != nil && known.policy.Demands() {
		for _, w := range known.policy.Witnesses() {
			if !slices.Contains(names, w.Name) {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

var (
	// errSizes: the keys signed, but not for trees of that size.
	errSizes = fmt.Errorf("these keys do not vouch for a tree of that size: %w", ErrUnverified)
	// errWitness: the log signed, and a witness whose key was given did not, or too few of a policy did.
	errWitness = fmt.Errorf("a witness that is demanded did not sign: %w", ErrUnverified)
)

// knownKeys is a document of verifier keys.
type knownKeys struct {
	ranges    []*keyRange
	witnesses []cosigner
	policy    *Policy // Nil: the document has none.
}

// keyRange holds the keys of a log that together sign some sizes of its tree.
type keyRange struct {
	from, to     uint64 // First and last size, both included.
	keys         []*verifier
	texts        []string // The lines of the keys.
	endorsements []string // Signature lines by the keys of the range before.
}

// newestRange returns a range of all sizes, without keys.
func newestRange() *keyRange { return &keyRange{to: math.MaxUint64} }

const sizesMark = "#: "

// SizesLine returns the line that says which tree sizes are signed by the keys below it, up to
// the next such line. from and to are included. For the newest keys to is math.MaxUint64.
func SizesLine(from, to uint64) string {
	if to == math.MaxUint64 {
		return fmt.Sprintf("%ssizes %d up\n", sizesMark, from)
	}
	return fmt.Sprintf("%ssizes %d to %d\n", sizesMark, from, to)
}

func parseSizes(line string) (keyRange, error) {
	s := keyRange{to: math.MaxUint64}
	words := strings.Fields(line)
	malformed := fmt.Errorf("sizes of verifier keys: %w", ErrMalformed)
	if len(words) < 4 {
		return s, malformed
	}
	var errs [2]error
	s.from, errs[0] = strconv.ParseUint(words[2], 10, 63)
	if len(words) == 5 {
		s.to, errs[1] = strconv.ParseUint(words[4], 10, 63)
	}
	if errs[0] != nil || errs[1] != nil || SizesLine(s.from, s.to) != line+"\n" {
		return s, malformed
	}
	return s, nil
}

func (s *keyRange) isOfOrigin(origin string) bool {
	for _, v := range s.keys {
		if v.name == origin {
			return true
		}
	}
	return false
}

// checkSize returns an error if a size is outside of the range.
func (s *keyRange) checkSize(size uint64) error {
	if size < s.from || size > s.to {
		return fmt.Errorf("%d leaves: %w", size, errSizes)
	}
	return nil
}

func (s *keyRange) verifyCheckpoint(checkpoint []byte, known *knownKeys) (Checkpoint, error) {
	var list []sumdb.Verifier
	for _, v := range s.keys {
		list = append(list, v)
	}
	for _, w := range known.allWitnesses() {
		list = append(list, w)
	}
	opened, err := sumdb.Open(checkpoint, sumdb.VerifierList(list...))
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrUnverified, err)
	}
	if err := checkLines(checkpoint, opened); err != nil {
		return Checkpoint{}, err
	}
	c, err := parseText([]byte(opened.Text))
	if err != nil {
		return Checkpoint{}, err
	}
	if err := c.checkSignatures(s.keys, opened.Sigs); err != nil {
		return c, err
	}
	if err := s.checkSize(c.Size); err != nil {
		return c, err
	}
	for _, w := range known.witnesses {
		if signedLine(opened.Sigs, w.verifier) == "" {
			return c, fmt.Errorf("no signature by the witness %s+%08x: %w", w.name, w.id, errWitness)
		}
		if !slices.Contains(c.Witnesses, w.name) {
			c.Witnesses = append(c.Witnesses, w.name)
		}
	}
	if known.policy != nil {
		return c, known.policy.demandPolicy(&c, opened.Sigs)
	}
	return c, nil
}

// allWitnesses returns the witnesses of a document and those of its policy, each key once.
func (k *knownKeys) allWitnesses() []cosigner {
	all := slices.Clone(k.witnesses)
	if k.policy == nil {
		return all
	}
	for _, e := range k.policy.entries {
		if e.witness != nil && !slices.ContainsFunc(all, func(w cosigner) bool { return w.key == e.witness.key }) {
			all = append(all, *e.witness)
		}
	}
	return all
}

// signedLine returns the verified signature of a key, in base64; "" if there is none.
func signedLine(signatures []sumdb.Signature, v *verifier) string {
	for _, s := range signatures {
		if s.Name == v.name && s.Hash == v.id {
			return s.Base64
		}
	}
	return ""
}

// checkSignatures checks that every key of a log made one of the verified signatures. It takes
// the checkpoint's time from the cosignature.
func (c *Checkpoint) checkSignatures(verifiers []*verifier, signatures []sumdb.Signature) error {
	named, classic := false, false
	for _, v := range verifiers {
		line := signedLine(signatures, v)
		if line == "" {
			return fmt.Errorf("no signature by %s+%08x: %w", v.name, v.id, ErrUnverified)
		}
		own := v.name == c.Origin
		named = named || own
		if v.quantum == nil {
			classic = true
			continue
		}
		if c.Time == 0 || own {
			raw, err := base64.StdEncoding.DecodeString(line)
			if err != nil {
				return fmt.Errorf("signature of %s: %w", v.name, ErrMalformed)
			}
			c.Time = int64(binary.BigEndian.Uint64(raw[4:]))
		}
	}
	if !named {
		return fmt.Errorf("no key of the log %q: %w", c.Origin, ErrUnverified)
	}
	if len(c.Extensions) > 0 && !classic {
		return fmt.Errorf("extension lines without a key that covers them: %w", ErrUnverified)
	}
	return nil
}

// verifier checks the signature lines of one key.
type verifier struct {
	name    string
	id      uint32
	classic ed25519.PublicKey
	quantum *mldsa44.PublicKey
	timed   bool // A witness's Ed25519 key, which signs the time, too.
}

// parseKeys reads a document of verifier keys. A key is a witness's if its type says so, or if it
// is of ML-DSA-44 under a name that no Ed25519 key of a log has. Lines of a policy stand anywhere.
func parseKeys(document string) (*knownKeys, error) {
	keys, policy, err := splitPolicy(document)
	if err != nil {
		return nil, err
	}
	ranges, err := parseRanges(keys)
	if err != nil {
		return nil, err
	}
	var logs []string // Names of logs.
	for _, s := range ranges {
		for _, v := range s.keys {
			if v.quantum == nil && !v.timed {
				logs = append(logs, v.name)
			}
		}
	}
	known := &knownKeys{}
	for _, s := range ranges {
		own := &keyRange{from: s.from, to: s.to, endorsements: s.endorsements}
		for i, v := range s.keys {
			witness := v.timed || v.quantum != nil && len(logs) > 0 && !slices.Contains(logs, v.name)
			switch {
			case !witness:
				own.keys, own.texts = append(own.keys, v), append(own.texts, s.texts[i])
			case !slices.ContainsFunc(known.witnesses, func(w cosigner) bool { return w.key == s.texts[i] }):
				known.witnesses = append(known.witnesses, cosigner{v, s.texts[i]})
			}
		}
		if len(own.keys) > 0 {
			known.ranges = append(known.ranges, own)
		}
	}
	if policy != nil {
		if err := known.addPolicy(policy); err != nil {
			return nil, err
		}
	}
	if len(known.ranges) == 0 {
		return nil, fmt.Errorf("no verifier key of a log: %w", ErrMalformed)
	}
	return known, nil
}

// parseRanges reads the keys of a document as they stand, witnesses' keys among those of the log.
func parseRanges(keys string) ([]*keyRange, error) {
	all := []*keyRange{newestRange()}
	count := 0
	for line := range strings.Lines(keys) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, strings.TrimSpace(sizesMark)) {
			s, err := parseSizes(line)
			if err != nil {
				return nil, err
			}
			all = append(all, &s)
			continue
		}
		last := all[len(all)-1]
		if signature, ok := strings.CutPrefix(line, endorsedMark); ok {
			if last.endorsements = append(last.endorsements, signature); len(last.endorsements) > keysMax {
				return nil, fmt.Errorf("more than %d endorsements: %w", keysMax, ErrMalformed)
			}
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v, err := parseKey(line)
		if err != nil {
			return nil, err
		}
		if count++; count > keysMax {
			return nil, fmt.Errorf("more than %d keys: %w", keysMax, ErrMalformed)
		}
		last.keys, last.texts = append(last.keys, v), append(last.texts, line)
	}
	return slices.DeleteFunc(all, func(s *keyRange) bool { return len(s.keys) == 0 }), nil
}

func parseKey(line string) (*verifier, error) {
	malformed := fmt.Errorf("verifier key: %w", ErrMalformed)
	name, rest, _ := strings.Cut(line, "+")
	hex, encoded, _ := strings.Cut(rest, "+")
	id, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 8 || !validName(name) {
		return nil, malformed
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) == 0 || keyID(name, key) != uint32(id) {
		return nil, malformed
	}
	v := &verifier{name: name, id: uint32(id)}
	switch {
	case key[0] == typeCosignature && len(key) == 1+ed25519.PublicKeySize:
		v.classic, v.timed = key[1:], true
	case key[0] == typeEd25519 && len(key) == 1+ed25519.PublicKeySize:
		v.classic = key[1:]
	case key[0] == typeMLDSA44 && len(key) == 1+mldsa44.PublicKeySize:
		v.quantum = new(mldsa44.PublicKey)
		if err := v.quantum.UnmarshalBinary(key[1:]); err != nil {
			return nil, malformed
		}
	default:
		return nil, fmt.Errorf("key of an unknown type: %w", malformed)
	}
	return v, nil
}

func (v *verifier) Name() string    { return v.name }
func (v *verifier) KeyHash() uint32 { return v.id }

// Verify implements sumdb/note's Verifier: signature does not contain the key id.
func (v *verifier) Verify(text, signature []byte) bool {
	switch {
	case v.timed:
		return v.verifyTimed(text, signature)
	case v.quantum != nil:
		return v.verifyQuantum(text, signature)
	}
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(v.classic, text, signature)
}
