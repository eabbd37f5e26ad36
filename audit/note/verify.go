package note

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// keysMax bounds the keys of one Verify.
const keysMax = 64

// timestampMax keeps a signed time within what Time can say.
const timestampMax = 1 << 62

// Verify reads a signed checkpoint and checks it against verifier keys, one a
// line (empty lines and lines that begin with # are passed over). Every key that
// is given must have signed, and one of them must bear the log's name: who gives
// both of a log's keys is safe if either algorithm falls, who gives one relies on
// that one. Further signatures, as of witnesses, are passed over.
func Verify(checkpoint []byte, keys string) (Checkpoint, error) {
	if len(checkpoint) > CheckpointSizeMax {
		return Checkpoint{}, fmt.Errorf("checkpoint of %d bytes: %w", len(checkpoint), ErrMalformed)
	}
	verifiers, err := parseKeys(keys)
	if err != nil {
		return Checkpoint{}, err
	}
	list := make([]sumdb.Verifier, len(verifiers))
	for i, v := range verifiers {
		list[i] = v
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
	return c, c.require(verifiers, opened.Sigs)
}

// require holds the verified signatures to the keys that were given and takes the
// time from the cosignature.
func (c *Checkpoint) require(verifiers []*verifier, signatures []sumdb.Signature) error {
	named, classic := false, false
	for _, v := range verifiers {
		line := ""
		for _, s := range signatures {
			if s.Name == v.name && s.Hash == v.id {
				line = s.Base64
			}
		}
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

// verifier checks the lines of one key.
type verifier struct {
	name    string
	id      uint32
	classic ed25519.PublicKey
	quantum *mldsa44.PublicKey
}

func parseKeys(keys string) ([]*verifier, error) {
	var out []*verifier
	for line := range strings.Lines(keys) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v, err := parseKey(line)
		if err != nil {
			return nil, err
		}
		if out = append(out, v); len(out) > keysMax {
			return nil, fmt.Errorf("more than %d keys: %w", keysMax, ErrMalformed)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no verifier key: %w", ErrMalformed)
	}
	return out, nil
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

// Verify implements sumdb/note's Verifier: signature is without the key id.
func (v *verifier) Verify(text, signature []byte) bool {
	if v.quantum == nil {
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(v.classic, text, signature)
	}
	if len(signature) != timestampSize+mldsa44.SignatureSize {
		return false
	}
	c, err := parseText(text)
	timestamp := binary.BigEndian.Uint64(signature)
	if err != nil || timestamp > timestampMax {
		return false
	}
	return mldsa44.Verify(v.quantum, cosigned(v.name, timestamp, &c), nil, signature[timestampSize:])
}
