package events_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/events"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// told is a copy of an event that a reader gave.
type told struct {
	id, name, tenant string
	body             *fastjson.Value
}

// everything returns all types, also those that must be named.
func everything() events.Selection {
	s, _ := events.ParseSelection(append(slices.Clone(events.Types), "screen.proceed"))
	return s
}

func newReader(w *edgetest.World, caller *edge.Caller, wanted events.Selection) *events.Reader {
	j, _ := w.Begin(caller, `{}`)
	return events.NewReader(j, caller, w, w.Store, wanted)
}

// kept copies an event, which is valid only until the next one.
func kept(t *testing.T, e *events.Event) told {
	t.Helper()
	v, err := fastjson.ParseBytes(append([]byte(nil), e.Body.Body()...))
	require.NoError(t, err, string(e.Body))
	require.Equal(t, e.ID, string(v.GetStringBytes("id")))
	require.Equal(t, e.Type, string(v.GetStringBytes("type")))
	require.Equal(t, e.Seq, v.GetUint64("seq"))
	require.Equal(t, events.Position{Leaf: e.Seq, Skip: e.N + 1}.String(), e.ID)
	require.NotEmpty(t, v.GetStringBytes("leafHash"))
	return told{e.ID, e.Type, string(v.GetStringBytes("tenant")), v}
}

// tell returns all events of a reader, in pages of these bounds.
func tell(t *testing.T, w *edgetest.World, r *events.Reader, limit, examine int) (all []told) {
	t.Helper()
	at := r.Oldest()
	for at.Leaf < w.Store.Size() {
		given := 0
		next, looked, err := r.Page(at, limit, examine, func(e *events.Event) bool {
			all, given = append(all, kept(t, e)), given+1
			return true
		})
		require.NoError(t, err)
		require.LessOrEqual(t, given, limit)
		require.LessOrEqual(t, looked, max(examine, 256))
		require.NotEqual(t, at, next, "a page goes on")
		at = next
	}
	return all
}

func names(all []told) (list []string) {
	for _, e := range all {
		list = append(list, e.name)
	}
	return list
}

// past is a world with two tenants and a history.
type past struct {
	*edgetest.World
	token, agent, fleet string
	globex              string // An agent of the other tenant.
	keys                map[string]*edge.Caller
}

func common(members string) wire.Common { return wire.Common{Fragment: []byte(members)} }

// about returns the common part of a record about a tenant's party.
func (w *past) about(operator string) wire.Common {
	c := common(`"by":"x"`)
	c.Filters = []uint64{engine.FilterKey(engine.FilterOperator, w.OperatorID(operator))}
	return c
}

