package edge_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// A record is readable for its 90 days by those who may read it. Otherwise the answer has the
// same words as for a record that never was.
func TestRecord(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	acme, globex := w.Caller("acme", wire.RoleScreener, "Acme Inc"), w.Caller("globex", wire.RoleViewer, "Globex Ltd")
	l := w.Screened(acme, payment(token, ""))
	registered, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`)
	require.NoError(t, err)
	read := func(caller *edge.Caller, txn string) error {
		j, _ := w.Begin(caller, `{}`)
		_, err := j.Record(txn)
		return err
	}
	require.NoError(t, read(acme, l.Text("txnId")))
	unknown := refusalOf(t, read(acme, "txn_00000000"))
	require.Equal(t, "not_found", unknown.Code)
	for name, err := range map[string]error{
		"no id": read(acme, "x"), "another tenant's": read(globex, l.Text("txnId")), "no payment": read(edgetest.Admin(), w.Judges.Now().IDs.TxnID(registered.Index)),
		"not there yet": read(acme, w.Judges.Now().IDs.TxnID(w.Store.Size())),
	} {
		require.Equal(t, unknown, refusalOf(t, err), name)
	}
	w.Advance(engine.Retention - engine.Millisecond)
	require.NoError(t, read(acme, l.Text("txnId")))
	w.Advance(engine.Millisecond)
	require.Equal(t, unknown, refusalOf(t, read(acme, l.Text("txnId"))))
}

// A leaf that is missing here counts as unknown only after the leader's log was applied here. A
// leaf that cannot be read now is no 404.
func TestLoadLeaf(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	_, err := j.LoadLeaf(w.Store.Size())
	require.Equal(t, "not_found", refusalOf(t, err).Code)
	require.Equal(t, 1, w.Asked)
	w.ReadError = wire.ErrNoQuorum
	_, err = j.LoadLeaf(w.Store.Size())
	var failed *edge.ReadError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, wire.ErrNoQuorum)
	require.Equal(t, wire.ErrNoQuorum.Error(), err.Error())
	w.ReadError = nil
	for cause, code := range map[error]string{
		audit.ErrNotYet: "not_found", audit.ErrPruned: "not_found", audit.ErrMissing: "overloaded", audit.ErrClosed: "overloaded", audit.ErrCorrupt: "overloaded",
		context.DeadlineExceeded: "", wire.ErrNoLeader: "", wire.ErrNoQuorum: "",
	} {
		w.LeafError = cause
		_, err := j.LoadLeaf(1)
		if code != "" {
			require.Equal(t, code, refusalOf(t, err).Code)
			require.Equal(t, code+": "+refusalOf(t, err).Message, err.Error())
			continue
		}
		require.ErrorAs(t, err, &failed, "a reading has no outcome")
	}
	strange := errors.New("strange")
	require.Equal(t, strange, edge.LeafError(strange))
}

// A screening record is the same however it is opened: with its JSON parsed, in a LeafScratch, or
// as a call's own answer.
func TestOpenings(t *testing.T) {
	w := edgetest.New(t)
	id, token := w.Registered("")
	l := w.Screened(edgetest.Admin(), payment(token, ""))
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	between := 0
	j.Between = func() { between++ }
	var room edge.LeafScratch
	in, err := room.Open(j, l.Index, l.Data)
	require.NoError(t, err)
	require.Nil(t, in.Value)
	require.Equal(t, l.Kind(), in.Kind())
	require.Equal(t, "key_admin", in.KeyID())
	require.Equal(t, w.OperatorID("Acme Inc"), j.Terms.OperatorOf(&in))
	require.Equal(t, l.Record.TxnID(), in.Record.TxnID())
	require.Panics(t, func() { in.Text("verdict") }, "to ask it for a member would find nothing, in silence")
	require.Zero(t, edge.LeavesHeld(j))

	event, err := w.Store.Leaf(1)
	require.NoError(t, err)
	other, err := room.Open(j, 1, event)
	require.NoError(t, err)
	require.NotEqual(t, "screen", other.Kind())
	require.Equal(t, other.Text("keyId"), other.KeyID())
	require.Equal(t, 1, edge.LeavesHeld(j))
	_, err = j.OpenLeaf(l.Index, l.Data)
	require.NoError(t, err)
	require.Equal(t, 2, edge.LeavesHeld(j))
	edge.DropLeaves(j, 1)
	require.Equal(t, 1, edge.LeavesHeld(j))
	j.DropLeaf()
	require.Zero(t, edge.LeavesHeld(j))
	require.Equal(t, 3, between, "before each leaf others may have the processor")

	x, err := j.OpenRecord(l.Data)
	require.NoError(t, err)
	require.Equal(t, id, x.AgentID())
	mine, err := j.OpenAnswer(l.Data, agentOf(t, w, id))
	require.NoError(t, err)
	require.Equal(t, id, mine.AgentID())
	require.Equal(t, w.OperatorID("Acme Inc"), mine.OperatorID())
	unknown := w.Screened(edgetest.Admin(), payment("x", ""))
	nobodys, err := j.OpenAnswer(unknown.Data, agentOf(t, w, id))
	require.NoError(t, err)
	require.Nil(t, nobodys.Agent, "nobody was judged")
	for _, broken := range [][]byte{l.Data[:len(l.Data)-1], l.Data[:9]} {
		_, err = j.OpenRecord(broken)
		require.Error(t, err)
		_, err = j.OpenAnswer(broken, nil)
		require.Error(t, err)
		_, err = j.OpenLeaf(l.Index, broken)
		require.Error(t, err)
	}
	_, err = j.OpenLeaf(1, event[:len(event)-1])
	require.Error(t, err)

	// The profile that a record names is read only once.
	w.LeafError = audit.ErrMissing
	_, err = j.OpenRecord(l.Data)
	require.NoError(t, err)
	w.Judges = w.NewJudges()
	fresh, _ := w.Begin(edgetest.Admin(), `{}`)
	_, err = fresh.OpenRecord(l.Data)
	require.ErrorIs(t, err, audit.ErrMissing)
}

// The accessors return a leaf's members, and zero values for missing ones.
func TestMembersOfALeaf(t *testing.T) {
	w := edgetest.New(t)
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","spendPolicy":{"dailyLimitUSDC":1}}`)
	require.NoError(t, err)
	require.Equal(t, "agent.registered", l.Kind())
	require.Equal(t, `{"dailyLimitUSDC":1}`, string(l.Raw("spendPolicy")))
	require.Nil(t, l.Raw("nothing"))
	require.Equal(t, uint64(1), l.Number("credentialVersion"))
	require.Zero(t, l.Number("nothing"))
	require.False(t, l.Has("nothing"))
	require.False(t, l.Flag("nothing"))
	require.Zero(t, l.Instant("nothing"))
	require.Nil(t, l.Texts("nothing"))
	require.Equal(t, agentOf(t, w, l.Text("agentId")).ExpiresAt, l.Instant("expiresAt"))
	var m strictjson.Members
	l.CopyTo(&m, "agentName", "nothing", "agentType")
	require.Equal(t, `"agentName":"Bot","agentType":"supervised"`, string(m))
}

