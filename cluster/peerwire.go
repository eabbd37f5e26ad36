package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// What nodes say to each other over the one port, after the TLS handshake:
//
//	dialler:  "RG" protocol u8 version u8 | size u16 | hello (CBOR)
//	listener:                               size u16 | welcome (CBOR)
//
// then, on a raft connection, the library's own stream, and on a call connection
// frames in both directions:
//
//	frame = size u32 | kind u8 | call u64 | payload       (size counts what follows it)
//
// A reply has the call's number and kind callReply or callFailed (payload: text).
// Integers are big-endian. Unknown members of messages are ignored, so that
// releases next to each other understand one another; what must not be ignored
// gets a new version.
const (
	protocolRaft  byte = 'R'
	protocolCalls byte = 'C'
	muxVersion    byte = 1

	helloMax     = 4 * engine.KiB
	frameHead    = 1 + 8
	callFrameMax = 18 * engine.MiB // The largest bundle of leaves is under 17 MiB.
)

// call names what is asked of a peer. Numbers are for ever.
type call uint8

const (
	callReply     call = 0
	callPing      call = 1
	callForward   call = 2
	callReadIndex call = 3
	callTerm      call = 4
	callLeaf      call = 5
	callJoin      call = 6
	callVerb      call = 7
	callPromise   call = 8
	// 9 asked for a tree's compact range and is not given again.
	callRoots   call = 10
	callBundle  call = 11
	callSegment call = 12
	callDigest  call = 13
	callList    call = 14
	callGiveUp  call = 15
	callFailed  call = 255
)

// hello is the dialler's word.
type hello struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
	ClusterID   string `cbor:"3,keyasint,omitempty"`
	Release     string `cbor:"4,keyasint,omitempty"`
	LastIndex   uint64 `cbor:"5,keyasint,omitempty"` // Of its log, with raft connections.
	Recovery    uint64 `cbor:"6,keyasint,omitempty"` // Of its group, see recovery_lineage.go.
	Lineage     string `cbor:"7,keyasint,omitempty"`
	Recorded    bool   `cbor:"8,keyasint,omitempty"` // The leaf of that recovery is in the log.
}

// welcome is the listener's answer; Refused says why the connection ends here.
type welcome struct {
	Refused     string `cbor:"1,keyasint,omitempty"`
	ID          string `cbor:"2,keyasint"`
	Incarnation string `cbor:"3,keyasint"`
	ClusterID   string `cbor:"4,keyasint,omitempty"`
	Release     string `cbor:"5,keyasint,omitempty"`
	LastIndex   uint64 `cbor:"6,keyasint,omitempty"`
	Recovery    uint64 `cbor:"7,keyasint,omitempty"`
	Lineage     string `cbor:"8,keyasint,omitempty"`
	Recorded    bool   `cbor:"9,keyasint,omitempty"`
}

// pong answers a ping: what a node tells of itself.
type pong struct {
	ID          string      `cbor:"1,keyasint"`
	Incarnation string      `cbor:"2,keyasint"`
	ClusterID   string      `cbor:"3,keyasint,omitempty"`
	Wall        engine.Time `cbor:"4,keyasint"`
	Term        uint64      `cbor:"5,keyasint"`
	Role        string      `cbor:"6,keyasint"`
	Applied     uint64      `cbor:"7,keyasint"`
	Commit      uint64      `cbor:"8,keyasint"`
	Release     string      `cbor:"9,keyasint,omitempty"`
	APIAddr     string      `cbor:"10,keyasint,omitempty"`
	UpSince     string      `cbor:"11,keyasint,omitempty"`
	DiskFree    int32       `cbor:"12,keyasint"`
	ListVersion uint64      `cbor:"13,keyasint,omitempty"`
	FormatMax   uint16      `cbor:"14,keyasint"`
	Leads       bool        `cbor:"15,keyasint,omitempty"` // Its term is open for proposals.
	Healthy     bool        `cbor:"16,keyasint,omitempty"`
	Member      bool        `cbor:"17,keyasint,omitempty"` // It has a configuration or data.
	Expect      int         `cbor:"18,keyasint,omitempty"` // --bootstrap-expect.
	Address     string      `cbor:"19,keyasint,omitempty"` // Its memberAddress.
	Missing     bool        `cbor:"20,keyasint,omitempty"` // It still fetches history.

	Use []report.KeyUse `cbor:"21,keyasint,omitempty"` // Of API keys, lately.

	Recovery uint64 `cbor:"22,keyasint,omitempty"` // Of its group, and whether the leaf of it
	Recorded bool   `cbor:"23,keyasint,omitempty"` // is in the log.
}

