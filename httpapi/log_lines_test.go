package httpapi

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

func (n *testNode) logText(t *testing.T, path string) string {
	t.Helper()
	w := n.do("", "GET", path, "")
	require.Equal(t, 200, w.Code, w.Body)
	return w.Body.String()
}

// checkpointNow returns a checkpoint over the whole log.
func (n *testNode) checkpointNow(t *testing.T) string {
	t.Helper()
	n.advance(2 * engine.Second)
	n.screen("x", "")
	return n.logText(t, "/log/checkpoint")
}

// After a rotation the log continues under new keys. What the old keys signed stays
// provable with the same list of keys, and they sign nothing after the change.
func TestLogKeyRotation(t *testing.T) {
	n := newTestNode(t)
	before := n.checkpointNow(t)
	oldKeys := n.logText(t, "/log/keys")
	require.NotContains(t, oldKeys, "#")
	for body, code := range map[string]int{``: 400, `{"reason":" "}`: 422, `{"reason":5}`: 422} {
		require.Equal(t, code, n.doAdmin("POST", "/admin/log-key/rotate", body).Code, body)
	}
	require.Equal(t, oldKeys, n.logText(t, "/log/keys"), "nothing changed")
	v := answer(t, n.doAdmin("POST", "/admin/log-key/rotate", `{"reason":"an operator left"}`), 201)
	from := v.GetUint64("fromTreeSize")
	require.Equal(t, n.store.Size(), from, "the leaf that says so is the first one of the new keys")

	after := n.checkpointNow(t)
	keys := n.logText(t, "/log/keys")
	newKeys := strings.Join(strings.SplitAfter(keys, "\n")[1:3], "")
	rest, ok := strings.CutPrefix(keys, note.SizesLine(from, math.MaxUint64)+newKeys)
	require.True(t, ok, keys)
	endorsed, ok := strings.CutSuffix(rest, note.SizesLine(0, from-1)+oldKeys)
	require.True(t, ok, keys)
	require.Equal(t, 2, strings.Count(endorsed, "# endorsed — pay.example.com/cl_test "), "by both old keys")
	trusted, steps, err := note.Succession(oldKeys, keys)
	require.NoError(t, err, "who has the old keys alone goes on with the new ones")
	require.Equal(t, []note.Rotation{{From: from, Keys: newKeys}}, steps)
	require.Equal(t, strings.ReplaceAll(keys, endorsed, ""), trusted)
	for _, signed := range []string{before, after} {
		point, err := note.Verify([]byte(signed), keys)
		require.NoError(t, err)
		require.Equal(t, "pay.example.com/cl_test", point.Origin)
	}
	_, err = note.Verify([]byte(after), oldKeys)
	require.ErrorIs(t, err, note.ErrUnverified)
	_, err = note.Verify([]byte(before), newKeys)
	require.ErrorIs(t, err, note.ErrUnverified)

	// A signature made with the old seed after the change is not accepted.
	seed, err := n.secrets.Open(seal.LabelLogSeed, n.settings.Genesis.LogSeed)
	require.NoError(t, err)
	thief, err := note.NewSigner("pay.example.com/cl_test", seed)
	require.NoError(t, err)
	_, err = note.Verify(thief.Sign(from, note.Hash{1}, 0), oldKeys)
	require.NoError(t, err, "it is their signature")
	_, err = note.Verify(thief.Sign(from, note.Hash{1}, 0), keys)
	require.ErrorContains(t, err, "do not vouch")
	export := note.Export{Cluster: "cl_test", Size: from, Root: note.Hash{1}}
	signature := thief.SignExport(export)
	export.Origin = "pay.example.com/cl_test"
	require.NoError(t, note.VerifyExport(&export, signature, oldKeys))
	require.ErrorIs(t, note.VerifyExport(&export, signature, keys), note.ErrUnverified)
}

// After the recovery of a lost majority the log's name includes the lineage. So its
// signatures cannot be taken for those of the lost nodes at the same positions.
func TestLogOriginNamesTheLineage(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	before := n.checkpointNow(t)
	first := n.logText(t, "/log/keys")
	seed, err := n.secrets.Open(seal.LabelLogSeed, n.settings.Genesis.LogSeed)
	require.NoError(t, err)
	lost, err := note.NewSigner("pay.example.com/cl_test", seed)
	require.NoError(t, err)

	for i, lineage := range []string{"0123456789abcdef", "fedcba9876543210"} {
		r := n.must(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: lineage})
		require.Contains(t, string(r.Data), `"lineage":"`+lineage+`"`)
		signed := n.checkpointNow(t)
		require.True(t, strings.HasPrefix(signed, "pay.example.com/cl_test/"+lineage+"\n"), signed)
		keys := n.logText(t, "/log/keys")
		require.Equal(t, 2*(i+2), strings.Count(keys, "\npay.example.com"), keys)
		require.True(t, strings.HasSuffix(keys, note.SizesLine(0, math.MaxUint64)+first), "old ones stay listed")
		for _, text := range []string{before, signed, string(lost.Sign(r.Leaf+1, note.Hash{7}, 0))} {
			_, err := note.Verify([]byte(text), keys)
			require.NoError(t, err, "also what the lost nodes signed, under their name")
		}
		_, err = note.Verify([]byte(signed), first)
		require.ErrorIs(t, err, note.ErrUnverified)
		var proof struct{ Checkpoint, Keys string }
		require.NoError(t, json.Unmarshal(n.do("auditor", "GET", "/v1/audit/"+txn+"/proof", "").Body.Bytes(), &proof))
		point, err := note.Verify([]byte(proof.Checkpoint), proof.Keys)
		require.NoError(t, err)
		require.Equal(t, "pay.example.com/cl_test/"+lineage, point.Origin)
		_, err = note.Verify([]byte(proof.Checkpoint), keys)
		require.NoError(t, err)
	}
}
