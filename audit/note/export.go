package note

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	sumdb "golang.org/x/mod/sumdb/note"
)

// exportLabel is the first line of a signed export. It has spaces, so it can never be a log's
// origin. Therefore an export's signature is never taken for a checkpoint's, or the reverse.
const exportLabel = "railguard export 1"

// exportCosignLabel begins the message that ML-DSA-44 signs, where that of a checkpoint has
// cosignLabel.
var exportCosignLabel = []byte("railguard export 1\n\x00")

// Export is the cluster's statement about one complete export: which leaves of which tree
// it holds, and how they were selected. The tree proves every leaf; this statement proves
// that no leaf was removed afterwards.
type Export struct {
	Origin   string
	Cluster  string
	Size     uint64 // Size of the tree to which its paths lead.
	Root     Hash
	First    uint64 // Index of the first leaf of the range.
	End      uint64 // Index after the last leaf.
	From     string // Times as in the export's head.
	To       string
	Operator string // If set, only leaves of this operator are selected.
	Leaves   uint64 // Number of leaves in the export.
	Agent    string // If set, only leaves of this agent are selected.
	Chain    Chain  // The records about the agent in it; set together with Agent.
	Digest   Hash   // SHA-256 over the index (u64 big-endian) and the hash of each leaf, in order.
}

// State of the record about the agent just before the time of an export, or just after it.
const (
	EdgeHere   = "here"   // The export holds it.
	EdgeErased = "erased" // It is past its retention.
	EdgeNone   = "none"   // There is none.
)

// Chain says which of the records about an agent an export holds, by their numbers.
type Chain struct {
	First, Last   uint64 // Numbers of the first and the last one; 0: none.
	Before, After string // EdgeHere, EdgeErased or EdgeNone.
}

// signedText returns the text that is signed. Equal exports have equal texts; names in it are
// quoted.
func (x *Export) signedText() []byte {
	selection := "everything"
	if x.Operator != "" {
		selection = "operator " + strconv.QuoteToASCII(x.Operator)
	}
	chain := ""
	if x.Agent != "" {
		if x.Operator != "" {
			selection += " "
		} else {
			selection = ""
		}
		selection += "agent " + strconv.QuoteToASCII(x.Agent)
		chain = fmt.Sprintf("numbers %d to %d before %s after %s\n", x.Chain.First, x.Chain.Last, strconv.QuoteToASCII(x.Chain.Before), strconv.QuoteToASCII(x.Chain.After))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\ncluster %s\n", exportLabel, x.Origin, strconv.QuoteToASCII(x.Cluster))
	fmt.Fprintf(&b, "tree %d %s\n", x.Size, base64.StdEncoding.EncodeToString(x.Root[:]))
	fmt.Fprintf(&b, "leaves %d to %d\n", x.First, x.End)
	fmt.Fprintf(&b, "time %s to %s\n", strconv.QuoteToASCII(x.From), strconv.QuoteToASCII(x.To))
	fmt.Fprintf(&b, "selection %s\n%s", selection, chain)
	fmt.Fprintf(&b, "holds %d %s\n", x.Leaves, hex.EncodeToString(x.Digest[:]))
	return []byte(b.String())
}

// SignExport returns the signature lines of an export by both keys. The origin in x must be
// the signer's. Equal exports give equal bytes.
func (s *Signer) SignExport(x Export) []byte {
	x.Origin = s.origin
	text := x.signedText()
	message, err := sumdb.Sign(&sumdb.Note{Text: string(text)},
		&lineSigner{s.origin, keyID(s.origin, s.classicKey()), func(text []byte) ([]byte, error) {
			return ed25519.Sign(s.classic, text), nil
		}},
		&lineSigner{s.origin, keyID(s.origin, s.quantumKey()), func(text []byte) ([]byte, error) {
			signature := make([]byte, mldsa44.SignatureSize)
			return signature, mldsa44.SignTo(s.quantum, exportMessage(text), nil, false, signature)
		}})
	if err != nil {
		panic("BUG: export of a checked origin: " + err.Error())
	}
	return message[len(text)+1:]
}

func exportMessage(text []byte) []byte {
	return append(append([]byte{}, exportCosignLabel...), text...)
}

// VerifyExport checks the signature lines of SignExport. Every given key with the log's name
// must have signed x, and there must be at least one. Lines by other keys are ignored.
func VerifyExport(x *Export, signatures []byte, keys string) error {
	if len(signatures) > CheckpointSizeMax {
		return fmt.Errorf("export signature of %d bytes: %w", len(signatures), ErrMalformed)
	}
	known, err := parseKeys(keys)
	if err != nil {
		return err
	}
	err = fmt.Errorf("no key of the log %q: %w", x.Origin, ErrUnverified)
	for _, s := range known.ranges {
		if !s.isOfOrigin(x.Origin) {
			continue
		}
		if err = s.verifyExport(x, signatures); err == nil {
			return nil
		}
	}
	return err
}

func (s *keyRange) verifyExport(x *Export, signatures []byte) error {
	if err := s.checkSize(x.Size); err != nil {
		return err
	}
	var own []sumdb.Verifier
	for _, v := range s.keys {
		if v.name == x.Origin {
			own = append(own, &exportVerifier{v})
		}
	}
	signed := append(append(x.signedText(), '\n'), signatures...)
	opened, err := sumdb.Open(signed, sumdb.VerifierList(own...))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnverified, err)
	}
	if opened.Text != string(x.signedText()) {
		return fmt.Errorf("export signature with an empty line: %w", ErrMalformed)
	}
	if len(opened.Sigs) != len(own) {
		return fmt.Errorf("%d of the log's %d keys signed: %w", len(opened.Sigs), len(own), ErrUnverified)
	}
	return checkLines(signed, opened)
}

// checkLines refuses a note that has another form with the same meaning: base64 that is not
// canonical, or repeated lines.
func checkLines(signed []byte, opened *sumdb.Note) error {
	for _, s := range append(append([]sumdb.Signature{}, opened.Sigs...), opened.UnverifiedSigs...) {
		raw, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil || base64.StdEncoding.EncodeToString(raw) != s.Base64 {
			return fmt.Errorf("signature line of %s: %w", s.Name, ErrMalformed)
		}
	}
	lines := strings.Count(string(signed[len(opened.Text):]), "\n") - 1
	if lines != len(opened.Sigs)+len(opened.UnverifiedSigs) {
		return fmt.Errorf("a signature line stands twice: %w", ErrMalformed)
	}
	return nil
}

// exportVerifier checks an export's lines with a key of the log.
type exportVerifier struct{ *verifier }

// Verify implements sumdb/note's Verifier: signature does not contain the key id.
func (v *exportVerifier) Verify(text, signature []byte) bool {
	if v.quantum == nil {
		return len(signature) == ed25519.SignatureSize && ed25519.Verify(v.classic, text, signature)
	}
	return len(signature) == mldsa44.SignatureSize && mldsa44.Verify(v.quantum, exportMessage(text), nil, signature)
}

// CheckKeys returns an error if there is no verifier key of a log, or a line that is not a key.
func CheckKeys(keys string) error {
	_, err := parseKeys(keys)
	return err
}
