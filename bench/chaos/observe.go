package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"railguard/audit/note"
	"railguard/engine"
)

// status has the members of GET /v1/cluster/status that checks read.
type status struct {
	Node   string `json:"node"`
	Role   string `json:"role"`
	Term   uint64 `json:"term"`
	Leader *struct {
		ID string `json:"id"`
	} `json:"leader"`
	Quorum struct {
		Voters           int `json:"voters"`
		Healthy          int `json:"healthy"`
		FailureTolerance int `json:"failureTolerance"`
	} `json:"quorum"`
	Index struct {
		Commit   uint64 `json:"commit"`
		Applied  uint64 `json:"applied"`
		Snapshot uint64 `json:"snapshot"`
	} `json:"index"`
	Digest      string       `json:"fsmHash"`
	DigestIndex uint64       `json:"fsmHashIndex"`
	Nodes       []nodeStatus `json:"nodes"`
	Writes      struct {
		State string `json:"state"`
	} `json:"writes"`
	TakeDown struct {
		OK  bool     `json:"ok"`
		Why []string `json:"why"`
	} `json:"takeDown"`
	LogTime  time.Time `json:"logTime"`
	Warnings []string  `json:"warnings"`
}

// nodeStatus is what a node's status says about one member.
type nodeStatus struct {
	ID       string `json:"id"`
	Suffrage string `json:"suffrage"`
	Healthy  bool   `json:"healthy"`
	Skew     int64  `json:"clockSkewMs"`
}

func (c *caller) status(ctx context.Context, n *node) (status, error) {
	var s status
	return s, c.read(ctx, n.api+"/v1/cluster/status", &s)
}

// observer asks every node all the time for its signed checkpoint, its state digest and its
// leader. What it has seen must stay true for ever.
type observer struct {
	cluster *cluster
	caller  *caller
	ctx     context.Context // When it is done, the observer stops asking.
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	keys    string
	heads   []head
	digests []digest
	reached map[string]reach // By node: what it last reported.
	highest uint64           // Highest index that any node ever reported as applied or committed.
	wrong   findings
}

func newObserver(ctx context.Context, c *cluster, by *caller) *observer {
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{cluster: c, caller: by, ctx: ctx, cancel: cancel, reached: map[string]reach{}}
	for _, n := range c.nodes {
		o.follow(n)
	}
	return o
}

// follow begins to ask a node regularly.
func (o *observer) follow(n *node) {
	o.running.Add(1)
	go func() {
		defer o.running.Done()
		ticker := time.NewTicker(observeEvery)
		defer ticker.Stop()
		for {
			select {
			case <-o.ctx.Done():
				return
			case <-ticker.C:
				o.look(o.ctx, n)
			}
		}
	}()
}

// look asks a node once. It is no violation if the node does not answer.
func (o *observer) look(ctx context.Context, n *node) {
	if a, err := o.caller.get(ctx, n.api+"/log/checkpoint"); err == nil && a.status == http.StatusOK {
		o.sawHead(ctx, n, a.body)
	}
	process := n.PID()
	if s, err := o.caller.status(ctx, n); err == nil && process != 0 && process == n.PID() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if s.DigestIndex != 0 && !n.strayed.Load() {
			o.sawDigest(digest{n.id, s.DigestIndex, s.Digest})
		}
		o.sawReach(n.id, reach{process, s.Index.Applied, s.Index.Commit})
	}
}

func (o *observer) sawDigest(d digest) {
	for i := len(o.digests) - 1; i >= 0 && i >= len(o.digests)-16; i-- {
		if o.digests[i] == d {
			return // The digest was noted already.
		}
	}
	o.digests = append(o.digests, d)
}

// sawHead verifies a checkpoint's signatures and keeps it.
func (o *observer) sawHead(ctx context.Context, n *node, raw []byte) {
	keys, err := o.logKeys(ctx)
	if err != nil {
		return
	}
	checkpoint, err := note.Verify(raw, keys)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.wrong.add("node %s serves a checkpoint that does not verify: %v", n.id, err)
		return
	}
	for i := len(o.heads) - 1; i >= 0 && i >= len(o.heads)-16; i-- {
		if h := &o.heads[i]; h.node == n.id && h.Size == checkpoint.Size && h.Root == checkpoint.Root {
			return
		}
	}
	o.heads = append(o.heads, head{n.id, checkpoint})
}

