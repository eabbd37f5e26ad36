package leaf

import (
	cli "flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

var update = cli.Bool("update", false, "write the table of docs/FORMATS.md, and golden leaves of kinds that have none; the others are for ever")

// fullLeaf is a leaf of a kind with every member that Apply writes.
func fullLeaf(kind *Kind) string {
	event := reflect.New(reflect.TypeOf(kind.Members)).Elem()
	fillEvent(event)
	name, due, _ := strings.Cut(kind.Name, ":")
	text := AppendHead(nil, &Head{Kind: name, EventID: "evt_1", Time: engine.Second, Index: 2, Leaf: 1})
	if due == "" {
		return string(AppendEvent(text, name, event.Interface())) + "}"
	}
	for what := DueHold; what.String() != ""; what++ {
		if what.String() == due {
			return string(AppendDue(text, what, event.Interface())) + "}"
		}
	}
	panic("nothing falls due as " + due)
}

// Each kind has one row. Its leaf equals the golden one, which never changes, and reads back
// as it was written.
func TestEveryKindHasItsRow(t *testing.T) {
	golden := filepath.Join("testdata", "events.txt")
	stored, err := os.ReadFile(golden)
	require.NoError(t, err)
	goldens := map[string]string{}
	for line := range strings.Lines(string(stored)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		goldens[name] = text
	}
	seen := map[string]bool{}
	for i := range Kinds {
		kind := &Kinds[i]
		require.False(t, seen[kind.Name], kind.Name)
		seen[kind.Name] = true
		require.Same(t, kind, Named(kind.Name))
		require.Equal(t, len(kind.Events) == 0, kind.Silent != "", "%s: it has events, or a reason why not", kind.Name)
		require.Equal(t, len(kind.Events) == 0, kind.Audience == 0, "%s: its events are somebody's", kind.Name)
		if kind.Members == nil {
			continue
		}
		text := fullLeaf(kind)
		if _, found := goldens[kind.Name]; !found && *update {
			goldens[kind.Name] = text
			stored = append(stored, kind.Name+" "+text+"\n"...)
			require.NoError(t, os.WriteFile(golden, stored, 0o644))
		}
		require.Equal(t, goldens[kind.Name], text, kind.Name)

		name, event, err := Read([]byte(text))
		require.NoError(t, err)
		require.Equal(t, kind.Name, name)
		again := AppendMembers(nil, event)
		require.True(t, strings.HasSuffix(text, string(again)+"}"), "%s: read as %s", kind.Name, again)
		places := map[int]bool{}
		for _, m := range MembersOf(kind.Name) {
			require.False(t, m.Place != 0 && places[m.Place], "%s of %s", m.Name, kind.Name)
			places[m.Place] = true
		}
	}
	for name := range goldens {
		require.True(t, seen[name], "%s: a kind that was written once has a row for ever", name)
	}
	require.Nil(t, Named("nothing"))
}

// Read refuses a member of the wrong type, and ignores members and kinds that it does not
// know.
func TestReadRefusesOtherTypes(t *testing.T) {
	for _, kind := range Kinds {
		for _, m := range MembersOf(kind.Name) {
			name, due, _ := strings.Cut(kind.Name, ":")
			_, _, err := Read([]byte(`{"kind":"` + name + `","type":"` + due + `","` + m.Name + `":{"not":"it"}}`))
			if m.Name == "recheck" || m.Name == "expiresAt" && m.Edge {
				require.NoError(t, err, "an edge's own JSON")
				continue
			}
			require.ErrorIs(t, err, ErrForm, "%s of %s", m.Name, kind.Name)
			require.ErrorContains(t, err, "member "+m.Name)
		}
	}
	name, event, err := Read([]byte(`{"kind":"of.tomorrow","agentId":7}`))
	require.NoError(t, err)
	require.Equal(t, "of.tomorrow", name)
	require.Nil(t, event)
	for _, bad := range []string{``, `[]`, `{"kind":7}`, `{"kind":"due","type":7}`, `{"kind":"x"`, `{"kind":"x"} 1`, `{"kind":}`} {
		_, _, err := Read([]byte(bad))
		require.ErrorIs(t, err, ErrForm, bad)
	}
	for _, at := range []engine.Time{0, engine.Millisecond, 1_709_164_800 * engine.Second, 1_709_251_199_999 * engine.Millisecond, 951_782_400 * engine.Second, 4_107_542_400 * engine.Second} {
		read, err := readInstant(string(at.AppendTime(nil)))
		require.NoError(t, err)
		require.Equal(t, at, read)
	}
	for _, bad := range []string{"", "2024-02-30T00:00:00.000Z", "2024-02-28T24:00:00.000Z", "2024-02-28T00:00:00Z", "2024-02-28T00:00:00.0000Z"} {
		_, err := readInstant(bad)
		require.Error(t, err, bad)
	}
	var said Proposed
	require.NoError(t, ReadInto([]byte(`{"kind":"review.proposed","txnId":"a","txnId":"b","reviewedBy":"jane","notes":null}`), &said))
	require.Equal(t, Proposed{Reviewed: Reviewed{TxnID: "a"}, Officer: Officer{ReviewedBy: "jane"}}, said)
	require.ErrorIs(t, ReadInto(nil, &said), ErrForm)
}

// Select accepts only members that exist.
func TestSelect(t *testing.T) {
	require.Equal(t, []string{"time", "disposition"}, Select([]string{KindProposed}, "time", "disposition"))
	require.Panics(t, func() { Select([]string{KindProposed}, "dispositoin") })
}

// formatsTable returns the table of kinds in docs/FORMATS.md, with one row for all kinds of a
// struct.
func formatsTable() string {
	var rows []string
	at := map[reflect.Type]int{}
	names := map[reflect.Type][]string{}
	for _, kind := range Kinds {
		of := reflect.TypeOf(kind.Members)
		if of == nil {
			continue
		}
		if _, known := at[of]; !known {
			at[of] = len(rows)
			rows = append(rows, membersCell(kind.Name))
		}
		name := "`" + kind.Name + "`"
		if kind.Silent != "" {
			name += " (no event: " + kind.Silent + ")"
		}
		names[of] = append(names[of], name)
	}
	for of, row := range at {
		rows[row] = "| " + strings.Join(names[of], ", ") + " | " + rows[row] + " |"
	}
	return "| kind | members |\n|---|---|\n" + strings.Join(rows, "\n") + "\n"
}

func membersCell(kind string) string {
	var applied, sent []string
	for _, m := range MembersOf(kind) {
		text := "`" + m.Name + "`"
		if m.Doc != "" {
			text += " (" + m.Doc + ")"
		}
		if m.Edge {
			sent = append(sent, text)
		} else {
			applied = append(applied, text)
		}
	}
	cell := strings.Join(applied, ", ")
	if len(applied) == 0 {
		cell = "none of Apply's"
	}
	if len(sent) > 0 {
		cell += "; from the edge " + strings.Join(sent, ", ")
	}
	return cell
}

// The documents name every kind, every member and every type of event.
func TestDocumentsNameEveryKind(t *testing.T) {
	const begin, end = "<!-- kinds: written by go test ./fsm/leaf -update -->\n", "<!-- end of kinds -->"
	formats := filepath.Join("..", "..", "docs", "FORMATS.md")
	text, err := os.ReadFile(formats)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	table, after, ended := strings.Cut(rest, end)
	require.True(t, found && ended)
	if *update {
		table = formatsTable()
		require.NoError(t, os.WriteFile(formats, []byte(before+begin+table+end+after), 0o644))
	}
	require.Equal(t, formatsTable(), table, "docs/FORMATS.md: run go test ./fsm/leaf -update")

	api, err := os.ReadFile(filepath.Join("..", "..", "docs", "API.md"))
	require.NoError(t, err)
	for _, kind := range Kinds {
		for _, name := range kind.Events {
			group, _, _ := strings.Cut(name, ".")
			require.True(t, strings.Contains(string(api), "`"+name+"`") || strings.Contains(string(api), "`"+group+".*`"), "docs/API.md: %s", name)
		}
	}
}
