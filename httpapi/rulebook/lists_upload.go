package rulebook

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// uploadList is POST /v1/ofac/snapshots on the admin listener, for clusters that cannot fetch
// lists from a network. The body is one published file unchanged, with its name in ?name=, or a
// ZIP archive of several; XML is recognised by its content and needs no name. The list's entities
// are replicated and staged, not activated.
func (b *Room) uploadList(c *border.Request) (border.Answer, error) {
	if b.deps.LoadList == nil || b.deps.Lists == nil {
		return border.Answer{}, rulebook.RejectList("this node takes no list uploads")
	}
	if err := border.CheckLength(c); err != nil {
		return border.Answer{}, err
	}
	if !b.Uploading.TryLock() {
		return border.Answer{}, border.Conflict("refresh_running", "another upload is being read: one list is staged at a time", nil)
	}
	defer b.Uploading.Unlock()
	defer border.ExtendTime(c, listWork)()
	body, err := border.ReadUpload(c)
	if err != nil {
		return border.Answer{}, err
	}
	if len(body) == 0 && c.Query("remove") != "true" {
		return border.Answer{}, rulebook.RejectList("the upload is empty")
	}
	name := c.Query("name")
	if name == "" {
		name = "upload"
	}
	if len(name) > engine.FieldMax {
		return border.Answer{}, border.BadQuery("name", "must have at most 256 bytes")
	}
	asOf, err := readAsOf(c)
	if err != nil {
		return border.Answer{}, err
	}
	replace := c.Query("replace")
	if replace != "" && replace != "true" && replace != "false" {
		return border.Answer{}, border.BadQuery("replace", "must be true or false")
	}
	entities, info, err := b.readUpload(c, name, body, asOf)
	if err != nil {
		return border.Answer{}, err
	}
	if len(entities) > engine.ListMax {
		return border.Answer{}, rulebook.RejectList("the list of entities is larger than 96 MiB")
	}
	decoded, _, err := ofac.DecodeEntities(entities)
	if err != nil {
		return border.Answer{}, rulebook.RejectList(err.Error())
	}
	left, err := b.leftFor(c, decoded)
	if err != nil {
		return border.Answer{}, err
	}
	return b.stageUpload(c, entities, info, left, replace == "true")
}

// readUpload makes the list of an upload: of OFAC's files, or of a list beside OFAC's.
func (b *Room) readUpload(c *border.Request, name string, body []byte, asOf time.Time) (entities []byte, info wire.ListInfo, err error) {
	if c.Query("list") != "" && b.deps.JoinList != nil {
		return b.joinUpload(c, body)
	}
	active, held, err := b.activeList(c)
	if err != nil {
		return nil, info, err
	}
	entities, info, err = b.deps.LoadList(map[string][]byte{name: body}, asOf, active, held)
	if err != nil {
		return nil, info, rulebook.RejectList(err.Error())
	}
	return entities, info, nil
}

// readAsOf reads ?asOf=, the date of files that have none of their own: a time, or a day.
func readAsOf(c *border.Request) (asOf time.Time, err error) {
	text := c.Query("asOf")
	if text == "" {
		return asOf, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if asOf, err = time.Parse(layout, text); err == nil && asOf.Unix() > 0 {
			return asOf, nil
		}
	}
	return asOf, border.BadQuery("asOf", "must be a day or a time, such as 2026-03-01 or 2026-03-01T14:00:00Z")
}

// stageUpload replicates a list's entities and answers with its leaf, which says what activation
// would say now.
func (b *Room) stageUpload(c *border.Request, entities []byte, info wire.ListInfo, left *wire.ListLeft, replace bool) (border.Answer, error) {
	problems := rulebook.Problems(&c.Judge, &info, left, c.Published().LogTime())
	result, err := b.stage(c, entities, info, left, problems, "upload", replace)
	if err != nil {
		return border.Answer{}, err
	}
	l, err := c.OpenResult(result)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerLeaf(&l)
}

