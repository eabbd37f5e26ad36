package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// These are the checks of a change of lists. They look at the service's answers while no list
// changes, and at what the audit log says about every call during the changes.

// atRest asks every node about every name without changing the state. The answers must agree with
// what is known about the lists. The calls under load are then compared with these answers.
func (d *delta) atRest(ctx context.Context, file *listFile) error {
	for i := range d.pair.probes {
		p := &d.pair.probes[i]
		if p.name == "" {
			continue
		}
		for _, n := range d.cluster.nodes {
			var found struct {
				Outcome string      `json:"outcome"`
				Matches []listMatch `json:"matches"`
			}
			if err := d.caller.read(ctx, n.api+"/v1/match?name="+url.QueryEscape(p.name), &found); err != nil {
				return err
			}
			named := false
			for _, m := range found.Matches {
				named = named || m.UID == p.uid
			}
			if want := p.listed(d.pair, file); named != want || want && found.Outcome == "CLEAR" {
				d.findings.add("%s at rest, list of %s: %q is %s; entry %s named: %v", n.id, d.word(file), p.name, found.Outcome, p.uid, named)
			}
			key := restKey{p.name, file}
			if before, asked := d.rest[key]; asked && before != found.Outcome {
				d.findings.add("%s at rest, list of %s: %q is %s, elsewhere %s", n.id, d.word(file), p.name, found.Outcome, before)
			}
			d.rest[key] = found.Outcome
		}
	}
	return nil
}

func (d *delta) word(file *listFile) string {
	if file == &d.pair.next {
		return "then"
	}
	return "before"
}

// compareDiff asks every node for the differences between the old list and the active one, and
// checks them.
func (d *delta) compareDiff(ctx context.Context) error {
	next, old := d.id(&d.pair.next), d.id(&d.pair.old)
	for _, n := range d.cluster.nodes {
		type count struct {
			Count int `json:"count"`
		}
		var diff struct{ Added, Removed, Changed, AddressesAdded, AddressesRemoved count }
		if err := d.caller.readWithin(ctx, readPatience, n.api+"/v1/ofac/"+next+"/diff?against="+old, &diff); err != nil {
			return err
		}
		got := deltaCounts{diff.Added.Count, diff.Removed.Count, diff.Changed.Count, diff.AddressesAdded.Count, diff.AddressesRemoved.Count}
		if got != d.pair.entries {
			d.findings.add("%s counts the change as %+v; it is %+v", n.id, got, d.pair.entries)
		}
	}
	return nil
}

// judged reads the log and checks every call against the list that was active at its place in the
// log.
func (d *delta) judged(ctx context.Context) error {
	last := d.client().screen(ctx, d.groups[0].accounts[4], amounts[0])
	if !last.done() {
		return fmt.Errorf("after the changes a call does not succeed: %s", last)
	}
	keys, err := d.observer.logKeys(ctx)
	if err != nil {
		return err
	}
	x, err := d.caller.exportThrough(ctx, d.cluster.nodes[0], keys, last.txn)
	if err != nil {
		return err
	}
	j := newListJudge(d.pair, d.ids, d.rest)
	for _, a := range d.agents {
		j.agents[a.id] = true
	}
	if err := j.read(x.leaves); err != nil {
		return err
	}
	j.covered()
	j.followed(d.history.operations(), d.flips)
	d.findings.join(j.findings.all())
	d.figure("probes", len(d.pair.probes))
	d.figure("verdicts held to the list at their index", j.verdicts)
	d.figure("changes of list", len(j.flips))
	d.figure("wallets un-listed", len(d.pair.removed))
	return d.emptied(ctx)
}

// emptied removes the lists that a node keeps on its disk; in the long form it removes the node's
// whole folder. The node must be able to roll back to a list that is not on its own disk.
func (d *delta) emptied(ctx context.Context) error {
	leader, err := d.cluster.leader(ctx, d.caller)
	if err != nil {
		return err
	}
	away := d.cluster.followers(leader)[0]
	if _, err := d.caller.verb(ctx, away.api+"/v1/cluster/snapshot", map[string]any{}); err != nil {
		return err
	}
	if err := away.Kill(); err != nil {
		return err
	}
	gone := filepath.Join(away.Data, "lists")
	if d.options.Long {
		gone = away.Data
	}
	if err := os.RemoveAll(gone); err != nil {
		return err
	}
	if err := away.restart(ctx); err != nil {
		return err
	}
	return d.rollBack(ctx, away, &d.pair.next)
}

// listJudge walks through a log and knows at every leaf which list was active.
type listJudge struct {
	pair     *listPair
	ids      map[string]*listFile
	rest     map[restKey]string
	agents   map[string]bool
	findings findings

	active   *listFile // nil: a list from before the scenario.
	version  uint64
	index    uint64 // Index of the last activation.
	flips    []flip
	verdicts int
	seen     map[restKey]bool // By probe and list: whether the probe was found to be listed.
}

func newListJudge(pair *listPair, ids map[string]*listFile, rest map[restKey]string) *listJudge {
	return &listJudge{pair: pair, ids: ids, rest: rest, agents: map[string]bool{}, seen: map[restKey]bool{}}
}

// listLeaf has the members of a leaf that this check reads in addition to those of record.
type listLeaf struct {
	Digest    string   `json:"listDigest"`
	Triggered []string `json:"triggered"`
	Request   struct {
		Wallet string `json:"cpWallet"`
		Name   string `json:"cpName"`
	} `json:"_request"`
	Matches []listMatch `json:"matches"`
}

