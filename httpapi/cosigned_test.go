package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/note"
	outside "railguard/audit/watch"
	"railguard/audit/witness"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/httpapi/cosigning"
)

// startWitness starts a witness of the node's log, at an address of its own.
func (n *testNode) startWitness(t *testing.T, name string) cosigning.Witness {
	state, err := outside.OpenState(t.TempDir(), n.logText(t, "/log/keys"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = state.Close() })
	cosigner, err := note.NewCosigner(name, bytes.Repeat([]byte(name[len(name)-1:]), note.SeedSize))
	require.NoError(t, err)
	server := httptest.NewServer(&witness.Witness{Cosigner: cosigner, Store: state, Now: time.Now, Log: func(string, ...any) {}})
	t.Cleanup(server.Close)
	return cosigning.Witness{URL: server.URL, Keys: cosigner.VerifierKeys()}
}

// deadWitness starts a witness that does not answer before release is called.
func deadWitness(t *testing.T) (w cosigning.Witness, asked chan struct{}, release func()) {
	cosigner, err := note.NewCosigner("dead.example.org", make([]byte, note.SeedSize))
	require.NoError(t, err)
	asked, held := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-held
	}))
	release = func() { close(held) }
	t.Cleanup(server.Close)
	return cosigning.Witness{URL: server.URL, Keys: cosigner.VerifierKey() + "\n"}, asked, release
}

// Two witnesses cosign the growing log, also across a key rotation. Every node serves the
// same cosigned checkpoint, and shows how many witnesses signed it.
func TestCosignedCheckpoints(t *testing.T) {
	n := newTestNode(t)
	one, two := n.startWitness(t, "witness.example.org/1"), n.startWitness(t, "witness.example.org/2")
	around := &neighbours{}
	leader := n.another(func(d *Deps) { d.Witnesses, d.Neighbours = []cosigning.Witness{one, two}, around })
	other := n.another(func(d *Deps) { d.Neighbours = around })
	n.api = leader
	require.Equal(t, 404, n.do("", "GET", "/log/cosigned", "").Code)
	keys := n.logText(t, "/log/keys") + one.Keys + two.Keys
	last := uint64(0)
	for range 4 {
		for range 7 {
			n.screen("x", "")
		}
		n.advance(2 * engine.Second)
		leader.Witnesses().Round(context.Background())
		text := n.logText(t, "/log/cosigned")
		point, err := note.Verify([]byte(text), keys)
		require.NoError(t, err, "both witnesses signed")
		require.Greater(t, point.Size, last)
		last = point.Size
		require.Equal(t, 4, strings.Count(text, "— witness.example.org/"), "each under two algorithms")
		require.Equal(t, 4, strings.Count(n.logText(t, "/log/checkpoint"), "— witness.example.org/"), "the newest is the cosigned one, just now")
		n.api = other
		require.Equal(t, text, n.logText(t, "/log/cosigned"), "on any node")
		n.api = leader
	}
	status := answer(t, n.do("ops", "GET", "/v1/cluster/status", ""), 200)
	require.Equal(t, 2, status.GetInt("log", "cosignatures"))
	require.Equal(t, last, status.GetUint64("log", "cosignedSize"))
	require.True(t, status.GetBool("log", "witnesses", "1", "cosigned"))
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_cosignatures 2\n")
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_cosigned_age_seconds 0\n", "of all leaves: however long ago")
	n.advance(5 * engine.Second)
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_cosigned_age_seconds 0\n")
	n.screen("x", "")
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_cosigned_age_seconds 5")
	leader.Witnesses().Round(context.Background())
	told := len(around.cosigned)
	leader.Witnesses().Round(context.Background())
	require.Len(t, around.cosigned, told, "nothing new, nobody is asked")
}

