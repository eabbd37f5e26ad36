package payments

import (
	"bytes"
	"sync"

	"railguard/engine"
)

// Bounds of a stream's intake.
const (
	intakeMax   = 128 << 10                // Bytes that wait to be taken, and one piece more.
	lineMax     = engine.ScreenBodyMax + 1 // What is kept of a longer line: enough to see that it is too long.
	spareOfLine = 1 << 10                  // White space around a payment.
)

// intake holds the lines of a stream that nobody has taken yet. One goroutine feeds it, several take.
type intake struct {
	mutex   sync.Mutex
	changed sync.Cond
	held    []byte
	whole   int // Length of the whole lines in held.
	taken   int // Lines that were taken; an empty line counts.
	ended   *ending
}

// ending says why a stream ended. "complete" alone means that all that the caller sent was read.
type ending struct{ code, message string }

func newIntake() *intake {
	in := &intake{}
	in.changed.L = &in.mutex
	return in
}

// feed adds bytes as they come, once there is room. It returns whether the last line is still
// incomplete, and false for more once the stream has ended.
func (in *intake) feed(piece []byte) (partial, more bool) {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	for in.ended == nil && len(in.held) > intakeMax {
		in.changed.Wait()
	}
	if in.ended != nil {
		return false, false
	}
	for len(piece) > 0 {
		line, rest, found := bytes.Cut(piece, []byte{'\n'})
		room := lineMax + spareOfLine - (len(in.held) - in.whole)
		in.held = append(in.held, line[:min(len(line), max(room, 0))]...)
		if found {
			in.held = append(in.held, '\n')
			in.whole = len(in.held)
		}
		piece = rest
	}
	if in.whole > 0 {
		in.changed.Broadcast()
	}
	return len(in.held) > in.whole, true
}

// end ends the stream: what is whole is still taken. The first reason counts. At a complete end the
// last line needs no line feed; at any other it may have been cut, and is nothing.
func (in *intake) end(why *ending) {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	if in.ended == nil {
		in.ended = why
		if why == endComplete {
			in.whole = len(in.held)
		}
	}
	in.changed.Broadcast()
}

// abandon ends the stream and drops what was not taken: nobody reads its answers.
func (in *intake) abandon() {
	in.end(endGone)
	in.mutex.Lock()
	defer in.mutex.Unlock()
	in.held, in.whole = nil, 0
}

// take waits for whole lines and appends as many of them to dst, at most. first is the number of the
// first, counted from 1. It returns false when the stream has ended and all was taken.
func (in *intake) take(dst []byte, most int) (lines []byte, first int, more bool) {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	for in.whole == 0 {
		if in.ended != nil {
			return dst, 0, false
		}
		in.changed.Wait()
	}
	first = in.taken + 1
	size := 0
	for count := 0; count < most && size < in.whole; count++ {
		length := bytes.IndexByte(in.held[size:in.whole], '\n') + 1
		if length == 0 {
			length = in.whole - size // The last line of a complete stream.
		}
		size += length
		in.taken++
	}
	dst = append(dst, in.held[:size]...)
	in.held = in.held[:copy(in.held, in.held[size:])]
	in.whole -= size
	in.changed.Broadcast()
	return dst, first, true
}

// outcome returns how many lines were taken, and why the stream ended; nil: it has not.
func (in *intake) outcome() (taken int, why *ending) {
	in.mutex.Lock()
	defer in.mutex.Unlock()
	return in.taken, in.ended
}
