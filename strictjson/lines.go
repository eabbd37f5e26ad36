package strictjson

import "bytes"

// ReadLines checks data as lines, each of which is an object by itself and may have itemValues
// values. A line of white space alone is no item. Whatever is wrong with a line is an error of that
// item. data must not change until Reset.
func (b *Batch) ReadLines(data []byte, itemValues int) {
	g := &b.validator
	g.startBody(data, 0)
	b.items, b.other, b.list, b.given = b.items[:0], b.other[:0], true, true
	for from, line := 0, 0; from < len(data); line++ {
		end := len(data)
		if length := bytes.IndexByte(data[from:], '\n'); length >= 0 {
			end = from + length
		}
		b.readLine(data[:end], from, line, itemValues)
		from = end + 1
	}
	g.data = data
}

// readLine checks the line with which data ends.
func (b *Batch) readLine(data []byte, from, line, itemValues int) {
	g := &b.validator
	g.data, g.at, g.depth, g.values, g.names = data, from, 0, itemValues+1, g.names[:0]
	g.scratch = g.scratch[:0]
	if g.skipSpace(); g.at == len(data) {
		return
	}
	item := batchItem{start: g.at, from: len(g.top), line: line}
	item.err = g.checkValue()
	item.end = g.at
	switch {
	case item.err != nil:
	case data[item.start] != '{':
		item.err = ErrTop
	default:
		item.err = g.checkEnd()
	}
	if item.err != nil {
		g.top, item.end = g.top[:item.from], len(data)
	}
	item.to = len(g.top)
	b.items = append(b.items, item)
}

// Line returns the number of an item's line in what ReadLines has read, counted from 0.
func (b *Batch) Line(i int) int { return b.items[i].line }
