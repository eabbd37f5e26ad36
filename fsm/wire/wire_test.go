package wire

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// bodies returns one zero value of every record body, by kind.
func bodies() map[Kind]any {
	return map[Kind]any{
		KindTick: &Tick{}, KindGenesis: &Genesis{}, KindScreen: &Screen{}, KindRegister: &Register{}, KindReissue: &Reissue{},
		KindUser: &User{}, KindUserReissue: &UserReissue{}, KindFleet: &Fleet{}, KindFleetUpdate: &FleetUpdate{}, KindAssign: &Assign{},
		KindSettings: &Settings{}, KindAttest: &Attest{}, KindStatus: &Status{}, KindOwnership: &Ownership{}, KindDisposition: &Disposition{},
		KindQueue: &Queue{}, KindListChunk: &ListChunk{}, KindListActivate: &ListActivate{}, KindPolicy: &PolicyPut{}, KindWhitelist: &WhitelistPut{},
		KindAPIKey: &APIKeyPut{}, KindSigningKey: &SigningKeyPut{}, KindCleared: &ClearedPut{}, KindClock: &Clock{}, KindFormat: &FormatRaise{}, KindNote: &Note{}, KindMember: &Member{}, KindLogKey: &LogKeyPut{}, KindMatcher: &Matcher{},
		KindHold: &Hold{}, KindWithdraw: &Withdraw{}, KindAlert: &Alert{}, KindSAR: &SAR{}, KindWebhook: &WebhookPut{}, KindDelivery: &Delivery{}, KindRetro: &Retro{}, KindRestored: &Restored{}, KindReseal: &Reseal{}, KindLooks: &Looks{}, KindConfirm: &Confirm{}, KindOperatorLimit: &OperatorLimit{}, KindTime: &TimeConfirm{}, KindRetire: &Retire{}, KindSanctions: &SanctionsCase{}, KindPay: &Pay{}, KindWork: &Work{}, KindDraft: &Draft{}, KindSignIn: &SignIn{}, KindPasskey: &PasskeyPut{}, KindPersonEnd: &PersonEnd{}, KindSecondLook: &SecondLook{}, KindBackups: &Backups{},
	}
}

// fill gives every field of a value a different value.
func fill(v reflect.Value, next *uint64) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.String:
		v.SetString("text é " + string(rune('a'+*next%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + *next%200)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(-int64(1 + *next%100))
	default:
		panic("a record body may not hold " + v.Type().String())
	}
}

func TestEveryBodyComesBack(t *testing.T) {
	for kind := KindTick; kind <= KindNewest; kind++ {
		body := bodies()[kind]
		require.NotNil(t, body, "kind %d", kind)
		next := uint64(0)
		fill(reflect.ValueOf(body).Elem(), &next)
		data := Encode(body)
		again := reflect.New(reflect.TypeOf(body).Elem()).Interface()
		require.NoError(t, DecodeBody(data, again))
		require.Equal(t, body, again, "kind %d", kind)
		if kind == KindScreen {
			continue
		}
		for i := range data { // Nothing decoded may alias the entry.
			data[i] = 0xff
		}
		require.Equal(t, body, again, "kind %d", kind)
	}
}

// TestGolden holds the bytes of every kind's body, one kind in each line. They never change;
// a new kind adds its line.
func TestGolden(t *testing.T) {
	const name = "testdata/records-1.txt"
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	var got strings.Builder
	for kind := KindTick; kind <= KindNewest; kind++ {
		body := bodies()[kind]
		next := uint64(0)
		fill(reflect.ValueOf(body).Elem(), &next)
		fmt.Fprintf(&got, "%d %x\n", kind, Encode(body))
	}
	require.Equal(t, string(want), got.String())
}

// TestScreenAgainstCBOR compares the hand-written form with CBOR.
func TestScreenAgainstCBOR(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var want Screen
		next := random.Uint64()
		fill(reflect.ValueOf(&want).Elem(), &next)
		for i, v := 0, reflect.ValueOf(&want).Elem(); i < v.NumField(); i++ {
			if random.IntN(3) == 0 {
				v.Field(i).SetZero()
			}
		}
		if want.Fragment == nil {
			want.Fragment = []byte{}
		}
		if want.Reference == (engine.ReferenceKey{}) {
			want.Used = Used{} // It is of the reference.
		}
		data := Encode(&want)
		var byHand, plain Screen
		require.NoError(t, DecodeScreen(data, &byHand))
		encoded, err := encoding.Marshal(&want)
		require.NoError(t, err)
		require.NoError(t, decoding.Unmarshal(encoded, &plain))
		require.Equal(t, plain, byHand)
		for cut := range data[:len(data)-len(want.Fragment)] {
			require.ErrorIs(t, DecodeScreen(data[:cut], &byHand), ErrScreen)
		}
	}
}

func FuzzDecodeScreen(f *testing.F) {
	var s Screen
	f.Add(Encode(&s))
	next := uint64(0)
	fill(reflect.ValueOf(&s).Elem(), &next)
	f.Add(Encode(&s))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Screen
		if DecodeScreen(data, &got) == nil {
			require.Equal(t, data, AppendScreen([]byte{}, &got), "one record, one encoding")
		}
	})
}

func TestResultComesBack(t *testing.T) {
	var result, again Result
	next := uint64(0)
	fill(reflect.ValueOf(&result).Elem(), &next)
	require.NoError(t, DecodeBody(Encode(&result), &again))
	require.Equal(t, result, again)
}