// A review's disposition, comments and proposal are shown only to those who may see them.
func TestDisposition(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	officer, acme := w.Caller("officer", wire.RoleReviewer, ""), w.Caller("acme", wire.RoleScreener, "Acme Inc")
	l := w.Screened(acme, payment(token, ""))
	require.Equal(t, "REVIEW", l.Text("verdict"))
	known := func(caller *edge.Caller, local bool) *edge.Disposition {
		j, _ := w.Begin(caller, `{}`)
		d, err := j.Disposition(&l, local)
		require.NoError(t, err)
		return d
	}
	asked := w.Asked
	require.False(t, known(acme, true).Present)
	require.Equal(t, asked, w.Asked)
	require.False(t, known(acme, false).Present)
	require.Equal(t, asked+1, w.Asked, "one acknowledged elsewhere must show")
	w.ReadError = wire.ErrNoLeader
	require.False(t, known(acme, false).Present, "without a leader the local answer stands")
	w.ReadError = nil

	w.Must(wire.KindQueue, &wire.Queue{Common: wire.Common{Fragment: []byte(`"comment":"look here"`)}, Op: wire.QueueComment, Leaves: []uint64{l.Index}, Who: "jane"})
	require.Len(t, known(officer, true).Comments, 1)
	require.Empty(t, known(acme, true).Comments)

	w.FallBehind()
	d := w.Disposed(officer, &l, wire.Approved)
	for _, caller := range []*edge.Caller{officer, acme} {
		got := known(caller, false)
		require.True(t, got.Present)
		require.Equal(t, d.Index, got.Leaf.Index)
		require.Equal(t, "APPROVED", got.Leaf.Text("disposition"))
		require.Nil(t, got.Proposed)
	}
}

