package httpapi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/ofac"
	"railguard/strictjson"
)

var update = flag.Bool("update", false, "rewrite testdata/*.txt with what the service answers")

// A transcript is testdata/NAME.txt: blocks parted by blank lines, each a
// command, `----` and what came of it. Commands:
//
//	METHOD /path [role]        a request; role is a test key (admin, screener, ...; - is none; admin-listener is the admin port)
//	Header-Name: value         any number of header lines
//	> {"json": "body"}         body lines, joined
//	show Header-Name           print a header of the answer
//	save name member.member    remember a member of the answer as ${name}
//	quiet                      print status and headers alone
//
//	advance 24h                moves log time
//	key name role|role operator=Acme Inc    creates an API key whose secret is testSecret(name)
//	relist 27307 DPRK4         activates the active list with the programs of one entry changed
//
// Lines that begin with # are comments. Answers are printed with their JSON
// indented. Masked are what differs from run to run (latencyMs) and what another
// room's encoding decides: the compiled list's digest, leaf hashes.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runTranscript(t, file) })
	}
}

func runTranscript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	s := &script{n: newTestNode(t), vars: map[string]string{}}
	var out []string
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		command, _, _ := strings.Cut(block, "\n----")
		got := command
		if answer := s.run(t, command); answer != "" {
			got += "\n----\n" + answer
		}
		out = append(out, got)
		if !*update && got != block {
			t.Fatalf("run with -update and read the diff\n%s", firstDifference(block, got))
		}
	}
	s.replayAll(t)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o644))
	}
}

// firstDifference shows a block's command and the first line that differs.
func firstDifference(want, got string) string {
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i, line := range lines {
		if i >= len(wanted) || line != wanted[i] {
			expected := "(nothing)"
			if i < len(wanted) {
				expected = wanted[i]
			}
			return lines[0] + "\nwant " + expected + "\ngot  " + line
		}
	}
	return lines[0] + "\nwant more than was answered"
}

// replayAll replays every decision of the transcript from its record: each must come out
// the same, whatever has changed since.
func (s *script) replayAll(t *testing.T) {
	for i := range s.n.store.Size() {
		stored, err := s.n.store.Leaf(i)
		require.NoError(t, err)
		data, err := leafjson.Render(stored, nil)
		require.NoError(t, err)
		if member(t, data, "kind") != "screen" {
			continue
		}
		w := s.n.do("auditor", "POST", "/v1/audit/"+member(t, data, "txnId")+"/replay", "")
		if w.Code != 404 { // Past its retention.
			require.Equal(t, "true", member(t, w.Body.Bytes(), "match"), "%s\n%s", data, w.Body)
		}
	}
}

type script struct {
	n    *testNode
	vars map[string]string
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

func (s *script) expand(t *testing.T, text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		value, ok := s.vars[name[2:len(name)-1]]
		require.True(t, ok, "unknown variable %s", name)
		return value
	})
}

