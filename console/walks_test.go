package console

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/guest"
	"railguard/seal"
)

// walksScript is three officers at one browser, with the pages' own modules. It makes walks of random
// steps: sign in and out, write a draft, decide, ask again. At the end nothing fails any more, and whatever
// got no answer is asked again. It writes a line for each act and each draft that was read.
const walksScript = `
const real = globalThis.setTimeout;
globalThis.setInterval = () => {};
globalThis.setTimeout = (f, ms, ...rest) => real(f, rest.length ? ms : Math.min(ms, 1), ...rest); // The runtime passes more.
globalThis.document = {addEventListener() {}, hidden: false};
globalThis.localStorage = {removeItem() {}};
const [web, base, walks, seed] = process.argv.slice(2);
let cookie = '';
const fetched = globalThis.fetch;
globalThis.fetch = async (path, options = {}) => {
  const {credentials, redirect, signal, ...rest} = options;
  const response = await fetched(base + path, {...rest, headers: {...rest.headers, ...(cookie && {Cookie: cookie})}});
  const set = response.headers.getSetCookie()[0];
  if (set) cookie = /Max-Age=0/.test(set) ? '' : set.split(';')[0];
  return response;
};
const api = await import(web + '/api.js');
const {officer, subject, person} = await import(web + '/who.js');
const drafts = await import(web + '/drafts.js');
api.onEnded(() => {});
let state = Number(seed);
const random = (n) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return Math.floor(state / 4294967296 * n); };
const say = (line) => console.log(JSON.stringify(line));
const keys = ['dana', 'eric', 'kim'].map((name) => 'rg_live_' + name);
const faults = (on) => fetched(base + '/faults?on=' + on, {method: 'POST'});
const open = []; // Acts without an answer: {by, act, sender}.
let acts = 0;
const signIn = async (key) => { if (!api.who().signedIn) await api.signIn(key).catch(() => {}); };
async function ask(one) {
  try {
    await one.sender.post('/reviews/' + one.act, one.body);
    say({act: one.act, by: one.by, told: 'done'});
  } catch (error) {
    if (one.sender.open) return false;
    say({act: one.act, by: one.by, told: 'not', why: error.message});
  }
  return true;
}
async function step() {
  switch (random(7)) {
    case 0: await signIn(keys[random(3)]); break;
    case 1: if (api.who().signedIn) await api.signOut().catch(() => {}); break;
    case 2: if (api.who().signedIn) drafts.save(subject(), 'review:' + random(3), 'of ' + subject()); break;
    case 3: await drafts.flush().catch(() => {}); break;
    case 4: {
      if (!api.who().signedIn) break;
      const by = subject();
      const draft = await drafts.load('review:' + random(3));
      if (draft) say({draft: draft.text, by});
      break;
    }
    case 5: {
      if (!api.who().signedIn) break;
      const act = 'txn_' + (acts += 1);
      const one = {act, by: subject(), sender: api.sender(), body: {disposition: 'APPROVED', reviewedBy: officer(), notes: act}};
      if (!await ask(one)) open.push(one);
      break;
    }
    case 6: {
      const at = open.findIndex((one) => one.by === subject());
      if (api.who().signedIn && at >= 0 && await ask(open[at])) open.splice(at, 1);
    }
  }
}
for (let walk = 0; walk < Number(walks); walk += 1) {
  await faults(1);
  for (let n = 0; n < 12; n += 1) await step();
  await faults(0);
  for (const key of keys) {
    if (api.who().signedIn) await api.signOut().catch(() => {});
    await signIn(key);
    for (const one of open.filter((x) => x.by === subject())) {
      if (!await ask(one)) say({act: one.act, by: one.by, told: 'lost'});
      open.splice(open.indexOf(one), 1);
    }
    await drafts.flush();
    for (const n of [0, 1, 2]) {
      const draft = await drafts.load('review:' + n);
      if (draft) say({draft: draft.text, by: subject()});
    }
  }
}
say({open: open.length});
`

// walked is an API of three keys that forgets no Idempotency-Key, and fails at random.
type walked struct {
	mutex    sync.Mutex
	random   *rand.Rand
	faulty   bool
	ended    map[string]uint32
	answered map[string]string            // By Idempotency-Key: the body of its first call.
	recorded map[string][]string          // By act: who did it, by key and by name.
	drafts   map[string]map[string]string // By key: drafts by path.
	replays  int
}

// fails is a fault now and then: the connection is cut, before or after the call was done.
func (a *walked) fails(often int) bool { return a.faulty && a.random.IntN(often) == 0 }

