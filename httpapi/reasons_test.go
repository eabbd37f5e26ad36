package httpapi

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// A call that gives out all that the institution has may say why. The reason stands in the leaf of
// who looked, and each call has its line in the node's log.
func TestExportsSayWhy(t *testing.T) {
	n := newTestNode(t)
	said := &bytes.Buffer{}
	n.api = n.another(func(d *Deps) { d.Logger, d.Backup = slog.New(slog.NewTextHandler(said, nil)), partsOfABackup })
	require.Equal(t, 200, n.do("admin", "GET", "/v1/cluster/backup?reason=nightly%20copy", "").Code)
	require.Equal(t, 200, n.do("admin", "GET", "/v1/cluster/backup?from=0&reason=nightly%20copy", "").Code)
	require.Equal(t, 200, n.do("admin", "GET", "/v1/cluster/backup", "").Code)
	require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/export?from=2026-01-01&reason=case%2017", "").Code)
	n.api.Looks().Send(t.Context(), false)
	var leaves []string
	for _, event := range answer(t, n.do("auditor", "GET", "/v1/events?types=key.looked&limit=100", ""), 200).GetArray("data") {
		if data := event.Get("data"); textOf(data, "look") == "export" {
			leaves = append(leaves, textOf(data, "keyId")+" "+textOf(data, "subject")+" "+textOf(data, "reason")+" "+strconv.Itoa(data.GetInt("count"))+" "+textOf(data, "firstAddress"))
		}
	}
	require.ElementsMatch(t, []string{
		"key_bootstrap key:key_bootstrap nightly copy 2 192.0.2.1", "key_bootstrap key:key_bootstrap  1 192.0.2.1", "key_auditor key:key_auditor case 17 1 192.0.2.1",
	}, leaves)

	var lines []string
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "data of the institution is given out") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 4, "a line for each call")
	require.Regexp(t, `level=INFO .* path=/v1/cluster/backup keyId=key_bootstrap subject=key:key_bootstrap address=192\.0\.2\.1 reason="nightly copy" requestId=\S+`, lines[0])
	require.Regexp(t, `path=/v1/audit/export keyId=key_auditor subject=key:key_auditor address=192\.0\.2\.1 reason="case 17"`, lines[3])

	w := n.do("admin", "GET", "/v1/cluster/backup?reason="+strings.Repeat("x", engine.FieldMax+1), "")
	require.Equal(t, 400, w.Code)
	require.Equal(t, "reason", member(t, w.Body.Bytes(), "param"))
}

// A key that gives ever other reasons cannot fill the table of looks.
func TestReasonsAreBounded(t *testing.T) {
	n := newTestNode(t)
	for i := range 20 {
		require.Equal(t, 200, n.do("auditor", "GET", "/v1/audit/export?from=2026-01-01&reason="+strconv.Itoa(i), "").Code)
	}
	n.api.Looks().Send(t.Context(), false)
	var counts []int
	for _, event := range answer(t, n.do("auditor", "GET", "/v1/events?types=key.looked&limit=100", ""), 200).GetArray("data") {
		if data := event.Get("data"); textOf(data, "look") == "export" {
			counts = append(counts, data.GetInt("count"))
			require.Equal(t, data.GetInt("count") > 1, textOf(data, "reason") == "")
		}
	}
	require.Len(t, counts, 17, "sixteen with their reasons, and one of all others")
	require.Contains(t, counts, 4)
}

// Whoever changes a member says why; key and reason go with the change to the leader.
func TestMemberChangesSayWhoAndWhy(t *testing.T) {
	n := newTestNode(t)
	for _, verb := range []string{"admit", "remove", "promote", "demote"} {
		n.orderedBy.Fragment = nil
		answer(t, n.do("admin", "POST", "/v1/cluster/"+verb, `{"id":"n2","reason":"its disk is `+verb+`","actor":"Ada"}`), 200)
		require.Contains(t, string(n.orderedBy.Fragment), `"reason":"its disk is `+verb+`","actor":"Ada","actorKeyId":"key_bootstrap"`)
		require.NotNil(t, n.orderedBy.Key)
		require.Nil(t, n.orderedBy.Idem)
		require.Equal(t, 422, n.do("admin", "POST", "/v1/cluster/"+verb, `{"id":"n2","reason":7}`).Code)
	}
}
