package chaos

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"railguard/audit/examine"
	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/engine"
)

// exported is the whole audit log as one node exported it.
type exported struct {
	node       string
	checkpoint note.Checkpoint
	leaves     []leaf
}

// leaf is one record: its bytes, and the members that checks read.
type leaf struct {
	raw  []byte
	hash [sha256.Size]byte
	record
}

// record has the members of a leaf that checks read.
type record struct {
	Kind    string    `json:"kind"`
	TxnID   string    `json:"txnId"`
	EventID string    `json:"eventId"`
	Leaf    uint64    `json:"leaf"`
	Index   uint64    `json:"index"`
	Time    time.Time `json:"time"`
	At      time.Time `json:"screenedAt"`

	Verdict     string `json:"verdict"`
	Rule        string `json:"rule"`
	AgentID     string `json:"agentId"`
	FleetID     string `json:"fleetId"`
	ListVersion uint64 `json:"listVersion"`
	KeyID       string `json:"keyId"`
	ActorKeyID  string `json:"actorKeyId"`
	Idempotency string `json:"idempotencyKeyHash"`
	RequestID   string `json:"requestId"`
	Request     struct {
		Amount json.Number `json:"amount"`
		Wallet string      `json:"cpWallet"`
	} `json:"_request"`
	Evidence struct {
		Now    int64      `json:"now"`
		Amount engine.USD `json:"amount"`
		Minute int64      `json:"minute"`
	} `json:"evidence"`

	ParentID    string          `json:"parentAgentId"`
	AgentType   string          `json:"agentType"`
	SpendPolicy json.RawMessage `json:"spendPolicy"`
	DailyLimit  json.Number     `json:"dailyLimitUSDC"`

	PreviousStatus   string    `json:"previousStatus"`
	CredentialStatus string    `json:"credentialStatus"`
	AttestedAt       time.Time `json:"attestedAt"`
	ChangedAt        time.Time `json:"changedAt"`

	Disposition  string    `json:"disposition"`
	ReviewedLeaf uint64    `json:"reviewedLeaf"`
	ReviewedAt   time.Time `json:"reviewedAt"`
}

// when returns the leaf's log time.
func (r *record) when() time.Time {
	if r.Kind == "screen" {
		return r.At
	}
	return r.Time
}

// export fetches a node's log from the first leaf on. It verifies every inclusion proof, and the
// checkpoint's signatures with the keys.
func (c *caller) export(ctx context.Context, n *node, keys string) (*exported, error) {
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
	return readExport(n.id, raw, keys)
}

// exportThrough repeats the export until it contains a transaction. An export ends at a signed
// checkpoint, and a node signs one checkpoint a second.
func (c *caller) exportThrough(ctx context.Context, n *node, keys, txn string) (*exported, error) {
	var x *exported
	var last error
	err := until(ctx, settlePatience, func() bool {
		if x, last = c.export(ctx, n, keys); last != nil {
			return errors.Is(last, errUnproven)
		}
		return slices.ContainsFunc(x.leaves, func(l leaf) bool { return l.TxnID == txn })
	})
	if err != nil && last == nil {
		return nil, fmt.Errorf("the log of %s does not come to hold %s, which was answered: %w", n.id, txn, err)
	}
	return x, last
}

// errUnproven says that an export is complete but its proofs do not hold.
var errUnproven = errors.New("export not proven")

// readExport verifies and reads an export.
func readExport(node string, raw []byte, keys string) (*exported, error) {
	report, err := examine.File(bytes.NewReader(raw), examine.Options{Keys: keys, KeysGiven: true})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUnproven, node, err)
	}
	x := &exported{node: node, checkpoint: report.Checkpoint}
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

// readLeaf parses a leaf and computes its hash (RFC 6962, 2.1).
func readLeaf(raw []byte) (leaf, error) {
	l := leaf{raw: raw, hash: proof.LeafHash(raw)}
	return l, json.Unmarshal(raw, &l.record)
}

// amount returns the amount that the call asked for.
func (r *record) amount() (engine.USD, error) {
	if r.Evidence.Now != 0 {
		return r.Evidence.Amount, nil
	}
	return engine.ParseUSD(r.Request.Amount)
}

// limits returns the limits of an agent itself, from the policy in its registration.
func limits(policy json.RawMessage) (daily, single engine.USD, err error) {
	daily, single = engine.NoLimit, engine.NoLimit
	if len(policy) == 0 {
		return daily, single, nil
	}
	var p struct {
		Daily  json.Number `json:"dailyLimitUSDC"`
		Single json.Number `json:"maxSingleTxUSDC"`
	}
	if err := json.Unmarshal(policy, &p); err != nil {
		return daily, single, err
	}
	if p.Daily != "" {
		daily, err = engine.ParseUSD(p.Daily)
	}
	if p.Single != "" && err == nil {
		single, err = engine.ParseUSD(p.Single)
	}
	return daily, single, err
}

// keyHash returns the hash by which a leaf names a caller's Idempotency-Key (decision 31,
// "Idempotency"). The scope of a key is its owner and the path, and here the owner is always the
// institution.
func keyHash(path, key string) string {
	scope := sha256.New()
	for _, part := range []string{"railguard idempotency", "institution", path, key} {
		scope.Write([]byte(part))
		scope.Write([]byte{0})
	}
	return hex.EncodeToString(scope.Sum(nil)[:16])
}
