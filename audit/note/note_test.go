package note

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/stretchr/testify/require"
	sumdb "golang.org/x/mod/sumdb/note"
)

var update = flag.Bool("update", false, "write golden files that do not exist yet")

const (
	origin = "log.example.com/railguard"
	noon   = int64(1_772_366_400_123_456_789)
)

var (
	seed = bytes.Repeat([]byte{7}, SeedSize)
	root = sha256.Sum256([]byte("root"))
)

func signer(t testing.TB) *Signer {
	t.Helper()
	s, err := NewSigner(origin, seed)
	require.NoError(t, err)
	return s
}

func TestSignAndVerify(t *testing.T) {
	s := signer(t)
	keys := s.VerifierKeys()
	for name, size := range map[string]uint64{"empty": 0, "one": 1, "largest": 1<<63 - 1} {
		t.Run(name, func(t *testing.T) {
			c, err := Verify(s.Sign(size, root, noon), keys)
			require.NoError(t, err)
			require.Equal(t, Checkpoint{Origin: origin, Size: size, Root: root, Time: noon / nanoseconds}, c)
		})
	}
	c, err := Verify(s.Sign(5, root, 0), keys)
	require.NoError(t, err)
	require.Zero(t, c.Time)
}

func TestEveryNodeSignsTheSameBytes(t *testing.T) {
	a, b := signer(t), signer(t)
	require.Equal(t, a.VerifierKeys(), b.VerifierKeys())
	require.Equal(t, a.Sign(9, root, noon), b.Sign(9, root, noon))
	require.Equal(t, a.Sign(9, root, noon), a.Sign(9, root, noon+1), "within one second")
	require.NotEqual(t, a.Sign(9, root, noon), a.Sign(9, root, noon+nanoseconds))

	other, err := NewSigner(origin+"2", seed)
	require.NoError(t, err)
	require.NotContains(t, other.VerifierKeys(), strings.SplitN(a.VerifierKeys(), "+", 3)[2][:40], "each log has keys of its own")
}

// The golden file never changes: every later version must read it and sign the same bytes.
func TestGoldenCheckpoint(t *testing.T) {
	s := signer(t)
	for name, content := range map[string][]byte{
		"testdata/checkpoint-v1.txt": s.Sign(123456789, root, noon),
		"testdata/keys-v1.txt":       []byte(s.VerifierKeys()),
	} {
		if _, err := os.Stat(name); *update && os.IsNotExist(err) {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(name, content, 0o644))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(content))
	}
}

// The classical line makes an ordinary signed note, which the library can read alone.
func TestClassicalLineIsAnOrdinaryNote(t *testing.T) {
	s := signer(t)
	first, _, _ := strings.Cut(s.VerifierKeys(), "\n")
	v, err := sumdb.NewVerifier(first)
	require.NoError(t, err)
	n, err := sumdb.Open(s.Sign(77, root, noon), sumdb.VerifierList(v))
	require.NoError(t, err)
	require.Equal(t, origin+"\n77\n"+base64.StdEncoding.EncodeToString(root[:])+"\n", n.Text)
	require.Len(t, n.Sigs, 1)
	require.Len(t, n.UnverifiedSigs, 1, "the cosignature is passed over by tools that do not know it")
}

// The test decodes the cosignature by hand.
func TestCosignatureBytes(t *testing.T) {
	s := signer(t)
	lines := strings.Split(strings.TrimSpace(string(s.Sign(258, root, noon))), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[5], "— "+origin+" "))
	require.NoError(t, err)
	require.Len(t, raw, 4+8+2420)
	require.Equal(t, []byte{0, 0, 0, 0, 0x69, 0xa4, 0x2a, 0x40}, raw[4:12], "seconds, big-endian")

	public := s.public.Bytes()
	id := sha256.Sum256(append([]byte(origin+"\n\x06"), public...))
	require.Equal(t, id[:4], raw[:4])

	message := []byte("subtree/v1\n\x00" + "\x19" + origin + "\x00\x00\x00\x00\x69\xa4\x2a\x40" + "\x19" + origin +
		"\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x01\x02" + string(root[:]))
	require.True(t, mldsa44.Verify(s.public, message, nil, raw[12:]))
}

