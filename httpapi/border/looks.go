package border

import (
	"context"
	"net/netip"
	"slices"
	"strings"
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
// and has not sent is lost; looks also have lines in the node's own log.

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

	reason string // Of an export: why, as the caller said.
}

// reasonsMax bounds how many reasons for exports of one key are told apart within an hour. With more
// of them exports are counted without one; the line of each call in the node's log has it.
const reasonsMax = 16

// lookRow counts. It stays until the hour is over, so that what was told at once is told once.
type lookRow struct {
	count       uint32
	first, last netip.Addr
	told        bool     // The row was sent before the hour was over.
	names       []uint64 // Of a probe: the names that were tried, at most engine.NamesCalm.
	probes      int      // Of dry runs: how many rows of probes the key has in the hour.
}

// Looks counts who looked at what on this node, and sends it to the log between Start and Stop.
type Looks struct {
	border *Border
	mutex  sync.Mutex
	rows   map[lookKey]*lookRow
	probes int // How many of the rows are probes. They never take the room of the others.

	// Only the sender uses these.
	waiting  []edge.LookCount // Counts that wait for the log, oldest first; at most engine.LooksMax.
	used     []edge.KeyHour   // Hours of keys that wait for it.
	usedTold engine.Time      // The hour in which used was filled last.
	sending  []byte           // The record that was sent, while it is unknown whether the log took it.

	now  chan struct{}
	end  context.CancelFunc
	done chan struct{}
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
		if l.sending != nil {
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
	address, at := c.border.ClientAddress(c.r), lookKey{hour: hourOf(c.border.keyTime()), key: row, kind: kind}
	if kind == wire.LookExport { // All that the institution has leaves the cluster: told at once, beside the leaf of the hour.
		subject := ""
		if keys := c.Settings().Keys; row != 0 && int(row) <= len(keys) {
			subject = keys[row-1].Subject().String()
		}
		c.Log().Info("data of the institution is given out", "path", c.r.URL.Path, "keyId", c.KeyID(), "subject", subject, "address", address.String(),
			"reason", c.Query("reason"), "requestId", c.Asked.RequestID)
		at.reason = c.Query("reason")
	}
	l.count(at, address, c.Judge.Probe)
}

// count counts a look, and wakes the sender if it is due. Dry runs also count the listed parties
// that their names come near: as many for a key as there are dry runs before these alert.
func (l *Looks) count(at lookKey, from netip.Addr, probe edge.Probe) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if at.reason != "" && l.rows[at] == nil && l.countReasons(at) >= reasonsMax {
		at.reason = ""
	}
	looks := l.rowOf(at, from)
	if looks == nil {
		return
	}
	if looks.isDue(at) {
		l.tellNow()
	}
	if at.kind != wire.LookDryRun || probe.UID == 0 {
		return
	}
	at.kind, at.uid = wire.LookProbe, probe.UID
	if l.rows[at] == nil {
		if looks.probes == engine.DryRunsCalm {
			return
		}
		looks.probes++
	}
	tried := l.rowOf(at, from)
	if tried == nil || len(tried.names) == engine.NamesCalm || slices.Contains(tried.names, probe.Name) {
		return
	}
	if tried.names = append(tried.names, probe.Name); len(tried.names) == engine.NamesCalm {
		l.tellNow()
	}
}

// countReasons returns how many reasons are told apart of a key in an hour.
func (l *Looks) countReasons(at lookKey) (count int) {
	for other := range l.rows {
		if other.reason != "" && other.key == at.key && other.hour == at.hour {
			count++
		}
	}
	return count
}

func hourOf(at engine.Time) engine.Time { return at / engine.Hour * engine.Hour }

// rowOf counts one look in the row of a key; nil if there is no room for one more row.
func (l *Looks) rowOf(at lookKey, from netip.Addr) *lookRow {
	row := l.rows[at]
	if row == nil {
		taken := len(l.rows) - l.probes
		if at.kind == wire.LookProbe {
			taken = l.probes
		}
		if taken >= engine.LooksMax {
			looksLost.Inc()
			return nil
		}
		if at.kind == wire.LookProbe {
			l.probes++
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
func (l *Looks) takeCounts(all bool) (counts []edge.LookCount) {
	hour := hourOf(l.border.keyTime())
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for at, row := range l.rows {
		over := all || at.hour < hour
		if due := row.isDue(at); due || over && row.count > 0 && at.kind != wire.LookProbe {
			counts = append(counts, edge.LookCount{
				Kind: at.kind, Key: at.key, Hour: at.hour, Count: row.count, First: addressText(row.first), Last: addressText(row.last), UID: at.uid, Reason: at.reason,
			})
			row.count, row.told = 0, true
		}
		if over {
			delete(l.rows, at)
			if at.kind == wire.LookProbe {
				l.probes--
			}
		}
	}
	slices.SortFunc(counts, func(a, b edge.LookCount) int { return compareLooks(&a, &b) })
	return counts
}

// compareLooks orders the leaves of one batch.
func compareLooks(a, b *edge.LookCount) int {
	for _, difference := range []int64{int64(a.Hour - b.Hour), int64(a.Key) - int64(b.Key), int64(a.Kind) - int64(b.Kind), int64(a.UID) - int64(b.UID)} {
		if difference != 0 {
			return int(difference>>63) | 1
		}
	}
	return strings.Compare(a.Reason, b.Reason)
}

// addressText writes an address without its zone, whose length nothing bounds.
func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.WithZone("").String()
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

// batch returns how many of the waiting counts go into one record. A reason takes the room of up to
// three counts.
func (l *Looks) batch() (rows int) {
	for room := engine.LooksBatch; rows < len(l.waiting); rows++ {
		if room -= 1 + (len(l.waiting[rows].Reason)+99)/100; room < 0 {
			break
		}
	}
	return rows
}

// Send puts into the log what was counted in hours that are over, and what is due at once. all:
// everything. The hours of keys go along once an hour, since they make new settings.
func (l *Looks) Send(ctx context.Context, all bool) {
	b := l.border
	counts := l.takeCounts(all)
	if room := engine.LooksMax - len(l.waiting); len(counts) > room {
		b.log.Warn("looks are lost: the log has not taken any for long", "rows", len(counts)-room)
		looksLost.Add(len(counts) - room)
		counts = counts[:room]
	}
	l.waiting = append(l.waiting, counts...)
	if hour := hourOf(b.keyTime()); all || hour > l.usedTold {
		l.used, l.usedTold = l.usedHours(), hour
	}
	for l.sending != nil || len(l.waiting)+len(l.used) > 0 {
		if l.sending == nil {
			rows, hours := l.batch(), min(len(l.used), engine.LooksBatch)
			l.sending = edge.EncodeLooks(b.deps.Node, l.waiting[:rows], l.used[:hours])
			l.waiting, l.used = l.waiting[rows:], l.used[hours:]
		}
		result, err := b.deps.Proposer.Propose(ctx, wire.KindLooks, l.sending)
		if err != nil {
			b.log.Debug("the log did not take looks; they are sent again", "error", err)
			return
		}
		if result.Code == wire.Refused {
			b.log.Error("the log refused looks", "refusal", result.Refusal)
			looksLost.Inc()
		}
		l.sending = nil
	}
}
