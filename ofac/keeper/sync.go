package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/fetch"
	"railguard/ofac/judge"
)

const (
	sourcePublished = "published"
	syncEveryMin    = time.Minute
	syncRetry       = 15 * time.Minute // After a run that failed; where there is no list, syncEveryMin.
	syncLook        = time.Second      // Between two looks at whether a run is due.
	syncJitterShare = 20               // A run comes up to a twentieth of the interval late.
)

// errReplaced says that the fetched list was active before and was replaced by
// hand: a machine does not undo a rollback.
var errReplaced = errors.New("the fetched list was active before and was rolled back: it is not activated again by itself")

// errNoSource says that nobody told this node where lists come from.
var errNoSource = errors.New("this node has no --ofac-source")

// Report is how the fetching of lists went on this node.
type Report struct {
	Source  string    // "published", or the base URL of a mirror.
	Running bool      // A run is under way.
	TriedAt time.Time // When the last run began; zero: never.
	DoneAt  time.Time // When the last good run ended; zero: never.
	Failure string    // Why the last run failed; empty when it did not.
}

// listSync is where lists are fetched from, and how that went on this node.
type listSync struct {
	origins []fetch.Origin
	adjust  func(*fetch.Source) // Of tests: authorities to trust, shorter patience.

	busy   sync.Mutex // Held by the one run at a time, which owns tags and tagged.
	tags   []fetch.Tag
	tagged [32]byte // Digest of the list that the tags stand for.

	mu     sync.Mutex // Of report.
	report Report
}

// Origins reads --ofac-source: "published", or the base URL of a mirror. A mirror
// is looked through for every form of the lists. It may be in a private network,
// since an operator named it; where it redirects to may not.
func Origins(source string) ([]fetch.Origin, error) {
	switch source {
	case "":
		return nil, nil
	case sourcePublished:
		return []fetch.Origin{fetch.SLS(), fetch.Treasury()}, nil
	}
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is neither \"published\" nor the base URL of a mirror (https://mirror.example/ofac)", source)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the base URL of a mirror has no user name, query or fragment")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("%s: a mirror is asked over https, but for one on this machine's loopback address", source)
	}
	origins := []fetch.Origin{
		fetch.Mirror(source),
		fetch.Mirror(source, "SDN_ENHANCED.ZIP", "CONS_ENHANCED.ZIP"),
		fetch.Mirror(source, "SDN_ADVANCED.XML", "CONS_ADVANCED.XML"),
	}
	for i := range origins {
		origins[i].Private, origins[i].PlainHTTP = true, u.Scheme == "http"
	}
	return origins, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// keepSynced fetches whenever a run is due, while this node leads. What is due
// follows from the replicated date of the last sync, so that a new leader neither
// starts again nor forgets; a list that was just imported from a folder may be old, and
// the first run comes at once.
func (d *Keeper) keepSynced(ctx context.Context, now bool) {
	every := max(d.config.Every, syncEveryMin)
	every += rand.N(every/syncJitterShare + 1)
	ticker := time.NewTicker(syncLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		settings := d.node.Settings()
		if settings.Genesis == nil || !now && !d.due(time.Now(), every, settings.List, settings.ListSynced) || !d.leads(ctx) {
			continue
		}
		now = false
		if _, err := d.Sync(ctx); err != nil {
			d.log.Warn("list sync: the old list stays", "error", err)
		}
	}
}

// due says whether it is time to fetch.
func (d *Keeper) due(now time.Time, every time.Duration, active *wire.ListInfo, synced engine.Time) bool {
	tried := d.LastSync().TriedAt
	switch {
	case active == nil || active.Sample:
		return now.Sub(tried) >= syncEveryMin
	case now.Sub(tried) < min(every, syncRetry):
		return false
	}
	return now.Sub(time.Unix(0, int64(synced))) >= every
}

// LastSync tells how this node's runs went.
func (d *Keeper) LastSync() Report {
	d.sync.mu.Lock()
	defer d.sync.mu.Unlock()
	return d.sync.report
}

