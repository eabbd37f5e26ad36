package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// batching is a server of /v1/screen/batch that remembers idempotency keys.
type batching struct {
	mutex   sync.Mutex
	keys    map[string]string // Payments by key.
	amounts map[string]int    // How many payments were made, by amount.
	tokens  map[string]bool
	sizes   []int
	away    int                      // How many calls to answer with 503.
	open    func(amount string) bool // Payments that get no outcome.
	status  int                      // If set, answers every call.
}

func (s *batching) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	data, _ := io.ReadAll(r.Body)
	var sent struct {
		Payments []struct {
			Token, IdempotencyKey, Note string
			Amount                      json.Number
		}
	}
	if s.away > 0 || s.status != 0 {
		s.away--
		w.WriteHeader(max(s.status, 503*min(1, 1-min(s.status, 1))))
		return
	}
	if json.Unmarshal(data, &sent) != nil || strings.Contains(string(data), "poison") && len(sent.Payments) > 1 {
		w.WriteHeader(400)
		return
	}
	s.sizes = append(s.sizes, len(sent.Payments))
	var results []string
	for _, p := range sent.Payments {
		amount := p.Amount.String()
		s.tokens[p.Token] = true
		switch first, known := s.keys[p.IdempotencyKey]; {
		case p.IdempotencyKey == "" || known && first != amount:
			results = append(results, `{"status":422,"code":"idempotency_conflict"}`)
		case s.open != nil && s.open(amount):
			results = append(results, `{"status":503,"code":"no_leader","outcome":"none"}`)
		case amount == "13":
			results = append(results, `{"status":400,"code":"invalid_field"}`)
		default:
			if !known {
				s.amounts[amount]++
			}
			s.keys[p.IdempotencyKey] = amount
			results = append(results, fmt.Sprintf(`{"status":200,"verdict":"PROCEED","txnId":"txn_%s","replayed":%t}`, amount, known))
		}
	}
	_, _ = io.WriteString(w, `{"results":[`+strings.Join(results, ",")+`]}`)
}

func newBatching(t *testing.T) (*batching, func(file string, args ...string) (string, int)) {
	filePause = time.Millisecond
	t.Cleanup(func() { filePause = 250 * time.Millisecond })
	s := &batching{keys: map[string]string{}, amounts: map[string]int{}, tokens: map[string]bool{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "payments.ndjson")
	return s, func(file string, args ...string) (string, int) {
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		out, code, err := run(t, append([]string{"screen", "--file", path, "--url", server.URL, "--key", "k", "--token", "tok"}, args...)...)
		if code != exitOK {
			require.Error(t, err)
		}
		return out, code
	}
}

func TestScreenFile(t *testing.T) {
	s, screen := newBatching(t)
	var file strings.Builder
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&file, "{\"amount\":%d}\n", i)
		if i == 5 {
			file.WriteString("\n  \n") // Skipped, but counted as lines.
		}
	}
	out, code := screen(file.String(), "--batch", "5", "--parallel", "3")
	require.Equal(t, exitOK, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 12)
	for i, line := range lines { // In the order of the file.
		number := i + 1
		if number > 5 {
			number += 2
		}
		require.Equal(t, fmt.Sprintf(`{"line":%d,"status":200,"verdict":"PROCEED","txnId":"txn_%d","replayed":false}`, number, i+1), line)
	}
	require.ElementsMatch(t, []int{5, 5, 2}, s.sizes)
	require.Equal(t, map[string]bool{"tok": true}, s.tokens)

	// A second run, with one line more, two less, and one repeated: only the new payments are
	// made.
	again := "{\"amount\":99}\n" + strings.Replace(file.String(), "{\"amount\":3}\n{\"amount\":4}\n", "", 1) + "{\"amount\":1}\n"
	out, code = screen(again)
	require.Equal(t, exitOK, code)
	require.Equal(t, 10, strings.Count(out, `"replayed":true`))
	require.Equal(t, 1, s.amounts["99"])
	require.Equal(t, 2, s.amounts["1"], "the same payment twice in a file is two payments")
	require.Equal(t, 1, s.amounts["2"])

	_, code = screen("{\"amount\":2}\n", "--run", "evening")
	require.Equal(t, exitOK, code)
	require.Equal(t, 2, s.amounts["2"])
}

// Members that the caller adds stay as they are; a file may contain keys and tokens.
func TestScreenFileKeepsWhatIsGiven(t *testing.T) {
	s, screen := newBatching(t)
	_, code := screen(`{"idempotencyKey":"mine","token":"other","amount":1}` + "\n")
	require.Equal(t, exitOK, code)
	require.Equal(t, map[string]string{"mine": "1"}, s.keys)
	require.True(t, s.tokens["other"])
}

func TestScreenFileExitCodes(t *testing.T) {
	s, screen := newBatching(t)
	out, code := screen("{\"amount\":1}\n{\"amount\":13}\nnot json\n{}\n[1]\n" + `{"amount":4,"note":"` + strings.Repeat("x", fileLineMax) + `"}` + "\n")
	require.Equal(t, exitFailed, code, "some were refused")
	require.Contains(t, out, `{"line":1,"status":200`)
	require.Contains(t, out, `{"line":2,"status":400,"code":"invalid_field"}`)
	require.Contains(t, out, `{"line":3,"status":400,"code":"invalid_json"`)
	require.Contains(t, out, `{"line":5,"status":400,"code":"invalid_json"`)
	require.Contains(t, out, `{"line":6,"status":413`)

	out, code = screen("{\"amount\":21}\n{\"amount\":22,\"note\":\"poison\"}\n{\"amount\":23}\n{\"amount\":24}\n")
	require.Equal(t, exitOK, code, out)
	require.Equal(t, 1, s.amounts["24"], "a call that is refused whole is made in halves")

	s.away = 2
	out, code = screen("{\"amount\":31}\n")
	require.Equal(t, exitOK, code, "a node that is away for a moment is asked again")
	require.Contains(t, out, `"verdict":"PROCEED"`)

	_, code = screen("{\"amount\":1}\n", "--batch", "257")
	require.Equal(t, exitUsage, code)
	_, code = screen(strings.Repeat("x", 2<<20) + "\n")
	require.Equal(t, exitFailed, code, "a line without end")

	s.status = 401
	_, code = screen("{\"amount\":41}\n{\"amount\":42}\n", "--batch", "1")
	require.Equal(t, exitFailed, code, "a key that is none ends the run")
}

// A payment without an outcome is tried again, reported, and made by the next run.
func TestScreenFileWithoutOutcome(t *testing.T) {
	s, screen := newBatching(t)
	s.open = func(amount string) bool { return amount == "2" }
	out, code := screen("{\"amount\":1}\n{\"amount\":2}\n")
	require.Equal(t, exitAway, code)
	require.Contains(t, out, `{"line":2,"status":503`)
	s.open = nil
	out, code = screen("{\"amount\":1}\n{\"amount\":2}\n")
	require.Equal(t, exitOK, code)
	require.Equal(t, map[string]int{"1": 1, "2": 1}, s.amounts)
	require.Contains(t, out, `{"line":1,"status":200,"verdict":"PROCEED","txnId":"txn_1","replayed":true}`)
}
