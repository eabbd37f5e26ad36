package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Nodes exchange these bytes over the one port, after the TLS handshake:
//
//	dialler:  "RG" protocol u8 version u8 | size u16 | hello (CBOR)
//	listener: size u16 | welcome (CBOR)
//
// A raft connection then carries the library's own stream. A call connection carries frames in
// both directions:
//
//	frame = size u32 | kind u8 | call u64 | payload        (size counts what follows it)
//
// A reply has the call's number and kind callReply or callFailed (payload: text). Integers are
// big-endian. Unknown members of messages are ignored, so that neighbouring releases understand
// one another. A member that must not be ignored needs a new version.
const (
	ProtocolRaft  byte = 'R'
	ProtocolCalls byte = 'C'
	muxVersion    byte = 3 // The drafts before 0.2.0 spoke 1 and 2.

	helloMax     = 4 * engine.KiB
	frameHead    = 1 + 8
	callFrameMax = 18 * engine.MiB // The largest bundle of leaves is under 17 MiB.
)

// Hello is the dialler's first message.
type Hello struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
	ClusterID   string `cbor:"3,keyasint,omitempty"`
	Release     string `cbor:"4,keyasint,omitempty"`
	LastIndex   uint64 `cbor:"5,keyasint,omitempty"` // The last index of the dialler's log; set for raft connections.
	Recovery    uint64 `cbor:"6,keyasint,omitempty"` // The number of its group's recoveries, see cluster/lineage.go.
	Lineage     string `cbor:"7,keyasint,omitempty"`
	Recorded    bool   `cbor:"8,keyasint,omitempty"` // The leaf of the last recovery is in the log.
}

// Welcome is the listener's answer. Refused says why the connection ends here.
type Welcome struct {
	Refused     string `cbor:"1,keyasint,omitempty"`
	ID          string `cbor:"2,keyasint"`
	Incarnation string `cbor:"3,keyasint"`
	ClusterID   string `cbor:"4,keyasint,omitempty"`
	Release     string `cbor:"5,keyasint,omitempty"`
	LastIndex   uint64 `cbor:"6,keyasint,omitempty"`
	Recovery    uint64 `cbor:"7,keyasint,omitempty"`
	Lineage     string `cbor:"8,keyasint,omitempty"`
	Recorded    bool   `cbor:"9,keyasint,omitempty"`

	// Removed: this incarnation of the dialler was removed from the group, or superseded.
	Removed string `cbor:"10,keyasint,omitempty"`
	Process uint64 `cbor:"11,keyasint,omitempty"` // Random number of the process that answers.
	// Reached: the dialler is refused because its log ends before this index, which it had
	// applied.
	Reached uint64 `cbor:"12,keyasint,omitempty"`
	Lives   bool   `cbor:"13,keyasint,omitempty"` // A majority stands behind the node that answers.
}

// AsHello returns the sender's part of a welcome.
func (w *Welcome) AsHello() *Hello {
	return &Hello{
		ID: w.ID, Incarnation: w.Incarnation, ClusterID: w.ClusterID, Release: w.Release, LastIndex: w.LastIndex,
		Recovery: w.Recovery, Lineage: w.Lineage, Recorded: w.Recorded,
	}
}

var peerDecoding = mustPeerDecoding()

func mustPeerDecoding() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
		MaxNestedLevels: 8, MaxArrayElements: 1 << 20, MaxMapPairs: 64,
	}.DecMode()
	if err != nil {
		panic("BUG: cbor options: " + err.Error())
	}
	return mode
}

func decodeMessage(data []byte, v any) error {
	if err := peerDecoding.Unmarshal(data, v); err != nil {
		return fmt.Errorf("peer message: %w", err)
	}
	return nil
}

// encodePayload returns the bytes of a message; there are none if the message has no members.
func encodePayload(message any) []byte {
	if isEmpty(reflect.TypeOf(message)) {
		return nil
	}
	if plain, is := message.(interface{ encodeFrame() ([]byte, bool) }); is {
		if out, ok := plain.encodeFrame(); ok {
			return out
		}
	}
	return wire.Encode(message)
}

// decodePayload reads a message. For a message without members it reads nothing. Bytes in the
// message may share the payload's memory.
func decodePayload[M any](payload []byte, into *M) error {
	if isEmpty(reflect.TypeFor[M]()) {
		return nil
	}
	if plain, is := any(into).(interface{ decodeFrame(data []byte) bool }); is && plain.decodeFrame(payload) {
		return nil
	}
	return decodeMessage(payload, into)
}

func isEmpty(message reflect.Type) bool {
	if message.Kind() == reflect.Pointer {
		message = message.Elem()
	}
	return message.NumField() == 0
}

var errFrameSize = errors.New("peer frame: size out of bounds")

// writeSized writes a hello or welcome.
func writeSized(w io.Writer, head []byte, v any) error {
	body := wire.Encode(v)
	if len(body) > helloMax {
		return errFrameSize
	}
	message := binary.BigEndian.AppendUint16(head, uint16(len(body)))
	_, err := w.Write(append(message, body...))
	return err
}

func readSized(r io.Reader, v any) error {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint16(size[:])
	if n > helloMax {
		return errFrameSize
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return decodeMessage(body, v)
}

// appendCall frames a message.
func appendCall(dst []byte, kind Kind, number uint64, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameHead+len(payload)))
	dst = append(dst, byte(kind))
	dst = binary.BigEndian.AppendUint64(dst, number)
	return append(dst, payload...)
}

// readCall reads one frame. It takes memory only as bytes arrive, so that a length alone costs
// nothing.
func readCall(r io.Reader) (kind Kind, number uint64, payload []byte, err error) {
	var head [4 + frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < frameHead || size > callFrameMax {
		return 0, 0, nil, errFrameSize
	}
	payload, err = readGrowing(r, int(size-frameHead))
	return Kind(head[4]), binary.BigEndian.Uint64(head[5:]), payload, err
}

func readFull(r io.Reader, data []byte) error {
	_, err := io.ReadFull(r, data)
	return err
}

const readStep = 256 * engine.KiB

func readGrowing(r io.Reader, size int) ([]byte, error) {
	data := make([]byte, 0, min(size, readStep))
	for len(data) < size {
		at := len(data)
		step := min(size-at, max(readStep, at))
		data = append(data, make([]byte, step)...)
		if _, err := io.ReadFull(r, data[at:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}