// Where two persons decide, the first one's proposal is open until the second confirms it. Only
// those who see all get it, because it may be of a report that the party must not learn of.
func TestProposal(t *testing.T) {
	w := edgetest.New(t)
	w.SetPolicy(func(p *engine.Policy) { p.FourEyes = &engine.FourEyes{MinAmount: 0} })
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	first, second, acme := w.Caller("first", wire.RoleReviewer, ""), w.Caller("second", wire.RoleReviewer, ""), w.Caller("acme", wire.RoleScreener, "Acme Inc")
	w.Advance(engine.DayLength) // So that the keys are old enough to second.
	l := w.Screened(acme, payment(token, ""))
	known := func(caller *edge.Caller) *edge.Disposition {
		j, _ := w.Begin(caller, `{}`)
		d, err := j.Disposition(&l, false)
		require.NoError(t, err)
		return d
	}
	require.Nil(t, known(first).Proposed)
	proposed := w.DisposedBy(first, "jane", &l, wire.EscalateSAR)
	require.Equal(t, proposed.Index, known(second).Proposed.Index)
	require.False(t, known(second).Present)
	require.Nil(t, known(acme).Proposed)
	w.DisposedBy(second, "joan", &l, wire.EscalateSAR)
	require.True(t, known(second).Present)
	require.Equal(t, proposed.Index, known(second).Proposed.Index, "what was confirmed")
	require.Nil(t, known(acme).Proposed)
}

// A key that nobody knows made the call: nobody is taken for its screener, so that only a settler
// of the institution gives the payment back.
func TestScreenerThatNobodyKnows(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	l := w.Screened(&edge.Caller{ID: "key_gone", Roles: wire.RoleScreener}, payment(token, ""))
	screener, settler := w.Caller("screener", wire.RoleScreener, ""), w.Caller("settler", wire.RoleSettler, "")
	j, _ := w.Begin(settler, `{}`)
	require.EqualValues(t, wire.ScreenerUnknown, edge.ScreenerOf(j, &l))
	require.True(t, w.Judges.Now().MaySettle(settler, wire.ScreenerUnknown))
	require.False(t, w.Judges.Now().MaySettle(screener, wire.ScreenerUnknown))
	known := w.Screened(w.Caller("acme_screener", wire.RoleScreener, "Acme Inc"), payment(token, ""))
	j, _ = w.Begin(edgetest.Admin(), `{}`)
	_, err := edge.OwnRecord(j, known.Text("txnId"))
	require.Equal(t, "not_found", refusalOf(t, err).Code, "an admin is no settler")
	require.EqualValues(t, len(w.Settings().Keys), edge.ScreenerOf(j, &known), "whoever asks")
	none := engine.USD(0)
	for _, c := range []struct {
		caller  *edge.Caller
		refused bool
	}{{screener, true}, {w.Caller("acme", wire.RoleSettler, "Acme Inc"), true}, {w.Caller("both", wire.RoleScreener|wire.RoleSettler, ""), true}, {settler, false}} {
		j, _ := w.Begin(c.caller, `{}`)
		_, err := w.Settle(j, wire.KindHold, func() (any, error) {
			return edge.Settlement(j, &l, &edge.Outcome{Op: wire.HoldSettle, Amount: &none})
		})
		require.Equal(t, c.refused, err != nil, c.caller.ID)
	}
}

