package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	edgekeys "railguard/edge/keys"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/webhooks"
)

// exchange restarts the node with another cluster secret, and with the previous ones to
// open what they sealed.
func (n *testNode) exchange(secrets *seal.Secrets) {
	n.t.Helper()
	n.secrets = secrets
	n.reopen(func(d *Deps) {
		d.Secrets = secrets
		d.Webhooks = webhooks.NewSender(webhooks.SenderConfig{Secrets: secrets, Version: "0.0.0-test", Dev: true, Dial: dialLoopback})
	})
}

// resealed runs resealing from the beginning; finished values are skipped.
func (n *testNode) resealed() {
	n.t.Helper()
	for from, steps := 0, 0; ; steps++ {
		step := answer(n.t, n.doAdmin("POST", "/admin/cluster-secret/reseal", fmt.Sprintf(`{"reason":"once more","from":%d}`, from)), 200)
		if step.Get("next").Type().String() == "null" {
			require.LessOrEqual(n.t, steps, 1)
			return
		}
		from = step.GetInt("next")
	}
}

// Values that former secrets sealed are sealed again in bounded steps. Stopping between
// steps is safe, and afterwards nobody needs the former secrets.
func TestResealing(t *testing.T) {
	n := newTestNode(t)
	const old, today = "a cluster secret of the tests", "the cluster secret of today"
	genesis := *n.Settings().Genesis
	var agents []string
	for i := range edgekeys.ResealStep + 60 {
		ein := fmt.Sprintf(`,"operatorEIN":"12-%07d"`, i)
		if i%10 == 9 {
			ein = "" // Nothing to seal.
		}
		agent, _ := n.registered(ein)
		agents = append(agents, agent)
	}
	made := answer(t, n.do("admin", "POST", "/v1/webhooks", hookBody), 201)
	public := string(made.GetStringBytes("webhook", "publicKeys", "0"))
	answer(t, n.doAdmin("POST", "/admin/log-key/rotate", `{"reason":"yearly"}`), 201)
	answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"reason":"yearly"}`), 201)
	keys := n.logText(t, "/log/keys")
	require.NotContains(t, n.do("ops", "GET", "/v1/cluster/status", "").Body.String(), "olderSecrets", "there is no exchange")

	n.exchange(seal.NewSecrets([]byte(today), []byte(old)))
	values := len(agents) - len(agents)/10 + 4 /* genesis */ + 3 /* signing keys */ + 1 /* log line */ + 1 /* webhook */
	told := answer(t, n.doAdmin("GET", "/admin/cluster-secret", ""), 200)
	require.Equal(t, values, told.GetInt("values"))
	require.Equal(t, values, told.GetInt("sealedByOlder"))
	require.False(t, told.GetBool("removable"))
	status := answer(t, n.do("ops", "GET", "/v1/cluster/status", ""), 200)
	require.Equal(t, values, status.GetInt("secret", "sealedByOlder"))

	for _, body := range []string{`{}`, `{"reason":" "}`, `{"reason":"x","from":-1}`, `{"reason":"x","from":4294967296}`, `{"reason":"x","from":"1"}`, `{"reason":"x","form":1}`} {
		require.Equal(t, 422, n.doAdmin("POST", "/admin/cluster-secret/reseal", body).Code, body)
	}
	size := n.store.Size()
	first := answer(t, n.doAdmin("POST", "/admin/cluster-secret/reseal", `{"reason":"yearly exchange","from":0}`), 200)
	require.EqualValues(t, edgekeys.ResealStep+2, first.GetInt("resealed"), "the genesis's signing keys stand in two places")
	require.Equal(t, len(agents), first.GetInt("agents"))
	next := first.GetInt("next")
	require.Positive(t, next)
	require.Equal(t, size+1, n.store.Size(), "one record, which says why")
	data, err := n.store.Leaf(size)
	require.NoError(t, err)
	require.Contains(t, string(data), `"reason":"yearly exchange"`)
	told = answer(t, n.doAdmin("GET", "/admin/cluster-secret", ""), 200)
	require.Equal(t, values-edgekeys.ResealStep-2, told.GetInt("sealedByOlder"))
	n.resealed()
	told = answer(t, n.doAdmin("GET", "/admin/cluster-secret", ""), 200)
	require.Equal(t, values, told.GetInt("values"))
	require.Zero(t, told.GetInt("sealedByOlder"))
	require.True(t, told.GetBool("removable"))
	size = n.store.Size()
	nothing := answer(t, n.doAdmin("POST", "/admin/cluster-secret/reseal", `{"reason":"nothing left"}`), 200)
	require.Zero(t, nothing.GetInt("resealed"))
	require.Equal(t, size, n.store.Size())

	n.exchange(seal.NewSecrets([]byte(today)))
	require.NoError(t, n.secrets.Check(n.Settings().Genesis.SecretCheck))
	require.NotEqual(t, genesis.SecretCheck, n.Settings().Genesis.SecretCheck)
	require.Equal(t, keys, n.logText(t, "/log/keys"), "the log's keys are the same")
	require.Equal(t, public, string(answer(t, n.do("admin", "GET", "/v1/webhooks/whk_1", ""), 200).GetStringBytes("publicKeys", "0")))
	_, fresh := n.registered("")
	require.NotEmpty(t, fresh, "signs")
	same := answer(t, n.do("operator", "POST", "/v1/agents/"+agents[0]+"/reissue", `{"operatorEIN":"120000000"}`), 201)
	require.False(t, same.GetBool("superseded"), "its EIN is known as the same")
	other := answer(t, n.do("operator", "POST", "/v1/agents/"+agents[1]+"/reissue", `{"operatorEIN":"120000000"}`), 201)
	require.True(t, other.GetBool("superseded"))
	answer(t, n.do("operator", "GET", "/v1/agents/"+agents[2], ""), 200)
}

// A value that no secret opens is reported, and does not stop the others from being sealed
// again.
func TestResealingTellsOfWhatIsLost(t *testing.T) {
	n := newTestNode(t)
	lost, err := seal.NewLogSeed(seal.NewSecrets([]byte("nobody has this secret")))
	require.NoError(t, err)
	n.must(wire.KindLogKey, &wire.LogKeyPut{Seed: lost})
	n.exchange(seal.NewSecrets([]byte("the cluster secret of today"), []byte("a cluster secret of the tests")))
	step := answer(t, n.doAdmin("POST", "/admin/cluster-secret/reseal", `{"reason":"exchange"}`), 200)
	require.Equal(t, 6, step.GetInt("resealed"))
	require.Equal(t, "null", step.Get("next").Type().String())
	told := answer(t, n.doAdmin("GET", "/admin/cluster-secret", ""), 200)
	require.Equal(t, 1, told.GetInt("unopened"))
	require.Zero(t, told.GetInt("sealedByOlder"))
	require.False(t, told.GetBool("removable"))
	require.True(t, strings.HasPrefix(string(told.GetStringBytes("logTime")), "2026-"))
}
