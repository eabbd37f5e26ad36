package note

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// typeCosignature is the key type of C2SP cosignature/v1 under Ed25519.
const typeCosignature = 0x04

// cosignersMax bounds the cosignatures that are read from one checkpoint.
const cosignersMax = 32

const secretMark = "PRIVATE+KEY+"

// Cosigner is a witness. It signs checkpoints of logs after it has verified that they continue
// the earlier ones (C2SP tlog-cosignature), under Ed25519, which every verifier reads, and under
// ML-DSA-44. It is safe for concurrent use.
type Cosigner struct {
	name    string
	key     ed25519.PrivateKey
	quantum *mldsa44.PrivateKey
	public  *mldsa44.PublicKey
}

// NewCosigner makes a witness from a name and a secret seed of SeedSize bytes. The signature
// does not contain the name: never use one seed under two names.
func NewCosigner(name string, seed []byte) (*Cosigner, error) {
	if !validName(name) {
		return nil, fmt.Errorf("name %q of a witness: %w", name, ErrMalformed)
	}
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("seed of %d bytes: %w", len(seed), ErrMalformed)
	}
	derived, err := hkdf.Key(sha256.New, seed, nil, "railguard witness ml-dsa-44 v1\n"+name, mldsa44.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	c := &Cosigner{name: name, key: ed25519.NewKeyFromSeed(seed)}
	c.public, c.quantum = mldsa44.NewKeyFromSeed((*[mldsa44.SeedSize]byte)(derived))
	return c, nil
}

// ParseCosigner reads what SecretKey returns.
func ParseCosigner(text string) (*Cosigner, error) {
	malformed := fmt.Errorf("secret key of a witness: %w", ErrMalformed)
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), secretMark)
	name, rest, _ := strings.Cut(rest, "+")
	id, encoded, _ := strings.Cut(rest, "+")
	secret, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(secret) != 1+ed25519.SeedSize || secret[0] != typeCosignature {
		return nil, malformed
	}
	c, err := NewCosigner(name, secret[1:])
	if err != nil || fmt.Sprintf("%08x", keyID(name, c.publicKey())) != id {
		return nil, malformed
	}
	return c, nil
}

func (c *Cosigner) publicKey() []byte {
	return append([]byte{typeCosignature}, c.key.Public().(ed25519.PublicKey)...)
}

// Name is the witness's name.
func (c *Cosigner) Name() string { return c.name }

// VerifierKey returns the Ed25519 public key, one line without its end.
func (c *Cosigner) VerifierKey() string { return verifierKey(c.name, c.publicKey()) }

// VerifierKeys returns both public keys, one a line.
func (c *Cosigner) VerifierKeys() string {
	return c.VerifierKey() + "\n" + verifierKey(c.name, c.quantumKey()) + "\n"
}

func (c *Cosigner) quantumKey() []byte { return append([]byte{typeMLDSA44}, c.public.Bytes()...) }

// SecretKey returns the secret key, one line without its end. The key of ML-DSA-44 follows from it.
func (c *Cosigner) SecretKey() string {
	secret := append([]byte{typeCosignature}, c.key.Seed()...)
	return fmt.Sprintf("%s%s+%08x+%s", secretMark, c.name, keyID(c.name, c.publicKey()), base64.StdEncoding.EncodeToString(secret))
}

// Cosign returns the two signature lines of a witness for a checkpoint, under Ed25519 and under
// ML-DSA-44. seconds count from 1970. The caller must have verified the checkpoint and that it
// continues the one before. The line under ML-DSA-44 does not cover extension lines.
func (c *Cosigner) Cosign(checkpoint *Checkpoint, seconds int64) []byte {
	timestamp := uint64(max(0, seconds))
	text := string(checkpoint.signedText())
	message, err := sumdb.Sign(&sumdb.Note{Text: text}, &lineSigner{c.name, keyID(c.name, c.publicKey()), func([]byte) ([]byte, error) {
		line := binary.BigEndian.AppendUint64(nil, timestamp)
		return append(line, ed25519.Sign(c.key, timedMessage(timestamp, []byte(text)))...), nil
	}}, &lineSigner{c.name, keyID(c.name, c.quantumKey()), func([]byte) ([]byte, error) {
		line := make([]byte, timestampSize+mldsa44.SignatureSize)
		binary.BigEndian.PutUint64(line, timestamp)
		return line, mldsa44.SignTo(c.quantum, cosignedMessage(c.name, timestamp, checkpoint), nil, false, line[timestampSize:])
	}})
	if err != nil {
		panic("BUG: cosignature of a checked name: " + err.Error())
	}
	return message[len(text)+1:]
}

// timedMessage returns what an Ed25519 cosigner signs: the time and the whole text.
func timedMessage(timestamp uint64, text []byte) []byte {
	b := strconv.AppendUint([]byte("cosignature/v1\ntime "), timestamp, 10)
	return append(append(b, '\n'), text...)
}

