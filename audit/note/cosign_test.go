package note

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/stretchr/testify/require"
)

func witness(t testing.TB, name string) *Cosigner {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	c, err := NewCosigner(name, seed[:])
	require.NoError(t, err)
	return c
}

// The bytes are those of the standard: the key id covers type 4, the signature line contains
// the time, and the header, the time and the whole text are signed.
func TestCosignatureOfAWitness(t *testing.T) {
	w := witness(t, "witness.example.com/w1")
	c := Checkpoint{Origin: origin, Size: 20852163, Root: root}
	line, quantum, _ := strings.Cut(string(w.Cosign(&c, 1679315147)), "\n")
	name, encoded, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "— "), "\n"), " ")
	require.True(t, ok)
	require.Equal(t, "witness.example.com/w1", name)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	public := w.key.Public().(ed25519.PublicKey)
	id := sha256.Sum256(append([]byte("witness.example.com/w1\n\x04"), public...))
	require.Equal(t, id[:4], raw[:4])
	require.Equal(t, uint64(1679315147), binary.BigEndian.Uint64(raw[4:]))
	text := fmt.Sprintf("cosignature/v1\ntime 1679315147\n%s\n20852163\n%s\n", origin, base64.StdEncoding.EncodeToString(root[:]))
	require.True(t, ed25519.Verify(public, []byte(text), raw[12:]))
	require.Equal(t, fmt.Sprintf("witness.example.com/w1+%x+%s", id[:4], base64.StdEncoding.EncodeToString(append([]byte{4}, public...))), w.VerifierKey())

	// The second line is of type 6: signed are name, time, origin, sizes and root.
	raw, err = base64.StdEncoding.DecodeString(strings.Fields(quantum)[2])
	require.NoError(t, err)
	require.Len(t, raw, 4+8+2420)
	id = sha256.Sum256(append([]byte("witness.example.com/w1\n\x06"), w.public.Bytes()...))
	require.Equal(t, id[:4], raw[:4])
	message := "subtree/v1\n\x00" + "\x16witness.example.com/w1" + "\x00\x00\x00\x00\x64\x18\x50\xcb" + string(rune(len(origin))) + origin +
		"\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x01\x3e\x2d\xc3" + string(root[:])
	require.True(t, mldsa44.Verify(w.public, []byte(message), nil, raw[12:]))
}

// A witness signs under both algorithms, and a reader may demand either or both.
func TestWitnessesSignTwice(t *testing.T) {
	s, w := signer(t), witness(t, "one")
	again, err := ParseCosigner(w.SecretKey())
	require.NoError(t, err)
	require.Equal(t, w.VerifierKeys(), again.VerifierKeys(), "both keys follow from one secret")
	require.NoError(t, CheckCosigners(w.VerifierKeys()))
	signed := s.Sign(9, root, noon)
	c, err := Verify(signed, s.VerifierKeys())
	require.NoError(t, err)
	lines := strings.SplitAfter(string(w.Cosign(&c, 100)), "\n")
	keys := strings.SplitAfter(w.VerifierKeys(), "\n")
	for i := range 2 {
		got, err := Verify(WithLines(signed, lines[i]), s.VerifierKeys()+keys[i])
		require.NoError(t, err)
		require.Equal(t, []string{"one"}, got.Witnesses)
		_, err = Verify(WithLines(signed, lines[1-i]), s.VerifierKeys()+keys[i])
		require.ErrorContains(t, err, "no signature by the witness one+")
		_, err = Verify(WithLines(signed, lines[i]), s.VerifierKeys()+w.VerifierKeys())
		require.ErrorContains(t, err, "no signature by the witness one+")
	}
	got, err := Verify(WithLines(signed, lines[0], lines[1]), s.VerifierKeys()+w.VerifierKeys())
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, got.Witnesses, "one witness, by both keys")
	found, err := Cosignatures(WithLines(signed, lines[0], lines[1]), w.VerifierKeys())
	require.NoError(t, err)
	require.Len(t, found, 2)
}

func TestCosignersSecretKey(t *testing.T) {
	w := witness(t, "w.example.org")
	again, err := ParseCosigner(w.SecretKey() + "\n")
	require.NoError(t, err)
	require.Equal(t, w.VerifierKey(), again.VerifierKey())
	for _, bad := range []string{"", "PRIVATE+KEY+", w.VerifierKey(), w.SecretKey()[:40], strings.Replace(w.SecretKey(), "w.example.org", "v.example.org", 1)} {
		_, err := ParseCosigner(bad)
		require.ErrorIs(t, err, ErrMalformed, bad)
	}
	_, err = NewCosigner("two words", seed)
	require.ErrorIs(t, err, ErrMalformed)
	_, err = NewCosigner("w", seed[1:])
	require.ErrorIs(t, err, ErrMalformed)
}

