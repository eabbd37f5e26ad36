package retrace_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// trace judges all of a world's history again.
func trace(t *testing.T, w *edgetest.World, terms retrace.Terms, from engine.Time) *retrace.Trace {
	t.Helper()
	tr := retrace.NewTrace(terms, w.Judges.Retracing(), from)
	for i := range w.Store.Size() {
		record, err := w.Store.Record(i)
		require.NoError(t, err)
		require.NoError(t, tr.Take(t.Context(), record.Data, record.Keys))
	}
	return tr
}

// report returns the result of a trace.
func report(t *testing.T, tr *retrace.Trace) *fastjson.Value {
	t.Helper()
	var m strictjson.Members
	tr.Write(&m)
	v, err := fastjson.ParseBytes(m.Body())
	require.NoError(t, err)
	return v
}

// candidates returns the verdicts under the tried terms, by transaction, of the calls that
// differ.
func candidates(v *fastjson.Value) map[string]string {
	all := map[string]string{}
	for _, e := range v.GetArray("examples") {
		all[string(e.GetStringBytes("txnId"))] = string(e.GetStringBytes("candidate", "verdict")) + " " + string(e.GetStringBytes("candidate", "rule"))
	}
	return all
}

// story is a sequence of events in a world, in words: see play.
type story struct {
	name  string
	agent string
	steps string
}

// player plays a story. Payments are numbered from 0.
type player struct {
	*edgetest.World
	t       *testing.T
	tokens  map[string]string
	paid    []edge.Leaf
	decided map[int]bool // The payment was approved.
	settler *edge.Caller
}

func newPlayer(t *testing.T, policy func(*engine.Policy), agent string) *player {
	p := &player{World: edgetest.New(t), t: t, tokens: map[string]string{}, decided: map[int]bool{}}
	p.SetPolicy(policy)
	p.settler = p.Caller("settler", wire.RoleSettler, "")
	fleet := p.NewFleet("Acme Inc", 12*engine.Dollar)
	root, token := p.Registered(strings.ReplaceAll(agent, "FLEET", fleet))
	l, err := p.Delegate(edgetest.Admin(), `{"parentAgentId":"`+root+`","agentName":"Child"}`)
	require.NoError(t, err)
	p.tokens["pay"], p.tokens["child"] = token, p.AgentToken(&l)
	return p
}

// play carries out the steps of a story: "pay 6 ref=a hold name=X", "child 6", "approve 0",
// "reject 0", "settle 0 3", "release 0", "wait 1h". It skips a step that is impossible in this
// world: only a REVIEW is decided, and only a payment that proceeds or was approved is made.
func (p *player) play(steps string) {
	for _, step := range strings.Split(steps, ";") {
		words := strings.Fields(step)
		n := 0
		if len(words) > 1 {
			n, _ = strconv.Atoi(words[1])
		}
		switch words[0] {
		case "pay", "child":
			body := `{"token":"` + p.tokens[words[0]] + `","amount":` + words[1]
			for _, word := range words[2:] {
				name, value, _ := strings.Cut(word, "=")
				body += map[string]string{"ref": `,"paymentRef":"` + value + `"`, "hold": `,"hold":{"ttlSeconds":3600}`, "name": `,"cpName":"` + strings.ReplaceAll(value, "_", " ") + `"`}[name]
			}
			p.paid = append(p.paid, p.Screened(edgetest.Admin(), body+`}`))
		case "approve", "reject":
			if p.paid[n].Record.Verdict == engine.Review {
				p.decided[n] = words[0] == "approve"
				p.Disposed(edgetest.Admin(), &p.paid[n], map[bool]uint8{true: wire.Approved, false: wire.Rejected}[p.decided[n]])
			}
		case "settle", "release":
			if p.paid[n].Record.Verdict == engine.Proceed || p.decided[n] {
				outcome := &edge.Outcome{Op: wire.HoldRelease, Said: strictjson.Members(`"railRef":"x"`)}
				if words[0] == "settle" {
					amount, err := engine.ParseUSD([]byte(words[2]))
					require.NoError(p.t, err)
					outcome.Op, outcome.Amount = wire.HoldSettle, &amount
				}
				p.Settled(p.settler, &p.paid[n], outcome)
			}
		case "wait":
			hours, err := strconv.Atoi(strings.TrimSuffix(words[1], "h"))
			require.NoError(p.t, err)
			p.Advance(engine.Time(hours) * engine.Hour)
		default:
			require.Fail(p.t, "no step", step)
		}
	}
}

