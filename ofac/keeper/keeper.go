package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/judge"
	"railguard/ofac/sample"
)

// Cluster receives the lists. *cluster.Node implements it.
type Cluster interface {
	NodeID() string
	Role() string // "leader" on the one node that fetches.
	Settings() *fsm.Settings
	ReadIndex(ctx context.Context) (uint64, error) // The leader's commit index, confirmed by a quorum.
	WaitApplied(ctx context.Context, index uint64) error
	LogTime() engine.Time
	ListByDigest(digest [32]byte) (*ofac.Index, error) // A list that is or was in force.
	Stage(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (wire.Result, error)
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)
}

// Config says where lists come from.
type Config struct {
	Dir    string        // Folder of published files for the first import; empty: none.
	Source string        // See Origins.
	Every  time.Duration // Time between two fetches, at least a minute.
	Dev    bool          // If Dir is not set, the embedded sample is the first list.
	Ran    func(error)   // Called at the end of every fetch; must be set.
	Feeds  []Feed        // The publishers; nil means the table in feeds.go.
}

// Keeper puts lists into the log: the first import from a folder (or the sample on
// development nodes), and fetches from the source while this node leads.
type Keeper struct {
	node   Cluster
	config Config
	log    *slog.Logger
	cancel context.CancelFunc
	done   sync.WaitGroup
	sync   listSync
}

// New returns a keeper that does nothing before Start.
func New(node Cluster, config Config, log *slog.Logger) *Keeper {
	if config.Feeds == nil {
		config.Feeds = feeds
	}
	k := &Keeper{node: node, config: config, log: log, cancel: func() {}}
	var err error
	if k.sync.attempts, err = attemptsAt(config.Feeds, config.Source); err != nil {
		log.Error("--ofac-source: no list is fetched", "error", err)
	}
	return k
}

// Start starts the keeper's goroutine.
func (k *Keeper) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.done.Add(1)
	go k.keepLists(ctx)
}

// Stop stops the goroutine and waits for its end.
func (k *Keeper) Stop() {
	k.cancel()
	k.done.Wait()
}

// keepLists runs in the keeper's goroutine.
func (k *Keeper) keepLists(ctx context.Context) {
	defer k.done.Done()
	imported := k.firstImport(ctx)
	if k.config.Dev && !imported {
		k.confirmSample(ctx)
	}
	if len(k.sync.attempts) > 0 {
		k.keepSynced(ctx, imported)
	}
}

func (k *Keeper) isLeader() bool { return k.node.Role() == "leader" }