// logKeys returns the log's verifier keys from the first node that answers. From then on no node
// may use other keys.
func (o *observer) logKeys(ctx context.Context) (string, error) {
	o.mu.Lock()
	keys := o.keys
	o.mu.Unlock()
	if keys != "" {
		return keys, nil
	}
	for _, n := range o.cluster.members() {
		a, err := o.caller.get(ctx, n.api+"/log/keys")
		if err != nil || a.status != http.StatusOK {
			continue
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.keys = string(a.body)
		return o.keys, nil
	}
	return "", fmt.Errorf("no node tells the log's keys")
}

// stop ends all asking.
func (o *observer) stop() {
	o.cancel()
	o.running.Wait()
}

// leader waits until the nodes that answer agree on a leader and that node itself says that it
// leads, and returns it.
func (c *cluster) leader(ctx context.Context, by *caller) (*node, error) {
	var found *node
	err := until(ctx, settlePatience, func() bool {
		for _, n := range c.nodes {
			s, err := by.status(ctx, n)
			if err == nil && s.Role == "leader" && s.Writes.State == "ok" {
				found = n
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("no leader: %w", err)
	}
	return found, nil
}

// followers returns all nodes but the given one.
func (c *cluster) followers(of *node) []*node {
	var others []*node
	for _, n := range c.nodes {
		if n != of {
			others = append(others, n)
		}
	}
	return others
}

// settle mends every fault and lets every node run. It waits until all nodes are ready and are in
// step twice in a row (invariant 10).
func (c *cluster) settle(ctx context.Context, by *caller) (time.Duration, error) {
	began := time.Now()
	if c.wires != nil {
		c.wires.heal()
	}
	for _, n := range c.nodes {
		if err := errors.Join(n.resume(), n.setClock(0)); err != nil {
			return 0, err
		}
		if !n.Running() {
			if err := n.start(); err != nil {
				return 0, err
			}
		}
	}
	for _, n := range c.nodes {
		if err := n.ready(ctx, settlePatience); err != nil {
			return 0, fmt.Errorf("after healing: %w\n%s", err, n.LogTail())
		}
	}
	err := until(ctx, settlePatience, func() bool { return c.inStep(ctx, by) })
	if err != nil {
		return 0, fmt.Errorf("the nodes do not come into step: %w", err)
	}
	return time.Since(began), nil
}

// inStep reports whether all nodes know one leader and have the same tree head. The applied index
// cannot be compared exactly, because ticks always move it on.
func (c *cluster) inStep(ctx context.Context, by *caller) bool {
	leader, low, high := "", uint64(0), uint64(0)
	for i, n := range c.members() {
		s, err := by.status(ctx, n)
		if err != nil || s.Leader == nil || i > 0 && s.Leader.ID != leader {
			return false
		}
		leader = s.Leader.ID
		if i == 0 || s.Index.Applied < low {
			low = s.Index.Applied
		}
		high = max(high, s.Index.Applied)
	}
	return high-low <= stepSlack
}

// stepSlack is how many ticks may be applied while one node after another is asked.
const stepSlack = 8

// collect reads everything that the checks need from every node. last is the cluster's newest
// transaction. No client may write any more.
func (c *cluster) collect(ctx context.Context, by *caller, o *observer, in *inspection, last string) error {
	keys, err := o.logKeys(ctx)
	if err != nil {
		return err
	}
	if err := c.proven(ctx, by, last); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := in.readBudgets(ctx, by, n); err != nil {
			return err
		}
		in.readRecords(ctx, by, n)
		if err := in.readProofs(ctx, by, n, keys, in.answeredTxns()); err != nil {
			return err
		}
	}
	// What is read leaves looks in the log. The logs are read last, and a checkpoint that is seen
	// from here on may cover looks that they lack.
	o.mu.Lock()
	in.heads = append(in.heads, o.heads...)
	o.mu.Unlock()
	if in.exports, err = c.exports(ctx, by, keys, last); err != nil {
		return err
	}
	in.highest = o.seenHighest() // An index that a node reports from here on, perhaps because of a tick, may be newer than the log of a node that was asked before.
	for _, n := range c.nodes {
		e, err := by.endOf(ctx, n, in.highest)
		if err != nil {
			return err
		}
		in.ends = append(in.ends, e)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	in.digests = append(in.digests, o.digests...)
	in.deaths = append(in.deaths, o.wrong.all()...)
	return nil
}

// endOf waits until a node has applied the index told, and returns how far the node is. If the
// node does not get so far in time, it returns how far it is then.
func (c *caller) endOf(ctx context.Context, n *node, told uint64) (end, error) {
	var s status
	var failed error
	_ = until(ctx, settlePatience, func() bool {
		s, failed = c.status(ctx, n)
		return failed == nil && s.Index.Applied >= told
	})
	return end{n.id, s.Index.Applied}, failed
}

// answeredTxns returns the transactions of the groups that callers got an answer for.
func (in *inspection) answeredTxns() (txns []string) {
	for _, g := range in.groups {
		g.mu.Lock()
		for _, p := range g.recent {
			txns = append(txns, p.txn)
		}
		g.mu.Unlock()
	}
	return txns
}

func (in *inspection) readBudgets(ctx context.Context, by *caller, n *node) error {
	for _, g := range in.groups {
		for _, a := range g.known() {
			var b struct {
				Date string `json:"date"`
				counters
				Fleet *struct {
					ID string `json:"fleetId"`
					counters
				} `json:"fleet"`
			}
			if err := by.read(ctx, n.api+"/v1/agents/"+a.id+"/limits", &b); err != nil {
				return err
			}
			seen := budget{node: n.id, agent: a.id, date: b.Date, spent: b.counted()}
			if b.Fleet != nil {
				seen.fleet, seen.fleetSpent = b.Fleet.ID, b.Fleet.counted()
			}
			in.budgets = append(in.budgets, seen)
		}
	}
	return nil
}

// counters are what counts against a limit. An approval is held until it is settled.
type counters struct {
	Spent jsonAmount `json:"spentUSDC"`
	Held  jsonAmount `json:"heldUSDC"`
}

func (c *counters) counted() engine.USD { return engine.USD(c.Spent).Plus(engine.USD(c.Held)) }

// jsonAmount reads an amount from its literal.
type jsonAmount engine.USD

// UnmarshalJSON implements json.Unmarshaler.
func (a *jsonAmount) UnmarshalJSON(raw []byte) error {
	amount, err := engine.ParseUSD(raw)
	*a = jsonAmount(amount)
	return err
}

// readRecords reads, at one node, some of the transactions that clients got an answer for.
func (in *inspection) readRecords(ctx context.Context, by *caller, n *node) {
	for _, g := range in.groups {
		g.mu.Lock()
		picks := append(append([]pick(nil), g.reviews...), g.recent...)
		g.mu.Unlock()
		for i := 0; i < len(picks); i += 1 + len(picks)/16 {
			a, err := by.get(ctx, n.api+"/v1/audit/"+picks[i].txn)
			if err != nil {
				continue // If the node is at fault, another read of collect reports it.
			}
			r := readReply(opRead, a)
			in.records = append(in.records, shownRecord{
				node: n.id, txn: picks[i].txn, verdict: r.verdict, disposition: r.shown, status: a.status,
			})
		}
	}
}

// heardCries returns the lines in the nodes' logs that must not be there.
func (c *cluster) heardCries(allowed ...string) []string {
	var f findings
	for _, n := range c.nodes {
		raw, err := os.ReadFile(n.Log)
		if err != nil {
			continue
		}
		f.join(criesIn(n.id, raw, allowed...))
	}
	return f.all()
}
