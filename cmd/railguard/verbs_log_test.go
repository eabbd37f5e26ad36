package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/audit/watch"
	"railguard/audit/witness"
	"railguard/httpapi/cosigning"
	"railguard/ofac"
)

// outsider has this binary, a folder and the log's first keys.
type outsider struct {
	t      *testing.T
	group  *group
	node   *groupNode
	server *httptest.Server
	dir    string
	keys   string
	now    note.Checkpoint // The newest checkpoint seen.
}

func (o *outsider) in(name string) string { return filepath.Join(o.dir, name) }

func (o *outsider) write(name, content string) string {
	require.NoError(o.t, os.WriteFile(o.in(name), []byte(content), 0o600))
	return o.in(name)
}

func (o *outsider) get(path string) string {
	w := httptest.NewRecorder()
	o.node.api.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	require.Equal(o.t, 200, w.Code, w.Body)
	return w.Body.String()
}

func (o *outsider) ask(args ...string) string {
	o.t.Helper()
	out, _, err := run(o.t, args...)
	require.NoError(o.t, err)
	return out
}

// consistent runs verify without keys. Whatever the file is, the answer is that nothing shows whose
// log it is from.
func (o *outsider) consistent(args ...string) string {
	o.t.Helper()
	out, code, err := run(o.t, args...)
	require.ErrorContains(o.t, err, "nothing shows whose log this is")
	require.Equal(o.t, exitWarn, code, "%v", args)
	return out
}

func (o *outsider) refused(code int, says string, args ...string) {
	o.t.Helper()
	_, got, err := run(o.t, args...)
	require.ErrorContains(o.t, err, says)
	require.Equal(o.t, code, got, "%v: %v", args, err)
}

// checkpoint waits for a checkpoint of a tree larger than size.
func (o *outsider) checkpoint(size uint64) (text string) {
	o.t.Helper()
	require.Eventually(o.t, func() bool {
		text = o.get("/log/checkpoint")
		var err error
		o.now, err = note.Parse([]byte(text))
		return err == nil && o.now.Size > size
	}, 20*time.Second, 20*time.Millisecond)
	return text
}

// lateWitness is a witness that has no log yet when a node first asks it: 503 until it has.
type lateWitness struct {
	cosigner *note.Cosigner
	ready    atomic.Pointer[witness.Witness]
}

func (l *lateWitness) begin(store *watch.State) {
	l.ready.Store(&witness.Witness{Cosigner: l.cosigner, Store: store, Now: time.Now, Log: func(string, ...any) {}})
}

func (l *lateWitness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ready := l.ready.Load(); ready != nil {
		ready.ServeHTTP(w, r)
		return
	}
	http.Error(w, "no log yet", http.StatusServiceUnavailable)
}

func newOutsider(t *testing.T, witnesses ...cosigning.Witness) *outsider {
	g := newGroup(t, "n1")
	g.witnesses = witnesses
	return observeGroup(t, g)
}

// observeGroup forms a group of one node.
func observeGroup(t *testing.T, g *group) *outsider {
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	o := &outsider{t: t, group: g, node: g.leader(), dir: t.TempDir()}
	o.server = httptest.NewServer(o.node.api.Handler())
	t.Cleanup(o.server.Close)
	o.keys = o.write("keys", o.get("/log/keys"))
	o.checkpoint(0)
	return o
}

