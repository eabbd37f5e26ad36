package httpapi

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/contract"
)

var walkCalls = flag.Int("walk", 2_000, "calls of the walk over the document")

// walkSeed makes a walk repeatable; -walk changes only its length.
const walkSeed = 15

// walkLeavesOut are operations that a walk does not call, each with the reason.
var walkLeavesOut = map[string]string{
	"POST /v1/cluster/drain": "the node would answer nothing any more",
	"POST /v1/test/clock":    "would move everything out of its time",
}

// A walk over the document, with valid and spoilt calls, finds no internal error, no
// undeclared answer and no accepted invalid call.
func TestWalkOverTheDocument(t *testing.T) {
	n := newTestNode(t)
	g := contract.NewGenerator(held, walkSeed)
	statuses := map[int]int{}
	skip := func(o *contract.Operation) bool { return walkLeavesOut[o.Method+" "+o.Path] != "" }
	for i := range *walkCalls {
		if i%20 == 0 {
			n.advance(engine.Second) // Else the rate limits would answer.
		}
		call := g.Next(skip)
		var headers []string
		if call.Name != "" {
			headers = []string{call.Name, call.Header}
		}
		w := n.do(walkRole(call.Operation, i), call.Operation.Method, call.Path, call.Body, headers...)
		statuses[w.Code]++
		g.Learn(w.Body.Bytes())
		requireNoFault(t, call, w)
		if t.Failed() {
			t.Fatalf("call %d: %s %s\n%s: %s\n%.2000s", i, call.Operation.Method, call.Path, call.Name, call.Header, call.Body)
		}
	}
	t.Log(statuses)
	require.Greater(t, statuses[200]+statuses[201], *walkCalls/4, "a walk that is refused everything finds nothing")
	require.Greater(t, statuses[400]+statuses[422], *walkCalls/10)
}

func requireNoFault(t *testing.T, call contract.Call, w *httptest.ResponseRecorder) {
	if w.Code >= 500 && w.Code != http.StatusNotImplemented { // 501 is declared where it may occur.
		t.Errorf("%s %s answered %d: %.500s", call.Operation.Method, call.Path, w.Code, w.Body)
	}
}

// walkRole chooses a key for a call: now and then the wrong one, or none.
func walkRole(o *contract.Operation, i int) string {
	switch {
	case i%50 == 49:
		return "ops"
	case i%70 == 69, len(o.Roles) == 0:
		return ""
	case i%2 == 0 && o.Roles[0] != "any":
		return strings.TrimSpace(o.Roles[i%len(o.Roles)])
	}
	return "admin"
}