// firstImport activates the first list, on the leader of a cluster that has none, and
// reports whether it did. It tries a refused folder again every minute, so that an operator
// can repair it without a restart.
func (k *Keeper) firstImport(ctx context.Context) bool {
	if k.config.Dir == "" && !k.config.Dev {
		if k.config.Source == "" {
			k.tellMissing(ctx)
		}
		return false
	}
	for wait := 20 * time.Millisecond; ctx.Err() == nil; {
		settings := k.node.Settings()
		if settings.List != nil {
			return false
		}
		if settings.Genesis != nil && k.isLeader() && k.hasNone(ctx) == nil {
			err := k.importFirst(ctx)
			if err == nil {
				return true
			}
			if errors.Is(err, errMeanwhile) {
				return false
			}
			k.log.Error("first list import: screening answers 503 until there is a list", "error", err)
			wait = time.Minute
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return false
}

// confirmSample counts the embedded list as confirmed, on the node that leads after a start: nobody
// publishes a newer one. A cluster that goes on with it for ofac.reviewAge reviews its payments
// until it starts again or is asked to sync.
func (k *Keeper) confirmSample(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		list := k.node.Settings().List
		if list == nil || !list.Sample {
			return
		}
		if k.isLeader() {
			if err := k.confirmEmbedded(ctx); err != nil {
				k.log.Warn("the sample list is not confirmed", "error", err)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

var errMeanwhile = errors.New("another list was activated meanwhile")

// hasNone returns nil if the cluster has no list. It fails if it has one or if that cannot
// be known. A node may lead before it has read its own log to the end; until then its state
// may show an old list or none.
func (k *Keeper) hasNone(ctx context.Context) error {
	index, err := k.node.ReadIndex(ctx)
	if err != nil {
		return err
	}
	if err := k.node.WaitApplied(ctx, index); err != nil {
		return err
	}
	if k.node.Settings().List != nil {
		return errMeanwhile
	}
	return nil
}

// tellMissing logs once, on the leader, that calls are refused because there is no list.
func (k *Keeper) tellMissing(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		settings := k.node.Settings()
		if settings.List != nil {
			return
		}
		if settings.Genesis != nil && k.isLeader() {
			k.log.Warn("no sanctions list: screening answers 503; run `railguard ofac import DIR`, or give --ofac-dir")
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (k *Keeper) importFirst(ctx context.Context) error {
	if k.config.Dir == "" {
		encoded, err := ofac.EncodeEntities(sample.Entities(), sample.Meta())
		if err != nil {
			return err
		}
		info, err := describeList(encoded)
		if err != nil {
			return err
		}
		return k.activateList(ctx, encoded, info, nil, k.encodeFragment("embedded sample", ""), 0)
	}
	started := time.Now()
	loaded, err := loadFolder(k.config.Feeds, k.config.Dir, logProgress(k.log))
	if err != nil {
		return err
	}
	k.logWarnings("list import", &loaded.Loaded)
	dateUndated(&loaded.Loaded, newestFile(k.config.Dir)) // CSV files carry no date; the modification time of the newest file is the best substitute.
	encoded, info, err := loaded.encode()
	if err != nil {
		return err
	}
	info.Origin = "folder"
	if problems := judge.Replacement(judge.Precedents{Now: k.node.LogTime()}, &info, loaded.found); len(problems) > 0 {
		return fmt.Errorf("%s is not taken (`railguard ofac import --force` can): %q", k.config.Dir, problems)
	}
	if err := k.activateList(ctx, encoded, info, nil, k.encodeFragment("first import", ""), 0); err != nil {
		return err
	}
	k.log.Info("list imported", "source", loaded.Meta.Source, "entities", len(loaded.Entities), "bytes", len(encoded), "took", time.Since(started).Round(time.Millisecond))
	return nil
}

// logWarnings logs the warnings about the files, and as an error the number of entities
// that were left out.
func (k *Keeper) logWarnings(what string, loaded *feed.Loaded) {
	for _, warning := range loaded.Warnings {
		k.log.Warn(what, "warning", warning)
	}
	if left := len(loaded.Quarantined); left > 0 {
		k.log.Error(what+": malformed entities are left out and cannot be matched", "count", left)
	}
}

// newestFile returns the newest modification time of a folder's files, ns UTC.
func newestFile(folder string) (newest int64) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			newest = max(newest, info.ModTime().UnixNano())
		}
	}
	return newest
}

// dateUndated gives the sources without a date the one that is known otherwise: of the files, or
// as a person says.
func dateUndated(loaded *feed.Loaded, date int64) {
	if date == 0 {
		return
	}
	text := ""
	for i, part := range strings.Split(loaded.Meta.Source, feed.SourceJoint) {
		name, _, _ := strings.Cut(part, "_")
		source, known := ofac.SourceNamed(name)
		if known && loaded.Meta.AsOf[source] == 0 {
			part += " " + feed.DateText(date)
			loaded.Meta.AsOf[source] = date
			loaded.Meta.PublishedAt = max(loaded.Meta.PublishedAt, date)
		}
		if i > 0 {
			text += feed.SourceJoint
		}
		text += part
	}
	loaded.Meta.Source = text
}

// isUndated reports whether a source of the files has no date.
func isUndated(loaded *feed.Loaded) bool {
	for part := range strings.SplitSeq(loaded.Meta.Source, feed.SourceJoint) {
		name, _, _ := strings.Cut(part, "_")
		if source, known := ofac.SourceNamed(name); known && loaded.Meta.AsOf[source] == 0 {
			return true
		}
	}
	return false
}

// encodeFragment makes the part of a list's audit records that says where the list came
// from.
func (k *Keeper) encodeFragment(origin, from string) []byte {
	members := struct {
		Origin string `json:"origin"`
		From   string `json:"from,omitempty"`
		Node   string `json:"node"`
	}{origin, from, k.node.NodeID()}
	raw, err := json.Marshal(members)
	if err != nil {
		panic("BUG: fragment of a list: " + err.Error())
	}
	return raw[1 : len(raw)-1]
}

// activateList stages and activates an encoded list, provided that the list version is
// still base. Base 0 means that there must still be no list.
func (k *Keeper) activateList(ctx context.Context, encoded []byte, info wire.ListInfo, left *wire.ListLeft, fragment []byte, base uint64) error {
	common := wire.Common{Fragment: fragment}
	if result, err := k.node.Stage(ctx, encoded, info, false, common); err != nil || result.Code == wire.Refused {
		return errors.Join(err, refusedList(result))
	}
	result, err := k.node.Propose(ctx, wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: info.Digest, Base: wire.ListBase(base), Left: left, Common: common}))
	if err != nil {
		return err
	}
	return refusedList(result)
}

func refusedList(result wire.Result) error {
	switch result.Code {
	case wire.Refused:
		return fmt.Errorf("the log refused the list (refusal %d)", result.Refusal)
	case wire.Stale:
		return errMeanwhile
	}
	return nil
}

// describeList returns the log's description of an encoded list. It does not compile the
// list: staging does, and refuses a list of which no node could make tables.
func describeList(encoded []byte) (wire.ListInfo, error) {
	entities, meta, err := ofac.DecodeEntities(encoded)
	if err != nil {
		return wire.ListInfo{}, err
	}
	info := wire.ListInfo{
		Digest: ofac.Digest(encoded), Source: meta.Source, Sample: meta.Sample, PublishedAt: engine.Time(meta.PublishedAt),
		Entries: uint32(len(entities)), Size: uint32(len(encoded)),
	}
	var parts [ofac.SourcesMax]wire.ListSource
	for i := range entities {
		entity := &entities[i]
		info.Names += uint32(len(entity.Names))
		for rest := entity.Lists; rest != 0; rest &= rest - 1 {
			part := &parts[rest.First()]
			part.Entries++
			part.Names += uint32(len(entity.Names))
			part.Wallets += uint32(len(entity.Addresses))
		}
		switch entity.Type {
		case ofac.Individual:
			info.Individuals++
		case ofac.Company:
			info.Companies++
		case ofac.Vessel:
			info.Vessels++
		case ofac.Aircraft:
			info.Aircraft++
		}
	}
	for _, source := range ofac.Sources() {
		if meta.IsFurther(source) {
			break
		}
		if count := parts[source].Entries; count > 0 {
			info.AddSource(wire.ListSource{Name: source.String(), Entries: count, AsOf: engine.Time(meta.AsOf[source])})
		}
	}
	describeFurther(&info, &meta, &parts)
	for _, chain := range feed.CountWallets(ofOFAC(entities)) {
		info.Wallets += uint32(chain.Count)
		info.Chains = append(info.Chains, wire.ChainCount{Chain: chain.Chain, Count: uint32(chain.Count)})
	}
	return info, nil
}

// Bounds of the warnings in the log. All warnings are in the logs of the node that read the
// files.
const (
	warningsKept    = 16
	warningBytesMax = 160
)

// addWarnings adds the warnings about the files to a description. Malformed entities and
// digital currency addresses of unknown types come before the rest.
func addWarnings(info *wire.ListInfo, loaded *feed.Loaded) {
	info.Quarantined = uint32(len(loaded.Quarantined))
	for _, warning := range loaded.Warnings {
		if len(info.Warnings) == warningsKept-1 && len(loaded.Warnings) > warningsKept {
			info.Warnings = append(info.Warnings, fmt.Sprintf("%d more: see the log of the node that read the files", len(loaded.Warnings)-len(info.Warnings)))
			return
		}
		info.Warnings = append(info.Warnings, cutWarning(warning))
	}
}

func cutWarning(warning string) string {
	if len(warning) > warningBytesMax {
		warning = strings.ToValidUTF8(warning[:warningBytesMax], "") + "..."
	}
	return warning
}

// logProgress returns a function that logs the progress of a load: at most once a second,
// and its end once.
func logProgress(log *slog.Logger) func(feed.Progress) {
	var last time.Time
	ended := false
	return func(p feed.Progress) {
		ends := p.Read >= p.Total && !ended
		if time.Since(last) < time.Second && !ends {
			return
		}
		last, ended = time.Now(), ended || ends
		log.Info("list import", "file", p.File, "read", p.Read, "of", p.Total)
	}
}

// ErrUndated says that files have no date of their own, as CSV files have none, and that none was
// given for them.
var ErrUndated = errors.New("the files have no date of their own: say as of when they are")

// EncodeFiles turns an uploaded set of files into the canonical list of entities, and describes
// it. asOf dates what has no date of its own; zero: such files are refused.
//
// Files of OFAC's say nothing of the lists beside it: the new list has them as the active one has.
func EncodeFiles(files map[string][]byte, asOf time.Time, active *ofac.Index, held *wire.ListInfo) ([]byte, wire.ListInfo, error) {
	list := make([]feed.File, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, feed.File{Name: name, Data: files[name]})
	}
	loaded, err := loadFiles(feeds, list, time.Time{}, nil)
	if err != nil {
		return nil, wire.ListInfo{}, err
	}
	if !asOf.IsZero() {
		dateUndated(&loaded.Loaded, asOf.UnixNano())
	}
	if isUndated(&loaded.Loaded) {
		return nil, wire.ListInfo{}, ErrUndated
	}
	loaded.carry(active, held)
	encoded, info, err := loaded.encode()
	info.Origin, info.Uploaded = "upload", true
	return encoded, info, err
}
