package note

import (
	"crypto/sha256"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func anExport() Export {
	return Export{
		Origin: origin, Cluster: "cl_1", Size: 9, Root: root, First: 2, End: 7, From: "2026-03-01T00:00:00.000Z",
		To: "2026-04-01T00:00:00.000Z", Operator: "acme", Leaves: 3, Digest: sha256.Sum256([]byte("leaves")),
	}
}

func TestSignExport(t *testing.T) {
	s := signer(t)
	x := anExport()
	lines := s.SignExport(x)
	require.Equal(t, lines, signer(t).SignExport(x), "every node signs the same bytes")
	require.NoError(t, VerifyExport(&x, lines, s.VerifierKeys()))
	classic, quantum, _ := strings.Cut(strings.TrimSuffix(s.VerifierKeys(), "\n"), "\n")
	require.NoError(t, VerifyExport(&x, lines, classic))
	require.NoError(t, VerifyExport(&x, lines, quantum))

	for name, change := range map[string]func(*Export){
		"origin":            func(x *Export) { x.Origin += "x" },
		"cluster":           func(x *Export) { x.Cluster = "cl_2" },
		"size":              func(x *Export) { x.Size++ },
		"root":              func(x *Export) { x.Root[0]++ },
		"first":             func(x *Export) { x.First++ },
		"end":               func(x *Export) { x.End-- },
		"from":              func(x *Export) { x.From = x.To },
		"to":                func(x *Export) { x.To = x.From },
		"operator":          func(x *Export) { x.Operator = "" },
		"leaves":            func(x *Export) { x.Leaves-- },
		"digest":            func(x *Export) { x.Digest[31]++ },
		"words smuggled in": func(x *Export) { x.From += `" to "` + x.To },
	} {
		other := x
		change(&other)
		require.ErrorIs(t, VerifyExport(&other, lines, s.VerifierKeys()), ErrUnverified, name)
	}
}

func TestExportLinesAreStrict(t *testing.T) {
	s := signer(t)
	x := anExport()
	lines := string(s.SignExport(x))
	first, second, _ := strings.Cut(lines, "\n")
	for name, altered := range map[string]string{
		"none":             "",
		"one of two":       first + "\n",
		"one twice":        first + "\n" + lines,
		"another spelling": first[:len(first)-2] + string(first[len(first)-2]+1) + first[len(first)-1:] + "\n" + second,
		"text before":      "x\n\n" + lines,
		"no line end":      strings.TrimSuffix(lines, "\n"),
		"a checkpoint's":   string(s.Sign(x.Size, x.Root, noon)[len((&Checkpoint{Origin: origin, Size: x.Size, Root: x.Root}).signedText())+1:]),
	} {
		require.Error(t, VerifyExport(&x, []byte(altered), s.VerifierKeys()), name)
	}
	foreign, err := NewSigner("example.com/other", seed)
	require.NoError(t, err)
	require.ErrorIs(t, VerifyExport(&x, []byte(lines), foreign.VerifierKeys()), ErrUnverified)
	_, err = Verify(append(append(x.signedText(), '\n'), lines...), s.VerifierKeys())
	require.Error(t, err, "an export's signature is none of a checkpoint")
}

// A checkpoint has only one valid form.
func TestVerifyIsStrict(t *testing.T) {
	s := signer(t)
	signed := string(s.Sign(9, root, noon))
	lines := strings.SplitAfter(signed, "\n")
	require.Len(t, lines, 7) // Three lines of text, an empty one, two signatures, and nothing after the last line end.
	last := lines[4]
	lines[4] = last[:len(last)-3] + string(last[len(last)-3]+1) + last[len(last)-2:]
	_, err := Verify([]byte(strings.Join(lines, "")), s.VerifierKeys())
	require.Error(t, err)
	_, err = Verify([]byte(signed+last), s.VerifierKeys())
	require.ErrorIs(t, err, ErrMalformed, "a line twice")
}

func TestGoldenExport(t *testing.T) {
	s, x := signer(t), anExport()
	const name = "testdata/export-v1.txt"
	content := string(x.signedText()) + "\n" + string(s.SignExport(x))
	if _, err := os.Stat(name); *update && os.IsNotExist(err) {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), content)
}

func TestCheckKeys(t *testing.T) {
	require.NoError(t, CheckKeys(signer(t).VerifierKeys()))
	for _, keys := range []string{"", "\n \n", "# none\n", "x"} {
		require.ErrorIs(t, CheckKeys(keys), ErrMalformed)
	}
}
