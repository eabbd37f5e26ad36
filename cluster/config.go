package cluster

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/cluster/timing"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// ErrConfig marks an error of the configuration that is found before the log is opened.
var ErrConfig = errors.New("configuration refused")

// Config is a node's configuration. The zero value of every field below the first block has a
// default.
type Config struct {
	ID      string // 1 to 64 of a-z, A-Z, 0-9, '-', '_', '.'; the node keeps it for ever.
	DataDir string

	ListenCluster string   // host:port of the one port between nodes; "": none (a group of one).
	Advertise     string   // Address that peers dial; the listener's address when empty.
	APIAddr       string   // Given to peers, for people and redirects.
	Join          []string // Cluster addresses of peers to find the group through.

	// BootstrapExpect is how many nodes form a new group together; 0 never forms one.
	BootstrapExpect int
	// Genesis makes the first record. Only the node that bootstraps calls it, once.
	Genesis func() wire.Genesis

	SecretsAlso  [][]byte          // Secrets accepted besides Secret, while Secret is changed on one node after the other.
	Secret       []byte            // The cluster secret, which peers prove to know if they show no certificates.
	Certificates port.Certificates // Certificates that nodes show instead, if they are given.
	AdmitAll     bool              // A node that asks to join is taken in although no admin has admitted it: for a cluster that is thrown away.
	Insecure     bool              // No TLS between nodes; refused unless all addresses are loopback.
	Version      string

	Logger   *slog.Logger
	Recorder *recorder.Recorder // Of what an incident is made of; nil: nothing is recorded.
	Calls    *timing.Calls      // Those that wait for a verdict: background work makes way for them; nil: it makes way for nobody.
	// Fatal ends the process. The reason is a failing or stalled disk, divergence, or an entry
	// of a newer format. If Fatal returns, the node serves nothing any more. nil: the
	// process exits with ExitEnded.
	Fatal func(reason string)
	// Sever closes the listeners and connections of callers. It is called before Fatal, and before
	// the reason is logged. nil: there are none.
	Sever func()

	Clock     Clock
	Network   port.Network
	FreeSpace func(dir string) (free, total uint64, err error)

	Timing   Timing
	Snapshot SnapshotPolicy

	// DeadAfter is how long a voter may be silent before it loses its vote, where there are
	// more than three voters; 0: 10 minutes, below 0: never.
	DeadAfter time.Duration

	// ScrubEvery is the pause between two segments of history that are read again and hashed;
	// 0: 10 s, below 0: never.
	ScrubEvery time.Duration

	// LeapMax is how far the clocks may be beyond the log for a leader to open its term without
	// persons who confirm them; 0: an hour, below 0: any distance.
	LeapMax engine.Time

	// SilentAfter is how long a node answers from its state although nobody confirms that it is
	// the newest; 0: 2 s.
	SilentAfter time.Duration

	WriteDeadline time.Duration // Longest wait of a proposal; 0: 2 s.

	// Matchers are the versions of the matcher for which lists are compiled; nil: those of
	// ofac. Only tests set it.
	Matchers ofac.Matchers

	// Disk is the seam for the small files of DataDir and for naming snapshots.
	Disk datadir.Disk
	// History is the seam for the disk under the audit store; nil: a folder of DataDir.
	History audit.Dir
	// Keys is the seam for the disks under the indexes of history, by their names; nil: folders of DataDir.
	Keys func(name string) audit.Dir
	// SegmentLevel is the height of history's segments; 0: that of servers. Only tests set it.
	SegmentLevel uint
	// OpenLog opens the raft log in a folder. It is the seam for disks that fail.
	OpenLog func(dir string) (datadir.LogStore, error)

	// restore makes the state of a snapshot that a leader sent; nil: fsm.Restore. Only tests set it.
	restore func(io.Reader) (*fsm.Machine, error)
}

// ExitEnded is the exit code of a process whose node ended by itself. A supervisor starts it
// again.
const ExitEnded = 70

// Timing is raft's pace. The default suits one site with local disks: heartbeat and election
// take 200 ms. They must be at least ten times the worst usual sync and round trip.
type Timing struct {
	Heartbeat time.Duration
	Election  time.Duration
	Lease     time.Duration
	Commit    time.Duration // Pause between two appends without entries, at least 5 ms. Followers mostly learn the commit index sooner, from heartbeats and answers.
	// Stall is how long one write may take before the node stops to lead. After StallEnds the
	// node ends if others go on without it, after StallNever in any case.
	Stall      time.Duration
	StallEnds  time.Duration
	StallNever time.Duration
}

// SnapshotPolicy says when the log is cut. Entries are batches, so bytes decide.
type SnapshotPolicy struct {
	LogBytes      int64         // Applied bytes since the last snapshot.
	Interval      time.Duration // Shortest time between two snapshots. A peer must be able to install one before the next is taken.
	TrailingAge   engine.Time   // How much log, in log time, is kept behind a snapshot for peers that were away.
	TrailingBytes int64         // The most bytes that are kept for this; 0: 2 GiB or a tenth of the disk, whichever is less.
	LogAge        engine.Time   // Entries and snapshots that are older, in log time, are deleted, because they have texts that are erased elsewhere.
}