// Somebody outside, who has only the log's first keys and this binary, keeps a checkpoint and
// proves that a later tree continues it, with the server and without it.
func TestLogConsistency(t *testing.T) {
	o := newOutsider(t)
	old := o.write("old", o.ask("log", "checkpoint", "--keys", o.keys, "--url", o.server.URL, "--data", o.in("none")))
	before, err := note.Parse([]byte(readFile(t, old)))
	require.NoError(t, err)
	token := o.node.token(t)
	for range 5 {
		o.node.pay(t, token)
	}
	current := o.write("new", o.checkpoint(before.Size+4))
	require.Contains(t, o.ask("log", "consistency", old, "--keys", o.keys, "--url", o.server.URL, "--data", o.in("none")), "PROVEN: ")
	shown := o.write("proof", o.get(fmt.Sprintf("/log/consistency/%d/%d", before.Size, o.now.Size)))
	offline := []string{"log", "consistency", old, current, "--keys", o.keys, "--proof"}
	require.Contains(t, o.ask(append(offline, shown)...), "PROVEN: ")
	o.refused(exitUsage, "--proof", append(offline, o.write("wrong", o.get(fmt.Sprintf("/log/consistency/%d/%d", before.Size-1, o.now.Size))))...)
	o.refused(exitFailed, "NOT PROVEN", append(offline, o.write("forged", strings.Replace(readFile(t, shown), `"path":["`, `"path":["AAAA`, 1)))...)
	o.refused(exitFailed, "NOT PROVEN", "log", "consistency", current, old, "--keys", o.keys, "--proof", shown)
	altered := o.write("altered", strings.Replace(readFile(t, old), fmt.Sprintf("\n%d\n", before.Size), fmt.Sprintf("\n%d\n", before.Size-1), 1))
	o.refused(exitFailed, "NOT PROVEN", "log", "consistency", altered, current, "--keys", o.keys, "--proof", shown)
	o.refused(exitUsage, "--proof needs", "log", "consistency", old, "--proof", shown)
}

// Checkpoints are kept on a schedule, and each is proven to continue the last. The hook gets
// each file once.
func TestScheduledCheckpoints(t *testing.T) {
	o := newOutsider(t)
	token := o.node.token(t)
	folder := o.in("kept")
	require.NoError(t, os.Mkdir(folder, 0o700))
	hook := o.write("hook", "#!/bin/sh\necho \"$1\" >> "+o.in("told")+"\n")
	require.NoError(t, os.Chmod(hook, 0o700))
	ctx, stop := context.WithCancel(t.Context())
	rounds := 0
	cmd := newLogCheckpointBy(func(every time.Duration) <-chan time.Time {
		require.Equal(t, time.Hour, every)
		if rounds++; rounds == 4 {
			stop()
			return nil
		}
		if rounds%2 == 1 {
			o.node.pay(t, token)
			o.checkpoint(o.now.Size)
		}
		ticks := make(chan time.Time, 1)
		ticks <- time.Time{}
		return ticks
	})
	var said bytes.Buffer
	cmd.SetOut(&said)
	cmd.SetErr(&said)
	cmd.SetArgs([]string{"--keys", o.keys, "--url", o.server.URL, "--data", o.in("none"), "--directory", folder, "--every", "1h", "--hook", hook})
	require.NoError(t, cmd.ExecuteContext(ctx))
	kept, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(kept), 2, said.String())
	require.Equal(t, kept, strings.Fields(readFile(t, o.in("told"))))
	for _, path := range kept {
		_, err := note.Verify([]byte(readFile(t, path)), readFile(t, o.keys))
		require.NoError(t, err)
	}
	again := []string{"log", "checkpoint", "--keys", o.keys, "--url", o.server.URL, "--data", o.in("none"), "--directory", folder}
	stranger, err := note.NewSigner(o.now.Origin, make([]byte, note.SeedSize))
	require.NoError(t, err)
	o.node.pay(t, token)
	o.checkpoint(o.now.Size)
	require.NoError(t, os.WriteFile(kept[len(kept)-1], stranger.Sign(1, note.Hash{}, 0), 0o600))
	o.refused(exitFailed, "NOT PROVEN", again...)
	o.refused(exitUsage, "need --directory", "log", "checkpoint", "--every", "1h")
	o.refused(exitAway, "no checkpoint has been cosigned", "log", "checkpoint", "--cosigned", "--keys", o.keys, "--url", o.server.URL, "--data", o.in("none"))
}