func TestCosignatures(t *testing.T) {
	s, one, two := signer(t), witness(t, "one"), witness(t, "two")
	signed := s.Sign(9, root, noon)
	c, err := Verify(signed, s.VerifierKeys())
	require.NoError(t, err)
	full := WithLines(signed, string(one.Cosign(&c, 100)), string(two.Cosign(&c, 200)))
	require.Equal(t, full, WithLines(full, string(one.Cosign(&c, 100))), "none stands twice")
	_, err = Verify(full, s.VerifierKeys())
	require.NoError(t, err, "a log's verifier passes over witnesses")
	keys := one.VerifierKey() + "\n" + two.VerifierKey() + "\n"
	found, err := Cosignatures(full, keys)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, [2]any{"two", int64(200)}, [2]any{found[1].Name, found[1].Time})
	found, err = Cosignatures(signed, keys)
	require.NoError(t, err)
	require.Empty(t, found)

	// To require a cosignature, the caller gives the witness's key beside the log's.
	_, err = Verify(full, s.VerifierKeys()+keys)
	require.NoError(t, err)
	_, err = Verify(signed, s.VerifierKeys()+keys)
	require.ErrorIs(t, err, ErrUnverified)
	_, err = Verify(full, keys)
	require.ErrorIs(t, err, ErrMalformed, "witnesses alone are no log")

	// A cosignature of another tree, at another time or by another witness is refused.
	other := c
	other.Root[0] ^= 1
	for name, line := range map[string]string{
		"another root":       string(one.Cosign(&other, 100)),
		"another's name":     strings.Replace(string(two.Cosign(&c, 100)), "— two ", "— one ", 1),
		"a broken signature": "— one " + base64.StdEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, keyID("one", one.publicKey())), make([]byte, 72)...)) + "\n",
	} {
		found, err := Cosignatures(WithLines(signed, line), keys)
		require.NoError(t, err, name)
		require.Empty(t, found, name)
	}
	raw, _ := base64.StdEncoding.DecodeString(strings.Fields(string(one.Cosign(&c, 100)))[2])
	raw[11]++ // This byte is in the time.
	found, err = Cosignatures(WithLines(signed, "— one "+base64.StdEncoding.EncodeToString(raw)+"\n"), keys)
	require.NoError(t, err)
	require.Empty(t, found, "the time is signed")

	for _, bad := range []string{"", "#", "x", one.VerifierKey() + "\n" + one.VerifierKey(), strings.SplitN(s.VerifierKeys(), "\n", 2)[0]} {
		_, err := Cosignatures(full, bad)
		require.ErrorIs(t, err, ErrMalformed, bad)
		require.ErrorIs(t, CheckCosigners(bad), ErrMalformed, bad)
	}
	for _, bad := range []string{"", "x", string(signed[:len(signed)-1]), string(c.signedText()), string(c.signedText()) + "\nx\n"} {
		_, err := Cosignatures([]byte(bad), keys)
		require.ErrorIs(t, err, ErrMalformed, bad)
		_, err = Parse([]byte(bad))
		require.ErrorIs(t, err, ErrMalformed, bad)
	}
	parsed, err := Parse(full)
	require.NoError(t, err)
	require.Equal(t, [3]any{c.Origin, c.Size, c.Root}, [3]any{parsed.Origin, parsed.Size, parsed.Root})
}

func lineOf(t testing.TB, name string, of byte) *Signer {
	t.Helper()
	s, err := NewSigner(name, bytes.Repeat([]byte{of}, SeedSize))
	require.NoError(t, err)
	return s
}

// With any of three generations of keys a verifier finds the newest. A line that the keys
// before do not endorse, or that was altered, is refused.
func TestSuccession(t *testing.T) {
	a, b, c := lineOf(t, origin, 1), lineOf(t, origin, 2), lineOf(t, origin, 3)
	thief := lineOf(t, origin, 9)
	listed := SizesLine(20, 1<<64-1) + c.VerifierKeys() + b.Endorse(c, 20) + SizesLine(10, 19) + b.VerifierKeys() + a.Endorse(b, 10) + SizesLine(0, 9) + a.VerifierKeys()
	trusted, steps, err := Succession(a.VerifierKeys(), listed)
	require.NoError(t, err)
	require.Equal(t, []Rotation{{10, b.VerifierKeys()}, {20, c.VerifierKeys()}}, steps)
	require.NoError(t, CheckKeys(trusted))
	for _, good := range [][]byte{a.Sign(9, root, 0), b.Sign(10, root, 0), c.Sign(20, root, 0)} {
		_, err := Verify(good, trusted)
		require.NoError(t, err)
	}
	for _, bad := range [][]byte{a.Sign(10, root, 0), b.Sign(20, root, 0), c.Sign(19, root, 0)} {
		_, err := Verify(bad, trusted)
		require.ErrorIs(t, err, ErrUnverified, "nobody signs outside his sizes")
	}
	again, steps, err := Succession(trusted, listed)
	require.NoError(t, err)
	require.Empty(t, steps)
	require.Equal(t, trusted, again)
	_, steps, err = Succession(SizesLine(10, 1<<64-1)+b.VerifierKeys(), listed)
	require.NoError(t, err)
	require.Len(t, steps, 1)

	for name, wrong := range map[string]string{
		"no endorsement":         strings.ReplaceAll(listed, a.Endorse(b, 10), ""),
		"half an endorsement":    strings.ReplaceAll(listed, a.Endorse(b, 10), strings.SplitAfter(a.Endorse(b, 10), "\n")[0]),
		"of another size":        strings.ReplaceAll(listed, a.Endorse(b, 10), a.Endorse(b, 11)),
		"of other keys":          strings.ReplaceAll(listed, a.Endorse(b, 10), a.Endorse(thief, 10)),
		"by a thief":             strings.ReplaceAll(listed, a.Endorse(b, 10), thief.Endorse(b, 10)),
		"a thief's keys":         strings.ReplaceAll(listed, b.VerifierKeys(), thief.VerifierKeys()),
		"the trusted ones gone":  strings.ReplaceAll(listed, SizesLine(0, 9)+a.VerifierKeys(), ""),
		"a later line by nobody": strings.ReplaceAll(listed, b.Endorse(c, 20), ""),
	} {
		_, _, err := Succession(a.VerifierKeys(), wrong)
		require.ErrorIs(t, err, ErrUnverified, name)
	}
	_, _, err = Succession("", listed)
	require.ErrorIs(t, err, ErrMalformed)
	_, _, err = Succession(a.VerifierKeys(), "")
	require.ErrorIs(t, err, ErrMalformed)
	recovered := lineOf(t, origin+"/0123456789abcdef", 4)
	_, steps, err = Succession(a.VerifierKeys(), SizesLine(30, 1<<64-1)+recovered.VerifierKeys()+listed)
	require.NoError(t, err)
	require.Len(t, steps, 2, "another name is nobody's successor")
}