func newPast(t *testing.T) *past {
	w := &past{World: edgetest.New(t)}
	w.fleet = w.NewFleetOf(common(`"by":"x"`), "Acme Inc", 10*engine.Dollar)
	w.agent, w.token = w.Registered(`,"fleetId":"` + w.fleet + `","spendPolicy":{"maxSingleTxUSDC":5}`)
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"p"}`)
	require.NoError(t, err)
	w.globex = l.Text("agentId")
	return w
}

func (w *past) pay(amount, extra string) edge.Leaf {
	return w.Screened(w.callers()["acme screener"], `{"token":"`+w.token+`","amount":`+amount+extra+`}`)
}

// callers makes, once, a key of every role for each tenant and for the institution.
func (w *past) callers() map[string]*edge.Caller {
	if w.keys == nil {
		w.keys = map[string]*edge.Caller{"admin": edgetest.Admin()}
		for _, tenant := range []string{"", "Acme Inc", "Globex Ltd"} {
			for name, role := range roles {
				key := strings.ToLower(strings.TrimSpace(strings.Split(tenant, " ")[0] + " " + name))
				if wire.MayHold(tenant, role) {
					w.keys[key] = w.Caller("key_"+strings.ReplaceAll(key, " ", "_"), role, tenant)
				}
			}
		}
	}
	return w.keys
}

var roles = map[string]uint16{"operator": wire.RoleOperator, "screener": wire.RoleScreener, "reviewer": wire.RoleReviewer, "auditor": wire.RoleAuditor, "policy": wire.RolePolicy, "ops": wire.RoleOps, "settler": wire.RoleSettler, "viewer": wire.RoleViewer, "gateway": wire.RoleGateway}

// live makes history: events for every audience.
func (w *past) live() {
	t := w.T
	w.SetPolicy(func(p *engine.Policy) { p.HoldsReturn = true })
	w.callers()
	approved, suspicious, officer := w.pay("6", ``), w.pay("7", ``), w.callers()["reviewer"]
	w.Must(wire.KindQueue, &wire.Queue{Common: common(`"assignee":"jane"`), Op: wire.QueueClaim, Leaves: []uint64{approved.Index}, Who: "jane"})
	w.Disposed(officer, &approved, wire.Approved)
	w.Disposed(officer, &suspicious, wire.EscalateSAR)
	w.Must(wire.KindSAR, &wire.SAR{Common: common(`"by":"x"`), Op: wire.SARWrite, Leaf: suspicious.Index, Narrative: [32]byte{1}, Finished: true})
	w.Must(wire.KindSAR, &wire.SAR{Common: common(`"by":"x"`), Op: wire.SARMove, Leaf: suspicious.Index, From: wire.SARDraft, To: wire.SARReady, Seen: [32]byte{1}})
	w.Must(wire.KindSAR, &wire.SAR{Common: common(`"by":"x"`), Op: wire.SARMove, Leaf: suspicious.Index, From: wire.SARReady, To: wire.SARFiled, Seen: [32]byte{1}})
	w.pay("2", ``) // It takes the fleet to 80 % of its day.
	held := w.pay("1", `,"hold":{"ttlSeconds":30}`)
	expired := w.pay("0.5", `,"hold":{"ttlSeconds":30}`)
	more := 3 * engine.Dollar
	acme := w.callers()["acme settler"]
	released := w.pay("0.1", `,"hold":{"ttlSeconds":30}`)
	w.Settled(acme, &released, &edge.Outcome{Op: wire.HoldRelease, Said: strictjson.Members(`"reason":"r"`)})
	w.pay("0.5", ``) // It takes the fleet to 100 % of its day.
	w.Settled(acme, &held, &edge.Outcome{Op: wire.HoldSettle, Amount: &more, Said: strictjson.Members(`"railRef":"x"`)})
	w.Advance(31 * engine.Second)
	w.Settled(acme, &expired, &edge.Outcome{Op: wire.HoldSettle, Said: strictjson.Members(`"railRef":"x"`)})
	w.pay("1", `,"cpName":"Usama bin Ladin"`)
	w.Screened(acme, `{"token":"x","amount":1}`)
	w.Screened(w.callers()["screener"], `{"token":"x","amount":1}`)
	slot, _ := w.Judges.Now().ParseAgent(w.agent)
	w.Must(wire.KindStatus, &wire.Status{Common: w.about("Acme Inc"), Target: wire.TargetAgent, Slot: uint32(slot), To: engine.Suspended})
	_, err := w.Reissue(edgetest.Admin(), w.globex, `{}`)
	require.NoError(t, err)
	listed := w.List().Entities()[0].Names[0].Full
	_, err = w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":`+strconv.Quote(listed)+`,"purpose":"p"}`)
	require.NoError(t, err)
	w.SetPolicy(func(p *engine.Policy) { p.ReviewNotes = true })
	w.Activate(w.List().Entities()[1:])
	w.Must(wire.KindRetro, &wire.Retro{Op: wire.RetroBegin, Run: wire.RetroRun{List: 2, Against: 1}})
	run := *w.Settings().Retro
	w.Must(wire.KindRetro, &wire.Retro{Op: wire.RetroEnd, Run: run, Hits: []wire.RetroHit{{Leaf: approved.Index, Entries: []uint32{6365}, Amount: engine.Dollar, At: edgetest.Start, Verdict: engine.Review}}})
}

// The audiences of docs/API.md.
const (
	payments    = iota // Callers that may read the payment's record.
	fleetMarks         // Those of them that may read parties.
	desk               // Callers that may read the payment's record and see behind the wall.
	parties            // Operator, reviewer, auditor and policy.
	listedParty        // Callers that may read the party and see behind the wall.
	alerts             // Keys of the institution that see behind the wall.
	institution        // Keys of the institution with reviewer, auditor, policy or ops.
)

