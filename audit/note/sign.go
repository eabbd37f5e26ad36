package note

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// SeedSize is the size of a signer's seed in bytes.
const SeedSize = 32

const (
	typeEd25519 = 0x01
	typeMLDSA44 = 0x06

	timestampSize = 8
	nanoseconds   = 1_000_000_000
)

var cosignLabel = []byte("subtree/v1\n\x00")

// Signer signs checkpoints of one log. It is safe for concurrent use.
type Signer struct {
	origin  string
	classic ed25519.PrivateKey
	quantum *mldsa44.PrivateKey
	public  *mldsa44.PublicKey
}

// NewSigner derives both keys of a log from a secret seed of SeedSize bytes.
func NewSigner(origin string, seed []byte) (*Signer, error) {
	if !validName(origin) {
		return nil, fmt.Errorf("origin %q: %w", origin, ErrMalformed)
	}
	if len(seed) != SeedSize {
		return nil, fmt.Errorf("seed of %d bytes, want %d: %w", len(seed), SeedSize, ErrMalformed)
	}
	classic, err := hkdf.Key(sha256.New, seed, nil, "railguard checkpoint ed25519 v1\n"+origin, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	quantum, err := hkdf.Key(sha256.New, seed, nil, "railguard checkpoint ml-dsa-44 v1\n"+origin, mldsa44.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	s := &Signer{origin: origin, classic: ed25519.NewKeyFromSeed(classic)}
	s.public, s.quantum = mldsa44.NewKeyFromSeed((*[mldsa44.SeedSize]byte)(quantum))
	return s, nil
}

// Sign returns the signed checkpoint of a tree of size leaves (below 2^63) with a root. time
// is log time in nanoseconds since 1970; the signature contains whole seconds. Equal arguments
// give equal bytes. The Ed25519 signature covers the extension lines, and the ML-DSA-44 one does
// not (C2SP tlog-cosignature).
func (s *Signer) Sign(size uint64, root Hash, time int64, extensions ...string) []byte {
	c := Checkpoint{Origin: s.origin, Size: size, Root: root, Extensions: extensions}
	timestamp := uint64(max(0, time) / nanoseconds)
	message, err := sumdb.Sign(&sumdb.Note{Text: string(c.signedText())},
		&lineSigner{s.origin, keyID(s.origin, s.classicKey()), func(text []byte) ([]byte, error) {
			return ed25519.Sign(s.classic, text), nil
		}},
		&lineSigner{s.origin, keyID(s.origin, s.quantumKey()), func([]byte) ([]byte, error) {
			return s.cosignCheckpoint(&c, timestamp)
		}})
	if err != nil {
		panic("BUG: checkpoint of a checked origin: " + err.Error())
	}
	return message
}

func (s *Signer) cosignCheckpoint(c *Checkpoint, timestamp uint64) ([]byte, error) {
	line := make([]byte, timestampSize+mldsa44.SignatureSize)
	binary.BigEndian.PutUint64(line, timestamp)
	message := cosignedMessage(s.origin, timestamp, c)
	return line, mldsa44.SignTo(s.quantum, message, nil, false, line[timestampSize:])
}

// cosignedMessage returns what an ML-DSA-44 cosigner signs.
func cosignedMessage(name string, timestamp uint64, c *Checkpoint) []byte {
	b := append([]byte{}, cosignLabel...)
	b = append(append(b, byte(len(name))), name...)
	b = binary.BigEndian.AppendUint64(b, timestamp)
	b = append(append(b, byte(len(c.Origin))), c.Origin...)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint64(b, c.Size)
	return append(b, c.Root[:]...)
}

func (s *Signer) classicKey() []byte {
	return append([]byte{typeEd25519}, s.classic.Public().(ed25519.PublicKey)...)
}

func (s *Signer) quantumKey() []byte {
	return append([]byte{typeMLDSA44}, s.public.Bytes()...)
}

// VerifierKeys returns the public keys, one a line, in the form that Verify takes.
func (s *Signer) VerifierKeys() string {
	return verifierKey(s.origin, s.classicKey()) + "\n" + verifierKey(s.origin, s.quantumKey()) + "\n"
}

func verifierKey(name string, key []byte) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyID(name, key), base64.StdEncoding.EncodeToString(key))
}

// keyID returns the key id of a signed note. key begins with its type.
func keyID(name string, key []byte) uint32 {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{'\n'})
	h.Write(key)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

type lineSigner struct {
	name string
	id   uint32
	sign func(text []byte) ([]byte, error)
}

func (l *lineSigner) Name() string                     { return l.name }
func (l *lineSigner) KeyHash() uint32                  { return l.id }
func (l *lineSigner) Sign(text []byte) ([]byte, error) { return l.sign(text) }
