package main

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/httpapi"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// activateWith makes a list the active one that names a company besides the sample.
func (g *group) activateWith(name string) {
	g.t.Helper()
	all := append(sample.Entities(), ofac.Entity{
		UID: 900_001, Type: ofac.Company, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"TEST"},
		Names: []ofac.Name{{ID: 1, AliasType: "Name", Primary: true, Script: "Latin", Full: name}},
	})
	data, err := ofac.EncodeEntities(all, sample.Meta())
	require.NoError(g.t, err)
	leader := g.leader()
	info := wire.ListInfo{Digest: ofac.Digest(data), Source: "test", Entries: uint32(len(all)), SDN: uint32(len(all)), Sample: true}
	_, err = leader.node.Stage(g.t.Context(), data, info, wire.Common{})
	require.NoError(g.t, err)
	r, err := leader.node.Propose(g.t.Context(), wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: info.Digest}))
	require.NoError(g.t, err)
	require.Equal(g.t, wire.Applied, r.Code)
}

// Leadership goes round while the past is screened: every planted payment is found, by
// whoever leads, and told once.
func TestRetroGoesRoundWithLeadership(t *testing.T) {
	if testing.Short() {
		t.Skip("a group of three")
	}
	g := newGroup(t)
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	token := g.nodes["n1"].token(t)
	const planted = 12
	for i := range 1200 {
		name := "Shop " + strconv.Itoa(i)
		if i%100 == 50 {
			name = "Paper Tiger Holding"
		}
		g.nodes["n"+strconv.Itoa(1+i%3)].must(t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+token+`","amount":5,"cpName":"`+name+`"}`)
	}
	for _, n := range g.nodes {
		duty := httpapi.NewRetro(n.api, n.node)
		duty.SetRest(8) // Long enough for leadership to go round meanwhile.
		duty.SetStep(1)
		duty.Start()
		t.Cleanup(duty.Stop)
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
			_ = leader.node.TransferLeader(t.Context(), "") // Refused now and then: it has just come.
		}
		return ended()
	}, time.Minute, 300*time.Millisecond)
	g.awaitReady()
	runs := g.nodes["n2"].must(t, http.StatusOK, "GET", "/v1/ofac/retro", "")["data"].([]any)
	require.Len(t, runs, 1)
	run := runs[0].(map[string]any)
	require.EqualValues(t, planted, run["hits"])
	report := g.nodes["n3"].must(t, http.StatusOK, "GET", "/v1/ofac/retro/"+run["retroId"].(string), "")
	require.Len(t, report["data"], planted)
	require.Len(t, g.nodes["n1"].must(t, http.StatusOK, "GET", "/v1/alerts?kind=retro_hit", "")["data"], planted)
	t.Logf("led by %v", leaders)
}
