package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/audit/proof"
)

// exported is the whole audit log as one node exported it.
type exported struct {
	node       string
	checkpoint note.Checkpoint
	leaves     []leaf
	keys       string // The verifier keys that it was verified with.
	raw        []byte
}

// fetchExport fetches a node's log from the first leaf on.
func (c *caller) fetchExport(ctx context.Context, n *node) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	call, err := http.NewRequestWithContext(ctx, http.MethodGet, n.api+"/v1/audit/export", nil)
	if err != nil {
		return nil, err
	}
	call.Header.Set("Authorization", "Bearer "+c.key)
	response, err := c.client.Do(call)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 512))
		return nil, fmt.Errorf("export of %s: %d %s", n.id, response.StatusCode, text)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, exportBytesMax))
	if err != nil {
		return nil, fmt.Errorf("export of %s: %w", n.id, err)
	}
	return raw, nil
}

// export fetches, verifies and reads a node's log.
func (c *caller) export(ctx context.Context, n *node, keys string) (*exported, error) {
	raw, err := c.fetchExport(ctx, n)
	if err != nil {
		return nil, err
	}
	return readExport(n.id, raw, keys)
}

// fetchThrough repeats fetchExport until the log contains a transaction. An export ends at a signed
// checkpoint, and a node signs one checkpoint a second.
func (c *caller) fetchThrough(ctx context.Context, n *node, txn string) ([]byte, error) {
	var raw []byte
	var last error
	err := until(ctx, settlePatience, func() bool {
		raw, last = c.fetchExport(ctx, n)
		return last == nil && bytes.Contains(raw, []byte(txn))
	})
	if err != nil && last == nil {
		return nil, fmt.Errorf("the log of %s does not come to hold %s, which was answered: %w", n.id, txn, err)
	}
	return raw, last
}

// exportThrough fetches, verifies and reads a node's log once it contains a transaction.
func (c *caller) exportThrough(ctx context.Context, n *node, keys, txn string) (*exported, error) {
	raw, err := c.fetchThrough(ctx, n, txn)
	if err != nil {
		return nil, err
	}
	return readExport(n.id, raw, keys)
}

// proven waits until every node proves a transaction, so that its signed log has it.
func (c *cluster) proven(ctx context.Context, by *caller, txn string) error {
	for _, n := range c.nodes {
		if err := until(ctx, settlePatience, func() bool {
			a, err := by.get(ctx, n.api+"/v1/audit/"+txn+"/proof")
			return err == nil && a.status == http.StatusOK
		}); err != nil {
			return fmt.Errorf("the log of %s does not come to hold %s, which was answered: %w", n.id, txn, err)
		}
	}
	return nil
}

// exportsTries bounds how often all logs are fetched, exportsPause apart. Fetching them must be
// repeated if a leaf was written between two logs. A tick may write one, such as for a hold that
// expires; and each node tells within a second who read its log first in an hour.
const (
	exportsTries = 6
	exportsPause = 700 * time.Millisecond
)

// exports returns the logs of all nodes. It fetches them until they have the same length, at most
// exportsTries times, and then verifies and reads them.
func (c *cluster) exports(ctx context.Context, by *caller, keys, last string) (all []*exported, err error) {
	raws := make([][]byte, len(c.nodes))
	for try := range exportsTries {
		if try > 0 {
			pause(ctx, exportsPause)
		}
		same := true
		for i, n := range c.nodes {
			if raws[i], err = by.fetchThrough(ctx, n, last); err != nil {
				return nil, err
			}
			same = same && sizeOf(raws[i]) == sizeOf(raws[0])
		}
		if same {
			break
		}
	}
	for i, n := range c.nodes {
		var x *exported
		if i == 0 {
			x, err = readExport(n.id, raws[i], keys)
		} else {
			x, err = all[0].readLike(n.id, raws[i], keys)
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(x.leaves, func(l leaf) bool { return l.TxnID == last }) {
			return nil, fmt.Errorf("the log of %s does not hold %s, which was answered", n.id, last)
		}
		all = append(all, x)
	}
	return all, nil
}

// errUnproven says that an export is complete but its proofs do not hold.
var errUnproven = errors.New("export not proven")

// readExport verifies and reads an export: every inclusion proof, and the signatures with the keys.
func readExport(node string, raw []byte, keys string) (*exported, error) {
	report, err := examine.File(bytes.NewReader(raw), examine.Options{Keys: keys, KeysGiven: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUnproven, node, err)
	}
	x := &exported{node: node, checkpoint: report.Checkpoint, keys: report.Keys, raw: raw}
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, leafBytesMax)
	for scanner.Scan() {
		var line struct {
			Type  string `json:"type"`
			Index uint64 `json:"index"`
			Leaf  string `json:"leaf"`
			Hash  string `json:"leafHash"`

			Record json.RawMessage `json:"record"` // The content of the leaf as JSON, if its bytes are not JSON.
		}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("export of %s: %w", node, err)
		}
		if line.Type != "leaf" {
			continue
		}
		stored, shown := []byte(line.Leaf), []byte(line.Leaf)
		if line.Record != nil {
			shown = line.Record
			if stored, err = base64.StdEncoding.DecodeString(line.Leaf); err != nil {
				return nil, fmt.Errorf("export of %s, leaf %d: %w", node, line.Index, err)
			}
		}
		l, err := readLeaf(shown)
		if err != nil {
			return nil, fmt.Errorf("export of %s, leaf %d: %w", node, line.Index, err)
		}
		l.hash = proof.LeafHash(stored)
		if line.Hash != base64.StdEncoding.EncodeToString(l.hash[:]) {
			return nil, fmt.Errorf("export of %s, leaf %d: leafHash is not that of its bytes", node, line.Index)
		}
		x.leaves = append(x.leaves, l)
	}
	return x, scanner.Err()
}

