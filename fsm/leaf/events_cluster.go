package leaf

import "railguard/engine"

// Events of the cluster: its formats, lists, members and keys.

// FormatRaised is the format that applies from then on.
type FormatRaised struct {
	Format uint16 `leaf:"format"`
}

// MatcherRaised is the version of the name matcher from then on.
type MatcherRaised struct {
	Version uint16 `leaf:"matcherVersion" event:"1"`
}

// ListStaged is a list that may be activated.
type ListStaged struct {
	Digest  [32]byte `leaf:"listDigest" event:"1"`
	Entries uint32   `leaf:"entries" event:"4"`
}

// ListActivated is the list that verdicts are judged with from then on.
type ListActivated struct {
	Digest   [32]byte    `leaf:"listDigest" event:"1"`
	Previous *[32]byte   `leaf:"previousDigest,omitempty" event:"2"` // nil if there was none.
	Version  uint64      `leaf:"listVersion" event:"3"`
	Entries  uint32      `leaf:"entries" event:"4"`
	SyncedAt engine.Time `leaf:"syncedAt" event:"5"`
	Sample   bool        `leaf:"sample"`
	Forced   bool        `leaf:"forced"`
	Uploaded bool        `leaf:"uploaded,omitempty" doc:"a caller sent it; the node did not fetch it"`
	List     string      `leaf:"listId,omitempty" doc:"the list beside OFAC's that is new in it"`
	Persons
}

// ListSynced is a list that was found current.
type ListSynced struct {
	Digest   [32]byte    `leaf:"listDigest" event:"1"`
	Version  uint64      `leaf:"listVersion" event:"3"`
	SyncedAt engine.Time `leaf:"syncedAt" event:"5"`
	List     string      `leaf:"listId,omitempty" doc:"the list beside OFAC's that was found current"`
}

// ClusterCreated is a cluster's first leaf.
type ClusterCreated struct {
	ClusterID string `leaf:"clusterId"`
	Dev       bool   `leaf:"dev"`
	KID       string `leaf:"kid"`
}

// MemberRemoved is a node that is never admitted again.
type MemberRemoved struct {
	NodeID      string `leaf:"nodeId"`
	Incarnation string `leaf:"incarnation"`
	Subject     string `leaf:"subject,omitempty" doc:"for whom the key acts that asked for it; absent: the cluster did it by itself, as the node came back with another folder"`
}

// MemberChanged is what a caller does to a member; the group's configuration changes right after it.
type MemberChanged struct {
	NodeID  string `leaf:"nodeId"`
	Change  string `leaf:"change" doc:"admitted, promoted or demoted"`
	Subject string `leaf:"subject,omitempty" doc:"for whom the key acts that asked for it"`
}

// BackupScheduled is the schedule of the cluster's own backups from then on; without a folder there
// is none. Spans are seconds.
type BackupScheduled struct {
	Folder    string `leaf:"folder,omitempty" event:"1" doc:"as each node sees it; absent: the schedule ended"`
	Full      uint32 `leaf:"fullSeconds,omitempty" event:"2"`
	Increment uint32 `leaf:"incrementSeconds,omitempty" event:"3"`
	Tail      uint32 `leaf:"tailSeconds,omitempty" event:"4" doc:"how often the newest entries of the log are shipped"`
	Drill     uint32 `leaf:"drillSeconds,omitempty" event:"5"`
	Keep      uint16 `leaf:"keep,omitempty" event:"6" doc:"so many full backups stay, each with what continues it"`
}

// BackupTaken is a copy that was verified after it was written.
type BackupTaken struct {
	File   string   `leaf:"file" event:"1"`
	Node   string   `leaf:"node" event:"2"`
	Bytes  uint64   `leaf:"bytes" event:"3"`
	First  uint64   `leaf:"firstLeaf" event:"4"`
	End    uint64   `leaf:"endLeaf" event:"5" doc:"the leaf after its last one"`
	Digest [32]byte `leaf:"fileDigest" event:"6"`
	Full   bool     `leaf:"full" event:"7"`
}

// BackupDrilled is how the rehearsal of a restore ended.
type BackupDrilled struct {
	Node   string `leaf:"node" event:"1"`
	Files  uint32 `leaf:"files" event:"2"`
	Leaves uint64 `leaf:"leaves" event:"3"`
	Failed string `leaf:"failed,omitempty" event:"4" doc:"why; absent: all came back"`
}

// Resealed counts the values that were sealed again.
type Resealed struct {
	Values uint32 `leaf:"values" doc:"so many were sealed anew under another cluster secret"`
}

// LogKeyRotated says from which tree size on the log's new keys sign.
type LogKeyRotated struct {
	FromTreeSize uint64 `leaf:"fromTreeSize" doc:"from which on the new keys sign"`
}

// Restored is the first leaf of a restored backup's epoch.
type Restored struct {
	Lineage string `leaf:"lineage"`
	Backup  string `leaf:"backup"`
	Epoch   uint64 `leaf:"epoch" doc:"of which it is the first leaf"`
}

// Recovered is the first leaf after a lost majority was recovered.
type Recovered struct {
	Lineage string `leaf:"lineage" doc:"the edge says what was decided, by whom, and from where on records may be lost"`
	Epoch   uint64 `leaf:"epoch" doc:"of which it is the first leaf; where 64 epochs have begun or their numbers are used up, of the one before"`
}

// ListDue is an active list that is older than the policy allows.
type ListDue struct {
	Version  uint64      `leaf:"listVersion" event:"3"`
	SyncedAt engine.Time `leaf:"syncedAt" event:"5"`
}

// KeyDue is an API key that ends.
type KeyDue struct {
	Key
	ExpiresAt engine.Time `leaf:"expiresAt" event:"3"`
}

// PairDue is a cleared pair that has expired.
type PairDue struct {
	Pair
	ExpiredAt engine.Time `leaf:"expiredAt" event:"3"`
}
