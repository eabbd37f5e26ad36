package chaos

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemberControls: the checks of C19 to C21 and C27 accept hand-made answers and logs that are
// right, and report those that are wrong.
func TestMemberControls(t *testing.T) {
	health := func(voters int, member ...nodeStatus) (seen []status) {
		st := status{Node: "n1", Nodes: member}
		st.Quorum.Healthy = voters
		return []status{st}
	}
	good := lowSight{node: "n1", leader: "n2", write: 503, read: 200, code: "storage_low", statusFound: true}
	low := func(change func(*lowSight)) []string {
		bad := good
		change(&bad)
		return judgeLow([]lowSight{good, bad})
	}
	for _, c := range []struct {
		name  string
		found []string
		says  string // "": nothing is wrong.
	}{
		{"an end that says why", judgeEnd("a node", true, "FATAL: it was removed", "was removed"), ""},
		{"an end for another reason", judgeEnd("a node", true, "FATAL: disk full", "was removed"), "does not say"},
		{"a removed node that goes on", judgeEnd("a node", false, "it was removed", "was removed"), "goes on"},
		{"a verb that is refused", judgeVerb("remove of n2", &answer{status: 409}, 3, true), ""},
		{"a verb that is done", judgeVerb("remove of n2", &answer{status: 200}, 2, false), "is answered 200"},
		{"a verb that is refused and done", judgeVerb("remove of n2", &answer{status: 409}, 2, true), "2 voters of 3"},
		{"a verb that stops the group", judgeVerb("remove of n2", &answer{status: 409}, 3, false), "cannot commit"},
		{"a verb without an outcome", judgeVerb("remove of n2", &answer{status: 503}, 3, true), "is answered 503"},
		{"a dead member that is told", judgeHealth("n3", health(2, nodeStatus{ID: "n3"})), ""},
		{"a dead member called healthy", judgeHealth("n3", health(2, nodeStatus{ID: "n3", Healthy: true})), "which is dead"},
		{"a dead member counted", judgeHealth("n3", health(3, nodeStatus{ID: "n3"})), "counts 3"},
		{"a member forgotten", judgeHealth("n3", health(2, nodeStatus{ID: "n2"})), "does not know"},
		{"nobody asked", judgeHealth("n3", nil), "nobody told"},
		{"low disks", low(func(*lowSight) {}), ""},
		{"a read that fails", low(func(l *lowSight) { l.read = 503 }), "answers a read with 503"},
		{"a write that is taken", low(func(l *lowSight) { l.write, l.code = 201, "" }), "answers a write with 201"},
		{"a write refused for another reason", low(func(l *lowSight) { l.code = "no_leader" }), "503 no_leader"},
		{"leadership goes round", low(func(l *lowSight) { l.leader = "n3" }), "goes round"},
		{"nobody leads", low(func(l *lowSight) { l.leader, l.statusFound = "", false }), "goes round"},
		{"nobody looked", judgeLow(nil), "nobody was asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.says == "" {
				require.Empty(t, c.found)
				return
			}
			require.Contains(t, fmt.Sprint(c.found), c.says)
		})
	}
}
