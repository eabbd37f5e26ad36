package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	divergedPatience = 90 * time.Second // How long the nodes may take to find the divergence by their digests.
	restartPause     = time.Second      // How long a node serves between being ready and being killed again.
)

// divergedBesideARestart is C22: one node computes another state than the others. A second node
// is killed and started all the time, so that it often lacks the digest for an index at which
// digests are compared. The diverged node must end and say why. The others go on, and there are
// three nodes again when it comes back with an empty disk.
func divergedBesideARestart(ctx context.Context, s *stage) error {
	if s.options.Diverging == nil {
		return skipped("no binary that computes another state")
	}
	wrong, err := s.options.Diverging()
	if err != nil {
		return fmt.Errorf("the binary that computes another state: %w", err)
	}
	s.allowed = append(s.allowed, "FATAL", "BUG")
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	others := s.cluster.followers(leader)
	strayed, restarted := others[0], others[1]
	if err := strayed.Stop(); err != nil {
		return err
	}
	strayed.ExpectEnd()
	seen := len(strayed.logText())
	strayed.binary = wrong
	strayed.strayed.Store(true)
	// It may find its divergence while it starts and end before it was ready. Its end is judged below.
	if err := strayed.restart(ctx); err != nil && !strings.Contains(strayed.logText()[seen:], "state diverged") {
		return fmt.Errorf("the node that is to diverge: %w\n%s", err, strayed.LogTail())
	}
	restarts, began := 0, time.Now()
	for ; strayed.Running() && time.Since(began) < divergedPatience; restarts++ {
		if err := restarted.Kill(); err != nil {
			return err
		}
		if err := restarted.restart(ctx); err != nil {
			return fmt.Errorf("restart %d beside a diverged node: %w\n%s", restarts+1, err, restarted.LogTail())
		}
		time.Sleep(restartPause)
	}
	s.figure("restarts beside it", restarts)
	s.figure("diverged for", time.Since(began).Round(100*time.Millisecond))
	s.findings.join(judgeEnd("a diverged node", !strayed.Running(), strayed.logText()[seen:], "a majority has another one", "it is not this node's past"))
	for _, n := range []*node{leader, restarted} {
		if !n.Running() {
			s.findings.add("%s ended beside a diverged node: %s", n.id, n.LogTail())
		}
	}
	return s.backEmpty(ctx, strayed)
}

// backEmpty starts a node that has ended again, with the right binary and without data.
func (s *stage) backEmpty(ctx context.Context, n *node) error {
	if n.Running() {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	if err := n.wipe(); err != nil {
		return err
	}
	n.binary = ""
	n.strayed.Store(false)
	if err := n.restart(ctx); err != nil {
		return fmt.Errorf("back with the right binary: %w\n%s", err, n.LogTail())
	}
	return s.voters(ctx, 3)
}