// exportHead has what the first line of an export says of the lines behind it.
type exportHead struct {
	Type       string          `json:"type"`
	Version    int             `json:"version"`
	Cluster    string          `json:"clusterId"`
	Size       uint64          `json:"treeSize"`
	Checkpoint string          `json:"checkpoint"`
	Keys       string          `json:"keys"`
	Rotations  string          `json:"keyRotations"`
	From       string          `json:"from"`
	To         string          `json:"to"`
	First      uint64          `json:"first"`
	End        uint64          `json:"end"`
	Selection  json.RawMessage `json:"selection"`
}

// exportEnd has what the last line says of the lines before it.
type exportEnd struct {
	Type      string `json:"type"`
	First     uint64 `json:"first"`
	End       uint64 `json:"end"`
	Leaves    uint64 `json:"leaves"`
	Digest    []byte `json:"digest"`
	Signature string `json:"signature"`
}

// cutExport cuts an export into its head, the lines of the records, and its end.
func cutExport(raw []byte) (head exportHead, records []byte, end exportEnd, err error) {
	first, rest, _ := bytes.Cut(raw, []byte{'\n'})
	at := bytes.LastIndexByte(bytes.TrimSuffix(rest, []byte{'\n'}), '\n') + 1
	if err = readStrictly(first, &head); err == nil {
		err = readStrictly(rest[at:], &end)
	}
	return head, rest[:at], end, err
}

// readStrictly decodes one JSON object and refuses members that it does not know.
func readStrictly(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the JSON object")
	}
	return nil
}

// sizeOf returns how large the tree is that an export is of; 0 if it has no head.
func sizeOf(raw []byte) uint64 {
	head, _, _, err := cutExport(raw)
	if err != nil {
		return 0
	}
	return head.Size
}

// readLike is readExport for a log of which another node's export is verified already. To verify a
// record takes half a millisecond, and two right nodes export the same bytes of it: its path, its
// content, its readable part. So the bytes are compared, and then only the signatures are verified
// that this node made. An export that differs in anything else is verified by itself.
func (x *exported) readLike(node string, raw []byte, keys string) (*exported, error) {
	if checkpoint, ok := x.sameAs(raw); ok {
		return &exported{node: node, checkpoint: checkpoint, leaves: x.leaves, keys: x.keys}, nil
	}
	return readExport(node, raw, keys)
}

// sameAs reports whether an export has the same records in the same tree, under good signatures of
// its own, and returns its checkpoint.
func (x *exported) sameAs(raw []byte) (checkpoint note.Checkpoint, same bool) {
	head, records, end, err := cutExport(raw)
	proven, provenRecords, provenEnd, failed := cutExport(x.raw)
	if errors.Join(err, failed) != nil || !bytes.Equal(records, provenRecords) || head.To < proven.To { // Times have one form, so they sort as text.
		return checkpoint, false
	}
	checkpoint, err = note.Verify([]byte(head.Checkpoint), x.keys)
	if err != nil || checkpoint.Size != x.checkpoint.Size || checkpoint.Root != x.checkpoint.Root || len(end.Digest) != len(checkpoint.Root) {
		return checkpoint, false
	}
	signed := note.Export{
		Origin: checkpoint.Origin, Cluster: head.Cluster, Size: checkpoint.Size, Root: checkpoint.Root, First: head.First, End: head.End,
		From: head.From, To: head.To, Leaves: end.Leaves, Digest: note.Hash(end.Digest),
	}
	if note.VerifyExport(&signed, []byte(end.Signature), x.keys) != nil {
		return checkpoint, false
	}
	// What the signatures do not decide must be what was proven already.
	proven.Checkpoint, proven.To, provenEnd.Signature = head.Checkpoint, head.To, end.Signature
	return checkpoint, reflect.DeepEqual(head, proven) && reflect.DeepEqual(end, provenEnd)
}