func (b *Room) stage(c *border.Request, entities []byte, info wire.ListInfo, left *wire.ListLeft, problems []string, origin string, replace bool) (result wire.Result, err error) {
	staged, common, err := rulebook.StagedList(&c.Judge, info, len(entities), ListMembers, left, problems, origin)
	if err != nil {
		return result, err
	}
	result, err = b.deps.Lists.Stage(c.Context(), entities, staged, replace, common)
	if errors.Is(err, ofac.ErrEntities) {
		return result, b.refuseEntities(err)
	}
	if err != nil {
		return result, border.ProposalError(err)
	}
	if result.Code == wire.Refused && result.Refusal == wire.RefusedFull {
		return result, border.Conflict("lists_staged", "as many lists are staged as may be: activate one of them, or say replace=true to give up the oldest", nil)
	}
	if result.Code != wire.Applied {
		return result, rulebook.RejectList("another list was staged at the same time: try again")
	}
	c.Happened = true
	return result, c.AwaitApplied(wire.KindListChunk, result)
}

// refuseEntities answers whoever brings a list that cannot be read or compiled. What stands below the
// first line is where a fault of ours happened: it is logged and not told.
func (b *Room) refuseEntities(err error) error {
	told, where, _ := strings.Cut(err.Error(), "\n")
	if where != "" {
		b.deps.Logger.Error("a list is refused: it brings out a fault of this program", "error", err)
	}
	return rulebook.RejectList(told)
}

// renderStaged answers an upload.
func renderStaged(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusCreated
	for _, name := range []string{"snapshotId", "source", "sha256", "sample", "publishedAt", "families", "missing", "counts", "walletsByChain", "quarantined", "warnings", "sizeBytes"} {
		m.Raw(name, l.Raw("list", name))
	}
	m.Text("stagedAt", l.Text("time"))
	l.CopyTo(m, "problems", "left", "eventId")
	return nil
}

// rollbackList is POST /v1/ofac/{id}/rollback: a list of the history becomes active again;
// without an id, the one before the active list. It encodes the entities from this node's
// tables of that list, for any matcher, and requires the original bytes.
func (b *Room) rollbackList(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	grounds := edge.Grounds{Reason: f.RequiredText("reason", engine.TextMax), Actor: f.Text("actor", engine.FieldMax)}
	a := rulebook.Activation{Rollback: true, Grounds: grounds}
	force, _ := f.Flag("force")
	a.Force = force
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if replay, err := c.AnswerReplay(border.ErrMoved); err != border.ErrMoved {
		return replay, err // The first call's answer, or the error that the key was used for another body.
	}
	defer border.ExtendTime(c, listWork)()
	info, err := rollbackTarget(c)
	if err != nil {
		return border.Answer{}, err
	}
	if c.PathValue("id") == "" {
		a.ChosenAt = c.Judge.Terms.Settings.ListVersion
	}
	if active := c.Judge.Terms.Settings.List; active != nil && active.Digest == info.Digest {
		return b.activateAs(c, info, a)
	}
	list, err := b.openList(c, info)
	if err != nil {
		return border.Answer{}, err
	}
	entities, err := ofac.EncodeEntities(list.Entities(), list.Meta())
	if err != nil || ofac.Digest(entities) != info.Digest {
		return border.Answer{}, rulebook.RejectList("this version writes that list as other bytes: upload its files again")
	}
	back := rulebook.RollbackTo(info)
	if _, err := a.Record(&c.Judge, &back, c.Published().LogTime(), func() (*wire.ListLeft, error) { return b.leftFor(c, list.Entities()) }); err != nil {
		return border.Answer{}, err // It is told before a list is replicated for nothing.
	}
	if _, err := b.stage(c, entities, back, nil, nil, "rollback", false); err != nil {
		return border.Answer{}, err
	}
	if err := c.Judge.Confirm(); err != nil {
		return border.Answer{}, err
	}
	return b.activateAs(c, &back, a)
}

// rollbackTarget returns the list of the path, or the newest one that the active list
// replaced. It uses the leader's newest state: a lagging node would name another list, or
// take the target for the active one.
func rollbackTarget(c *border.Request) (*wire.ListInfo, error) {
	if err := c.Judge.Confirm(); err != nil {
		return nil, err
	}
	if c.PathValue("id") != "" {
		return pathList(c)
	}
	s := c.Judge.Terms.Settings
	for i := len(s.History) - 1; i >= 0; i-- {
		if s.List != nil && s.History[i].Digest != s.List.Digest {
			return s.History[i], nil
		}
	}
	return nil, border.NotFound("no earlier list")
}

