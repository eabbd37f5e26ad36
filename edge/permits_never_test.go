package edge

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// secretMark begins every text of a hostile record that no permit may tell.
const secretMark = "Zebulon-"

// hostile makes records whose every field holds something.
type hostile struct {
	*rand.Rand
	shared *rand.Rand // Draws what a permit tells, the same in both records of a pair.
}

func (h *hostile) secret() string { return fmt.Sprintf("%s%012x", secretMark, h.Uint64()>>16) }

// fill puts a value into all fields of a struct, however deep. A list has one element.
func (h *hostile) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				h.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		h.fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(h.secret()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		h.fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			h.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(h.secret())
	case reflect.Bool:
		v.SetBool(h.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(h.Int64N(1 << min(62, v.Type().Bits()-1)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(h.Uint64N(1 << min(63, v.Type().Bits()-1)))
	}
}

// permittedTags are the members of a call whose words a permit tells.
var permittedTags = []leaf.Tag{leaf.TagChain, leaf.TagRail, leaf.TagWallet, leaf.TagPayer, leaf.TagPayment, leaf.TagName, leaf.TagIdentifiers, leaf.TagWallets, leaf.TagPermit}

// record makes a PROCEED with a permit. What a permit tells is drawn from shared, all else from h.
func (h *hostile) record() *leafjson.Screen {
	x := new(leafjson.Screen)
	h.fill(reflect.ValueOf(&x.Screen).Elem())
	x.Agent, x.Party = new(leaf.Profile), new(leaf.Profile)
	h.fill(reflect.ValueOf(x.Agent).Elem())
	h.fill(reflect.ValueOf(x.Party).Elem())
	for tag := leaf.TagSource; tag <= leaf.TagLast; tag++ {
		x.Edge.Set(tag, []byte(`"`+h.secret()+`"`))
	}
	for tag, size := range map[leaf.Tag]int{leaf.TagSource: 1, leaf.TagRequestHash: 32, leaf.TagTrace: 16, leaf.TagFlags: 1} {
		x.Edge.Set(tag, slices.Repeat([]byte{byte(h.Uint32())}, size))
	}
	for _, tag := range permittedTags {
		x.Edge.Set(tag, nil)
	}
	s := h.shared
	word := func(of string) []byte { return []byte(fmt.Sprintf(`"%s%08x"`, of, s.Uint32())) }
	x.Edge.Set(leaf.TagPermit, []byte(`{"aud":"https://pay.example.org","maxAge":604800,"lists":[{"id":"OFAC","asOf":"2026-11-19"},{"id":"own"}]}`))
	x.Edge.Set(leaf.TagChain, word("chain"))
	x.Edge.Set(leaf.TagRail, word("rail"))
	x.Edge.Set(leaf.TagPayment, word("inv-"))
	x.Edge.Set(leaf.TagPayer, word("0x"))
	if s.IntN(2) == 0 {
		x.Edge.Set(leaf.TagWallet, word("0x"))
		x.Edge.Set(leaf.TagName, []byte(`"`+h.secret()+`"`)) // Beside a wallet they do not count.
		x.Edge.Set(leaf.TagIdentifiers, []byte(`[{"type":"account","value":"`+h.secret()+`"}]`))
	} else {
		x.Edge.Set(leaf.TagName, []byte(fmt.Sprintf(`"%s%08x"`, secretMark, s.Uint32()))) // It stands there as a hash alone.
		x.Edge.Set(leaf.TagIdentifiers, []byte(fmt.Sprintf(`[{"type":"account","value":"%s%08x"}]`, secretMark, s.Uint32())))
	}
	x.Screen.Edge = x.Edge.Append(nil)
	x.Verdict, x.Rules, x.Judged, x.Rule = engine.Proceed, engine.NewestRules.Number, true, 0
	x.LevelCount = uint8(1 + h.IntN(len(x.Levels)))
	x.Leaf, x.ListVersion, x.PolicyVersion = uint64(s.Uint32()), uint64(s.Uint32()), uint64(s.Uint32())
	x.At, x.HoldUntil = engine.Time(s.Int64N(1<<60)), 1<<62
	x.Amount, x.PermitSeconds, x.ListAge = engine.USD(1+s.Int64N(1<<40)), 60+s.Uint32N(241), engine.Time(s.Int64N(int64(engine.DayLength)))
	for i := range x.Txn {
		x.Txn[i] = "0123456789abcdef"[s.IntN(16)]
	}
	for i := range x.ListDigest {
		x.ListDigest[i] = byte(s.Uint32())
	}
	x.Agent.AgentIDs[0] = "agt_" + fmt.Sprint(s.Uint32())
	return x
}

// permitKeys are those of a service with one key for permits.
func permitKeys(t testing.TB) *signingKeys {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), slices.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	return &signingKeys{
		genesis: &wire.Genesis{PublicURL: "https://guard.example.org", LogKeys: "guard.example.org/log+1+k"},
		source:  []*wire.SigningKey{{KID: "pm-v1", For: wire.ForPermits}}, private: map[string]crypto.Signer{"pm-v1": private},
	}
}

// BenchmarkWritePermit is all that a permit costs the answer to a call (statement P40).
func BenchmarkWritePermit(b *testing.B) {
	h := hostile{rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 1))}
	keys, x := permitKeys(b), h.record()
	var m strictjson.Members
	b.ReportAllocs()
	for b.Loop() {
		m = m[:0]
		if err := keys.WritePermit(&m, x); err != nil {
			b.Fatal(err)
		}
	}
}

// claimsOf are the claims of the permit of a record.
func claimsOf(t *testing.T, keys *signingKeys, x *leafjson.Screen) (claims string) {
	var m strictjson.Members
	require.NoError(t, keys.WritePermit(&m, x))
	var answer struct{ Permit string }
	require.NoError(t, json.Unmarshal(m.Body(), &answer))
	parts := strings.Split(answer.Permit, ".")
	require.Len(t, parts, 3, "%s", m)
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	return string(payload)
}

// TestPermitTellsNothingElse (statement P07): of 10,000 hostile records no permit tells what it must
// not. Each is one of a pair: where two records agree in what a permit tells, their permits differ in
// the record's own hash alone, whatever else the records hold.
func TestPermitTellsNothingElse(t *testing.T) {
	keys := permitKeys(t)
	for i := range uint64(5_000) {
		var told [2]string
		for side := range told {
			h := hostile{rand.New(rand.NewPCG(i, 2+uint64(side))), rand.New(rand.NewPCG(i, 1))}
			told[side] = claimsOf(t, keys, h.record())
			require.NotContains(t, told[side], secretMark, "%d", i)
			var claims map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(told[side]), &claims))
			require.Equal(t, []string{"aml", "aud", "exp", "iat", "iss", "jti", "lists", "log", "pay", "pay_hash", "policy", "rules", "sub", "verdict"}, slices.Sorted(maps.Keys(claims)))
			var log struct{ Hash string }
			require.NoError(t, json.Unmarshal(claims["log"], &log))
			require.NotEmpty(t, log.Hash)
			told[side] = strings.Replace(told[side], log.Hash, "", 1)
		}
		require.Equal(t, told[0], told[1], "%d", i)
	}
}
