package console

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// leafScript reads a record in base64 from each line and writes what it says.
const leafScript = `
import {readFileSync} from 'node:fs';
const {screening} = await import(process.argv[2] + '/leaf.js');
for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  const {profile, userProfile, ...said} = screening(Uint8Array.from(Buffer.from(line, 'base64')));
  console.log(JSON.stringify(said));
}
`

// screenOf makes a record in which each part is there or not, at random.
func screenOf(random *rand.Rand) leaf.Screen {
	coin := func() bool { return random.IntN(2) == 0 }
	when := func() engine.Time { return engine.Time(1_700_000_000_000_000_000 + random.Int64N(1e17)) }
	money := func() engine.USD { return engine.USD(1 + random.Int64N(1e12)) }
	s := leaf.Screen{
		Leaf: random.Uint64N(1 << 40), Index: random.Uint64N(1 << 40), At: when(), Rules: engine.NewestRules.Number, Verdict: engine.Review, Rule: 21, Triggered: 1<<21 | 1<<10,
		PolicyVersion: random.Uint64N(99), ListVersion: random.Uint64N(1 << 33), Matcher: 1, ListStale: coin(),
	}
	copy(s.Txn[:], "Ab3dE5gH")
	if coin() {
		s.Shadow = 1 << 15
	}
	if s.Judged = coin(); s.Judged {
		e := &s.Evidence
		e.Sequence, e.Previous, e.Amount, e.LevelCount = 1+random.Uint64N(2), 7, money(), uint8(random.IntN(4))
		if e.Sequence == 1 {
			e.Previous = 0
		}
		e.Profile.Leaf, e.Profile.Hash[3] = 5, byte(random.IntN(2))
		if e.Profile.Hash[3] == 0 {
			e.Profile = leaf.Ref{}
		}
		for i := range e.LevelCount {
			e.Levels[i] = leaf.Level{Status: engine.Suspended, MinVersion: 300, OverlapUntil: when(), Spent: money(), KeyRevoked: coin()}
			if coin() {
				e.Levels[i].Held = money()
			}
		}
		if e.InFleet = coin(); e.InFleet {
			e.FleetSpent = money()
		}
		if coin() {
			e.FleetHeld = money()
		}
		if e.InOperator = coin(); e.InOperator {
			e.OperatorSpent = money()
		}
		if e.SameToken = coin(); !e.SameToken {
			e.TokenVersion, e.TokenExpires = 2, when()
		}
		if e.WithUser = coin(); e.WithUser {
			e.UserSeen = leaf.UserSeen{Status: engine.Active, Version: 4, Expires: when()}
		}
		if e.WithRoot = coin(); e.WithRoot {
			e.Root.Minute = 400
		}
		if coin() {
			e.AgentNear.Count, e.OperatorNear.Sum = 3, money()
		}
		if coin() {
			e.HoldUntil = when()
		}
		if e.Used = coin(); e.Used {
			e.UsedBy = 900
		}
		if coin() {
			e.PermitSeconds, e.ListAge = 60, 1000
		}
	}
	var f leaf.Fragment
	f.Set(leaf.TagSource, []byte{2})
	f.Set(leaf.TagKey, []byte("key_1"))
	f.Set(leaf.TagMatches, []byte(`[{"uid":"7","name":"ŠTEFAN, Ivan","score":0.91}]`))
	f.Set(leaf.TagAmount, []byte("1246.70"))
	f.Set(leaf.TagChain, []byte("null"))
	f.Set(leaf.TagName, []byte(`"Иван Stefan"`))
	f.Set(leaf.TagCountry, []byte(`"HR"`))
	s.Edge = f.Append(nil)
	return s
}

// TestLeafBytes: the console reads from the bytes of a record what the API shows of them.
func TestLeafBytes(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here")
	}
	web, err := filepath.Abs("web")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "leaf.mjs")
	require.NoError(t, os.WriteFile(path, []byte(leafScript), 0o600))
	random := rand.New(rand.NewPCG(28, 6))
	var stored [][]byte
	var input strings.Builder
	for range 300 {
		s := screenOf(random)
		data := leaf.AppendScreen(nil, &s)
		require.NoError(t, leaf.DecodeScreen(data, new(leaf.Screen)))
		stored = append(stored, data)
		input.WriteString(base64.StdEncoding.EncodeToString(data) + "\n")
	}
	command := exec.Command(node, path, web)
	command.Stdin = strings.NewReader(input.String())
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(stored))
	for i, line := range lines {
		shown, err := leafjson.Render(stored[i], nil)
		require.NoError(t, err)
		var api, page map[string]any
		require.NoError(t, json.Unmarshal(shown, &api))
		require.NoError(t, json.Unmarshal([]byte(line), &page))
		for _, name := range []string{"screenedAt", "txnId", "verdict", "policyVersion", "listVersion", "listDigest", "matcherVersion", "ofacSource", "keyId", "matches", "_request"} {
			require.Equal(t, api[name], page[name], "%s of %s", name, shown)
		}
		require.Equal(t, api["ofacStale"] == true, page["ofacStale"])
		require.Equal(t, []any{10.0, 21.0}, page["triggered"])
		require.Equal(t, 21.0, page["rule"])
	}
}