func audienceOf(e *told) int {
	name := e.name
	group, _, _ := strings.Cut(name, ".")
	switch {
	case name == "agent.registered_with_match":
		return listedParty
	case strings.HasPrefix(name, "fleet.limit_"):
		return fleetMarks
	case name == "review.dispositioned":
		if string(e.body.GetStringBytes("data", "disposition")) == "ESCALATE_SAR" {
			return desk
		}
		return payments
	case group == "screen" || group == "hold":
		return payments
	case group == "review" || group == "sar":
		return desk
	case group == "alert" || group == "sanctions" || name == "retro.hit":
		return alerts
	case group == "agent" || group == "fleet" || group == "user" || group == "attestation" || group == "operator":
		return parties
	}
	return institution
}

// hears reports whether a key gets an event, by the table of docs/API.md.
func hears(caller *edge.Caller, e *told, owner string) bool {
	sees := caller.Institution() && caller.Roles&(wire.RoleReviewer|wire.RoleAuditor|wire.RoleAdmin) != 0
	works := sees || caller.Roles&(wire.RoleOperator|wire.RolePolicy|wire.RoleViewer) != 0
	whole := caller.Institution()
	mine := whole || e.tenant != "" && caller.Owner == e.tenant
	own := owner == caller.Owner // owner made the call.
	reads := own && (e.tenant == "" || mine) || mine && (sees || caller.Roles&(wire.RoleOps|wire.RoleViewer) != 0 || whole && caller.Roles&wire.RoleSettler != 0 || !whole && caller.Roles&wire.RoleOperator != 0)
	switch audienceOf(e) {
	case payments:
		return reads
	case fleetMarks:
		return reads && works
	case desk:
		return reads && sees
	case parties:
		return mine && works
	case listedParty:
		return mine && sees
	case alerts:
		return whole && sees
	}
	return whole && (works && caller.Roles&(wire.RoleOperator|wire.RoleViewer) == 0 || caller.Roles&wire.RoleOps != 0)
}

// Every key gets the events that docs/API.md says, in the log's order, whatever the page size.
func TestWhoIsToldOfWhat(t *testing.T) {
	w := newPast(t)
	w.live()
	whole := tell(t, w.World, newReader(w.World, edgetest.Admin(), everything()), 500, 4096)
	heard := names(whole)
	for _, name := range []string{
		"agent.registered", "agent.registered_with_match", "agent.reissued", "agent.suspended", "alert.opened", "fleet.created", "fleet.limit_100", "fleet.limit_80",
		"hold.expired", "hold.late", "hold.over_limit", "hold.released", "hold.settled", "key.created", "list.activated", "policy.activated", "retro.begun", "retro.ended",
		"retro.hit", "sanctions.opened", "review.claimed", "review.dispositioned", "review.escalated", "sar.filed", "sar.moved", "sar.opened", "screen.block", "screen.proceed", "screen.review", "screen.unknown",
	} {
		require.Contains(t, heard, name)
	}
	made := map[string]string{} // The owner of each call, by event id: Acme for all but one.
	for i := range whole {
		made[whole[i].id] = w.OperatorID("Acme Inc")
	}
	unknown := whole[slices.IndexFunc(whole, func(e told) bool {
		return e.name == "screen.unknown" && strings.HasPrefix(e.id, "evt_"+lastUnknown(whole)+"_")
	})]
	made[unknown.id] = ""
	for name, caller := range w.callers() {
		var want []string
		for i := range whole {
			if hears(caller, &whole[i], made[whole[i].id]) || caller.Roles == wire.RoleAdmin {
				want = append(want, whole[i].id+" "+whole[i].name)
			}
		}
		for _, page := range [][2]int{{500, 4096}, {1, 4096}, {2, 3}, {500, 1}} {
			var got []string
			for _, e := range tell(t, w.World, newReader(w.World, caller, everything()), page[0], page[1]) {
				got = append(got, e.id+" "+e.name)
			}
			require.Equal(t, want, got, "%s, pages of %v", name, page)
		}
	}
}

// lastUnknown returns the leaf of the institution's last call without a credential.
func lastUnknown(all []told) (seq string) {
	for _, e := range all {
		if e.name == "screen.unknown" {
			seq = strings.Split(e.id, "_")[1]
		}
	}
	return seq
}