// Only the caller's owner may say how its payment ended. Both endings are shown.
func TestEndOfAPayment(t *testing.T) {
	w := edgetest.New(t)
	fleet := w.NewFleet("Acme Inc", 100*engine.Dollar)
	id, token := w.Registered(`,"fleetId":"` + fleet + `"`)
	acme, second, institution := w.Caller("acme", wire.RoleScreener, "Acme Inc"), w.Caller("second", wire.RoleScreener, "Acme Inc"), w.Caller("institution", wire.RoleScreener, "")
	l := w.Screened(acme, payment(token, `,"paymentRef":"r-1","hold":{"ttlSeconds":60}`))
	own := func(caller *edge.Caller) error {
		j, _ := w.Begin(caller, `{}`)
		_, err := edge.OwnRecord(j, l.Text("txnId"))
		return err
	}
	require.NoError(t, own(acme))
	require.NoError(t, own(second), "keys come and go: the operator's call is the operator's")
	require.Equal(t, "not_found", refusalOf(t, own(institution)).Code)
	require.Equal(t, "not_found", refusalOf(t, own(w.Caller("reviewer", wire.RoleReviewer, ""))).Code, "who may read it may not end it")
	require.NoError(t, own(w.Caller("settler", wire.RoleSettler, "")), "the institution's settler")

	referenced := func(caller *edge.Caller, reference string) error {
		j, _ := w.Begin(caller, `{}`)
		found, err := edge.ReferencedRecord(j, reference)
		if err == nil {
			require.Equal(t, l.Index, found.Index)
		}
		return err
	}
	require.NoError(t, referenced(second, "r-1"))
	require.Equal(t, "not_found", refusalOf(t, referenced(second, "r-2")).Code)
	require.Equal(t, "not_found", refusalOf(t, referenced(institution, "r-1")).Code, "two operators may use the same")
	other := w.Screened(institution, payment(token, `,"paymentRef":"r-1"`))
	require.Equal(t, "PROCEED", other.Text("verdict"))

	settler := w.Caller("acme_settler", wire.RoleSettler, "Acme Inc")
	j, _ := w.Begin(acme, `{}`)
	paid := engine.USD(700_000)
	for _, c := range []struct {
		name    string
		outcome edge.Outcome
		amount  engine.USD
	}{
		{"made as recorded", edge.Outcome{Op: wire.HoldSettle}, engine.Dollar}, {"made for less", edge.Outcome{Op: wire.HoldSettle, Amount: &paid}, paid},
		{"not made", edge.Outcome{Op: wire.HoldRelease, Amount: &paid}, 0},
	} {
		c.outcome.Said.Text("railRef", "x")
		b, err := edge.Settlement(j, &l, &c.outcome)
		require.NoError(t, err)
		require.Equal(t, c.amount, b.Amount, c.name)
		require.Equal(t, engine.Dollar, b.Recorded)
		require.Equal(t, agentOf(t, w, id).Slot, b.Agent)
		require.NotZero(t, b.Fleet)
		require.Equal(t, engine.Proceed, b.Verdict)
		require.Equal(t, edgetest.Start, b.ScreenedAt)
		require.Contains(t, string(b.Fragment), `"railRef":"x","actorKeyId":"acme"`)
		_, reference := edge.PaymentOf(j, &l)
		require.Equal(t, reference, b.Reference)
	}
	asked := w.Asked
	d, err := j.Disposition(&l, false)
	require.NoError(t, err)
	require.Empty(t, d.Payment)
	require.Equal(t, asked+1, w.Asked, "the ending of a held payment may be acknowledged elsewhere")
	w.Settled(settler, &l, &edge.Outcome{Op: wire.HoldSettle, Amount: &paid})
	asked = w.Asked
	d, err = j.Disposition(&l, false)
	require.NoError(t, err)
	require.Len(t, d.Payment, 1)
	require.Equal(t, asked, w.Asked)
	require.Equal(t, "hold.settled", d.Payment[0].Kind())
	require.NoError(t, func() error { _, err := j.Disposition(&other, false); return err }())
	require.Equal(t, asked, w.Asked, "nothing was held")
}

// A record that no leaf could hold is refused before it is written.
func TestLargestRecord(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	var m strictjson.Members
	j.Actor(&m)
	room := engine.LeafMax - 14*engine.KiB - len(m) - len(`"x":"",`)
	fragment := func(n int) (m strictjson.Members) {
		m.Text("x", strings.Repeat("x", n))
		return m
	}
	_, err := j.Recorded(fragment(room))
	require.NoError(t, err)
	_, err = j.Recorded(fragment(room + 1))
	require.Equal(t, "payload_too_large", refusalOf(t, err).Code)

	call := w.NewCall(edgetest.Admin(), `{}`)
	call.Idem = &wire.Idem{Key: [16]byte{1}}
	common, err := w.BeginCall(call).Recorded(nil, 7)
	require.NoError(t, err)
	require.Equal(t, `"actorKeyId":"key_admin","node":"n1","idempotencyKeyHash":"01000000000000000000000000000000",`+
		`"requestHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"`, string(common.Fragment))
	require.Equal(t, []uint64{7}, common.Filters)
	require.Equal(t, call.Idem, common.Idem)
	require.Nil(t, common.Key, "the node's own machine")
	keyed := w.BeginCall(w.NewCall(w.Caller("key_a", wire.RoleOperator, ""), `{}`)).Common(nil)
	require.Equal(t, uint32(1), keyed.Key.Rev)
	require.Equal(t, `"node":"n1"`, func() string { var m strictjson.Members; w.BeginCall(w.NewCall(nil, `{}`)).Actor(&m); return string(m) }())
}
