package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/fsm/wire"
)

// reissueAgent is POST /v1/agents/{id}/reissue (decision 35): a new credential
// version of the same agent. A plain renewal keeps older tokens good for the
// overlap; a change of operator, wallet, policy or model does not.
func reissueAgent(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	var in edge.Reissue
	if err := in.Read(&c.judge, &f, profile); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindReissue, refused: revokedForGood, record: func() (any, error) {
		return in.Build(&c.judge)
	}}, nil)
}

// revokedForGood is the answer for a credential that cannot be issued again.
func revokedForGood(r wire.Result) error {
	if r.Refusal != wire.RefusedTransition {
		return nil
	}
	return &Error{
		Status: http.StatusConflict, Code: "invalid_transition", Message: "a revoked credential is not issued again: register anew",
		Extra: statusMember(r),
	}
}
