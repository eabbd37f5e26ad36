package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// contrary maps each word of a demand on a member to a word whose demand fails if the first one
// holds.
var contrary = map[string]string{
	"=": "not", "not": "=", "literal": "literal \"other\"", "has": "lacks", "lacks": "has", "begins": "lacks", "ends": "lacks", "like": "like \"^$\"",
	"names": "absent", "count": "absent", "count at least": "absent", "count at most": "absent", "text": "empty", "number": "absent", "array": "absent", "object": "absent", "boolean": "absent",
	"null": "absent", "time": "empty", "there": "absent", "absent": "there", "nothing": "filled", "empty": "filled", "filled": "empty", "at least": "absent",
}

// contradict turns one line of a check into one that demands something else. It returns
// false for a line that demands nothing.
func contradict(line string) (string, bool) {
	text := strings.TrimLeft(line, "\t")
	indent := line[:len(line)-len(text)]
	if match := demanded.FindStringSubmatch(text); match != nil {
		if member := memberDemand.FindStringSubmatch(match[2]); member != nil {
			word := contrary[member[2]]
			if !strings.Contains(word, `"`) && (word == "=" || word == "not" || word == "has" || word == "lacks") {
				word += " " + member[3]
			}
			return fmt.Sprintf("%s%s: %s %s", indent, match[1], member[1], word), true
		}
		return fmt.Sprintf("%s%s: 299", indent, match[1]), true
	}
	at := strings.LastIndex(text, " => ")
	if at < 0 && strings.Contains(text, "register {") {
		return line + " => 299", true // A register line demands success without saying so.
	} else if at < 0 {
		return line, false
	}
	demand := text[at+4:]
	switch verdict := verdictDemand.FindStringSubmatch(demand); {
	case verdict != nil && verdict[1] == "PROCEED":
		demand = "REVIEW R10_SINGLE_TX_LIMIT"
	case verdict != nil:
		demand = verdict[1] + " R0_NO_RULE"
	default:
		demand = regexp.MustCompile(`(\d{3}) \w+`).ReplaceAllString(demand, "$1 no_such_code")
		if demand == text[at+4:] {
			demand = "299"
		}
	}
	return indent + text[:at+4] + demand, true
}

// contradictions returns the checks of all files. In each check one demand is replaced by its
// contrary: the last one, or in turn each of them.
func contradictions(t *testing.T, every bool) (all []Check) {
	entries, err := checkFiles.ReadDir("checks")
	require.NoError(t, err)
	for _, entry := range entries {
		raw, err := checkFiles.ReadFile("checks/" + entry.Name())
		require.NoError(t, err)
		for _, check := range strings.Split("\n"+string(raw), "\n# ")[1:] {
			lines := strings.Split("# "+check, "\n")
			for i := len(lines) - 1; i > 0; i-- {
				changed, demands := contradict(lines[i])
				if !demands {
					continue
				}
				wrong := append(append(append([]string(nil), lines[:i]...), changed), lines[i+1:]...)
				read, err := readChecks(entry.Name(), strings.Join(wrong, "\n"))
				require.NoError(t, err)
				read[0].Title = strings.TrimSpace(changed)
				all = append(all, read[0])
				if !every {
					break
				}
			}
		}
	}
	return all
}

// writtenChecksFail demands that each check of the files fails if one of its demands is replaced
// by its contrary.
func writtenChecksFail(t *testing.T, cfg Config) {
	wrong := contradictions(t, *flagEvery)
	require.GreaterOrEqual(t, len(wrong), len(writtenChecks))
	s := newSuite(cfg)
	for _, check := range wrong {
		result := s.runCheck(t.Context(), check)
		if result.Outcome == Skipped {
			t.Logf("%s: %s", check.ID, result.Reason)
			continue
		}
		require.Equal(t, Fail, result.Outcome, "%s: %s", check.ID, check.Title)
		require.NotContains(t, result.Reason, "BUG", "%s: %s", check.ID, check.Title)
	}
	t.Logf("%d demands contradicted", len(wrong))
}