// With a policy only what its quorum signed is handed out, on each node; too little changes nothing
// and is told.
func TestOnlyAQuorumIsHandedOut(t *testing.T) {
	n := newTestNode(t)
	one, two, three := n.startWitness(t, "witness.example.org/1"), n.startWitness(t, "witness.example.org/2"), n.startWitness(t, "witness.example.org/3")
	var text strings.Builder
	for i, w := range []cosigning.Witness{one, two, three} {
		fmt.Fprintf(&text, "witness w%d %s %s\n", i, strings.Fields(w.Keys)[0], w.URL)
	}
	text.WriteString("group g 2 w0 w1 w2\nquorum g\n")
	policy, asked, err := cosigning.ParsePolicy(text.String())
	require.NoError(t, err)
	around := &neighbours{}
	whole := n.another(func(d *Deps) { d.Witnesses, d.LogPolicy, d.Neighbours = asked, policy, around })
	lone := n.another(func(d *Deps) { d.Witnesses, d.Neighbours = asked[:1], around }) // A leader without the policy.
	away := slices.Clone(asked)
	away[1].URL, away[2].URL = "http://127.0.0.1:1", "http://127.0.0.1:1"
	failing := n.another(func(d *Deps) { d.Witnesses, d.LogPolicy, d.Neighbours = away, policy, around })
	require.Equal(t, 404, n.do("", "GET", "/log/policy", "").Code, "none is demanded")
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_quorum_met -1\n")
	require.NotContains(t, n.do("ops", "GET", "/readyz", "").Body.String(), "witnesses")
	txn := member(t, n.screen("x", "").Body.Bytes(), "txnId")
	lone.Witnesses().Round(context.Background())
	n.api = whole
	require.Equal(t, text.String(), n.logText(t, "/log/policy"))
	n.requireQuorum(t, txn, text.String(), false)
	require.Equal(t, 404, n.do("", "GET", "/log/cosigned", "").Code, "one of three is no quorum, whoever tells it")
	whole.Witnesses().Round(context.Background())
	n.requireQuorum(t, txn, text.String(), true)
	good := n.logText(t, "/log/cosigned")
	_, err = note.Verify([]byte(good), n.logText(t, "/log/keys")+text.String())
	require.NoError(t, err)
	txn = member(t, n.screen("x", "").Body.Bytes(), "txnId") // No verdict waits for witnesses.
	n.advance(61 * engine.Second)
	failing.Witnesses().Round(context.Background())
	require.Equal(t, good, n.logText(t, "/log/cosigned"), "the newest that enough signed stays")
	n.api = failing
	require.Equal(t, good, n.logText(t, "/log/cosigned"))
	status := answer(t, n.do("ops", "GET", "/v1/cluster/status", ""), 200)
	require.Equal(t, "2 of g (witness.example.org/1, witness.example.org/2, witness.example.org/3)", string(status.GetStringBytes("log", "quorum")))
	require.Contains(t, string(status.GetStringBytes("log", "short")), "signed by witness.example.org/1; wanted are 2 of g")
	require.False(t, status.GetBool("log", "quorumMet"))
	require.GreaterOrEqual(t, status.GetInt("log", "quorumAgeSeconds"), 61)
	n.requireQuorum(t, txn, text.String(), false)
	require.Contains(t, n.do("ops", "GET", "/readyz", "").Body.String(), "[+]witnesses WARNING: the quorum of witnesses is not met: signed by witness.example.org/1; wanted are 2 of g")
	whole.Witnesses().Round(context.Background())
	require.NotEqual(t, good, n.logText(t, "/log/cosigned"))
}

// requireQuorum holds what a node with a policy tells to whether its quorum signed: metrics,
// readiness, and a proof and an export, which a reader's own policy accepts or refuses.
func (n *testNode) requireQuorum(t *testing.T, txn, policy string, met bool) {
	t.Helper()
	sign := map[bool]string{true: "1", false: "0"}[met]
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), "railguard_log_quorum_met "+sign+"\n")
	ready := n.do("ops", "GET", "/readyz", "")
	require.Equal(t, 200, ready.Code, "witnesses make no node unready")
	require.Equal(t, !met, strings.Contains(ready.Body.String(), "[+]witnesses WARNING: "), ready.Body)
	keys, err := note.JoinPolicy(n.logText(t, "/log/keys"), policy)
	require.NoError(t, err)
	for _, path := range []string{"/v1/audit/" + txn + "/proof", "/v1/audit/export"} {
		data := n.do("auditor", "GET", path, "").Body.String()
		require.Equal(t, !met, strings.Contains(data, `"witnessed":false`), path)
		_, err := examine.File(strings.NewReader(data), examine.Options{Keys: keys, KeysGiven: true})
		var short *examine.QuorumError
		require.Equal(t, !met, errors.As(err, &short), "%s: %v", path, err)
		r, err := examine.File(strings.NewReader(data), examine.Options{})
		require.NoError(t, err, "without a policy nothing is demanded")
		require.Equal(t, !met, r.Unwitnessed)
		_, err = examine.File(strings.NewReader(strings.Replace(data, `"treeSize"`, `"witnessed":true,"treeSize"`, 1)), examine.Options{})
		require.Error(t, err, "that witnesses signed, no file can say")
	}
}

