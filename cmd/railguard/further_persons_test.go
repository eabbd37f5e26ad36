package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// entryWorld is a node with keys of two persons who may set the policy, and an agent.
type entryWorld struct {
	*outsider
	token     string
	pia, paul string
}

func newEntryWorld(t *testing.T) *entryWorld {
	w := &entryWorld{outsider: newOutsider(t)}
	w.node.activate(t, http.StatusOK, w.node.upload(t, listFile(t, 10, 1200, 20, nil))["snapshotId"], "a drill")
	w.token = w.node.token(t)
	w.pia, w.paul = w.key("policy", "Pia"), w.key("policy", "Paul")
	w.node.must(t, http.StatusOK, "POST", "/v1/test/clock", `{"advance":"25h"}`) // A younger key seconds nothing.
	return w
}

func (w *entryWorld) key(roles, person string) string {
	w.t.Helper()
	code, answer := w.node.admin("POST", "/admin/keys", fmt.Sprintf(`{"name":"%s %s","roles":%q,"person":%q}`, person, roles, roles, person))
	require.Equal(w.t, http.StatusCreated, code, "%v", answer)
	return fmt.Sprint(answer["key"])
}

// entries changes entries of the list house with a key.
func (w *entryWorld) entries(status int, key, change string) map[string]any {
	w.t.Helper()
	code, answer := serveCall(w.node.api.Handler(), key, "POST", "/v1/lists/house/entries", `{"reason":"case 7",`+change+`}`)
	require.Equal(w.t, status, code, "%v", answer)
	return answer
}

func (w *entryWorld) confirm(status int, key string, proposed map[string]any) map[string]any {
	w.t.Helper()
	code, answer := serveCall(w.node.api.Handler(), key, "POST", fmt.Sprintf("/v1/proposals/%v/confirm", proposed["proposalId"]), `{"reason":"agreed"}`)
	require.Equal(w.t, status, code, "%v", answer)
	return answer
}

func (w *entryWorld) judged(name, verdict string) {
	w.t.Helper()
	answer := w.node.must(w.t, http.StatusOK, "POST", "/v1/screen", `{"token":"`+w.token+`","amount":1,"cpName":"`+name+`"}`)
	require.Equal(w.t, verdict, answer["verdict"], "%v", answer)
}

// activation is the newest leaf of a list that came in force.
func (w *entryWorld) activation() string {
	w.t.Helper()
	store := w.node.node.Audit()
	for at := store.Size(); at > 0; at-- {
		data, err := store.Leaf(at - 1)
		require.NoError(w.t, err)
		if strings.HasPrefix(string(data), `{"kind":"list.activated"`) {
			return string(data)
		}
	}
	return ""
}

// entry is an entry of the list house, as JSON of a call.
func entry(id, name string) string {
	return fmt.Sprintf(`{"id":%q,"kind":"company","name":%q}`, id, name)
}

// Who may change entries is who may change lists: the role policy, and nobody else.
func TestWhoMayChangeEntries(t *testing.T) {
	w := newEntryWorld(t)
	add, end := `"add":[`+entry("case-1", "Known Defrauder Holdings")+`]`, `"end":["case-1"]`
	for _, roles := range []string{"operator", "screener", "reviewer", "auditor", "ops", "settler"} {
		key := w.key(roles, "Rita")
		for _, change := range []string{add, end} {
			w.entries(http.StatusForbidden, key, change)
		}
	}
	w.judged("Known Defrauder Holdings", "PROCEED")
	for _, key := range []string{w.pia, groupKey} {
		w.entries(http.StatusOK, key, add)
		w.judged("Known Defrauder Holdings", "REVIEW")
		w.entries(http.StatusOK, key, `"add":[`+entry("case-2", "Frobnitz Gulp Bank")+`]`)
		w.entries(http.StatusOK, key, end)
		w.judged("Known Defrauder Holdings", "PROCEED")
	}
}

