package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShow(t *testing.T) {
	for _, test := range []struct{ name, answer, want string }{
		{"nothing", "", ""},
		{"members in their order", `{"b":1,"a":null}`, "b  1\na  -\n"},
		{"a list of objects stands below", `{"txnId":"t","ladder":[{"rule":"R1","inner":{}},{"rule":"R2"}]}`,
			"txnId   t\nladder  2, below\n\nladder:\nRULE  INNER\nR1    \nR2    -\n"},
		{"later items have more members", `{"history":[{"what":"opened"},{"what":"moved","reason":"r"}]}`,
			"history  2, below\n\nhistory:\nWHAT    REASON\nopened  -\nmoved   r\n"},
		{"later rows have more members", `{"data":[{"b":"x"},{"a":1}]}`, "A  B\n-  x\n1  -\n"},
		{"an empty page", `{"data":[],"nextCursor":null}`, "none\n"},
		{"an empty page with a cursor", `{"data":[],"nextCursor":"c"}`, "none so far\nmore: --cursor c\n"},
		{"a page", `{"data":[{"b":"x","a":1}],"nextCursor":"c"}`, "A  B\n1  x\nmore: --cursor c\n"},
		{"what could fool a terminal", `{"a":"x\u001b[2J"}`, "a  x\ufffd[2J\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, showAnswer(&out, []byte(test.answer), "table", nil))
			require.Equal(t, test.want, out.String())
		})
	}
}

// The command of every verb can be built: no two flags clash.
func TestVerbs(t *testing.T) {
	for _, v := range slices.Concat(paymentVerbs, complianceVerbs, foresightVerbs, operationVerbs, webhookVerbs) {
		t.Run(v.path, func(t *testing.T) {
			v.followDescription()
			require.NotNil(t, v.makeCommand())
		})
	}
}

// A name may be given as an argument, which most people try first.
func TestLooseArgument(t *testing.T) {
	asked := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- string(body)
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	for _, args := range [][]string{{"Nicolas Moros"}, {"--name", "Nicolas Moros"}} {
		root := newRoot()
		root.SetArgs(append([]string{"match", "name", "--url", server.URL, "--key", "k"}, args...))
		require.NoError(t, root.Execute())
		require.JSONEq(t, `{"name":"Nicolas Moros"}`, <-asked)
	}
}

func TestWrongCommandIsUsage(t *testing.T) {
	for _, args := range [][]string{{"bogus"}, {"agent", "bogus"}, {"agent", "get"}, {"screen", "--bogus"}, {"match", "name", "a", "b"}, {"match", "name", "a", "--name", "b"}, {"key", "list", "a"}} {
		root := newRoot()
		root.SetArgs(args)
		var coded *exitError
		require.ErrorAs(t, root.Execute(), &coded, args)
		require.Equal(t, exitUsage, coded.code, args)
	}
}
