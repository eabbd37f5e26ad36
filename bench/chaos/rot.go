package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// In this scenario a bit flips on one node's disk. The node must notice it and name it: it does
// not start, or it stops, or it repairs the data from its peers. The others go on. A node that
// cannot repair itself is wiped and joins again.

// rot is one place where a bit flips.
type rot struct {
	name   string
	folder string // Folder in the node's data in which a bit flips.
	mark   string // Bytes in a file, after which the bit flips; "": the bit flips in the middle of a file.
	leaf   bool   // The bit flips in the leaf of a screening call.
	runs   bool   // The bit flips while the node runs.
	tries  int    // How many places are tried. Nobody notices a flip in a page of the log that is not used any more; then the next place is tried.
	before func(context.Context, *stage, *node) error
}

var rots = []rot{
	{name: "screening record, while the node runs", folder: "audit", leaf: true, runs: true, tries: 1},
	{name: "screening record", folder: "audit", leaf: true, tries: 1},
	{name: "entry of the raft log", folder: "raft", mark: "req_", tries: 8},
	{name: "raft snapshot", folder: filepath.Join("raft", "snapshots"), tries: 1, before: func(ctx context.Context, s *stage, n *node) error {
		_, err := s.caller.verb(ctx, n.api+"/v1/cluster/snapshot", map[string]any{})
		return err
	}},
}

// namedDamage are words. A node that finds damage on its disk logs at least one of them.
var namedDamage = []string{"checksum", "corrupt", "damage", "mismatch", "does not match", "not a snapshot", "another leaf"}

// rotten flips a bit at each place in rots, one after the other.
func rotten(ctx context.Context, s *stage) error {
	s.allowed = append(s.allowed, "FATAL", "diverged", "goroutine 1 [", "panic:")
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	pause(ctx, 2*time.Second) // Time to write data that can be damaged.
	for i, r := range rots {
		leader, err := s.cluster.leader(ctx, s.caller)
		if err != nil {
			return err
		}
		if err := s.decay(ctx, r, s.cluster.followers(leader)[i%2]); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		if err := s.verdictAfter(ctx, s.history.now()); err != nil {
			return fmt.Errorf("%s: the others do not go on: %w", r.name, err)
		}
	}
	return nil
}

func (s *stage) decay(ctx context.Context, r rot, n *node) error {
	if r.before != nil {
		if err := r.before(ctx, s, n); err != nil {
			return err
		}
	}
	n.ExpectEnd()
	for try := range r.tries {
		seen := len(n.logText())
		if !r.runs {
			if err := n.Kill(); err != nil {
				return err
			}
		}
		m := mark{text: r.mark, after: flipAfter}
		if r.leaf {
			txn, err := s.screenedEarlier()
			if err != nil {
				return err
			}
			m = leafMark(txn)
		}
		where, err := flipBit(filepath.Join(n.Data, r.folder), m, try)
		if err != nil {
			return err
		}
		if err := n.start(); err != nil {
			return err
		}
		err = n.ready(ctx, settlePatience)
		pause(ctx, time.Second) // Time for damage that is noticed only when the nodes compare.
		said := n.logText()[seen:]
		if n.Running() && err == nil {
			if err := s.readsRight(ctx, n, m.txn); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			if found := s.damageFound(ctx, n); found > 0 || named(said) {
				s.figure(fmt.Sprintf("%s (%s), the node goes on and counts damages", r.name, where), found)
				return nil
			}
			continue // The place is not in use, or the node has repaired it. The inspection compares every byte of the log later.
		}
		if !named(said) {
			s.findings.add("%s (%s): the node does not go on, and does not say why: %s", r.name, where, n.LogTail())
		}
		s.figure(fmt.Sprintf("%s (%s), the node", r.name, where), "stops and says why")
		return s.rejoin(ctx, n)
	}
	s.figure(r.name+", flipped so often without an effect", r.tries)
	return nil
}

// damageFound returns how many damages in its history a node has counted.
func (s *stage) damageFound(ctx context.Context, n *node) int {
	a, err := s.caller.get(ctx, n.admin+"/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(a.body)) {
		if value, is := strings.CutPrefix(line, "railguard_audit_damage_found_total "); is {
			count, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0
			}
			return count
		}
	}
	return 0
}