// Somebody watches the log from outside through a rotation of keys. A checkpoint signed with
// other keys raises an alarm.
func TestLogWatch(t *testing.T) {
	o := newOutsider(t)
	watching := []string{"log", "watch", o.server.URL, "--state", o.in("state"), "--once", "--keys", o.keys}
	o.ask(watching...)
	status, _ := o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`)
	require.Equal(t, 201, status)
	o.checkpoint(o.now.Size)
	o.ask(watching...)
	o.ask("log", "checkpoint", "--keys", o.keys, "--url", o.server.URL, "--data", o.in("none")) // The first keys are still enough.
	require.Equal(t, o.get("/log/keys")[:200], readFile(t, o.in("state/keys"))[:200], "the new keys are trusted, since the old ones endorse them")

	stranger, err := note.NewSigner(o.now.Origin, make([]byte, note.SeedSize))
	require.NoError(t, err)
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/log/checkpoint" {
			_, _ = w.Write(stranger.Sign(o.now.Size+1, note.Hash{1}, 0))
			return
		}
		o.node.api.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(lying.Close)
	hook := o.write("hook", "#!/bin/sh\necho \"$RAILGUARD_ALARM $RAILGUARD_ALARM_FILE\" >> "+o.in("told")+"\n")
	require.NoError(t, os.Chmod(hook, 0o700))
	o.refused(exitFailed, "ALARM: signature", "log", "watch", lying.URL, "--state", o.in("state"), "--once", "--hook", hook)
	told := strings.Fields(readFile(t, o.in("told")))
	require.Equal(t, "signature", told[0])
	require.Contains(t, readFile(t, told[1]), o.now.Origin)
	lying.Close()
	o.refused(exitAway, "no address answered", "log", "watch", lying.URL, "--state", o.in("state"), "--once")
	o.refused(exitUsage, "--state", "log", "watch", o.server.URL)
	o.refused(exitUsage, "--keys", "log", "watch", o.server.URL, "--state", o.in("state"), "--once", "--keys", hook)
}

// An export, a bundle and a proof satisfy a reader who demands a witness, before and after the
// log's keys rotate, though the reader has only the first keys. What the witness has not signed
// does not.
func TestEvidenceSatisfiesAWitness(t *testing.T) {
	cosigner, err := note.NewCosigner("witness.example.org/1", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	late := &lateWitness{cosigner: cosigner}
	server := httptest.NewServer(late)
	t.Cleanup(server.Close)
	o := newOutsider(t, cosigning.Witness{URL: server.URL, Keys: cosigner.VerifierKeys()})
	keys := o.write("keys-with-witness", readFile(t, o.keys)+cosigner.VerifierKeys())
	reach := []string{"--url", o.server.URL, "--key", groupKey, "--data", o.in("none")}
	_, txn := o.node.pay(t, o.node.token(t))
	o.checkpoint(o.now.Size)
	fresh := o.write("fresh.json", o.ask(append([]string{"audit", "proof", txn}, reach...)...))
	o.refused(exitFailed, "no signature by the witness witness.example.org/1", "verify", fresh, "--keys", keys)
	require.Contains(t, o.ask("verify", fresh, "--keys", o.keys), "PROVEN")

	state, err := watch.OpenState(t.TempDir(), o.get("/log/keys"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = state.Close() })
	late.begin(state)
	o.node.api.Witnesses().Round(t.Context())
	o.node.api.Witnesses().Start()
	t.Cleanup(o.node.api.Witnesses().Stop)
	for _, when := range []string{"before", "after"} {
		export, dir := o.in(when+".ndjson"), o.in(when)
		o.ask(append([]string{"audit", "export", "--file", export}, reach...)...)
		o.ask(append([]string{"audit", "bundle", "--out", dir}, reach...)...)
		proof := o.write(when+".json", o.ask(append([]string{"audit", "proof", txn}, reach...)...))
		for _, path := range []string{proof, export, dir} {
			require.Contains(t, o.ask("verify", path, "--keys", keys), "shown:      the witnesses that you demand signed that tree head: witness.example.org/1\n", path)
			require.Contains(t, o.ask("verify", path, "--keys", keys, "-o", "json"), `"witnesses":["witness.example.org/1"]`, path)
		}
		require.Contains(t, o.ask("log", "checkpoint", "--keys", keys, "--url", o.server.URL, "--data", o.in("none")), "— witness.example.org/1 ")
		status, _ := o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`)
		require.Equal(t, 201, status)
		o.checkpoint(o.now.Size)
		require.NoError(t, state.SetKeys(o.get("/log/keys"))) // A watcher follows by itself.
	}
}

