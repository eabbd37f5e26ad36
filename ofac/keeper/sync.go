package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/fetch"
	"railguard/ofac/judge"
)

const (
	sourcePublished = "published"
	syncEveryMin    = time.Minute
	syncRetry       = 15 * time.Minute // Wait after a failed run. If there is no list, the wait is syncEveryMin.
	syncLook        = time.Second      // Interval at which a node checks whether a run is due.
	syncJitterShare = 20               // A run comes late by up to a twentieth of the interval.
)

// errRolledBack says that the fetched list was active before and that an operator went back from
// it. The keeper never undoes a rollback by itself. A list that another one replaced may come in
// force again: the preferred origin was away, and is back.
var errRolledBack = errors.New("the fetched list was active before and was rolled back: it is not activated again by itself")

// errNoSource says that this node has no source of lists.
var errNoSource = errors.New("this node has no --ofac-source")

// Report describes the fetching of lists on this node.
type Report struct {
	Source  string    // "published", or the base URL of a mirror.
	Running bool      // A run is under way.
	TriedAt time.Time // When the last run began; zero: there was none.
	DoneAt  time.Time // When the last successful run ended; zero: never.
	Failure string    // Why the last run failed; empty when it succeeded.
}

// listSync holds the origins of lists and the state of fetching them on this node.
type listSync struct {
	attempts []attempt
	adjust   func(*fetch.Source) // Set by tests: trusted authorities, shorter timeouts.

	busy   sync.Mutex // Held during a run; guards tags and tagged.
	tags   []fetch.Tag
	tagged [32]byte // Digest of the list to which the tags belong.

	mu     sync.Mutex // Guards report.
	report Report
}

// CheckSource refuses an --ofac-source that is neither "published" nor the base URL of a
// mirror.
func CheckSource(source string) error {
	_, err := attemptsAt(feeds, source)
	return err
}

