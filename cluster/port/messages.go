package port

import (
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Kind is the number of a question to a peer. A number is never used for another question.
type Kind uint8

const (
	callReply     Kind = 0
	callPing      Kind = 1
	callForward   Kind = 2
	callReadIndex Kind = 3
	callTerm      Kind = 4
	callLeaf      Kind = 5
	callJoin      Kind = 6
	callVerb      Kind = 7
	callPromise   Kind = 8
	// Number 9 was a call for a tree's compact range. It is not used again.
	callRoots   Kind = 10
	callBundle  Kind = 11
	callSegment Kind = 12
	callDigest  Kind = 13
	callList    Kind = 14
	callGiveUp  Kind = 15
	callRemoved Kind = 16
	callSecret  Kind = 17
	callRelay   Kind = 18
	callVouch   Kind = 19
	callTime    Kind = 20
	callFailed  Kind = 255
)

// isKnock reports whether a node may ask it that is no member yet: who is there, whether it may
// come in, and whether both have the cluster secret. No answer has a record.
func (k Kind) isKnock() bool {
	switch k {
	case callPing, callJoin, callPromise, callRemoved, callSecret:
		return true
	}
	return false
}

// The messages have one type for each question and one for each answer. The method kind ties
// the two together: Ask and Handle accept no other pairs. An empty message is sent as no bytes
// at all. A member's number is never used for another member, even if a message leaves out
// members that another one has.

// Done answers a call that only does something.
type Done struct{}

// Code explains an empty answer; 0 means that the answer carries data.
type Code uint8

const (
	CodeMissing Code = 1 // The data is not here; another peer may have it.
	CodePruned  Code = 2
	CodeNotYet  Code = 3
)

// PingCall asks a node how it is.
type PingCall struct{}

// Pong answers a ping and describes the node.
type Pong struct {
	ID          string      `cbor:"1,keyasint"`
	Incarnation string      `cbor:"2,keyasint"`
	ClusterID   string      `cbor:"3,keyasint,omitempty"`
	Wall        engine.Time `cbor:"4,keyasint"`
	Term        uint64      `cbor:"5,keyasint"`
	Role        string      `cbor:"6,keyasint"`
	Applied     uint64      `cbor:"7,keyasint"`
	Commit      uint64      `cbor:"8,keyasint"`
	Release     string      `cbor:"9,keyasint,omitempty"`
	APIAddr     string      `cbor:"10,keyasint,omitempty"`
	UpSince     string      `cbor:"11,keyasint,omitempty"`
	DiskFree    int32       `cbor:"12,keyasint"`
	ListVersion uint64      `cbor:"13,keyasint,omitempty"`
	FormatMax   uint16      `cbor:"14,keyasint"`
	Leads       bool        `cbor:"15,keyasint,omitempty"` // Its term is open for proposals.
	Healthy     bool        `cbor:"16,keyasint,omitempty"`
	Member      bool        `cbor:"17,keyasint,omitempty"` // It has a configuration or data.
	Expect      int         `cbor:"18,keyasint,omitempty"` // The value of --bootstrap-expect.
	Address     string      `cbor:"19,keyasint,omitempty"` // The address that it gives as a member.
	Missing     bool        `cbor:"20,keyasint,omitempty"` // It still fetches history.

	Use []report.KeyUse `cbor:"21,keyasint,omitempty"` // Recent use of API keys.

	Recovery uint64 `cbor:"22,keyasint,omitempty"` // How many recoveries its group has had.
	Recorded bool   `cbor:"23,keyasint,omitempty"` // The leaf of the last recovery is in the log.

	Process uint64 `cbor:"24,keyasint,omitempty"` // Random number of the process that answers.

	Low bool `cbor:"26,keyasint,omitempty"` // Its disk is nearly full.

	Tables []ListTables `cbor:"25,keyasint,omitempty"` // Finished tables of the active and the staged list.

	Matchers []uint16 `cbor:"27,keyasint,omitempty"` // Versions of the matcher that its binary carries.

	Cosigned *report.Cosigned `cbor:"28,keyasint,omitempty"` // The newest checkpoint that witnesses cosigned for it.

	LogTime engine.Time `cbor:"29,keyasint,omitempty"` // Log time, moved on by its monotonic clock since it applied the last entry.
	LeapTo  engine.Time `cbor:"30,keyasint,omitempty"` // It leads, and does not open its term before persons confirm that it may leap to here.

	Stays bool `cbor:"31,keyasint,omitempty"` // It met a later recovery of its cluster, and stays: a majority stood behind it.

	Backup string `cbor:"32,keyasint,omitempty"` // Why the cluster's own backups fail on it.
}

// ListTables names a compiled list: the digest of its entities and the version of the matcher.
type ListTables struct {
	Digest  [32]byte `cbor:"1,keyasint"`
	Matcher uint16   `cbor:"2,keyasint"`
	Sample  uint64   `cbor:"3,keyasint,omitempty"` // What the tables answer to sample questions (ofac.Index.SampleDigest).
}

// ForwardCall carries a frame of records to the leader.
type ForwardCall struct {
	Term    uint64 `cbor:"1,keyasint"`
	Number  uint64 `cbor:"2,keyasint"` // Increases within a process of the sender.
	Process uint64 `cbor:"5,keyasint"`
	Count   int    `cbor:"3,keyasint"`
	Records []byte `cbor:"4,keyasint"`
}

// ForwardReply has the fate of the frame and its results.
type ForwardReply struct {
	Fate    uint8         `cbor:"1,keyasint"`
	Results []wire.Result `cbor:"2,keyasint,omitempty"`
}

// GiveUpCall asks, after a broken connection, which frames up to Number arrived. The others
// will be refused from then on.
type GiveUpCall struct {
	Term    uint64 `cbor:"1,keyasint"`
	Number  uint64 `cbor:"2,keyasint"`
	Process uint64 `cbor:"3,keyasint"`
}

type GiveUpReply struct {
	Arrived []uint64 `cbor:"1,keyasint,omitempty"` // The newest numbers.
}

// JoinCall asks to become a member.
type JoinCall struct {
	ID      string `cbor:"1,keyasint"`
	Address string `cbor:"2,keyasint"` // The address that it gives as a member.
	Release string `cbor:"3,keyasint,omitempty"`
	Format  uint16 `cbor:"4,keyasint"` // Highest format it applies.
}

// VerbCall is an operator's verb on its way to the leader.
type VerbCall struct {
	Verb string `cbor:"1,keyasint"`
	ID   string `cbor:"2,keyasint,omitempty"`
	Addr string `cbor:"3,keyasint,omitempty"`

	Force bool `cbor:"4,keyasint,omitempty"` // Do it even if too few of the remaining voters answer.

	Key string `cbor:"5,keyasint,omitempty"` // The key that the node must have; "": any.

	By wire.Common `cbor:"6,keyasint"` // Who asks for it and why, for the leaf of the change.
}

// VouchCall asks a member whether a node is a member too.
type VouchCall struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
}

