package edgetest

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/engine"
	"railguard/engine/credential"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// Caller creates an API key and returns the caller for it. owner is the legal name of an
// operator, or the id of a caller (cal_…); "" is the institution.
func (w *World) Caller(id string, roles uint16, owner string) *edge.Caller {
	w.T.Helper()
	secret := seal.NewAPISecret()
	put := &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{
		ID: id, Name: "test " + id, Prefix: seal.KeyPrefix(secret), Hashes: [][]byte{seal.HashAPISecret(secret)}, Roles: roles,
	}}
	if strings.HasPrefix(owner, wire.OwnerCallerPrefix) {
		put.Key.Owner = owner
	} else {
		put.Operator = OperatorRef(owner)
	}
	w.Must(wire.KindAPIKey, put)
	row := uint32(len(w.Settings().Keys))
	return &edge.Caller{ID: id, Name: "test " + id, Roles: roles, Owner: w.Settings().Keys[row-1].Owner, Key: wire.KeyRef{Row: row, Rev: 1}}
}

// OperatorRef names an operator by its legal name; "" is none.
func OperatorRef(name string) (ref wire.OperatorRef) {
	if name != "" {
		ref.Name, ref.Fold = engine.LegalText(name), edge.FoldName(name)
	}
	return ref
}

// OperatorID returns the id of an operator that one legal name names.
func (w *World) OperatorID(name string) string {
	w.T.Helper()
	slot, count := w.OperatorsNamed(engine.LegalText(name))
	require.Equal(w.T, 1, count, "operators named %q", name)
	return w.Judges.Now().OperatorID(slot)
}

// Admin returns the person at the node's own machine.
func Admin() *edge.Caller { return &edge.Caller{ID: "key_admin", Roles: wire.RoleAdmin} }

// NewCall returns a call with this body.
func (w *World) NewCall(caller *edge.Caller, body string) *edge.Call {
	w.T.Helper()
	call := &edge.Call{Caller: caller, RequestID: "req_test", Body: []byte(body)}
	require.NoError(w.T, call.Document.Read(call.Body, engine.BodyValuesMax), body)
	return call
}

// Begin returns a judge that has begun with a call, and the members of the call's body.
func (w *World) Begin(caller *edge.Caller, body string) (*edge.Judge, *strictjson.Fields) {
	w.T.Helper()
	call := w.NewCall(caller, body)
	j := w.BeginCall(call)
	f := call.Document.Fields()
	return j, &f
}

// BeginCall returns a judge that has begun with a call.
func (w *World) BeginCall(call *edge.Call) *edge.Judge {
	j := new(edge.Judge)
	j.Begin(context.Background(), w.Judges, call)
	return j
}

// Settle applies a record and opens the leaf that it gave. While the record is stale, Settle
// has it judged again. A refusal by the log is an error.
func (w *World) Settle(j *edge.Judge, kind wire.Kind, judge func() (any, error)) (edge.Leaf, error) {
	for try := 0; ; try++ {
		record, err := judge()
		if err != nil {
			return edge.Leaf{}, err
		}
		result, err := w.Propose(w.T.Context(), kind, wire.Encode(record))
		if err != nil {
			return edge.Leaf{}, err
		}
		switch result.Code {
		case wire.Applied, wire.Replayed:
			return j.LoadLeaf(result.Leaf)
		case wire.Stale:
			if err := j.Again(try, result.Index); err != nil {
				return edge.Leaf{}, err
			}
		default:
			return edge.Leaf{}, errors.New("code " + strconv.Itoa(int(result.Code)) + ", refusal " + strconv.Itoa(int(result.Refusal)))
		}
	}
}

// Screened judges and records a payment, and returns its leaf.
func (w *World) Screened(caller *edge.Caller, body string) edge.Leaf {
	w.T.Helper()
	return w.ScreenedCall(w.NewCall(caller, body))
}

// ScreenedCall is Screened for a call.
func (w *World) ScreenedCall(call *edge.Call) edge.Leaf {
	w.T.Helper()
	j := w.BeginCall(call)
	require.NoError(w.T, j.Read())
	l, err := w.Settle(j, wire.KindScreen, func() (any, error) { return j.Screen() })
	require.NoError(w.T, err)
	return l
}

// Registered registers an agent and returns its id and token. extra follows the members of the
// body.
func (w *World) Registered(extra string) (id, token string) {
	w.T.Helper()
	l, err := w.Register(Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"`+extra+`}`)
	require.NoError(w.T, err)
	return l.Text("agentId"), w.AgentToken(&l)
}

// Register judges and records a registration.
func (w *World) Register(caller *edge.Caller, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	var in edge.Registration
	if err := in.Read(j, f); err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindRegister, func() (any, error) { return in.Register(j) })
}

// Delegate judges and records a delegate.
func (w *World) Delegate(caller *edge.Caller, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	var in edge.Delegation
	if err := in.Read(j, f); err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindRegister, func() (any, error) { return in.Build(j) })
}

// Reissue judges and records a new credential of an agent.
func (w *World) Reissue(caller *edge.Caller, id, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	profile, err := j.KnownAgent(id)
	if err != nil {
		return edge.Leaf{}, err
	}
	var in edge.Reissue
	if err := in.Read(j, f, profile); err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindReissue, func() (any, error) { return in.Build(j) })
}

