package chaos

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests use a hand-made history of two changes of lists. The checks must accept it. Then
// each test adds one thing that must not happen, and the checks must report it.

const (
	deltaGone   = "0x1111111111111111111111111111111111111111"
	deltaComes  = "0x2222222222222222222222222222222222222222"
	deltaStays  = "0x3333333333333333333333333333333333333333"
	deltaStrang = "0x4444444444444444444444444444444444444444"
	deltaName   = "Velvetanvil Foundry"
)

// deltaCase builds logs.
type deltaCase struct {
	pair   *listPair
	ids    map[string]*listFile
	rest   map[restKey]string
	leaves []leaf
}

func newDeltaCase() *deltaCase {
	p := &listPair{removed: []string{deltaGone}, added: []string{deltaComes}}
	p.probes = []probe{
		{wallet: deltaGone, old: true}, {wallet: deltaComes, next: true}, {wallet: deltaStays, old: true, next: true},
		{wallet: deltaStrang}, {name: deltaName, uid: "7", old: true},
	}
	return &deltaCase{
		pair: p,
		ids:  map[string]*listFile{snapshotOf(strings.Repeat("a", 64)): &p.old, snapshotOf(strings.Repeat("b", 64)): &p.next},
		rest: map[restKey]string{{deltaName, &p.old}: "BLOCK", {deltaName, &p.next}: "CLEAR"},
	}
}

func (d *deltaCase) add(t *testing.T, members map[string]any) {
	members["leaf"] = len(d.leaves)
	raw, err := json.Marshal(members)
	require.NoError(t, err)
	l, err := readLeaf(raw)
	require.NoError(t, err)
	d.leaves = append(d.leaves, l)
}

func (d *deltaCase) activate(t *testing.T, index, version uint64, digest string) {
	d.add(t, map[string]any{"kind": "list.activated", "index": index, "listVersion": version, "listDigest": strings.Repeat(digest, 64)})
}

func (d *deltaCase) screen(t *testing.T, index, version uint64, wallet, name, verdict, rule string, uids ...string) {
	matches := []map[string]string{}
	for _, uid := range uids {
		matches = append(matches, map[string]string{"uid": uid})
	}
	request := map[string]any{"amount": 1, "cpWallet": nil, "cpName": nil}
	if wallet != "" {
		request["cpWallet"] = wallet
	} else {
		request["cpName"] = name
	}
	d.add(t, map[string]any{
		"kind": "screen", "agentId": "agt_1", "index": index, "listVersion": version, "verdict": verdict, "rule": rule,
		"matches": matches, "_request": request,
	})
}

const deltaBlock = "R6_COUNTERPARTY_WALLET_OFAC"

// sound is a history without a fault.
func (d *deltaCase) sound(t *testing.T) {
	d.activate(t, 10, 4, "a")
	d.screen(t, 11, 4, deltaGone, "", "BLOCK", deltaBlock, "7")
	d.screen(t, 11, 4, deltaComes, "", "PROCEED", "")
	d.screen(t, 12, 4, deltaStays, "", "BLOCK", deltaBlock, "8")
	d.screen(t, 12, 4, deltaStrang, "", "PROCEED", "")
	d.screen(t, 13, 4, "", deltaName, "BLOCK", "R7_COUNTERPARTY_NAME_OFAC", "7")
	d.activate(t, 13, 5, "b") // In the same entry of the log as the leaf before it and the leaf after it.
	d.screen(t, 13, 5, deltaGone, "", "PROCEED", "")
	d.screen(t, 14, 5, deltaComes, "", "BLOCK", deltaBlock, "9")
	d.screen(t, 15, 5, deltaStays, "", "BLOCK", deltaBlock, "8")
	d.screen(t, 16, 5, deltaStrang, "", "PROCEED", "")
	d.screen(t, 17, 5, "", deltaName, "PROCEED", "")
}

func (d *deltaCase) judge(t *testing.T, operations []*operation, flips []flip) []string {
	t.Helper()
	j := newListJudge(d.pair, d.ids, d.rest)
	j.agents["agt_1"] = true
	require.NoError(t, j.read(d.leaves))
	j.covered()
	j.followed(operations, flips)
	return j.findings.all()
}

