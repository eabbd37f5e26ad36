package operations

import (
	"net/http"
	"sync"
	"time"

	"railguard/cluster/report"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// After an exchange of the cluster secret, values that the previous one sealed are sealed
// again, step by step: see edge/keys.

// resealSurveyed is how long cluster status reuses a survey.
const resealSurveyed = time.Minute

// resealSurvey keeps the last survey for cluster status, which is asked often.
type resealSurvey struct {
	mutex sync.Mutex
	last  *report.Resealing
	until time.Time
}

// resealing counts the values of a state that older secrets have sealed.
func (o *Room) resealing(view *fsm.View) *report.Resealing {
	is := &report.Resealing{Older: o.deps.Secrets.OlderCount(), Index: view.Index, At: view.Time.String()}
	count := func(v fsm.Sealed) {
		is.Values++
		switch older, err := keys.IsSealedByOlder(o.deps.Secrets, v); {
		case err != nil:
			is.Lost++
		case older:
			is.Left++
		}
	}
	view.Settings().Sealed(count)
	for slot := 1; slot <= view.AgentSlots(); slot++ {
		if _, profile, ok := view.Agent(engine.AgentSlot(slot)); ok && len(profile.EINSealed) > 0 {
			count(fsm.Sealed{Agent: profile.Slot, What: fsm.SealedEIN, Data: profile.EINSealed})
		}
	}
	is.Free = is.Left == 0 && is.Lost == 0
	o.toldHealth.survey.mutex.Lock()
	o.toldHealth.survey.last, o.toldHealth.survey.until = is, time.Now().Add(resealSurveyed)
	o.toldHealth.survey.mutex.Unlock()
	return is
}

// secretStatus returns how far the exchange of the cluster secret is, for the cluster's status; nil
// when none is under way.
func (o *Room) secretStatus(c *border.Request) *report.Resealing {
	if o.deps.Secrets.OlderCount() == 0 || c.Settings().Genesis == nil {
		return nil
	}
	o.toldHealth.survey.mutex.Lock()
	last, fresh := o.toldHealth.survey.last, time.Now().Before(o.toldHealth.survey.until)
	o.toldHealth.survey.mutex.Unlock()
	if fresh {
		return last
	}
	view, err := c.Judge.View()
	if err != nil {
		return last // Other parts of the status show what is wrong.
	}
	return o.resealing(view)
}

// showSecret is GET /admin/cluster-secret: how much is sealed by older secrets.
func (o *Room) showSecret(c *border.Request) (border.Answer, error) {
	if c.Settings().Genesis == nil {
		return border.Answer{}, border.NotBootstrapped()
	}
	if err := c.Judge.CatchUp(); err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	return replyJSON(c, o.resealing(view))
}

// reseal is POST /admin/cluster-secret/reseal {"reason", "from"?}: one step. from is the
// number of the first agent to examine; the answer's next is the number for the next step,
// null after the last. The step from 0 also seals the settings' values again.
func reseal(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	step, err := keys.ReadResealingStep(&f)
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.CatchUp(); err != nil {
		return border.Answer{}, err
	}
	result, err := c.Propose(border.Proposal{Kind: wire.KindReseal, Record: func() (any, error) {
		record, err := step.Record(&c.Judge)
		if err == nil && record == nil {
			err = nothingToReseal{}
		}
		return record, err
	}})
	if _, nothing := err.(nothingToReseal); err != nil && !nothing { //nolint:errorlint // Nobody wraps it.
		return border.Answer{}, err
	}
	var m strictjson.Members
	m.Uint("resealed", result.Value)
	m.Uint("agents", uint64(step.Agents))
	if step.Next == keys.ResealEnd {
		m.Null("next")
	} else {
		m.Int("next", step.Next)
	}
	return c.Reply(http.StatusOK, m), nil
}

// nothingToReseal ends a step that finds nothing to seal, without a record.
type nothingToReseal struct{}

func (nothingToReseal) Error() string { return "nothing is sealed by an older secret" }