// RegisterUser judges and records a user.
func (w *World) RegisterUser(caller *edge.Caller, body string) (edge.Leaf, error) {
	j, f := w.Begin(caller, body)
	profile, err := j.ReadUser(f)
	if err != nil {
		return edge.Leaf{}, err
	}
	return w.Settle(j, wire.KindUser, func() (any, error) { return j.UserRecord(profile) })
}

// AgentToken mints the token of an agent's leaf; UserToken mints that of a user's.
func (w *World) AgentToken(l *edge.Leaf) string { return w.mint(l, w.Judges.Now().AgentCredential(l)) }
func (w *World) UserToken(l *edge.Leaf) string  { return w.mint(l, w.Judges.Now().UserCredential(l)) }

func (w *World) mint(l *edge.Leaf, s *credential.Credential) string {
	var m strictjson.Members
	require.NoError(w.T, w.Judges.Now().WriteCredential(&m, s, l.Text("kid")))
	var document strictjson.Document
	require.NoError(w.T, document.Read(m.Body(), engine.BodyValuesMax))
	f := document.Fields()
	return f.Text("token", engine.TokenMax)
}

// Disposed records an officer's decision on a REVIEW.
func (w *World) Disposed(caller *edge.Caller, l *edge.Leaf, disposition uint8) edge.Leaf {
	w.T.Helper()
	return w.DisposedBy(caller, "jane officer", l, disposition)
}

// DisposedBy is Disposed by an officer with that name.
func (w *World) DisposedBy(caller *edge.Caller, name string, l *edge.Leaf, disposition uint8) edge.Leaf {
	w.T.Helper()
	j, _ := w.Begin(caller, `{}`)
	record, err := w.Settle(j, wire.KindDisposition, func() (any, error) {
		var m strictjson.Members
		m.Text("reviewedBy", name)
		common, err := j.Recorded(m)
		seconds, reference := edge.PaymentOf(j, l)
		b := &wire.Disposition{
			Common: common, Leaf: l.Index, Disposition: disposition, Amount: edge.RecordAmount(l), Hold: seconds, Reference: reference, Rules: l.Record.Triggered,
		}
		b.Agent, _ = j.Terms.ParseAgent(l.Text("agentId"))
		b.Fleet, _ = j.Terms.ParseFleet(l.Text("fleetId"))
		return b, err
	})
	require.NoError(w.T, err)
	return record
}

// Settled records the outcome of a payment.
func (w *World) Settled(caller *edge.Caller, l *edge.Leaf, outcome *edge.Outcome) edge.Leaf {
	w.T.Helper()
	j, _ := w.Begin(caller, `{}`)
	record, err := w.Settle(j, wire.KindHold, func() (any, error) { return edge.Settlement(j, l, outcome) })
	require.NoError(w.T, err)
	return record
}

// NewFleet creates a fleet and returns its id.
func (w *World) NewFleet(operator string, dailyLimit engine.USD) string {
	w.T.Helper()
	return w.NewFleetOf(wire.Common{Fragment: []byte(`"fleetName":"Fleet"`)}, operator, dailyLimit)
}

// NewFleetOf is NewFleet with another common part of the record.
func (w *World) NewFleetOf(common wire.Common, operator string, dailyLimit engine.USD) string {
	w.T.Helper()
	profile := engine.FleetProfile{FleetName: "Fleet", OperatorLegalName: operator, DailyLimit: dailyLimit, DailyLimitText: "1"}
	w.Must(wire.KindFleet, &wire.Fleet{Common: common, Profile: profile, Operator: OperatorRef(operator)})
	slot := engine.FleetSlot(0)
	for next := slot + 1; w.Fleet(next) != nil; next++ {
		slot = next
	}
	return w.Judges.Now().FleetID(slot)
}

// SetStatus suspends, reinstates or revokes an agent.
func (w *World) SetStatus(agent string, to engine.Status) {
	w.T.Helper()
	slot, ok := w.Judges.Now().ParseAgent(agent)
	require.True(w.T, ok)
	w.Must(wire.KindStatus, &wire.Status{Common: wire.Common{Fragment: []byte(`"reason":"r"`)}, Target: wire.TargetAgent, Slot: uint32(slot), To: to})
}

// SetPolicy changes the institution's policy.
func (w *World) SetPolicy(change func(*engine.Policy)) {
	w.T.Helper()
	policy := *w.Settings().Policy
	change(&policy)
	w.Must(wire.KindPolicy, &wire.PolicyPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Policy: policy})
}

// RotateSigningKey makes a new key the signing one. With revoke it revokes the key before.
func (w *World) RotateSigningKey(kid string, revoke bool) {
	w.T.Helper()
	before := w.Settings().ActiveKey(w.LogTime())
	key, err := seal.NewSigningKey(w.Secrets, kid)
	require.NoError(w.T, err)
	w.Must(wire.KindSigningKey, &wire.SigningKeyPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Op: wire.SigningAdd, Key: key, Now: true})
	if revoke {
		w.Must(wire.KindSigningKey, &wire.SigningKeyPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Op: wire.SigningRevoke, Key: wire.SigningKey{KID: before.KID}})
	}
}

// BeginEpoch begins a new epoch of ids, as restoring a backup does.
func (w *World) BeginEpoch(lineage string) {
	w.T.Helper()
	w.Must(wire.KindRestored, &wire.Restored{Lineage: lineage, Backup: "b"})
}
