package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/edge/retrace"
	"railguard/fsm/wire"
	"railguard/httpapi"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// activateWith activates a list that names a company in addition to the sample.
func (g *group) activateWith(name string) {
	g.t.Helper()
	all := append(sample.Entities(), ofac.Entity{
		UID: 900_001, Type: ofac.Company, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
		Names: []ofac.Name{{ID: 1, AliasType: "Name", Primary: true, Script: "Latin", Full: name}},
	})
	data, err := ofac.EncodeEntities(all, sample.Meta())
	require.NoError(g.t, err)
	g.activate(data, wire.ListInfo{Digest: ofac.Digest(data), Source: "test", Entries: uint32(len(all)), SDN: uint32(len(all)), Sample: true})
}

// The leader changes while past payments are screened. Every planted payment is found, whoever
// leads, and reported once.
func TestRetroGoesRoundWithLeadership(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	g.plantPaper(1200)
	for _, n := range g.nodes {
		n.screenPastSlowly(t)
	}
	g.activateWith("PAPER TIGER HOLDING")
	leaders := map[string]bool{}
	ended := func() bool {
		run := g.nodes["n1"].node.Settings().Retro
		return run != nil && run.EndedAt != 0
	}
	require.Eventually(t, func() bool {
		if leader := g.leader(); leader != nil && len(leaders) < 3 && g.nodes["n1"].node.Settings().Retro != nil {
			leaders[leader.node.NodeID()] = true
			_ = leader.node.TransferLeader(t.Context(), "") // It is refused now and then, because the node has just become leader.
		}
		return ended()
	}, time.Minute, 300*time.Millisecond)
	g.awaitReady()
	g.wantPaper("n2", planted)
	t.Logf("led by %v", leaders)
}

// planted is how many payments plantPaper makes to Paper Tiger Holding.
const planted = 12

// plantPaper screens payments at all nodes, some of them to Paper Tiger Holding.
func (g *group) plantPaper(payments int) {
	token := g.nodes["n1"].token(g.t)
	for i := range payments {
		name := "Shop " + strconv.Itoa(i)
		if i%(payments/planted) == payments/planted/2 {
			name = "Paper Tiger Holding"
		}
		g.nodes["n"+strconv.Itoa(1+i%3)].must(g.t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"`+name+`"}`)
	}
}

// screenPastSlowly starts a node's screening of the past, so slowly that something can happen
// before it ends.
func (n *groupNode) screenPastSlowly(t testing.TB) *retrace.Retro {
	duty := httpapi.NewRetro(n.api, n.node)
	duty.SetRest(8)
	duty.SetStep(1)
	duty.Start()
	t.Cleanup(duty.Stop)
	return duty
}

// wantPaper requires one run that found each of the planted payments once.
func (g *group) wantPaper(id string, hits int) {
	t, n := g.t, g.nodes[id]
	t.Helper()
	runs := n.must(t, http.StatusOK, "GET", "/v1/ofac/retro", "")["data"].([]any)
	require.Len(t, runs, 1)
	run := runs[0].(map[string]any)
	require.Equal(t, "done", run["state"])
	require.EqualValues(t, hits, run["hits"])
	report := n.must(t, http.StatusOK, "GET", "/v1/ofac/retro/"+run["retroId"].(string), "")
	txns := map[string]bool{}
	for _, hit := range report["data"].([]any) {
		txn := hit.(map[string]any)["txnId"].(string)
		require.False(t, txns[txn], "told twice: %s", txn)
		txns[txn] = true
		require.Equal(t, "Paper Tiger Holding", n.must(t, http.StatusOK, "GET", "/v1/audit/"+txn, "")["_request"].(map[string]any)["cpName"])
	}
	require.Len(t, txns, hits)
	require.Len(t, n.must(t, http.StatusOK, "GET", "/v1/alerts?kind=retro_hit", "")["data"], hits)
}

// A leader disappears in the middle of the screening that an activation requires. The next
// leader finishes it exactly, and the node that returns reports the same result.
func TestRetroOutlivesItsLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	g.plantPaper(600)
	duties := map[string]*retrace.Retro{}
	for id, n := range g.nodes {
		duties[id] = n.screenPastSlowly(t)
	}
	g.activateWith("PAPER TIGER HOLDING")
	var died string
	require.Eventually(t, func() bool {
		leader := g.leader()
		if leader == nil {
			return false
		}
		died = leader.node.NodeID()
		run := leader.node.Settings().Retro
		return run != nil && run.Hits >= planted/3
	}, time.Minute, time.Millisecond)
	g.die(died)
	duties[died].Stop()
	var other string
	require.Eventually(t, func() bool {
		leader := g.leader()
		if leader == nil {
			return false
		}
		other = leader.node.NodeID()
		run := leader.node.Settings().Retro
		return run != nil && run.EndedAt != 0
	}, time.Minute, 10*time.Millisecond)
	require.NotEqual(t, died, other)
	g.wantPaper(other, planted)
	g.open(died, ofac.Carried())
	g.awaitReady()
	g.wantPaper(died, planted)
}
