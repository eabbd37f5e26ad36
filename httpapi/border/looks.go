package border

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Who looked is kept (decision 106). Each node counts, for each API key, kind of look and hour,
// how often there was a look, and from which addresses. It tells the log of the first looks within
// a second, and of all others after the hour; each count is a leaf. Dry runs are told when there
// are many, or many names near one listed party. When a node dies, what it counted in the hour
// and has not sent is lost; it also stands in the node's own log.

const (
	looksGather  = 500 * time.Millisecond // The first looks are sent together with what follows on them at once.
	looksRetry   = time.Minute            // Pause after the log did not take a batch.
	looksTimeout = 10 * time.Second       // Longest wait for the log.
	looksEnding  = time.Second            // The same while the node ends.
)

// lookKey says whose looks at what are counted together.
type lookKey struct {
	hour engine.Time
	key  uint32 // The row of the API key; 0: the admin token.
	kind uint8
	uid  uint32 // Of a probe: the listed party.
}

// lookRow counts. It stays until the hour is over, so that what was told at once is told once.
type lookRow struct {
	count       uint32
	first, last netip.Addr
	told        bool     // The row was sent before the hour was over.
	names       []uint64 // Of a probe: the names that were tried, at most engine.NamesCalm.
}

// Looks counts who looked at what on this node, and sends it to the log between Start and Stop.
type Looks struct {
	border *Border
	mutex  sync.Mutex
	rows   map[lookKey]*lookRow
	lost   uint64   // Looks that found no room.
	outbox [][]byte // Records that wait for the log, oldest first. Only the sender uses it.
	now    chan struct{}
	end    context.CancelFunc
	done   chan struct{}
}

func newLooks(b *Border) *Looks {
	return &Looks{border: b, rows: map[lookKey]*lookRow{}, now: make(chan struct{}, 1)}
}

// Looks returns what counts who looked at what on this node.
func (b *Border) Looks() *Looks { return b.looks }

// Start begins to send what is counted.
func (l *Looks) Start() {
	ctx, end := context.WithCancel(context.Background())
	l.end, l.done = end, make(chan struct{})
	go l.run(ctx)
}

// Stop ends the sending, and sends what was counted until now.
func (l *Looks) Stop() {
	if l.end == nil {
		return
	}
	l.end()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), looksEnding)
	defer cancel()
	l.Send(ctx, true)
}

func (l *Looks) run(ctx context.Context) {
	defer close(l.done)
	for {
		wait := time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Second))
		if len(l.outbox) > 0 {
			wait = min(wait, looksRetry)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.now:
			timer.Reset(looksGather)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		case <-timer.C:
		}
		sending, cancel := context.WithTimeout(ctx, looksTimeout)
		l.Send(sending, false)
		cancel()
	}
}

// noteLook counts an answered call that looked at something, and the name of a dry run.
func (c *Request) noteLook(look string) {
	l, kind, row := c.border.looks, leaf.LookKind(look), c.Key.Caller.Key.Row
	if kind == 0 || row == 0 && kind != wire.LookAdminToken {
		return
	}
	at, from := lookKey{hour: hourOf(c.border.keyTime()), key: row, kind: kind}, c.border.ClientAddress(c.r)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if counted := l.rowOf(at, from); counted != nil && counted.isDue(at) {
		l.tellNow()
	}
	probe := c.Judge.Probe
	if kind != wire.LookDryRun || probe.UID == 0 {
		return
	}
	at.kind, at.uid = wire.LookProbe, probe.UID
	counted := l.rowOf(at, from)
	if counted == nil || len(counted.names) == engine.NamesCalm || slices.Contains(counted.names, probe.Name) {
		return
	}
	if counted.names = append(counted.names, probe.Name); len(counted.names) == engine.NamesCalm {
		l.tellNow()
	}
}

func hourOf(at engine.Time) engine.Time { return at / engine.Hour * engine.Hour }

