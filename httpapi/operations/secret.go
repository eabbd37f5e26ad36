package operations

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/seal"
	"railguard/strictjson"
)

// When the cluster secret is exchanged, what the one before had sealed is sealed anew:
// by records of so many values, agent by agent. How far that is follows from the sealed
// values themselves, so that it may be ended anywhere and begun again by anybody.

const (
	ResealStep     = 256    // Values that one call seals anew.
	resealLooks    = 65_536 // Agents that one call looks at.
	resealSurveyed = time.Minute
)

// labels are those under which the state's values are sealed.
var labels = map[fsm.SealedWhat]string{
	fsm.SealedCheck: seal.LabelCheck, fsm.SealedLogSeed: seal.LabelLogSeed, fsm.SealedSigningKey: seal.LabelSigningKey,
	fsm.SealedWebhook: seal.LabelWebhook, fsm.SealedEIN: seal.LabelEIN,
}

// resealSurvey keeps the last survey for cluster status, which may be asked often.
type resealSurvey struct {
	mutex sync.Mutex
	last  *report.Resealing
	until time.Time
}

// resealing counts what of a state older secrets had sealed.
func (o *Room) resealing(view *fsm.View) *report.Resealing {
	is := &report.Resealing{Older: o.deps.Secrets.OlderCount(), Index: view.Index, At: view.Time.String()}
	count := func(v fsm.Sealed) {
		is.Values++
		switch older, err := o.deps.Secrets.SealedByOlder(labels[v.What], v.Data); {
		case err != nil:
			is.Lost++
		case older:
			is.Left++
		}
	}
	view.Settings().Sealed(count)
	for slot := 1; slot <= view.Agents(); slot++ {
		if _, profile, ok := view.Agent(engine.AgentSlot(slot)); ok && len(profile.EINSealed) > 0 {
			count(fsm.Sealed{Agent: profile.Slot, What: fsm.SealedEIN, Data: profile.EINSealed})
		}
	}
	is.Free = is.Left == 0 && is.Lost == 0
	o.health.survey.mutex.Lock()
	o.health.survey.last, o.health.survey.until = is, time.Now().Add(resealSurveyed)
	o.health.survey.mutex.Unlock()
	return is
}

// secretStatus is the exchange in the cluster's status: nil where there is none.
func secretStatus(c *border.Request) *report.Resealing {
	o := operationsOf(c)
	if o.deps.Secrets.OlderCount() == 0 || c.Judge.Terms.Settings.Genesis == nil {
		return nil
	}
	o.health.survey.mutex.Lock()
	last, fresh := o.health.survey.last, time.Now().Before(o.health.survey.until)
	o.health.survey.mutex.Unlock()
	if fresh {
		return last
	}
	view, err := c.Judge.View()
	if err != nil {
		return last // The status says elsewhere what is wrong.
	}
	return o.resealing(view)
}

// showSecret is GET /admin/cluster-secret: how much is sealed by older secrets.
func showSecret(c *border.Request) (border.Answer, error) {
	if c.Judge.Terms.Settings.Genesis == nil {
		return border.Answer{}, border.NotBootstrapped()
	}
	if err := c.Judge.CatchUp(); err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	return replyJSON(c, operationsOf(c).resealing(view))
}

// reseal is POST /admin/cluster-secret/reseal {"reason", "from"?}: one step. from is the
// first agent to look at, by its place; the answer's next is that of the next step, null
// after the last. The settings' values are sealed anew by the step from 0.
func reseal(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	from, _ := f.Integer("from", 0, 1<<32-1)
	reason := f.Text("reason", engine.TextMax)
	if strings.TrimSpace(reason) == "" {
		f.Missing("reason")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.CatchUp(); err != nil {
		return border.Answer{}, err
	}
	next, agents := resealEnd, 0
	result, err := c.Propose(border.Proposal{Kind: wire.KindReseal, Record: func() (any, error) {
		view, err := c.Judge.View()
		if err != nil {
			return nil, err
		}
		record := &wire.Reseal{}
		if record.Values, next, err = sealedByOlder(c, view, from); err != nil {
			return nil, err
		}
		if agents = view.Agents(); len(record.Values) == 0 {
			return nil, nothingToReseal{}
		}
		var m strictjson.Members
		m.Text("reason", reason)
		record.Common, err = c.Judge.Recorded(m)
		record.Idem = nil // The same step once more finds nothing.
		return record, err
	}})
	if _, nothing := err.(nothingToReseal); err != nil && !nothing { //nolint:errorlint // Nobody wraps it.
		return border.Answer{}, err
	}
	var m strictjson.Members
	m.Uint("resealed", result.Value)
	m.Uint("agents", uint64(agents))
	if next == resealEnd {
		m.Null("next")
	} else {
		m.Int("next", next)
	}
	return c.Reply(http.StatusOK, m), nil
}

// nothingToReseal ends a step that finds nothing: no record is made.
type nothingToReseal struct{}

func (nothingToReseal) Error() string { return "nothing is sealed by an older secret" }

// resealEnd is where there is no next step.
const resealEnd = int64(-1)

// sealedByOlder gathers what one step seals anew, and where the next one begins.
func sealedByOlder(c *border.Request, view *fsm.View, from int64) (values []wire.Resealed, next int64, err error) {
	secrets, seen := c.Secrets(), make(map[string]bool)
	take := func(v fsm.Sealed) {
		older, failed := secrets.SealedByOlder(labels[v.What], v.Data)
		if failed != nil || !older || seen[string(v.Data)] || err != nil || len(values) >= ResealStep {
			return // What none opens is told by the survey: there is nothing to be sealed.
		}
		var anew []byte
		if anew, err = secrets.Reseal(labels[v.What], v.Data); err == nil {
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
		from = resealEnd
	}
	return values, from, err
}