func (a *walked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer rg_live_")
	person := map[string]string{"dana": `"Dana Ortiz"`, "eric": `"Eric Blom"`, "kim": "null"}[key]
	answer := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
	if a.fails(7) {
		panic(http.ErrAbortHandler) // A dead node.
	}
	if a.fails(9) {
		a.ended[key]++ // Somebody ends the sessions of the key.
	}
	if number, given := guest.Session(r.Context()); person == "" || given && number != a.ended[key] {
		answer(401, `{"code":"unauthorized"}`)
		return
	}
	if a.fails(8) {
		w.Header().Set("X-Railguard-Outcome", "none")
		answer(503, `{"code":"no_leader","message":"no leader"}`)
		return
	}
	status, body := a.do(w, r, key, person)
	if r.URL.Path != "/v1/key" && a.fails(3) {
		panic(http.ErrAbortHandler) // The answer is lost.
	}
	answer(status, body)
}

// do does what a call asks for.
func (a *walked) do(w http.ResponseWriter, r *http.Request, key, person string) (int, string) {
	sent, _ := io.ReadAll(r.Body)
	switch path := r.URL.Path; {
	case path == "/v1/key":
		return 200, fmt.Sprintf(`{"keyId":"key_%s","name":%q,"person":%s,"roles":["reviewer"],"sessions":%d}`, key, key, person, a.ended[key])
	case path == "/v1/key/end-sessions":
		a.ended[key]++
		return 200, `{}`
	case strings.HasPrefix(path, "/v1/drafts/"):
		if a.drafts[key] == nil {
			a.drafts[key] = map[string]string{}
		}
		switch r.Method {
		case http.MethodPut:
			a.drafts[key][path] = string(sent)
		case http.MethodDelete:
			delete(a.drafts[key], path)
		}
		if draft, found := a.drafts[key][path]; found {
			return 200, draft
		}
		return 404, `{"code":"not_found"}`
	}
	var said struct{ Notes, ReviewedBy string }
	_ = json.Unmarshal(sent, &said)
	idem := r.Header.Get("Idempotency-Key")
	if before, known := a.answered[idem]; known {
		if before != string(sent) {
			return 422, `{"code":"idempotency_conflict"}`
		}
		a.replays++
		w.Header().Set("Idempotent-Replayed", "true")
		return 200, `{"disposition":"APPROVED"}`
	}
	a.answered[idem] = string(sent)
	a.recorded[said.Notes] = append(a.recorded[said.Notes], key+" as "+said.ReviewedBy)
	return 200, `{"disposition":"APPROVED"}`
}

// TestRandomWalks: in 200 random walks of three officers at one browser, with lost answers, dead
// nodes and ended sessions, nothing is recorded twice, nothing in another's name, what the page says is so,
// and nobody reads another's draft.
func TestRandomWalks(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not here")
	}
	web, err := filepath.Abs("web")
	require.NoError(t, err)
	a := &walked{random: rand.New(rand.NewPCG(28, 5)), ended: map[string]uint32{}, answered: map[string]string{}, recorded: map[string][]string{}, drafts: map[string]map[string]string{}}
	c, err := New(Config{API: a, Secrets: seal.NewSecrets([]byte("0123456789abcdef"))})
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/faults" {
			c.ServeHTTP(w, r)
			return
		}
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.faulty = r.URL.Query().Get("on") == "1"
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "walks.mjs")
	require.NoError(t, os.WriteFile(path, []byte(walksScript), 0o600))
	command, said := exec.Command(node, path, web, server.URL, "200", "28"), new(strings.Builder)
	command.Stderr = said
	out, err := command.Output()
	require.NoError(t, err, "%s %s", out[max(0, len(out)-400):], said.String())

	names := map[string]string{"person:Dana Ortiz": "dana as Dana Ortiz", "person:Eric Blom": "eric as Eric Blom", "key:key_kim": "kim as kim"}
	told, drafts := map[string]string{}, 0
	for line := range strings.Lines(string(out)) {
		var said struct{ Act, By, Told, Draft string }
		require.NoError(t, json.Unmarshal([]byte(line), &said))
		switch {
		case said.Draft != "":
			drafts++
			require.Equal(t, "of "+said.By, said.Draft, "somebody else's draft")
		case said.Act != "":
			told[said.Act] = said.Told
			require.NotEqual(t, "lost", said.Told, said.Act)
			if said.Told == "done" {
				require.Equal(t, []string{names[said.By]}, a.recorded[said.Act], "once, and in the name of who did it")
			} else {
				require.Empty(t, a.recorded[said.Act], "the page said that it is not recorded")
			}
		}
	}
	for act := range a.recorded {
		require.Equal(t, "done", told[act], "%s is recorded, and the page never said so", act)
	}
	require.Contains(t, string(out), `{"open":0}`)
	require.Greater(t, len(told), 100)
	require.Greater(t, a.replays, 10, "answers were lost")
	require.Greater(t, drafts, 100)
}