// Judging history under another policy gives the results that would have come had that policy
// been in force. The test plays the same story in a second world with that policy. The trace
// follows what is spent, held, settled and released under it, and the references
// (foresight.md).
func TestTraceIsWhatWouldHaveBeen(t *testing.T) {
	const single = `,"fleetId":"FLEET","spendPolicy":{"maxSingleTxUSDC":5,"dailyLimitUSDC":10}`
	off := func(rule engine.RuleID) func(*engine.Policy) {
		return func(p *engine.Policy) { p.Modes[rule] = engine.ModeOff }
	}
	standard := func(*engine.Policy) {}
	returning := func(more func(*engine.Policy)) func(*engine.Policy) {
		return func(p *engine.Policy) {
			p.HoldsReturn = true
			more(p)
		}
	}
	for _, c := range []struct {
		story
		was, now func(*engine.Policy)
		changed  int
	}{
		{story{"the same policy", single, "pay 6;pay 4;approve 0;pay 1;wait 24h;pay 6"}, standard, standard, 0},
		{story{"more proceeds, so the day's limit is met sooner", single, "pay 6;pay 4;pay 1;pay 0.5"}, standard, off(10), 3},
		{story{"what proceeds counts up the chain and in the fleet", single, "child 6;child 4;pay 1;pay 0.5"}, standard, off(10), 3},
		{story{"an approval counts in history, and was counted at once in the other", single, "pay 6;approve 0;pay 4;pay 1"}, standard, off(10), 1},
		{story{"a refusal never counts in history", single, "pay 6;reject 0;pay 4;pay 1;wait 24h;pay 5"}, standard, off(10), 2},
		{story{"days begin anew", single, "pay 6;pay 4;wait 24h;pay 4;pay 1"}, standard, off(10), 1},
		{story{"less proceeds, so the day's limit is met later", single, "pay 6;pay 5;pay 4;pay 5;pay 1"}, off(10), standard, 3},
		{story{"a payment that is released counts no more", single, "pay 6 hold;release 0;pay 5;pay 5;pay 0.5"}, off(10), standard, 1},
		{story{"a payment that is settled for less counts for less", single, "pay 6 hold;settle 0 2;pay 5;pay 3;pay 2"}, off(10), standard, 2},
		{story{"a payment that is settled for more counts for more", single, "pay 4 hold;settle 0 9;pay 2"}, standard, off(10), 0},
		{story{"a hold that ends by itself counts no more", single, "pay 6 hold;wait 2h;pay 5;pay 5;pay 1"}, returning(off(10)), returning(standard), 1},
		{story{"a hold that nobody ends goes on counting", single, "pay 4 hold;wait 2h;pay 5;pay 5;pay 1"}, standard, standard, 0},
		{story{"a reference of what proceeds in neither world is free", single, "pay 6 ref=a;pay 1 ref=a;pay 1 ref=a"}, standard, standard, 0},
		{story{"a reference of what proceeds now is used", single, "pay 6 ref=a;pay 1 ref=a"}, standard, off(10), 2},
		{story{"a reference of what proceeds no more is free", single, "pay 6 ref=a;pay 1 ref=a;pay 1 ref=a"}, off(10), standard, 2},
		{story{"a reference of what was released is free", single, "pay 6 hold ref=a;release 0;pay 1 ref=a"}, off(10), standard, 1},
		{story{"a reference of what proceeds now, and was released, is free", single, "pay 6 hold ref=a;approve 0;release 0;pay 1 ref=a"}, standard, off(10), 1},
		{story{"references may be used again", single, "pay 1 ref=a;pay 1 ref=a"}, standard, func(p *engine.Policy) { p.ReferenceOff = true }, 1},
		{story{"a narrower band", single, "pay 3 name=Paper;pay 3 name=Paper;pay 1 name=Paper"}, standard, func(p *engine.Policy) {
			p.StructuringCount, p.StructuringLow, p.StructuringHigh = 2, 2*engine.Dollar, 4*engine.Dollar
		}, 1},
		{story{"a shorter window", single, "pay 3 name=Paper;wait 2h;pay 3 name=Paper;pay 3 name=Paper"}, func(p *engine.Policy) {
			p.StructuringCount, p.StructuringLow, p.StructuringHigh = 2, 2*engine.Dollar, 4*engine.Dollar
		}, func(p *engine.Policy) {
			p.StructuringCount, p.StructuringLow, p.StructuringHigh, p.StructuringWindow = 2, 2*engine.Dollar, 4*engine.Dollar, engine.Hour
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, now := newPlayer(t, c.was, c.agent), newPlayer(t, c.now, c.agent)
			was.play(c.steps)
			now.play(c.steps)
			v := report(t, trace(t, was.World, retrace.Terms{Policy: now.Settings().Policy}, 0))
			require.Equal(t, len(was.paid), v.GetInt("records"))
			require.Equal(t, c.changed, v.GetInt("changed"), v)
			told := candidates(v)
			for i := range was.paid {
				want := now.paid[i].Text("verdict") + " " + now.paid[i].Text("rule")
				got, differs := told[was.paid[i].Text("txnId")]
				if !differs {
					got = was.paid[i].Text("verdict") + " " + was.paid[i].Text("rule")
				}
				require.Equal(t, want, got, "payment %d", i)
			}
		})
	}
}

