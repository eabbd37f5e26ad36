package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// payerJob is what a program of each language is given: it makes payments with a journal, or ends what a crash
// of one left. Its rail is a file, to which it adds the id of each payment that it sends.
type payerJob struct {
	URL     string   `json:"url"`
	Journal string   `json:"journal"`
	Rail    string   `json:"rail"`
	Resume  bool     `json:"resume"`
	IDs     []string `json:"ids"`
	Send    string   `json:"send"` // sent, notSent, or unknown: sent, and then an error.
	Kill    string   `json:"kill"` // Where the program kills itself: "before 3" or "after 3" of the journal's lines, "sending", "sent".
}

type payTold struct {
	ID, State, TxnID, RailRef, Reason string
	Failed                            bool
}

// bank plays the service for payments with holds: keys bind the bytes of a body, as the service's do.
type bank struct {
	mutex    sync.Mutex
	answered map[string]string // Key of a call: its path and body, and what was answered.
	bodies   map[string]string
	state    map[string]string // Of a transaction.
	amount   map[string]string
	of       map[string]string // The transaction of a payment's key.
	failed   []string
	hit      func() // Before and behind each call.
}

func newBank(t *testing.T) (*bank, string) {
	b := &bank{answered: map[string]string{}, bodies: map[string]string{}, state: map[string]string{}, amount: map[string]string{}, of: map[string]string{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server.URL
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if b.hit != nil {
		b.hit()
	}
	status, text, replayed := b.answer(r, string(body))
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	if b.hit != nil {
		b.hit()
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func (b *bank) answer(r *http.Request, body string) (status int, text string, replayed bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	key, call := r.Header.Get("Idempotency-Key"), r.URL.Path+" "+body
	if before, there := b.bodies[r.URL.Path+key]; there {
		if before != call {
			b.failed = append(b.failed, "another body: "+before+" and then "+call)
			return http.StatusUnprocessableEntity, `{"code":"idempotency_conflict","message":"m"}`, false
		}
		return http.StatusOK, b.answered[r.URL.Path+key], true
	}
	told := b.act(key, r, body)
	if strings.HasPrefix(told, "!") {
		b.failed = append(b.failed, told)
		return http.StatusConflict, `{"code":"invalid_transition","message":"m"}`, false
	}
	b.bodies[r.URL.Path+key], b.answered[r.URL.Path+key] = call, told
	return http.StatusOK, told, false
}

func (b *bank) act(key string, r *http.Request, body string) string {
	if r.URL.Path == "/v1/screen" {
		txn := fmt.Sprint("txn_", len(b.state)+1)
		b.of[key], b.state[txn] = txn, "held"
		if strings.Contains(body, "nobody") {
			b.state[txn] = "blocked"
			return fmt.Sprintf(`{"verdict":"BLOCK","txnId":%q,"rule":"R5"}`, txn)
		}
		return fmt.Sprintf(`{"verdict":"PROCEED","txnId":%q}`, txn)
	}
	if r.Header.Get("Authorization") != "Bearer settler" {
		return "! not the settler's key"
	}
	parts := strings.Split(r.URL.Path, "/")
	txn, verb := parts[3], map[string]string{"settle": "settled", "release": "released"}[parts[4]]
	if b.state[txn] == verb { // As the service does: said again, it changes nothing.
		return fmt.Sprintf(`{"txnId":%q,"state":%q,"amount":1,"unchanged":true}`, txn, verb)
	}
	if b.state[txn] != "held" {
		return "! " + verb + " of what is " + b.state[txn]
	}
	b.state[txn], b.amount[txn] = verb, body
	return fmt.Sprintf(`{"txnId":%q,"state":%q,"amount":1}`, txn, verb)
}

// killing is a store whose program dies at one of its lines.
type killing struct {
	client.JournalStore
	at    string
	lines int
}

func die() {
	process, _ := os.FindProcess(os.Getpid())
	_ = process.Kill()
	select {}
}

func (k *killing) Append(line []byte) error {
	k.lines++
	if k.at == fmt.Sprint("before ", k.lines) {
		die()
	}
	err := k.JournalStore.Append(line)
	if k.at == fmt.Sprint("after ", k.lines) {
		die()
	}
	return err
}

// TestPayProgram is no test: it is Go's program, started by the tests below as a process of its own.
func TestPayProgram(t *testing.T) {
	text := os.Getenv("PAY_JOB")
	if text == "" {
		t.Skip("a program for other tests")
	}
	var work payerJob
	require.NoError(t, json.Unmarshal([]byte(text), &work))
	rail, err := client.New(client.Options{Addresses: []string{work.URL}, Key: "screener", SettlerKey: "settler", Attempts: 2})
	require.NoError(t, err)
	store, err := client.OpenJournalFile(work.Journal)
	require.NoError(t, err)
	journal, err := client.NewJournal(&killing{JournalStore: store, at: work.Kill})
	require.NoError(t, err)
	defer journal.Close()
	all := payGo(t, rail, journal, &work)
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	fmt.Printf("TOLD %s\n", raw)
}

func payGo(t *testing.T, rail *client.Client, journal *client.Journal, work *payerJob) (all []payTold) {
	tell := func(paid *client.Paid) {
		all = append(all, payTold{paid.ID, paid.State, paid.TxnID, paid.RailRef, paid.Reason, paid.Err != nil})
	}
	if work.Resume {
		for _, paid := range rail.Resume(t.Context(), journal, &client.Resuming{
			Token: func(context.Context, string) (string, error) { return "a <token> of Zoë", nil },
			Check: func(_ context.Context, id, _ string) (client.Sent, error) {
				raw, _ := os.ReadFile(work.Rail)
				if work.Send == "unknown" {
					return client.Sent{}, errors.New("the rail does not answer")
				}
				if slices.Contains(strings.Fields(string(raw)), id) {
					return client.Sent{RailRef: "rail-" + id}, nil
				}
				return client.Sent{}, client.NotSent("the rail has none")
			},
		}) {
			tell(&paid)
		}
		return all
	}
	for _, id := range work.IDs {
		amount := client.USD(500_000)
		paid, err := rail.Pay(t.Context(), &client.Payment{
			Token: "a <token> of Zoë", Amount: client.Dollars(1), CounterpartyName: "Müller & Söhne <" + id + ">", IdempotencyKey: id, Hold: &client.HoldRequest{TTLSeconds: 60},
		}, func(context.Context, *client.Verdict) (client.Sent, error) {
			if work.Kill == "sending" {
				die()
			}
			if work.Send == "notSent" {
				return client.Sent{}, client.NotSent("no funds")
			}
			addLine(t, work.Rail, id)
			if work.Kill == "sent" {
				die()
			}
			if work.Send == "unknown" {
				return client.Sent{}, errors.New("the line was cut")
			}
			return client.Sent{RailRef: "rail-" + id, Amount: &amount}, nil
		}, journal)
		if paid == nil {
			paid = &client.Paid{ID: id, Err: err}
		}
		tell(paid)
	}
	return all
}

func addLine(t *testing.T, path, line string) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString(line + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// payers start the program of each language.
var payers = map[string]func(t *testing.T, job string) *exec.Cmd{
	"go": func(_ *testing.T, job string) *exec.Cmd {
		command := exec.Command(os.Args[0], "-test.run=^TestPayProgram$")
		command.Env = append(os.Environ(), "PAY_JOB="+job)
		return command
	},
	"python": func(t *testing.T, job string) *exec.Cmd {
		command := exec.Command(pythonCommand(t, "drive").Path, "-B", "testdata/paying.py")
		command.Env = append(os.Environ(), "PAY_JOB="+job)
		return command
	},
	"typescript": func(t *testing.T, job string) *exec.Cmd {
		node, err := exec.LookPath("node")
		if err != nil {
			t.Skip("node is not installed: the TypeScript client is NOT tested")
		}
		bundleOnce.Do(func() { bundle = bundlePayer(t) })
		command := exec.Command(node, "--input-type=module", "--eval", bundle)
		command.Env = append(os.Environ(), "PAY_JOB="+job)
		return command
	},
}

var (
	bundleOnce sync.Once
	bundle     string // TypeScript's program as JavaScript.
)

func bundlePayer(t *testing.T) string {
	folder := t.TempDir()
	absolute, err := filepath.Abs(filepath.Join(home, "typescript"))
	require.NoError(t, err)
	source, err := os.ReadFile("testdata/paying.ts")
	require.NoError(t, err)
	write(t, filepath.Join(folder, "paying.ts"), strings.ReplaceAll(string(source), "CLIENT", absolute))
	strip(t, filepath.Join(folder, "paying.ts"), filepath.Join(folder, "paying.mjs"))
	made, err := os.ReadFile(filepath.Join(folder, "paying.mjs"))
	require.NoError(t, err)
	return string(made)
}

// start runs a program to its end, or to its death, and returns what it told.
func (j payerJob) start(t *testing.T, language string) (all []payTold, died bool) {
	out, err := payers[language](t, string(encode(t, j))).CombinedOutput()
	text := string(out)
	if at := strings.Index(text, "TOLD "); at >= 0 {
		line, _, _ := strings.Cut(text[at+len("TOLD "):], "\n")
		require.NoError(t, json.Unmarshal([]byte(line), &all), text)
		require.NoError(t, err, text)
		return all, false
	}
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, text)
	require.Equal(t, -1, ended.ExitCode(), "killed by a signal: %s", text)
	return nil, true
}

// requireRight: each payment was sent at most once, and its transaction says what the rail says.
func (b *bank) requireRight(t *testing.T, work *payerJob) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	require.Empty(t, b.failed)
	raw, _ := os.ReadFile(work.Rail)
	sent := map[string]int{}
	for _, id := range strings.Fields(string(raw)) {
		sent[id]++
	}
	for _, id := range work.IDs {
		require.LessOrEqual(t, sent[id], 1, id)
		if sent[id] == 1 {
			require.Equal(t, "settled", b.state[b.of[id]], id)
		} else {
			require.Contains(t, []string{"released", "blocked", ""}, b.state[b.of[id]], id)
		}
	}
	lines, err := os.ReadFile(work.Journal)
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(lines), `"step":"screen"`), strings.Count(string(lines), `"step":"end"`), "every payment is ended: %s", lines)
}

var killPoints = []string{
	"before 1", "after 1", "before 2", "after 2", "before 3", "after 3", "sending", "sent", "before 4", "after 4", "before 5", "after 5",
}

// TestPayIsResumed: a program that is killed at any step leaves a journal from which a program of any language
// ends the payment rightly, without sending anything twice.
func TestPayIsResumed(t *testing.T) {
	for _, writer := range []string{"go", "python", "typescript"} {
		for i, kill := range killPoints {
			for _, send := range []string{"sent", "notSent"} {
				if send == "notSent" && (kill == "sent" || i < 5) {
					continue
				}
				for _, reader := range []string{"go", "python", "typescript"} {
					// TypeScript by itself has TestPayJournal.
					if reader == writer && (send == "notSent" || writer == "typescript") || send == "notSent" && reader == "typescript" {
						continue
					}
					if strings.HasPrefix(kill, "before") && (reader == "typescript" || writer == "typescript" || reader == writer) {
						continue // The journal is that of the line before.
					}
					t.Run(fmt.Sprint(writer, " ", kill, " ", send, " ", reader), func(t *testing.T) {
						t.Parallel()
						b, url := newBank(t)
						folder := t.TempDir()
						work := payerJob{URL: url, Journal: filepath.Join(folder, "journal"), Rail: filepath.Join(folder, "rail"), IDs: []string{"order-1"}, Send: send, Kill: kill}
						_, died := work.start(t, writer)
						require.True(t, died)
						resume := work
						resume.Resume, resume.Kill = true, ""
						told, died := resume.start(t, reader)
						require.False(t, died)
						for _, one := range told {
							require.False(t, one.Failed, "%+v", one)
						}
						b.requireRight(t, &work)
					})
				}
			}
		}
	}
}

// TestPayOutcomes: what Pay says, and what it leaves, without any crash.
func TestPayOutcomes(t *testing.T) {
	for _, language := range []string{"go", "python"} {
		for _, one := range []struct{ send, id, state string }{
			{"sent", "order-1", "settled"}, {"notSent", "order-1", "released"}, {"sent", "nobody", "refused"}, {"unknown", "order-1", "open"},
		} {
			t.Run(language+" "+one.send+" "+one.state, func(t *testing.T) {
				b, url := newBank(t)
				folder := t.TempDir()
				work := payerJob{URL: url, Journal: filepath.Join(folder, "journal"), Rail: filepath.Join(folder, "rail"), IDs: []string{one.id}, Send: one.send}
				told, _ := work.start(t, language)
				require.Equal(t, one.state, told[0].State)
				require.Equal(t, one.state == "open", told[0].Failed)
				again, _ := work.start(t, language)
				require.True(t, again[0].Failed, "a payment that the journal knows is not begun again")
				if one.state != "open" {
					b.requireRight(t, &work)
					work.Journal += "-2"
					again, _ = work.start(t, language)
					require.True(t, again[0].Failed, "a key that another journal used is not sent again")
					b.requireRight(t, &work)
					return
				}
				require.Equal(t, "held", b.state["txn_1"], "it goes on counting")
				resume := work
				resume.Resume = true
				told, _ = resume.start(t, language)
				require.Equal(t, "open", told[0].State, "the rail could not tell")
				resume.Send = "sent"
				told, _ = resume.start(t, language)
				require.Equal(t, "settled", told[0].State)
				b.requireRight(t, &work)
			})
		}
	}
}

// TestPayUnderRandomKills: programs of both languages take turns on one journal, and die at random calls.
func TestPayUnderRandomKills(t *testing.T) {
	const seed = 7
	draw := rand.New(rand.NewPCG(seed, 1))
	b, url := newBank(t)
	folder := t.TempDir()
	all := payerJob{URL: url, Journal: filepath.Join(folder, "journal"), Rail: filepath.Join(folder, "rail"), Send: "sent"}
	deaths := 0
	for turn := range 12 {
		language := []string{"go", "python"}[draw.IntN(2)]
		work := all
		work.IDs = nil
		for n := range 6 {
			work.IDs = append(work.IDs, fmt.Sprint("order-", turn, "-", n))
		}
		all.IDs = append(all.IDs, work.IDs...)
		process := make(chan *os.Process, 1)
		hits, last := 0, 1+draw.IntN(24)
		b.hit = func() {
			b.mutex.Lock()
			hits++
			now := hits == last
			b.mutex.Unlock()
			if now {
				one := <-process
				_ = one.Kill()
			}
		}
		command := payers[language](t, string(encode(t, work)))
		require.NoError(t, command.Start())
		process <- command.Process
		_ = command.Wait()
		b.hit = nil
		if hits >= last {
			deaths++
		}
		resume := all
		resume.Resume = true
		told, _ := resume.start(t, []string{"go", "python"}[draw.IntN(2)])
		for _, one := range told {
			require.False(t, one.Failed, "%+v", one)
		}
		b.requireRight(t, &all)
	}
	require.Greater(t, deaths, 6)
}

// TestJournalIsRead: both languages refuse a journal that is not whole, ignore a torn last line, and lock it.
func TestJournalIsRead(t *testing.T) {
	const screen = `{"v":1,"id":"a","at":"2026-11-30T12:00:00Z","step":"screen","payment":{"amount":1},"holdSeconds":60}` + "\n"
	const refused = `{"v":1,"id":"a","at":"2026-11-30T12:00:00Z","step":"end","state":"refused"}` + "\n"
	for name, one := range map[string]struct {
		text string
		good bool
		left string
	}{
		"empty": {"", true, ""}, "whole": {screen + refused, true, screen + refused}, "torn": {screen + refused + screen[:20], true, screen + refused},
		"whole but for its newline": {screen + refused + strings.TrimSpace(screen), true, screen + refused},
		"torn before its newline":   {screen + refused + "\x00\x00\n", true, screen + refused},
		"a line in the middle":      {screen[:20] + "\n" + screen, false, ""}, "another version": {strings.Replace(screen, `"v":1`, `"v":2`, 1), false, ""},
		"an unknown step": {strings.Replace(screen, `"screen"`, `"paint"`, 1), false, ""}, "a step too early": {refused, false, ""},
		"no payment": {strings.Replace(screen, `"payment":{"amount":1},`, "", 1), false, ""}, "a state that is none": {screen + strings.Replace(refused, "refused", "gone", 1), false, ""},
		"twice": {screen + screen, false, ""},
	} {
		for _, language := range []string{"go", "python"} {
			t.Run(name+" "+language, func(t *testing.T) {
				_, url := newBank(t)
				path := filepath.Join(t.TempDir(), "journal")
				require.NoError(t, os.WriteFile(path, []byte(one.text), 0o600))
				out, err := payers[language](t, string(encode(t, payerJob{URL: url, Journal: path, Resume: true}))).CombinedOutput()
				if !one.good {
					require.Error(t, err)
					require.Regexp(t, "cannot be read|unreadable", string(out))
					return
				}
				require.NoError(t, err, "%s", out)
				left, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, one.left, string(left))
				held, err := client.OpenJournal(path)
				require.NoError(t, err)
				defer held.Close()
				out, err = payers[language](t, string(encode(t, payerJob{URL: url, Journal: path, Resume: true}))).CombinedOutput()
				require.Error(t, err, "%s", out)
				require.Contains(t, string(out), "another process uses")
			})
		}
	}
}
