package evidence

import (
	"context"
	"net/http"
	"time"

	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// quorumPatience is how far the newest checkpoint that meets the quorum may be behind the log: some
// rounds of the witnesses.
const quorumPatience = time.Minute

// showPolicy is GET /log/policy: the policy that what this node hands out as cosigned meets. It is
// shown so that readers can compare it with theirs; they hold the log to their own.
func (e *Room) showPolicy(c *border.Request) (border.Answer, error) {
	policy := e.cosigned.asker.Policy()
	if policy == nil {
		return border.Answer{}, border.NotFound("no policy of witnesses is configured")
	}
	return c.Send(http.StatusOK, border.TextType, []byte(policy.Text())), nil
}

// demandsQuorum reports whether this node's settings demand a quorum of witnesses.
func (e *Room) demandsQuorum() bool {
	policy := e.cosigned.asker.Policy()
	return policy != nil && policy.Demands()
}

// cosignedAge returns how old the newest cosigned checkpoint is, in seconds of log time: 0 if it is
// of all leaves, -1 if there is none. With a policy it is that of the newest one that meets it.
func (e *Room) cosignedAge(ctx context.Context) float64 {
	cosigned, err := e.newestCosigned(ctx)
	if err != nil || cosigned == nil {
		return -1
	}
	if cosigned.point.Size >= e.treeSize() {
		return 0
	}
	return max(0, float64(e.deps.Published.LogTime()-cosigned.point.at)/float64(engine.Second))
}

// isQuorumMet reports whether an age of the newest checkpoint that meets the quorum is as it should be.
func isQuorumMet(age float64) bool { return age >= 0 && age <= quorumPatience.Seconds() }

// loadUnwitnessed returns a new tree head for evidence. Evidence says of it that the quorum has not
// signed it, if one is demanded.
func (e *Room) loadUnwitnessed(c *border.Request, need uint64) (*Checkpoint, error) {
	point, err := e.loadCheckpoint(c, need)
	if err != nil || !e.demandsQuorum() {
		return point, err
	}
	bare := *point // The checkpoint is shared.
	bare.unwitnessed = true
	return &bare, nil
}

// writeUnwitnessed writes in evidence that its tree head lacks the quorum of witnesses.
func (cp *Checkpoint) writeUnwitnessed(m *strictjson.Members) {
	if cp.unwitnessed {
		m.Bool("witnessed", false)
	}
}

// QuorumWarning says that the log's quorum of witnesses is not met; "" if it is, or none is
// demanded. No verdict waits for it, so the node stays ready.
func (e *Room) QuorumWarning(ctx context.Context) string {
	if !e.demandsQuorum() || isQuorumMet(e.cosignedAge(ctx)) {
		return ""
	}
	if short := e.cosigned.asker.Short(); short != "" {
		return short
	}
	return "too few witnesses have cosigned the log of late; the leader knows who is missing"
}

// quorumGauges returns 1 or 0 for whether the quorum is met, and its age. Both are -1 where no quorum is
// demanded; the age is -1 too where it was never met.
func (e *Room) quorumGauges(ctx context.Context) (met, age float64) {
	if !e.demandsQuorum() {
		return -1, -1
	}
	if age = e.cosignedAge(ctx); isQuorumMet(age) {
		met = 1
	}
	return met, age
}
