package note

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The vectors say which policies are read, which checkpoints they accept, and which are refused.
func TestPolicyVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/policy.json")
	require.NoError(t, err)
	var vectors struct {
		Policies map[string]string
		Evaluate []struct {
			Policy, Why, Checkpoint string
			By                      []string
			Met                     bool
		}
		Bad []struct{ Why, Text string }
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.Len(t, vectors.Policies, 6)
	require.Len(t, vectors.Evaluate, 14)
	require.Len(t, vectors.Bad, 18)
	for name, text := range vectors.Policies {
		p, err := ParsePolicy(text)
		require.NoError(t, err, name)
		require.Equal(t, name != "no-log", p.HasLogs())
		require.Equal(t, name != "none", p.Demands())
	}
	for _, v := range vectors.Evaluate {
		text := vectors.Policies[v.Policy]
		c, err := Verify([]byte(v.Checkpoint), text)
		require.Equal(t, v.Met, err == nil, "%s by %v: %v", v.Policy, v.By, err)
		if v.Met {
			require.Len(t, c.Witnesses, len(v.By))
		} else {
			require.True(t, errors.Is(err, ErrUnverified) || errors.Is(err, ErrMalformed), err)
		}
		if v.Why == "" { // Otherwise the note itself is malformed, or a line is passed over.
			p, err := ParsePolicy(text)
			require.NoError(t, err)
			require.Equal(t, v.Met, p.Check([]byte(v.Checkpoint)) == nil)
		}
	}
	for _, v := range vectors.Bad {
		_, err := ParsePolicy(v.Text)
		require.ErrorIs(t, err, ErrMalformed, v.Why)
		_, err = JoinPolicy("", v.Text)
		require.ErrorIs(t, err, ErrMalformed, v.Why)
	}
}

// twoOfThree is a policy of three witnesses, of which two are wanted.
func twoOfThree(witnesses ...*Cosigner) string {
	var text strings.Builder
	for i, name := range []string{"a", "b", "c"} {
		text.WriteString("witness " + name + " " + witnesses[i].VerifierKey() + " https://" + name + ".example.org\n")
	}
	text.WriteString("group three 2 a b c\nquorum three\n")
	return text.String()
}

// A quorum is demanded of every checkpoint, before and after the log's keys rotate, and the
// refusal says who signed and who is wanted.
func TestQuorumHoldsAcrossRotations(t *testing.T) {
	a, b := lineOf(t, origin, 1), lineOf(t, origin, 2)
	one, two, three := witness(t, "one"), witness(t, "two"), witness(t, "three")
	policy := twoOfThree(one, two, three)
	listed := SizesLine(10, 1<<64-1) + b.VerifierKeys() + a.Endorse(b, 10) + SizesLine(0, 9) + a.VerifierKeys()
	given, err := JoinPolicy(a.VerifierKeys(), policy)
	require.NoError(t, err)
	whole, err := JoinPolicy(listed, policy)
	require.NoError(t, err)
	led, steps, err := Succession(given, listed)
	require.NoError(t, err)
	require.Len(t, steps, 1)
	for name, keys := range map[string]string{
		"beside all keys":     whole,
		"in front of them":    policy + listed,
		"led to":              led,
		"led to once more":    mustFollow(t, led, listed),
		"matched with a file": mustMatch(t, b.VerifierKeys(), given, listed),
	} {
		require.Equal(t, []string{"one", "two", "three"}, Witnesses(keys), name)
		for size, log := range map[uint64]*Signer{9: a, 10: b} {
			alone := log.Sign(size, root, noon)
			c, err := Parse(alone)
			require.NoError(t, err)
			_, err = Verify(alone, keys)
			require.ErrorContains(t, err, "signed by none; wanted are 2 of three (one, two, three); no signature by one, two, three", name)
			first := WithLines(alone, string(three.Cosign(&c, 100)))
			_, err = Verify(first, keys)
			require.ErrorContains(t, err, "signed by three; wanted are 2 of three (one, two, three); no signature by one, two", name)
			var short *QuorumError
			require.ErrorAs(t, err, &short)
			require.Equal(t, []string{"three"}, short.Have)
			require.ErrorIs(t, err, ErrUnverified)
			c, err = Verify(WithLines(first, string(one.Cosign(&c, 100))), keys)
			require.NoError(t, err, name)
			require.Equal(t, []string{"one", "three"}, c.Witnesses, name)
			require.Equal(t, "2 of three (one, two, three)", c.Quorum, name)
		}
	}
	// A witness's key in a line of its own is demanded besides.
	c, err := Parse(a.Sign(9, root, noon))
	require.NoError(t, err)
	signed := WithLines(a.Sign(9, root, noon), string(one.Cosign(&c, 100)), string(three.Cosign(&c, 100)))
	_, err = Verify(signed, given+two.VerifierKey()+"\n")
	require.ErrorContains(t, err, "no signature by the witness two+")
	_, err = Verify(signed, given+one.VerifierKey()+"\n")
	require.NoError(t, err)
}