func TestDecodingIsStrict(t *testing.T) {
	for name, data := range map[string][]byte{
		"unknown key":         {0xa1, 0x18, 0x63, 0x01},
		"key twice":           {0xa2, 0x01, 0x01, 0x01, 0x02},
		"indefinite map":      {0xbf, 0x01, 0x01, 0xff},
		"tag":                 {0xc0, 0xa0},
		"truncated":           {0xa1, 0x01},
		"trailing bytes":      {0xa0, 0xa0},
		"float for a number":  {0xa1, 0x01, 0xf9, 0x3c, 0x00},
		"text key":            {0xa1, 0x61, 0x31, 0x01},
		"not a map":           {0x01},
		"huge byte string":    {0xa1, 0x02, 0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"negative for a size": {0xa1, 0x01, 0x20},
		"empty":               {},
	} {
		require.Error(t, DecodeBody(data, &Tick{}), name)
	}
	require.Error(t, DecodeBody([]byte{0xa1, 0x01, 0x62, 0xff, 0xfe}, &APIKey{}), "invalid UTF-8")
}

func TestEntryComesBack(t *testing.T) {
	header := Header{Format: engine.Format1, Term: 7, Time: -5}
	records := []Record{
		{Kind: KindTick, Version: 1, Origin: 2, Seq: 3, Body: []byte{}},
		{Kind: KindScreen, Version: 1, Origin: 65535, Seq: 1<<64 - 1, Body: []byte("body")},
	}
	entry := AppendHeader(nil, header)
	for _, r := range records {
		entry = AppendRecord(entry, r)
	}
	entry = Seal(entry, len(records))
	batch, err := Decode(entry)
	require.NoError(t, err)
	require.Equal(t, header, batch.Header)
	for _, want := range records {
		got, more := batch.Next()
		require.True(t, more)
		require.Equal(t, want, got)
	}
	_, more := batch.Next()
	require.False(t, more)
	for i := range entry { // A change of any byte is detected.
		entry[i] ^= 1
		_, err := Decode(entry)
		require.Error(t, err, "byte %d", i)
		entry[i] ^= 1
	}
	for n := range entry {
		_, err := Decode(entry[:n])
		require.Error(t, err)
	}
}

func TestFramesAreChecked(t *testing.T) {
	seal := func(count int, tail ...byte) []byte { return Seal(append(AppendHeader(nil, Header{}), tail...), count) }
	long := make([]byte, recordHead)
	binary.LittleEndian.PutUint32(long[12:], 1)
	for name, entry := range map[string][]byte{
		"record missing":        seal(1),
		"bytes after the last":  seal(0, 1),
		"head cut":              seal(1, make([]byte, recordHead-1)...),
		"body cut":              seal(1, long...),
		"more than the maximum": seal(engine.EntryRecordsMax+1, make([]byte, recordHead*(engine.EntryRecordsMax+1))...),
	} {
		_, err := Decode(entry)
		require.ErrorIs(t, err, ErrFrame, name)
	}
	_, err := Decode(seal(engine.EntryRecordsMax, make([]byte, recordHead*engine.EntryRecordsMax)...))
	require.NoError(t, err)
}

func TestHitsComeBack(t *testing.T) {
	var hits, again engine.Hits
	for id := engine.RuleID(1); id < engine.RuleBits; id++ {
		hits.Add(id, engine.Sub(id%5))
	}
	var s Screen
	PackHits(&hits, &s)
	require.True(t, UnpackHits(&s, &again))
	require.Equal(t, hits, again)
	for name, bad := range map[string]Screen{
		"bit 0":           {Mask: 1, Subs: []byte{1}},
		"no sub-reason":   {Mask: 1 << 6},
		"zero sub-reason": {Mask: 1 << 6, Subs: []byte{0}},
		"one too many":    {Mask: 1 << 6, Subs: []byte{1, 1}},
		"subs alone":      {Subs: []byte{1}},
	} {
		require.False(t, UnpackHits(&bad, &engine.Hits{}), name)
	}
}

// FuzzDecodeBody: what the strict decoder accepts can be encoded again, and a second round
// gives the same bytes, as a restored state must.
func FuzzDecodeBody(f *testing.F) {
	for kind, body := range bodies() {
		f.Add(uint8(kind), Encode(body))
		next := uint64(0)
		fill(reflect.ValueOf(body).Elem(), &next)
		f.Add(uint8(kind), Encode(body))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		body := bodies()[Kind(kind)]
		if body == nil || DecodeBody(data, body) != nil {
			return
		}
		first := Encode(body)
		again := reflect.New(reflect.TypeOf(body).Elem()).Interface()
		require.NoError(t, DecodeBody(first, again))
		require.Equal(t, first, Encode(again))
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(Seal(AppendRecord(AppendHeader(nil, Header{Format: 1, Term: 1, Time: 1}), Record{Kind: KindTick, Version: 1, Body: []byte("x")}), 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= entryHead+entryTail {
			data = Seal(append([]byte(nil), data[:len(data)-entryTail]...), int(binary.LittleEndian.Uint16(data[18:])))
		}
		batch, err := Decode(data)
		if err != nil {
			return
		}
		again := AppendHeader(nil, batch.Header)
		count := 0
		for r, more := batch.Next(); more; r, more = batch.Next() {
			again = AppendRecord(again, r)
			count++
		}
		require.Equal(t, data, Seal(again, count))
	})
}