type listMatch struct {
	UID string `json:"uid"`
}

// snapshotOf returns the snapshot id that is made from a digest.
func snapshotOf(digest string) string { return "snp_" + digest[:min(len(digest), 16)] }

func (j *listJudge) read(leaves []leaf) error {
	probes := make(map[string]*probe, len(j.pair.probes))
	for i := range j.pair.probes {
		p := &j.pair.probes[i]
		probes[p.member()+p.text()] = p
	}
	for i := range leaves {
		l := &leaves[i]
		var more listLeaf
		if l.Kind != "list.activated" && !(l.Kind == "screen" && j.agents[l.AgentID]) {
			continue
		}
		if err := json.Unmarshal(l.raw, &more); err != nil {
			return fmt.Errorf("leaf %d: %w", l.Leaf, err)
		}
		if l.Kind == "list.activated" {
			j.turn(l, &more)
			continue
		}
		p := probes["cpWallet"+more.Request.Wallet]
		if more.Request.Wallet == "" {
			p = probes["cpName"+more.Request.Name]
		}
		if p == nil {
			j.findings.add("leaf %d screens %+v, which nobody asked for", l.Leaf, more.Request)
			continue
		}
		j.screen(l, &more, p)
	}
	return nil
}

func (j *listJudge) turn(l *leaf, more *listLeaf) {
	j.active, j.index = j.ids[snapshotOf(more.Digest)], l.Index
	if l.ListVersion != j.version+1 && j.version != 0 {
		j.findings.add("leaf %d activates list version %d after %d", l.Leaf, l.ListVersion, j.version)
	}
	j.version = l.ListVersion
	if j.active != nil {
		j.flips = append(j.flips, flip{version: l.ListVersion, file: j.active})
	}
}

// screen checks one verdict against the list that was active at its place in the log.
func (j *listJudge) screen(l *leaf, more *listLeaf, p *probe) {
	if j.active == nil || l.ListVersion != j.version || l.Index < j.index {
		j.findings.add("leaf %d at index %d is judged with list version %d; since index %d it is %d", l.Leaf, l.Index, l.ListVersion, j.index, j.version)
		return
	}
	j.verdicts++
	listed := p.listed(j.pair, j.active)
	got := strings.HasPrefix(l.Rule, "R6_")
	if p.name != "" {
		got = slices.ContainsFunc(more.Matches, func(m listMatch) bool { return p.uid != "" && m.UID == p.uid })
		if want := outcomeVerdicts[j.rest[restKey{p.name, j.active}]]; want != l.Verdict {
			j.findings.add("leaf %d (index %d, list version %d): %q is %s %s; at rest that list says %s", l.Leaf, l.Index, l.ListVersion, p.name, l.Verdict, l.Rule, want)
		}
	} else if got != (l.Verdict == "BLOCK") && !strings.HasPrefix(l.Rule, "R14_") { // A mixer's contract that left the list is still a mixer's.
		j.findings.add("leaf %d (index %d): wallet %s is %s %s", l.Leaf, l.Index, p.wallet, l.Verdict, l.Rule)
	}
	if got != listed {
		j.findings.add("leaf %d (index %d, list version %d): %s is %s %s, and the list at that index has it: %v", l.Leaf, l.Index, l.ListVersion, p.text(), l.Verdict, l.Rule, listed)
	}
	j.seen[restKey{p.text(), j.active}] = got
}

var outcomeVerdicts = map[string]string{"CLEAR": "PROCEED", "REVIEW": "REVIEW", "BLOCK": "BLOCK"}

// covered checks that every probe was screened under both lists. The wallets that were blocked
// under only one list must be those that are known to differ.
func (j *listJudge) covered() {
	var removed, added []string
	for i := range j.pair.probes {
		p := &j.pair.probes[i]
		old, before := j.seen[restKey{p.text(), &j.pair.old}]
		next, after := j.seen[restKey{p.text(), &j.pair.next}]
		switch {
		case !before || !after:
			j.findings.add("%s was not screened under both lists: nothing is known of it", p.text())
		case p.wallet == "" || old == next:
		case old:
			removed = append(removed, canonicalWallet(p.wallet))
		default:
			added = append(added, canonicalWallet(p.wallet))
		}
	}
	slices.Sort(removed)
	slices.Sort(added)
	if !slices.Equal(removed, j.pair.removed) {
		j.findings.add("%d wallets were un-listed, and %d should have been", len(removed), len(j.pair.removed))
	}
	if !slices.Equal(added, j.pair.added) {
		j.findings.add("%d wallets were newly listed, and %d should have been", len(added), len(j.pair.added))
	}
}

// followed checks that a call which began after an activation was acknowledged is judged with
// that list or a later one, at whichever node. It also checks that the log has the changes of
// lists that callers made, in their order.
func (j *listJudge) followed(operations []*operation, flips []flip) {
	at := make(map[uint64]*listFile)
	for _, f := range j.flips {
		at[f.version] = f.file
	}
	for _, f := range flips {
		if at[f.version] != f.file {
			j.findings.add("the change to version %d, which was acknowledged, is not in the log", f.version)
		}
	}
	for _, o := range operations {
		if o.kind != opScreen || !o.done() {
			continue
		}
		for _, f := range flips {
			if o.invoke > f.back && o.list < f.version {
				j.findings.add("called after list version %d was acknowledged, judged with %d: %s", f.version, o.list, o)
				break
			}
		}
	}
}
