package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// tailOf returns the name of the file with a node's unsealed history.
func tailOf(dir string) string {
	return filepath.Join(dir, datadir.AuditFolder, "tail", "000000000.log")
}

// flipIn changes one bit of the first place in a file that has a text.
func flipIn(t *testing.T, name, text string) (at int) {
	t.Helper()
	data := mustRead(t, name)
	at = bytes.Index(data, []byte(text))
	require.Positive(t, at, text)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(name, data, 0o600))
	return at
}

// damageCounted returns how many damages the process has counted, of history and of lists.
func damageCounted() (history, lists uint64) {
	return metrics.GetOrCreateCounter("railguard_audit_damage_found_total").Get(), listDamageFound.Get()
}

// A node that starts on history with a bad byte tells file, byte and leaf, counts the damage, and
// gets the leaf back from a peer.
func TestRotMetAtAStartIsTold(t *testing.T) {
	heard := &heardLines{}
	g := newGroup(t, heard.listen)
	g.form(3)
	for i := range 10 {
		propose(t, g.leader(), wire.KindRegister, register(fmt.Sprintf("before-%d-", i)))
	}
	g.awaitEqual()
	node := g.follower()
	id, size := node.config.ID, node.audit.Size()
	_, err := node.Snapshot(t.Context()) // The file says that all before is durable.
	require.NoError(t, err)
	g.close(id)
	flipIn(t, tailOf(node.config.DataDir), "before-3-")
	before, _ := damageCounted()
	_, _ = heard.take()
	var hosts []string
	for _, host := range g.hosts {
		hosts = append(hosts, host)
	}
	node = g.open(id, expect(3), join(hosts...))
	_, loud := heard.take()
	require.NotEmpty(t, loud)
	require.Regexp(t, `level=ERROR msg="history on this disk is damaged: .*fetched from a peer" .*file=tail/000000000.log from_byte=\d+ to_byte=\d+ first_leaf=(\d+) last_leaf=\d+`, loud[0])
	after, _ := damageCounted()
	require.Equal(t, before+1, after)
	require.Eventually(t, func() bool { return !node.history.busy.Load() && len(node.audit.Missing(1)) == 0 }, 20*time.Second, 10*time.Millisecond)
	for i := range size {
		_, err := node.audit.Leaf(i)
		require.NoError(t, err)
	}
	require.Empty(t, node.history.describeLoss())

	// What was written again is not told again.
	g.close(id)
	_, _ = heard.take()
	g.open(id, expect(3), join(hosts...))
	_, loud = heard.take()
	require.NotContains(t, strings.Join(loud, ""), "history on this disk is damaged")
	again, _ := damageCounted()
	require.Equal(t, after, again)
}

// Where the log still has what rotted, a node that is alone writes it again; it tells so all the
// same. Where the log has it no more, the node serves, and says on every page what is lost and what
// a person can do.
func TestRotOfANodeThatIsAlone(t *testing.T) {
	dir, heard := t.TempDir(), &heardLines{}
	n := openAlone(t, dir, heard.listen)
	propose(t, n, wire.KindRegister, register("in-the-snapshot-"))
	propose(t, n, wire.KindRegister, register("beside-it-"))
	_, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"in-the-log-", "behind-it-"} {
		propose(t, n, wire.KindRegister, register(name))
	}
	require.NoError(t, n.Close())

	flipIn(t, tailOf(dir), "in-the-log-")
	before, _ := damageCounted()
	_, _ = heard.take()
	n = openAlone(t, dir, heard.listen)
	_, loud := heard.take()
	require.Len(t, loud, 1)
	require.Regexp(t, `level=ERROR msg="history on this disk cannot be read to its end, .*" .*file=tail/000000000.log from_byte=\d+ bytes=\d+ whole_leaves_dropped=[1-9]`, loud[0])
	after, _ := damageCounted()
	require.Equal(t, before+1, after)
	require.Empty(t, n.audit.Missing(1), "the log gave it")
	require.Empty(t, n.history.describeLoss())
	require.NoError(t, n.Close())

	flipIn(t, tailOf(dir), "in-the-snapshot-")
	_, _ = heard.take()
	n = openAlone(t, dir, heard.listen)
	ready := n.Ready(t.Context(), report.ReadyQuery{})
	require.True(t, ready.Ready, "payments go on")
	require.Regexp(t, `^ok, but history on this node's disk lacks leaves, .* this node is alone, .* Restart the node, .* newest backup`, ready.Checks[0].Text)
	status := strings.Join(n.Status(t.Context()).Warnings, "; ")
	require.Contains(t, status, aloneRemedy)
	require.NotContains(t, status, "fetched", "from whom?")
	require.Eventually(t, func() bool {
		_, now := heard.take()
		loud = append(loud, now...)
		return strings.Contains(strings.Join(loud, ""), "history is still incomplete")
	}, 10*time.Second, 20*time.Millisecond)
	require.Contains(t, strings.Join(loud, ""), "this node is alone")

	// Damage that is found while the node runs.
	flipIn(t, tailOf(dir), "beside-it-")
	_, err = n.audit.VerifySegment(0, nil)
	require.NoError(t, err)
	require.Regexp(t, `damaged in \d+ places, the first: audit: leaf \d+ damaged in tail/000000000.log from byte \d+: .*; this node is alone`, n.history.describeLoss())
	require.Eventually(t, func() bool {
		_, loud := heard.take()
		return strings.Contains(strings.Join(loud, ""), "msg=\"history on this disk is damaged\"")
	}, 10*time.Second, 20*time.Millisecond)
}

