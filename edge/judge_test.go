package edge

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
	"railguard/seal"
	"railguard/strictjson"
)

const testNow = engine.Time(1774150408589) * engine.Millisecond

// testNode holds what a node publishes: settings, one agent, the sample list. It counts how
// often the leader is asked.
type testNode struct {
	settings *fsm.Settings
	list     *ofac.Index
	agent    *engine.AgentProfile
	asked    int

	coming            *ofac.Index // After how many looks ListAs gives the list; below 0: never.
	compiling, looked int
}

func (n *testNode) Settings() *fsm.Settings                                { return n.settings }
func (n *testNode) List() *ofac.Index                                      { return n.list }
func (n *testNode) User(engine.UserSlot) *engine.UserProfile               { return nil }
func (n *testNode) Fleet(engine.FleetSlot) *engine.FleetProfile            { return nil }
func (n *testNode) Disposition(uint64) (uint64, bool)                      { return 0, false }
func (n *testNode) Proposal(uint64) (uint64, bool)                         { return 0, false }
func (n *testNode) Outcomes(uint64) []uint64                               { return nil }
func (n *testNode) Statuses() *fsm.Statuses                                { return nil }
func (n *testNode) ReferenceUsed(engine.ReferenceKey) (uint64, bool, bool) { return 0, false, true }
func (n *testNode) UsedFrom() uint64                                       { return 0 }
func (n *testNode) ReferenceLeaves(engine.ReferenceKey) ([]audit.PlacedLeaf, uint64, error) {
	return nil, 0, nil
}
func (n *testNode) KeysFrom() uint64                                         { return 0 }
func (n *testNode) KeyedLeaves([16]byte) ([]audit.PlacedLeaf, uint64, error) { return nil, 0, nil }
func (n *testNode) EndedFrom() uint64                                        { return 0 }
func (n *testNode) EndingLeaves(uint64) ([]audit.PlacedLeaf, uint64, error)  { return nil, 0, nil }
func (n *testNode) OperatorsNamed(string) (engine.OperatorSlot, int)         { return 0, 0 }
func (n *testNode) OperatorsLike(string) []engine.OperatorSlot               { return nil }
func (n *testNode) Comments(uint64) []uint64                                 { return nil }
func (n *testNode) LogTime() engine.Time                                     { return testNow }
func (n *testNode) Applied() uint64                                          { return 1 }
func (n *testNode) ClocksAhead() engine.Time                                 { return 0 }
func (n *testNode) ListByDigest([32]byte) (*ofac.Index, error)               { return nil, nil }
func (n *testNode) Leaf(context.Context, uint64) ([]byte, error)             { return nil, wire.ErrNoLeader }
func (n *testNode) WaitApplied(context.Context, uint64) error                { return nil }

func (n *testNode) View(context.Context, uint64) (*fsm.View, error) { return nil, wire.ErrNoLeader }

// ListAs gives the list after a number of looks, when its tables are made.
func (n *testNode) ListAs([32]byte, uint16) (*ofac.Index, error) {
	n.looked++
	switch {
	case n.compiling < 0:
		return nil, ofac.ErrMatcherVersion
	case n.looked <= n.compiling:
		return nil, fmt.Errorf("list: %w", ofac.ErrBeingCompiled)
	}
	return n.coming, nil
}

func (n *testNode) Agent(slot engine.AgentSlot) *engine.AgentProfile {
	if slot == n.agent.Slot {
		return n.agent
	}
	return nil
}

func (n *testNode) Operator(slot engine.OperatorSlot) *engine.OperatorProfile {
	return &engine.OperatorProfile{Slot: slot, Rev: 1, LegalName: "Acme Inc"}
}

func (n *testNode) ReadIndex(context.Context) (uint64, error) {
	n.asked++
	return 1, nil
}

