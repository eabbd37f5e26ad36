package strictjson

import "railguard/engine"

// Batch is the room in which a body that holds a list of objects is checked in one
// pass, each object by itself: one that is JSON and still not acceptable (a name
// twice, nested too deeply, too many members or values, no Unicode, no object) spoils
// none of the others. What is no JSON has no parts that could be told from each other,
// and is refused whole. It is reused; nothing may keep what it holds after Reset.
type Batch struct {
	gate  Gate
	items []batchItem
	open  []byte // Objects and lists that skip is inside of.
	list  bool
	given bool
	other []span // Members of the top object beside the list.
}

// batchItem is one object of the list.
type batchItem struct {
	start, end int // In the body.
	from, to   int // Its members, in gate.top.
	err        error
}

// Read checks data, a JSON object whose member of that name is the list. Each item may
// have itemValues values, the whole body allValues. Beyond itemsMax items are counted
// and not kept. The error is one of this room's, for the caller to see. data must not
// change until Reset.
func (b *Batch) Read(data []byte, member string, itemsMax, itemValues, allValues int) error {
	g := &b.gate
	g.start(data, allValues+1)
	b.items, b.other, b.list, b.given = b.items[:0], b.other[:0], false, false
	g.space()
	if g.peek() != '{' {
		if err := g.value(); err != nil {
			return err
		}
		return ErrTop
	}
	g.values--
	g.at++
	g.depth = 1
	g.space()
	if g.peek() == '}' {
		g.at++
		return g.end()
	}
	var seen map[string]struct{}
	for count := 1; ; count++ {
		if count > engine.JSONMembersMax {
			return ErrMembers
		}
		if err := b.member(member, itemsMax, itemValues, &seen); err != nil {
			return err
		}
		g.space()
		switch g.peek() {
		case ',':
			g.at++
			g.space()
		case '}':
			g.at++
			return g.end()
		default:
			return ErrSyntax
		}
	}
}

// member reads one member of the top object.
func (b *Batch) member(list string, itemsMax, itemValues int, seen *map[string]struct{}) error {
	g := &b.gate
	member, err := g.memberName(0, seen)
	if err != nil {
		return err
	}
	g.space()
	if string(g.names[len(g.names)-1]) != list {
		b.other = append(b.other, member)
		return g.value()
	}
	b.given = true
	if g.peek() != '[' {
		return g.value()
	}
	b.list = true
	return b.readItems(itemsMax, itemValues)
}

func (b *Batch) readItems(itemsMax, itemValues int) error {
	g := &b.gate
	g.values--
	g.at++
	g.space()
	if g.peek() == ']' {
		g.at++
		return nil
	}
	for {
		g.space()
		item, err := b.readItem(itemValues)
		if err != nil {
			return err
		}
		if len(b.items) <= itemsMax { // One beyond tells that there were too many.
			b.items = append(b.items, item)
		} else {
			g.top = g.top[:item.from]
		}
		g.space()
		switch g.peek() {
		case ',':
			g.at++
		case ']':
			g.at++
			return nil
		default:
			return ErrSyntax
		}
	}
}

// readItem checks one item as if it were a body of its own. The error is the whole
// body's; the item's own stands in it.
func (b *Batch) readItem(itemValues int) (batchItem, error) {
	g := &b.gate
	item := batchItem{start: g.at, from: len(g.top)}
	names, depth, left := len(g.names), g.depth, g.values
	g.depth, g.values = 0, itemValues+1
	if item.err = g.value(); item.err == nil && g.data[item.start] != '{' {
		item.err = ErrTop
	}
	used := itemValues + 1 - g.values
	g.names, g.depth, g.values = g.names[:names], depth, left-used
	switch {
	case item.err == ErrSyntax:
		return item, ErrSyntax
	case item.err != nil && item.err != ErrTop:
		g.at, g.top, g.values = item.start, g.top[:item.from], left
		if err := b.skip(); err != nil {
			return item, err
		}
	case g.values < 0:
		return item, ErrValues
	}
	item.end, item.to = g.at, len(g.top)
	return item, nil
}

