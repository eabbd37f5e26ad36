package desk_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// openReview returns a REVIEW that waits: a payment above the agent's single limit.
func openReview(w *edgetest.World) edge.Leaf {
	w.T.Helper()
	_, token := w.Registered(`,"spendPolicy":{"maxSingleTxUSDC":100}`)
	l := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":150,"cpName":"Quiet Shop"}`)
	require.Equal(w.T, "REVIEW", l.Text("verdict"))
	return l
}

func TestReviewsAreRead(t *testing.T) {
	w := edgetest.New(t)
	w.SetPolicy(func(p *engine.Policy) { p.ReviewNotes = true })
	for _, c := range []struct{ body, code, param string }{
		{`{"reviewedBy":"Jo"}`, "invalid_disposition", "disposition"},
		{`{"reviewedBy":"Jo","disposition":"approved"}`, "invalid_disposition", "disposition"},
		{`{"disposition":"APPROVED"}`, "missing_field", "reviewedBy"},
		{`{"reviewedBy":"Jo","disposition":"REJECTED","notes":" "}`, "missing_field", "notes"},
		{`{"reviewedBy":"Jo","disposition":"APPROVED","notes":"` + strings.Repeat("n", engine.TextMax+1) + `"}`, "invalid_field", "notes"},
		{`{"reviewedBy":"Jo","disposition":"APPROVED"}`, "", ""},
		{`{"reviewedBy":"Jo","disposition":"ESCALATE_SAR","notes":"odd"}`, "", ""},
	} {
		t.Run(c.body[:min(len(c.body), 80)], func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			_, err := desk.ReadReview(j, f)
			edgetest.RequireCode(t, err, c.code, c.param)
		})
	}
}

func TestApprovalsBookWhatWasReviewed(t *testing.T) {
	w := edgetest.New(t)
	l := openReview(w)
	w.SetStatus(l.Text("agentId"), engine.Suspended)
	require.NoError(t, desk.CheckReviewable(&l))
	j, f := w.Begin(edgetest.Admin(), `{"reviewedBy":" JO  Officer","disposition":"APPROVED","notes":"known"}`)
	review, err := desk.ReadReview(j, f)
	require.NoError(t, err)
	record, err := review.Record(j, &l)
	require.NoError(t, err)
	require.Equal(t, 150*engine.Dollar, record.Amount)
	require.Equal(t, l.Record.Triggered, record.Rules, "four eyes ask for every rule, not for the deciding one alone")
	require.NotZero(t, record.Agent)
	done, err := w.Settle(j, wire.KindDisposition, func() (any, error) { return review.Record(j, &l) })
	require.NoError(t, err)
	require.Equal(t, []string{"APPROVED", "known"}, []string{done.Text("disposition"), done.Text("notes")})
	require.Equal(t, "BLOCK", done.Text("recheck", "verdict"), "an approval is judged again")

	_, token := w.Registered("")
	calm := w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":5}`)
	edgetest.RequireCode(t, desk.CheckReviewable(&calm), "not_reviewable", "")
}

func TestRejectionsAreNotJudgedAgain(t *testing.T) {
	w := edgetest.New(t)
	l := openReview(w)
	w.SetStatus(l.Text("agentId"), engine.Suspended)
	j, f := w.Begin(edgetest.Admin(), `{"reviewedBy":"Jo","disposition":"REJECTED"}`)
	review, err := desk.ReadReview(j, f)
	require.NoError(t, err)
	done, err := w.Settle(j, wire.KindDisposition, func() (any, error) { return review.Record(j, &l) })
	require.NoError(t, err)
	require.Nil(t, done.Raw("recheck"))
}

func TestWithdrawalsSayWhoAndWhy(t *testing.T) {
	w := edgetest.New(t)
	l := openReview(w)
	_, f := w.Begin(edgetest.Admin(), `{}`)
	_, err := desk.ReadWithdrawal(f)
	edgetest.RequireCode(t, err, "missing_field", "reviewedBy")
	j, f := w.Begin(edgetest.Admin(), `{"reviewedBy":"`+strings.Repeat("é", engine.FieldMax/2)+`","reason":"too fast"}`)
	withdrawal, err := desk.ReadWithdrawal(f)
	require.NoError(t, err)
	record, err := withdrawal.Record(j, &l)
	require.NoError(t, err)
	require.Equal(t, l.Index, record.Leaf)
	require.Contains(t, string(record.Fragment), `"reason":"too fast"`)
}

func TestItemsOfOneCallHaveKeysOfTheirOwn(t *testing.T) {
	require.Nil(t, desk.ItemIdempotency(nil, "a"))
	call := &wire.Idem{Key: [16]byte{1}, Body: [16]byte{2}}
	a, b := desk.ItemIdempotency(call, "a"), desk.ItemIdempotency(call, "b")
	require.NotEqual(t, a.Key, b.Key)
	require.NotEqual(t, call.Key, a.Key)
	require.Equal(t, call.Body, a.Body)
	require.Equal(t, a, desk.ItemIdempotency(call, "a"), "a retry finds what its first try did")
}

