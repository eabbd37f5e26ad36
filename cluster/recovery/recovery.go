package recovery

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
)

// This package recovers a group that lost its majority for good (docs/decisions/0022). Two
// people order that one survivor becomes the whole group. Its own log and state stay as they
// are, and one membership entry is written behind the last entry.
//
// Afterwards everything in the survivor's log counts as committed, also entries that never
// were. Everything that was acknowledged after its last entry is lost, and nothing on its disk
// can tell whether there was any. So the command first shows both, and the next start writes a
// leaf that says so before anything else. The lineage tells the members of the old group apart
// for ever.

// Source names the stopped folder that is inspected, and what is known of the other survivors.
type Source struct {
	Dir     string
	ID      string             // Must be the folder's node; "": any.
	Compare []string           // Folders of other survivors, which must be stopped too.
	Peers   []datadir.Survivor // Survivors on other machines, typed by hand.
}

// ParseSurvivor parses n2=12345/7: node, last index, last term.
func ParseSurvivor(text string) (datadir.Survivor, error) {
	wrong := fmt.Errorf("%q is not of the form NODE=INDEX/TERM, e.g. n2=12345/7", text)
	node, position, named := strings.Cut(text, "=")
	indexText, termText, split := strings.Cut(position, "/")
	if !named || !split || port.ValidID(node) != nil {
		return datadir.Survivor{}, wrong
	}
	index, err := strconv.ParseUint(indexText, 10, 64)
	term, termErr := strconv.ParseUint(termText, 10, 64)
	if err != nil || termErr != nil || index == 0 || term == 0 {
		return datadir.Survivor{}, wrong
	}
	return datadir.Survivor{Node: node, Index: index, Term: term, From: "given"}, nil
}

// UncertainLeaf is an audit leaf of an entry that may never have been committed.
type UncertainLeaf struct {
	Index   uint64 `json:"index"`
	Leaf    uint64 `json:"leaf"`
	Kind    string `json:"kind"`
	ID      string `json:"id"` // txnId or eventId.
	Verdict string `json:"verdict,omitempty"`
	Time    string `json:"time"`
}

// Uncertain has the entries at the log's end that may never have been committed. The recovery
// treats them as committed.
type Uncertain struct {
	First   uint64          `json:"first,omitempty"`
	Last    uint64          `json:"last,omitempty"`
	Entries uint64          `json:"entries"`
	Leaves  uint64          `json:"leaves"`
	Listed  []UncertainLeaf `json:"listed"` // The first of these leaves, at most uncertainListed.
}

// Report is what a survivor's disk shows, and what it cannot show.
type Report struct {
	Dir        string           `json:"dataDir"`
	ClusterID  string           `json:"clusterId"`
	Node       string           `json:"node"`
	Recoveries uint64           `json:"recoveries"` // Recoveries of this group so far.
	Members    []datadir.Member `json:"members"`

	FirstIndex    uint64 `json:"firstIndex"` // First entry of the log on disk; 0: the log is empty.
	LastIndex     uint64 `json:"lastIndex"`
	LastTerm      uint64 `json:"lastTerm"`
	LastTime      string `json:"lastTime"` // Log time of the last entry.
	Term          uint64 `json:"term"`     // The highest term that this node has heard of.
	SnapshotIndex uint64 `json:"snapshotIndex"`
	SnapshotTerm  uint64 `json:"snapshotTerm"`

	CommittedIndex uint64    `json:"committedIndex"` // At least this index is committed.
	CommittedBy    string    `json:"committedBy"`    // How that is known.
	Uncertain      Uncertain `json:"uncertain"`

	AuditLeaves  uint64 `json:"auditLeaves"` // How many leaves there are when the whole log is applied.
	TreeHead     string `json:"treeHead"`
	StateDigest  string `json:"stateDigest"`
	AuditOnDisk  uint64 `json:"auditOnDisk"`
	AuditMissing uint64 `json:"auditMissing"`

	Own       datadir.Survivor   `json:"own"`       // What this folder shows, as it is compared.
	Survivors []datadir.Survivor `json:"survivors"` // The other survivors that were named.
	Furthest  string             `json:"furthest"`
	Behind    bool               `json:"behind"`

	Warnings []string `json:"warnings"`
	Problems []string `json:"problems"` // Each forbids a recovery from this folder.
	Earlier  *State   `json:"earlier,omitempty"`
}