func newTestNode(t testing.TB) (*testNode, *Judges) {
	t.Helper()
	secrets := seal.NewSecrets([]byte("a cluster secret of the tests"))
	genesis, err := seal.NewGenesis(seal.GenesisOptions{Secrets: secrets, PublicURL: "https://pay.example.com", Dev: true})
	require.NoError(t, err)
	list, err := ofac.Build(sample.Entities(), sample.Meta())
	require.NoError(t, err)
	n := &testNode{list: list, settings: &fsm.Settings{
		Index: 1, Genesis: &genesis, Policy: engine.DefaultPolicy(), SigningKeys: []*wire.SigningKey{&genesis.SigningKey},
		List: &wire.ListInfo{Digest: list.Digest(), Entries: 1, Sample: true}, ListVersion: 1, ListSynced: testNow, Matcher: list.Matcher(),
	}, agent: &engine.AgentProfile{
		Slot: 7, Rev: 1, Operator: 1, Root: 7, Type: engine.Supervised, AgentName: "Payer", OperatorLegalName: "Acme Inc",
		Policy: engine.NoSpendPolicy(), CredentialVersion: 1, IssuedAt: testNow - engine.Hour, ExpiresAt: testNow + engine.DayLength,
	}}
	return n, New(Deps{Published: n, Records: n, Secrets: secrets, Node: "n1", Version: "0.0.0-test", Logger: slog.New(slog.DiscardHandler)})
}

// token mints a credential of the agent.
func token(t testing.TB, judges *Judges, agent *engine.AgentProfile) string {
	t.Helper()
	var m strictjson.Members
	terms := judges.Now()
	require.NoError(t, terms.WriteCredential(&m, terms.ProfileCredential([]*engine.AgentProfile{agent}), seal.FirstKID))
	var document strictjson.Document
	require.NoError(t, document.Read(m.Body(), engine.BodyValuesMax))
	f := document.Fields()
	return f.Text("token", engine.TokenMax)
}

// A batch uses one judge for many calls. Every record is that of its own call, and no call is
// judged by what the one before had asked for.
func TestOneJudgeManyCalls(t *testing.T) {
	n, judges := newTestNode(t)
	known := token(t, judges, n.agent)
	stranger := *n.agent
	stranger.Slot, stranger.Root = 8, 8
	unknown := token(t, judges, &stranger)
	caller := &Caller{ID: "key_a", Roles: wire.RoleScreener}
	var judge Judge
	defer judge.Reset()
	for i := range 256 {
		sent := known
		if i%2 == 1 {
			sent = unknown
		}
		call := Call{Caller: caller, RequestID: "req_" + strconv.Itoa(i), Body: []byte(`{"token":"` + sent + `","amount":` + strconv.Itoa(i) + `,"chain":"BASE"}`)}
		require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
		judge.Begin(context.Background(), judges, &call)
		require.NoError(t, judge.Read())
		record, err := judge.Screen()
		require.NoError(t, err)
		require.Equal(t, engine.USD(i)*engine.Dollar, record.Amount)
		var members leaf.Fragment
		require.NoError(t, members.Read(record.Fragment))
		require.Equal(t, "req_"+strconv.Itoa(i), string(members.Get(leaf.TagRequestID)))
		require.Equal(t, strconv.Itoa(i), string(members.Get(leaf.TagAmount)))
		require.Equal(t, `"BASE"`, string(members.Get(leaf.TagChain)))
		require.NotContains(t, string(record.Fragment), sent)
		if i%2 == 0 {
			require.Equal(t, n.agent.Slot, record.Agent)
		} else {
			require.Zero(t, record.Agent, "R1 names nobody")
		}
	}
	require.Equal(t, 128, n.asked, "an agent that is not known here is asked for in each of its calls")
}

// A refusal is a value: a code, a parameter, no status.
func TestScreenRefusals(t *testing.T) {
	n, judges := newTestNode(t)
	good := token(t, judges, n.agent)
	for name, c := range map[string]struct {
		body     string
		operator string
		change   func()
		code     string
	}{
		"no token":         {body: `{"amount":1}`, code: "missing_token"},
		"no amount":        {body: `{"token":"x"}`, code: "missing_amount"},
		"amount as text":   {body: `{"token":"x","amount":"1"}`, code: "invalid_amount"},
		"foreign operator": {body: `{"token":"` + good + `","amount":1}`, operator: "opr_other", code: "forbidden"},
		"no list": {body: `{"token":"` + good + `","amount":1}`, change: func() {
			bare := *n.settings
			bare.Index, bare.List = 2, nil
			n.settings = &bare
		}, code: "sanctions_data_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			before := n.settings
			defer func() { n.settings = before; judges.terms.Store(nil) }()
			if c.change != nil {
				c.change()
			}
			call := Call{Caller: &Caller{ID: "key_a", Owner: c.operator}, Body: []byte(c.body)}
			require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
			var judge Judge
			defer judge.Reset()
			judge.Begin(context.Background(), judges, &call)
			err := judge.Read()
			if err == nil {
				_, err = judge.Screen()
			}
			var refused *Refusal
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.code, refused.Code)
		})
	}
	call := Call{Body: []byte(`{"token":"x","amount":1,"chain":5}`)}
	require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
	var judge Judge
	judge.Begin(context.Background(), judges, &call)
	var invalid *strictjson.InvalidBody
	require.ErrorAs(t, judge.Read(), &invalid)
	require.Equal(t, "chain", invalid.Findings[0].Param)
}

