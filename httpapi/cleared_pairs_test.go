package httpapi

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/ofac"
	"railguard/ofac/sample"
)

// A listed entry is named by a text, as matches show it.
func TestClearedTakesTheUIDAsShown(t *testing.T) {
	n := newTestNode(t)
	for _, c := range []struct {
		uid    string
		status int
	}{{`"27307"`, 201}, {`27307`, 422}, {`"0"`, 422}, {`"-1"`, 422}, {`"4294967296"`, 422}, {`"x"`, 422}, {`""`, 422}, {`true`, 422}, {`null`, 422}} {
		w := n.do("reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Groupe","uid":`+c.uid+`,"reason":"our caterer","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`)
		require.Equal(t, c.status, w.Code, c.uid)
	}
	v := answer(t, n.do("reviewer", "GET", "/v1/match?name=%FF", ""), 400)
	require.Contains(t, textOf(v, "message"), "UTF-8")
}

// A cleared pair needs an end, and a match that it clears.
func TestClearedPairsEndAndResemble(t *testing.T) {
	n := newTestNode(t)
	for body, param := range map[string]string{
		`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true}`:                                          "expiresAt",
		`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-03-01T00:00:00Z"}`:       "expiresAt",
		`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2027-03-24T00:00:00Z"}`:       "expiresAt",
		`{"name":"Quiet Orchard Bakery","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`: "name",
		`{"name":"Lazarus Group","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`:        "name", // The match with this entry blocks, and a cleared pair cannot suppress that.
		`{"name":"Lazarus Groupe","uid":"27307","expiresAt":"2026-04-20T00:00:00Z"}`:                                    "reason",
	} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "POST", "/v1/cleared", body), 422), "param"), body)
	}
	require.Empty(t, n.Settings().Cleared)
	answer(t, n.do("reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2027-03-22T00:00:00Z"}`), 201)
}

// A cleared pair shows whom it clears, and why it is void: it ended, or its entry changed
// or was removed.
func TestClearedPairsSayWhyTheyAreVoid(t *testing.T) {
	n := newTestNode(t)
	entities := sample.Entities()
	at := slices.IndexFunc(entities, func(e ofac.Entity) bool { return e.UID == 27307 })
	require.NotEqual(t, -1, at)
	activate := func(entities []ofac.Entity) { n.activate(entities, sample.Meta()) }
	pair := func() *fastjson.Value {
		return answer(t, n.do("reviewer", "GET", "/v1/cleared", ""), 200).Get("data", "0")
	}
	answer(t, n.do("reviewer", "POST", "/v1/cleared", `{"name":"Lazarus Groupe","uid":"27307","reason":"our caterer","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z","clearedBy":"Ann"}`), 201)
	require.True(t, pair().GetBool("inForce"))
	require.Equal(t, "null", pair().Get("void").String())
	require.Equal(t, entities[at].Names[0].Full, textOf(pair(), "entryName"))

	changed := slices.Clone(entities)
	changed[at].Programs = []string{"DPRK4"}
	activate(changed)
	require.False(t, pair().GetBool("inForce"))
	require.Equal(t, "entry_changed", textOf(pair(), "void"))
	activate(slices.Delete(slices.Clone(entities), at, at+1))
	require.Equal(t, "entry_removed", textOf(pair(), "void"))
	require.Equal(t, "null", pair().Get("entryName").String())
	activate(entities)
	require.True(t, pair().GetBool("inForce"), "it is the entry that was cleared again")
}
