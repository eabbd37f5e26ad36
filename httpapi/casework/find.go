package casework

import (
	"railguard/edge"
	"railguard/fsm"
	"railguard/httpapi/border"
)

// findRow returns what look finds in the state, and the state. What this node's does not have is
// looked for once more in the majority's: another node may have written it just now.
func findRow[R any](c *border.Request, missing func() *border.Error, look func(*fsm.View) (R, bool)) (*fsm.View, *R, error) {
	for fresh := false; ; fresh = true {
		view, err := judgeOf(c).View()
		if err != nil {
			return nil, nil, err
		}
		if row, found := look(view); found {
			return view, &row, nil
		}
		if fresh {
			return nil, nil, missing()
		}
		if err := judgeOf(c).Confirm(); err != nil {
			return nil, nil, err
		}
	}
}

// judgeOf returns what judges in a call.
func judgeOf(c *border.Request) *edge.Judge { return &c.Judge }
