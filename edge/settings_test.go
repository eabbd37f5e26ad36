package edge_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/strictjson"
)

// fieldsOf returns the members of a body.
func fieldsOf(t *testing.T, body string) *strictjson.Fields {
	t.Helper()
	document := new(strictjson.Document)
	require.NoError(t, document.Read([]byte(body), engine.BodyValuesMax))
	f := document.Fields()
	return &f
}

// A setting that a body leaves out stays as it was; null removes it (RFC 7396).
func TestSettingsOfAnAgent(t *testing.T) {
	all := `{"operatingHours":{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:00","to":"18:00"}]},"velocity":{"maxPerMinute":5,"burstFactor":3},` +
		`"allowedCounterpartyTypes":["exchange","individual"],"whitelist":{"mode":"enforce","entries":[{"name":"Paper"}]}}`
	f := fieldsOf(t, all)
	whole := edge.ReadSettings(f, engine.AgentSettings{CurrentModel: "m"}, edgetest.Start)
	require.NoError(t, f.Err())
	var m strictjson.Members
	edge.WriteSettings(&m, &whole)
	v := parsed(t, m)
	require.Equal(t, `{"timezone":"UTC","windows":[{"days":["MON"],"from":"08:00","to":"18:00"}]}`, text(v.Get("operatingHours")))
	require.Equal(t, `{"maxPerMinute":5,"burstFactor":3}`, text(v.Get("velocity")))
	require.Equal(t, `["individual","exchange"]`, text(v.Get("allowedCounterpartyTypes")))
	require.Equal(t, `{"mode":"enforce","kinds":["name"],"version":2,"entryCount":1}`, text(v.Get("whitelist")))
	for _, c := range []struct{ name, body, shows, wrong string }{
		{"nothing", `{}`, string(m), ""},
		{"no hours", `{"operatingHours":null}`, strings.Replace(string(m), text(v.Get("operatingHours")), "", 1)[len(`"operatingHours":,`):], ""},
		{"nothing at all", `{"operatingHours":null,"velocity":null,"allowedCounterpartyTypes":null,"whitelist":null}`, `"whitelist":{"mode":"off","kinds":[],"version":3,"entryCount":0}`, ""},
		{"no hours that are any", `{"operatingHours":{"timezone":"UTC"}}`, "", "operatingHours"},
		{"no velocity that is any", `{"velocity":{"maxPerMinute":-1}}`, "", "velocity"},
		{"no types that are any", `{"allowedCounterpartyTypes":["robot"]}`, "", "allowedCounterpartyTypes"},
		{"no whitelist that is any", `{"whitelist":5}`, "", "whitelist"},
	} {
		f := fieldsOf(t, c.body)
		next := edge.ReadSettings(f, whole, edgetest.Start)
		if c.wrong != "" {
			require.True(t, strings.HasPrefix(complaint(f.Err()), c.wrong), "%s: %v", c.name, f.Err())
			continue
		}
		require.NoError(t, f.Err(), c.name)
		require.Equal(t, "m", next.CurrentModel)
		var m strictjson.Members
		edge.WriteSettings(&m, &next)
		require.Equal(t, c.shows, string(m), c.name)
	}
	var empty strictjson.Members
	edge.WriteSettings(&empty, &engine.AgentSettings{})
	require.Empty(t, empty)
}

// A change that lets through what was stopped needs the role policy (decision 33).
func TestSettingsThatWiden(t *testing.T) {
	settings := func(body string) *engine.AgentSettings {
		f := fieldsOf(t, body)
		s := edge.ReadSettings(f, engine.AgentSettings{}, edgetest.Start)
		require.NoError(t, f.Err())
		return &s
	}
	hours := func(from string) string {
		return `{"operatingHours":{"timezone":"UTC","windows":[{"days":["MON"],"from":"` + from + `","to":"18:00"}]}}`
	}
	for _, c := range []struct {
		old, new string
		widens   bool
	}{
		{`{}`, `{}`, false},
		{`{}`, hours("08:00"), false}, {hours("08:00"), `{}`, true}, {hours("08:00"), hours("09:00"), false}, {hours("08:00"), hours("07:59"), true},
		{`{}`, `{"velocity":{"maxPerMinute":5}}`, false},
		{`{"velocity":{"maxPerMinute":5}}`, `{}`, true},
		{`{"velocity":{}}`, `{}`, false},
		{`{"velocity":{"maxPerMinute":5}}`, `{"velocity":{"maxPerMinute":5}}`, false},
		{`{"velocity":{"maxPerMinute":5}}`, `{"velocity":{"maxPerMinute":4}}`, false},
		{`{"velocity":{"maxPerMinute":5}}`, `{"velocity":{"maxPerMinute":6}}`, true},
		{`{"velocity":{"maxPerMinute":5}}`, `{"velocity":{"maxPerHour":6}}`, true},
		{`{"velocity":{"maxPerHour":5}}`, `{"velocity":{"maxPerHour":6}}`, true},
		{`{"velocity":{"burstFactor":5}}`, `{"velocity":{"burstFactor":6}}`, true},
		{`{"velocity":{"burstFactor":5}}`, `{"velocity":{"burstFactor":5,"maxPerHour":6}}`, false},
		{`{}`, `{"allowedCounterpartyTypes":["business"]}`, false},
		{`{"allowedCounterpartyTypes":["business"]}`, `{}`, true},
		{`{"allowedCounterpartyTypes":["business"]}`, `{"allowedCounterpartyTypes":["exchange"]}`, true},
		{`{"allowedCounterpartyTypes":["business","exchange"]}`, `{"allowedCounterpartyTypes":["exchange"]}`, false},
		{`{"whitelist":{"mode":"enforce","entries":[{"name":"Paper"}]}}`, `{}`, true},
		{`{"whitelist":{"mode":"off"}}`, `{}`, false},
	} {
		require.Equal(t, c.widens, edge.SettingsWiden(settings(c.old), settings(c.new)), "%s to %s", c.old, c.new)
	}
}

