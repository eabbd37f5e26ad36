package report

// ClusterStatus is the cluster as one node sees it; its JSON is GET /v1/cluster/status.
type ClusterStatus struct {
	ClusterID    string       `json:"clusterId"`
	Node         string       `json:"node"`
	Role         string       `json:"role"` // leader, follower, candidate, nonvoter, stopped
	Term         uint64       `json:"term"`
	Leader       *LeaderInfo  `json:"leader"` // null: there is none.
	Quorum       QuorumInfo   `json:"quorum"`
	Index        IndexInfo    `json:"index"`
	StateDigest  string       `json:"fsmHash"` // The digest of the state at DigestIndex, in hex.
	DigestIndex  uint64       `json:"fsmHashIndex"`
	Nodes        []NodeStatus `json:"nodes"`
	Writes       WriteState   `json:"writes"`
	Autopilot    Autopilot    `json:"autopilot"`
	FeatureLevel uint16       `json:"featureLevel"` // The replicated format.
	MaxLevel     uint16       `json:"maxFeatureLevel"`
	Matcher      uint16       `json:"matcherVersion"` // Version of the matcher in force; 0 before bootstrap.
	LogTime      string       `json:"logTime"`
	Log          *LogStatus   `json:"log,omitempty"`        // The transparency log, as this node shows it.
	Secret       *Resealing   `json:"secret,omitempty"`     // Only if this node was given former cluster secrets.
	GatewayMap   string       `json:"gatewayMap,omitempty"` // SHA-256 of this node's map for gateways, in hex; "": it has none.
	TakeDown     TakeDown     `json:"takeDown"`
	Warnings     []string     `json:"warnings"`
}

// LogStatus is the transparency log as one node shows it.
type LogStatus struct {
	TreeSize     uint64          `json:"treeSize"`
	CosignedSize uint64          `json:"cosignedSize"`               // Size of the newest checkpoint that witnesses cosigned; 0: none.
	CosignedAt   string          `json:"cosignedAt,omitempty"`       // Log time of that checkpoint.
	Cosignatures int             `json:"cosignatures"`               // Signatures of witnesses under that checkpoint.
	Witnesses    []WitnessStatus `json:"witnesses"`                  // The witnesses in this node's settings.
	Quorum       string          `json:"quorum,omitempty"`           // Which of them must have signed a checkpoint that counts as cosigned.
	QuorumMet    *bool           `json:"quorumMet,omitempty"`        // The newest checkpoint that they signed is at most a minute behind the log; nil: no quorum is demanded.
	QuorumAge    *int64          `json:"quorumAgeSeconds,omitempty"` // How far it is behind, by log time; 0 where it is of all leaves; -1: none.
	Short        string          `json:"short,omitempty"`            // Why what they last answered was too little. Only the leader, which asks them, knows.
}

// Resealing says how far the cluster has sealed again what former cluster secrets had sealed.
type Resealing struct {
	Older  int    `json:"olderSecrets"` // Former secrets that this node was given.
	Values int    `json:"values"`       // Sealed values in the whole state.
	Left   int    `json:"sealedByOlder"`
	Lost   int    `json:"unopened"`  // Values sealed by a secret that this node was not given, or damaged.
	Index  uint64 `json:"index"`     // Index of the state that was checked.
	At     string `json:"logTime"`   // Log time of that state.
	Free   bool   `json:"removable"` // Nothing in this state needs the former secrets any more.
}

// WitnessStatus is one witness.
type WitnessStatus struct {
	Name     string `json:"name"`
	Cosigned bool   `json:"cosigned"`        // It signed the newest cosigned checkpoint.
	Error    string `json:"error,omitempty"` // Why its last answer was no signature. Only the leader, which asks it, knows.
}

// Cosigned has the signatures of witnesses under one checkpoint. Every node makes the rest of
// the checkpoint itself.
type Cosigned struct {
	Size  uint64   `cbor:"1,keyasint"` // Size of the tree.
	Time  int64    `cbor:"2,keyasint"` // Log time in the signatures, in nanoseconds.
	Lines []string `cbor:"3,keyasint"` // Signature lines, one for each key of a witness.
}

