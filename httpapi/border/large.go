package border

import (
	"sync"
	"sync/atomic"

	"railguard/strictjson"
)

// Releaser is held by a handler until its answer is written.
type Releaser interface{ Release() }

// largeBytes counts the memory of large bodies on this node.
type largeBytes struct{ Held atomic.Int64 }

func (b *largeBytes) claimBytes(size int) bool {
	if b.Held.Add(int64(size)) <= BatchBytesMax {
		return true
	}
	b.Held.Add(int64(-size))
	return false
}

// largeBody is the memory of a body that is larger than most. It is pooled, and replaces
// the call's own body buffer.
type largeBody struct {
	call    *Request
	buffer  []byte
	claimed int // Bytes that this body has claimed.

	ownBody     []byte // The call's own buffer meanwhile.
	ownDocument strictjson.Document
}

var largePool = sync.Pool{New: func() any { return new(largeBody) }}

// readLarge reads a large body.
func readLarge(c *Request) error {
	l := largePool.Get().(*largeBody)
	l.call, c.large, l.ownBody, l.ownDocument = c, l, c.Asked.Body, c.Asked.Document
	c.Asked.Body = l.buffer[:0]
	err := l.claimBytes(cap(c.Asked.Body))
	if err == nil {
		err = c.ReadWhole()
	}
	l.buffer = c.Asked.Body
	return err
}

// claimBytes claims size more bytes for the body.
func (l *largeBody) claimBytes(size int) error {
	if !l.call.border.Large.claimBytes(size) {
		return Unavailable("overloaded", "too many batches at once on this node")
	}
	l.claimed += size
	return nil
}

// releaseBytes gives the memory back.
func (l *largeBody) releaseBytes() {
	if l == nil {
		return
	}
	c := l.call
	c.Asked.Body, c.Asked.Document, c.large = l.ownBody, l.ownDocument, nil
	c.border.Large.Held.Add(int64(-l.claimed))
	l.call, l.claimed, l.ownBody, l.ownDocument = nil, 0, nil, strictjson.Document{}
	if cap(l.buffer) <= BatchBodyKept {
		largePool.Put(l)
	}
}