// Sync fetches the lists once; started is false when a run is under way. A failed
// run keeps the old list.
func (d *Keeper) Sync(ctx context.Context) (started bool, err error) {
	if len(d.sync.origins) == 0 {
		return true, errNoSource
	}
	if !d.sync.busy.TryLock() {
		return false, nil
	}
	defer d.sync.busy.Unlock()
	note := func(change func(*Report)) {
		d.sync.mu.Lock()
		defer d.sync.mu.Unlock()
		change(&d.sync.report)
	}
	note(func(r *Report) { r.Source, r.Running, r.TriedAt = d.config.Source, true, time.Now() })
	err = d.fetch(ctx)
	note(func(r *Report) {
		r.Running, r.Failure = false, ""
		if err != nil {
			r.Failure = err.Error()
		} else {
			r.DoneAt = time.Now()
		}
	})
	d.config.Ran(err)
	return true, err
}

// fetch takes the list of the first origin that has one which may be active. A mirror's
// origins are forms of one list: another form is asked for where there is none of the
// one before, not where that one is bad or the mirror does not answer.
func (d *Keeper) fetch(ctx context.Context) error {
	var failures, absent []error
	for i := range d.sync.origins {
		err := d.fetchFrom(ctx, d.sync.origins[i])
		if err == nil {
			return nil
		}
		none := errors.Is(err, fetch.ErrStatus)
		if none {
			absent = append(absent, err)
		} else {
			failures = append(failures, err)
		}
		if ctx.Err() != nil || errors.Is(err, errReplaced) || d.sync.origins[i].Private && !none {
			break
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return errors.Join(absent...)
}

// fetchFrom downloads, checks, stages and activates. Files that are the same as last
// time only renew the date of the active list, if it is they that it was made of.
func (d *Keeper) fetchFrom(ctx context.Context, origin fetch.Origin) error {
	settings := d.node.Settings()
	active := settings.List
	source := fetch.Source{Origins: []fetch.Origin{origin}}
	if active != nil && active.Digest == d.sync.tagged {
		source.Known = d.sync.tags
	}
	if d.sync.adjust != nil {
		d.sync.adjust(&source)
	}
	got, err := fetch.Fetch(ctx, source)
	if err != nil {
		return err
	}
	if got.NotModified {
		d.log.Info("list sync: not modified", "origin", got.Origin)
		return d.refresh(ctx, active.Digest, got.Origin)
	}
	loaded, err := feed.LoadFiles(got.Files, progressLog(d.log))
	if err != nil {
		return fmt.Errorf("%s: %w", got.Origin, err)
	}
	encoded, info, err := encode(&loaded)
	if err != nil {
		return fmt.Errorf("%s: %w", got.Origin, err)
	}
	d.tell("list sync", &loaded)
	digest := info.Digest
	problems := judge.Replacement(active, &info, feed.Inspect(&loaded, feed.DefaultCanaries()))
	switch {
	case active != nil && digest == active.Digest:
		err = d.refresh(ctx, digest, got.Origin) // Whatever speaks against it, it is what is published.
	case len(problems) > 0:
		err = fmt.Errorf("%s: the fetched list is not taken: %q", got.Origin, problems)
	case wasActive(settings.History, digest):
		err = fmt.Errorf("%s: %w", ofac.SnapshotID(digest), errReplaced)
	default:
		err = d.put(ctx, encoded, info, d.fragment("sync", got.Origin), settings.ListVersion)
	}
	if err == nil {
		d.sync.tags, d.sync.tagged = got.Tags, digest
		d.log.Info("list sync", "origin", got.Origin, "source", loaded.Meta.Source, "snapshot", ofac.SnapshotID(digest), "entities", len(loaded.Entities))
	}
	return err
}

func wasActive(history []*wire.ListInfo, digest [32]byte) bool {
	for _, info := range history {
		if info.Digest == digest {
			return true
		}
	}
	return false
}

func (d *Keeper) refresh(ctx context.Context, digest [32]byte, from string) error {
	record := wire.ListActivate{Digest: digest, Refresh: true, Common: wire.Common{Fragment: d.fragment("sync", from)}}
	result, err := d.node.Propose(ctx, wire.KindListActivate, wire.Encode(&record))
	if err != nil {
		return err
	}
	return refusedList(result)
}