// Sound reports whether it may be sent: it has at most 32 lines, with 64 KiB together.
func (c *Cosigned) Sound() bool {
	size := 0
	for _, line := range c.Lines {
		size += len(line)
	}
	return len(c.Lines) <= 32 && size <= 64<<10
}

// TakeDown says whether a node may be stopped, wiped or replaced now, and if not, why.
type TakeDown struct {
	OK  bool     `json:"ok"`
	Why []string `json:"why"`
}

// LeaderInfo names the leader.
type LeaderInfo struct {
	ID      string `json:"id"`
	Addr    string `json:"addr"`
	APIAddr string `json:"apiAddr"`
}

// QuorumInfo says how many losses the cluster survives.
type QuorumInfo struct {
	Voters           int `json:"voters"`
	Healthy          int `json:"healthy"`
	FailureTolerance int `json:"failureTolerance"`
}

// IndexInfo says where this node's log stands.
type IndexInfo struct {
	Commit   uint64 `json:"commit"`
	Applied  uint64 `json:"applied"`
	Snapshot uint64 `json:"snapshot"`
}

// NodeStatus is one member as this node sees it.
type NodeStatus struct {
	ID            string `json:"id"`
	Addr          string `json:"addr"`
	APIAddr       string `json:"apiAddr"`
	Suffrage      string `json:"suffrage"` // voter, nonvoter
	Role          string `json:"role"`     // leader, follower, candidate, nonvoter, stopped; unreachable: it does not answer.
	Healthy       bool   `json:"healthy"`
	LastContactMs int64  `json:"lastContactMs"` // -1: never.
	AppliedIndex  uint64 `json:"appliedIndex"`
	Lag           uint64 `json:"lag"`
	Version       string `json:"version"`
	UpSince       string `json:"upSince"`
	ClockSkewMs   int64  `json:"clockSkewMs"`
	DiskFreePct   int    `json:"diskFreePct"`
	ListVersion   uint64 `json:"listVersion"`

	FormatMax uint16 `json:"maxFeatureLevel"` // Highest format that it can apply; 0: it never answered.

	Matchers []uint16 `json:"matcherVersions"` // Versions of the matcher that it carries; null: it never answered.

	Key string `json:"nodeKey"` // Digest of the key by which the group knows it.
}

// KeyUse is how often one node was called with an API key lately.
type KeyUse struct {
	Key   string `cbor:"1,keyasint"` // The key's id.
	Milli uint32 `cbor:"2,keyasint"` // Calls in 1,000 seconds at the recent pace.
}

// KeyUseMax is how many keys a node reports to its peers: the most used ones.
const KeyUseMax = 64

// WriteState says whether writes go through: ok, no_quorum or transferring.
type WriteState struct {
	State string `json:"state"`
}

// Autopilot describes what the leader does with the membership by itself.
type Autopilot struct {
	DeadAfterSeconds int64    `json:"deadAfterSeconds"` // A voter silent for so long loses its vote; below 0: never.
	StableSeconds    int64    `json:"stableSeconds"`    // A node that keeps up for so long gets a vote.
	VotersKept       int      `json:"votersKept"`       // Never fewer voters than this are left.
	Silent           []string `json:"silent"`           // Voters that do not answer; only the leader fills it.
}

// ReadyQuery is the query of GET /readyz.
type ReadyQuery struct {
	NoLeader bool     // Judge the node without a leader.
	Sync     bool     // Wait for the commit index first.
	Leader   bool     // Only the leader is ready.
	MaxLag   uint64   // 0: the default bound.
	Exclude  []string // Checks to leave out.
}

// Readiness is the answer of GET /readyz.
type Readiness struct {
	Ready  bool
	Checks []ReadyCheck
}

// ReadyCheck is one line of it: "[+]leader ok (n2, 3ms)".
type ReadyCheck struct {
	Name string
	OK   bool
	Text string
}

// SnapshotInfo describes a raft snapshot.
type SnapshotInfo struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Size  int64  `json:"size"`
	Time  string `json:"time"`
}

// Currentness says whether a node knows enough of what its group has committed to answer from
// its own state.
type Currentness uint8

const (
	Starting Currentness = iota // It has not applied yet what was committed when it first reached the leader.
	CutOff                      // For too long nobody has confirmed that its state is the newest.
	Current
)