// A new whitelist continues the revision and ids of the one before. A list in force keeps its
// kinds of identifier unless the caller names others (decision 42).
func TestReadingAWhitelist(t *testing.T) {
	f := fieldsOf(t, `{"mode":"enforce","entries":[{"name":"Paper"},{"wallet":"0x1111111111111111111111111111111111111111","label":"l","addedBy":"a","expiresAt":"2026-04-01T00:00:00Z"}]}`)
	old := edge.ReadWhitelistBody(f, nil)
	require.NoError(t, f.Err())
	require.Equal(t, `"mode":"enforce","kinds":["wallet","name"],"version":2,"entryCount":2,"entries":[{"id":"1","name":"Paper"},`+
		`{"id":"2","wallet":"0x1111111111111111111111111111111111111111","label":"l","expiresAt":"2026-04-01T00:00:00.000Z","addedBy":"a"}]`, string(edge.WhitelistMembers(old)))
	require.Equal(t, `"mode":"off","kinds":[],"version":1,"entryCount":0,"entries":[]`, string(edge.WhitelistMembers(nil)))
	for _, c := range []struct{ name, body, shows, wrong string }{
		{"other entries", `{"entries":[{"name":"Ink"}]}`, `"mode":"enforce","kinds":["wallet","name"],"version":3,"entryCount":1,"entries":[{"id":"3","name":"Ink"}]`, ""},
		{"no entries", `{"mode":"enforce","entries":[]}`, `"mode":"enforce","kinds":["wallet","name"],"version":3,"entryCount":0,"entries":[]`, ""},
		{"off", `{"mode":"off"}`, `"mode":"off","kinds":[],"version":3,"entryCount":0,"entries":[]`, ""},
		{"other kinds", `{"entries":[{"name":"Ink"}],"kinds":["name"]}`, `"mode":"enforce","kinds":["name"],"version":3,"entryCount":1,"entries":[{"id":"3","name":"Ink"}]`, ""},
		{"kinds without that of an entry", `{"entries":[{"name":"Ink"}],"kinds":["wallet"]}`, "", "kinds"},
		{"kinds that are none", `{"entries":[{"name":"Ink"}],"kinds":["email"]}`, "", "kinds"},
		{"the entries are missing", `{"mode":"enforce"}`, "", "entries"},
		{"the entries are missing, in force as before", `{}`, "", "entries"},
		{"another mode", `{"mode":"on","entries":[]}`, "", "mode"},
		{"an entry of nothing", `{"entries":[{}]}`, "", "entries[0].wallet"},
		{"an entry of both", `{"entries":[{"name":"Ink","wallet":"0x1111111111111111111111111111111111111111"}]}`, "", "entries[0].wallet"},
		{"an entry of no letters", `{"entries":[{"name":"..."}]}`, "", "entries[0].name"},
		{"an entry of a wallet of no letters", `{"entries":[{"wallet":" "}]}`, "", "entries[0].wallet"},
		{"an entry of a name that is no text", `{"entries":[{"name":5}]}`, "", "entries[0].name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fieldsOf(t, c.body)
			next := edge.ReadWhitelistBody(f, old)
			require.Equal(t, c.wrong, complaint(f.Err()))
			if c.wrong == "" {
				require.Equal(t, c.shows, string(edge.WhitelistMembers(next)))
			}
		})
	}
	require.Len(t, old.Entries, 2, "the list before is not changed")
	f = fieldsOf(t, `{}`)
	require.Same(t, old, edge.ReadWhitelist(f, "whitelist", old), "a member left out")
	f = fieldsOf(t, `{"whitelist":null}`)
	gone := edge.ReadWhitelist(f, "whitelist", old)
	require.False(t, gone.Enforce)
	require.Empty(t, gone.Entries)
	require.Equal(t, edge.WhitelistVersion(old)+1, edge.WhitelistVersion(gone))
	f = fieldsOf(t, `{"whitelist":null}`)
	require.Nil(t, edge.ReadWhitelist(f, "whitelist", nil))

	many := func(n int) string {
		var entries []string
		for i := range n {
			entries = append(entries, `{"name":"N`+strconv.Itoa(i)+`"}`)
		}
		return `{"mode":"enforce","entries":[` + strings.Join(entries, ",") + `]}`
	}
	for n, wrong := range map[int]string{engine.WhitelistMax: "", engine.WhitelistMax + 1: "entries"} {
		f := fieldsOf(t, many(n))
		edge.ReadWhitelistBody(f, nil)
		require.Equal(t, wrong, complaint(f.Err()))
	}
	for _, c := range []struct {
		old  *engine.Whitelist
		mode string
	}{{nil, "enforce"}, {&engine.Whitelist{Enforce: true}, "enforce"}, {&engine.Whitelist{}, "off"}} {
		next := edge.ReadWhitelistBody(fieldsOf(t, `{"entries":[{"name":"Ink"}]}`), c.old)
		require.Equal(t, c.mode == "enforce", next.Enforce, "a mode changes by being said")
	}
	off := edge.ReadWhitelistBody(fieldsOf(t, `{"mode":"off","entries":[{"name":"Ink"}]}`), nil)
	on := edge.ReadWhitelistBody(fieldsOf(t, `{"mode":"enforce","entries":[{"wallet":"0x1111111111111111111111111111111111111111"}]}`), off)
	require.Equal(t, engine.KindWallet, on.Kinds, "the kinds of a list that was not in force are not kept")
}

