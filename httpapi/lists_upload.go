package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/judge"
	"railguard/strictjson"
)

// uploading lets one upload in at a time, since each may take hundreds of MiB of
// memory until its entities are read.
var uploading = make(chan struct{}, 1)

// uploadList is POST /v1/ofac/snapshots on the admin listener, the way in for a
// list where there is no network. The body is one published file as it is, its
// name in ?name=, or a ZIP archive of several; XML is known by its content
// without a name. The list of its entities is replicated and staged, not activated.
func uploadList(c *call) (Answer, error) {
	if c.api.deps.LoadList == nil || c.api.deps.Lists == nil {
		return Answer{}, listRejected([]string{"this node takes no list uploads"})
	}
	if c.r.ContentLength > c.route.max {
		return Answer{}, tooLarge(c.route.max)
	}
	select {
	case uploading <- struct{}{}:
		defer func() { <-uploading }()
	default:
		return Answer{}, conflict("refresh_running", "another upload is being read: one list is staged at a time", nil)
	}
	defer takeTime(c)()
	body, err := readUpload(c)
	if err != nil {
		return Answer{}, err
	}
	if len(body) == 0 {
		return Answer{}, listRejected([]string{"the upload is empty"})
	}
	name := c.query("name")
	if name == "" {
		name = "upload"
	}
	if len(name) > engine.FieldMax {
		return Answer{}, badQuery("name", "must have at most 256 bytes")
	}
	entities, info, found, err := c.api.deps.LoadList(map[string][]byte{name: body})
	if err != nil {
		return Answer{}, listRejected([]string{err.Error()})
	}
	if len(entities) > engine.ListMax {
		return Answer{}, listRejected([]string{"the list of entities is larger than 96 MiB"})
	}
	problems := judge.Content(&info, found)
	return stageUpload(c, entities, info, problems, "upload")
}

// takeTime gives a long call more than the server's timeouts, and an end of its
// own. The caller defers what it returns.
func takeTime(c *call) (release func()) {
	control := http.NewResponseController(c.w)
	until := time.Now().Add(listWork)
	_ = control.SetReadDeadline(until) // A writer that has none needs none.
	_ = control.SetWriteDeadline(until)
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithDeadline(c.ctx, until)
	return cancel
}

// readUpload reads the whole body into its own memory, not the call's.
func readUpload(c *call) ([]byte, error) {
	var body bytes.Buffer
	if length := c.r.ContentLength; length > 0 { // Within the bound: checked before.
		body.Grow(int(length) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, c.route.max)); err != nil {
		if int64(body.Len()) >= c.route.max {
			return nil, tooLarge(c.route.max)
		}
		return nil, brokenBody(err)
	}
	c.bodyRead = true
	return body.Bytes(), nil
}

// stageUpload replicates a list of entities and answers with its leaf.
func stageUpload(c *call, entities []byte, info wire.ListInfo, problems []string, origin string) (Answer, error) {
	result, err := stage(c, entities, info, problems, origin)
	if err != nil {
		return Answer{}, err
	}
	l, err := c.resultLeaf(result)
	if err != nil {
		return Answer{}, err
	}
	return c.renderLeaf(&l)
}

func stage(c *call, entities []byte, info wire.ListInfo, problems []string, origin string) (wire.Result, error) {
	var m strictjson.Members
	info.Size = uint32(len(entities))
	m.Object("list", listMembers(&info))
	m.Texts("problems", problems)
	m.Text("origin", origin)
	common, err := c.judge.Recorded(m)
	if err != nil {
		return wire.Result{}, err
	}
	common.Idem = nil // The body is no part of the key's scope on a raw route.
	result, err := c.api.deps.Lists.Stage(c.ctx, entities, info, common)
	if errors.Is(err, ofac.ErrEntities) {
		return result, listRejected([]string{err.Error()})
	}
	if err != nil {
		return result, proposalError(err)
	}
	if result.Code != wire.Applied {
		return result, listRejected([]string{"another list was staged at the same time: try again"})
	}
	c.happened = true
	return result, c.applied(wire.KindListChunk, result)
}

// renderStaged answers an upload.
func renderStaged(c *call, l *edge.Leaf, m *strictjson.Members) error {
	c.status = http.StatusCreated
	for _, name := range []string{"snapshotId", "source", "sha256", "sample", "publishedAt", "families", "missing", "counts", "walletsByChain", "quarantined", "warnings", "sizeBytes"} {
		m.Raw(name, l.Raw("list", name))
	}
	m.Text("stagedAt", l.Text("time"))
	l.CopyTo(m, "problems", "eventId")
	return nil
}

