package cluster

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

const (
	clockOffsetMax = 500 * engine.Millisecond // A node whose clock is further off is named everywhere.
	maxLagDefault  = 1000                     // Entries a ready node may be behind.
	displacedShown = engine.Hour              // How long a full table of R25 is shown, in log time.
)

// Role returns this node's role in the group: leader, follower, candidate, nonvoter or stopped.
func (n *Node) Role() string {
	if n.life.dead.Load() != nil {
		return "stopped"
	}
	switch n.replica.raft.State() {
	case raft.Leader:
		return "leader"
	case raft.Candidate:
		return "candidate"
	case raft.Shutdown:
		return "stopped"
	}
	for _, server := range n.replica.listServers() {
		if server.ID == raft.ServerID(n.config.ID) && server.Suffrage == raft.Voter {
			return "follower"
		}
	}
	return "nonvoter"
}

// Status describes the group as this node sees it.
func (n *Node) Status(ctx context.Context) report.ClusterStatus {
	settings := n.Settings()
	commit := n.replica.raft.CommitIndex()
	s := report.ClusterStatus{
		Node: n.config.ID, Role: n.Role(), Term: n.replica.raft.CurrentTerm(),
		Index: report.IndexInfo{
			Commit: commit, Applied: n.Applied(), Snapshot: newestSnapshot(n.snaps),
		},
		FeatureLevel: uint16(settings.Format), MaxLevel: uint16(engine.FormatNewest),
		Matcher: settings.Matcher, LogTime: n.LogTime().String(),
	}
	if settings.Genesis != nil {
		s.ClusterID = settings.Genesis.ClusterID
	}
	if digest, ok := n.digester.newestDigest(); ok {
		s.StateDigest, s.DigestIndex = hex.EncodeToString(digest.Digest), digest.Index
	}
	id, address, _ := n.replica.currentLeader(time.Now())
	var stale error
	if address == "" {
		stale = wire.ErrNoLeader
	} else {
		stale = n.upToDate(ctx) // This must come before the members are listed.
	}
	s.Nodes = n.listNodes(ctx, commit)
	if address != "" {
		s.Leader = &report.LeaderInfo{ID: string(id), Addr: port.HostOf(string(address))}
		for _, node := range s.Nodes {
			if node.ID == string(id) {
				s.Leader.APIAddr = node.APIAddr
			}
		}
	}
	s.Quorum = quorumOf(s.Nodes)
	s.Writes.State = n.whyNoWrites(&s)
	s.TakeDown = n.takeDown(&s, stale)
	s.Autopilot = n.membership.describeAutopilot(s.Nodes)
	s.Warnings = append(append(n.listWarnings(), n.groupWarnings(&s)...), n.membership.waitingWarnings()...)
	return s
}

// quorumOf counts voters and losses. A loss is survived while more than half of all voters are
// healthy.
func quorumOf(nodes []report.NodeStatus) (q report.QuorumInfo) {
	for _, node := range nodes {
		if node.Suffrage != suffrageVoter {
			continue
		}
		q.Voters++
		if node.Healthy {
			q.Healthy++
		}
	}
	q.FailureTolerance = max(q.Healthy-(q.Voters/2+1), 0)
	return q
}

// roleUnreachable is the role of a member that does not answer.
const roleUnreachable = "unreachable"

const (
	suffrageVoter    = "voter"
	suffrageNonvoter = "nonvoter"
)

func (n *Node) whyNoWrites(s *report.ClusterStatus) string {
	answering, voters := n.peers.countReachable()
	switch {
	case s.Leader == nil || answering < voters/2+1 || n.life.dead.Load() != nil:
		return "no_quorum"
	case n.clocks.waiting.Load() != nil:
		return "time_unconfirmed"
	case n.replica.transferring.Load():
		return "transferring"
	}
	return "ok"
}

// listNodes lists the members. This node is always in the list.
func (n *Node) listNodes(_ context.Context, commit uint64) []report.NodeStatus {
	var nodes []report.NodeStatus
	self := n.describeSelf(commit)
	for _, server := range n.replica.listServers() {
		node := self
		if string(server.ID) != n.config.ID {
			node = n.peerStatus(string(server.ID), commit, time.Now())
		}
		to, err := port.ParseAddress(string(server.Address))
		node.Addr, node.Key = port.HostOf(string(server.Address)), to.Incarnation
		node.Suffrage = suffrageNonvoter
		if server.Suffrage == raft.Voter {
			node.Suffrage = suffrageVoter
		} else if err == nil && !to.Hold {
			node.Healthy = false // It has no vote yet, and should have one.
		}
		nodes = append(nodes, node)
	}
	if !slices.ContainsFunc(nodes, func(node report.NodeStatus) bool { return node.ID == n.config.ID }) {
		nodes = append(nodes, self)
	}
	return nodes
}

