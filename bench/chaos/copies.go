package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"railguard/cluster/testcluster"
)

// copiesChangeNothing is C27: a node is started on a stale copy of a member's folder, while the
// real member runs or while it is dead. The copy must end, and nothing may change for the real
// member. The status never calls a member healthy that does not answer.
func copiesChangeNothing(ctx context.Context, s *stage) error {
	s.allowed = append(s.allowed, "FATAL")
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	member := s.cluster.followers(leader)[0]
	stale := member.Data + ".stale"
	if err := s.copyOf(ctx, member, stale); err != nil {
		return err
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil { // From now on the copy is older than the folder.
		return err
	}
	if err := s.startTwin(ctx, member, stale, "a copy beside the real one", "copy"); err != nil {
		return err
	}
	if !member.Running() {
		s.findings.add("the real %s ended: %s", member.id, member.LogTail())
	}
	if err := s.voters(ctx, 3); err != nil {
		return err
	}
	if err := member.Kill(); err != nil {
		return err
	}
	err = until(ctx, settlePatience, func() bool { // The others notice the death only after a while.
		for _, n := range s.cluster.followers(member) {
			st, err := s.caller.status(ctx, n)
			if err != nil || len(judgeHealth(member.id, []status{st})) > 0 {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("a dead member is called healthy: %w", err)
	}
	watched, stop := s.watchHealth(ctx, member)
	err = s.startTwin(ctx, member, stale, "a copy while the real one is dead", "copy", "older")
	pause(ctx, s.span(time.Second, 10*time.Second))
	stop()
	if err != nil {
		return err
	}
	s.findings.join(judgeHealth(member.id, <-watched))
	if err := member.restart(ctx); err != nil {
		return fmt.Errorf("the real one: %w\n%s", err, member.LogTail())
	}
	return s.voters(ctx, 3)
}

// startTwin starts a node on a copy of a folder, at other addresses. That node must end by
// itself.
func (s *stage) startTwin(ctx context.Context, of *node, stale, what string, words ...string) error {
	ports, err := testcluster.FreePorts(3)
	if err != nil {
		return err
	}
	twin := &node{
		Server:  testcluster.Server{Name: of.id, Data: of.Data + ".twin", Log: filepath.Join(s.cluster.folder, of.id+".twin.log"), Spawner: of.Spawner},
		cluster: s.cluster, id: of.id, api: "http://" + ports[0], admin: "http://" + ports[1],
		listen: ports[2], shown: ports[2],
		clock: of.clock, join: of.join,
	}
	defer func() { _ = twin.Kill() }()
	if err := copyFolder(stale, twin.Data); err != nil {
		return err
	}
	began := time.Now()
	s.findings.join(s.startedAgain(ctx, what, twin, words...))
	s.sample(what+" ends after", time.Since(began))
	return os.RemoveAll(twin.Data)
}

// watchHealth notes, until stop is called, what the other nodes' status says about a dead member.
func (s *stage) watchHealth(ctx context.Context, dead *node) (seen chan []status, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	seen = make(chan []status, 1)
	go func() {
		var all []status
		for ctx.Err() == nil {
			for _, n := range s.cluster.followers(dead) {
				if st, err := s.caller.status(ctx, n); err == nil {
					all = append(all, st)
				}
			}
			pause(ctx, observeEvery)
		}
		seen <- all
	}()
	return seen, cancel
}

// judgeHealth: nobody calls a member healthy that does not answer.
func judgeHealth(dead string, seen []status) []string {
	var f findings
	if len(seen) == 0 {
		f.add("nobody told how %s is", dead)
	}
	for _, st := range seen {
		at := slices.IndexFunc(st.Nodes, func(n nodeStatus) bool { return n.ID == dead })
		switch {
		case at < 0:
			f.add("%s does not know the member %s", st.Node, dead)
		case st.Nodes[at].Healthy:
			f.add("%s calls %s healthy, which is dead", st.Node, dead)
		case st.Quorum.Healthy > 2:
			f.add("%s counts %d healthy voters, of which one is dead", st.Node, st.Quorum.Healthy)
		}
	}
	return f.all()
}

// replacedInTurn is C28: the nodes are killed, wiped and started again, one after the other. Each
// one's turn comes as soon as the status of the others says that a node may be taken down. The
// group goes on, and in the end the new disks hold everything that was acknowledged.
func replacedInTurn(ctx context.Context, s *stage) error {
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	for range s.times(1, 3) {
		for _, n := range s.cluster.nodes {
			asked := s.cluster.followers(n)[0]
			began := time.Now()
			var told status
			err := until(ctx, settlePatience, func() bool {
				var err error
				told, err = s.caller.status(ctx, asked)
				return err == nil && told.TakeDown.OK
			})
			if err != nil {
				return fmt.Errorf("%s may not be taken: %q: %w", n.id, told.TakeDown.Why, err)
			}
			s.sample("the next may be taken after", time.Since(began))
			at := s.history.now()
			if err := n.Kill(); err != nil {
				return err
			}
			if err := n.wipe(); err != nil {
				return err
			}
			if err := s.verdictAfter(ctx, s.history.now()); err != nil {
				s.findings.add("%s was taken when status allowed it, and there is no verdict: the quorum is lost", n.id)
				return nil
			}
			if err := n.restart(ctx); err != nil {
				return fmt.Errorf("wiped: %w\n%s", err, n.LogTail())
			}
			s.sample("gap while a node is replaced", s.history.gap(at, s.history.now()))
		}
	}
	return s.voters(ctx, len(s.cluster.nodes))
}