// Another list replaces the one of that time; the policy of each call stays its own.
func TestTraceOfAnotherList(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	pay := func(name string) edge.Leaf {
		return w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
	}
	bakery, listed := pay("Quiet Harbour Bakery"), pay("Usama bin Ladin")
	then := w.List().Digest()
	w.ChangeEntry(6365, func(e *ofac.Entity) { e.Names = []ofac.Name{{ID: 1, Primary: true, Full: "Quiet Harbour Bakery"}} })
	v := report(t, trace(t, w, retrace.Terms{List: w.List()}, 0))
	require.Equal(t, map[string]string{bakery.Text("txnId"): "BLOCK R7_COUNTERPARTY_NAME_OFAC", listed.Text("txnId"): "PROCEED "}, candidates(v))
	require.Zero(t, report(t, trace(t, w, retrace.Terms{}, 0)).GetInt("differing"), "each with its own")

	// If nobody holds a list any more, its answers are taken from the record, and the tally
	// says so.
	w.ForgetList(then)
	v = report(t, trace(t, w, retrace.Terms{Policy: w.Settings().Policy}, 0))
	require.Zero(t, v.GetInt("differing"))
	require.Equal(t, 2, v.GetInt("notHeld", "listGone"))
	require.Contains(t, v.Get("notHeld", "rules").String(), `{"rule":"R7_COUNTERPARTY_NAME_OFAC","records":2}`)
	require.Equal(t, 1, v.GetInt("agents", "inexact"))
}

