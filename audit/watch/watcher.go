package watch

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"railguard/audit/note"
)

// Kinds of findings. An alarm is something that a log must never do or that somebody must
// look at.
const (
	KindFork      = "fork"      // Alarm: there are two trees of which neither continues the other.
	KindRollback  = "rollback"  // Alarm: a checkpoint was signed later but is smaller.
	KindSignature = "signature" // Alarm: the trusted keys did not sign a checkpoint.
	KindLineage   = "lineage"   // Alarm: the log goes on under another name.
	KindGap       = "gap"       // Alarm: the log gives no proof that one checkpoint continues the last.
	KindSilence   = "silence"   // Alarm: for too long no checkpoint has verified.
	KindStale     = "stale"     // Alarm: the tree has not grown for too long.
	KindList      = "list"      // Alarm: the log names another sanctions list than before as the same version, or an earlier one.

	KindUnwitnessed = "unwitnessed" // Alarm: for too long the demanded witnesses have signed no tree as large as the log's.

	KindFirst    = "first"    // The first checkpoint was taken.
	KindGrown    = "grown"    // A new one was verified to continue the last.
	KindSame     = "same"     // There is no new checkpoint.
	KindBehind   = "behind"   // The server lags: its checkpoint is smaller than the last verified one.
	KindAway     = "away"     // The server gave no answer.
	KindRotation = "rotation" // The log has new keys, which the old ones endorse.
	KindMoved    = "moved"    // The log has another name, which the operator accepted.
	KindListed   = "listed"   // Another sanctions list came in force.
)

// Finding is one result of a Step.
type Finding struct {
	Kind     string
	Text     string
	Source   string // The address that was asked; "" means all.
	Size     uint64 // Size of the tree in the address's checkpoint, if that verified.
	Evidence [][]byte
	File     string // The file with the evidence of an alarm.
	New      bool   // The last Step did not find this alarm.
}

// Alarm reports whether the finding is an alarm.
func (f *Finding) Alarm() bool {
	switch f.Kind {
	case KindFork, KindRollback, KindSignature, KindLineage, KindGap, KindSilence, KindStale, KindList, KindUnwitnessed:
		return true
	}
	return false
}

// Options say when a watcher raises an alarm.
type Options struct {
	Silence     time.Duration // Alarm when no checkpoint has verified, or no proof was given, for so long; 0: never.
	Stale       time.Duration // Alarm when the tree has not grown for so long; 0: never.
	Unwitnessed time.Duration // Alarm when demanded witnesses lag behind the log for so long; 0: never.
	Lineage     string        // A new name of the log, which the operator accepts.
}

// Watcher follows a log at one or several addresses, which must all show the same tree. One
// goroutine uses it.
type Watcher struct {
	state   *State
	sources []*Source
	options Options

	openAlarms       map[string]string // The alarms of the last step and their files.
	verifiedAt       time.Time         // When a checkpoint last verified.
	comparedCosigned []byte            // The last cosigned checkpoint that was compared with the log's tree and did not differ.
	unwitnessed      unwitnessed
	unprovenSince    time.Time // Since when the newest checkpoint lacks a proof; zero if it does not.
}

// New returns a watcher. The delays of its options count from now.
func New(state *State, sources []*Source, options Options, now time.Time) *Watcher {
	return &Watcher{state: state, sources: sources, options: options, verifiedAt: now}
}

// unwitnessed is a tree that the log claims and that the demanded witnesses have not signed.
type unwitnessed struct {
	size  uint64 // 0: there is none.
	since time.Time
}