// skip passes over one value that is JSON by its structure, whatever else is wrong
// with it: names may stand twice, strings may be no Unicode, nesting has no bound but
// the body's size, so it does not call itself.
func (b *Batch) skip() error {
	g := &b.gate
	b.open = b.open[:0]
	for {
		if g.values--; g.values < 0 {
			return ErrValues
		}
		opened, err := b.skipOne()
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		if done, err := b.skipEnds(); done || err != nil {
			return err
		}
	}
}

// skipOne passes over a plain value or an empty list or object; opened says that it
// stands now before the first value of one that is not empty.
func (b *Batch) skipOne() (opened bool, err error) {
	g := &b.gate
	switch c := g.peek(); c {
	case '{', '[':
		g.at++
		g.space()
		if g.peek() == closing(c) {
			g.at++
			return false, nil
		}
		b.open = append(b.open, c)
		if c == '{' {
			return true, g.skipName()
		}
		return true, nil
	case '"':
		return false, g.skipText()
	case 't':
		return false, g.word("true")
	case 'f':
		return false, g.word("false")
	case 'n':
		return false, g.word("null")
	}
	return false, g.number()
}

// skipEnds passes over what may follow a value, up to the next one; done says that the
// value that skip began with is over.
func (b *Batch) skipEnds() (done bool, err error) {
	g := &b.gate
	for len(b.open) > 0 {
		g.space()
		c := b.open[len(b.open)-1]
		switch g.peek() {
		case closing(c):
			g.at++
			b.open = b.open[:len(b.open)-1]
		case ',':
			g.at++
			g.space()
			if c == '{' {
				return false, g.skipName()
			}
			return false, nil
		default:
			return false, ErrSyntax
		}
	}
	return true, nil
}

func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// skipName passes over `"name" :` to the value.
func (g *Gate) skipName() error {
	if g.peek() != '"' {
		return ErrSyntax
	}
	if err := g.skipText(); err != nil {
		return err
	}
	g.space()
	if g.peek() != ':' {
		return ErrSyntax
	}
	g.at++
	g.space()
	return nil
}

// skipText passes over a string that may be no Unicode.
func (g *Gate) skipText() error {
	for g.at++; g.at < len(g.data); {
		switch c := g.data[g.at]; {
		case c == '"':
			g.at++
			return nil
		case c < 0x20:
			return ErrSyntax
		case c == '\\':
			if err := g.escape(); err != nil && err != ErrText { // A surrogate alone is passed over.
				return err
			}
		default:
			g.at++
		}
	}
	return ErrSyntax
}

// Given reports whether the body has the member at all, and List whether it is a list.
func (b *Batch) Given() bool { return b.given }

// List reports whether the member is a list.
func (b *Batch) List() bool { return b.list }

// Count is how many items the list has, at most one more than were asked for.
func (b *Batch) Count() int { return len(b.items) }

// Bytes is an item as it was sent.
func (b *Batch) Bytes(i int) []byte { return b.gate.data[b.items[i].start:b.items[i].end] }

// Item is an item as a document that was checked, to be read as Spans; the error is
// what is wrong with it.
func (b *Batch) Item(i int) (Document, error) {
	item := &b.items[i]
	return Document{gate: Gate{data: b.gate.data, top: b.gate.top[item.from:item.to:item.to]}}, item.err
}

// Strangers are the members beside the list.
func (b *Batch) Strangers(shape Shape) []Stranger {
	s := Spans{gate: &Gate{data: b.gate.data, top: b.other}}
	return s.Strangers(shape)
}

// Reset forgets what was read and keeps the room, unless it has become large.
func (b *Batch) Reset() {
	if cap(b.open) > bytesKept || cap(b.gate.top) > batchSpansKept {
		*b = Batch{}
		return
	}
	clear(b.items)
	*b = Batch{items: b.items[:0], open: b.open[:0], other: b.other[:0], gate: Gate{
		top: b.gate.top[:0], names: b.gate.names[:0], scratch: b.gate.scratch[:0],
	}}
}

// batchSpansKept is how many members of items a batch keeps room for.
const batchSpansKept = 8192