// Cosignature is a verified signature of a witness.
type Cosignature struct {
	Name string
	Key  string // The verifier key by which it was verified.
	Time int64  // Seconds since 1970.
	Line string // The whole line of the note, with its end.
}

// CheckCosigners checks the verifier keys of witnesses, one a line. It returns an error if
// there are none or more than 32, or if one is not a cosigner's key or is repeated.
func CheckCosigners(keys string) error {
	_, err := parseCosigners(keys)
	return err
}

type cosigner struct {
	*verifier
	key string
}

func parseCosigners(keys string) ([]cosigner, error) {
	var all []cosigner
	known := map[string]bool{}
	for line := range strings.Lines(keys) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		v, err := parseKey(line)
		if err != nil {
			return nil, err
		}
		if !v.timed && v.quantum == nil {
			return nil, fmt.Errorf("%s is a log's key, not a witness's: %w", v.name, ErrMalformed)
		}
		if known[line] || len(all) == cosignersMax {
			return nil, fmt.Errorf("a witness's key twice, or more than %d: %w", cosignersMax, ErrMalformed)
		}
		known[line] = true
		all = append(all, cosigner{v, line})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no witness's key: %w", ErrMalformed)
	}
	return all, nil
}

// Cosignatures returns the valid cosignatures of the given witnesses in a checkpoint, in the
// order of keys. It ignores all other lines. It does not check which log the checkpoint is of,
// or whether the log signed it: Verify does.
func Cosignatures(signed []byte, keys string) ([]Cosignature, error) {
	witnesses, err := parseCosigners(keys)
	if err != nil {
		return nil, err
	}
	text, lines, err := splitNote(signed)
	if err != nil {
		return nil, err
	}
	if _, err := parseText(text); err != nil {
		return nil, err
	}
	var found []Cosignature
	for _, w := range witnesses {
		for _, line := range lines {
			name, raw, ok := readLine(line)
			if !ok || name != w.name || binary.BigEndian.Uint32(raw) != w.id || !w.Verify(text, raw[4:]) {
				continue
			}
			found = append(found, Cosignature{Name: name, Key: w.key, Time: int64(binary.BigEndian.Uint64(raw[4:])), Line: line})
			break
		}
	}
	return found, nil
}

// signatureMark begins a signature line: an em dash and a space.
const signatureMark = "— "

// splitNote splits a signed note into its text and its signature lines. It verifies nothing.
func splitNote(signed []byte) (text []byte, lines []string, err error) {
	if len(signed) > CheckpointSizeMax {
		return nil, nil, fmt.Errorf("note of %d bytes: %w", len(signed), ErrMalformed)
	}
	head, tail, ok := strings.Cut(string(signed), "\n\n")
	if !ok || !strings.HasSuffix(tail, "\n") {
		return nil, nil, fmt.Errorf("note without signatures: %w", ErrMalformed)
	}
	for line := range strings.Lines(tail) {
		if !strings.HasPrefix(line, signatureMark) || len(lines) == 4*cosignersMax {
			return nil, nil, fmt.Errorf("signature lines: %w", ErrMalformed)
		}
		lines = append(lines, line)
	}
	return []byte(head + "\n"), lines, nil
}

// readLine splits a signature line into the name and raw: the key's id and the signature.
func readLine(line string) (name string, raw []byte, ok bool) {
	name, encoded, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, signatureMark), "\n"), " ")
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return name, raw, err == nil && len(raw) > 4 && base64.StdEncoding.EncodeToString(raw) == encoded
}

// Parse reads a signed checkpoint without verifying a signature, so that the caller can choose
// the keys. The result must not be trusted.
func Parse(signed []byte) (Checkpoint, error) {
	text, _, err := splitNote(signed)
	if err != nil {
		return Checkpoint{}, err
	}
	return parseText(text)
}

// WithLines adds signature lines to a signed checkpoint, except those that it already has.
func WithLines(signed []byte, lines ...string) []byte {
	out := append([]byte(nil), signed...)
	for _, line := range lines {
		if !strings.Contains(string(out), "\n"+line) {
			out = append(out, line...)
		}
	}
	return out
}

// verifyTimed checks the cosignature of a witness under text.
func (v *verifier) verifyTimed(text, signature []byte) bool {
	if len(signature) != timestampSize+ed25519.SignatureSize {
		return false
	}
	timestamp := binary.BigEndian.Uint64(signature)
	return timestamp <= timestampMax && ed25519.Verify(v.classic, timedMessage(timestamp, text), signature[timestampSize:])
}

// verifyQuantum checks an ML-DSA-44 cosignature of the log itself or of a witness.
func (v *verifier) verifyQuantum(text, signature []byte) bool {
	if len(signature) != timestampSize+mldsa44.SignatureSize {
		return false
	}
	c, err := parseText(text)
	timestamp := binary.BigEndian.Uint64(signature)
	if err != nil || timestamp > timestampMax {
		return false
	}
	return mldsa44.Verify(v.quantum, cosignedMessage(v.name, timestamp, &c), nil, signature[timestampSize:])
}
