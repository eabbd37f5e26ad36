package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// fullDisk is C11: the leader's disk is full. It leaves and says so, the others go on, and it
// comes back when its disk has room again.
func fullDisk(ctx context.Context, s *stage) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	hit := s.cluster.followers(leader)[0]
	release, err := s.ownDisk(ctx, hit, smallDisk)
	if err != nil {
		return err
	}
	defer release()
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	if err := s.lead(ctx, hit); err != nil {
		return err
	}
	hit.ExpectEnd()
	s.allowed = append(s.allowed, "FATAL")
	began := s.history.now()
	balloon := filepath.Join(hit.Data, "balloon")
	if err := fill(balloon); err != nil {
		return err
	}
	if err := s.steppedOut(ctx, hit); err != nil {
		return err
	}
	if err := s.verdictAfter(ctx, s.history.now()); err != nil {
		return fmt.Errorf("the others do not go on: %w", err)
	}
	pause(ctx, s.span(time.Second, 10*time.Second))
	s.sample("gap while the leader's disk was full", s.history.gap(began, s.history.now()))
	if err := os.Remove(balloon); err != nil {
		return err
	}
	if !hit.Running() {
		if err := hit.start(); err != nil {
			return err
		}
	}
	if err := hit.ready(ctx, settlePatience); err != nil {
		return fmt.Errorf("with room again: %w\n%s", err, hit.LogTail())
	}
	storm.stop()
	return s.inspectEarly(ctx)
}

// inspectEarly inspects the cluster and ends its processes before the scenario removes what it
// has set up.
func (s *stage) inspectEarly(ctx context.Context) error {
	s.inspected = true
	err := s.inspect(ctx, s.report)
	for _, n := range s.cluster.nodes {
		_ = n.Kill()
	}
	return err
}

// smallDisk mounts a small file system in memory.
func smallDisk(folder string) ([]byte, error) {
	return exec.Command("mount", "-t", "tmpfs", "-o", "size=192m,mode=0700", "chaos", folder).CombinedOutput()
}

// ownDisk moves a node's data onto a file system of its own.
func (s *stage) ownDisk(ctx context.Context, n *node, mount func(folder string) ([]byte, error)) (release func(), err error) {
	if err := n.Stop(); err != nil {
		return nil, err
	}
	aside := n.Data + ".aside"
	if err := os.Rename(n.Data, aside); err != nil {
		return nil, err
	}
	if err := os.Mkdir(n.Data, 0o700); err != nil {
		return nil, err
	}
	if out, err := mount(n.Data); err != nil {
		_ = os.Remove(n.Data)
		_ = os.Rename(aside, n.Data)
		if err := n.restart(ctx); err != nil {
			return nil, err
		}
		return nil, skipped(fmt.Sprintf("no file system for one node can be mounted here: %v %s", err, out))
	}
	release = func() {
		_ = n.Kill()
		_ = exec.Command("umount", "-l", n.Data).Run() // If this fails, the folder is removed with the rest.
	}
	if err := os.CopyFS(n.Data, os.DirFS(aside)); err != nil {
		release()
		return nil, err
	}
	if err := restrict(n.Data); err != nil {
		release()
		return nil, err
	}
	if err := n.restart(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// restrict makes copied files accessible to their owner only.
func restrict(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
}

// lead moves leadership to a node.
func (s *stage) lead(ctx context.Context, n *node) error {
	return until(ctx, settlePatience, func() bool {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil || leader == n {
			return err == nil
		}
		_, _ = s.caller.verb(ctx, leader.api+"/v1/cluster/transfer-leader", map[string]any{"to": n.id}) // The transfer is asked for again until the node leads.
		return false
	})
}

// fill writes to the file system until there is no room.
func fill(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := file.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	return nil
}

// steppedOut waits until a node has ended or says that it is not ready, and no
// longer leads.
func (s *stage) steppedOut(ctx context.Context, n *node) error {
	how := "still ready"
	err := until(ctx, settlePatience, func() bool {
		if !n.Running() {
			how = "ended"
			return true
		}
		st, err := s.caller.status(ctx, n)
		if err != nil || st.Role == "leader" {
			return false
		}
		a, err := s.caller.get(ctx, n.api+"/readyz")
		if err == nil && a.status != 200 {
			how = "not ready"
			return true
		}
		return false
	})
	if err != nil {
		return fmt.Errorf("with a full disk the node goes on as if nothing was: %w", err)
	}
	s.figure("the node with a full disk is", how)
	return nil
}
