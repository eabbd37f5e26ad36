package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// exporting is a server whose exports break off after so many bytes; -1: never.
type exporting struct {
	mutex   sync.Mutex // Guards all fields: the test changes them between two runs.
	whole   string
	breaks  int
	asked   []string
	refuse  int
	cleanly bool // The answer ends early but without an error.
}

// set changes how the server answers.
func (s *exporting) set(breaks, refuse int, cleanly bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.breaks, s.refuse, s.cleanly = breaks, refuse, cleanly
}

func (s *exporting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.asked = append(s.asked, r.URL.RawQuery)
	if s.refuse != 0 {
		w.WriteHeader(s.refuse)
		return
	}
	text := s.whole
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		n, _ := strconv.Atoi(cursor)
		marks := []string{fmt.Sprintf(`"index":%d,`, n), fmt.Sprintf("\n%d,", n)}
		for _, mark := range marks {
			if at := strings.Index(text, mark); at >= 0 {
				at += 1 + strings.Index(text[at+1:], "\n") // Every record here is one line.
				text = text[at+1:]
				break
			}
		}
	}
	w.Header().Set(continueHeader, "first=0&treeSize=9&format="+r.URL.Query().Get("format"))
	if s.breaks >= 0 && s.breaks < len(text) {
		_, _ = w.Write([]byte(text[:s.breaks]))
		_ = http.NewResponseController(w).Flush()
		if !s.cleanly {
			panic(http.ErrAbortHandler)
		}
		return
	}
	_, _ = w.Write([]byte(text))
}

func someExport(format string) string {
	var b strings.Builder
	if format == "csv" {
		b.WriteString("index,leafHashHex,txnId\r\n")
		for i := range 5 {
			fmt.Fprintf(&b, "%d,%d,\"a, b\"\r\n", i, i)
		}
		b.WriteString("end,00,5 rows\r\n")
		return b.String()
	}
	b.WriteString(`{"type":"export","version":1}` + "\n")
	for i := range 5 {
		fmt.Fprintf(&b, `{"type":"leaf","index":%d,"leaf":"{\"type\":\"end\"}"}`+"\n", i)
	}
	b.WriteString(`{"type":"end","leaves":5}` + "\n")
	return b.String()
}

func run(t *testing.T, args ...string) (string, int, error) {
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	code := exitOK
	if err != nil {
		code = exitFailed
		var coded *exitError
		if errors.As(err, &coded) {
			code = coded.code
		}
	}
	return out.String(), code, err
}

// Wherever an export breaks off, the command fails and keeps what it received. A second run
// completes the file, which is then the same as from one run.
func TestExportGoesOn(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		whole := someExport(format)
		for breaks := 0; breaks < len(whole); breaks += 3 {
			for _, cleanly := range []bool{false, true} {
				s := &exporting{whole: whole, breaks: breaks, cleanly: cleanly}
				server := httptest.NewServer(s)
				path := filepath.Join(t.TempDir(), "march")
				args := []string{"audit", "export", "--url", server.URL, "--key", "k", "--file", path, "--format", format, "--from", "2026-03-01"}
				_, code, err := run(t, args...)
				require.Error(t, err, breaks)
				require.Equal(t, exitAway, code, breaks)
				require.NoFileExists(t, path, "what is not whole does not bear the name")
				s.set(-1, 0, false)
				_, _, err = run(t, args...)
				require.NoError(t, err, breaks)
				server.Close()
				got, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, whole, string(got), "broken at %d", breaks)
				require.NoFileExists(t, path+".part")
				require.NoFileExists(t, path+".part.json")
				if strings.Contains(whole[:breaks], "\n") && strings.Count(whole[:breaks], "\n") > 1 {
					require.Contains(t, s.asked[1], "cursor=", "it went on")
					require.Contains(t, s.asked[1], "treeSize=9")
				}
			}
		}
	}
}

func TestExportOfOtherWords(t *testing.T) {
	s := &exporting{whole: someExport("ndjson"), breaks: 150}
	server := httptest.NewServer(s)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "march")
	args := []string{"audit", "export", "--url", server.URL, "--key", "k", "--file", path}
	_, code, _ := run(t, args...)
	require.Equal(t, exitAway, code)
	part, err := os.ReadFile(path + ".part")
	require.NoError(t, err)

	_, code, err = run(t, append(args, "--from", "2026-03-02")...)
	require.ErrorContains(t, err, "another export")
	require.Equal(t, exitUsage, code)
	s.set(150, http.StatusNotFound, false)
	_, code, err = run(t, args...)
	require.ErrorContains(t, err, "--resume=false")
	require.Equal(t, exitFailed, code)
	kept, err := os.ReadFile(path + ".part")
	require.NoError(t, err)
	require.Equal(t, string(part[:bytes.LastIndexByte(part, '\n')+1]), string(kept), "nothing is lost by a refusal")

	s.set(-1, 0, false)
	_, _, err = run(t, append(args, "--from", "2026-03-02", "--resume=false")...)
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, s.whole, string(got))
}