// Where the policy wants two persons for list.activate, one proposes that an entry is added or ended and
// nothing is done; another one confirms it by its number or by doing the same. The leaf names both, the
// entry and the reason. By the default policy one person does either, because no check of a list is
// forced by it; that a whole list goes wants two there too.
func TestEntriesByTwoPersons(t *testing.T) {
	w := newEntryWorld(t)
	w.entries(http.StatusOK, w.pia, `"add":[`+entry("case-1", "Known Defrauder Holdings")+`,`+entry("case-2", "Frobnitz Gulp Bank")+`]`)
	w.entries(http.StatusOK, w.pia, `"end":["case-2"]`)
	w.entries(http.StatusOK, w.pia, `"add":[`+entry("case-2", "Frobnitz Gulp Bank")+`]`)
	code, staged := serveCall(w.node.api.AdminHandler(), w.pia, "POST", "/v1/ofac/snapshots?list=house&remove=true", "")
	require.Equal(t, http.StatusCreated, code, "%v", staged)
	code, proposed := serveCall(w.node.api.Handler(), w.pia, "POST", fmt.Sprintf("/v1/ofac/%v/activate", staged["snapshotId"]), `{"force":true,"reason":"no list any more"}`)
	require.Equal(t, http.StatusAccepted, code, "%v", proposed)
	require.Equal(t, []any{"list.force"}, proposed["twoPersons"])
	w.node.must(t, http.StatusOK, "PUT", "/v1/policy", `{"twoPersons":"bank"}`)
	code, withdrawn := serveCall(w.node.api.Handler(), w.pia, "POST", fmt.Sprintf("/v1/proposals/%v/withdraw", proposed["proposalId"]), `{"reason":"we keep it"}`)
	require.Equal(t, http.StatusOK, code, "%v", withdrawn)
	for _, step := range []struct{ change, name, before, after string }{
		{`"add":[` + entry("case-3", "Quuxven Zorbal Trading") + `]`, "Quuxven Zorbal Trading", "PROCEED", "REVIEW"},
		{`"end":["case-1"]`, "Known Defrauder Holdings", "REVIEW", "PROCEED"},
	} {
		proposed := w.entries(http.StatusAccepted, w.pia, step.change)
		require.Equal(t, []any{"list.activate"}, proposed["twoPersons"], "%v", proposed)
		w.judged(step.name, step.before)
		w.entries(http.StatusConflict, w.pia, step.change)
		w.confirm(http.StatusConflict, w.pia, proposed)
		w.judged(step.name, step.before)
		done := w.confirm(http.StatusOK, w.paul, proposed)
		leaf := w.activation()
		for _, said := range []string{`"persons":["person:pia","person:paul"]`, fmt.Sprintf(`"entryIds":[%q]`, done["entryIds"].([]any)[0]), `"reason":"case 7"`} {
			require.Contains(t, leaf, said)
		}
		w.judged(step.name, step.after)
	}
	again := `"end":["case-3"]`
	w.entries(http.StatusAccepted, w.pia, again)
	done := w.entries(http.StatusOK, w.paul, again)
	require.Equal(t, []any{"case-3"}, done["entryIds"])
	w.judged("Quuxven Zorbal Trading", "PROCEED")
}

// Over the command line the same holds, and whoever proposes is told that nothing is done.
func TestEntriesByTwoPersonsOnTheCommandLine(t *testing.T) {
	w := newEntryWorld(t)
	as := func(key string, args ...string) (string, int, error) {
		return run(t, append(args, "--url", w.server.URL, "--key", key, "--data", w.in("none"), "-o", "json")...)
	}
	added := []string{"list", "change", "house", "--add", "[" + entry("case-1", "Known Defrauder Holdings") + "," + entry("case-2", "Frobnitz Gulp Bank") + "]", "--reason", "case 1", "--by", "pia"}
	out, code, err := as(w.pia, added...)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, `"case-1"`)
	w.judged("Known Defrauder Holdings", "REVIEW")
	w.node.must(t, http.StatusOK, "PUT", "/v1/policy", `{"twoPersons":"bank"}`)
	ended := []string{"list", "change", "house", "--end", "case-1", "--reason", "settled", "--by", "pia"}
	out, code, err = as(w.pia, ended...)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	require.Contains(t, out, `"state": "proposed"`)
	w.judged("Known Defrauder Holdings", "REVIEW")
	_, _, err = as(w.paul, ended...)
	require.NoError(t, err)
	w.judged("Known Defrauder Holdings", "PROCEED")
	_, _, err = as(w.key("auditor", "Otto"), added...)
	require.ErrorContains(t, err, "forbidden")
}