// peerStatus returns a member's line, from its last answer to a ping.
func (n *Node) peerStatus(id string, commit uint64, now time.Time) report.NodeStatus {
	node := report.NodeStatus{ID: id, LastContactMs: -1, Role: roleUnreachable}
	last, known := n.peers.lastSample(id)
	if !known {
		return node
	}
	_, fresh := n.peers.freshSample(id)
	median, _ := n.clocks.medianOffset()
	p := &last.pong
	node.APIAddr, node.Role, node.Version, node.UpSince = p.APIAddr, p.Role, p.Release, p.UpSince
	if !fresh || last.silent {
		node.Role = roleUnreachable // Its role in its last answer means nothing now.
	}
	node.LastContactMs = now.Sub(last.at).Milliseconds()
	node.AppliedIndex = p.Applied
	node.Lag = max(commit, p.Commit) - min(p.Applied, max(commit, p.Commit))
	node.Healthy = fresh && !last.silent && p.Healthy && node.Lag <= maxLagDefault
	node.ClockSkewMs = int64((last.offset - median) / engine.Millisecond)
	node.DiskFreePct, node.ListVersion, node.Matchers = int(p.DiskFree), p.ListVersion, p.Matchers
	node.FormatMax = p.FormatMax
	return node
}

// makePong returns this node's answer to a ping.
func (n *Node) makePong() *port.Pong {
	commit := n.replica.raft.CommitIndex()
	self := n.describeSelf(commit)
	settings := n.Settings()
	p := &port.Pong{
		ID: n.config.ID, Incarnation: n.folder.Identity().Incarnation,
		Wall: n.config.Clock.Wall(), Term: n.replica.raft.CurrentTerm(), Role: self.Role,
		Applied: self.AppliedIndex, Commit: commit, Release: n.config.Version, APIAddr: n.config.APIAddr,
		UpSince: self.UpSince, DiskFree: int32(self.DiskFreePct), ListVersion: self.ListVersion,
		FormatMax: uint16(engine.FormatNewest), Leads: n.replica.opened.Load() != 0 && !n.storage.Standing(),
		Healthy: self.Healthy, Member: len(n.replica.listServers()) > 0 || settings.Genesis != nil,
		Expect: n.config.BootstrapExpect, Address: n.greeter.address.String(),
		Missing: n.history.busy.Load(), Use: n.use.recentUse(), Cosigned: n.use.cosigned.Load(), Process: n.greeter.process, Backup: n.use.backupProblem(), Low: n.disk.isLow(),
		Tables: n.lists.nameTables(), Matchers: self.Matchers, LogTime: n.clocks.evenTime(),
	}
	if settings.Genesis != nil {
		p.ClusterID = settings.Genesis.ClusterID
	}
	_, p.Recovery, _ = n.folder.Known()
	if waiting := n.replica.leap.Load(); waiting != nil {
		p.LeapTo = waiting.to
	}
	p.Recorded = p.Recovery > 0 && n.lineage.isRecorded()
	p.Stays = n.lineage.stays.Load()
	return p
}

// describeSelf returns this node's own line in the list of nodes.
func (n *Node) describeSelf(commit uint64) report.NodeStatus {
	applied := n.Applied()
	return report.NodeStatus{
		ID: n.config.ID, Addr: n.greeter.address.Host, APIAddr: n.config.APIAddr,
		Suffrage: suffrageNonvoter, Role: n.Role(),
		// Without its whole history a node is no full copy, so the group could not afford to
		// lose others.
		Healthy:      n.life.dead.Load() == nil && !n.disk.isLow() && !n.history.busy.Load() && n.checkList().OK && !n.adapter.installing.underWay(),
		AppliedIndex: applied, Lag: commit - min(applied, commit),
		Version: n.config.Version, UpSince: n.since.UTC().Format(datadir.TimeFormat),
		ClockSkewMs: int64(n.clocks.clockOffset() / engine.Millisecond),
		DiskFreePct: int(n.disk.percent.Load()),
		ListVersion: n.Settings().ListVersion, Key: n.folder.Identity().Incarnation, Matchers: n.lists.matchers, FormatMax: uint16(engine.FormatNewest),
	}
}