const (
	commitTimeoutMin   = 5 * time.Millisecond
	trailingEntriesMin = 1024
	trailingEntriesMax = 2_000_000
)

func (c *Config) fillDefaults() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.Matchers == nil {
		c.Matchers = ofac.Carried()
	}
	if c.Network == nil {
		c.Network = port.TCP{}
	}
	if c.FreeSpace == nil {
		c.FreeSpace = datadir.FreeSpace
	}
	if c.Fatal == nil {
		c.Fatal = func(string) { os.Exit(ExitEnded) }
	}
	if c.Sever == nil {
		c.Sever = func() {}
	}
	if c.restore == nil {
		c.restore = func(from io.Reader) (*fsm.Machine, error) { return fsm.Restore(from) }
	}
	if c.Disk == nil {
		c.Disk = datadir.SystemDisk{}
	}
	if c.OpenLog == nil {
		c.OpenLog = datadir.OpenLog
	}
	setDefault(&c.ScrubEvery, 10*time.Second)
	setDefault(&c.DeadAfter, 10*time.Minute)
	setDefault(&c.SilentAfter, silentDefault)
	setDefault(&c.WriteDeadline, time.Duration(engine.WriteDeadline))
	setDefault(&c.Timing.Heartbeat, 200*time.Millisecond)
	setDefault(&c.Timing.Election, c.Timing.Heartbeat)
	setDefault(&c.Timing.Lease, c.Timing.Heartbeat*9/10)
	setDefault(&c.Timing.Commit, 50*time.Millisecond)
	setDefault(&c.Timing.Stall, 1500*time.Millisecond)
	setDefault(&c.Timing.StallEnds, max(15*time.Second, 2*c.Timing.Stall))
	setDefault(&c.Timing.StallNever, max(stallNever, c.Timing.StallEnds))
	setDefault(&c.Snapshot.Interval, 30*time.Second)
	if c.LeapMax == 0 {
		c.LeapMax = leapMaxDefault
	}
	if c.Snapshot.LogAge == 0 {
		c.Snapshot.LogAge = engine.LogKept
	}
	if c.Snapshot.LogBytes == 0 {
		c.Snapshot.LogBytes = 128 * engine.MiB
	}
	if c.Snapshot.TrailingAge == 0 {
		c.Snapshot.TrailingAge = trailingAge
	}
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// validateConfig refuses values that cannot be right.
func (c *Config) validateConfig() error {
	if err := port.ValidID(c.ID); err != nil {
		return err
	}
	if c.DataDir == "" {
		return errors.New("cluster: no data folder given")
	}
	if c.BootstrapExpect < 0 || c.BootstrapExpect > 9 {
		return fmt.Errorf("cluster: bootstrap-expect %d is not between 0 and 9", c.BootstrapExpect)
	}
	if c.BootstrapExpect > 0 && c.Genesis == nil {
		return errors.New("cluster: bootstrap-expect without a genesis")
	}
	if c.BootstrapExpect > 1 && c.ListenCluster == "" {
		return errors.New("cluster: more than one node needs a cluster address")
	}
	if c.ListenCluster != "" && c.Insecure {
		if err := c.checkInsecure(); err != nil {
			return err
		}
	}
	if err := errors.Join(c.checkCertificates(), c.checkReachable()); err != nil {
		return err
	}
	if c.Timing.Commit < commitTimeoutMin {
		return fmt.Errorf("cluster: commit timeout %v is under %v", c.Timing.Commit, commitTimeoutMin)
	}
	if c.Timing.Lease > c.Timing.Heartbeat || c.Timing.Election < c.Timing.Heartbeat {
		return errors.New("cluster: need lease <= heartbeat <= election timeout")
	}
	return nil
}

// checkReachable refuses an address that peers could not dial, if there are peers.
func (c *Config) checkReachable() error {
	host, _, err := net.SplitHostPort(c.ListenCluster)
	if c.ListenCluster == "" || c.Advertise != "" || err == nil && host != "" && !net.ParseIP(host).IsUnspecified() {
		return nil
	}
	if c.BootstrapExpect == 1 && len(c.Join) == 0 {
		return nil // A member's address can change, so it can be given one later.
	}
	return fmt.Errorf("cluster: peers cannot dial %q: say with advertise where they reach this node", c.ListenCluster)
}

// checkInsecure refuses a node without TLS if its connections could leave this machine.
func (c *Config) checkInsecure() error {
	for _, address := range append([]string{c.ListenCluster, c.Advertise}, c.Join...) {
		if address != "" && !port.Loopback(address) {
			return fmt.Errorf("%w, not %s", port.ErrInsecure, address)
		}
	}
	return nil
}

// checkCertificates refuses certificates that cannot be right.
func (c *Config) checkCertificates() error {
	given := &c.Certificates
	switch {
	case !given.Given():
		return nil
	case given.Cert == "" || given.Key == "" || given.CA == "":
		return errors.New("cluster: certificate, key and authorities go together")
	case c.Insecure:
		return errors.New("cluster: certificates and insecure mode exclude each other")
	case c.ListenCluster == "":
		return errors.New("cluster: certificates are for the port between nodes, and there is none")
	}
	return given.Check(c.ID, c.wallTime())
}

func (c *Config) wallTime() time.Time { return time.Unix(0, int64(c.Clock.Wall())) }