// A walled reader gives no event that reveals a suspicion, whoever it reads for.
func TestWalled(t *testing.T) {
	w := newPast(t)
	w.live()
	whole := tell(t, w.World, newReader(w.World, edgetest.Admin(), everything()), 500, 4096)
	r := newReader(w.World, edgetest.Admin(), everything())
	r.Walled(true)
	var want []told
	for _, e := range whole {
		suspicion := events.TellsOfSuspicion(e.name) || e.name == "review.dispositioned" && audienceOf(&e) == desk
		if !suspicion {
			want = append(want, e)
		}
	}
	require.Less(t, len(want), len(whole))
	require.Equal(t, names(want), names(tell(t, w.World, r, 500, 4096)))
	r.Walled(false)
	require.Len(t, tell(t, w.World, r, 500, 4096), len(whole))
	r.For(w.callers()["ops"]) // The reader goes on with the rights that a caller has now.
	require.Less(t, len(tell(t, w.World, r, 500, 4096)), len(want))
	for name, tells := range map[string]bool{
		"sar.opened": true, "sar.due_soon": true, "review.escalated": true, "agent.registered_with_match": true, "review.dispositioned": false, "agent.registered": false, "screen.review": false,
	} {
		require.Equal(t, tells, events.TellsOfSuspicion(name), name)
	}
}

// A reader gives only the wanted types, and does not even open most payments.
func TestSelections(t *testing.T) {
	w := newPast(t)
	w.live()
	whole := tell(t, w.World, newReader(w.World, edgetest.Admin(), everything()), 500, 4096)
	for _, types := range [][]string{
		{"screen.proceed"}, {"fleet.limit_80"}, {"fleet.limit_100"}, {"screen.*"}, {"hold.*"}, {"hold.late"}, {"sar.*", "review.claimed"}, {"retro.hit"}, {"key.*"}, {"agent.registered_with_match"},
		{"review.escalated"}, {"matcher.raised"},
	} {
		wanted, unknown := events.ParseSelection(types)
		require.Empty(t, unknown)
		var want []string
		for _, e := range whole {
			if wanted[e.name] {
				want = append(want, e.name)
			}
		}
		require.Equal(t, want, names(tell(t, w.World, newReader(w.World, edgetest.Admin(), wanted), 2, 4096)), types)
	}
	require.NotContains(t, names(tell(t, w.World, newReader(w.World, edgetest.Admin(), events.Everything), 500, 4096)), "screen.proceed", "it must be named")
	for types, kind := range map[string]string{"screen.review": "screen", "fleet.limit_80": "screen", "hold.late": "hold.settled", "hold.*": "", "hold.expired": "due", "agent.registered": ""} {
		wanted, _ := events.ParseSelection(strings.Split(types, ","))
		require.Equal(t, kind, wanted.Kind(), types)
	}
	require.Empty(t, events.Selection{}.Kind())
}

