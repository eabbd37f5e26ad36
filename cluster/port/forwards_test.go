package port

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// numbers has the values at which the form of a head changes.
var numbers = []uint64{0, 1, 23, 24, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxUint64}

func someResult(random *rand.Rand) wire.Result {
	n := func() uint64 { return numbers[random.IntN(len(numbers))] }
	r := wire.Result{
		Code: wire.Code(n()), Refusal: wire.Refusal(n()), Origin: uint16(n()), Seq: n(), Index: n(), Term: n(), Leaf: n(),
		Time: engine.Time(n() & math.MaxInt64), State: engine.Status(n()), Value: n(),
	}
	if size := []int{0, 0, 1, 30, 450, 70_000}[random.IntN(6)]; size > 0 {
		r.Data = make([]byte, size)
		r.Data[0] = byte(n())
	}
	return r
}

// Messages written without reflection are, byte for byte, what the library would write, and
// they are read as the library reads them.
func TestForwardsAreTheLibrarysBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 3000 {
		n := func() uint64 { return numbers[random.IntN(len(numbers))] }
		call := &ForwardCall{Term: n(), Number: n(), Process: n(), Count: int(n() & math.MaxInt32), Records: make([]byte, random.IntN(300))}
		want := wire.Encode(call)
		require.Equal(t, want, encodePayload(call), "%+v", call)
		var gotCall, libraryCall ForwardCall
		require.NoError(t, decodeMessage(want, &libraryCall))
		require.True(t, gotCall.decodeFrame(want))
		require.Equal(t, libraryCall, gotCall)

		reply := &ForwardReply{Fate: uint8(n())}
		for range i % 5 {
			reply.Results = append(reply.Results, someResult(random))
		}
		want = wire.Encode(reply)
		require.Equal(t, want, encodePayload(reply), "%+v", reply)
		var got, library ForwardReply
		require.NoError(t, decodeMessage(want, &library))
		require.True(t, got.decodeFrame(want))
		require.Equal(t, library, got)
	}
	for name, odd := range map[string]any{
		"a time before all":   &ForwardReply{Results: []wire.Result{{Code: wire.Applied, Time: -1}}},
		"a frame of nothing":  &ForwardCall{Term: 1},
		"a count below zero":  &ForwardCall{Count: -1, Records: []byte{}},
		"an empty reply":      &ForwardReply{},
		"results that are no": &ForwardReply{Results: []wire.Result{}},
	} {
		require.Equal(t, wire.Encode(odd), encodePayload(odd), name)
	}
	var back ForwardReply
	require.NoError(t, decodePayload(encodePayload(&ForwardReply{Results: []wire.Result{{Code: wire.Applied, Time: -1}}}), &back))
	require.Equal(t, engine.Time(-1), back.Results[0].Time)
}

// Whatever the bytes: if the short way can read a message, the library reads the same.
func FuzzForwards(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	f.Add(encodePayload(&ForwardCall{Term: 3, Number: 9, Process: 1 << 60, Count: 2, Records: []byte("records")}))
	f.Add(encodePayload(&ForwardReply{Fate: 1}))
	f.Add(encodePayload(&ForwardReply{Results: []wire.Result{someResult(random), someResult(random)}}))
	f.Add([]byte{0xa1, 0x02, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // More results than bytes.
	f.Fuzz(func(t *testing.T, data []byte) {
		var call, libraryCall ForwardCall
		if call.decodeFrame(data) {
			require.NoError(t, decodeMessage(data, &libraryCall))
			require.Equal(t, fmt.Sprintf("%+v", libraryCall), fmt.Sprintf("%+v", call))
		}
		var reply, libraryReply ForwardReply
		if reply.decodeFrame(data) {
			require.NoError(t, decodeMessage(data, &libraryReply))
			require.Equal(t, fmt.Sprintf("%+v", libraryReply), fmt.Sprintf("%+v", reply))
		}
	})
}

// BenchmarkForwards writes and reads one message each way, with one and with fifty records.
func BenchmarkForwards(b *testing.B) {
	for _, count := range []int{1, 50} {
		reply := &ForwardReply{}
		for i := range count {
			reply.Results = append(reply.Results, wire.Result{Code: wire.Applied, Origin: 3, Seq: 1 << 62, Index: 1 << 20, Term: 3, Leaf: 1 << 21, Data: make([]byte, 420), Time: 1 << 60, Value: uint64(i)})
		}
		for name, read := range map[string]func(data []byte, into *ForwardReply) error{"plain": decodePayload[ForwardReply], "library": func(data []byte, into *ForwardReply) error { return decodeMessage(data, into) }} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					data := encodePayload(reply)
					if name == "library" {
						data = wire.Encode(reply)
					}
					var into ForwardReply
					if err := read(data, &into); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