// State says how far a recovery of this folder went.
type State struct {
	State     string `json:"state"` // begun, waiting or recorded.
	Node      string `json:"node"`  // The node that was recovered; another survivor follows it.
	Recovery  uint64 `json:"recovery"`
	Lineage   string `json:"lineage"`
	DecidedAt string `json:"decidedAt"`
	By        string `json:"by"`
	Second    string `json:"second"`
	Reason    string `json:"reason"`
	Backup    string `json:"backup"`

	Kept []string `json:"kept,omitempty"` // Its other members from the start.
}

// Order says which recovery to make; two people confirm it.
type Order struct {
	ClusterID   string // A person types it, so that nobody recovers the wrong machine.
	By, Second  string
	Reason      string
	ForceBehind bool
	Keep        []string // Other survivors that stay members with their folders. Follow prepares each of them.
}

const (
	orderNameMax   = 128
	orderReasonMax = 512
)

// Errors of InspectRecovery and Recover. After each of them nothing was changed.
var (
	ErrOrder       = errors.New("recovery refused")
	ErrFolderInUse = errors.New("a running process holds the data folder: stop the node first")
)

func (o *Order) checkAgainst(r *Report) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOrder, fmt.Sprintf(format, args...))
	}
	by, second := strings.TrimSpace(o.By), strings.TrimSpace(o.Second)
	switch {
	case o.ClusterID != r.ClusterID:
		return refuse("the folder is of cluster %q, not of %q", r.ClusterID, o.ClusterID)
	case by == "" || second == "":
		return refuse("two people must answer for it: name both")
	case strings.EqualFold(by, second):
		return refuse("two different people must answer for it, not %q twice", by)
	case strings.TrimSpace(o.Reason) == "":
		return refuse("say why: the reason goes into the audit log for ever")
	case len(by) > orderNameMax || len(second) > orderNameMax || len(o.Reason) > orderReasonMax:
		return refuse("names have at most %d bytes and the reason %d", orderNameMax, orderReasonMax)
	case len(r.Problems) > 0:
		return refuse("%s", strings.Join(r.Problems, "; "))
	case r.Behind && len(o.Keep) > 0:
		return refuse("%s is further than this node: where others are kept, the furthest must be recovered", r.Furthest)
	case r.Behind && !o.ForceBehind:
		return refuse("%s is further than this node: recover from it, or everything it has beyond this one is lost", r.Furthest)
	}
	for _, id := range o.Keep {
		kept := slices.IndexFunc(r.Members, func(m datadir.Member) bool { return m.ID == id && !m.Self })
		if kept < 0 {
			return refuse("%s cannot be kept: it is no other member of this group", id)
		}
		// Together the kept nodes are a quorum, so the one whose log is longest must be recovered.
		if !slices.ContainsFunc(r.Survivors, func(s datadir.Survivor) bool { return s.Node == id }) {
			return refuse("%s cannot be kept before it is known where its log ends: name it with --compare or --peer-index", id)
		}
	}
	return nil
}

func instantOf(t time.Time) string { return t.UTC().Format(datadir.TimeFormat) }

func stateOf(r *datadir.Record) State {
	return State{
		State: r.State, Node: r.Node, Kept: r.Kept, Recovery: r.Recovery, Lineage: r.Lineage, DecidedAt: r.DecidedAt,
		By: r.By, Second: r.Second, Reason: r.Reason, Backup: r.Backup,
	}
}
