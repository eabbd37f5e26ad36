package strictjson

import "railguard/engine"

// Batch checks a body with a list of objects in one pass, and each object by itself. An object
// that is JSON but not acceptable (a name twice, nested too deeply, too many members or values,
// no valid Unicode, no object) does not affect the others. A body that is not JSON is refused
// whole. A Batch is reused; nothing may keep its content after Reset.
type Batch struct {
	validator Validator
	items     []batchItem
	open      []byte // Opening brackets of the objects and lists around skipValue's position.
	list      bool
	given     bool
	other     []span // Members of the top object other than the list.
}

// batchItem is one object of the list.
type batchItem struct {
	start, end int // Position in the body.
	from, to   int // Its members' indexes in validator.top.
	line       int // Of ReadLines; counted from 0.
	err        error
}

// Read checks data, a JSON object whose member named member is the list. Each item may have
// itemValues values, the whole body allValues. Read keeps itemsMax items and one more, which
// shows that there were too many. Its errors are those of this package and may be shown to the
// caller. data must not change until Reset.
func (b *Batch) Read(data []byte, member string, itemsMax, itemValues, allValues int) error {
	g := &b.validator
	g.startBody(data, allValues+1)
	b.items, b.other, b.list, b.given = b.items[:0], b.other[:0], false, false
	g.skipSpace()
	if g.nextByte() != '{' {
		if err := g.checkValue(); err != nil {
			return err
		}
		return ErrTop
	}
	g.values--
	g.at++
	g.depth = 1
	g.skipSpace()
	if g.nextByte() == '}' {
		g.at++
		return g.checkEnd()
	}
	var seen map[string]struct{}
	for count := 1; ; count++ {
		if count > engine.JSONMembersMax {
			return ErrMembers
		}
		if err := b.readMember(member, itemsMax, itemValues, &seen); err != nil {
			return err
		}
		g.skipSpace()
		switch g.nextByte() {
		case ',':
			g.at++
			g.skipSpace()
		case '}':
			g.at++
			return g.checkEnd()
		default:
			return ErrSyntax
		}
	}
}

// readMember reads one member of the top object.
func (b *Batch) readMember(list string, itemsMax, itemValues int, seen *map[string]struct{}) error {
	g := &b.validator
	member, err := g.checkMemberName(0, seen)
	if err != nil {
		return err
	}
	g.skipSpace()
	if string(g.names[len(g.names)-1]) != list {
		b.other = append(b.other, member)
		return g.checkValue()
	}
	b.given = true
	if g.nextByte() != '[' {
		return g.checkValue()
	}
	b.list = true
	return b.readItems(itemsMax, itemValues)
}

