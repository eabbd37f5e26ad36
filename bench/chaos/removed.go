package chaos

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// An operator removes nodes, and a supervisor that does not know it starts them again. Neither
// may end the group or a node that is a member.

// removedStaysOut is C19: a removed node does not come back when it is started again, neither on
// its own folder nor on a copy without the mark of the removal. The message about a removal does
// not end another node that has the same address now.
func removedStaysOut(ctx context.Context, s *stage) error {
	s.allowed = append(s.allowed, "FATAL")
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	others := s.cluster.followers(leader)
	heir, err := s.inherited(ctx, others[1])
	if err != nil {
		return err
	}
	gone := others[0]
	copied := gone.Data + ".copy"
	if err := s.copyOf(ctx, gone, copied); err != nil {
		return err
	}
	gone.ExpectEnd()
	seen := len(gone.logText())
	if err := s.take(ctx, "remove", gone); err != nil {
		return err
	}
	s.findings.join(s.end(ctx, "a removed node", gone, seen, "was removed"))
	s.findings.join(s.startedAgain(ctx, "a removed node that is started again", gone, "was removed"))
	if err := os.Rename(gone.Data, gone.Data+".marked"); err != nil {
		return err
	}
	if err := os.Rename(copied, gone.Data); err != nil {
		return err
	}
	s.findings.join(s.startedAgain(ctx, "a removed node that is started from a copy", gone, "was removed"))
	s.cluster.forget(gone)
	if !heir.Running() {
		s.findings.add("the node that has the address of a removed one ended with it: %s", heir.LogTail())
	}
	return s.voters(ctx, 2)
}

// inherited kills a node, gives its address to another node, and removes the dead node from the
// group.
func (s *stage) inherited(ctx context.Context, dead *node) (*node, error) {
	if err := dead.Kill(); err != nil {
		return nil, err
	}
	heir, err := s.cluster.add(fmt.Sprintf("n%d", len(s.cluster.nodes)+1), 0)
	if err != nil {
		return nil, err
	}
	heir.listen, heir.shown = dead.listen, dead.shown
	s.cluster.forget(dead)
	if err := heir.restart(ctx); err != nil {
		return nil, fmt.Errorf("the heir: %w\n%s", err, heir.LogTail())
	}
	s.observer.follow(heir)
	if err := s.counted(ctx, 4, 3); err != nil {
		return nil, err
	}
	if err := s.take(ctx, "remove", dead); err != nil {
		return nil, err
	}
	return heir, s.voters(ctx, 3)
}

// take asks the leader to remove or demote a node.
func (s *stage) take(ctx context.Context, verb string, n *node) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	_, err = s.caller.verb(ctx, leader.api+"/v1/cluster/"+verb, map[string]any{"id": n.id})
	return err
}

// counted waits for so many voters, of which so many are healthy.
func (s *stage) counted(ctx context.Context, voters, healthy int) error {
	last := ""
	err := until(ctx, settlePatience, func() bool {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return false
		}
		st, err := s.caller.status(ctx, leader)
		last = fmt.Sprintf("%+v", st.Nodes)
		return err == nil && st.Quorum.Voters == voters && st.Quorum.Healthy == healthy
	})
	if err != nil {
		return fmt.Errorf("not %d voters with %d healthy, but %s: %w", voters, healthy, last, err)
	}
	return nil
}

// copyOf copies a node's folder while it does not run, and starts it again.
func (s *stage) copyOf(ctx context.Context, n *node, to string) error {
	if err := n.Stop(); err != nil {
		return err
	}
	if err := copyFolder(n.Data, to); err != nil {
		return err
	}
	return n.restart(ctx)
}

func copyFolder(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return restrict(to)
}

// startedAgain starts a node that must end by itself.
func (s *stage) startedAgain(ctx context.Context, what string, n *node, words ...string) []string {
	n.ExpectEnd()
	seen := len(n.logText())
	if err := n.start(); err != nil {
		var f findings
		f.add("%s cannot even be started: %v", what, err)
		return f.all()
	}
	return s.end(ctx, what, n, seen, words...)
}

// end waits until a node ends and checks what it has logged since.
func (s *stage) end(ctx context.Context, what string, n *node, seen int, words ...string) []string {
	_ = until(ctx, settlePatience, func() bool { return !n.Running() }) // If the node still runs, judgeEnd reports it.
	return judgeEnd(what, !n.Running(), n.logText()[seen:], words...)
}

const saidBytes = 1500 // How much of a log a finding shows.

// judgeEnd checks that a node which must not go on has ended and says why.
func judgeEnd(what string, ended bool, said string, words ...string) []string {
	var f findings
	if !ended {
		f.add("%s goes on", what)
		return f.all()
	}
	for _, word := range words {
		if strings.Contains(said, word) {
			return f.all()
		}
	}
	f.add("%s ends and does not say %q. The end of its log: %s", what, words, said[max(0, len(said)-saidBytes):])
	return f.all()
}

// votesStay is C20: one of three nodes is dead. Without force no verb removes the vote of
// another: each verb is refused, and calls still get verdicts.
func votesStay(ctx context.Context, s *stage) error {
	s.allowed = append(s.allowed, "FATAL")
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	dead, alive := s.cluster.followers(leader)[0], s.cluster.followers(leader)[1]
	if err := dead.Kill(); err != nil {
		return err
	}
	if err := s.counted(ctx, 3, 2); err != nil {
		return err
	}
	refused := 0
	for _, try := range []struct {
		at, of *node
		verb   string
	}{
		{leader, alive, "remove"}, {leader, alive, "demote"}, {alive, alive, "remove"}, {alive, alive, "demote"},
		{alive, leader, "remove"}, {leader, leader, "demote"}, {leader, leader, "remove"},
	} {
		raw := body(map[string]any{"id": try.of.id})
		a, err := s.caller.do(ctx, request{method: http.MethodPost, url: try.at.api + "/v1/cluster/" + try.verb, body: raw, patience: readPatience})
		if err != nil {
			return err
		}
		st, err := s.caller.status(ctx, leader)
		s.findings.join(judgeVerb(try.verb+" of "+try.of.id, a, st.Quorum.Voters, err == nil && s.verdictAfter(ctx, s.history.now()) == nil))
		if len(s.findings.list) > 0 {
			return nil
		}
		refused++
	}
	s.figure("verbs refused while one of three is dead", refused)
	if err := s.take(ctx, "remove", dead); err != nil {
		return fmt.Errorf("the dead one may go: %w", err)
	}
	s.findings.join(s.startedAgain(ctx, "a dead node that was removed, started", dead, "was removed"))
	if err := dead.wipe(); err != nil {
		return err
	}
	if err := dead.restart(ctx); err != nil {
		return fmt.Errorf("wiped, it is a new node: %w\n%s", err, dead.LogTail())
	}
	return s.voters(ctx, 3)
}

// judgeVerb checks that a verb which would leave too few votes was refused and changed no vote,
// and that the group goes on.
func judgeVerb(what string, a *answer, voters int, verdicts bool) []string {
	var f findings
	if a.ok() || a.status >= 500 {
		f.add("%s, while one of three is dead, is answered %d %.300s", what, a.status, a.body)
	}
	if voters != 3 {
		f.add("after %s there are %d voters of 3", what, voters)
	}
	if !verdicts {
		f.add("after %s there is no verdict: the group cannot commit", what)
	}
	return f.all()
}