func (s *script) run(t *testing.T, command string) string {
	var lines []string
	for _, line := range strings.Split(command, "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	words := strings.Fields(lines[0])
	switch words[0] {
	case "advance":
		d, err := time.ParseDuration(words[1])
		require.NoError(t, err)
		s.n.advance(engine.Time(d))
		return "now " + s.n.LogTime().String()
	case "key":
		return s.key(t, lines[0])
	case "relist":
		return s.relist(t, words[1], words[2:])
	}
	return s.request(t, words, lines[1:])
}

// key creates an API key: key NAME ROLES [operator=LEGAL NAME].
func (s *script) key(t *testing.T, line string) string {
	line, operator, _ := strings.Cut(line, " operator=")
	words := strings.Fields(line)
	key := testKey(words[1])
	key.Roles = 0
	for _, role := range strings.Split(words[2], "|") {
		key.Roles |= edge.ParseRole(role)
	}
	key.Owner = operator
	s.n.addKey(key, testSecret(words[1]))
	return "ok"
}

// relist activates the active list with the programs of one entry changed.
func (s *script) relist(t *testing.T, uid string, programs []string) string {
	entities := s.n.List().Entities()
	at := slices.IndexFunc(entities, func(e ofac.Entity) bool { return strconv.FormatUint(uint64(e.UID), 10) == uid })
	require.NotEqual(t, -1, at, "no entry %s", uid)
	entities[at].Programs = programs
	s.n.activate(entities, s.n.List().Meta())
	return "listVersion " + strconv.FormatUint(s.n.Settings().ListVersion, 10)
}

func (s *script) request(t *testing.T, words, lines []string) string {
	role := "admin"
	if len(words) > 2 {
		role = strings.TrimPrefix(words[2], "-")
	}
	var body strings.Builder
	var headers, show, save []string
	quiet := false
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, ">"):
			body.WriteString(s.expand(t, strings.TrimPrefix(line[1:], " ")))
		case line == "quiet":
			quiet = true
		case strings.HasPrefix(line, "show "):
			show = append(show, strings.Fields(line)[1:]...)
		case strings.HasPrefix(line, "save "):
			save = append(save, strings.Fields(line)[1:]...)
		default:
			name, value, ok := strings.Cut(line, ": ")
			require.True(t, ok, "not understood: %s", line)
			headers = append(headers, name, s.expand(t, value))
		}
	}
	path := s.expand(t, words[1])
	var w *httptest.ResponseRecorder
	if role == "admin-listener" {
		w = s.n.doAdmin(words[0], path, body.String(), headers...)
	} else {
		w = s.n.do(role, words[0], path, body.String(), headers...)
	}
	for i := 0; i+1 < len(save); i += 2 {
		s.vars[save[i]] = member(t, w.Body.Bytes(), save[i+1])
	}
	if quiet {
		w.Body.Reset()
	}
	return s.mask(s.print(w, show))
}

var (
	latency     = regexp.MustCompile(`"latencyMs": [0-9.]+`)
	latencyLine = regexp.MustCompile(`"latencyMs":[0-9.]+,`)
	uptime      = regexp.MustCompile(`"uptimeSeconds": [0-9]+`)
	listSize    = regexp.MustCompile(`"sizeBytes": [0-9]+`)
	leafHashes  = regexp.MustCompile(`"leafHash": "[^"]*"`)
)

// mask hides values that a transcript must not depend on.
func (s *script) mask(text string) string {
	text = latency.ReplaceAllString(text, `"latencyMs": 0`)
	text = uptime.ReplaceAllString(text, `"uptimeSeconds": 0`)
	text = listSize.ReplaceAllString(text, `"sizeBytes": 0`)
	text = leafHashes.ReplaceAllString(text, `"leafHash": "(hash)"`)
	for digest := range s.n.lists {
		name := "(list of " + strconv.Itoa(s.n.lists[digest].Counts().Entries) + ")"
		full := hex.EncodeToString(digest[:])
		text = strings.ReplaceAll(text, full, name)
		text = strings.ReplaceAll(text, "snp_"+full[:16], "snp_"+name)
	}
	return text
}

func member(t testing.TB, body []byte, path string) string {
	v, err := fastjson.ParseBytes(body)
	require.NoError(t, err, string(body))
	v = v.Get(strings.Split(path, ".")...)
	require.NotNil(t, v, "no member %s in %s", path, body)
	if text := v.GetStringBytes(); text != nil {
		return string(text)
	}
	return string(strictjson.AppendValue(nil, v))
}

func (s *script) print(w *httptest.ResponseRecorder, show []string) string {
	var out strings.Builder
	out.WriteString(strconv.Itoa(w.Code))
	for _, name := range show {
		out.WriteString("\n" + name + ": " + w.Header().Get(name))
	}
	if w.Body.Len() == 0 {
		return out.String()
	}
	out.WriteByte('\n')
	var indented bytes.Buffer
	if json.Indent(&indented, w.Body.Bytes(), "", "  ") == nil {
		out.WriteString(indented.String())
		return out.String()
	}
	// Not JSON: replace blank lines, which would end the block.
	out.WriteString(strings.TrimSpace(strings.ReplaceAll(w.Body.String(), "\n\n", "\n~\n")))
	return out.String()
}