// An event never names a counterparty, and it says whose tenant it is.
func TestEnvelope(t *testing.T) {
	w := newPast(t)
	l := w.pay("6", `,"cpName":"Quiet Harbour Bakery","cpWallet":"0x1111111111111111111111111111111111111111","chain":"BASE","paymentRef":"r-1"`)
	d := w.Disposed(w.callers()["reviewer"], &l, wire.Approved)
	all := tell(t, w.World, newReader(w.World, w.callers()["acme operator"], everything()), 500, 4096)
	at := slices.IndexFunc(all, func(e told) bool { return e.name == "screen.review" })
	e := all[at]
	require.Equal(t, events.Position{Leaf: l.Index, Skip: 2}.String(), e.id)
	require.Equal(t, w.OperatorID("Acme Inc"), e.tenant)
	require.Equal(t, "2026-03-22T03:33:28.589Z", string(e.body.GetStringBytes("time")))
	data := e.body.Get("data")
	for member, want := range map[string]string{"txnId": l.Text("txnId"), "verdict": "REVIEW", "rule": "R10_SINGLE_TX_LIMIT", "agentId": w.agent, "chain": "BASE", "paymentRef": "r-1", "operatorLegalName": "Acme Inc"} {
		require.Equal(t, want, string(data.GetStringBytes(member)), member)
	}
	require.Equal(t, "6", data.Get("amount").String())
	require.NotContains(t, e.body.String(), "Bakery")
	require.NotContains(t, e.body.String(), "0x1111")
	e = all[slices.IndexFunc(all, func(e told) bool { return e.name == "review.dispositioned" })]
	require.Equal(t, d.Index, e.body.GetUint64("seq"))
	require.Equal(t, w.agent, string(e.body.GetStringBytes("data", "agentId")), "of the record that it speaks of")
	require.Equal(t, "APPROVED", string(e.body.GetStringBytes("data", "disposition")))
	require.NotContains(t, e.body.String(), "jane", "what people wrote is not in it")
	w.Must(wire.KindWebhook, &wire.WebhookPut{Common: common(`"by":"x"`), Op: wire.WebhookCreate, Webhook: wire.Webhook{URL: "https://hooks.example.com", Secrets: [][]byte{{1}}}})
	_, _, err := newReader(w.World, edgetest.Admin(), everything()).Page(events.Position{Leaf: d.Index}, 99, 99, func(e *events.Event) bool {
		require.Equal(t, e.Type == "webhook.changed", e.Webhook != "", "%s: whose it is", e.Type)
		return true
	})
	require.NoError(t, err)
	institution := tell(t, w.World, newReader(w.World, w.callers()["ops"], everything()), 500, 4096)
	created := institution[slices.IndexFunc(institution, func(e told) bool { return e.name == "key.created" })]
	require.Equal(t, "null", created.body.Get("tenant").String())
}

// A PROCEED passes a fleet's mark if it takes the day's spending from below the mark to it or
// beyond. A REVIEW of the same amount passes none.
func TestFleetMarks(t *testing.T) {
	w := newPast(t)
	marks, _ := events.ParseSelection([]string{"fleet.limit_80", "fleet.limit_100"})
	for _, c := range []struct{ amount, told string }{
		{"10", ""}, {"5", ""}, {"2.99", ""}, {"0.01", "fleet.limit_80"}, {"0.01", ""}, {"1.98", ""}, {"0.01", "fleet.limit_100"}, {"0.01", ""},
	} {
		before := w.Store.Size()
		w.pay(c.amount, ``)
		var got []string
		r := newReader(w.World, edgetest.Admin(), marks)
		_, _, err := r.Page(events.Position{Leaf: before}, 9, 99, func(e *events.Event) bool { got = append(got, e.Type); return true })
		require.NoError(t, err)
		require.Equal(t, c.told, strings.Join(got, " "), c.amount)
	}
	w = newPast(t)
	before := w.Store.Size()
	w.pay("5", ``)
	w.pay("5", ``) // Both marks at once.
	var got []string
	_, _, err := newReader(w.World, edgetest.Admin(), marks).Page(events.Position{Leaf: before}, 9, 99, func(e *events.Event) bool { got = append(got, e.Type); return true })
	require.NoError(t, err)
	require.Equal(t, "fleet.limit_80 fleet.limit_100", strings.Join(got, " "))
}

// After a transfer neither operator gets the other's events; the institution gets both.
func TestTransferredAgent(t *testing.T) {
	w := newPast(t)
	slot, _ := w.Judges.Now().ParseAgent(w.agent)
	suspend := func(operator string, to engine.Status) {
		w.Must(wire.KindStatus, &wire.Status{Common: w.about(operator), Target: wire.TargetAgent, Slot: uint32(slot), To: to})
	}
	suspend("Acme Inc", engine.Suspended)
	suspend("Acme Inc", engine.Active)
	_, err := w.Reissue(edgetest.Admin(), w.agent, `{"operatorLegalName":"Globex Ltd"}`)
	require.NoError(t, err)
	suspend("Globex Ltd", engine.Suspended)
	wanted, _ := events.ParseSelection([]string{"agent.registered", "agent.suspended", "agent.reinstated", "agent.reissued"})
	for name, want := range map[string]string{
		"acme operator": "", "globex operator": "agent.registered agent.reissued agent.suspended", // agent.registered is of the other agent.
		"operator": "agent.registered agent.registered agent.suspended agent.reinstated agent.reissued agent.suspended",
	} {
		require.Equal(t, want, strings.Join(names(tell(t, w.World, newReader(w.World, w.callers()[name], wanted), 9, 99)), " "), name)
	}
}

