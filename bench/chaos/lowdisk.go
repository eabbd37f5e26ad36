package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// If less than a tenth of a small disk is free, a node takes no leadership and no writes. Below a
// twentieth it stops. The scenario leaves a share free that lies between the two.
const (
	lowDiskMiB  = 256
	lowFreeMiB  = 19
	balloonName = "balloon"
	lowFor      = 2500 * time.Millisecond
)

// disksLow is C21: the disks of all nodes run low. Reads go on, writes are refused with
// storage_low, and leadership does not move from node to node. When there is room again, writes
// succeed without anybody's help.
func disksLow(ctx context.Context, s *stage) error {
	for _, n := range s.cluster.nodes {
		release, err := s.ownDisk(ctx, n, func(folder string) ([]byte, error) {
			return exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0700", lowDiskMiB), "chaos", folder).CombinedOutput()
		})
		if err != nil {
			return err
		}
		defer release()
	}
	c := s.client()
	known := c.screen(ctx, s.groups[0].accounts[4], amounts[0])
	if !known.done() {
		return fmt.Errorf("no verdict before: %s", known)
	}
	for _, n := range s.cluster.nodes {
		if err := leaveFree(n.Data, lowFreeMiB<<20); err != nil {
			return err
		}
	}
	began := time.Now()
	err := until(ctx, settlePatience, func() bool {
		for _, n := range s.cluster.nodes {
			if o := s.writeAt(ctx, n); o.status != http.StatusServiceUnavailable || o.code != "storage_low" {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("all disks are low and writes are not told so: %w", err)
	}
	s.sample("every node says storage_low after", time.Since(began))
	var seen []lowSight
	for until := time.Now().Add(s.span(lowFor, 20*time.Second)); time.Now().Before(until) && ctx.Err() == nil; pause(ctx, observeEvery) {
		for _, n := range s.cluster.nodes {
			seen = append(seen, s.sightOf(ctx, n, known.txn))
		}
	}
	s.findings.join(judgeLow(seen))
	s.figure("looks while all disks were low", len(seen))
	for _, n := range s.cluster.nodes {
		if err := os.Remove(filepath.Join(n.Data, balloonName)); err != nil {
			return err
		}
	}
	began = time.Now()
	if o := c.screen(ctx, s.groups[0].accounts[4], amounts[0]); !o.done() {
		s.findings.add("with room again there is no verdict: %s", o)
	}
	s.sample("writes are back after", time.Since(began))
	return s.inspectEarly(ctx)
}

// leaveFree fills a file system until so many bytes are free.
func leaveFree(folder string, free int64) error {
	file, err := os.Create(filepath.Join(folder, balloonName))
	if err != nil {
		return err
	}
	if err := fillTo(file, folder, free); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

func fillTo(file *os.File, folder string, free int64) error {
	chunk := make([]byte, 1<<18)
	for range lowDiskMiB << 2 {
		left, err := freeBytes(folder)
		if err != nil || left <= free {
			return err
		}
		if _, err := file.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// lowSight has the answers of a node while all disks were low.
type lowSight struct {
	node, leader string
	write, read  int
	code         string
	statusFound  bool
}

// writeAt asks a node, once, for a verdict.
func (s *stage) writeAt(ctx context.Context, n *node) *operation {
	c := s.client()
	c.pinned, c.home = true, s.index(n)
	o := screening(s.groups[0].accounts[4], amounts[0])
	o.bare = true
	c.pay(ctx, s.groups[0].accounts[4], o)
	return o
}

func (s *stage) sightOf(ctx context.Context, n *node, txn string) (l lowSight) {
	l.node = n.id
	o := s.writeAt(ctx, n)
	l.write, l.code = o.status, o.code
	if a, err := s.caller.get(ctx, n.api+"/v1/audit/"+txn); err == nil {
		l.read = a.status
	}
	if st, err := s.caller.status(ctx, n); err == nil && st.Leader != nil {
		l.statusFound, l.leader = true, st.Leader.ID
	}
	return l
}

// judgeLow checks that reads went on, that writes were refused with storage_low, and that one
// node led all the time.
func judgeLow(seen []lowSight) []string {
	var f findings
	leader := ""
	for _, l := range seen {
		if l.read != http.StatusOK {
			f.add("%s, whose disk is low, answers a read with %d", l.node, l.read)
		}
		if l.write != http.StatusServiceUnavailable || l.code != "storage_low" {
			f.add("%s, whose disk is low, answers a write with %d %s", l.node, l.write, l.code)
		}
		if leader == "" {
			leader = l.leader
		}
		if !l.statusFound || l.leader != leader {
			f.add("%s, whose disk is low, knows %q as the leader, and it was %q: leadership goes round", l.node, l.leader, leader)
		}
	}
	if len(seen) == 0 {
		f.add("nobody was asked while the disks were low")
	}
	return f.all()
}
