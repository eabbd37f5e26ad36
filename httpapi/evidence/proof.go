package evidence

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"railguard/audit/proof"
	"railguard/edge"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// proveRecord is GET /v1/audit/{txnId}/proof: the stored bytes and the path
// from them to a signed tree head.
func (e *Room) proveRecord(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	if e.treeSize() <= l.Index { // The record came from a peer: wait until our own log has it.
		if err := c.Judge.Confirm(); err != nil {
			return border.Answer{}, err
		}
	}
	asTlog := strings.Contains(c.RequestHeader("Accept"), tlogProofType[0])
	newest := l.Index // The newest leaf of the proof.
	if !asTlog {
		if newest, err = c.Judge.NewestAbout(l.Index, c.Published().Disposition); err != nil {
			return border.Answer{}, err
		}
	}
	cp, err := e.coveringHead(c, newest+1, 0)
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	if cp.Size <= l.Index {
		return border.Answer{}, border.Unavailable("overloaded", "this node is catching up; retry")
	}
	if asTlog {
		return sendTlogProof(c, &l, cp)
	}
	m := &c.Out
	m.Text("txnId", c.TxnID)
	if err := writeProof(c, m, &l, cp.Size); err != nil {
		return border.Answer{}, err
	}
	m.Text("checkpoint", string(cp.text))
	cp.writeUnwitnessed(m)
	m.Text("keys", cp.signer.VerifierKeys())
	if text, err := e.listRotations(c); err != nil {
		return border.Answer{}, err
	} else if text != "" {
		m.Text("keyRotations", text)
	}
	later, err := listLater(c, l.Index, newest, cp.Size)
	if err != nil {
		return border.Answer{}, err
	}
	if len(later) > 0 {
		m.List("later", later)
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

var tlogProofType = []string{"text/x.tlog-proof"}

// sendTlogProof answers with the record and its proof as a C2SP tlog-proof.
func sendTlogProof(c *border.Request, l *edge.Leaf, cp *Checkpoint) (border.Answer, error) {
	path, err := c.Records().Audit().Inclusion(l.Index, cp.Size)
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	t := proof.Tlog{Extra: l.Data, Index: l.Index, Path: path, Checkpoint: cp.text}
	c.SetHeader("Content-Disposition", `attachment; filename="`+c.TxnID+`.tlog-proof"`)
	return c.Send(http.StatusOK, tlogProofType, t.Bytes()), nil
}

// listLater proves what was written about a record since, the oldest first. Each of these leaves
// names the one before it, so that the newest leads to all.
func listLater(c *border.Request, record, newest, size uint64) ([]strictjson.Members, error) {
	var later []strictjson.Members
	for at := newest; at > record; {
		l, err := c.Judge.LoadLeaf(at)
		if err != nil {
			return nil, err
		}
		if at < size { // Otherwise it was written behind the signed tree.
			if len(later) == laterMax {
				return nil, border.NewError(http.StatusConflict, "limit_reached", "more was written about this record than one proof holds; export the agent's records instead")
			}
			var m strictjson.Members
			if err := writeProof(c, &m, &l, size); err != nil {
				return nil, err
			}
			later = append(later, m)
		}
		before := l.Number("recordPrevious")
		c.Judge.DropLeaf()
		if before >= at {
			return nil, fmt.Errorf("leaf %d names leaf %d as the one before it", at, before)
		}
		at = before
	}
	slices.Reverse(later)
	return later, nil
}

// writeProof writes a leaf and its audit path. For a screening record it also writes the
// profiles that the record names, with their paths.
func writeProof(c *border.Request, m *strictjson.Members, l *edge.Leaf, size uint64) error {
	if err := writePath(c, m, l, size); err != nil {
		return err
	}
	m.Uint("treeSize", size)
	return writeProfiles(c, m, l, size, nil)
}

// writePath writes a leaf, its hash, its index and its audit path. An event's leaf is text,
// and is written as a string, which every JSON library preserves. Any other leaf is written
// in base64, with its content beside it, if the caller has opened it.
func writePath(c *border.Request, m *strictjson.Members, l *edge.Leaf, size uint64) error {
	path, err := c.Records().Audit().Inclusion(l.Index, size)
	if err != nil {
		return edge.LeafError(err)
	}
	m.Uint("index", l.Index)
	m.Text("leafHash", border.LeafHash(l.Data))
	if leaf.FormOf(l.Data) == leaf.FormEvent {
		m.Text("leaf", string(l.Data))
	} else {
		m.Text("leaf", base64.StdEncoding.EncodeToString(l.Data))
		if l.Shown != nil {
			m.Raw("record", l.Shown)
		}
	}
	texts := make([]string, len(path))
	for i, hash := range path {
		texts[i] = base64.StdEncoding.EncodeToString(hash)
	}
	m.Texts("path", texts)
	return nil
}

// writeProfiles adds the profiles that a screening record names, except those that the
// reader has.
func writeProfiles(c *border.Request, m *strictjson.Members, l *edge.Leaf, size uint64, had func(leaf.Ref) bool) error {
	if l.Record == nil {
		return nil
	}
	return writeNamed(c, m, l.Record, size, had)
}

// writeNamed adds the profiles that a judgement names.
func writeNamed(c *border.Request, m *strictjson.Members, x *leafjson.Screen, size uint64, had func(leaf.Ref) bool) error {
	for _, named := range [...]struct {
		name string
		ref  leaf.Ref
	}{{"profile", x.Profile}, {"userProfile", x.User}} {
		if named.ref.Hash == [32]byte{} || had != nil && had(named.ref) {
			continue
		}
		p, err := c.Judge.LoadLeaf(named.ref.Leaf)
		if err != nil {
			return err
		}
		var inner strictjson.Members
		err = writePath(c, &inner, &p, size)
		c.Judge.DropLeaf()
		if err != nil {
			return err
		}
		m.Object(named.name, inner)
	}
	return nil
}
