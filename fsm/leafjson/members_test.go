package leafjson

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/strictjson"
)

// literals are JSON values that callers may send.
var literals = []string{
	`12.50`, `0`, `-1`, `1e3`, `0.000001`, `"plain"`, `""`, `null`, `true`, `false`, `[]`, `{}`, `"<b>"`, `"a\"b\\c"`, `"\u0041\u2028\n"`,
	`"Müller & Söhne"`, "\"\u2028\"", "\"\x7f\"", `"\ud83d\ude00"`, `[ 1, "x" ]`, `{"city" : "A<B", "lines":["\u00e9",null]}`,
}

func drawn[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// drawRecord makes a random record, with or without its profiles.
func drawRecord(r *rand.Rand) *Screen {
	coin := func() bool { return r.IntN(2) == 0 }
	x := &Screen{}
	s := &x.Screen
	s.Rules = engine.NewestRules.Number
	s.Leaf, s.Index, s.At = r.Uint64()>>20, r.Uint64()>>20, engine.Time(r.Int64N(1<<60))
	s.Verdict, s.Rule = engine.Verdict(r.IntN(4)), engine.RuleID(r.IntN(len(engine.Rules)+1))
	s.Triggered, s.Shadow, s.ListStale, s.ListOld = r.Uint32()&(1<<26-2), r.Uint32()&4, coin(), coin()
	copy(s.Txn[:], "aZ09bY18")
	if s.Judged = coin(); s.Judged {
		s.Sequence, s.Previous, s.Amount = uint64(r.IntN(3)), r.Uint64(), engine.USD(r.Int64())
		s.LevelCount = uint8(r.IntN(engine.DepthMax + 2))
		s.InFleet, s.FleetSpent, s.FleetHeld = coin(), 5, engine.USD(r.IntN(2))
		s.InOperator, s.OperatorSpent, s.OperatorHeld = coin(), 6, engine.USD(r.IntN(2))
		s.SameToken, s.WithUser, s.Used, s.HoldUntil = coin(), coin(), coin(), engine.Time(r.IntN(2))
		if coin() {
			s.Profile = leaf.Ref{Leaf: 3, Hash: [32]byte{1}}
		}
		if coin() {
			s.User = leaf.Ref{Leaf: 4, Hash: [32]byte{2}}
		}
	}
	if coin() {
		x.Agent = &leaf.Profile{FleetID: drawn(r, []string{"", "flt_1"})}
		for range 1 + r.IntN(3) {
			x.Agent.Agents = append(x.Agent.Agents, engine.AgentProfile{AgentName: "Buyer <1>", OperatorLegalName: drawn(r, []string{"Acme \"B\"", "Größe\u2028"})})
			x.Agent.AgentIDs = append(x.Agent.AgentIDs, "agt_"+drawn(r, []string{"a", "b"}))
		}
	}
	if coin() {
		x.Party = &leaf.Profile{UserID: "usr_1", User: &engine.UserProfile{}}
	}
	drawEdge(r, &x.Edge)
	return x
}

func drawEdge(r *rand.Rand, f *leaf.Fragment) {
	coin := func() bool { return r.IntN(2) == 0 }
	if coin() {
		f.Set(leaf.TagSource, []byte{byte(r.IntN(4))})
	}
	for t := leaf.TagMixers; t <= leaf.TagRequestID; t++ {
		if coin() {
			f.Set(t, []byte(drawn(r, []string{"text", "<\"\\", "", "ü\xff"})))
		}
	}
	for t := leaf.TagRequestHash; t <= leaf.TagTrace; t++ {
		if coin() {
			f.Set(t, []byte("\x00\x01bytes"))
		}
	}
	for _, t := range []leaf.Tag{leaf.TagMatches, leaf.TagWarnings} {
		if coin() {
			f.Set(t, []byte(drawn(r, []string{`[]`, `[{"uid":7,"name":"A \u003c B"}]`, ""})))
		}
	}
	if coin() {
		f.Set(leaf.TagTruncated, nil)
	}
	for t := leaf.TagAmount; t <= leaf.TagHold; t++ {
		if coin() {
			f.Set(t, []byte(drawn(r, literals)))
		}
	}
	if coin() {
		f.Set(leaf.TagLast, []byte("newer"))
	}
}

// TestSelectionIsWhatAParserFindsInTheWhole: members selected from a leaf have the same bytes
// as those found by parsing the record's full JSON.
func TestSelectionIsWhatAParserFindsInTheWhole(t *testing.T) {
	var names []string
	for _, of := range members {
		names = append(names, of.name)
	}
	masked := func(name string) string {
		if name == "cpName" || name == "cpAddress" {
			return "***"
		}
		return ""
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		x := drawRecord(r)
		r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
		chosen := names[:1+r.IntN(len(names))]
		var whole strictjson.Members
		x.Append(&whole)
		parsed, err := fastjson.ParseBytes(whole.Body())
		require.NoError(t, err, "%s", whole)
		var got, want strictjson.Members
		before := map[string]bool{}
		for _, name := range chosen {
			if v := parsed.Get(name); v != nil && !before[name] {
				want.Raw(name, strictjson.AppendValue(nil, v))
			}
			before[name] = true
		}
		var distinct []string
		for _, name := range chosen {
			if before[name] {
				distinct, before[name] = append(distinct, name), false
			}
		}
		require.NoError(t, Select(distinct...).Append(x, &got))
		require.Equal(t, string(want), string(got))

		got, want = nil, nil
		require.NoError(t, x.AppendRequest(&got, func(string) string { return "" }))
		want.Raw("_request", strictjson.AppendValue(nil, parsed.Get("_request")))
		require.Equal(t, string(want), string(got))

		got = nil
		var inner strictjson.Members
		require.NoError(t, x.AppendRequest(&got, masked))
		parsed.GetObject("_request").Visit(func(key []byte, v *fastjson.Value) {
			if masked(string(key)) != "" && v.Type() != fastjson.TypeNull {
				inner.Text(string(key), "***")
			} else {
				inner.Raw(string(key), strictjson.AppendValue(nil, v))
			}
		})
		require.Equal(t, `"_request":{`+string(inner)+`}`, string(got))
		askAlike(t, x, parsed)
	}
}

// askAlike compares the values that filters use with the record's JSON.
func askAlike(t *testing.T, x *Screen, parsed *fastjson.Value) {
	text := func(path ...string) string { return string(parsed.GetStringBytes(path...)) }
	quoted := func(s string) string { // Invalid UTF-8 is shown as U+FFFD.
		v, err := fastjson.ParseBytes(strictjson.AppendQuoted(nil, s))
		require.NoError(t, err)
		return string(v.GetStringBytes())
	}
	require.Equal(t, text("agentId"), quoted(x.AgentID()))
	require.Equal(t, text("userId"), quoted(x.UserID()))
	require.Equal(t, text("keyId"), quoted(x.KeyID()))
	require.Equal(t, text("operatorId"), x.OperatorID())
	require.Equal(t, text("_request", "cpName"), x.RequestText(leaf.TagName))
	require.Equal(t, text("_request", "cpWallet"), x.RequestText(leaf.TagWallet))
	require.Equal(t, text("rule"), x.Rule.Code())
	require.Equal(t, text("verdict"), x.Verdict.String())
}

func TestSelectionRefusesWhatIsNoJSON(t *testing.T) {
	for _, bad := range []string{`"open`, `"a","b":"c"`, `1,"b":2`, `{"a":1`, `nul`, `"a" `, `-`} {
		x := &Screen{}
		x.Edge.Set(leaf.TagName, []byte(bad))
		x.Edge.Set(leaf.TagMatches, []byte(bad))
		var m strictjson.Members
		none := func(string) string { return "" }
		if bad == `"a" ` || bad == `-` { // The parser accepts these; they are written as it returns them.
			require.NoError(t, x.AppendRequest(&m, none), bad)
			continue
		}
		require.ErrorIs(t, x.AppendRequest(&m, none), strictjson.ErrSyntax, bad)
		require.ErrorIs(t, Select("matches").Append(x, &m), strictjson.ErrSyntax, bad)
	}
}
