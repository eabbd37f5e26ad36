package fsm

import "railguard/engine"

// Values of an entry in a status list (Token Status List: two bits for each entry).
const (
	StatusValid     byte = 0
	StatusInvalid   byte = 1 // Permanent.
	StatusSuspended byte = 2 // May be lifted.
)

// The size of a status list: entries of two bits each.
const (
	statusListBits = 18
	StatusListSize = 1 << statusListBits

	statusListBytes = StatusListSize / 4

	// statusEpochLists separates the list numbers of successive epochs: it is more than an
	// epoch's positions can fill.
	statusEpochLists = 1_000_000
)

// Statuses are all status lists of one minute. Immutable.
type Statuses struct {
	At    engine.Time // The minute's first instant, which is the claim iat.
	Lists []StatusList
}

// StatusList is one list: its number, and the bytes of its entries.
type StatusList struct {
	Number uint64
	Bits   []byte // Entries from the lowest bits up. The same slice as a minute before, if nothing changed.
}

// List returns the list with a number, or nil.
func (s *Statuses) List(number uint64) *StatusList {
	for i := range s.Lists {
		if s.Lists[i].Number == number {
			return &s.Lists[i]
		}
	}
	return nil
}

// StatusEntry returns the list and the entry of a position. The order of entries within a
// list is a secret permutation.
func (d *IDs) StatusEntry(position uint32) (list uint64, index uint32) {
	page := uint64(position) >> statusListBits
	epoch := uint64(0)
	for i := len(d.epochs) - 1; i >= 0; i-- {
		if e := d.epochs[i]; position >= e.Statuses {
			epoch = uint64(e.Number)
			break
		}
	}
	const half = statusListBits / 2
	const mask = uint64(1)<<half - 1
	left, right := uint64(position)>>half&mask, uint64(position)&mask
	for n := range rounds {
		left, right = right, left^(d.roundOf(domainStatus, n, page<<half|right)&mask)
	}
	return epoch*statusEpochLists + page + 1, uint32(left<<half | right)
}

// StatusBuilder makes the lists of one Machine's views. It remembers them and recomputes only
// the pages that an entry of the log touched or whose time has come. One goroutine uses it.
type StatusBuilder struct {
	of    *identity
	epoch int    // The number of epochs in the last view.
	index uint64 // The index of the last view.

	ids    *IDs
	first  uint64 // The first position that is not forgotten.
	base   uint64 // Number of pages[0].
	pages  []heldStatuses
	lists  []heldList // From the list of the oldest position to that of the next one.
	lowest uint64     // The first position of lists[0].

	evaluated int // How many entries the last build computed.
}

// heldStatuses is what is remembered of one page of positions.
type heldStatuses struct {
	held  span
	until engine.Time // A value may change at this time by itself; 0: never.
	kin   bool        // The page has a version of a delegate.
}

type heldList struct {
	number uint64
	bits   []byte
	shared bool // Readers have bits, so they must not be changed.
}

// NewStatusBuilder returns an empty builder.
func NewStatusBuilder() *StatusBuilder { return new(StatusBuilder) }

const statusPageRows = uint64(len(statusPage{}))

// Build returns the lists of a view that Apply or Everything gave as Effects.Statuses.
func (b *StatusBuilder) Build(v *View) *Statuses {
	settings := v.settings
	if b.of != v.identity || b.epoch != len(settings.Epochs) || b.index > v.Index {
		*b = StatusBuilder{of: v.identity, epoch: len(settings.Epochs), ids: NewIDs(settings.Genesis.IDKey, settings.Epochs...)}
	}
	every := engine.LimitsOf(v.Format).StatusEvery
	now := &minute{glance: glance{View: v}, at: v.Time / every * every}
	all, kin := v.standing.wide > b.index, v.standing.kin > b.index
	b.fitPositions(v)
	b.forgetPositions(v)
	b.evaluated = 0
	for n := range b.pages {
		page := (b.base + uint64(n)) * statusPageRows
		held := v.statuses.pageSpan(page)
		if one := &b.pages[n]; all || one.held != held || kin && one.kin || one.until != 0 && now.at >= one.until {
			*one = b.evaluatePage(now, page, held)
		}
	}
	b.index = v.Index
	out := &Statuses{At: now.at, Lists: make([]StatusList, len(b.lists))}
	for i := range b.lists {
		b.lists[i].shared = true
		out.Lists[i] = StatusList{b.lists[i].number, b.lists[i].bits}
	}
	return out
}