// VouchReply has the answer.
type VouchReply struct {
	Member bool `cbor:"1,keyasint,omitempty"`
}

// TimeCall is a record by which persons say what the time is, on its way to a leader that does not
// open its term without it.
type TimeCall struct {
	Kind wire.Kind `cbor:"1,keyasint"`
	Body []byte    `cbor:"2,keyasint"`
}

// TimeReply has the record's result.
type TimeReply struct {
	Result wire.Result `cbor:"1,keyasint"`
}

// RemovedCall tells a node that it may no longer be a member. It does not end the node: the
// node with this id, and this incarnation as addresses show it, asks the group.
type RemovedCall struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
}

// PromiseCall asks a node without data to let the caller form the group.
type PromiseCall struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
}

// SecretCall asks a node to prove that it knows the cluster secret, which a certificate alone
// does not prove.
type SecretCall struct {
	Challenge []byte `cbor:"1,keyasint"`
}

// SecretReply has the proof, which is valid for this challenge and this node only.
type SecretReply struct {
	Proof []byte `cbor:"1,keyasint"`
}

// ReadIndexCall asks the leader for its commit index, confirmed by a quorum.
type ReadIndexCall struct{}

// ReadIndexReply has the commit index.
type ReadIndexReply struct {
	Index uint64 `cbor:"1,keyasint,omitempty"`
	Term  uint64 `cbor:"2,keyasint,omitempty"` // The term in which the leader knew it to be committed; 0: unknown.
}

// TermCall asks for a node's current term.
type TermCall struct{}

// TermReply has the term.
type TermReply struct {
	Term uint64 `cbor:"1,keyasint,omitempty"`
}