func TestEveryKeyGivenMustHaveSigned(t *testing.T) {
	s := signer(t)
	keys := strings.Split(strings.TrimSpace(s.VerifierKeys()), "\n")
	signed := s.Sign(10, root, noon)
	lines := strings.SplitAfter(string(signed), "\n")
	withoutClassic := []byte(strings.Join(append(append([]string{}, lines[:4]...), lines[5]), ""))
	withoutQuantum := []byte(strings.Join(lines[:5], ""))
	stranger, err := NewSigner("other.example.com", seed)
	require.NoError(t, err)
	both := s.VerifierKeys()

	for name, c := range map[string]struct {
		checkpoint []byte
		keys       string
		want       error
	}{
		"both":                       {signed, both, nil},
		"comments and spaces":        {signed, "# keys\n\n  " + keys[0] + " \n" + keys[1], nil},
		"only the classical key":     {signed, keys[0], nil},
		"only the post-quantum key":  {signed, keys[1], nil},
		"classical line gone":        {withoutClassic, both, ErrUnverified},
		"classical line gone, alone": {withoutClassic, keys[1], nil},
		"cosignature gone":           {withoutQuantum, both, ErrUnverified},
		"cosignature gone, alone":    {withoutQuantum, keys[0], nil},
		"another log's keys":         {signed, stranger.VerifierKeys(), ErrUnverified},
		"one key too many":           {signed, both + stranger.VerifierKeys(), ErrUnverified},
		"no keys":                    {signed, "# none\n", ErrMalformed},
		"key damaged":                {signed, strings.Replace(both, "+", "+0", 1), ErrMalformed},
		"key of another type":        {signed, verifierKey(origin, append([]byte{9}, make([]byte, 32)...)), ErrMalformed},
		"too long":                   {bytes.Repeat([]byte("x"), CheckpointSizeMax+1), both, ErrMalformed},
		"not a note":                 {[]byte("hello\n"), both, ErrUnverified},
		"nothing":                    {nil, both, ErrUnverified},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Verify(c.checkpoint, c.keys)
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, uint64(10), got.Size)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
}

// A note that the log's key signed for another log is refused.
func TestAnotherOriginIsRefused(t *testing.T) {
	s := signer(t)
	c := Checkpoint{Origin: "elsewhere.example.com", Size: 3, Root: root}
	signed := signNote(t, s, string(c.signedText()))
	_, err := Verify(signed, strings.SplitAfter(s.VerifierKeys(), "\n")[0])
	require.ErrorIs(t, err, ErrUnverified)
}

func signNote(t testing.TB, s *Signer, text string) []byte {
	t.Helper()
	signed, err := sumdb.Sign(&sumdb.Note{Text: text}, &lineSigner{s.origin, keyID(s.origin, s.classicKey()), func(b []byte) ([]byte, error) {
		return ed25519.Sign(s.classic, b), nil
	}}, &lineSigner{s.origin, keyID(s.origin, s.quantumKey()), func(b []byte) ([]byte, error) {
		c, err := parseText(b)
		if err != nil {
			c = Checkpoint{Origin: s.origin}
		}
		return s.cosignCheckpoint(&c, 5)
	}})
	require.NoError(t, err)
	return signed
}

func TestExtensionLinesNeedAKeyThatCoversThem(t *testing.T) {
	s := signer(t)
	c := Checkpoint{Origin: origin, Size: 3, Root: root, Extensions: []string{"list 5", "second"}}
	signed := signNote(t, s, string(c.signedText()))
	got, err := Verify(signed, s.VerifierKeys())
	require.NoError(t, err)
	require.Equal(t, c.Extensions, got.Extensions)

	quantum := strings.SplitAfter(s.VerifierKeys(), "\n")[1]
	_, err = Verify(signed, quantum)
	require.ErrorIs(t, err, ErrUnverified)
}

// A verifier with both keys notices a change of any byte of a signed checkpoint.
func TestTampering(t *testing.T) {
	s := signer(t)
	signed, keys := s.Sign(1234, root, noon), s.VerifierKeys()
	want, err := Verify(signed, keys)
	require.NoError(t, err)
	for i := range signed {
		if i > 400 && i%7 != 0 {
			continue // only some bytes of the long signature
		}
		changed := bytes.Clone(signed)
		changed[i] ^= 1
		got, err := Verify(changed, keys)
		require.Error(t, err, "byte %d: %+v instead of %+v", i, got, want)
	}
}

func TestCheckpointText(t *testing.T) {
	good := string((&Checkpoint{Origin: origin, Size: 42, Root: root}).signedText())
	b64 := base64.StdEncoding.EncodeToString(root[:])
	for name, text := range map[string]string{
		"no end of line":      strings.TrimSuffix(good, "\n"),
		"leading zero":        strings.Replace(good, "\n42\n", "\n042\n", 1),
		"plus sign":           strings.Replace(good, "\n42\n", "\n+42\n", 1),
		"negative":            strings.Replace(good, "\n42\n", "\n-42\n", 1),
		"size of 2^63":        strings.Replace(good, "\n42\n", "\n9223372036854775808\n", 1),
		"empty size":          strings.Replace(good, "\n42\n", "\n\n", 1),
		"no origin":           strings.TrimPrefix(good, origin),
		"origin with a space": "a b" + strings.TrimPrefix(good, origin),
		"origin with a plus":  "a+b" + strings.TrimPrefix(good, origin),
		"origin too long":     strings.Repeat("a", 256) + strings.TrimPrefix(good, origin),
		"short root":          origin + "\n42\nAAAA\n",
		"root unpadded":       origin + "\n42\n" + strings.TrimRight(b64, "=") + "\n",
		"root with CR":        origin + "\n42\n" + b64 + "\r\n",
		"root bits left over": origin + "\n42\n" + b64[:42] + "B=\n",
		"empty extension":     good + "\n",
		"many extensions":     good + strings.Repeat("x\n", ExtensionsMax+1),
		"empty":               "",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseText([]byte(text))
			require.ErrorIs(t, err, ErrMalformed)
		})
	}
	c, err := parseText([]byte(good + strings.Repeat("x\n", ExtensionsMax)))
	require.NoError(t, err)
	require.Len(t, c.Extensions, ExtensionsMax)
}

