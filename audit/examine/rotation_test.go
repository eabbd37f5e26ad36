package examine

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
)

// With old keys of a log, files signed by new keys can be verified only if the old keys
// endorsed the new ones.
func TestKeysThatWereRotated(t *testing.T) {
	f := newFixture(t, 12)
	signer := func(name string, seed byte) *note.Signer {
		s, err := note.NewSigner(name, bytes.Repeat([]byte{seed}, 32))
		require.NoError(t, err)
		return s
	}
	old, thief, foreign := signer("example.org/log", 1), signer("example.org/log", 2), signer("example.org/other", 3)
	rotations := func(endorsed string) string {
		return note.SizesLine(5, math.MaxUint64) + f.signer.VerifierKeys() + endorsed + note.SizesLine(0, 4) + old.VerifierKeys()
	}
	good := rotations(old.Endorse(f.signer, 5))
	for name, c := range map[string]struct{ given, rotations, refused string }{
		"endorsed":                  {old.VerifierKeys(), good, ""},
		"the new keys themselves":   {f.signer.VerifierKeys(), good, ""},
		"all of them":               {good, good, ""},
		"not told":                  {old.VerifierKeys(), "", "not those that were given"},
		"not endorsed":              {old.VerifierKeys(), rotations(""), "nor endorsed by them"},
		"endorsed by a thief":       {old.VerifierKeys(), rotations(thief.Endorse(f.signer, 5)), "is not by the keys before"},
		"endorsed from elsewhere":   {old.VerifierKeys(), rotations(old.Endorse(f.signer, 6)), "is not by the keys before"},
		"given keys of another log": {foreign.VerifierKeys(), good, "nor endorsed by them"},
		"of other keys":             {old.VerifierKeys(), old.VerifierKeys(), "are not those of the keys beside them"},
		"no keys":                   {f.signer.VerifierKeys(), "nonsense", "keyRotations"},
	} {
		export, proof := f.export(t, 0, 12, "", numbers(0, 12)...), f.proof(t, 2)
		if c.rotations != "" {
			export[0]["keyRotations"], proof["keyRotations"] = c.rotations, c.rotations
		}
		for kind, text := range map[string]string{"export": encode(t, export...), "proof": encode(t, proof)} {
			report, err := File(strings.NewReader(text), Options{Keys: c.given, KeysGiven: true})
			if c.refused != "" {
				require.ErrorIs(t, err, ErrProof, "%s %s", name, kind)
				require.ErrorContains(t, err, c.refused, "%s %s", name, kind)
				continue
			}
			require.NoError(t, err, "%s %s", name, kind)
			if name == "endorsed" {
				require.Equal(t, 1, report.Rotations)
				require.Contains(t, strings.Join(report.Shown(), "\n"), "endorsed by those given, over 1 rotation(s)")
			}
		}
	}
}