func TestReadChecks(t *testing.T) {
	good := "# T001 lit nodes admin: a title: with more\n// said\neach x in [1, 2]\n\trepeat 2\n\t\tGET /a => 200\n\nGET /b => 200\n# T002/us us: b\nGET /c\n"
	checks, err := readChecks("good.txt", good)
	require.NoError(t, err)
	require.Len(t, checks, 2)
	require.Equal(t, NeedTwoNodes|NeedAdmin, checks[0].Needs)
	require.Equal(t, "a title: with more", checks[0].Title)
	require.Equal(t, Ruling, checks[1].Source)
	for _, bad := range []string{"GET /a\n", "# T001 lit: t\n\tGET /a\n", "# T001 other: t\n", "# T001 lit moon: t\n"} {
		_, err := readChecks("bad.txt", bad)
		require.ErrorContains(t, err, "bad.txt:", bad)
	}
}

// TestScript runs every form of the language on a server that returns what it was sent.
func TestScript(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("X-Query", r.URL.RawQuery)
		w.Header().Set("X-Said", r.Header.Get("X-Said"))
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		answerJSON(w, max(200, status), `{"code":"c","key":"`+r.Header.Get("Authorization")+`","n":1.50,"s":"text","list":["R1","R2"],"at":"2026-01-01T00:00:00Z","o":{"b":true,"z":null}}`)
	}))
	defer server.Close()
	outcome := func(lines string) Result {
		checks, err := readChecks("x.txt", "# T001 lit: t\n"+lines)
		require.NoError(t, err)
		return newSuite(Config{BaseURLs: []string{server.URL}, APIKey: "k"}).runCheck(t.Context(), checks[0])
	}
	for _, good := range []string{
		"GET /422 => 422 c", "GET /404 => 4xx", "GET /404 => failed", "GET / => ok", "GET / => 200|201", "GET / => no fault",
		"GET / [-] => 200", "GET / [key ${fresh:key}; X-Said: a b] => 200", "POST / > {\"a\": \"${repeat:3:b}\"} => 200", "POST / >> \"\\x00\" => 200",
		"each x in [\"a\", \"b\"]\n\ta := GET /?${x} => 200\n\ta: #X-Query = \"${x}\"", "each x below 2\n\ta := GET /?${next:x} => 200\n\ta: #X-Query filled",
		"each node i\n\tGET / [node ${i}] => 200", "repeat 2\n\tGET / => 200", "ours from here\nGET / => 200", "ours\n\tGET / => 200",
		"let v {\"m\": [1, \"two\"]}\na := GET /?${v.m.1}${upper:v.m.1} => 200\na: #X-Query = \"twoTWO\"",
	} {
		require.Equal(t, Pass, outcome(good).Outcome, "%s\n%s", good, outcome(good).Reason)
	}
	for _, demand := range []string{
		"n = 1.5", "n not 2", "n literal \"1.50\"", "s has \"ex\"", "s lacks \"y\"", "s begins \"te\"", "s ends \"xt\"", "s like \"^t\"", "list names \"R2\"", "list count 2",
		"list count at least 1", "list count at most ${count:a.list}", "s text", "n number", "list array", "o object", "o.b boolean", "o.z null", "at time", "o.b there", "q absent", "q nothing", "n at least 1.5", "n like \"^1\\\\.50$\"", "q empty", "s filled", "body has \"code\"",
	} {
		good := "a := GET / => 200\na: " + demand
		require.Equal(t, Pass, outcome(good).Outcome, "%s: %s", demand, outcome(good).Reason)
		wrong, _ := contradict("a: " + demand)
		require.Equal(t, Fail, outcome("a := GET / => 200\n"+wrong).Outcome, wrong)
	}
	for _, bad := range []string{"nothing", "GET / => what", "a: 200", "a := GET / => 200\na: n is 2", "let v {", "GET /${v} => 200", "GET /${odd:v} => 200", "each x in []\n\tGET / => 200", "GET / [what] => 200"} {
		result := outcome(bad)
		require.Equal(t, Fail, result.Outcome, bad)
	}
	require.Positive(t, calls)
}