// rollbackList is POST /v1/ofac/{id}/rollback: a list of the history becomes
// active again; without an id, the one before the active list. Its
// entities are taken from the tables that this node has of it, whatever matcher those
// are for, and must be the same bytes as they were.
func rollbackList(c *call) (Answer, error) {
	f := c.fields()
	a := activation{force: true, rollback: true}
	a.reason, a.actor = f.RequiredText("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	_, _ = f.Flag("force") // Is forced in any case; what is no flag is refused all the same.
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	if replay, err := c.orReplay(errMoved); err != errMoved {
		return replay, err // Answered from the first call's leaf, or the key was used for another body.
	}
	defer takeTime(c)()
	info, err := rollbackTarget(c)
	if err != nil {
		return Answer{}, err
	}
	if c.r.PathValue("id") == "" {
		a.chosenAt = c.judge.Terms.Settings.ListVersion
	}
	if active := c.judge.Terms.Settings.List; active != nil && active.Digest == info.Digest {
		return activateAs(c, info, a)
	}
	list, err := openList(c, info)
	if err != nil {
		return Answer{}, err
	}
	entities, err := ofac.EncodeEntities(list.Entities(), list.Meta())
	if err != nil || ofac.Digest(entities) != info.Digest {
		return Answer{}, listRejected([]string{"this version writes that list as other bytes: upload its files again"})
	}
	if _, err := stage(c, entities, *info, nil, "rollback"); err != nil {
		return Answer{}, err
	}
	if err := c.judge.Confirm(); err != nil {
		return Answer{}, err
	}
	return activateAs(c, info, a)
}

// rollbackTarget is the list of the path, or the newest one that the active list
// replaced. Both are asked of the newest state there is: a node that lags behind would
// name another list, or take the target for the active one.
func rollbackTarget(c *call) (*wire.ListInfo, error) {
	if err := c.judge.Confirm(); err != nil {
		return nil, err
	}
	if c.r.PathValue("id") != "" {
		return pathList(c)
	}
	s := c.judge.Terms.Settings
	for i := len(s.History) - 1; i >= 0; i-- {
		if s.List != nil && s.History[i].Digest != s.List.Digest {
			return s.History[i], nil
		}
	}
	return nil, notFound("no earlier list")
}

// SyncReport is how the fetching of lists went on this node.
type SyncReport struct {
	Source  string    // "published", or the base URL of a mirror.
	Running bool      // A run is under way.
	TriedAt time.Time // When the last run began; zero: never.
	DoneAt  time.Time // When the last good run ended; zero: never.
	Failure string    // Why the last run failed; empty when it did not.
}

// syncReporter is a Syncer that tells how its runs went.
type syncReporter interface{ LastSync() SyncReport }

var (
	syncsDone   = metrics.NewCounter("railguard_ofac_syncs_total")
	syncsFailed = metrics.NewCounter("railguard_ofac_sync_failures_total")
)

// CountSync counts a run of whoever fetches lists, and its failure.
func CountSync(err error) {
	syncsDone.Inc()
	if err != nil {
		syncsFailed.Inc()
	}
}

// syncMembers is the member "sync" of GET /v1/ofac: how it went on the node that was
// asked. Fetching is the leader's work, so a follower may have nothing to tell.
func syncMembers(c *call) (strictjson.Members, bool) {
	var m strictjson.Members
	reporter, tells := c.api.deps.Sync.(syncReporter)
	if !tells {
		return m, false
	}
	report := reporter.LastSync()
	m.Text("node", c.api.deps.Node)
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

// syncQuick is how long POST /v1/ofac/sync waits for an answer of its own before
// it says 202 and lets the run go on.
const syncQuick = 300 * time.Millisecond

// syncLists is POST /v1/ofac/sync. The run outlives the call: it ends by itself,
// at the latest after listWork.
func syncLists(c *call) (Answer, error) {
	f := c.fields()
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	syncer := c.api.deps.Sync
	if syncer == nil {
		return Answer{}, listRejected([]string{"this node has no source to fetch lists from; upload the files instead"})
	}
	type outcome struct {
		started bool
		err     error
	}
	done := make(chan outcome, 1)
	log, requestID := c.api.log, c.asked.RequestID
	log.Info("list sync: asked for", "requestId", requestID, "keyId", c.key.ID, "reason", reason, "actor", actor)
	detached := context.WithoutCancel(c.ctx) // Taken here: the call is not the goroutine's to read.
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
			return Answer{}, listRejected([]string{o.err.Error()})
		}
		if !o.started {
			return Answer{}, conflict("refresh_running", "a list synchronisation is running already", nil)
		}
		finished = true
	case <-timer.C:
	}
	var m strictjson.Members
	m.Bool("started", true)
	m.Bool("finished", finished)
	return c.reply(http.StatusAccepted, m), nil
}