// listWarnings returns what an operator should look at although the node goes on.
func (n *Node) listWarnings() []string {
	warnings := []string{}
	if restoring := n.adapter.installing.describe(); restoring != "" {
		warnings = append(warnings, "this node is "+restoring+": it has an older state until then, and asks for no votes")
	}
	if reason := n.life.dead.Load(); reason != nil {
		warnings = append(warnings, "this node has stopped: "+*reason)
	}
	switch diskLevel(n.disk.level.Load()) {
	case diskWarn:
		warnings = append(warnings, fmt.Sprintf("disk is getting full: %d%% free", n.disk.percent.Load()))
	case diskLow, diskFull:
		warnings = append(warnings, fmt.Sprintf("disk nearly full, no writes here: %d%% free", n.disk.percent.Load()))
	}
	warnings = append(append(warnings, n.clocks.timeWarnings()...), n.findSkewed()...)
	if offset := n.clocks.clockOffset(); offset > clockOffsetMax || offset < -clockOffsetMax {
		warnings = append(warnings, fmt.Sprintf("this node's clock is %d ms off", offset/engine.Millisecond))
	}
	if loss := n.history.describeLoss(); loss != "" {
		warnings = append(warnings, loss)
	}
	warnings = append(warnings, n.lists.describeRotten()...)
	if index, open := n.digester.inDispute(); open {
		warnings = append(warnings, fmt.Sprintf("states differ between nodes since log index %d, and no majority has one yet: bring every voter up", index))
	}
	if at := engine.Time(n.state.displaced.Load()); at > 0 && n.LogTime() < at+displacedShown {
		warnings = append(warnings, "R25 forgets payments that still count: there are more pairs of agent and counterparty than its table holds")
	}
	if other := n.lists.judgesOtherwise(); other != "" {
		warnings = append(warnings, other)
	}
	if stranger := n.lineage.strangerLately(); stranger != "" {
		warnings = append(warnings, "a node of another recovery of this cluster is there: "+stranger)
	}
	warnings = append(warnings, listWarnings(n.Settings().List)...)
	if n.waitsToBeTold() {
		warnings = append(warnings, waitingText)
	}
	return warnings
}

// listWarnings returns what is wrong with the active list.
func listWarnings(list *wire.ListInfo) (warnings []string) {
	if list == nil || list.Sample {
		return nil
	}
	for _, source := range ofac.Sources() {
		if row := source.Row(); list.OfSource(row.Name).Entries == 0 {
			warnings = append(warnings, fmt.Sprintf("the active sanctions list has no %s: nobody on it is found", row.Title))
		}
	}
	if list.Quarantined > 0 {
		warnings = append(warnings, fmt.Sprintf("%d malformed entities were left out of the active sanctions list: `railguard ofac status` names them", list.Quarantined))
	}
	return warnings
}

// groupWarnings returns what is wrong with the group, as this node sees it.
func (n *Node) groupWarnings(s *report.ClusterStatus) (warnings []string) {
	for _, node := range s.Nodes {
		switch {
		case node.Role == roleUnreachable && node.LastContactMs < 0:
			warnings = append(warnings, fmt.Sprintf("%s does not answer and never did since this node started", node.ID))
		case node.Role == roleUnreachable:
			since := time.Duration(node.LastContactMs) * time.Millisecond
			warnings = append(warnings, fmt.Sprintf("%s does not answer: last heard %v ago", node.ID, since.Round(time.Second/10)))
		case node.Lag > maxLagDefault:
			warnings = append(warnings, fmt.Sprintf("%s is %d entries behind", node.ID, node.Lag))
		}
		if last, known := n.peers.lastSample(node.ID); known && last.pong.Missing || node.ID == n.config.ID && n.history.busy.Load() && !n.history.isAlone() {
			warnings = append(warnings, fmt.Sprintf("history of %s is incomplete: it is fetched from the others", node.ID))
		}
	}
	warnings = append(append(warnings, matcherWarnings(s)...), formatWarnings(s)...)
	if len(s.Nodes) > 2 && !s.TakeDown.OK && s.Writes.State != "no_quorum" {
		warnings = append(warnings, "do not take another node down: "+strings.Join(s.TakeDown.Why, "; "))
	}
	return warnings
}