// forwardCall carries a frame of records to the leader.
type forwardCall struct {
	Term    uint64 `cbor:"1,keyasint"`
	Number  uint64 `cbor:"2,keyasint"` // Rising, per process of the sender.
	Process uint64 `cbor:"5,keyasint"`
	Count   int    `cbor:"3,keyasint"`
	Records []byte `cbor:"4,keyasint"`
}

// forwardReply says what became of the frame.
type forwardReply struct {
	Fate    uint8         `cbor:"1,keyasint"`
	Results []wire.Result `cbor:"2,keyasint,omitempty"`
}

// giveUpCall asks, after a broken connection, which frames up to Number arrived; the
// others will be refused from then on.
type giveUpCall struct {
	Term    uint64 `cbor:"1,keyasint"`
	Number  uint64 `cbor:"2,keyasint"`
	Process uint64 `cbor:"3,keyasint"`
}

type giveUpReply struct {
	Arrived []uint64 `cbor:"1,keyasint,omitempty"` // Numbers, the newest ones.
}

// numberCall and numberReply carry one number: a term, an index.
type numberCall struct {
	Number uint64 `cbor:"1,keyasint,omitempty"`
	Width  int    `cbor:"2,keyasint,omitempty"`
	Size   uint64 `cbor:"3,keyasint,omitempty"`
	Offset int64  `cbor:"4,keyasint,omitempty"`
	Digest []byte `cbor:"5,keyasint,omitempty"`
}

type numberReply struct {
	Number uint64   `cbor:"1,keyasint,omitempty"`
	Data   []byte   `cbor:"2,keyasint,omitempty"`
	Hashes [][]byte `cbor:"3,keyasint,omitempty"`
	Code   uint8    `cbor:"4,keyasint,omitempty"`
	Total  int64    `cbor:"5,keyasint,omitempty"`
}

// joinCall asks to become a member.
type joinCall struct {
	ID      string `cbor:"1,keyasint"`
	Address string `cbor:"2,keyasint"` // memberAddress.
	Release string `cbor:"3,keyasint,omitempty"`
	Format  uint16 `cbor:"4,keyasint"` // Highest format it applies.
}

// verbCall is an operator's verb on its way to the leader.
type verbCall struct {
	Verb string `cbor:"1,keyasint"`
	ID   string `cbor:"2,keyasint,omitempty"`
	Addr string `cbor:"3,keyasint,omitempty"`
}

// promiseCall asks a node without data to let the caller form the group.
type promiseCall struct {
	ID          string `cbor:"1,keyasint"`
	Incarnation string `cbor:"2,keyasint"`
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
func appendCall(dst []byte, kind call, number uint64, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameHead+len(payload)))
	dst = append(dst, byte(kind))
	dst = binary.BigEndian.AppendUint64(dst, number)
	return append(dst, payload...)
}

// readCall reads one frame. Memory is taken as bytes arrive, so that a length
// alone costs nothing.
func readCall(r io.Reader) (kind call, number uint64, payload []byte, err error) {
	var head [4 + frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < frameHead || size > callFrameMax {
		return 0, 0, nil, errFrameSize
	}
	payload, err = readGrowing(r, int(size-frameHead))
	return call(head[4]), binary.BigEndian.Uint64(head[5:]), payload, err
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
