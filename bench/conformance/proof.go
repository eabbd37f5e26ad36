package conformance

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// treeHead is the body of a C2SP tlog-checkpoint.
type treeHead struct {
	origin string
	size   uint64
	root   []byte
}

// parseCheckpoint reads origin, size and root of a signed checkpoint and demands at
// least one signature line under them.
func parseCheckpoint(text string) (treeHead, bool) {
	body, signatures, found := strings.Cut(text, "\n\n")
	lines := strings.Split(body, "\n")
	if !found || len(lines) < 3 || !strings.HasPrefix(signatures, "\u2014 ") {
		return treeHead{}, false
	}
	size, err := strconv.ParseUint(lines[1], 10, 64)
	root, rootErr := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || rootErr != nil || len(root) != 32 || lines[0] == "" {
		return treeHead{}, false
	}
	return treeHead{origin: lines[0], size: size, root: root}, true
}

// hashBytes reads a hash that is written in base64, base64url or hex.
func hashBytes(text string) []byte {
	if len(text) == 64 {
		if raw, err := hex.DecodeString(text); err == nil {
			return raw
		}
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.DecodeString(text); err == nil && len(raw) == 32 {
			return raw
		}
	}
	return nil
}

// leafForms are the byte strings that the answer's leaf member may stand for: the
// text itself, its decoded base64, or the embedded JSON as it was sent.
func leafForms(a *answer) [][]byte {
	var shell struct {
		Leaf json.RawMessage `json:"leaf"`
	}
	if err := json.Unmarshal(a.raw, &shell); err != nil || len(shell.Leaf) == 0 {
		return nil
	}
	forms := [][]byte{shell.Leaf}
	if text := a.text("leaf"); text != "" {
		forms = append(forms, []byte(text))
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			if raw, err := encoding.DecodeString(text); err == nil {
				forms = append(forms, raw)
			}
		}
	}
	return forms
}

func checkProof(p *probe) {
	g := p.register()
	var txns []string
	for range 5 {
		txns = append(txns, p.str(p.screen(g, "1", obj{"cpName": cleanCounterparty}), "txnId"))
	}
	for _, txn := range txns {
		a := p.tool(p.get("/v1/audit/" + txn + "/proof"))
		head, ok := parseCheckpoint(p.str(a, "checkpoint"))
		p.must(ok, "the checkpoint is not origin, size, root and a signature line: %q", a.text("checkpoint"))
		index, err := strconv.ParseUint(p.num(a, "index"), 10, 64)
		p.must(err == nil, "index is %s", a.number("index"))
		p.same(a, "treeSize", json.Number(strconv.FormatUint(head.size, 10)))
		var path [][]byte
		for i, step := range p.array(a, "path") {
			text, _ := step.(string)
			hash := hashBytes(text)
			p.must(hash != nil, "path member %d is no 32-byte hash: %q", i, text)
			path = append(path, hash)
		}
		leaf := p.provenLeaf(a, index, head, path)
		p.expect(strings.Contains(string(leaf), strings.TrimPrefix(txn, "txn_")), "the proven leaf does not name %s", txn)
		for _, at := range []int{0, len(leaf) / 2, len(leaf) - 1} {
			altered := append([]byte(nil), leaf...)
			altered[at] ^= 1
			err := proof.VerifyInclusion(rfc6962.DefaultHasher, index, head.size, rfc6962.DefaultHasher.HashLeaf(altered), path, head.root)
			p.expect(err != nil, "a leaf altered at byte %d still verifies", at)
		}
	}
}

// provenLeaf returns the form of the leaf whose proof leads to the tree head.
func (p *probe) provenLeaf(a *answer, index uint64, head treeHead, path [][]byte) []byte {
	forms := leafForms(a)
	p.must(len(forms) > 0, "no leaf in the answer")
	var last error
	for _, leaf := range forms {
		last = proof.VerifyInclusion(rfc6962.DefaultHasher, index, head.size, rfc6962.DefaultHasher.HashLeaf(leaf), path, head.root)
		if last == nil {
			return leaf
		}
	}
	p.stop("the leaf does not prove into the checkpoint: %v", last)
	return nil
}
