package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tokensIn reads the file that `signing-key reissue` writes.
func tokensIn(t testing.TB, path string) map[string]string {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	tokens := map[string]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one struct{ AgentID, UserID, Token string }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		id := cmp.Or(one.AgentID, one.UserID)
		require.NotContains(t, tokens, id, "issued twice")
		tokens[id] = one.Token
	}
	require.NoError(t, lines.Err())
	return tokens
}

// A key leaks: the plan is shown, a word is demanded, every token of that key gets BLOCK, and
// one verb gives all agents new tokens. A second run has nothing to do.
func TestLeakedKeyIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	p := newPark(t, 1)
	p.form()
	n1 := p.machines[0]
	before := map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		id, token := p.agent(n1, name)
		before[id] = token
	}
	gone, _ := p.agent(n1, "revoked for good")
	p.want(n1, 200, "POST", "/v1/agents/"+gone+"/revoke", `{"reason":"fraud"}`)
	user := p.want(n1, 201, "POST", "/v1/users/register", `{"legalName":"Ada Parked","operatorLegalName":"Parked Works"}`)
	userID, _ := user["userId"].(string)
	at := []string{"--url", p.url(n1)}
	reissue := func(args ...string) (string, string, int) {
		return p.cli(append(append([]string{"signing-key", "reissue"}, args...), at...)...)
	}
	out, _, code := reissue("--plan")
	require.Zero(t, code)
	require.Contains(t, out, "4 agents: 0 would be issued anew, 4 passed over, 0 failed")
	out, _, _ = reissue("--plan", "--kid", "cc-v1")
	require.Contains(t, out, "4 would be issued anew")
	require.Contains(t, out, "1 users: 1 would be issued anew, 0 passed over, 0 failed")

	rotate := []string{"signing-key", "rotate", "--emergency", "--revoke", "cc-v1", "--reason", "leaked", "--admin", p.adminURL(n1)}
	_, complaint, code := p.cli(append(rotate, "--confirm", "cc-v2")...)
	require.Equal(t, exitUsage, code)
	require.Contains(t, complaint, "now: cc-v1 is signing")
	require.Contains(t, complaint, "EVERY token of cc-v1 is BLOCK R2")
	p.must(append(rotate, "--confirm", "cc-v1")...)
	for _, token := range before {
		verdict, _ := p.pay(n1, token, 1)
		require.Equal(t, "BLOCK", verdict)
	}
	file := filepath.Join(p.dir, "tokens.ndjson")
	_, _, code = reissue()
	require.Equal(t, exitUsage, code)
	out, complaint, code = reissue("--file", file, "--reason", "cc-v1 leaked", "--by", "ada")
	require.Zero(t, code, complaint)
	require.Contains(t, out, "4 agents: 3 issued anew, 1 passed over, 0 failed")
	require.Contains(t, out, "1 users: 1 issued anew, 0 passed over, 0 failed")
	require.Contains(t, complaint, gone+" is passed over: 409")
	require.Contains(t, complaint, "agents looked at", "progress")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	tokens := tokensIn(t, file)
	require.Len(t, tokens, 4)
	now := p.want(n1, 200, "GET", "/v1/users/"+userID, "")
	require.Equal(t, tokens[userID], now["token"])
	require.EqualValues(t, 2, now["credentialVersion"])
	listed := p.want(n1, 200, "GET", "/v1/users", "")["data"].([]any)[0].(map[string]any)
	require.Equal(t, "cc-v2", listed["kid"])
	require.Equal(t, "ACTIVE", listed["credentialStatus"])
	for id := range before {
		verdict, _ := p.pay(n1, tokens[id], 1)
		require.Equal(t, "PROCEED", verdict)
	}
	out, _, code = reissue("--file", file)
	require.Zero(t, code)
	require.Contains(t, out, "0 issued anew")
	require.Len(t, tokensIn(t, file), 4)
	require.Equal(t, 3, strings.Count(p.raw(n1, "/v1/events?types=agent.reissued&limit=100"), `"agent.reissued"`))
	require.False(t, strings.Contains(out, "eyJ"), "no token on a terminal")
	killedReissue(t, file, reissue)
}

// killedReissue simulates two runs that were killed after the service had issued a token: one
// in the middle of writing the line, one after it.
func killedReissue(t testing.TB, file string, reissue func(args ...string) (string, string, int)) {
	tokens := tokensIn(t, file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	whole := strings.LastIndexByte(strings.TrimSuffix(string(data), "\n"), '\n') + 1
	var last struct{ AgentID, UserID string }
	require.NoError(t, json.Unmarshal(data[whole:], &last))
	id := cmp.Or(last.AgentID, last.UserID)
	require.NoError(t, os.WriteFile(file, data[:whole+30], 0o600))
	require.NoError(t, os.WriteFile(file+".now", []byte(id+"\n"), 0o600))
	out, complaint, code := reissue("--file", file)
	require.Zero(t, code, complaint)
	require.Contains(t, out, "1 issued anew")
	require.Equal(t, tokens, tokensIn(t, file))
	require.NoFileExists(t, file+".now")
	require.NoError(t, os.WriteFile(file+".now", []byte(id+"\n"), 0o600))
	out, _, _ = reissue("--file", file)
	require.NotContains(t, out, "1 issued anew")
	require.Len(t, tokensIn(t, file), 4)
}