func TestDeltaJudgeAccepts(t *testing.T) {
	d := newDeltaCase()
	d.sound(t)
	d.activate(t, 20, 6, "a")
	d.screen(t, 20, 6, deltaGone, "", "BLOCK", deltaBlock, "7")
	called := &operation{kind: opScreen, outcome: answered, invoke: 3 * time.Second, reply: reply{status: 200, list: 5}}
	flips := []flip{{version: 5, file: &d.pair.next, invoke: time.Second, back: 2 * time.Second}}
	require.Empty(t, d.judge(t, []*operation{called}, flips))
}

func TestDeltaJudgeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(t *testing.T, d *deltaCase)
	}{
		{"an un-listed wallet still blocked", "has it: false", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, deltaGone, "", "BLOCK", deltaBlock, "7")
		}},
		{"a listed wallet let through", "has it: true", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, deltaStays, "", "PROCEED", "")
		}},
		{"the new list's verdict under the old list's version", "is judged with list version 4", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 4, deltaGone, "", "PROCEED", "")
		}},
		{"a name still matched", "has it: false", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, "", deltaName, "PROCEED", "", "7")
		}},
		{"a name judged otherwise than at rest", "at rest that list says PROCEED", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, "", deltaName, "REVIEW", "R21_POSSIBLE_NAME_MATCH", "5")
		}},
		{"rule and verdict that do not fit", "is PROCEED R6_", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, deltaStays, "", "PROCEED", deltaBlock)
		}},
		{"a version left out", "activates list version 7 after 5", func(t *testing.T, d *deltaCase) { d.activate(t, 18, 7, "a") }},
		{"a list that nobody activated here", "is judged with list version 6", func(t *testing.T, d *deltaCase) {
			d.activate(t, 18, 6, "c")
			d.screen(t, 19, 6, deltaStays, "", "BLOCK", deltaBlock)
		}},
		{"the log goes back", "at index 9 is judged", func(t *testing.T, d *deltaCase) {
			d.screen(t, 9, 5, deltaStays, "", "BLOCK", deltaBlock)
		}},
		{"a wallet that was not screened under both", "not screened under both", func(t *testing.T, d *deltaCase) {
			d.pair.probes = append(d.pair.probes, probe{wallet: "0x5555555555555555555555555555555555555555"})
		}},
		{"too few un-listed", "1 wallets were un-listed, and 2 should", func(t *testing.T, d *deltaCase) {
			d.pair.removed = append(d.pair.removed, deltaStays)
		}},
		{"too many newly listed", "1 wallets were newly listed, and 0 should", func(t *testing.T, d *deltaCase) { d.pair.added = nil }},
		{"a call that nobody made", "which nobody asked for", func(t *testing.T, d *deltaCase) {
			d.screen(t, 18, 5, "0x6666666666666666666666666666666666666666", "", "PROCEED", "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeltaCase()
			d.sound(t)
			c.spoil(t, d)
			require.Contains(t, strings.Join(d.judge(t, nil, nil), "\n"), c.want)
		})
	}
}

func TestDeltaJudgeFollows(t *testing.T) {
	d := newDeltaCase()
	d.sound(t)
	late := &operation{kind: opScreen, outcome: answered, invoke: 3 * time.Second, reply: reply{status: 200, list: 4}}
	flips := []flip{{version: 5, file: &d.pair.next, invoke: time.Second, back: 2 * time.Second}}
	require.Contains(t, strings.Join(d.judge(t, []*operation{late}, flips), "\n"), "called after list version 5 was acknowledged")
	late.invoke = 1500 * time.Millisecond // While the change was in progress, either list is right.
	require.Empty(t, d.judge(t, []*operation{late}, flips))
	flips[0].version = 6
	require.Contains(t, strings.Join(d.judge(t, nil, flips), "\n"), "is not in the log")
}

// What ownPair claims about its lists agrees with its probes.
func TestOwnPair(t *testing.T) {
	p, err := ownPair()
	require.NoError(t, err)
	require.Len(t, p.removed, p.entries.walletsRemoved-1) // The wallet that is handed on stays listed.
	require.Len(t, p.added, p.entries.walletsAdded-1)
	require.NotEqual(t, p.old.raw, p.next.raw)
	require.Less(t, len(p.old.raw), 4<<20)
}

// The golden files agree with one another.
func TestPublishedPair(t *testing.T) {
	p, err := publishedPair()
	if _, missing := err.(skipped); missing {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, deltaCounts{added: 67, removed: 1, changed: 2, walletsRemoved: 90}, p.entries)
	require.Len(t, p.removed, 90)
	require.Empty(t, p.added)
}
