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

// When the cluster secret is exchanged, values sealed with the older secret are sealed again,
// agent by agent, a bounded number per record. The sealed values themselves tell how far that
// is, so anybody may stop it at any point and continue it later.

const (
	ResealStep    = 256    // Values that one step seals again at most.
	resealLooks   = 65_536 // Agents that one step looks at at most.
	ResealEnd     = int64(-1)
	resealFromMax = 1<<32 - 1
)

// sealLabels are the labels that the values of the state are sealed with.
var sealLabels = map[fsm.SealedWhat]string{
	fsm.SealedCheck: seal.LabelCheck, fsm.SealedLogSeed: seal.LabelLogSeed, fsm.SealedSigningKey: seal.LabelSigningKey,
	fsm.SealedWebhook: seal.LabelWebhook, fsm.SealedEIN: seal.LabelEIN,
}

// IsSealedByOlder reports whether a value was sealed with a secret older than the present one.
// It returns an error if no secret opens the value.
func IsSealedByOlder(secrets *seal.Secrets, v fsm.Sealed) (bool, error) {
	return secrets.SealedByOlder(sealLabels[v.What], v.Data)
}

// ResealingStep seals the values of a range of agents again. The step from 0 begins with the
// values of the settings.
type ResealingStep struct {
	from   int64
	reason string
	Next   int64 // Where the next step begins; ResealEnd: there is none. Valid after Record.
	Agents int   // Number of agents there are.
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

// Record builds the record. It returns nil if there is nothing to seal again. The record has no
// Idempotency-Key: repeating the step finds nothing to do.
func (s *ResealingStep) Record(j *edge.Judge) (*wire.Reseal, error) {
	view, err := j.View()
	if err != nil {
		return nil, err
	}
	var values []wire.Resealed
	if values, s.Next, err = resealValues(j.Secrets(), view, s.from); err != nil {
		return nil, err
	}
	if s.Agents = view.AgentSlots(); len(values) == 0 {
		return nil, nil
	}
	var m strictjson.Members
	m.Text("reason", s.reason)
	common, err := j.Recorded(m)
	common.Idem = nil
	return &wire.Reseal{Common: common, Values: values}, err
}

// resealValues seals the values of one step again, and returns where the next step begins.
func resealValues(secrets *seal.Secrets, view *fsm.View, from int64) (values []wire.Resealed, next int64, err error) {
	seen := make(map[string]bool)
	take := func(v fsm.Sealed) {
		older, failed := IsSealedByOlder(secrets, v)
		if failed != nil || !older || seen[string(v.Data)] || err != nil || len(values) >= ResealStep {
			return // A value that no secret opens cannot be sealed again; the survey reports it.
		}
		var anew []byte
		if anew, err = secrets.Reseal(sealLabels[v.What], v.Data); err == nil {
			values = append(values, wire.Resealed{Agent: v.Agent, Old: v.Data, New: anew})
		}
		seen[string(v.Data)] = v.Agent == 0 // One item of the record replaces a value of the settings in every place, so each value is taken only once.
	}
	if from == 0 {
		view.Settings().Sealed(take)
		if len(values) >= ResealStep {
			return values, 0, err
		}
		from = 1
	}
	last := min(int64(view.AgentSlots()), from+resealLooks-1)
	for ; from <= last && len(values) < ResealStep && err == nil; from++ {
		if _, profile, ok := view.Agent(engine.AgentSlot(from)); ok && len(profile.EINSealed) > 0 {
			take(fsm.Sealed{Agent: profile.Slot, What: fsm.SealedEIN, Data: profile.EINSealed})
		}
	}
	if from > int64(view.AgentSlots()) {
		from = ResealEnd
	}
	return values, from, err
}