// A page ends behind the event at which visit returns false. The next page begins there.
func TestPageEndsWhereItsVisitorSays(t *testing.T) {
	w := newPast(t)
	w.live()
	r := newReader(w.World, edgetest.Admin(), everything())
	whole := tell(t, w.World, r, 500, 4096)
	var got []string
	for at := (events.Position{}); len(got) < len(whole); {
		next, _, err := r.Page(at, 99, 4096, func(e *events.Event) bool {
			got = append(got, e.ID)
			return false
		})
		require.NoError(t, err)
		require.Equal(t, got[len(got)-1], next.String(), "the cursor is the id of the last event")
		parsed, ok := events.ParsePosition(next.String())
		require.True(t, ok)
		require.Equal(t, next, parsed)
		at = next
	}
	for i := range whole {
		require.Equal(t, whole[i].id, got[i])
	}
	end := r.End()
	require.Equal(t, w.Store.Size(), end.Leaf)
	next, looked, err := r.Page(end, 9, 99, func(*events.Event) bool { return true })
	require.NoError(t, err)
	require.Equal(t, end, next)
	require.Zero(t, looked)
}

// A leaf that cannot be read ends the page before it: no hole in history is skipped.
func TestUnreadableLeaf(t *testing.T) {
	w := newPast(t)
	l := w.pay("6", ``)
	w.Disposed(w.callers()["reviewer"], &l, wire.Approved)
	wanted, _ := events.ParseSelection([]string{"review.dispositioned"})
	r := newReader(w.World, edgetest.Admin(), wanted)
	w.LeafError = audit.ErrMissing
	at, _, err := r.Page(events.Position{Leaf: l.Index}, 9, 99, func(*events.Event) bool { return true })
	require.Error(t, err)
	require.Equal(t, l.Index+1, at.Leaf, "in front of what could not be judged")
	w.LeafError = audit.ErrPruned // An event whose record is past its 90 days is shown to nobody.
	at, _, err = r.Page(at, 9, 99, func(*events.Event) bool { require.Fail(t, "told"); return true })
	require.NoError(t, err)
	require.Equal(t, r.End(), at)
	w.LeafError = nil
	given := 0
	_, _, err = r.Page(events.Position{Leaf: l.Index}, 9, 99, func(*events.Event) bool { given++; return true })
	require.NoError(t, err)
	require.Equal(t, 1, given)
}

// Events can be read for 30 days.
func TestOldest(t *testing.T) {
	w := newPast(t)
	r := newReader(w.World, edgetest.Admin(), everything())
	first := w.Store.Size()
	require.Zero(t, r.Oldest().Leaf)
	w.Advance(engine.Hour)
	w.pay("1", ``)
	w.Advance(events.Retention - engine.Hour + engine.Millisecond)
	oldest := r.Oldest().Leaf
	require.GreaterOrEqual(t, oldest, first)
	w.Advance(engine.Hour)
	require.Greater(t, r.Oldest().Leaf, oldest)
}

// A walk gives one event for each leaf of a query: the first that the reader may see.
func TestWalkGivesOneEventALeaf(t *testing.T) {
	w := newPast(t)
	w.live()
	wanted, _ := events.ParseSelection([]string{"hold.*", "screen.block"})
	query := audit.Query{To: w.Store.Size(), Newest: true}
	var got []string
	_, err := newReader(w.World, edgetest.Admin(), wanted).Walk(query, func(e *events.Event) bool {
		got = append(got, e.Type)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, "screen.block hold.settled hold.expired hold.settled hold.released", strings.Join(got, " "), "newest first")
	got = nil
	_, err = newReader(w.World, edgetest.Admin(), wanted).Walk(query, func(e *events.Event) bool {
		got = append(got, e.Type)
		return len(got) < 2
	})
	require.NoError(t, err)
	require.Len(t, got, 2)
	w.LeafError = audit.ErrMissing
	_, err = newReader(w.World, edgetest.Admin(), wanted).Walk(query, func(*events.Event) bool { return true })
	require.Error(t, err)
}
