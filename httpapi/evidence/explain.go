package evidence

import (
	"net/http"

	"railguard/httpapi/border"
)

// explainRecord is GET /v1/audit/{txnId}/explain.
func explainRecord(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.Explain(&l, &c.Out); err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// replayRecord is POST /v1/audit/{txnId}/replay.
func replayRecord(c *border.Request) (border.Answer, error) {
	l, err := c.ScreenRecord()
	if err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.Replay(&l, &c.Out); err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, c.Out), nil
}