func TestExportToOutput(t *testing.T) {
	for _, format := range []string{"ndjson", "csv"} {
		s := &exporting{whole: someExport(format), breaks: -1}
		server := httptest.NewServer(s)
		defer server.Close()
		args := []string{"audit", "export", "--url", server.URL, "--key", "k", "--format", format}
		out, code, err := run(t, args...)
		require.NoError(t, err)
		require.Equal(t, exitOK, code)
		require.Equal(t, s.whole, out)
		for _, cleanly := range []bool{false, true} {
			s.set(len(s.whole)-3, 0, cleanly)
			_, code, err = run(t, args...)
			require.Error(t, err)
			require.Equal(t, exitAway, code)
		}
	}
}

func TestEndWatch(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                    false,
		"{\"type\":\"end\"}\n":                true,
		"{\"type\":\"end\"}":                  false,
		"{\"type\":\"end\"}\nx":               false,
		"{\"type\":\"end\"}\nx\n":             false,
		"x{\"type\":\"end\"}\n":               false,
		"\n{\"type\":\"end\",\"leaves\":1}\n": true,
	} {
		whole := &endWatch{mark: endMark("ndjson")}
		_, _ = whole.Write([]byte(text))
		require.Equal(t, want, whole.hasEnded(), text)
		bytewise := &endWatch{mark: endMark("ndjson")}
		for i := range len(text) {
			_, _ = bytewise.Write([]byte{text[i]})
		}
		require.Equal(t, want, bytewise.hasEnded(), text)
	}
}

func TestVerifyVerb(t *testing.T) {
	folder := t.TempDir()
	file, keys := filepath.Join(folder, "x.json"), filepath.Join(folder, "keys")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"export","version":1}`+"\n"), 0o600))
	require.NoError(t, os.WriteFile(keys, []byte("\n# none\n"), 0o600))
	_, code, err := run(t, "verify", file, "--keys", keys)
	require.ErrorContains(t, err, "no verifier keys")
	require.Equal(t, exitUsage, code, "an empty file of keys must not fall back on those in the file")
	out, code, err := run(t, "verify", file, "-o", "json")
	require.Error(t, err)
	require.Equal(t, exitUsage, code)
	var verdict struct {
		Proven bool
		Error  string
		Line   int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &verdict))
	require.False(t, verdict.Proven)
	require.Equal(t, 1, verdict.Line)
	_, code, _ = run(t, "verify", file, "-o", "xml")
	require.Equal(t, exitUsage, code)
}

// Without keys no file is proven: anybody can make a log of their own with keys of their own.
func TestVerifyWithoutKeys(t *testing.T) {
	release := filepath.Join(releaseFolder, newestRelease(t))
	keys := filepath.Join(release, "keys.txt")
	for _, name := range []string{"proof.json", "record.tlog-proof", "export.ndjson", "agent.ndjson", "bundle.tar.zst"} {
		file := filepath.Join(release, name)
		for _, flags := range [][]string{nil, {"-q"}} {
			out, code, err := run(t, append([]string{"verify", file}, flags...)...)
			require.ErrorContains(t, err, "nothing shows whose log this is", name)
			require.Equal(t, exitWarn, code, name)
			first, _, _ := strings.Cut(out, "\n")
			require.Regexp(t, "^CONSISTENT, WHOSE LOG IS NOT SHOWN: .*; later: not shown$", first, name)
			require.NotContains(t, out, "PROVEN", name)
			out, code, err = run(t, append([]string{"verify", file, "--keys", keys}, flags...)...)
			require.NoError(t, err, name)
			require.Equal(t, exitOK, code, name)
			first, _, _ = strings.Cut(out, "\n")
			require.Regexp(t, "^PROVEN: .*; later: not shown$", first, name)
		}
		for given, args := range map[bool][]string{false: {"-o", "json"}, true: {"-o", "json", "--keys", keys}} {
			out, code, _ := run(t, append([]string{"verify", file}, args...)...)
			var said map[string]any
			require.NoError(t, json.Unmarshal([]byte(out), &said), name)
			require.Equal(t, []any{given, true, given}, []any{said["proven"], said["consistent"], said["keysGiven"]}, name)
			require.Equal(t, given, code == exitOK, name)
		}
	}
}
