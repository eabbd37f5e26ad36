package clients

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// statusJob is what a language's program is given to check status lists.
type statusJob struct {
	Do     string       `json:"do"`
	Keys   client.JWKS  `json:"jwks"`
	Issuer string       `json:"issuer"`
	Cases  []statusCase `json:"cases"`
	URLs   []string     `json:"urls"`
	Steps  []verifyStep `json:"steps"` // Verified in order, by one Verifier.
}

type statusCase struct {
	name, want string
	Claims     map[string]any `json:"claims"` // Only the claim that locates the status.
	List       string         `json:"list"`
	Now        int64          `json:"now"`
}

type verifyStep struct {
	Token string `json:"token"`
	Now   int64  `json:"now"`
}

type statusReport struct {
	Cases []string `json:"cases"`
	Steps []string `json:"steps"` // The subject, or the error's code.
}

const listURL = "https://pay.example.com/status-lists/1"

// packed returns the lst member that holds the bytes.
func packed(t *testing.T, raw []byte) string {
	var out bytes.Buffer
	writer := zlib.NewWriter(&out)
	_, err := writer.Write(raw)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return segment(out.Bytes())
}

func listHeader(kid string) string {
	return `{"alg":"ES256","kid":"` + kid + `","typ":"statuslist+jwt"}`
}

// list is the payload of a valid status list: 16 entries of 0, 1, 2, 3 repeated, with some
// of its claims changed.
func (s *signer) list(change map[string]any) string {
	claims := map[string]any{"sub": listURL, "iat": validFrom, "exp": validFrom + 120, "ttl": 60}
	claims["status_list"] = map[string]any{"bits": 2, "lst": packed(s.t, []byte{0xe4, 0xe4, 0xe4, 0xe4})}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	raw, err := json.Marshal(claims)
	require.NoError(s.t, err)
	return string(raw)
}

func entryClaim(index any, uri any) map[string]any {
	return map[string]any{"status": map[string]any{"status_list": map[string]any{"idx": index, "uri": uri}}}
}

func statusCases(t *testing.T, key *signer) (cases []statusCase) {
	good := key.sign(listHeader("cc-test"), key.list(nil))
	add := func(name, list string, claims map[string]any, now int64, want string) {
		cases = append(cases, statusCase{name, want, claims, list, now})
	}
	for i, want := range []string{"valid", "revoked", "suspended", "revoked"} {
		add(fmt.Sprint("entry ", i), good, entryClaim(i, listURL), validFrom+1, want)
		add(fmt.Sprint("entry ", i+12), good, entryClaim(i+12, listURL), validFrom+1, want)
	}
	add("behind the last", good, entryClaim(16, listURL), validFrom+1, "out_of_range")
	add("before the first", good, entryClaim(-1, listURL), validFrom+1, "out_of_range")
	add("far behind", good, entryClaim(1<<40, listURL), validFrom+1, "out_of_range")
	add("another list's entry", good, entryClaim(0, "https://pay.example.com/status-lists/2"), validFrom+1, "wrong_list")
	add("no claim", good, map[string]any{}, validFrom+1, "no_status")
	add("no index", good, map[string]any{"status": map[string]any{"status_list": map[string]any{"uri": listURL}}}, validFrom+1, "no_status")
	add("last second", good, entryClaim(0, listURL), validFrom+119, "valid")
	add("first second after", good, entryClaim(0, listURL), validFrom+120, "expired")
	add("within the leeway", good, entryClaim(0, listURL), validFrom-5, "valid")
	add("before the leeway", good, entryClaim(0, listURL), validFrom-6, "not_yet_valid")
	at := strings.LastIndexByte(good, '.')
	add("cut", good[:at], entryClaim(0, listURL), validFrom+1, "malformed")
	add("empty", "", entryClaim(0, listURL), validFrom+1, "malformed")
	add("a credential in its place", key.sign(header("cc-test"), key.list(nil)), entryClaim(0, listURL), validFrom+1, "malformed")
	add("alg none", key.sign(`{"alg":"none","kid":"cc-test","typ":"statuslist+jwt"}`, key.list(nil)), entryClaim(0, listURL), validFrom+1, "malformed")
	add("unknown kid", key.sign(listHeader("cc-none"), key.list(nil)), entryClaim(0, listURL), validFrom+1, "unknown_key")
	add("signed by another", newSigner(t, "cc-test").sign(listHeader("cc-test"), key.list(nil)), entryClaim(0, listURL), validFrom+1, "bad_signature")
	for name, change := range map[string]struct {
		claim string
		value any
		want  string
	}{
		"no end": {"exp", nil, "malformed"}, "no beginning": {"iat", nil, "malformed"}, "no ttl": {"ttl", nil, "malformed"}, "ttl 0": {"ttl", 0, "malformed"},
		"another subject": {"sub", "https://evil.example/status-lists/1", "wrong_list"}, "no list": {"status_list", nil, "malformed or wrong_list"},
		"one bit":     {"status_list", map[string]any{"bits": 1, "lst": packed(t, []byte{0})}, "wrong_list"},
		"not packed":  {"status_list", map[string]any{"bits": 2, "lst": segment([]byte("not zlib at all"))}, "malformed"},
		"not base64":  {"status_list", map[string]any{"bits": 2, "lst": "*"}, "malformed"},
		"cut short":   {"status_list", map[string]any{"bits": 2, "lst": packed(t, bytes.Repeat([]byte("abc"), 50))[:20]}, "malformed"},
		"of four MiB": {"status_list", map[string]any{"bits": 2, "lst": packed(t, make([]byte, 4<<20))}, "malformed"},
		"nothing":     {"status_list", map[string]any{"bits": 2, "lst": packed(t, nil)}, "out_of_range"},
	} {
		add(name, key.sign(listHeader("cc-test"), key.list(map[string]any{change.claim: change.value})), entryClaim(0, listURL), validFrom+1, change.want)
	}
	return cases
}

