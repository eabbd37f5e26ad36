package operations

import (
	"fmt"
	"net/http"
	"time"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// The cluster's own backups (decision 166), for keys with the role admin.

func (o *Room) backupRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/cluster/backups", Reserved: true, Handle: o.showBackups},
		{Method: http.MethodPost, Path: "/v1/cluster/backups", Reserved: true, Handle: scheduleBackups},
	}
}

// showBackups is GET /v1/cluster/backups: the schedule, the newest verified copies, and how the last
// rehearsal ended.
func (o *Room) showBackups(c *border.Request) (border.Answer, error) {
	var state wire.BackupState
	if kept := c.Settings().Backups; kept != nil {
		state = *kept
	}
	var m strictjson.Members
	if s := state.Schedule; s != nil {
		m.Object("schedule", scheduleMembers(s))
	}
	for _, one := range []struct {
		name string
		copy *wire.BackupCopy
	}{{"newest", state.Newest}, {"full", state.Full}} {
		if one.copy != nil {
			m.Object(one.name, copyMembers(one.copy))
		}
	}
	if d := state.Drill; d != nil {
		var drill strictjson.Members
		drill.Time("drilledAt", d.At)
		drill.Text("node", d.Node)
		drill.Uint("files", uint64(d.Files))
		drill.Uint("leaves", d.Leaves)
		if d.Failed != "" {
			drill.Text("failed", d.Failed)
		}
		m.Object("drill", drill)
	}
	m.Texts("problems", append([]string{}, o.backupWarnings(c)...))
	return c.Reply(http.StatusOK, m), nil
}

func scheduleMembers(s *wire.BackupSchedule) (m strictjson.Members) {
	m.Text("folder", s.Folder)
	m.Uint("fullSeconds", uint64(s.Full))
	m.Uint("incrementSeconds", uint64(s.Increment))
	m.Uint("tailSeconds", uint64(s.Tail))
	m.Uint("drillSeconds", uint64(s.Drill))
	m.Uint("keep", uint64(s.Keep))
	return m
}

func copyMembers(k *wire.BackupCopy) (m strictjson.Members) {
	m.Time("takenAt", k.At)
	m.Text("file", k.File)
	m.Text("node", k.Node)
	m.Uint("bytes", k.Size)
	m.Uint("firstLeaf", k.First)
	m.Uint("endLeaf", k.End)
	m.Text("sha256", fmt.Sprintf("%x", k.Digest))
	return m
}

// backupWarnings says what is wrong with the cluster's own backups.
func (o *Room) backupWarnings(c *border.Request) (all []string) {
	if o.deps.BackupProblems != nil {
		all = o.deps.BackupProblems()
	}
	state := c.Settings().Backups
	if state == nil || state.Schedule == nil {
		return all
	}
	if n := state.Newest; n != nil {
		// A copy takes time, and one may fail: two late ones in a row are a warning.
		if age := c.Published().LogTime() - n.At; age > 3*engine.Time(state.Schedule.Increment)*engine.Second {
			all = append(all, fmt.Sprintf("backup to %s: the newest verified copy is %s old, and one is due every %s", state.Schedule.Folder, time.Duration(age).Round(time.Second), time.Duration(state.Schedule.Increment)*time.Second))
		}
	} else {
		all = append(all, fmt.Sprintf("backup to %s: there is no verified copy yet", state.Schedule.Folder))
	}
	if d := state.Drill; d != nil && d.Failed != "" {
		all = append(all, "backup: the last rehearsal of a restore failed: "+d.Failed)
	}
	return all
}

// scheduleBackups is POST /v1/cluster/backups {"folder","full","increment","tail","drill","keep"}, or
// {"off":true}.
func scheduleBackups(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	change := rulebook.ReadBackupChange(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerProposal(border.Proposal{Kind: wire.KindBackups, Record: func() (any, error) { return change.Record(&c.Judge) }}, nil)
}

// renderBackups answers scheduleBackups.
func renderBackups(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "folder", "fullSeconds", "incrementSeconds", "tailSeconds", "drillSeconds", "keep")
	m.Text("changedAt", l.Text("time"))
	l.CopyTo(m, "reason", "actor", "eventId", "actorKeyId")
	return nil
}
