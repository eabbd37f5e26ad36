package evidence

import (
	"fmt"
	"net/http"
	"slices"

	"railguard/edge"
	"railguard/httpapi/border"
	"railguard/strictjson"
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
	confirmations, err := replayConfirmations(c, l.Index)
	if err != nil {
		return border.Answer{}, err
	}
	if len(confirmations) > 0 {
		c.Out.List("confirmations", confirmations)
	}
	return c.Reply(http.StatusOK, c.Out), nil
}

// replayConfirmations judges again each confirmation and redeem of a record, the oldest first.
func replayConfirmations(c *border.Request, record uint64) (items []strictjson.Members, err error) {
	newest, err := c.Judge.NewestAbout(record, c.Published().Disposition)
	if err != nil {
		return nil, err
	}
	for at := newest; at > record; {
		l, err := c.Judge.LoadLeaf(at)
		if err != nil {
			return nil, err
		}
		before := l.Number("recordPrevious")
		if l.IsJudgement() {
			judged, err := edge.JudgementLeaf(&c.Judge, &l)
			if err != nil {
				return nil, err
			}
			var m strictjson.Members
			l.CopyTo(&m, "kind", "eventId", "time", "leaf")
			if err := c.Judge.Replay(&judged, &m); err != nil {
				return nil, err
			}
			items = append(items, m)
		}
		if before >= at {
			return nil, fmt.Errorf("leaf %d names leaf %d as the one before it", at, before)
		}
		at = before
	}
	slices.Reverse(items)
	return items, nil
}
