package keys

import (
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// When the cluster secret is exchanged, what the one before had sealed is sealed anew: by
// records of so many values, agent by agent. How far that is follows from the sealed values
// themselves, so that it may be ended anywhere and begun again by anybody.

const (
	ResealStep    = 256    // Values that one step seals anew.
	resealLooks   = 65_536 // Agents that one step looks at.
	ResealEnd     = int64(-1)
	resealFromMax = 1<<32 - 1
)

// sealLabels are those under which the state's values are sealed.
var sealLabels = map[fsm.SealedWhat]string{
	fsm.SealedCheck: seal.LabelCheck, fsm.SealedLogSeed: seal.LabelLogSeed, fsm.SealedSigningKey: seal.LabelSigningKey,
	fsm.SealedWebhook: seal.LabelWebhook, fsm.SealedEIN: seal.LabelEIN,
}

// IsSealedByOlder tells whether an older secret than the present one had sealed a value. The
// error says that none opens it.
func IsSealedByOlder(secrets *seal.Secrets, v fsm.Sealed) (bool, error) {
	return secrets.SealedByOlder(sealLabels[v.What], v.Data)
}

// ResealingStep seals anew what it finds from an agent on. The step from 0 seals the values of
// the settings first.
type ResealingStep struct {
	from   int64
	reason string
	Next   int64 // Where the next step begins; ResealEnd: nowhere. Known once there is a record.
	Agents int   // That there are.
}

// ReadResealingStep reads where a step begins, and why it is taken.
func ReadResealingStep(f *strictjson.Fields) (ResealingStep, error) {
	from, _ := f.Integer("from", 0, resealFromMax)
	return ResealingStep{from: from, reason: readReason(f), Next: ResealEnd}, f.Err()
}

// readReason reads a reason that must not be blank.
func readReason(f *strictjson.Fields) string {
	reason := f.Text("reason", engine.TextMax)
	if strings.TrimSpace(reason) == "" {
		f.Missing("reason")
	}
	return reason
}

// Record builds the record; nil says that there is nothing to be sealed anew. It has no
// Idempotency-Key: the same step once more finds nothing.
func (s *ResealingStep) Record(j *edge.Judge) (*wire.Reseal, error) {
	view, err := j.View()
	if err != nil {
		return nil, err
	}
	var values []wire.Resealed
	if values, s.Next, err = resealValues(j.Secrets(), view, s.from); err != nil {
		return nil, err
	}
	if s.Agents = view.Agents(); len(values) == 0 {
		return nil, nil
	}
	var m strictjson.Members
	m.Text("reason", s.reason)
	common, err := j.Recorded(m)
	common.Idem = nil
	return &wire.Reseal{Common: common, Values: values}, err
}

// resealValues seals anew what one step finds, and returns where the next one begins.
func resealValues(secrets *seal.Secrets, view *fsm.View, from int64) (values []wire.Resealed, next int64, err error) {
	seen := make(map[string]bool)
	take := func(v fsm.Sealed) {
		older, failed := IsSealedByOlder(secrets, v)
		if failed != nil || !older || seen[string(v.Data)] || err != nil || len(values) >= ResealStep {
			return // What no secret opens is told by the survey: it cannot be sealed anew.
		}
		var anew []byte
		if anew, err = secrets.Reseal(sealLabels[v.What], v.Data); err == nil {
			values = append(values, wire.Resealed{Agent: v.Agent, Old: v.Data, New: anew})
		}
		seen[string(v.Data)] = v.Agent == 0 // Wherever a value of the settings stands, it is replaced at once.
	}
	if from == 0 {
		view.Settings().Sealed(take)
		if len(values) >= ResealStep {
			return values, 0, err
		}
		from = 1
	}
	last := min(int64(view.Agents()), from+resealLooks-1)
	for ; from <= last && len(values) < ResealStep && err == nil; from++ {
		if _, profile, ok := view.Agent(engine.AgentSlot(from)); ok && len(profile.EINSealed) > 0 {
			take(fsm.Sealed{Agent: profile.Slot, What: fsm.SealedEIN, Data: profile.EINSealed})
		}
	}
	if from > int64(view.Agents()) {
		from = ResealEnd
	}
	return values, from, err
}
