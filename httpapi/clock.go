package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// advanceClock is POST /v1/test/clock {"advance":"25h"}: log time of a cluster
// that was bootstrapped with a test clock goes forward, never back. Anywhere else
// the path does not exist.
func advanceClock(c *call) error {
	if !c.judge.Terms.Settings.Genesis.TestClock {
		return notFound("no such path")
	}
	f := c.fields()
	text := f.RequiredText("advance", engine.FieldMax)
	span, ok := parseSpan(text)
	if text != "" && (!ok || span <= 0 || span > 1000*engine.DayLength) {
		f.Invalid("advance", "must be a span such as 25h or 91d, at most 1000d")
	}
	if err := f.Err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindClock, record: func() (any, error) {
		var m strictjson.Members
		m.Text("advance", text)
		record := &wire.Clock{Advance: span}
		var err error
		record.Common, err = c.judge.Recorded(m)
		return record, err
	}, refused: func(r wire.Result) error {
		if r.Refusal == wire.RefusedMalformed {
			return invalidField("advance", "goes beyond what the test clock can do")
		}
		return nil
	}}, nil)
}

func renderClock(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "logTime")
	m.Text("advanced", l.Text("advance"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// testClockRoute is mounted always; whether it exists is the genesis' question.
func testClockRoute() route {
	return route{method: http.MethodPost, path: "/v1/test/clock", roles: wire.RoleOps, body: bodyObject, handle: institution(advanceClock)}
}