// BenchmarkScreen is one call of a batch: body read, judged, record made.
func BenchmarkScreen(b *testing.B) {
	n, judges := newTestNode(b)
	call := Call{Caller: &Caller{ID: "key_a"}, Body: []byte(`{"token":"` + token(b, judges, n.agent) + `","amount":12.50,"chain":"BASE","rail":"USDC","cpName":"Paper and Ink"}`)}
	var judge Judge
	defer judge.Reset()
	b.ReportAllocs()
	for b.Loop() {
		judge.Begin(context.Background(), judges, &call)
		if call.Document.Read(call.Body, engine.ScreenValuesMax) != nil || judge.Read() != nil {
			b.Fatal("body")
		}
		if _, err := judge.Screen(); err != nil {
			b.Fatal(err)
		}
	}
}

// A call waits briefly for tables that are being made on this node, at most until its own
// deadline. If they will not be made, it does not wait at all.
func TestCallsWaitForTables(t *testing.T) {
	for _, c := range []struct {
		name              string
		compiling, looked int
		deadline          time.Duration
		found             bool
	}{
		{"made meanwhile", 3, 4, time.Minute, true}, {"made in the last moment", 119, 120, time.Minute, true},
		{"not made in time", 120, 120, time.Minute, false}, {"the call's time is over", 1 << 30, 3, 25 * time.Millisecond, false},
		{"never", -1, 1, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, judges := newTestNode(t)
				n.coming, n.list, n.compiling = n.list, nil, c.compiling
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				var judge Judge
				defer judge.Reset()
				judge.Begin(ctx, judges, &Call{Caller: &Caller{}})
				list, err := judge.ActiveList()
				require.Equal(t, c.looked, n.looked)
				if c.found {
					require.NoError(t, err)
					require.Same(t, n.coming, list)
					return
				}
				var refused *Refusal
				require.ErrorAs(t, err, &refused)
				require.Equal(t, "sanctions_data_unavailable", refused.Code)
			})
		})
	}
}

// ActiveList returns the list that the settings name, with the tables of their matcher. With
// real payments the sample is not accepted.
func TestActiveList(t *testing.T) {
	n, judges := newTestNode(t)
	good := n.settings
	for _, c := range []struct {
		name   string
		change func(s *fsm.Settings)
		looked bool
		code   string
	}{
		{"as it is", func(*fsm.Settings) {}, false, ""},
		{"no list", func(s *fsm.Settings) { s.List = nil }, false, "sanctions_data_unavailable"},
		{"an empty list", func(s *fsm.Settings) { s.List = &wire.ListInfo{Digest: s.List.Digest, Sample: true} }, false, "sanctions_data_unavailable"},
		{"the sample where payments are real", func(s *fsm.Settings) { g := *s.Genesis; g.Dev, s.Genesis = false, &g }, false, "sanctions_data_unavailable"},
		{"a published list where payments are real", func(s *fsm.Settings) {
			g, info := *s.Genesis, *s.List
			g.Dev, info.Sample, s.Genesis, s.List = false, false, &g, &info
		}, false, ""},
		{"another list than is published here", func(s *fsm.Settings) { info := *s.List; info.Digest[0]++; s.List = &info }, true, "sanctions_data_unavailable"},
		{"another matcher than is published here", func(s *fsm.Settings) { s.Matcher++ }, true, "sanctions_data_unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := *good
			settings.Index = judges.Now().Settings.Index + 1
			c.change(&settings)
			n.settings, n.compiling, n.looked = &settings, -1, 0
			var judge Judge
			defer judge.Reset()
			judge.Begin(t.Context(), judges, &Call{Caller: &Caller{}})
			list, err := judge.ActiveList()
			require.Equal(t, c.looked, n.looked > 0)
			if c.code == "" {
				require.NoError(t, err)
				require.Same(t, n.list, list)
				return
			}
			var refused *Refusal
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.code, refused.Code)
		})
	}
}