// A bound is stored even if a stricter one of another party applies, and answers show both.
func TestEffectiveVelocity(t *testing.T) {
	own := &engine.Velocity{MaxPerMinute: 10, MaxPerHour: 100}
	for _, c := range []struct {
		name  string
		own   *engine.Velocity
		above []*engine.Velocity
		shows string
		warns int
	}{
		{"nothing", nil, []*engine.Velocity{{MaxPerMinute: 1}}, "", 0},
		{"nothing set", &engine.Velocity{}, []*engine.Velocity{{MaxPerMinute: 1}}, "", 0},
		{"alone", own, nil, `"effectiveVelocity":{"maxPerMinute":10,"maxPerHour":100}`, 0},
		{"below a wider one", own, []*engine.Velocity{{MaxPerMinute: 11}, nil}, `"effectiveVelocity":{"maxPerMinute":10,"maxPerHour":100}`, 0},
		{"below one as strict", own, []*engine.Velocity{{MaxPerMinute: 10}}, `"effectiveVelocity":{"maxPerMinute":10,"maxPerHour":100}`, 0},
		{"below a stricter one", own, []*engine.Velocity{{MaxPerMinute: 9, BurstFactor: 2}}, `"effectiveVelocity":{"maxPerMinute":9,"maxPerHour":100}`, 1},
		{"below two stricter ones", own, []*engine.Velocity{{MaxPerMinute: 9}, {MaxPerMinute: 8, MaxPerHour: 99}}, `"effectiveVelocity":{"maxPerMinute":8,"maxPerHour":99}`, 2},
	} {
		var m strictjson.Members
		warnings := edge.WriteEffectiveVelocity(&m, c.own, c.above...)
		require.Equal(t, c.shows, string(m), c.name)
		require.Len(t, warnings, c.warns, c.name)
	}
	// VelocityAbove returns the velocity of the institution, the agent's ancestors and its
	// root's fleet.
	w := edgetest.New(t)
	w.SetPolicy(func(p *engine.Policy) { p.Velocity = engine.Velocity{MaxPerMinute: 50} })
	fleet := w.NewFleet("Acme Inc", engine.Dollar)
	slot, _ := w.Judges.Now().ParseFleet(fleet)
	root, _ := w.Registered(`,"fleetId":"` + fleet + `","velocity":{"maxPerMinute":40}`)
	l, err := w.Delegate(edgetest.Admin(), `{"parentAgentId":"`+root+`","agentName":"Child"}`)
	require.NoError(t, err)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	above, err := edge.VelocityAbove(j, agentOf(t, w, l.Text("agentId")))
	require.NoError(t, err)
	require.Equal(t, []*engine.Velocity{{MaxPerMinute: 50}, {MaxPerMinute: 40}, w.Fleet(slot).Velocity}, above)
	above, err = edge.VelocityAbove(j, agentOf(t, w, root))
	require.NoError(t, err)
	require.Equal(t, []*engine.Velocity{{MaxPerMinute: 50}, w.Fleet(slot).Velocity}, above)
}