// rejoin wipes a node and lets it join again.
func (s *stage) rejoin(ctx context.Context, n *node) error {
	if err := errors.Join(n.Kill(), n.wipe()); err != nil {
		return err
	}
	began := time.Now()
	if err := n.restart(ctx); err != nil {
		return fmt.Errorf("wiped: %w\n%s", err, n.LogTail())
	}
	if err := s.voters(ctx, len(s.cluster.nodes)); err != nil {
		return err
	}
	s.sample("wiped and with a vote again after", time.Since(began))
	return nil
}

// readsRight reads records at a node with a damaged disk. Every record that the node shows must
// be right; it may also show none.
func (s *stage) readsRight(ctx context.Context, n *node, txn string) error {
	if txn == "" {
		return nil
	}
	var shown []string
	for _, at := range s.cluster.nodes { // The other nodes are asked first: their answers are the right ones.
		if at != n {
			shown = append(shown, s.recordAt(ctx, at, txn))
		}
	}
	if got := s.recordAt(ctx, n, txn); got != shown[0] || got != shown[1] {
		s.findings.add("%s, whose copy of %s has a flipped bit, shows %s; the others show %s", n.id, txn, got, shown)
	}
	return nil
}

// recordAt returns a record as a node shows it, from its own log if it can.
func (s *stage) recordAt(ctx context.Context, n *node, txn string) string {
	a, err := s.caller.get(ctx, n.api+"/v1/audit/"+txn+"?consistency=local")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, a.body)
}

func named(said string) bool {
	said = strings.ToLower(said)
	for _, word := range namedDamage {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}

// logText returns everything that the node has logged.
func (n *node) logText() string {
	raw, err := os.ReadFile(n.Log)
	if err != nil {
		return ""
	}
	return string(raw)
}

const (
	txnMark    = "txn_"
	flipAfter  = 8 // Bytes from the beginning of the mark to the bit, which is inside the record.
	flipFrom   = 3 // The first place to try is at a third of all places, so that it is neither the newest nor the oldest.
	flipStride = 7
)

// mark says where to flip a bit.
type mark struct {
	text  string // Text in a file; "": flip a bit in the middle of the file.
	after int    // Bytes from the beginning of the text to the bit.
	not   string // Text that must not stand before it.
	txn   string // The transaction whose record contains the place, if that is known.
}

// leafMark returns a mark in the leaf of a screening call. That leaf is binary and has the id of
// its transaction without the prefix. The leaves of events are text and have the whole id.
func leafMark(txn string) mark {
	return mark{text: strings.TrimPrefix(txn, txnMark), not: txnMark, txn: txn}
}

// screenedEarlier returns a transaction that is neither among the newest nor among the oldest.
func (s *stage) screenedEarlier() (string, error) {
	var txns []string
	for _, o := range s.history.operations() {
		if o.kind == opScreen && o.done() && o.txn != "" {
			txns = append(txns, o.txn)
		}
	}
	if len(txns) == 0 {
		return "", errors.New("no screening call was answered yet: nothing can rot")
	}
	return txns[len(txns)/flipFrom], nil
}

// flipBit changes one bit in a file under a folder and says where. skip says how many places were
// tried before.
func flipBit(folder string, m mark, skip int) (where string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || where != "" || entry.IsDir() || filepath.Ext(path) == ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || len(raw) == 0 {
			return err
		}
		at := len(raw) / 2
		if m.text != "" {
			places := slices.DeleteFunc(allOf(raw, m.text), func(i int) bool { return m.not != "" && bytes.HasSuffix(raw[:i], []byte(m.not)) })
			if len(places) == 0 {
				return nil
			}
			at = places[(len(places)/flipFrom+flipStride*skip)%len(places)] + m.after
		}
		where = fmt.Sprintf("%s, byte %d of %d", filepath.Base(path), at, len(raw))
		return flipByte(path, int64(at), raw[at]^4)
	})
	if err == nil && where == "" {
		err = fmt.Errorf("nothing to flip in %s", folder)
	}
	return where, err
}

func allOf(raw []byte, mark string) (places []int) {
	for from := 0; ; {
		i := bytes.Index(raw[from:], []byte(mark))
		if i < 0 {
			return places
		}
		places = append(places, from+i)
		from += i + len(mark)
	}
}

func flipByte(path string, at int64, value byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt([]byte{value}, at)
	return errors.Join(err, file.Close())
}