// Exports and proofs lead to the newest tree head that a witness signed, if it covers them. An
// export that asks for one waits until there is one.
func TestEvidenceCarriesTheCosignedHead(t *testing.T) {
	n := newTestNode(t)
	one := n.startWitness(t, "witness.example.org/1")
	leader := n.another(func(d *Deps) { d.Witnesses = []cosigning.Witness{one} })
	n.api = leader
	keys := n.logText(t, "/log/keys") + one.Keys
	prove := func(path string) error {
		w := n.do("auditor", "GET", path, "")
		require.Equal(t, 200, w.Code, w.Body)
		_, err := examine.File(w.Body, examine.Options{Keys: keys, KeysGiven: true})
		return err
	}
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0}`)
	txn := member(t, n.screen(token, "").Body.Bytes(), "txnId")
	proof := "/v1/audit/" + txn + "/proof"
	require.ErrorContains(t, prove(proof), "no signature by the witness witness.example.org/1", "no witness has signed yet")
	require.ErrorContains(t, prove("/v1/audit/export?cosigned=true"), "no signature by the witness", "where no witness signs nobody waits")
	n.advance(2 * engine.Second)
	leader.Witnesses().Round(context.Background())
	require.NoError(t, prove(proof))
	require.NoError(t, prove("/v1/audit/export"))
	until := n.LogTime().String()
	n.advance(2 * engine.Second)
	require.Equal(t, 200, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Carla"}`).Code)
	require.ErrorContains(t, prove(proof), "no signature by the witness", "what was written since is not left out")
	require.NoError(t, prove("/v1/audit/export?to="+until), "the cosigned head covers that time")
	require.ErrorContains(t, prove("/v1/audit/export?cosigned=false"), "no signature by the witness")
	require.Equal(t, 400, n.do("auditor", "GET", "/v1/audit/export?cosigned=yes", "").Code)
	waited := make(chan error)
	go func() { waited <- prove("/v1/audit/export?cosigned=true") }()
	n.advance(2 * engine.Second)
	leader.Witnesses().Round(context.Background())
	require.NoError(t, <-waited)
	require.NoError(t, prove(proof))
}

// A witness that never answers costs only its own signature: verdicts, checkpoints and the
// other witness's signature come while the node waits for it.
func TestDeadWitnessDelaysNothing(t *testing.T) {
	n := newTestNode(t)
	good := n.startWitness(t, "witness.example.org/1")
	dead, asked, release := deadWitness(t)
	n.api = n.another(func(d *Deps) { d.Witnesses, d.WitnessTimeout = []cosigning.Witness{dead, good}, time.Hour })
	done := make(chan struct{})
	go func() { n.api.Witnesses().Round(context.Background()); close(done) }()
	<-asked
	size := n.store.Size()
	for range 20 {
		require.Equal(t, 200, n.screen("x", "").Code)
	}
	require.Equal(t, size+20, n.store.Size())
	n.checkpointNow(t)
	release()
	<-done
	require.Equal(t, 2, strings.Count(n.logText(t, "/log/cosigned"), "— witness.example.org/1 "))
	status := answer(t, n.do("ops", "GET", "/v1/cluster/status", ""), 200)
	require.Equal(t, 1, status.GetInt("log", "cosignatures"))
	require.False(t, status.GetBool("log", "witnesses", "0", "cosigned"))
	require.NotEmpty(t, string(status.GetStringBytes("log", "witnesses", "0", "error")))
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), `railguard_log_witness_answers_total{outcome="failed"}`)
}

// Invalid signature lines from another node are not served.
func TestToldLinesAreVerified(t *testing.T) {
	n := newTestNode(t)
	one := n.startWitness(t, "witness.example.org/1")
	forger, err := note.NewCosigner("witness.example.org/1", make([]byte, note.SeedSize))
	require.NoError(t, err)
	point, err := note.Parse([]byte(n.checkpointNow(t)))
	require.NoError(t, err)
	around := &neighbours{cosigned: []report.Cosigned{
		{Size: point.Size, Lines: []string{string(forger.Cosign(&point, 1))}},
		{Size: point.Size + 1000, Lines: []string{string(forger.Cosign(&point, 1))}},
	}}
	n.api = n.another(func(d *Deps) { d.Witnesses, d.Neighbours = []cosigning.Witness{one}, around })
	require.Equal(t, 404, n.do("", "GET", "/log/cosigned", "").Code)
}