// fitPositions makes room for the positions of a view.
func (b *StatusBuilder) fitPositions(v *View) {
	first, next := v.statuses.First(), v.statuses.Next()
	lowest := first >> statusListBits << statusListBits
	for len(b.lists) > 0 && b.lowest < lowest {
		b.lists, b.lowest = b.lists[1:], b.lowest+StatusListSize
	}
	if len(b.lists) == 0 {
		b.lowest = lowest
	}
	for end := next >> statusListBits << statusListBits; b.lowest+uint64(len(b.lists))*StatusListSize <= end; {
		position := b.lowest + uint64(len(b.lists))*StatusListSize
		number, _ := b.ids.StatusEntry(uint32(position))
		b.lists = append(b.lists, heldList{number: number, bits: make([]byte, statusListBytes)})
	}
	base := first / statusPageRows
	if gone := base - b.base; gone > 0 && len(b.pages) > 0 {
		b.pages = append([]heldStatuses(nil), b.pages[min(gone, uint64(len(b.pages))):]...)
	}
	b.base = base
	for pages := (next+statusPageRows-1)/statusPageRows - base; uint64(len(b.pages)) < pages; {
		b.pages = append(b.pages, heldStatuses{})
	}
}

// forgetPositions sets forgotten positions to INVALID in the lists that are still held.
func (b *StatusBuilder) forgetPositions(v *View) {
	for at := max(b.first, b.lowest, 1); at < v.statuses.First(); at++ {
		b.setEntry(at, StatusInvalid)
	}
	b.first = v.statuses.First()
}

func (b *StatusBuilder) setEntry(position uint64, value byte) {
	_, index := b.ids.StatusEntry(uint32(position))
	list := &b.lists[(position-b.lowest)/StatusListSize]
	at, shift := index/4, index%4*2
	changed := list.bits[at]&^(3<<shift) | value<<shift
	if changed == list.bits[at] {
		return
	}
	if list.shared {
		list.bits, list.shared = append([]byte(nil), list.bits...), false
	}
	list.bits[at] = changed
}

func (b *StatusBuilder) evaluatePage(now *minute, page uint64, held span) heldStatuses {
	one := heldStatuses{held: held}
	for i := page + uint64(held.from); i < page+uint64(held.to); i++ {
		b.evaluated++
		value, until, kin := now.readEntry(now.statuses.At(i))
		if i != 0 {
			b.setEntry(i, value)
		}
		if one.kin = one.kin || kin; until != 0 && (one.until == 0 || until < one.until) {
			one.until = until
		}
	}
	return one
}

// minute is a view as parties, at the first instant of its minute. So its values depend
// neither on the moment of the entry nor on the node.
type minute struct {
	glance
	at engine.Time
}

func (g *minute) logTime() engine.Time { return g.at }

// readEntry returns the value of an entry, the time until which it holds if nobody changes
// the party, and whether the party has ancestors. The value follows the effective status that
// R2 uses. A credential that the sanctions list matched at its issuance is suspended in any
// case.
func (g *minute) readEntry(row *statusRow) (value byte, until engine.Time, kin bool) {
	expires := engine.Time(row.Expires) * engine.Second
	if row.Slot == 0 || g.at >= expires {
		return StatusInvalid, 0, false
	}
	until = expires
	status := engine.Revoked
	var overlap engine.Time
	if row.Kind == CredentialAgent {
		o := engine.Moment{Now: g.at, Version: row.Version, Expires: expires, KeyRevoked: g.keyRevoked(row.Key)}
		climbChain(&o, g, engine.AgentSlot(row.Slot))
		status, overlap, kin = engine.EffectiveStatus(&o), o.Levels[0].Row.OverlapUntil, o.LevelCount > 1
		for i := 1; i < o.LevelCount; i++ {
			if end := o.Levels[i].Profile.ExpiresAt; end > g.at {
				until = min(until, end)
			}
		}
	} else if user, profile := g.userAt(engine.UserSlot(row.Slot)); profile != nil {
		status, overlap = engine.CredentialStatus(user.Status, expires, g.at, g.keyRevoked(row.Key)), user.OverlapUntil
		if engine.Superseded(row.Version, user.MinVersion, profile.CredentialVersion, overlap, g.at) {
			status = engine.Revoked
		}
	}
	if overlap > g.at {
		until = min(until, overlap)
	}
	switch {
	case status == engine.Revoked || status == engine.Expired:
		value = StatusInvalid
	case status == engine.Suspended || row.Matched:
		value = StatusSuspended
	}
	return value, until, kin
}

func (g *minute) keyRevoked(mark uint32) bool {
	for _, key := range g.settings.SigningKeys {
		if key.RevokedAt != 0 && keyMark(key.KID) == mark {
			return true
		}
	}
	return false
}

// pageSpan returns which rows of a position's page are held, and the epoch of the page's last
// change.
func (t *Table[R, P]) pageSpan(i uint64) span {
	rows, many := pageRows[R, P](), chunkRows[R, P]()
	base := i / rows * rows
	held := span{from: uint16(max(t.first, base) - base), to: uint16(min(t.next, base+rows) - base)}
	if held.from >= held.to {
		return held
	}
	if at := max(base, t.first) - t.base(); t.root[at/many] != nil {
		if p := t.root[at/many].pages[at%many/rows]; p != nil {
			held.epoch = p.epoch + 1
		}
	}
	return held
}
