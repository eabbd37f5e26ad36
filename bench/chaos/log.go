package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"railguard/audit/proof"
	"railguard/engine"
)

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