// The tally names what the records do not hold, and how often: credentials, whether a list was
// too old, decisions that officers never made, leaves that could not be read.
func TestWhatRecordsDoNotHold(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	pay := func(token, amount string) {
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":`+amount+`}`)
	}
	pay("x", "1")
	pay(token, "1")
	pay(token, "6")
	strict := *w.Settings().Policy
	strict.Modes[10], strict.AttestationAbove = engine.ModeBlock, engine.Dollar
	require.Zero(t, strict.ListAgeMax%engine.Hour)
	tr := trace(t, w, retrace.Terms{Policy: &strict}, 0)
	v := report(t, tr)
	records, changed := tr.Judged()
	require.Equal(t, []uint64{3, 1}, []uint64{records, changed})
	require.Equal(t, 1, v.GetInt("notHeld", "credentials"))
	require.Zero(t, v.GetInt("notHeld", "listAgeUnknown"))
	require.JSONEq(t, `[{"recorded":"PROCEED","candidate":"PROCEED","count":1,"amountUSDC":1},{"recorded":"REVIEW","candidate":"BLOCK","count":1,"amountUSDC":6},`+
		`{"recorded":"UNKNOWN","candidate":"UNKNOWN","count":1,"amountUSDC":1}]`, v.Get("matrix").String())
	require.Contains(t, v.Get("rules").String(), `{"rule":"R10_SINGLE_TX_LIMIT","recorded":1,"candidate":1,"gained":0,"lost":0}`)
	require.JSONEq(t, `{"recorded":1,"candidate":0,"perDay":{"recorded":1,"candidate":0},"days":[{"day":"2026-03-22","recorded":1,"candidate":0}]}`, v.Get("reviews").String())
	require.JSONEq(t, `{"judged":1,"exact":1,"inexact":0,"inexactIds":[],"truncated":false}`, v.Get("agents").String())

	loose := strict
	loose.Modes[10], loose.RequireParty = engine.ModeReview, engine.PartyOfAll
	v = report(t, trace(t, w, retrace.Terms{Policy: &loose}, 0))
	require.Equal(t, 1, v.GetInt("notHeld", "officerDecisions"), "nobody decided what would now wait")
	require.Equal(t, 1, v.GetInt("agents", "inexact"))
	for _, c := range []struct {
		age     engine.Time
		unknown int
	}{{0, 0}, {w.Settings().Policy.ListAgeMax, 0}, {w.Settings().Policy.ListAgeMax + engine.Hour, 0}, {w.Settings().Policy.ListAgeMax - engine.Hour, 2}} {
		aged := *w.Settings().Policy
		aged.ListAgeMax = c.age
		require.Equal(t, c.unknown, report(t, trace(t, w, retrace.Terms{Policy: &aged}, 0)).GetInt("notHeld", "listAgeUnknown"), c.age)
	}

	tr = retrace.NewTrace(retrace.Terms{}, w.Judges.Retracing(), 0)
	for _, broken := range [][]byte{nil, {}, []byte(`{"kind":`), []byte(`{"kind":"due","time":"never"}`)} {
		require.NoError(t, tr.Take(t.Context(), broken, nil))
	}
	last, err := w.Store.Leaf(w.Store.Size() - 1)
	require.NoError(t, err)
	require.NoError(t, tr.Take(t.Context(), last[:len(last)-1], nil))
	require.Equal(t, 5, report(t, tr).GetInt("notHeld", "unreadable"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, tr.Take(ended, last, nil), context.Canceled)
}

// Records before the asked time are not judged; they warm up the counts of R25.
func TestTraceFromATimeOn(t *testing.T) {
	policy := func(p *engine.Policy) {
		p.StructuringCount, p.StructuringLow, p.StructuringHigh = 2, 2*engine.Dollar, 4*engine.Dollar
	}
	w := newPlayer(t, func(*engine.Policy) {}, "")
	w.play("pay 3 name=Paper;wait 1h;pay 3 name=Paper")
	candidate := *w.Settings().Policy
	policy(&candidate)
	terms := retrace.Terms{Policy: &candidate}
	require.Equal(t, candidate.StructuringWindow, terms.WarmUp())
	require.Zero(t, (&retrace.Terms{}).WarmUp())
	v := report(t, trace(t, w.World, terms, edgetest.Start+engine.Hour))
	require.Equal(t, 1, v.GetInt("records"))
	require.Equal(t, 1, v.GetInt("changed"), "the first payment counted")
	v = report(t, trace(t, w.World, terms, edgetest.Start+engine.Hour+engine.Millisecond))
	require.Zero(t, v.GetInt("records"))
}

// Records do not hold whitelists, so the result of R13 is taken from the record.
func TestTraceAssumesWhitelists(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered(`,"whitelist":{"mode":"enforce","entries":[{"name":"Paper"}]}`)
	for _, name := range []string{"Paper", "Ink"} {
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
	}
	off := *w.Settings().Policy
	off.Modes[13] = engine.ModeOff
	v := report(t, trace(t, w, retrace.Terms{Policy: &off}, 0))
	require.Equal(t, 1, v.GetInt("changed"))
	require.Contains(t, v.Get("notHeld", "rules").String(), `{"rule":"R13_COUNTERPARTY_WHITELIST","records":2}`)
}

// A case that is opened again keeps nothing of the record before.
func TestCaseIsLaidOutAnew(t *testing.T) {
	w := edgetest.New(t)
	fleet := w.NewFleet("Acme Inc", 12*engine.Dollar)
	id, token := w.Registered(`,"fleetId":"` + fleet + `"`)
	user, err := w.RegisterUser(edgetest.Admin(), `{"legalName":"Jane Public","agentIds":["`+id+`"]}`)
	require.NoError(t, err)
	full := w.Screened(edgetest.Admin(), `{"token":"`+token+`","userToken":"`+w.UserToken(&user)+`","amount":2,"cpName":"In\u006b","model":"m"}`)
	bare := w.Screened(edgetest.Admin(), `{"token":"x","amount":3}`)
	var c retrace.Case
	record := func(l *edge.Leaf) *leafjson.Screen {
		x, err := w.Judges.Retracing().Record(t.Context(), l.Data)
		require.NoError(t, err)
		return x
	}
	c.Open(record(&full))
	require.True(t, c.Known)
	require.Equal(t, "Ink", c.Facts.Request.Name, "a text is what its JSON says")
	require.Equal(t, "m", c.Facts.Request.Model)
	require.Equal(t, 2*engine.Dollar, c.Facts.Request.Amount)
	require.NotNil(t, c.Facts.User)
	require.NotNil(t, c.Moment.Fleet)
	require.Equal(t, 12*engine.Dollar, c.Moment.FleetLimit)
	require.Equal(t, 1, c.Moment.LevelCount)
	require.NotNil(t, c.Moment.User)
	require.False(t, c.Moment.KeyRevoked)
	c.Open(record(&bare))
	require.False(t, c.Known)
	require.Nil(t, c.Policy)
	require.Nil(t, c.Moment.Fleet)
	require.Equal(t, 3*engine.Dollar, c.Facts.Request.Amount)
	out := c.Judge(engine.NewLooker(), nil, w.Settings().Policy)
	require.Equal(t, c.Recorded, out.Decision)
	require.Equal(t, []engine.RuleID{1}, out.Assumed)
}

var errAway = errors.New("no node answers")

// holed is a history in which one leaf is damaged or missing.
type holed struct {
	retrace.History
	leaf uint64
	why  error
}

func (h holed) Scan(q audit.Query, visit func(uint64, audit.Leaf) bool) (audit.ScanResult, error) {
	if q.From == h.leaf {
		return audit.ScanResult{Next: h.leaf}, h.why
	}
	if q.From < h.leaf {
		q.To = min(q.To, h.leaf)
	}
	page, err := h.History.Scan(q, visit)
	page.Done = page.Done && q.To != h.leaf
	return page, err
}

// A leaf that this node lacks is fetched from another. A leaf that nobody has is skipped and
// counted, one past retention is skipped, and any other failure ends the walk.
func TestWalkFetches(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	first := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1}`)
	w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":2}`)
	strange := errors.New("the disk")
	for _, c := range []struct {
		name                string
		hole, fetch, lost   error
		records, unreadable int
		err                 error
	}{
		{"fetched", audit.ErrMissing, nil, nil, 2, 0, nil},
		{"damaged here, fetched", audit.ErrCorrupt, nil, nil, 2, 0, nil},
		{"nobody has it", audit.ErrMissing, errAway, nil, 1, 1, nil},
		{"nobody has it, and it must be there", audit.ErrMissing, errAway, strange, 0, 0, strange},
		{"past retention", audit.ErrMissing, audit.ErrPruned, nil, 1, 0, nil},
		{"another failure", strange, nil, nil, 0, 0, strange},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := retrace.NewTrace(retrace.Terms{}, w.Judges.Retracing(), 0)
			walk := retrace.Walk{History: holed{w.Store, first.Index, c.hole}, Fetch: func(ctx context.Context, at uint64) ([]byte, error) {
				if c.fetch != nil {
					return nil, c.fetch
				}
				return w.Leaf(ctx, at)
			}}
			if c.lost != nil {
				walk.Lost = func(why error) error {
					require.Equal(t, c.fetch, why)
					return c.lost
				}
			}
			var err error
			for passed := false; err == nil && !passed; {
				passed, err = walk.Step(t.Context(), w.Store.Size(), tr.Take)
			}
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				require.Equal(t, w.Store.Size(), walk.Next)
			} else {
				require.Equal(t, first.Index, walk.Next, "in front of what could not be read")
			}
			v := report(t, tr)
			require.Equal(t, c.records, v.GetInt("records"))
			require.Equal(t, c.unreadable, v.GetInt("notHeld", "unreadable"))
		})
	}
}
