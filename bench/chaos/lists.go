package chaos

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"railguard/ofac/listtest"
)

// listSwitch is C07: the list changes under load. Every verdict is made with the list that was
// active at its place in the log, and a follower that restarts has the same list.
func listSwitch(ctx context.Context, s *stage) error {
	wallet := "0x" + randomHex(20)
	payers := s.payers(ctx, wallet)
	defer payers.stop()
	holds := map[uint64]bool{}
	for i := range s.times(6, 40) {
		on := wallet
		if i%2 == 1 {
			on = ""
		}
		n := s.cluster.nodes[i%len(s.cluster.nodes)]
		snapshot, err := s.upload(ctx, n, on)
		if err != nil {
			return err
		}
		version, err := s.activate(ctx, s.cluster.followers(n)[0], snapshot)
		if err != nil {
			return err
		}
		holds[version] = i%2 == 0
		s.followed(ctx, wallet, i%2 == 0)
		pause(ctx, 150*time.Millisecond)
	}
	payers.stop()
	if err := s.sameListAfterRestart(ctx); err != nil {
		return err
	}
	s.figure("activations under load", len(holds))
	return s.judgedByList(ctx, wallet, holds)
}

// payers pay to the wallet all the time, from every node.
func (s *stage) payers(ctx context.Context, wallet string) *storm {
	ctx, cancel := context.WithCancel(ctx)
	load := &storm{cancel: cancel}
	for range 2 * len(s.cluster.nodes) {
		c := s.client()
		load.clients.Add(1)
		go func() {
			defer load.clients.Done()
			for ctx.Err() == nil {
				c.screen(context.WithoutCancel(ctx), s.groups[0].accounts[4], amounts[0], "cpWallet", wallet)
				pause(ctx, 10*time.Millisecond)
			}
		}()
	}
	return load
}

// upload stages a hand-made list at a node. The wallet is on the list or not. Only one list may
// be staged at a time.
func (s *stage) upload(ctx context.Context, n *node, wallet string) (string, error) {
	asOf := time.Now()
	entities := []listtest.Entity{{ID: 910001, Last: "CHAOS BYSTANDER HOLDING"}}
	if wallet != "" {
		entities = append(entities, listtest.Entity{ID: 910002, Last: "QUARTZMIRROR WORKS", Wallets: map[string]string{"ETH": wallet}})
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for name, raw := range map[string][]byte{
		"SDN_ENHANCED.XML":  listtest.WriteEnhanced("SDN List", asOf, entities...),
		"CONS_ENHANCED.XML": listtest.WriteEnhanced("Consolidated List", asOf, listtest.Entity{ID: 910003, Last: "CHAOS PASSERBY HOLDING"}),
	} {
		part, err := archive.Create(name)
		if err != nil {
			return "", err
		}
		if _, err := part.Write(raw); err != nil {
			return "", err
		}
	}
	if err := archive.Close(); err != nil {
		return "", err
	}
	a, err := s.caller.do(ctx, request{
		method: http.MethodPost, url: n.admin + "/v1/ofac/snapshots?name=lists.zip", body: packed.Bytes(), patience: readPatience,
	})
	if err != nil {
		return "", err
	}
	if !a.ok() {
		return "", fmt.Errorf("list not staged: %d %.300s", a.status, a.body)
	}
	var staged struct {
		ID string `json:"snapshotId"`
	}
	return staged.ID, a.decode(&staged)
}

// activate makes a staged list the active one and returns its version.
func (s *stage) activate(ctx context.Context, n *node, snapshot string) (uint64, error) {
	a, err := s.caller.verb(ctx, n.api+"/v1/ofac/"+snapshot+"/activate", map[string]any{"force": true, "reason": "fault test"})
	if err != nil {
		return 0, err
	}
	var active struct {
		Version uint64 `json:"listVersion"`
	}
	if err := a.decode(&active); err != nil || active.Version == 0 {
		return 0, fmt.Errorf("activation without a version: %.300s", a.body)
	}
	return active.Version, nil
}

// followed checks, after an acknowledged activation, that every node uses the new list.
func (s *stage) followed(ctx context.Context, wallet string, listed bool) {
	c := s.client()
	c.pinned = true
	for i, n := range s.cluster.nodes {
		c.home = i
		o := c.screen(ctx, s.groups[0].accounts[4], amounts[0], "cpWallet", wallet)
		if blocked := strings.HasPrefix(o.rule, "R6_"); o.done() && blocked != listed {
			s.findings.add("%s, after the activation was acknowledged: %s", n.id, o)
		}
	}
}

// judgedByList compares every verdict on the wallet with the list that was active at the
// verdict's index.
func (s *stage) judgedByList(ctx context.Context, wallet string, holds map[uint64]bool) error {
	keys, err := s.observer.logKeys(ctx)
	if err != nil {
		return err
	}
	x, err := s.caller.export(ctx, s.cluster.nodes[0], keys)
	if err != nil {
		return err
	}
	checked := 0
	for i := range x.leaves {
		l := &x.leaves[i]
		if l.Kind != "screen" || l.Request.Wallet != wallet {
			continue
		}
		checked++
		if blocked := strings.HasPrefix(l.Rule, "R6_"); blocked != holds[l.ListVersion] && !strings.HasPrefix(l.Rule, "R2_") {
			s.findings.add("leaf %d: %s %s with list version %d", l.Leaf, l.Verdict, l.Rule, l.ListVersion)
		}
	}
	if checked == 0 {
		s.findings.add("no payment to the wallet was judged: nothing was tested")
	}
	s.figure("verdicts on the wallet", checked)
	return nil
}

// sameListAfterRestart restarts a follower. Afterwards all nodes must name the same list.
func (s *stage) sameListAfterRestart(ctx context.Context) error {
	leader, err := s.cluster.leader(ctx, s.caller)
	if err != nil {
		return err
	}
	follower := s.cluster.followers(leader)[0]
	if err := follower.Kill(); err != nil {
		return err
	}
	if err := follower.restart(ctx); err != nil {
		return err
	}
	// A ready node may be some entries behind.
	if err := until(ctx, settlePatience, func() bool { return s.cluster.inStep(ctx, s.caller) }); err != nil {
		return fmt.Errorf("the restarted node does not come into step: %w", err)
	}
	first := ""
	for _, n := range s.cluster.nodes {
		var list struct {
			Active struct {
				ID     string `json:"snapshotId"`
				Digest string `json:"sha256"`
			} `json:"active"`
		}
		if err := s.caller.read(ctx, n.api+"/v1/ofac", &list); err != nil {
			return err
		}
		name := list.Active.ID + " " + list.Active.Digest
		if first == "" {
			first = name
		}
		if name != first || list.Active.ID == "" {
			s.findings.add("%s has the list %q, the others %q", n.id, name, first)
		}
	}
	return nil
}