func TestNewSignerRefuses(t *testing.T) {
	for name, bad := range map[string]string{"empty": "", "space": "a b", "plus": "a+b", "newline": "a\nb", "long": strings.Repeat("a", 256), "not text": "\xff"} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSigner(bad, seed)
			require.ErrorIs(t, err, ErrMalformed)
		})
	}
	_, err := NewSigner(strings.Repeat("a", 255), seed)
	require.NoError(t, err)
	_, err = NewSigner(origin, seed[:31])
	require.ErrorIs(t, err, ErrMalformed)
}

func FuzzCheckpointText(f *testing.F) {
	f.Add((&Checkpoint{Origin: origin, Size: 42, Root: root, Extensions: []string{"x"}}).signedText())
	f.Add([]byte("a\n1\nAAAA\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseText(text)
		if err == nil && !bytes.Equal(c.signedText(), text) {
			t.Fatalf("%q has another form: %q", text, c.signedText())
		}
	})
}

func FuzzVerify(f *testing.F) {
	s := signer(f)
	keys := s.VerifierKeys()
	f.Add(s.Sign(1, root, noon), keys)
	f.Add([]byte("a\n\n— a AAAA\n"), "a+00000000+AAAA")
	f.Fuzz(func(t *testing.T, checkpoint []byte, given string) {
		c, err := Verify(checkpoint, keys)
		if err == nil && (c.Origin != origin || c.Size != 1 || c.Root != root || c.Time != noon/nanoseconds) {
			t.Fatalf("forged: %+v", c)
		}
		_, _ = Verify(checkpoint, given)
	})
}

func BenchmarkSign(b *testing.B) {
	s := signer(b)
	for b.Loop() {
		s.Sign(1<<30, root, noon)
	}
}

func BenchmarkVerify(b *testing.B) {
	s := signer(b)
	signed, keys := s.Sign(1<<30, root, noon), s.VerifierKeys()
	for b.Loop() {
		if _, err := Verify(signed, keys); err != nil {
			b.Fatal(err)
		}
	}
}

// Keys of a log that later changed its keys follow a line with the sizes that they sign.
func TestKeysOfSeveralLines(t *testing.T) {
	signers := make([]*Signer, 3)
	for i, origin := range []string{"log.example/a", "log.example/a", "log.example/a/line"} {
		var err error
		signers[i], err = NewSigner(origin, bytes.Repeat([]byte{byte(i + 1)}, SeedSize))
		require.NoError(t, err)
	}
	keys := SizesLine(20, math.MaxUint64) + signers[2].VerifierKeys() + SizesLine(10, 19) + signers[1].VerifierKeys() +
		SizesLine(0, 9) + signers[0].VerifierKeys()
	require.NoError(t, CheckKeys(keys))
	for i, sizes := range [][2]uint64{{0, 9}, {10, 19}, {20, 1 << 40}} {
		for _, size := range sizes {
			c, err := Verify(signers[i].Sign(size, Hash{1}, 5e9), keys)
			require.NoError(t, err, "line %d at %d", i, size)
			require.Equal(t, int64(5), c.Time)
			for other := range signers {
				if other != i {
					_, err := Verify(signers[other].Sign(size, Hash{1}, 0), keys)
					require.ErrorContains(t, err, "do not vouch", "line %d at %d", other, size)
				}
			}
		}
	}
	stranger, err := NewSigner("log.example/b", bytes.Repeat([]byte{9}, SeedSize))
	require.NoError(t, err)
	_, err = Verify(stranger.Sign(5, Hash{}, 0), keys)
	require.ErrorIs(t, err, ErrUnverified)
	for _, bad := range []string{"#: ", "#: sizes", "#: sizes 1", "#: sizes x up", "#: sizes 1 to x", "#: sizes 1 to", "#: sizes 01 up", "#: sizes 1  up", "#: lines 1 up", "#: sizes 1 to 2 3"} {
		require.ErrorIs(t, CheckKeys(bad+"\n"+signers[0].VerifierKeys()), ErrMalformed, bad)
	}
	require.ErrorIs(t, CheckKeys(SizesLine(0, 9)), ErrMalformed, "no key at all")
	require.NoError(t, CheckKeys("# a comment\n"+signers[0].VerifierKeys()))
}
