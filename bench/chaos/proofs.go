package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"

	"railguard/audit/examine"
	"railguard/audit/note"
	auditproof "railguard/audit/proof"
)

// These checks test invariant 7 as a third party would. A consistency proof links two
// checkpoints, and a record that was answered has an inclusion proof.

// forest computes hashes of perfect subtrees from the leaves' bytes.
type forest struct {
	leaves []leaf
	known  map[compact.NodeID][]byte
}

func (t *forest) node(id compact.NodeID) []byte {
	if id.Level == 0 {
		return t.leaves[id.Index].hash[:]
	}
	if hash, known := t.known[id]; known {
		return hash
	}
	left, right := compact.NewNodeID(id.Level-1, 2*id.Index), compact.NewNodeID(id.Level-1, 2*id.Index+1)
	hash := rfc6962.DefaultHasher.HashChildren(t.node(left), t.node(right))
	t.known[id] = hash
	return hash
}

// consistency returns the proof between two sizes (RFC 9162, 2.1.4.1).
func (t *forest) consistency(from, to uint64) ([][]byte, error) {
	nodes, err := proof.Consistency(from, to)
	if err != nil {
		return nil, err
	}
	hashes := make([][]byte, len(nodes.IDs))
	for i, id := range nodes.IDs {
		hashes[i] = t.node(id)
	}
	return nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
}

// checkConsistency checks that a consistency proof links every checkpoint that was seen to the
// next larger one. So any two of them are linked.
func (in *inspection) checkConsistency() []string {
	var f findings
	if len(in.exports) == 0 {
		return nil
	}
	tree := &forest{in.exports[0].leaves, make(map[compact.NodeID][]byte)}
	heads := slices.Clone(in.heads)
	slices.SortStableFunc(heads, func(a, b head) int { return int(a.Size) - int(b.Size) })
	for i := 1; i < len(heads); i++ {
		from, to := &heads[i-1], &heads[i]
		if to.Size > uint64(len(tree.leaves)) {
			break // checkHeads reports it.
		}
		if from.Size == to.Size || from.Size == 0 {
			if from.Size == to.Size && from.Root != to.Root {
				f.add("nodes %s and %s signed two roots for %d leaves: the log has forked", from.node, to.node, from.Size)
			}
			continue
		}
		path, err := tree.consistency(from.Size, to.Size)
		if err == nil {
			err = auditproof.VerifyConsistency(from.Size, to.Size, from.Root, to.Root, path)
		}
		if err != nil {
			f.add("the checkpoints of %d and %d leaves (nodes %s and %s) are not consistent: %v", from.Size, to.Size, from.node, to.node, err)
		}
	}
	return f.all()
}

// shownProof is the answer of one node to GET /v1/audit/{txnId}/proof, after all faults were
// mended.
type shownProof struct {
	node, txn  string
	wrong      string // Why it proves nothing; "": it is right.
	checkpoint note.Checkpoint
	leafHash   [sha256.Size]byte
}

// readProof verifies a node's proof of a record against the log's keys.
func readProof(node, txn string, status int, raw []byte, keys string) shownProof {
	p := shownProof{node: node, txn: txn}
	if status != http.StatusOK {
		p.wrong = string(raw[:min(len(raw), 200)])
		return p
	}
	report, err := examine.File(bytes.NewReader(raw), examine.Options{Keys: keys, KeysGiven: true})
	if err != nil {
		p.wrong = err.Error()
		return p
	}
	var shown struct {
		Leaf string `json:"leaf"`
	}
	if err := json.Unmarshal(raw, &shown); err != nil {
		p.wrong = err.Error()
	}
	stored, err := base64.StdEncoding.DecodeString(shown.Leaf)
	if err != nil {
		p.wrong = err.Error()
	}
	p.checkpoint, p.leafHash = report.Checkpoint, auditproof.LeafHash(stored)
	return p
}

// checkProofs checks that every proof is of the leaf that the log has.
func (in *inspection) checkProofs() []string {
	var f findings
	s := layOut(in.exports[0])
	for _, p := range in.proofs {
		leaves := s.byTxn[p.txn]
		switch {
		case p.wrong != "":
			f.add("node %s does not prove %s: %s", p.node, p.txn, p.wrong)
		case len(leaves) == 0 || leaves[0].hash != p.leafHash:
			f.add("node %s proves another record for %s than the log holds", p.node, p.txn)
		}
	}
	return f.all()
}

const proofsRead = 8 // How many proofs to read at each node.

// readProofs fetches proofs of transactions that clients got an answer for. It keeps the proofs'
// checkpoints with the others.
func (in *inspection) readProofs(ctx context.Context, by *caller, n *node, keys string, txns []string) error {
	for i := 0; i < len(txns); i += 1 + len(txns)/proofsRead {
		a, err := by.get(ctx, n.api+"/v1/audit/"+txns[i]+"/proof")
		if err != nil {
			return err
		}
		p := readProof(n.id, txns[i], a.status, a.body, keys)
		in.proofs = append(in.proofs, p)
		if p.wrong == "" {
			in.heads = append(in.heads, head{n.id, p.checkpoint})
		}
	}
	return nil
}
