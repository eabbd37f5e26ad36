package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/nodekey"
	"railguard/cluster/report"
)

// nodeKeys returns the keys by which the group knows its members, as a node says.
func (p *park) nodeKeys(m *machine) map[string]string {
	var s report.ClusterStatus
	require.NoError(p.t, json.Unmarshal([]byte(p.must("cluster", "status", "-o", "json", "--url", p.url(m))), &s))
	keys := map[string]string{}
	for _, node := range s.Nodes {
		keys[node.ID] = node.Key
	}
	return keys
}

// A stranger with the cluster secret starts a node of its own under a member's name, while that
// member is down. It gets into no quorum, and is told to be admitted. The member comes back
// unasked, also after all have been restarted; and a wiped member by its admin's word alone, with
// the key that its log shows.
func TestTheSecretIsNoMembership(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newPark(t, 3)
	p.form()
	n1, n3 := p.machines[0], p.machines[2]
	keys := p.nodeKeys(n1)
	for _, m := range p.machines {
		info, err := os.Stat(filepath.Join(m.data, datadir.KeyFile))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		data, err := os.ReadFile(filepath.Join(m.data, datadir.KeyFile))
		require.NoError(t, err)
		key, err := nodekey.Parse(data)
		require.NoError(t, err)
		require.Equal(t, key.Digest(), keys[m.id])
		require.Contains(t, p.said(m), key.Digest(), "its log says its key")
	}
	p.kill(n3)
	thief := p.add("thief")
	thief.id = n3.id
	p.start(thief)
	require.Eventually(t, func() bool { return strings.Contains(p.said(thief), "no admin has admitted") }, slowPatience, 100*time.Millisecond)
	time.Sleep(2 * time.Second) // Without keys it would be a voter by now.
	require.Equal(t, keys, p.nodeKeys(n1))
	_, complaint, code := p.cli("cluster", "admit", n3.id, "--node-key", keys[n3.id], "--patience", "1s", "--url", p.url(n1))
	require.NotZero(t, code, "it asks with another key than the one given")
	require.Contains(t, complaint, "key")
	p.kill(thief)

	p.start(n3)
	p.awaitReady(n3, "")
	require.Equal(t, keys, p.nodeKeys(n1), "the member comes back unasked")
	p.kill(n3)
	require.NoError(t, os.RemoveAll(n3.data))
	p.start(n3)
	said := p.must("cluster", "admit", n3.id, "--url", p.url(n1))
	p.awaitReady(n3, "")
	now := p.nodeKeys(n1)
	require.NotEqual(t, keys[n3.id], now[n3.id])
	require.Contains(t, said, now[n3.id])
	require.Contains(t, p.said(n3), now[n3.id])
}