// The node reads its kept lists again by itself. It tells and counts a damaged one, and replaces it
// from the state or from a peer.
func TestRottenListIsMended(t *testing.T) {
	heard := &heardLines{}
	g := newGroup(t, heard.listen)
	g.form(3)
	var digests [][32]byte
	for _, name := range []string{"OLD WORKS", "NEW WORKS"} {
		digests = append(digests, stageList(t, g.leader(), encodedList(t, name)))
		activateList(t, g.leader(), digests[len(digests)-1])
	}
	g.awaitEqual()
	node := g.follower()
	for i, copy := range []string{"a peer", "the state"} {
		for _, n := range g.all() {
			awaitFile(t, n.lists.listPath(digests[i]))
		}
		name := node.lists.listPath(digests[i])
		right := mustRead(t, name)
		_, before := damageCounted()
		_, _ = heard.take()
		at := flipIn(t, name, "WORKS")
		for at := node.scrubber.lists(""); at != ""; at = node.scrubber.lists(at) { // As the goroutine does in its next pass, half an hour later.
		}
		require.Equal(t, right, mustRead(t, name))
		_, after := damageCounted()
		require.Equal(t, before+1, after)
		_, loud := heard.take()
		require.Len(t, loud, 2)
		require.Contains(t, loud[0], `level=ERROR msg="a sanctions list on this disk is damaged`)
		require.Contains(t, loud[0], "file=lists/"+filepath.Base(name))
		require.Contains(t, loud[1], fmt.Sprintf("from_byte=%d copy=%q", at, copy))
		require.Empty(t, node.lists.describeRotten())
	}
}

// A list that nobody has whole any more stays, and status says so until a person brings a copy.
func TestRottenListOfANodeThatIsAlone(t *testing.T) {
	n := openAlone(t, t.TempDir())
	old := stageList(t, n, encodedList(t, "OLD WORKS"))
	activateList(t, n, old)
	activateList(t, n, stageList(t, n, encodedList(t, "NEW WORKS")))
	name := n.lists.listPath(old)
	awaitFile(t, name)
	right := mustRead(t, name)
	flipIn(t, name, "WORKS")
	rotten := mustRead(t, name)
	for at := n.lists.checkNext(""); at != ""; at = n.lists.checkNext(at) {
	}
	require.Equal(t, rotten, mustRead(t, name), "it stays as it is")
	require.Contains(t, strings.Join(n.Status(t.Context()).Warnings, "; "), "the sanctions list lists/"+filepath.Base(name)+" on this node's disk is damaged")
	require.NoError(t, os.WriteFile(name, right, 0o600))
	for at := n.lists.checkNext(""); at != ""; at = n.lists.checkNext(at) {
	}
	require.Empty(t, n.lists.describeRotten())
}