// SyncReport says how this node's last fetch of lists went.
type SyncReport struct {
	Source  string    // "published", or the base URL of a mirror.
	Running bool      // A run is under way.
	TriedAt time.Time // When the last run began; zero: there was none.
	DoneAt  time.Time // When the last good run ended; zero: never.
	Failure string    // Why the last run failed; empty when it did not.
}

// syncReporter is a Syncer that reports its last run.
type syncReporter interface{ LastSync() SyncReport }

var (
	SyncsDone   = metrics.NewCounter("railguard_ofac_syncs_total")
	SyncsFailed = metrics.NewCounter("railguard_ofac_sync_failures_total")
)

// CountSync counts a run that fetches lists, and its failure.
func CountSync(err error) {
	SyncsDone.Inc()
	if err != nil {
		SyncsFailed.Inc()
	}
}

// syncMembers returns the member "sync" of GET /v1/ofac: the last run on this node. Only
// the leader fetches, so a follower may have no run.
func (b *Room) syncMembers(c *border.Request) (strictjson.Members, bool) {
	var m strictjson.Members
	reporter, tells := b.deps.Sync.(syncReporter)
	if !tells {
		return m, false
	}
	report := reporter.LastSync()
	m.Text("node", c.NodeName())
	m.TextOrNull("source", report.Source)
	m.Bool("running", report.Running)
	for _, moment := range []struct {
		name string
		at   time.Time
	}{{"lastTryAt", report.TriedAt}, {"lastSuccessAt", report.DoneAt}} {
		if moment.at.IsZero() {
			m.Null(moment.name)
		} else {
			m.Time(moment.name, engine.Time(moment.at.UnixNano()))
		}
	}
	m.TextOrNull("error", report.Failure)
	return m, true
}

// syncQuick is how long POST /v1/ofac/sync waits for the run's result before it answers 202
// and lets the run continue.
const syncQuick = 300 * time.Millisecond

// syncLists is POST /v1/ofac/sync. The run outlives the call, but ends after listWork at
// the latest.
func (b *Room) syncLists(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	syncer := b.deps.Sync
	if syncer == nil {
		return border.Answer{}, rulebook.RejectList("this node has no source to fetch lists from; upload the files instead")
	}
	type outcome struct {
		started bool
		err     error
	}
	done := make(chan outcome, 1)
	log, requestID := c.Log(), c.Asked.RequestID
	log.Info("list sync: asked for", "requestId", requestID, "keyId", c.KeyID(), "reason", reason, "actor", actor)
	detached := context.WithoutCancel(c.Context()) // The context is read here, because the goroutine must not use the pooled call.
	go func() {
		ctx, cancel := context.WithTimeout(detached, listWork)
		defer cancel()
		started, err := syncer.Sync(ctx)
		if err != nil {
			log.Warn("list sync: the old list stays", "requestId", requestID, "error", err)
		}
		done <- outcome{started, err}
	}()
	timer := time.NewTimer(syncQuick)
	defer timer.Stop()
	finished := false
	select {
	case o := <-done:
		if o.err != nil {
			return border.Answer{}, rulebook.RejectList(o.err.Error())
		}
		if !o.started {
			return border.Answer{}, border.Conflict("refresh_running", "a list synchronisation is running already", nil)
		}
		finished = true
	case <-timer.C:
	}
	var m strictjson.Members
	m.Bool("started", true)
	m.Bool("finished", finished)
	return c.Reply(http.StatusAccepted, m), nil
}

// Lists replicates lists of entities: chunks through the log, then staged.
type Lists interface {
	Stage(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (wire.Result, error)
}

// Syncer fetches, compiles and stages the published list, then activates it (POST
// /v1/ofac/sync). started is false when a run is already active.
type Syncer interface {
	Sync(ctx context.Context) (started bool, err error)
}

// ListLoader compiles published files into a list (POST /v1/ofac/snapshots). asOf dates what has
// no date of its own.
// The new list has the lists beside OFAC's as the active one has them.
type ListLoader func(files map[string][]byte, asOf time.Time, active *ofac.Index, held *wire.ListInfo) (entities []byte, info wire.ListInfo, err error)