// A witness's key in a document of verifier keys demands its cosignature of every checkpoint,
// wherever the key stands, before and after the log's keys rotate.
func TestDemandedWitnessHoldsAcrossRotations(t *testing.T) {
	a, b, one := lineOf(t, origin, 1), lineOf(t, origin, 2), witness(t, "one")
	quantum := strings.SplitAfter(lineOf(t, "two", 7).VerifierKeys(), "\n")[1] // A witness's key of ML-DSA-44.
	listed := SizesLine(10, 1<<64-1) + b.VerifierKeys() + a.Endorse(b, 10) + SizesLine(0, 9) + a.VerifierKeys()
	key := one.VerifierKey() + "\n"
	led, steps, err := Succession(a.VerifierKeys()+key, listed)
	require.NoError(t, err, "the trusted keys and a witness lead to the new keys")
	require.Len(t, steps, 1)
	for name, keys := range map[string]string{
		"behind all":          listed + key,
		"before all":          key + listed,
		"among the new keys":  strings.Replace(listed, SizesLine(0, 9), key+SizesLine(0, 9), 1),
		"in each range":       strings.Replace(listed, SizesLine(0, 9), key+SizesLine(0, 9), 1) + key,
		"led to":              led,
		"led to once more":    mustFollow(t, led, listed),
		"matched with a file": mustMatch(t, b.VerifierKeys(), a.VerifierKeys()+key, listed),
	} {
		require.Equal(t, []string{"one"}, Witnesses(keys), name)
		require.Equal(t, origin, NewestOrigin(keys), name)
		for size, log := range map[uint64]*Signer{9: a, 10: b} {
			alone := log.Sign(size, root, noon)
			_, err := Verify(alone, keys)
			require.ErrorContains(t, err, "no signature by the witness one+", "%s, %d leaves", name, size)
			c, err := Parse(alone)
			require.NoError(t, err)
			c, err = Verify(WithLines(alone, string(one.Cosign(&c, 100))), keys)
			require.NoError(t, err, "%s, %d leaves", name, size)
			require.Equal(t, []string{"one"}, c.Witnesses, name)
		}
		_, err = Verify(b.Sign(10, root, noon), keys+quantum)
		require.ErrorContains(t, err, "no signature by the witness", name)
		require.Equal(t, []string{"one", "two"}, Witnesses(keys+quantum), name)
	}
}

func mustFollow(t *testing.T, known, listed string) string {
	keys, _, err := Succession(known, listed)
	require.NoError(t, err)
	return keys
}

func mustMatch(t *testing.T, inside, given, rotations string) string {
	keys, steps, err := MatchKeys(inside, given, rotations)
	require.NoError(t, err)
	require.Equal(t, 1, steps)
	return keys
}

func FuzzSuccession(f *testing.F) {
	a, b := lineOf(f, origin, 1), lineOf(f, origin, 2)
	f.Add(SizesLine(10, 1<<64-1) + b.VerifierKeys() + a.Endorse(b, 10) + SizesLine(0, 9) + a.VerifierKeys())
	f.Fuzz(func(t *testing.T, listed string) {
		_, steps, err := Succession(a.VerifierKeys(), listed)
		for _, step := range steps {
			if err == nil && (step.From != 10 || step.Keys != b.VerifierKeys()) {
				t.Fatalf("followed to %+v", step)
			}
		}
	})
}