// A reader's policy wants two witnesses of three. The group, which has the same policy, hands out
// only what satisfies it, before and after the log's keys rotate; what too few signed is refused,
// with the names of those that did.
func TestQuorumOfWitnesses(t *testing.T) {
	var policy strings.Builder
	var late [3]*lateWitness
	for i := range late {
		cosigner, err := note.NewCosigner(fmt.Sprintf("w%d.example.org", i+1), bytes.Repeat([]byte{byte(i + 1)}, note.SeedSize))
		require.NoError(t, err)
		late[i] = &lateWitness{cosigner: cosigner}
		server := httptest.NewServer(late[i])
		t.Cleanup(server.Close)
		fmt.Fprintf(&policy, "witness w%d %s %s\n", i+1, cosigner.VerifierKey(), server.URL)
	}
	policy.WriteString("group three 2 w1 w2 w3\nquorum three\n")
	parsed, asked, err := cosigning.ParsePolicy(policy.String())
	require.NoError(t, err)
	g := newGroup(t, "n1")
	g.witnesses, g.policy = asked, parsed
	o := observeGroup(t, g)
	mine := o.write("policy", policy.String())
	reach := []string{"--url", o.server.URL, "--key", groupKey, "--data", o.in("none")}
	trust := []string{"--keys", o.keys, "--policy", mine}
	_, txn := o.node.pay(t, o.node.token(t))
	o.checkpoint(o.now.Size)
	begin := func(i int) *watch.State {
		state, err := watch.OpenState(t.TempDir(), o.get("/log/keys"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = state.Close() })
		late[i].begin(state)
		return state
	}
	first := begin(0)
	o.node.api.Witnesses().Round(t.Context())
	o.refused(exitAway, "no checkpoint has been cosigned", append([]string{"log", "checkpoint", "--url", o.server.URL, "--data", o.in("none")}, trust...)...)
	require.Contains(t, o.node.api.Witnesses().Short(), "signed by w1.example.org; wanted are 2 of three (w1.example.org, w2.example.org, w3.example.org); no signature by w2.example.org, w3.example.org")
	fresh := o.write("fresh.json", o.ask(append([]string{"audit", "proof", txn}, reach...)...))
	o.refused(exitFailed, "the quorum of witnesses is not met: signed by none; wanted are 2 of three", append([]string{"verify", fresh}, trust...)...)
	said, _, _ := run(t, append([]string{"verify", fresh, "-o", "json"}, trust...)...)
	require.Contains(t, said, `"quorum":{"have":[],"need":"2 of three (w1.example.org, w2.example.org, w3.example.org)","missing":["w1.example.org","w2.example.org","w3.example.org"]}`)
	requireUnwitnessed(o, fresh, reach, trust)

	third := begin(2)
	o.node.api.Witnesses().Round(t.Context())
	o.node.api.Witnesses().Start()
	t.Cleanup(o.node.api.Witnesses().Stop)
	for _, when := range []string{"before", "after"} {
		export, dir := o.in(when+".ndjson"), o.in(when)
		o.ask(append([]string{"audit", "export", "--file", export}, reach...)...)
		o.ask(append([]string{"audit", "bundle", "--out", dir}, reach...)...)
		proof := o.write(when+".json", o.ask(append([]string{"audit", "proof", txn}, reach...)...))
		paths := []string{proof, export, dir}
		require.NotContains(t, readFile(t, filepath.Join(dir, "bundle.json")), "witnessed")
		if when == "before" { // It holds no keys, so nothing leads from the first ones to others.
			paths = append(paths, o.write("tlog-proof", o.ask(append([]string{"audit", "proof", txn, "--tlog"}, reach...)...)))
		}
		for _, path := range paths {
			shown := o.ask(append([]string{"verify", path}, trust...)...)
			require.Contains(t, shown, "shown:      the quorum of witnesses that you demand signed that tree head: 2 of three (", path)
			require.Contains(t, shown, "signed that tree head: w1.example.org, w3.example.org\n", path)
			o.refused(exitFailed, "wanted are 3 of all (", "verify", path, "--keys", o.keys, "--policy", o.write("all", strings.NewReplacer("three", "all", " 2 ", " 3 ").Replace(policy.String())))
		}
		o.ask(append([]string{"log", "checkpoint", "--url", o.server.URL, "--data", o.in("none")}, trust...)...)
		o.ask(append([]string{"log", "watch", o.server.URL, "--state", o.in("state"), "--once"}, trust...)...)
		status, _ := o.node.admin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`)
		require.Equal(t, 201, status)
		o.checkpoint(o.now.Size)
		require.NoError(t, first.SetKeys(o.get("/log/keys")))
		require.NoError(t, third.SetKeys(o.get("/log/keys")))
	}
	refusedPolicies(o, fresh, mine, policy.String())
}

// requireUnwitnessed makes a bundle whose tree head lacks the quorum. It says so, and holds the log's
// policy, which demands nothing; the reader's own does.
func requireUnwitnessed(o *outsider, fresh string, reach, trust []string) {
	require.Contains(o.t, o.ask("verify", fresh, "--keys", o.keys), "none was demanded")
	bare := o.in("bare")
	o.ask(append([]string{"audit", "bundle", "--out", bare}, reach...)...)
	require.Contains(o.t, readFile(o.t, filepath.Join(bare, "bundle.json")), `"witnessed": false`)
	require.Equal(o.t, o.get("/log/policy"), readFile(o.t, filepath.Join(bare, "policy.txt")))
	shown := o.ask("verify", bare, "--keys", o.keys)
	require.Contains(o.t, shown, "NOT shown:  that the log's own quorum of witnesses saw that tree head: the log says that it had not signed it")
	require.Contains(o.t, shown, "its own policy in the bundle (2 of three (w1.example.org, w2.example.org, w3.example.org)) is not used")
	o.refused(exitFailed, "the quorum of witnesses is not met: signed by none; wanted are 2 of three", append([]string{"verify", bare}, trust...)...)
}

// refusedPolicies shows which policies, and which keys beside them, are no use.
func refusedPolicies(o *outsider, fresh, mine, policy string) {
	for name, flags := range map[string][]string{
		"names no log":         {"--policy", mine},
		"--policy: ":           {"--policy", o.write("bad", policy+"quorum none\n"), "--keys", o.keys},
		"no such file":         {"--policy", o.in("nothing"), "--keys", o.keys},
		"about other logs":     {"--policy", o.write("other", "log "+strings.Fields(stranger(o.t).VerifierKeys())[0]+"\nquorum none\n"), "--keys", o.keys},
		"no verifier key of a": {"--policy", mine, "--keys", mine},
	} {
		o.refused(exitUsage, name, append([]string{"verify", fresh}, flags...)...)
	}
}

func stranger(t *testing.T) *note.Signer {
	s, err := note.NewSigner("stranger.example.org", make([]byte, note.SeedSize))
	require.NoError(t, err)
	return s
}

// A node takes witnesses one by one or a policy, whose witnesses it can ask.
func TestLogPolicyFlag(t *testing.T) {
	cosigner, err := note.NewCosigner("w.example.org", make([]byte, note.SeedSize))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "policy")
	keys := strings.Fields(cosigner.VerifierKeys())
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("witness e " + keys[0] + " https://w.example.org\nwitness q " + keys[1] + " https://w.example.org\ngroup w all e q\nquorum w\n")
	f := witnessFlags{file: path, every: time.Second}
	require.NoError(t, f.checkFlags())
	require.Equal(t, []cosigning.Witness{{URL: "https://w.example.org", Keys: cosigner.VerifierKeys()}}, f.parsed, "one witness with two keys")
	require.True(t, f.policy.Demands())
	f.given = []string{"https://w.example.org " + keys[0]}
	require.ErrorContains(t, f.checkFlags(), "give one of them")
	f = witnessFlags{file: path}
	require.ErrorContains(t, f.checkFlags(), "--witness-every")
	f.every = time.Second
	write("witness e " + keys[0] + "\nquorum e\n")
	require.ErrorContains(t, f.checkFlags(), "w.example.org has no URL")
	write("quorum e\n")
	require.ErrorContains(t, f.checkFlags(), "not defined above")
	f.file = path + "x"
	require.ErrorContains(t, f.checkFlags(), "--log-policy")
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestWitnessKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness.key")
	out, _, err := run(t, "log", "keygen", "--name", "witness.example.org/w1", "--file", path)
	require.NoError(t, err)
	require.NoError(t, note.CheckCosigners(out))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, code, err := run(t, "log", "keygen", "--name", "w", "--file", path)
	require.ErrorContains(t, err, "exist")
	require.Equal(t, exitUsage, code)
	_, code, _ = run(t, "log", "keygen", "--name", "two words", "--file", path+"2")
	require.Equal(t, exitUsage, code)
}