func TestStepsOfTheQueue(t *testing.T) {
	w := edgetest.New(t)
	l := openReview(w)
	key := w.Caller("key_jo", wire.RoleReviewer, "")
	for _, c := range []struct {
		op                     uint8
		body, code, param, who string
		force                  bool
	}{
		{wire.QueueClaim, `{}`, "", "", "test key_jo", false},
		{wire.QueueClaim, `{"by":"Ann"}`, "", "", "Ann", false},
		{wire.QueueClaim, `{"by":"Ann","assignee":5}`, "invalid_field", "assignee", "", false},
		{wire.QueueRelease, `{"force":true}`, "", "", "test key_jo", true},
		{wire.QueueAssign, `{}`, "missing_field", "assignee", "", false},
		{wire.QueueAssign, `{"assignee":"Ann"}`, "", "", "Ann", true},
		{wire.QueueComment, `{}`, "missing_field", "comment", "", false},
		{wire.QueueComment, `{"comment":"called the bank"}`, "", "", "test key_jo", false},
	} {
		t.Run(c.body, func(t *testing.T) {
			j, f := w.Begin(key, c.body)
			step, err := desk.ReadQueueStep(j, f, c.op)
			edgetest.RequireCode(t, err, c.code, c.param)
			if err != nil {
				return
			}
			record, err := step.Record(j, &l)
			require.NoError(t, err)
			require.Equal(t, []any{c.op, []uint64{l.Index}, c.who, c.force}, []any{record.Op, record.Leaves, record.Who, record.Force})
			require.Equal(t, c.op == wire.QueueComment, strings.Contains(string(record.Fragment), `"comment"`))
		})
	}
	j, _ := w.Begin(&edge.Caller{ID: "key_nameless", Roles: wire.RoleReviewer}, `{}`)
	claim := desk.NextClaim(j, "Ann", []uint64{l.Index})
	require.Equal(t, wire.QueueClaim, claim.Op)
	_, f := w.Begin(key, `{}`)
	require.Equal(t, "key_nameless", desk.ReadReviewer(j, f, "by"))
	done, err := w.Settle(j, wire.KindQueue, func() (any, error) { return claim, nil })
	require.NoError(t, err)
	require.Equal(t, []string{"review.claimed", "Ann"}, []string{done.Kind(), done.Text("assignee")})
}

func TestAcknowledgementsNeedPersonAndReason(t *testing.T) {
	w := edgetest.New(t)
	for body, param := range map[string]string{`{"reason":"r"}`: "by", `{"by":"Jo"}`: "reason"} {
		_, f := w.Begin(edgetest.Admin(), body)
		_, err := desk.ReadAcknowledgement(f)
		edgetest.RequireCode(t, err, "missing_field", param)
	}
	j, f := w.Begin(edgetest.Admin(), `{"by":"Jo","reason":"known"}`)
	acknowledgement, err := desk.ReadAcknowledgement(f)
	require.NoError(t, err)
	record, err := acknowledgement.Record(j, 7)
	require.NoError(t, err)
	require.Equal(t, []any{wire.AlertAcknowledge, uint64(7)}, []any{record.Op, record.Leaf})
}

func TestReportsMoveStepByStep(t *testing.T) {
	w := edgetest.New(t)
	l := openReview(w)
	w.Disposed(edgetest.Admin(), &l, wire.EscalateSAR)
	for _, c := range []struct {
		name, body, code, param string
		from                    uint8
	}{
		{"nowhere", `{"by":"Jo"}`, "missing_field", "to", 0},
		{"to what is no state", `{"by":"Jo","to":"LOST"}`, "invalid_field", "to", 0},
		{"filed without a number", `{"by":"Jo","to":"FILED"}`, "missing_field", "bsaId", 0},
		{"a number before it was filed", `{"by":"Jo","to":"READY","bsaId":"3"}`, "invalid_field", "bsaId", 0},
		{"closed without a reason", `{"by":"Jo","to":"CLOSED"}`, "missing_field", "reason", wire.SARDraft},
		{"closed after it was filed", `{"by":"Jo","to":"CLOSED"}`, "", "", wire.SARFiled},
		{"ready", `{"by":"Jo","to":"READY"}`, "", "", wire.SARDraft},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			move, err := desk.ReadReportMove(f)
			if err == nil {
				var record *wire.SAR
				if record, err = move.Record(j, &fsm.SARRow{Leaf: l.Index, State: c.from}); err == nil {
					require.Equal(t, []any{l.Index, c.from}, []any{record.Leaf, record.From})
				}
			}
			edgetest.RequireCode(t, err, c.code, c.param)
		})
	}
	for body, param := range map[string]string{
		`{"by":"Jo","narrative":"` + strings.Repeat("n", 32*engine.KiB+1) + `"}`: "narrative", `{"by":"Jo","narrative":"n","replaces":"` + strings.Repeat("z", 64) + `"}`: "replaces",
	} {
		_, f := w.Begin(edgetest.Admin(), body)
		_, err := desk.ReadNarrative(f)
		edgetest.RequireCode(t, err, "invalid_field", param)
	}
	j, f := w.Begin(edgetest.Admin(), `{"by":"Jo","narrative":"what was seen"}`)
	narrative, err := desk.ReadNarrative(f)
	require.NoError(t, err)
	require.False(t, narrative.IsFinished("what was [by whom?]\n seen\n"), "the skeleton without its question")
	require.True(t, narrative.IsFinished("something else"))
	_, err = w.Settle(j, wire.KindSAR, func() (any, error) { return narrative.Record(j, l.Index, true) })
	require.NoError(t, err)
	j, f = w.Begin(edgetest.Admin(), `{"by":"Jo","to":"READY"}`)
	move, err := desk.ReadReportMove(f)
	require.NoError(t, err)
	done, err := w.Settle(j, wire.KindSAR, func() (any, error) {
		return move.Record(j, &fsm.SARRow{Leaf: l.Index, State: wire.SARDraft, Narrative: sha256.Sum256([]byte("what was seen"))})
	})
	require.NoError(t, err)
	require.Equal(t, []string{"DRAFT", "READY", "Jo"}, []string{done.Text("from"), done.Text("to"), done.Text("by")})
}