func driveStatusGo(t *testing.T, work *statusJob) (done statusReport) {
	code := func(err error) string {
		for _, known := range []error{client.ErrStatusNone, client.ErrStatusList, client.ErrStatusRange, client.ErrStatusUnavailable, client.ErrRevoked, client.ErrSuspended} {
			if errors.Is(err, known) {
				return known.Error()
			}
		}
		return tokenCode(err)
	}
	for i := range work.Cases {
		one := &work.Cases[i]
		claims := new(client.Claims)
		raw, err := json.Marshal(one.Claims)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, claims))
		told := "valid"
		if err := client.VerifyStatus(claims, one.List, &work.Keys, time.Unix(one.Now, 0)); err != nil {
			told = code(err)
		}
		done.Cases = append(done.Cases, told)
	}
	rail, err := client.New(client.Options{Addresses: work.URLs, Attempts: 1})
	require.NoError(t, err)
	var now int64
	verifier := client.NewVerifier(rail, work.Issuer, func() time.Time { return time.Unix(now, 0) })
	for _, step := range work.Steps {
		now = step.Now
		claims, err := verifier.Verify(t.Context(), step.Token)
		if err != nil {
			done.Steps = append(done.Steps, code(err))
			continue
		}
		done.Steps = append(done.Steps, claims.Subject)
	}
	return done
}

// eachLanguage gives every language the job.
func eachLanguage(t *testing.T, work *statusJob, judge func(t *testing.T, got statusReport)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			var got statusReport
			if l.name == "go" {
				got = driveStatusGo(t, work)
			} else {
				require.NoError(t, run(t.Context(), l.command(t, "drive"), work, &got))
			}
			judge(t, got)
		})
	}
}

// lists serves keys and one list, and counts the requests by path.
type lists struct {
	mutex sync.Mutex
	keys  client.JWKS
	text  string // "": answered with 503.
	asked map[string]int
}

