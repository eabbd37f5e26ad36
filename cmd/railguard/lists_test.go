package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/listtest"
)

// upload stages a file or folder as `railguard ofac import` does, and returns the answer.
func (n *groupNode) upload(t testing.TB, path string) map[string]any {
	t.Helper()
	name, bundle, err := bundleOf(path)
	require.NoError(t, err)
	code, answer := n.admin("POST", "/v1/ofac/snapshots?name="+url.QueryEscape(name), string(bundle))
	require.Equal(t, http.StatusCreated, code, "%s: %v", path, answer)
	return answer
}

// activate activates a staged list; with a reason (why) it forces that.
func (n *groupNode) activate(t testing.TB, status int, id any, why string) map[string]any {
	t.Helper()
	body := `{}`
	if why != "" {
		body = fmt.Sprintf(`{"force":true,"reason":%q}`, why)
	}
	return n.must(t, status, "POST", fmt.Sprintf("/v1/ofac/%v/activate", id), body)
}

// listFile writes an SDN list of companies, one with wallets on two chains. spoil, if given,
// alters it.
func listFile(t testing.TB, day, companies, evm int, spoil func(string) string) string {
	entities := []listtest.Entity{{ID: 1, Last: "LAZARUS GROUP", Wallets: map[string]string{"XBT": "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"}}}
	for i := range companies {
		e := listtest.Entity{ID: 2 + i, Last: fmt.Sprintf("QUARTZMIRROR %s WORKS", strings.Repeat(string(rune('A'+i%26)), 1+i/26%12))}
		if i < evm {
			e.Wallets = map[string]string{"ETH": fmt.Sprintf("0x%040x", i+1)}
		}
		entities = append(entities, e)
	}
	text := string(listtest.WriteEnhanced("SDN List", time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC), entities...))
	if spoil != nil {
		text = spoil(text)
	}
	path := filepath.Join(t.TempDir(), "SDN_ENHANCED.XML")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A first list that is too small, a chain that loses its wallets, a missing family and a
// malformed entity are each reported over HTTP.
func TestListsAreJudged(t *testing.T) {
	g := newGroup(t, "n1")
	g.form(ofac.Carried())
	n := g.nodes["n1"]
	first := n.upload(t, listFile(t, 10, 1200, 20, func(text string) string {
		return strings.Replace(text, `<entity id="500">`, `<entity id="499">`, 1)
	}))
	require.EqualValues(t, 1, first["quarantined"])
	refused := n.activate(t, http.StatusUnprocessableEntity, first["snapshotId"], "")
	require.Contains(t, refused["message"], "small: a first list of 1200 entries: a whole one has at least 10000")
	n.activate(t, http.StatusOK, first["snapshotId"], "a drill")

	active := n.must(t, http.StatusOK, "GET", "/v1/ofac", "")["active"].(map[string]any)
	require.Equal(t, []any{"CONS"}, active["missing"])
	require.EqualValues(t, 1, active["quarantined"])
	require.Contains(t, active["warnings"].([]any)[0], "is malformed and was left out")
	require.Equal(t, map[string]any{"BTC": 1., "EVM": 20.}, active["walletsByChain"])
	families := active["families"].(map[string]any)
	require.Equal(t, "2026-03-10T00:00:00.000Z", families["SDN"].(map[string]any)["publishedAt"])
	require.Nil(t, families["CONS"].(map[string]any)["publishedAt"])
	health := n.must(t, http.StatusOK, "GET", "/v1/health", "")["ofac"].(map[string]any)
	require.Equal(t, []any{"CONS"}, health["missing"])
	require.EqualValues(t, 1, health["quarantined"])
	warnings := fmt.Sprint(n.must(t, http.StatusOK, "GET", "/v1/cluster/status", "")["warnings"])
	require.Contains(t, warnings, "no consolidated (non-SDN) list")
	require.Contains(t, warnings, "1 malformed entities were left out")

	fewer := n.upload(t, listFile(t, 11, 1201, 15, nil))
	refused = n.activate(t, http.StatusUnprocessableEntity, fewer["snapshotId"], "")
	require.Contains(t, fmt.Sprint(refused["details"]), "EVM accounts would shrink from 20 to 15: at least 80 % must stay")
	n.activate(t, http.StatusOK, n.upload(t, listFile(t, 11, 1201, 16, nil))["snapshotId"], "")
}