// What a log serves, and what stands in a file, holds no policy: it is the reader's own.
func TestPolicyIsTheReaders(t *testing.T) {
	a, b := lineOf(t, origin, 1), lineOf(t, origin, 2)
	for _, policy := range []string{"quorum none\n", twoOfThree(witness(t, "one"), witness(t, "two"), witness(t, "three"))} {
		require.ErrorContains(t, CheckServed(a.VerifierKeys()+policy), "a policy stands among the keys")
		_, _, err := MatchKeys(a.VerifierKeys()+policy, a.VerifierKeys(), "")
		require.ErrorContains(t, err, "a policy stands among the keys")
	}
	keys := strings.SplitAfter(a.VerifierKeys(), "\n")
	named := "log " + keys[0] + "log " + keys[1] + "quorum none\n"
	_, err := Verify(a.Sign(9, root, noon), named)
	require.NoError(t, err, "the policy's logs are trusted where there are no keys")
	joined, err := JoinPolicy(a.VerifierKeys(), named)
	require.NoError(t, err)
	_, err = Verify(a.Sign(9, root, noon), joined)
	require.NoError(t, err)
	_, err = JoinPolicy(b.VerifierKeys(), named)
	require.ErrorContains(t, err, "about other logs")
	_, err = JoinPolicy("", "quorum none\n")
	require.ErrorContains(t, err, "no verifier key of a log")
	_, err = Verify(b.Sign(9, root, noon), named)
	require.ErrorIs(t, err, ErrUnverified)
	own := "witness self " + witness(t, "x").VerifierKey()
	raw, err := NewCosigner("x", a.classic.Seed())
	require.NoError(t, err)
	own = strings.Replace(own, witness(t, "x").VerifierKey(), raw.VerifierKey(), 1) + "\nquorum self\n"
	_, err = JoinPolicy(a.VerifierKeys(), own)
	require.ErrorContains(t, err, "is the log itself")
}

// Both keys of a witness count once.
func TestKeysOfOneWitness(t *testing.T) {
	w := strings.Fields(witness(t, "one").VerifierKeys())
	lines := "witness e " + w[0] + "\nwitness q " + w[1] + "\nwitness two " + witness(t, "two").VerifierKey() + "\n"
	for rest, good := range map[string]bool{
		"group g 2 e q two\nquorum g\n":                  false,
		"group g any e two\nquorum g\n":                  false,
		"group b any q two\ngroup g all b e\nquorum g\n": false,
		"group b all e q\ngroup g any b two\nquorum g\n": true,
		"group b any e q\ngroup g 2 b two\nquorum g\n":   true,
	} {
		_, err := ParsePolicy(lines + rest)
		require.Equal(t, good, err == nil, "%s %v", rest, err)
	}
	p, err := ParsePolicy(lines + "group b all e q\ngroup g 2 b two\nquorum g\n")
	require.NoError(t, err)
	require.Equal(t, "2 of g (2 of b (one, one), two)", p.Need())
	_, err = ParsePolicy(strings.Repeat(" ", PolicySizeMax) + "\nquorum none\n")
	require.ErrorIs(t, err, ErrMalformed)
}

// Whatever is read is bounded and reads again as the same; another signature never makes a quorum
// that is met one that is not.
func FuzzPolicy(f *testing.F) {
	data, err := os.ReadFile("testdata/policy.json")
	require.NoError(f, err)
	var vectors struct {
		Policies map[string]string
		Bad      []struct{ Text string }
	}
	require.NoError(f, json.Unmarshal(data, &vectors))
	for _, text := range vectors.Policies {
		f.Add(text, uint32(5))
	}
	for _, bad := range vectors.Bad {
		f.Add(bad.Text, uint32(0))
	}
	f.Fuzz(func(t *testing.T, text string, some uint32) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		again, err := ParsePolicy(p.text)
		if err != nil || again.text != p.text || again.Need() != p.Need() {
			t.Fatalf("%q reads again as %v %v", p.text, again, err)
		}
		if len(p.Witnesses()) > policyEntriesMax || len(p.entries) > 2*policyEntriesMax {
			t.Fatal("not bounded")
		}
		met := func(mask uint32) bool {
			at := -1
			_, err := p.judge(func(*cosigner) bool { at++; return mask>>(at%32)&1 == 1 })
			return err == nil
		}
		if met(some) && !met(some|some<<3) || !met(1<<32-1) || met(0) == p.Demands() {
			t.Fatalf("quorum of %q", p.text)
		}
	})
}