func (l *lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.asked[r.URL.Path]++
	switch {
	case r.URL.Path == "/v1/.well-known/jwks.json":
		_ = json.NewEncoder(w).Encode(&l.keys)
	case r.URL.Path == "/status-lists/1" && l.text != "":
		_, _ = io.WriteString(w, l.text)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"no_quorum","message":"m"}`)
	}
}

// TestStatusLists: the three clients read lists alike, keep them for their ttl and no longer,
// and let nothing pass that they cannot verify.
func TestStatusLists(t *testing.T) {
	key := newSigner(t, "cc-test")
	server := &lists{asked: map[string]int{}, keys: client.JWKS{Keys: []client.JWK{key.public()}}, text: key.sign(listHeader("cc-test"), key.list(nil))}
	host := httptest.NewServer(server)
	defer host.Close()
	token := func(index int, uri string) string {
		return key.sign(header("cc-test"), key.payload(entryClaim(index, uri)))
	}
	work := &statusJob{Do: "status", Keys: server.keys, Issuer: "did:kya:railguard", URLs: []string{host.URL}, Cases: statusCases(t, key)}
	for _, step := range []struct {
		token string
		now   int64
	}{
		{token(0, listURL), validFrom + 1}, {token(1, listURL), validFrom + 30}, {token(2, listURL), validFrom + 60}, // Up to here the list is fetched once.
		{token(0, listURL), validFrom + 61}, {token(0, listURL), validFrom + 119}, // The list is fetched a second time, because the ttl is over.
		{token(0, listURL), validFrom + 120},                                     // The list is fetched a third time, because it has expired, but the server has none that is newer.
		{token(0, "https://evil.example/lists/1"), validFrom + 1},                // This is not the path of a list, so there is no request.
		{token(0, "https://pay.example.com/status-lists/9"), validFrom + 1},      // The server does not have this list.
		{token(0, listURL+"?x=/status-lists/../v1/agents/agt_1"), validFrom + 1}, // This is no path of a list either, so there is no request.
		{key.sign(header("cc-test"), key.payload(nil)), validFrom + 1},           // The token does not say where its status is.
		{key.sign(header("cc-test"), key.payload(map[string]any{"exp": validFrom})), validFrom + 1},
	} {
		work.Steps = append(work.Steps, verifyStep{step.token, step.now})
	}
	eachLanguage(t, work, func(t *testing.T, got statusReport) {
		require.Len(t, got.Cases, len(work.Cases))
		for i := range work.Cases {
			require.Contains(t, strings.Split(work.Cases[i].want, " or "), got.Cases[i], work.Cases[i].name)
		}
		require.Equal(t, []string{
			"agt_test", "revoked", "suspended", "agt_test", "agt_test", "expired", "wrong_list", "status_unknown", "wrong_list", "no_status", "expired",
		}, got.Steps)
		server.mutex.Lock()
		defer server.mutex.Unlock()
		require.Equal(t, map[string]int{"/v1/.well-known/jwks.json": 1, "/status-lists/1": 3, "/status-lists/9": 1}, server.asked)
		clear(server.asked)
	})
}

// TestStatusOfARealCluster: three nodes serve the same bytes for a minute. A credential
// that one node revokes reads INVALID in every node's list of the next minute.
func TestStatusOfARealCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three processes")
	}
	c := startCluster(t, 3, "--test-clock")
	rail, err := client.New(client.Options{Addresses: c.URLs(), Key: c.Key})
	require.NoError(t, err)
	register := func() *client.Registration {
		agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "listed", AgentType: "supervised", OperatorLegalName: "Acme Inc", Purpose: "status"})
		require.NoError(t, err)
		return agent
	}
	good, revoked, suspended := register(), register(), register()
	work := &statusJob{Do: "status", Issuer: "did:kya:railguard", URLs: c.URLs()[2:]}
	step := func(now int64) {
		work.Steps = nil
		for _, agent := range []*client.Registration{good, revoked, suspended} {
			work.Steps = append(work.Steps, verifyStep{agent.Token, now})
		}
	}
	first := c.sameLists(t, 0)
	step(first + 59) // Credentials of that minute are valid by then.
	eachLanguage(t, work, func(t *testing.T, got statusReport) {
		require.Equal(t, []string{good.AgentID, revoked.AgentID, suspended.AgentID}, got.Steps)
	})
	one, err := client.New(client.Options{Addresses: c.URLs()[:1], Key: c.Key})
	require.NoError(t, err)
	_, err = one.Revoke(t.Context(), revoked.AgentID, "r", "")
	require.NoError(t, err)
	_, err = one.Suspend(t.Context(), suspended.AgentID, "r")
	require.NoError(t, err)
	require.NoError(t, one.Call(t.Context(), http.MethodPost, "/v1/test/clock", map[string]string{"advance": "60s"}, client.NewKey(), nil))
	second := c.sameLists(t, first)
	step(second + 59)
	eachLanguage(t, work, func(t *testing.T, got statusReport) {
		require.Equal(t, []string{good.AgentID, "revoked", "suspended"}, got.Steps)
	})
}

// sameLists waits until all nodes serve the same list of a later minute, and returns that
// minute.
func (c *cluster) sameLists(t *testing.T, after int64) (minute int64) {
	require.Eventually(t, func() bool {
		var texts []string
		for _, url := range c.URLs() {
			answer, err := http.Get(url + "/status-lists/1")
			require.NoError(t, err)
			raw, err := io.ReadAll(answer.Body)
			require.NoError(t, answer.Body.Close())
			require.NoError(t, err)
			texts = append(texts, fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("ETag"), " ", string(raw)))
		}
		if !strings.HasPrefix(texts[0], "200 ") || texts[0] != texts[1] || texts[0] != texts[2] {
			return false
		}
		var claims struct {
			At int64 `json:"iat"`
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(texts[0], ".")[1])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(payload, &claims))
		minute = claims.At
		return minute > after
	}, 2*time.Minute, 50*time.Millisecond, "three nodes, one list")
	return minute
}

// FuzzStatusList: whatever a list holds, nothing breaks, and only an entry that reads 0 passes.
func FuzzStatusList(f *testing.F) {
	f.Add([]byte{0x78, 0xda, 0x03, 0, 0, 0, 0, 1}, int64(0))
	f.Add([]byte{0x78, 0xda, 0x3b, 0xe9, 0xf2, 0x13, 0, 3, 0xdf, 2, 7}, int64(3))
	f.Fuzz(func(t *testing.T, raw []byte, index int64) {
		key := newSigner(t, "cc-test")
		list := key.sign(listHeader("cc-test"), key.list(map[string]any{"status_list": map[string]any{"bits": 2, "lst": segment(raw)}}))
		claims := new(client.Claims)
		text, err := json.Marshal(entryClaim(index, listURL))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, claims))
		if client.VerifyStatus(claims, list, &client.JWKS{Keys: []client.JWK{key.public()}}, time.Unix(validFrom+1, 0)) != nil {
			return
		}
		reader, err := zlib.NewReader(bytes.NewReader(raw))
		require.NoError(t, err)
		bits, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Zero(t, bits[index/4]>>(index%4*2)&3)
	})
}
