package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// If the outcome of a payment is unknown, it is asked for again after the first attempt is
// over. A success is booked. A failure proves nothing, because the first attempt may have
// succeeded.
func x402Retried(t *testing.T, g *guarded) {
	for _, verified := range []bool{true, false} {
		for first, second := range map[string]string{"times out": "settled", "pays and times out": "settlement_pending"} {
			g.chain.say("")
			agent, token := g.payer("")
			body := g.payment(token, "2000000").String()
			if verified {
				require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
			}
			g.chain.say(first)
			require.Equal(t, "settlement_pending", x402Call(t, g.doors["n2"], "/settle", body).ErrorReason)
			g.chain.say("")
			g.advance(time.Minute)
			again := x402Call(t, g.doors["n3"], "/settle", body)
			_, calls := g.chain.asked()
			require.Equal(t, 1, calls)
			spent, held := g.counted(agent)
			if second == "settled" {
				require.True(t, again.Success, "%+v", again)
				require.Equal(t, [2]float64{2, 0}, [2]float64{spent, held})
				require.Equal(t, again.Transaction, x402Call(t, g.doors["n1"], "/settle", body).Transaction)
				continue
			}
			require.Equal(t, second, again.ErrorReason, "%+v", again)
			require.Equal(t, [2]float64{0, 2}, [2]float64{spent, held})
			// If the agent was suspended meanwhile, no settlement is asked for again.
			g.nodes["n1"].must(t, 200, "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"found out"}`)
			require.Equal(t, "settlement_pending", x402Call(t, g.doors["n3"], "/settle", body).ErrorReason)
			_, calls = g.chain.asked()
			require.Equal(t, 1, calls)
		}
	}
}

// One payment is asked for at all nodes at once, in different bodies, and sent once.
func x402AtOnce(t *testing.T, g *guarded) {
	for _, verified := range []bool{true, false} {
		for _, same := range []bool{true, false} {
			g.chain.say("")
			agent, token := g.payer(`,"spendPolicy":{"dailyLimitUSDC":3}`)
			body := g.payment(token, "2000000").String()
			if verified {
				require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
			}
			g.chain.say("pays slowly")
			var all sync.WaitGroup
			var successes, pending atomic.Int64
			for i, id := range []string{"n1", "n2", "n3", "n1", "n2", "n3"} {
				mine := body
				if !same {
					mine = strings.Replace(body, "{", "{"+strings.Repeat(" ", i+1), 1)
				}
				all.Go(func() {
					switch a := x402Call(t, g.doors[id], "/settle", mine); {
					case a.Success:
						successes.Add(1)
					case a.ErrorReason == "settlement_pending":
						pending.Add(1)
					default:
						t.Errorf("%+v", a)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 6, successes.Load()+pending.Load())
			require.Positive(t, successes.Load())
			_, calls := g.chain.asked()
			require.Equal(t, 1, calls)
			spent, held := g.counted(agent)
			require.Equal(t, [2]float64{2, 0}, [2]float64{spent, held})
			require.True(t, x402Call(t, g.doors["n2"], "/settle", body).Success)
		}
	}
}

// Even if the policy lets a reference be used twice, the log says who sends a payment.
func x402ReferencesOff(t *testing.T, g *guarded) {
	g.leader().must(t, http.StatusOK, "PUT", "/v1/policy?reason=test", `{"paymentRef":{"once":"off"}}`)
	defer g.leader().must(t, http.StatusOK, "PUT", "/v1/policy", `{}`)
	x402AtOnce(t, g)
}

// If a facilitator calls a payment invalid while it is being made, its hold stays.
func x402VerifiedMeanwhile(t *testing.T, g *guarded) {
	agent, token := g.payer("")
	body := g.payment(token, "2000000").String()
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
	g.chain.say("times out")
	require.Equal(t, "settlement_pending", x402Call(t, g.doors["n2"], "/settle", body).ErrorReason)
	g.chain.say("refuses")
	require.Equal(t, "insufficient_funds", x402Call(t, g.doors["n3"], "/verify", body).InvalidReason)
	_, held := g.counted(agent)
	require.Equal(t, 2.0, held)
}

// The leader changes between verify and settle; the next leader finds the hold.
func x402LeaderGone(t *testing.T, g *guarded) {
	agent, token := g.payer("")
	body := g.payment(token, "2000000").String()
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
	gone := ""
	for id, n := range g.nodes {
		if n.node.Role() == "leader" {
			gone = id
		}
	}
	g.close(gone)
	stays := map[string]string{"n1": "n2", "n2": "n3", "n3": "n1"}[gone]
	settled := x402Call(t, g.doors[stays], "/settle", body)
	for try := 0; settled.ErrorReason == "railguard_unavailable" && try < 5; try++ { // An SDK's caller would retry, too.
		settled = x402Call(t, g.doors[stays], "/settle", body)
	}
	require.True(t, settled.Success, "%+v", settled)
	g.open(gone, ofac.Carried())
	g.awaitReady()
	g.guard(gone)
	require.Equal(t, settled.Transaction, x402Call(t, g.doors[gone], "/settle", body).Transaction)
	spent, held := g.counted(agent)
	require.Equal(t, [2]float64{2, 0}, [2]float64{spent, held})
}

// A hold whose time is over stays unresolved and counts, because whoever has the signed payment
// can make it: neither verify nor settle sends it on any more.
func x402Expired(t *testing.T, g *guarded) {
	agent, token := g.payer(`,"spendPolicy":{"dailyLimitUSDC":3}`)
	body, other := g.payment(token, "2000000").String(), g.payment(token, "2000000").String()
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
	require.Equal(t, "railguard_review", x402Call(t, g.doors["n1"], "/verify", other).InvalidReason, "held counts")
	g.advance(10 * time.Minute)
	g.awaitUnresolved(agent)
	require.Equal(t, "railguard_unresolved", x402Call(t, g.doors["n1"], "/verify", body).InvalidReason)
	require.Equal(t, "railguard_unresolved", x402Call(t, g.doors["n1"], "/settle", body).ErrorReason)
	require.Equal(t, "railguard_review", x402Call(t, g.doors["n1"], "/verify", other).InvalidReason, "unresolved counts")
	spent, held := g.counted(agent)
	require.Equal(t, [2]float64{0, 2}, [2]float64{spent, held})

	// A payment that was sent on, and whose success became known only after the end of its hold,
	// is settled on that hold.
	agent, token = g.payer("")
	body = g.payment(token, "1000000").String()
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
	g.chain.say("times out")
	require.Equal(t, "settlement_pending", x402Call(t, g.doors["n1"], "/settle", body).ErrorReason)
	g.chain.say("")
	g.advance(10 * time.Minute)
	g.awaitUnresolved(agent)
	late := x402Call(t, g.doors["n2"], "/settle", body)
	require.True(t, late.Success, "%+v", late)
	require.Equal(t, late.Transaction, x402Call(t, g.doors["n3"], "/settle", body).Transaction)
	spent, held = g.counted(agent)
	require.Equal(t, [2]float64{1, 0}, [2]float64{spent, held})
}

// Every kind that is listed as supported can be screened. The list is given even if the
// facilitator behind does not answer.
func x402Supported(t *testing.T, g *guarded) {
	g.chain.kinds = `{"x402Version":2,"scheme":"exact","network":"eip155:8453","extra":{"a":1}},{"x402Version":1,"scheme":"exact","network":"base"},
		{"x402Version":2,"scheme":"upto","network":"eip155:8453"},{"x402Version":2,"scheme":"exact","network":"eip155:137"},{"x402Version":1,"scheme":"exact","network":"polygon"}`
	read := func(door http.Handler) (kinds []map[string]any, extensions []string) {
		w := x402Do(door, groupKey, "GET", "/x402/supported", "")
		require.Equal(t, 200, w.Code)
		var answer struct {
			Kinds      []map[string]any
			Extensions []string
			Signers    map[string][]string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.NotNil(t, answer.Signers)
		return answer.Kinds, answer.Extensions
	}
	kinds, extensions := read(g.doors["n1"])
	require.Len(t, kinds, 2)
	require.Equal(t, map[string]any{"a": 1.0}, kinds[0]["extra"])
	require.Equal(t, []string{"railguard", "bazaar"}, extensions)
	g.chain.say("500")
	kinds, _ = read(g.doors["n1"])
	require.Len(t, kinds, 2, "what was told last")
	kinds, extensions = read(g.doors["n2"])
	require.Len(t, kinds, 6, "what the assets say: three networks in two versions")
	require.Equal(t, []string{"railguard"}, extensions)
}