// LeafCall asks for one leaf of history.
type LeafCall struct {
	Leaf uint64 `cbor:"1,keyasint,omitempty"`
}

// LeafReply has the leaf's bytes.
type LeafReply struct {
	Data []byte `cbor:"2,keyasint,omitempty"`
	Code Code   `cbor:"4,keyasint,omitempty"`
}

// RootsCall asks for the roots of the segments of a tree of Size leaves.
type RootsCall struct {
	Size uint64 `cbor:"3,keyasint,omitempty"`
}

// RootsReply has the roots, 32 bytes each.
type RootsReply struct {
	Roots [][]byte `cbor:"3,keyasint,omitempty"`
}

// BundleCall asks for the bundle Number of Width leaves, with a proof to the root of a tree of
// Size leaves.
type BundleCall struct {
	Number uint64 `cbor:"1,keyasint,omitempty"`
	Width  int    `cbor:"2,keyasint,omitempty"`
	Size   uint64 `cbor:"3,keyasint,omitempty"`
}

// BundleReply has the leaves as audit packs them, and the proof.
type BundleReply struct {
	Data []byte   `cbor:"2,keyasint,omitempty"`
	Path [][]byte `cbor:"3,keyasint,omitempty"`
}

// SegmentCall asks for a piece of a sealed segment's file.
type SegmentCall struct {
	Segment uint64 `cbor:"1,keyasint,omitempty"`
	Offset  int64  `cbor:"4,keyasint,omitempty"`
}

// SegmentReply has the piece; Total is the file's size.
type SegmentReply struct {
	Data  []byte `cbor:"2,keyasint,omitempty"`
	Code  Code   `cbor:"4,keyasint,omitempty"`
	Total int64  `cbor:"5,keyasint,omitempty"`
}

// DigestCall asks for the digest of the state at Index, and gives the caller's.
type DigestCall struct {
	Index  uint64 `cbor:"1,keyasint,omitempty"`
	Digest []byte `cbor:"5,keyasint,omitempty"`
}

// DigestReply has the digest.
type DigestReply struct {
	Digest []byte `cbor:"2,keyasint,omitempty"`
	Code   Code   `cbor:"4,keyasint,omitempty"`
}

// ListCall asks for a piece of an encoded list of entities.
type ListCall struct {
	Offset int64  `cbor:"4,keyasint,omitempty"`
	Digest []byte `cbor:"5,keyasint,omitempty"`
}

// ListReply has the piece; Total is the list's size.
type ListReply struct {
	Data  []byte `cbor:"2,keyasint,omitempty"`
	Code  Code   `cbor:"4,keyasint,omitempty"`
	Total int64  `cbor:"5,keyasint,omitempty"`
}

// RelayCall asks the function that OnRelay set on the other node. The port does not know what
// the bytes of question and answer mean.
type RelayCall struct {
	Body []byte `cbor:"1,keyasint"`
}

// RelayReply has the answer; it is empty if nothing answers.
type RelayReply struct {
	Body []byte `cbor:"1,keyasint,omitempty"`
}

func (PingCall) kind(Pong) Kind                { return callPing }
func (ForwardCall) kind(ForwardReply) Kind     { return callForward }
func (GiveUpCall) kind(GiveUpReply) Kind       { return callGiveUp }
func (ReadIndexCall) kind(ReadIndexReply) Kind { return callReadIndex }
func (TermCall) kind(TermReply) Kind           { return callTerm }
func (LeafCall) kind(LeafReply) Kind           { return callLeaf }
func (JoinCall) kind(Done) Kind                { return callJoin }
func (VerbCall) kind(Done) Kind                { return callVerb }
func (RemovedCall) kind(Done) Kind             { return callRemoved }
func (PromiseCall) kind(Done) Kind             { return callPromise }
func (SecretCall) kind(SecretReply) Kind       { return callSecret }
func (RootsCall) kind(RootsReply) Kind         { return callRoots }
func (BundleCall) kind(BundleReply) Kind       { return callBundle }
func (SegmentCall) kind(SegmentReply) Kind     { return callSegment }
func (DigestCall) kind(DigestReply) Kind       { return callDigest }
func (ListCall) kind(ListReply) Kind           { return callList }
func (VouchCall) kind(VouchReply) Kind         { return callVouch }
func (RelayCall) kind(RelayReply) Kind         { return callRelay }
func (TimeCall) kind(TimeReply) Kind           { return callTime }