// Step checks every address once. It returns an error only for the watcher's own folder.
func (w *Watcher) Step(ctx context.Context, now time.Time) ([]Finding, error) {
	var found []Finding
	for _, source := range w.sources {
		more, err := w.checkSource(ctx, source, now)
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	w.compareWitnessed(ctx, now)
	found = append(found, w.checkDelays(now)...)
	more, err := w.checkCosigned(ctx)
	if err != nil {
		return found, err
	}
	found = append(found, more...)
	return found, w.keepAlarms(found, now)
}

// keepAlarms writes each alarm with its evidence to a file, unless the last Step did so.
func (w *Watcher) keepAlarms(found []Finding, now time.Time) error {
	open := map[string]string{}
	for i := range found {
		f := &found[i]
		if !f.Alarm() {
			continue
		}
		name := f.Kind + " " + f.Source
		if f.File = w.openAlarms[name]; f.File == "" {
			var err error
			if f.File, err = w.state.keepAlarm(f, now); err != nil {
				return err
			}
			f.New = true
		}
		open[name] = f.File
	}
	w.openAlarms = open
	return nil
}

// checkDelays returns an alarm for every delay of the options that has passed.
func (w *Watcher) checkDelays(now time.Time) (found []Finding) {
	if quiet := now.Sub(w.verifiedAt); w.options.Silence > 0 && quiet > w.options.Silence {
		found = append(found, Finding{Kind: KindSilence, Text: fmt.Sprintf("no checkpoint that verifies for %s", quiet.Round(time.Second))})
	}
	if !w.unprovenSince.IsZero() && w.options.Silence > 0 && now.Sub(w.unprovenSince) > w.options.Silence {
		found = append(found, Finding{Kind: KindGap, Text: fmt.Sprintf("for %s the log has not shown how its newest tree continues the last one that was verified", now.Sub(w.unprovenSince).Round(time.Second))})
	}
	if lag := now.Sub(w.unwitnessed.since); w.unwitnessed.size > 0 && w.options.Unwitnessed > 0 && lag > w.options.Unwitnessed {
		found = append(found, Finding{Kind: KindUnwitnessed, Size: w.unwitnessed.size, Text: fmt.Sprintf("for %s the witnesses that are demanded have not signed the log's tree of %d leaves, or a larger one", lag.Round(time.Second), w.unwitnessed.size)})
	}
	point, _, taken, ok := w.state.Latest()
	if still := now.Sub(taken); ok && w.options.Stale > 0 && still > w.options.Stale {
		found = append(found, Finding{Kind: KindStale, Size: point.Size, Text: fmt.Sprintf("the tree has had %d leaves for %s", point.Size, still.Round(time.Second))})
	}
	return found
}

// compareWitnessed notes since when the log has a larger tree than the demanded witnesses signed.
// The log's own checkpoint is not verified: whoever forges a larger one causes an alarm that is due.
func (w *Watcher) compareWitnessed(ctx context.Context, now time.Time) {
	if w.options.Unwitnessed == 0 || len(note.Witnesses(w.state.Keys())) == 0 {
		return
	}
	signed, _, _, _ := w.state.Latest()
	if w.unwitnessed.size <= signed.Size {
		w.unwitnessed = unwitnessed{}
	}
	for _, source := range w.sources {
		if w.unwitnessed.size > 0 {
			return
		}
		text, err := source.Checkpoint(ctx)
		if err != nil {
			continue
		}
		if claimed, err := note.Parse(text); err == nil && claimed.Origin == w.knownOrigin() && claimed.Size > signed.Size {
			w.unwitnessed = unwitnessed{claimed.Size, now}
		}
	}
}

// checkSource fetches the checkpoint of one address, verifies it and compares it with the last.
func (w *Watcher) checkSource(ctx context.Context, source *Source, now time.Time) ([]Finding, error) {
	away := func(err error) []Finding {
		return []Finding{{Kind: KindAway, Source: source.Base, Text: err.Error()}}
	}
	signed, err := source.Head(ctx, w.state.Keys())
	if err != nil {
		return away(err), nil
	}
	if _, err := note.Parse(signed); err != nil { // The answer came from a proxy, not from the log.
		return away(err), nil
	}
	if w.state.Keys() == "" { // At first use the watcher trusts the keys that the log lists.
		listed, err := source.Keys(ctx)
		if err != nil {
			return away(err), nil
		}
		if note.CheckKeys(listed) != nil {
			return away(errors.New("it lists no verifier keys")), nil //nolint:nilerr // Told as a finding.
		}
		if err := w.state.SetKeys(listed); err != nil {
			return nil, err
		}
	}
	point, found, err := w.verifyCheckpoint(ctx, source, signed)
	if err != nil || len(found) > 0 && found[len(found)-1].Alarm() || point == nil {
		return found, err
	}
	w.verifiedAt = now
	more, err := w.judgeCheckpoint(ctx, source, point, signed, now)
	return append(found, more...), err
}

// verifyCheckpoint checks who signed a checkpoint, and trusts new keys of the log that the old
// ones endorse. If it returns no checkpoint, the last finding says why.
func (w *Watcher) verifyCheckpoint(ctx context.Context, source *Source, signed []byte) (*note.Checkpoint, []Finding, error) {
	point, err := note.Verify(signed, w.state.Keys())
	if err == nil {
		return &point, nil, nil
	}
	said, _ := note.Parse(signed)
	last, kept, _, known := w.state.Latest()
	if name := w.knownOrigin(); said.Origin != name {
		return nil, []Finding{{
			Kind: KindLineage, Source: source.Base, Evidence: [][]byte{kept, signed},
			Text: fmt.Sprintf("the log calls itself %q; it was %q: a lost majority was recovered, a backup was restored, or this is another log. Compare its keys, give them, and accept the name", said.Origin, name),
		}}, nil
	}
	wrong := Finding{Kind: KindSignature, Source: source.Base, Text: "checkpoint of " + said.Origin + ": " + err.Error(), Evidence: [][]byte{signed}}
	listed, keysErr := source.Keys(ctx)
	if keysErr != nil {
		return nil, []Finding{{Kind: KindAway, Source: source.Base, Text: keysErr.Error()}}, nil //nolint:nilerr // Told as a finding.
	}
	trusted, steps, err := note.Succession(w.state.Keys(), listed)
	if err != nil || len(steps) == 0 || known && steps[0].From <= last.Size {
		return nil, []Finding{wrong}, nil //nolint:nilerr // Told as a finding.
	}
	if point, err = note.Verify(signed, trusted); err != nil {
		return nil, []Finding{wrong}, nil //nolint:nilerr // Told as a finding.
	}
	if err := w.state.SetKeys(trusted); err != nil {
		return nil, nil, err
	}
	return &point, []Finding{{
		Kind: KindRotation, Source: source.Base, Size: point.Size,
		Text: fmt.Sprintf("from size %d on the log is signed by new keys, which the old ones endorse", steps[len(steps)-1].From),
	}}, nil
}

// knownOrigin returns the name of the watched log, "" before it is known.
func (w *Watcher) knownOrigin() string {
	if point, _, _, ok := w.state.Latest(); ok {
		return point.Origin
	}
	return note.NewestOrigin(w.state.Keys())
}

// judgeCheckpoint compares a checkpoint that the log signed with the last one.
func (w *Watcher) judgeCheckpoint(ctx context.Context, source *Source, point *note.Checkpoint, signed []byte, now time.Time) ([]Finding, error) {
	last, kept, _, known := w.state.Latest()
	finding := func(kind, format string, args ...any) []Finding {
		f := Finding{Kind: kind, Source: source.Base, Size: point.Size, Text: fmt.Sprintf(format, args...)}
		if f.Alarm() {
			f.Evidence = [][]byte{kept, signed}
		}
		return []Finding{f}
	}
	if !known {
		return finding(KindFirst, "%s: %d leaves", point.Origin, point.Size), w.state.acceptCheckpoint(*point, signed, now)
	}
	if point.Origin != last.Origin {
		return w.followLineage(ctx, source, point, signed, now)
	}
	older, newer := &last, point
	if point.Size < last.Size {
		older, newer = point, &last
		if point.Time > last.Time && last.Time > 0 {
			return finding(KindRollback, "%d leaves, signed as of %s; before, as of %s, there were %d", point.Size, formatTime(point.Time), formatTime(last.Time), last.Size), nil
		}
	}
	err := w.proveConsistency(ctx, source, older, newer)
	switch {
	case errors.Is(err, ErrFork):
		return finding(KindFork, "%v", err), nil
	case point.Size < last.Size: // A server that lags cannot prove a tree that it does not have yet.
		return finding(KindBehind, "%d leaves of %d", point.Size, last.Size), nil
	case err != nil:
		if w.unprovenSince.IsZero() {
			w.unprovenSince = now
		}
		return finding(KindAway, "no proof from %d to %d leaves: %v", last.Size, point.Size, err), nil
	}
	w.unprovenSince = time.Time{}
	kind, text := compareLists(&last, point)
	if kind == KindList {
		return finding(kind, "%s", text), nil
	}
	if point.Size == last.Size {
		return finding(KindSame, "%d leaves", point.Size), nil
	}
	found := finding(KindGrown, "%d leaves, continuing %d", point.Size, last.Size)
	if kind != "" {
		found = append(found, finding(kind, "%s", text)...)
	}
	return found, w.state.acceptCheckpoint(*point, signed, now)
}

// compareLists compares the sanctions lists that two checkpoints of one log name, of which the
// second continues the first. A version of the list has one digest for ever, and versions count
// up. The kind is empty if nothing changed.
func compareLists(last, point *note.Checkpoint) (kind, text string) {
	was, known := last.InForce()
	is, named := point.InForce()
	switch {
	case known && !named:
		return KindList, fmt.Sprintf("it names no sanctions list any more; it was version %d, %x", was.Version, was.Digest)
	case !named || is == was:
		return "", ""
	case known && is.Version == was.Version:
		return KindList, fmt.Sprintf("version %d of the sanctions list was %x, and now it is %x", is.Version, was.Digest, is.Digest)
	case known && is.Version < was.Version:
		return KindList, fmt.Sprintf("version %d of the sanctions list is in force, and before it was version %d", is.Version, was.Version)
	}
	return KindListed, fmt.Sprintf("version %d of the sanctions list is in force: %s", is.Version, hex.EncodeToString(is.Digest[:]))
}

// proveConsistency asks for a proof at the address that showed the checkpoint and then at the
// others, because a server that lags has no proof for the newest tree.
func (w *Watcher) proveConsistency(ctx context.Context, source *Source, older, newer *note.Checkpoint) error {
	_, err := Prove(ctx, source, older, newer)
	for _, other := range w.sources {
		if err == nil || errors.Is(err, ErrFork) {
			break
		}
		if other != source {
			_, err = Prove(ctx, other, older, newer)
		}
	}
	return err
}

// checkCosigned checks that the checkpoint cosigned by this witness belongs to the tree that
// the log shows.
func (w *Watcher) checkCosigned(ctx context.Context) ([]Finding, error) {
	last, kept, _, known := w.state.Latest()
	if !known {
		return nil, nil
	}
	signed, err := w.state.Cosigned(last.Origin)
	if err != nil || signed == nil || bytes.Equal(signed, w.comparedCosigned) {
		return nil, err
	}
	point, err := note.Parse(signed) // It was verified before it was kept.
	if err != nil {
		return nil, fmt.Errorf("cosigned checkpoint of %s: %w", last.Origin, err)
	}
	older, newer := &last, &point
	if point.Size < last.Size {
		older, newer = &point, &last
	}
	err = w.proveConsistency(ctx, w.sources[0], older, newer)
	if err == nil {
		w.comparedCosigned = signed
	}
	if errors.Is(err, ErrFork) {
		return []Finding{{Kind: KindFork, Size: point.Size, Text: "what was submitted to be cosigned is not of the tree that is shown: " + err.Error(), Evidence: [][]byte{kept, signed}}}, nil
	}
	return nil, nil
}

// followLineage accepts a checkpoint under another name of the log if the operator accepted
// that name.
func (w *Watcher) followLineage(ctx context.Context, source *Source, point *note.Checkpoint, signed []byte, now time.Time) ([]Finding, error) {
	last, kept, _, _ := w.state.Latest()
	f := Finding{Kind: KindLineage, Source: source.Base, Size: point.Size, Evidence: [][]byte{kept, signed}}
	if w.options.Lineage != point.Origin {
		f.Text = fmt.Sprintf("the log calls itself %q; it was %q", point.Origin, last.Origin)
		return []Finding{f}, nil
	}
	f.Kind, f.Evidence = KindMoved, nil
	f.Text = fmt.Sprintf("%s goes on as %s with %d leaves; the last checkpoint of the old name had %d", last.Origin, point.Origin, point.Size, last.Size)
	if point.Size >= last.Size {
		if _, err := Prove(ctx, source, &last, point); err == nil {
			f.Text += ", all of which it continues"
		} else {
			f.Text += "; that it continues them is not shown: " + err.Error()
		}
	} else {
		f.Text += ": what was behind its end is lost or was rewritten"
	}
	return []Finding{f}, w.state.acceptCheckpoint(*point, signed, now)
}

// formatTime formats a signed time for people.
func formatTime(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(time.RFC3339) }