// matcherWarnings names voters that cannot judge with the matcher in force, and says when an
// upgrade can be finished.
func matcherWarnings(s *report.ClusterStatus) (warnings []string) {
	next, voters := 0, 0
	for _, node := range s.Nodes {
		if len(node.Matchers) > 0 && !slices.Contains(node.Matchers, s.Matcher) {
			warnings = append(warnings, fmt.Sprintf("%s cannot judge: matcher version %d is in force and it carries %v", node.ID, s.Matcher, node.Matchers))
		}
		if node.Suffrage == suffrageVoter {
			voters++
			if slices.Contains(node.Matchers, s.Matcher+1) {
				next++
			}
		}
	}
	if voters > 0 && next == voters && s.Matcher > 0 {
		warnings = append(warnings, fmt.Sprintf("every voter carries matcher version %d, and %d is in force: raise it with `railguard cluster raise-matcher --to %d`", s.Matcher+1, s.Matcher, s.Matcher+1))
	}
	return warnings
}

// statusPatience is how long a status may wait for the leader's answer.
const statusPatience = 500 * time.Millisecond

// upToDate waits until this node has applied what the group had committed when it was asked.
// Otherwise a node that has just joined again would list the former members: itself with its
// old vote, and nobody missing.
func (n *Node) upToDate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	index, err := n.ReadIndex(ctx)
	if err != nil {
		return err
	}
	return n.WaitApplied(ctx, index)
}

// takeDown says whether a node may be taken down: every other member must be healthy, and the
// group must survive the loss. stale says that the list of members may be out of date.
func (n *Node) takeDown(s *report.ClusterStatus, stale error) report.TakeDown {
	t := report.TakeDown{Why: []string{}}
	if stale != nil {
		t.Why = append(t.Why, fmt.Sprintf("%s does not know how the group is now: %v", n.config.ID, stale))
	}
	if s.Writes.State != "ok" {
		t.Why = append(t.Why, "writes: "+s.Writes.State)
	}
	for _, node := range s.Nodes {
		switch server, known := n.replica.findServer(raft.ServerID(node.ID)); {
		case node.Healthy:
		case node.Role == roleUnreachable:
			t.Why = append(t.Why, node.ID+" does not answer")
		case known && server.Suffrage != raft.Voter:
			t.Why = append(t.Why, node.ID+" has no vote yet")
		default:
			t.Why = append(t.Why, node.ID+" is not healthy")
		}
	}
	if s.Quorum.FailureTolerance == 0 {
		t.Why = append(t.Why, "no further node may be lost")
	}
	t.OK = len(t.Why) == 0
	return t
}

// findSkewed names members whose clocks differ from the others'.
func (n *Node) findSkewed() (named []string) {
	median, ok := n.clocks.medianOffset()
	for _, server := range n.replica.listServers() {
		s, fresh := n.peers.freshSample(string(server.ID))
		if off := s.offset - median; ok && fresh && (off > clockOffsetMax || off < -clockOffsetMax) {
			named = append(named, fmt.Sprintf("clock of %s is %d ms off", server.ID, off/engine.Millisecond))
		}
	}
	return named
}

const waitingText = "no data, no --bootstrap-expect and no --join: waiting to be told which cluster to form or join"

// waitsToBeTold reports whether nobody has said which group this node belongs to.
func (n *Node) waitsToBeTold() bool {
	return n.config.BootstrapExpect == 0 && len(n.config.Join) == 0 && len(n.replica.listServers()) == 0
}

// Ready judges whether a load balancer may send calls here.
func (n *Node) Ready(ctx context.Context, query report.ReadyQuery) report.Readiness {
	checks := []report.ReadyCheck{n.checkNode()}
	if !query.NoLeader { // This comes first: the next checks use the commit index that the leader gives.
		checks = append(checks, n.checkLeader(ctx, query), n.checkVote(), n.checkCurrent())
	}
	checks = append(checks, n.checkApplied(ctx, query), n.checkList(), n.checkDiskRoom(), n.checkClock())
	r := report.Readiness{Ready: true}
	for _, check := range checks {
		if slices.Contains(query.Exclude, check.Name) {
			continue
		}
		r.Checks = append(r.Checks, check)
		r.Ready = r.Ready && check.OK
	}
	return r
}

