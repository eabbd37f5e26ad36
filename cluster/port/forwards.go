package port

import (
	"math"

	"railguard/engine"
	"railguard/fsm/wire"
)

// A call that a follower accepted travels to the leader and back in two messages. They are
// written and read here without reflection, as the same bytes of CBOR that the library writes.
// Messages in another encoding are left to the library.

// Major types of CBOR (RFC 8949, 3.1).
const (
	cborNumber = 0
	cborBytes  = 2
	cborList   = 4
	cborMap    = 5
)

// appendHead appends a data item's head in its shortest form.
func appendHead(dst []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return append(dst, major|26, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(dst, major|27, byte(n>>56), byte(n>>48), byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendMember(dst []byte, number byte, n uint64) []byte {
	return appendHead(append(dst, number), cborNumber, n)
}

func appendBytes(dst []byte, number byte, data []byte) []byte {
	return append(appendHead(append(dst, number), cborBytes, uint64(len(data))), data...)
}

// Bytes of a message besides its payload.
const (
	callRoom   = 64
	resultRoom = 80
)

// encodeFrame writes a frame of records.
func (m *ForwardCall) encodeFrame() ([]byte, bool) {
	if m.Count < 0 || m.Records == nil {
		return nil, false
	}
	out := appendHead(make([]byte, 0, callRoom+len(m.Records)), cborMap, 5)
	out = appendMember(appendMember(out, 1, m.Term), 2, m.Number)
	out = appendBytes(appendMember(out, 3, uint64(m.Count)), 4, m.Records)
	return appendMember(out, 5, m.Process), true
}

// encodeFrame writes the outcome of a frame.
func (m *ForwardReply) encodeFrame() ([]byte, bool) {
	room, members := callRoom, uint64(1)
	for i := range m.Results {
		room += resultRoom + len(m.Results[i].Data)
	}
	if len(m.Results) > 0 {
		members++
	}
	out := appendMember(appendHead(make([]byte, 0, room), cborMap, members), 1, uint64(m.Fate))
	if len(m.Results) == 0 {
		return out, true
	}
	out = appendHead(append(out, 2), cborList, uint64(len(m.Results)))
	for i := range m.Results {
		if m.Results[i].Time < 0 {
			return nil, false
		}
		out = appendResult(out, &m.Results[i])
	}
	return out, true
}

func appendResult(out []byte, r *wire.Result) []byte {
	numbers := [...]uint64{
		1: uint64(r.Code), 2: uint64(r.Refusal), 3: uint64(r.Origin), 4: r.Seq, 5: r.Index, 6: r.Term, 7: r.Leaf,
		9: uint64(r.Time), 10: uint64(r.State), 11: r.Value,
	}
	at := len(out)
	out = append(out, 0) // The number of members: 11 at most, so one byte.
	members := byte(0)
	for number := byte(1); number < byte(len(numbers)); number++ {
		switch {
		case number == 8 && len(r.Data) > 0:
			out = appendBytes(out, number, r.Data)
		case numbers[number] != 0 || number == 1 || number == 5:
			out = appendMember(out, number, numbers[number])
		default:
			continue
		}
		members++
	}
	out[at] = cborMap<<5 | members
	return out
}

// plainReader reads only what the functions above write. After anything else, other is true and
// the returned values mean nothing.
type plainReader struct {
	data  []byte
	other bool
}

func (r *plainReader) readHead(major byte) uint64 {
	if len(r.data) == 0 || r.data[0]>>5 != major {
		r.other = true
		return 0
	}
	short := r.data[0] & 31
	r.data = r.data[1:]
	if short < 24 {
		return uint64(short)
	}
	size := 1 << (short - 24)
	if short > 27 || len(r.data) < size {
		r.other = true
		return 0
	}
	n := uint64(0)
	for _, b := range r.data[:size] {
		n = n<<8 | uint64(b)
	}
	r.data = r.data[size:]
	return n
}

// readBounded reads a number that is at most most.
func (r *plainReader) readBounded(most uint64) uint64 {
	n := r.readHead(cborNumber)
	r.other = r.other || n > most
	return n
}

// readBytes reads bytes without a copy: they share the message's memory.
func (r *plainReader) readBytes() []byte {
	n := r.readHead(cborBytes)
	if r.other || n > uint64(len(r.data)) {
		r.other = true
		return nil
	}
	out := r.data[:n:n]
	r.data = r.data[n:]
	return out
}

// readMember reads the number of the next member. Each number is above the one before.
func (r *plainReader) readMember(before uint64) uint64 {
	number := r.readHead(cborNumber)
	r.other = r.other || number <= before
	return number
}

// decodeFrame reads a frame of records. It returns false if the message is not plain.
func (m *ForwardCall) decodeFrame(data []byte) bool {
	r, got := plainReader{data: data}, ForwardCall{}
	number := uint64(0)
	for left := r.readHead(cborMap); left > 0 && !r.other; left-- {
		switch number = r.readMember(number); number {
		case 1:
			got.Term = r.readHead(cborNumber)
		case 2:
			got.Number = r.readHead(cborNumber)
		case 3:
			got.Count = int(r.readBounded(math.MaxInt32))
		case 4:
			got.Records = r.readBytes()
		case 5:
			got.Process = r.readHead(cborNumber)
		default:
			return false
		}
	}
	if r.other || len(r.data) > 0 {
		return false
	}
	*m = got
	return true
}

// leastResult is the least number of bytes of a result.
const leastResult = 5

// decodeFrame reads the outcome of a frame. It returns false if the message is not plain.
func (m *ForwardReply) decodeFrame(data []byte) bool {
	r, got := plainReader{data: data}, ForwardReply{}
	number := uint64(0)
	for left := r.readHead(cborMap); left > 0 && !r.other; left-- {
		switch number = r.readMember(number); number {
		case 1:
			got.Fate = uint8(r.readBounded(math.MaxUint8))
		case 2:
			count := r.readHead(cborList)
			if r.other || count == 0 || count > uint64(len(r.data)/leastResult) {
				return false
			}
			got.Results = make([]wire.Result, count)
			for i := range got.Results {
				r.readResult(&got.Results[i])
			}
		default:
			return false
		}
	}
	if r.other || len(r.data) > 0 {
		return false
	}
	*m = got
	return true
}

func (r *plainReader) readResult(into *wire.Result) {
	number := uint64(0)
	for left := r.readHead(cborMap); left > 0 && !r.other; left-- {
		switch number = r.readMember(number); number {
		case 1:
			into.Code = wire.Code(r.readBounded(math.MaxUint8))
		case 2:
			into.Refusal = wire.Refusal(r.readBounded(math.MaxUint8))
		case 3:
			into.Origin = uint16(r.readBounded(math.MaxUint16))
		case 4:
			into.Seq = r.readHead(cborNumber)
		case 5:
			into.Index = r.readHead(cborNumber)
		case 6:
			into.Term = r.readHead(cborNumber)
		case 7:
			into.Leaf = r.readHead(cborNumber)
		case 8:
			into.Data = r.readBytes()
		case 9:
			into.Time = engine.Time(r.readBounded(math.MaxInt64))
		case 10:
			into.State = engine.Status(r.readBounded(math.MaxUint8))
		case 11:
			into.Value = r.readHead(cborNumber)
		default:
			r.other = true
		}
	}
}