// attemptsAt returns the origins of the feeds for --ofac-source. A mirror gets an attempt
// for each form of the lists. It may be in a private network, since an operator named it;
// the target of its redirects may not.
func attemptsAt(feeds []Feed, source string) ([]attempt, error) {
	switch source {
	case "":
		return nil, nil
	case sourcePublished:
		return attemptsOf(feeds, func(f *Feed) []fetch.Origin { return f.Published }), nil
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
	return attemptsOf(feeds, func(f *Feed) (origins []fetch.Origin) {
		for _, files := range f.Mirrored {
			origin := fetch.Mirror(source, files...)
			origin.Private, origin.PlainHTTP = true, u.Scheme == "http"
			origins = append(origins, origin)
		}
		return origins
	}), nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// keepSynced fetches whenever a run is due, while this node leads. Whether one is due
// follows from the replicated date of the last sync, so a new leader neither repeats nor
// forgets a run. With now the first run comes at once: a list just imported from a folder
// may be old.
func (k *Keeper) keepSynced(ctx context.Context, now bool) {
	every := max(k.config.Every, syncEveryMin)
	every += rand.N(every/syncJitterShare + 1)
	ticker := time.NewTicker(syncLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		settings := k.node.Settings()
		if settings.Genesis == nil || !now && !k.isDue(time.Now(), every, settings.List, settings.ListSynced) || !k.isLeader() {
			continue
		}
		now = false
		if _, err := k.Sync(ctx); err != nil {
			k.log.Warn("list sync: the old list stays", "error", err)
		}
	}
}

func (k *Keeper) isDue(now time.Time, every time.Duration, active *wire.ListInfo, synced engine.Time) bool {
	tried := k.LastSync().TriedAt
	switch {
	case active == nil || active.Sample:
		return now.Sub(tried) >= syncEveryMin
	case now.Sub(tried) < min(every, syncRetry):
		return false
	}
	return now.Sub(time.Unix(0, int64(synced))) >= every
}

// LastSync reports on this node's runs.
func (k *Keeper) LastSync() Report {
	k.sync.mu.Lock()
	defer k.sync.mu.Unlock()
	return k.sync.report
}

// Sync fetches the lists once; started is false when a run is already under way. A failed
// run keeps the old list. A node without a source confirms the embedded sample, and no other list.
func (k *Keeper) Sync(ctx context.Context) (started bool, err error) {
	if len(k.sync.attempts) == 0 {
		return true, k.confirmEmbedded(ctx)
	}
	if !k.sync.busy.TryLock() {
		return false, nil
	}
	defer k.sync.busy.Unlock()
	note := func(change func(*Report)) {
		k.sync.mu.Lock()
		defer k.sync.mu.Unlock()
		change(&k.sync.report)
	}
	note(func(r *Report) { r.Source, r.Running, r.TriedAt = k.config.Source, true, time.Now() })
	err = k.fetchLists(ctx)
	note(func(r *Report) {
		r.Running, r.Failure = false, ""
		if err != nil {
			r.Failure = err.Error()
		} else {
			r.DoneAt = time.Now()
		}
	})
	k.config.Ran(err)
	return true, err
}

// confirmEmbedded counts the sample as confirmed: this binary is all that publishes it.
func (k *Keeper) confirmEmbedded(ctx context.Context) error {
	list := k.node.Settings().List
	if !k.config.Dev || list == nil || !list.Sample {
		return errNoSource
	}
	return k.renewList(ctx, list.Digest, "embedded")
}

// fetchLists uses the first attempt whose lists may be active. A mirror's attempts are
// forms of the same list: it tries the next form only after an HTTP status error, as for a
// missing file, and not when the list is bad or the mirror does not answer.
func (k *Keeper) fetchLists(ctx context.Context) error {
	var failures, absent []error
	for _, origins := range k.sync.attempts {
		err := k.fetchFrom(ctx, origins)
		if err == nil {
			return nil
		}
		none := errors.Is(err, fetch.ErrStatus)
		if none {
			absent = append(absent, err)
		} else {
			failures = append(failures, err)
		}
		if ctx.Err() != nil || errors.Is(err, errRolledBack) || origins[0].Private && !none {
			break
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return errors.Join(absent...)
}

// fetchFrom downloads, checks, stages and activates a list. If the files make the active
// list again, it only renews that list's date.
func (k *Keeper) fetchFrom(ctx context.Context, origins attempt) error {
	settings := k.node.Settings()
	active := settings.List
	var known []fetch.Tag
	if active != nil && active.Digest == k.sync.tagged {
		known = k.sync.tags
	}
	got, err := k.download(ctx, origins, known)
	if err != nil {
		return err
	}
	if got.NotModified {
		k.log.Info("list sync: not modified", "origin", got.Origin)
		return k.renewList(ctx, active.Digest, got.Origin)
	}
	loaded, err := loadFiles(k.config.Feeds, got.Files, time.Now(), logProgress(k.log))
	if err != nil {
		return fmt.Errorf("%s: %w", got.Origin, err)
	}
	if active != nil && active.HasFurther() {
		list, err := k.node.ListByDigest(active.Digest)
		if err != nil {
			return fmt.Errorf("the lists beside OFAC's are not known: %w", err)
		}
		loaded.carry(list, active)
	}
	encoded, info, err := loaded.encode()
	if err != nil {
		return fmt.Errorf("%s: %w", got.Origin, err)
	}
	k.logWarnings("list sync", &loaded.Loaded)
	digest := info.Digest
	info.Origin = got.Origin
	if active != nil && digest == active.Digest {
		err = k.renewList(ctx, digest, got.Origin) // It is renewed despite its problems, because it is what the publisher has.
	} else {
		err = k.replaceList(ctx, settings, encoded, info)
	}
	if err == nil {
		k.sync.tags, k.sync.tagged = got.Tags, digest
		k.log.Info("list sync", "origin", got.Origin, "source", loaded.Meta.Source, "snapshot", ofac.SnapshotID(digest), "entities", len(loaded.Entities))
	}
	return err
}

// replaceList puts a fetched list in force if nothing speaks against it.
func (k *Keeper) replaceList(ctx context.Context, settings *fsm.Settings, encoded []byte, info wire.ListInfo) error {
	before := judge.Precedents{Active: settings.List, History: settings.History, Now: k.node.LogTime(), Fetched: true}
	if before.Active != nil && !before.Active.Sample {
		before.SecondOrigin = k.rankOf(info.Origin) > k.rankOf(before.Active.Origin)
		list, err := k.node.ListByDigest(before.Active.Digest)
		if err != nil {
			return fmt.Errorf("who would leave the list is not known: %w", err)
		}
		entities, _, err := ofac.DecodeEntities(encoded)
		if err != nil {
			return err
		}
		before.Left = judge.Left(list.Entities(), entities)
	}
	if judge.RolledBack(settings.History, info.Digest) {
		return fmt.Errorf("%s: %w", ofac.SnapshotID(info.Digest), errRolledBack)
	}
	if problems := judge.Replacement(before, &info, info.Found); len(problems) > 0 {
		return fmt.Errorf("%s: the fetched list is not taken: %q", info.Origin, problems)
	}
	return k.activateList(ctx, encoded, info, before.Left, k.encodeFragment("sync", info.Origin), settings.ListVersion)
}

// rankOf returns the place of an origin in the order of preference. What did not come from an
// origin of this node is preferred least.
func (k *Keeper) rankOf(origin string) int {
	at := slices.IndexFunc(k.sync.attempts, func(origins attempt) bool { return origins.name() == origin })
	if at < 0 {
		return len(k.sync.attempts)
	}
	return at
}

// name joins the names of the origins, each once.
func (a attempt) name() string {
	var names []string
	for _, origin := range a {
		if !slices.Contains(names, origin.Name) {
			names = append(names, origin.Name)
		}
	}
	return strings.Join(names, "+")
}

// download gets the files of all feeds. If those of only some feeds changed, it fetches the
// others too, since a list is read as a whole.
func (k *Keeper) download(ctx context.Context, origins attempt, known []fetch.Tag) (all fetch.Result, err error) {
	all.NotModified = true
	parts := make([]fetch.Result, len(origins))
	for _, tags := range [][]fetch.Tag{known, nil} {
		for i, origin := range origins {
			if len(parts[i].Files) > 0 {
				continue
			}
			source := fetch.Source{Origins: []fetch.Origin{origin}, Known: tags}
			if k.sync.adjust != nil {
				k.sync.adjust(&source)
			}
			if parts[i], err = fetch.Fetch(ctx, source); err != nil {
				return all, err
			}
			all.NotModified = all.NotModified && parts[i].NotModified
		}
		if all.NotModified {
			break
		}
	}
	for _, part := range parts {
		all.Files, all.Tags = append(all.Files, part.Files...), append(all.Tags, part.Tags...)
	}
	all.Origin = origins.name()
	return all, nil
}

func (k *Keeper) renewList(ctx context.Context, digest [32]byte, from string) error {
	record := wire.ListActivate{Digest: digest, Refresh: true, Common: wire.Common{Fragment: k.encodeFragment("sync", from)}}
	result, err := k.node.Propose(ctx, wire.KindListActivate, wire.Encode(&record))
	if err != nil {
		return err
	}
	return refusedList(result)
}