// rowOf counts one look in the row of a key; nil if there is no room for one more row.
func (l *Looks) rowOf(at lookKey, from netip.Addr) *lookRow {
	row := l.rows[at]
	if row == nil {
		if len(l.rows) >= engine.LooksMax {
			l.lost++
			return nil
		}
		row = &lookRow{}
		l.rows[at] = row
	}
	if row.count == 0 {
		row.first = from
	}
	row.count, row.last = row.count+1, from
	return row
}

func (l *Looks) tellNow() {
	select {
	case l.now <- struct{}{}:
	default: // The sender was told, and has not looked yet.
	}
}

// isDue reports whether a row is to be sent before its hour is over, which happens once. Dry runs,
// and names that come near a listed party, are told only when there are many.
func (r *lookRow) isDue(at lookKey) bool {
	switch at.kind {
	case wire.LookDryRun:
		return !r.told && r.count >= engine.DryRunsCalm
	case wire.LookProbe:
		return !r.told && len(r.names) == engine.NamesCalm
	}
	return !r.told
}

// takeCounts returns the counts that are to be sent: those of hours that are over, and what is due
// at once. all: every count.
func (l *Looks) takeCounts(all bool) (counts []edge.LookCount, lost uint64) {
	hour := hourOf(l.border.keyTime())
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for at, row := range l.rows {
		over := all || at.hour < hour
		if due := row.isDue(at); due || over && row.count > 0 && at.kind != wire.LookProbe {
			counts = append(counts, edge.LookCount{
				Kind: at.kind, Key: at.key, Hour: at.hour, Count: row.count, First: addressText(row.first), Last: addressText(row.last), UID: at.uid,
			})
			row.count, row.told = 0, true
		}
		if over {
			delete(l.rows, at)
		}
	}
	lost, l.lost = l.lost, 0
	slices.SortFunc(counts, func(a, b edge.LookCount) int { return compareLooks(&a, &b) })
	return counts, lost
}

// compareLooks orders the leaves of one batch.
func compareLooks(a, b *edge.LookCount) int {
	for _, difference := range []int64{int64(a.Hour - b.Hour), int64(a.Key) - int64(b.Key), int64(a.Kind) - int64(b.Kind), int64(a.UID) - int64(b.UID)} {
		if difference != 0 {
			return int(difference>>63) | 1
		}
	}
	return 0
}

func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}

// usedHours returns the keys whose last use is in a later hour than the log knows.
func (l *Looks) usedHours() (used []edge.KeyHour) {
	keys := l.border.KeysNow()
	for i, key := range keys.source {
		entry := keys.ByID[key.ID]
		if entry == nil {
			continue
		}
		if at := engine.Time(entry.used.Load()); at > key.UsedAt {
			used = append(used, edge.KeyHour{Key: uint32(i) + 1, Hour: at})
		}
	}
	return used
}

// Send puts into the log what was counted in hours that are over, and what is due at once. all:
// everything.
func (l *Looks) Send(ctx context.Context, all bool) {
	b := l.border
	counts, lost := l.takeCounts(all)
	if lost > 0 {
		b.log.Warn("looks were not counted: too many keys looked at something within an hour", "looks", lost)
	}
	used := l.usedHours()
	for len(counts)+len(used) > 0 {
		if len(l.outbox) >= engine.LooksWaitingMax {
			b.log.Warn("looks are lost: the log has not taken any for long", "rows", len(counts))
			break
		}
		rows, hours := min(len(counts), engine.LooksBatch), min(len(used), engine.LooksBatch)
		l.outbox = append(l.outbox, edge.EncodeLooks(b.deps.Node, counts[:rows], used[:hours]))
		counts, used = counts[rows:], used[hours:]
	}
	for len(l.outbox) > 0 {
		result, err := b.deps.Proposer.Propose(ctx, wire.KindLooks, l.outbox[0])
		if err != nil || result.Code == wire.Refused && result.Refusal == wire.RefusedKeyTable {
			b.log.Debug("the log did not take looks; they are sent again", "error", err)
			return
		}
		if result.Code == wire.Refused {
			b.log.Error("the log refused looks", "refusal", result.Refusal)
		}
		l.outbox = l.outbox[1:]
	}
}