func (b *Batch) readItems(itemsMax, itemValues int) error {
	g := &b.validator
	g.values--
	g.at++
	g.skipSpace()
	if g.nextByte() == ']' {
		g.at++
		return nil
	}
	for {
		g.skipSpace()
		item, err := b.readItem(itemValues)
		if err != nil {
			return err
		}
		if len(b.items) <= itemsMax { // One more than the bound shows that there were too many.
			b.items = append(b.items, item)
		} else {
			g.top = g.top[:item.from]
		}
		g.skipSpace()
		switch g.nextByte() {
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

// readItem checks one item as if it were a body of its own. It returns an error only if the
// whole body is bad; an error of the item alone is stored in the item.
func (b *Batch) readItem(itemValues int) (batchItem, error) {
	g := &b.validator
	item := batchItem{start: g.at, from: len(g.top)}
	names, depth, left := len(g.names), g.depth, g.values
	g.depth, g.values = 0, itemValues+1
	if item.err = g.checkValue(); item.err == nil && g.data[item.start] != '{' {
		item.err = ErrTop
	}
	used := itemValues + 1 - g.values
	g.names, g.depth, g.values = g.names[:names], depth, left-used
	switch {
	case item.err == ErrSyntax:
		return item, ErrSyntax
	case item.err != nil && item.err != ErrTop:
		g.at, g.top, g.values = item.start, g.top[:item.from], left
		if err := b.skipValue(); err != nil {
			return item, err
		}
	case g.values < 0:
		return item, ErrValues
	}
	item.end, item.to = g.at, len(g.top)
	return item, nil
}

// skipValue skips one value and checks only its structure. Names may repeat and strings may be
// invalid Unicode. Only the body's size bounds the nesting, so the function does not recurse.
func (b *Batch) skipValue() error {
	g := &b.validator
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

// skipOne skips a plain value or an empty list or object. Of any other list or object it skips
// the beginning and returns true: the first value inside comes next.
func (b *Batch) skipOne() (opened bool, err error) {
	g := &b.validator
	switch c := g.nextByte(); c {
	case '{', '[':
		g.at++
		g.skipSpace()
		if g.nextByte() == closingBracket(c) {
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
		return false, g.checkWord("true")
	case 'f':
		return false, g.checkWord("false")
	case 'n':
		return false, g.checkWord("null")
	}
	return false, g.checkNumber()
}

// skipEnds skips everything between a value and the next one. done says that the value at which
// skipValue began has ended.
func (b *Batch) skipEnds() (done bool, err error) {
	g := &b.validator
	for len(b.open) > 0 {
		g.skipSpace()
		c := b.open[len(b.open)-1]
		switch g.nextByte() {
		case closingBracket(c):
			g.at++
			b.open = b.open[:len(b.open)-1]
		case ',':
			g.at++
			g.skipSpace()
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

func closingBracket(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// skipName skips `"name" :` before a value.
func (g *Validator) skipName() error {
	if g.nextByte() != '"' {
		return ErrSyntax
	}
	if err := g.skipText(); err != nil {
		return err
	}
	g.skipSpace()
	if g.nextByte() != ':' {
		return ErrSyntax
	}
	g.at++
	g.skipSpace()
	return nil
}

// skipText skips a string, which may be invalid Unicode.
func (g *Validator) skipText() error {
	for g.at++; g.at < len(g.data); {
		switch c := g.data[g.at]; {
		case c == '"':
			g.at++
			return nil
		case c < 0x20:
			return ErrSyntax
		case c == '\\':
			if err := g.checkEscape(); err != nil && err != ErrText { // A lone surrogate is skipped.
				return err
			}
		default:
			g.at++
		}
	}
	return ErrSyntax
}

// HasMember reports whether the body has the member.
func (b *Batch) HasMember() bool { return b.given }

// IsList reports whether the member is a list.
func (b *Batch) IsList() bool { return b.list }

// Count returns how many items were kept: at most one more than Read's itemsMax.
func (b *Batch) Count() int { return len(b.items) }

// Bytes returns an item as it was sent.
func (b *Batch) Bytes(i int) []byte { return b.validator.data[b.items[i].start:b.items[i].end] }

// Item returns an item as a checked document, to be read as Spans, and the item's error.
func (b *Batch) Item(i int) (Document, error) {
	item := &b.items[i]
	return Document{validator: Validator{data: b.validator.data, top: b.validator.top[item.from:item.to:item.to]}}, item.err
}

// UnknownMembers returns the unknown members of the object that has the list.
func (b *Batch) UnknownMembers(shape Shape) []UnknownMember {
	s := Spans{validator: &Validator{data: b.validator.data, top: b.other}}
	return s.UnknownMembers(shape)
}

// Reset forgets what was read. It keeps the memory for the next reading unless it is large.
func (b *Batch) Reset() {
	if cap(b.open) > bytesKept || cap(b.validator.top) > batchSpansKept {
		*b = Batch{}
		return
	}
	clear(b.items)
	*b = Batch{items: b.items[:0], open: b.open[:0], other: b.other[:0], validator: Validator{
		top: b.validator.top[:0], names: b.validator.names[:0], scratch: b.validator.scratch[:0],
	}}
}

// batchSpansKept bounds the memory that Reset keeps: that for so many members of items.
const batchSpansKept = 8192