func (n *Node) checkNode() report.ReadyCheck {
	c := report.ReadyCheck{Name: "node", OK: true, Text: "ok"}
	switch {
	case n.life.dead.Load() != nil:
		c.OK, c.Text = false, "stopped: "+*n.life.dead.Load()
	case n.draining.Load():
		c.OK, c.Text = false, "draining"
	case n.storage.Standing():
		c.OK, c.Text = false, n.storage.describeStall()
	case n.adapter.installing.underWay():
		c.OK, c.Text = false, n.adapter.installing.describe()
	case n.waitsToBeTold():
		c.OK, c.Text = false, waitingText
	case n.Settings().Genesis == nil:
		c.OK, c.Text = false, "no state yet"+n.greeter.describeTrouble()
	default:
		// All nodes of a group that has just started may be at this, so it takes none out of service.
		if lacks := n.indexes.lacks(); lacks > 0 {
			c.Text = fmt.Sprintf("ok, but %d records are being read back: calls that may repeat an older one are refused until then", lacks)
		} else if loss := n.history.describeLoss(); loss != "" && n.history.isAlone() {
			c.Text = "ok, but " + loss
		}
	}
	return c
}

func (n *Node) checkLeader(ctx context.Context, query report.ReadyQuery) report.ReadyCheck {
	start := time.Now()
	id, address, without := n.replica.currentLeader(start)
	if address == "" {
		return report.ReadyCheck{Name: "leader", Text: fmt.Sprintf("none for %v%s", without.Round(time.Millisecond), n.greeter.describeTrouble())}
	}
	if waiting := n.clocks.waiting.Load(); waiting != nil {
		return report.ReadyCheck{Name: "leader", Text: waiting.describeLeap()}
	}
	if query.Leader && string(id) != n.config.ID {
		return report.ReadyCheck{Name: "leader", Text: fmt.Sprintf("is %s, not this node", id)}
	}
	if err := n.reads.contactLeader(ctx); err != nil {
		return report.ReadyCheck{Name: "leader", Text: fmt.Sprintf("%s does not answer: %v%s", id, err, n.greeter.describeTrouble())}
	}
	return report.ReadyCheck{Name: "leader", OK: true, Text: fmt.Sprintf("ok (%s, %v)", id, time.Since(start).Round(time.Millisecond))}
}

func (n *Node) checkApplied(ctx context.Context, query report.ReadyQuery) report.ReadyCheck {
	if query.Sync {
		if _, err := n.ReadIndex(ctx); err != nil {
			return report.ReadyCheck{Name: "applied", Text: fmt.Sprintf("not in step: %v", err)}
		}
	}
	limit := query.MaxLag
	if limit == 0 {
		limit = maxLagDefault
	}
	commit, applied := n.replica.raft.CommitIndex(), n.Applied()
	if leader, _ := n.replica.remoteLeader(); leader != "" { // A node that has just started does not know how far the group is.
		if s, fresh := n.peers.freshSample(string(leader)); fresh {
			commit = max(commit, s.pong.Commit)
		}
	}
	lag := commit - min(applied, commit)
	return report.ReadyCheck{Name: "applied", OK: lag <= limit, Text: "lag " + strconv.FormatUint(lag, 10)}
}

// checkList says whether the active list can be used here. Whether there must be a list at all
// is the API's matter.
func (n *Node) checkList() report.ReadyCheck {
	settings := n.Settings()
	if settings.List == nil {
		return report.ReadyCheck{Name: "ofac", OK: true, Text: "no list activated yet"}
	}
	if missing := n.lists.whyMissing(settings); missing != "" {
		return report.ReadyCheck{Name: "ofac", Text: missing}
	}
	age := time.Duration(n.LogTime() - settings.ListSynced).Round(time.Minute)
	return report.ReadyCheck{Name: "ofac", OK: true, Text: fmt.Sprintf("synced %v ago", age)}
}

func (n *Node) checkDiskRoom() report.ReadyCheck {
	percent := n.disk.percent.Load()
	text := fmt.Sprintf("%d%% free", percent)
	if percent < 0 {
		text = "free space not known"
	}
	return report.ReadyCheck{Name: "disk", OK: !n.disk.isLow(), Text: text}
}
