package cluster

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// heardLines collects the lines that nodes log, until take returns them.
type heardLines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (h *heardLines) Write(p []byte) (int, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.text.Write(p)
}

// take returns all lines since the last call, and those above INFO.
func (h *heardLines) take() (all, loud []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for line := range strings.Lines(h.text.String()) {
		all = append(all, line)
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			loud = append(loud, line)
		}
	}
	h.text.Reset()
	return all, loud
}

func (h *heardLines) listen(c *Config) {
	c.Logger = slog.New(slog.NewTextHandler(h, nil)).With("node", c.ID)
}

// A routine restart of a node, follower or leader, alarms nobody: no node logs a line above
// INFO, and no line has a format verb in it.
func TestRoutineRestartsAreQuiet(t *testing.T) {
	heard := &heardLines{}
	g := newGroup(t, heard.listen)
	g.form(3)
	_, _ = heard.take()
	for _, role := range []string{"follower", "leader"} {
		node := g.follower()
		if role == "leader" {
			node = g.leader()
		}
		id := node.config.ID
		ctx, cancel := context.WithTimeout(t.Context(), groupPatience)
		require.NoError(t, node.Drain(ctx))
		cancel()
		g.close(id)
		g.leader()
		var hosts []string
		for _, host := range g.hosts {
			hosts = append(hosts, host)
		}
		g.open(id, expect(3), join(hosts...))
		g.awaitReady()
		all, loud := heard.take()
		require.Empty(t, loud, "the restart of a %s", role)
		for _, line := range all {
			require.NotContains(t, line, "%!", "a format verb")
			require.NotContains(t, line, "%d")
			require.NotContains(t, line, "%s")
			require.NotContains(t, line, "%v")
		}
		require.Less(t, len(all), 150, "lines of the restart of a %s: %s", role, all)
	}
}

// Raft's lines about its disk and about lost leadership stay loud. Its repeated lines about
// absent peers are left to the watcher. Lines that it formats late are formatted.
func TestRaftsLinesAreTranslated(t *testing.T) {
	var said bytes.Buffer
	logger := newRaftLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
	peer := raft.Server{ID: "n2", Address: "10.0.0.2:8280"}
	for _, test := range []struct {
		say  func()
		want string
	}{
		{func() { logger.Error("failed to appendEntries to", "peer", peer, "error", fmt.Errorf("refused")) }, `level=DEBUG msg="failed to appendEntries to" room=raft peer=n2 error=refused`},
		{func() { logger.Error("failed to commit logs", "error", fmt.Errorf("disk")) }, `level=ERROR msg="failed to commit logs" room=raft error=disk`},
		{func() { logger.Warn("skipping application of old log", "index", 4) }, `level=DEBUG msg="skipping application of old log" room=raft index=4`},
		{func() { logger.Error("something new") }, `level=ERROR msg="something new" room=raft`},
		{func() { logger.Warn("failed to contact quorum of nodes, stepping down") }, `level=WARN`},
		{func() { logger.Warn("heartbeat timeout reached, starting election") }, `level=INFO`},
		{func() { logger.Warn("Shutdown node at 10.0.0.1:8280") }, `level=INFO`},
		{func() { logger.Error("expected heartbeat, got", "command", hclog.Fmt("%#v", 7)) }, `command=7`},
		{func() { logger.With("peer", peer).Info("x") }, `peer=n2`},
		{func() { logger.Log(hclog.Error, "failed to pipeline appendEntries", "peer", peer) }, `level=DEBUG`},
	} {
		said.Reset()
		test.say()
		require.Contains(t, said.String(), test.want)
	}
}
