package leaf

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// randomScreen draws a record that Apply could have written.
func randomScreen(r *rand.Rand) *Screen {
	s := &Screen{
		Rules: 1, Leaf: r.Uint64() >> (r.Uint32() & 63), Index: r.Uint64() >> (r.Uint32() & 63), At: engine.Time(r.Int64()),
		Verdict: engine.Verdict(r.IntN(4)), Rule: engine.RuleID(r.IntN(len(engine.Rules) + 1)), Sub: engine.Sub(r.IntN(4)),
		Triggered: r.Uint32() & (1<<26 - 2), PolicyVersion: r.Uint64(), ListVersion: uint64(r.IntN(100)),
		Matcher: uint16(r.Uint32()), ListStale: coin(r), ListOld: coin(r),
	}
	copy(s.Txn[:], "aZ09bY18")
	for i := range s.Salt {
		s.Salt[i] = byte(r.Uint32())
	}
	s.ListDigest[0] = 7
	if coin(r) {
		s.Shadow = 1 << (1 + r.IntN(len(engine.Rules)))
	}
	if coin(r) {
		randomEvidence(r, s)
	}
	var f Fragment
	if coin(r) {
		f.Set(TagSource, []byte{1})
		f.Set(TagAmount, []byte("12.50"))
		f.Set(TagName, []byte(`"Acmé"`))
		f.Set(TagTruncated, nil)
	}
	s.Edge = f.Append([]byte{})
	return s
}

func randomEvidence(r *rand.Rand, s *Screen) {
	s.Judged, s.Sequence, s.Status = true, r.Uint64()>>(r.Uint32()&63), engine.Status(r.IntN(4))
	if s.Sequence > 1 {
		s.Previous = r.Uint64()
	}
	if coin(r) {
		s.Profile = Ref{Leaf: r.Uint64(), Hash: [32]byte{1, 2}}
	}
	if coin(r) {
		s.User = Ref{Leaf: r.Uint64(), Hash: [32]byte{3, 4}}
	}
	s.StaticMask, s.Amount, s.LevelCount = r.Uint32()&(1<<26-2), engine.USD(r.Int64()), uint8(r.IntN(engine.DepthMax+2))
	for i := range s.LevelCount {
		s.Levels[i] = Level{
			Status: engine.Status(r.IntN(4)), MinVersion: uint16(r.Uint32()), OverlapUntil: engine.Time(r.Int64()),
			OwnershipFrom: engine.Time(r.Int64()), AttestedAt: engine.Time(r.Int64()), Spent: engine.USD(r.Int64()), KeyRevoked: coin(r),
		}
	}
	if s.InFleet = coin(r); s.InFleet {
		s.FleetSpent = engine.USD(r.Int64())
	}
	if s.InOperator = coin(r); s.InOperator {
		s.OperatorSpent = engine.USD(r.Int64())
	}
	s.OperatorSuspended = coin(r)
	if s.SameToken = coin(r); !s.SameToken {
		s.TokenVersion, s.TokenExpires = uint16(r.Uint32()), engine.Time(r.Int64())
	}
	if s.WithUser = coin(r); s.WithUser {
		s.UserSeen = UserSeen{Status: engine.Status(r.IntN(4)), MinVersion: 3, OverlapUntil: 4, Version: uint16(r.Uint32()), Expires: engine.Time(r.Int64())}
	}
	s.Minute, s.Hour, s.DayMeanX100, s.Structuring = r.Uint32(), r.Uint32(), r.Uint32(), uint8(r.Uint32())
}

// randomPayments adds the record's members about holds and payment references.
func randomPayments(r *rand.Rand, s *Screen) {
	if !s.Judged {
		return
	}
	for i := range s.LevelCount {
		if coin(r) {
			s.Levels[i].Held = 1 + engine.USD(r.Int64())
		}
	}
	if s.InFleet && coin(r) {
		s.FleetHeld = 1 + engine.USD(r.Int64())
	}
	if s.InOperator && coin(r) {
		s.OperatorHeld = 1 + engine.USD(r.Int64())
	}
	if coin(r) {
		s.HoldUntil = 1 + engine.Time(r.Int64())
	}
	if s.Used = coin(r); s.Used {
		s.UsedBy = r.Uint64()
	}
}

func coin(r *rand.Rand) bool { return r.IntN(2) == 0 }

func TestScreenRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomScreen(r)
		randomPayments(r, want)
		data := AppendScreen(nil, want)
		require.Equal(t, FormScreen, FormOf(data))
		var got Screen
		require.NoError(t, DecodeScreen(data, &got))
		require.Equal(t, want, &got)
		for cut := range data[:len(data)-len(want.Edge)] {
			require.ErrorIs(t, DecodeScreen(data[:cut], &got), ErrForm)
		}
	}
}

func FuzzDecodeScreen(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		s := randomScreen(r)
		f.Add(AppendScreen(nil, s))
		randomPayments(r, s)
		f.Add(AppendScreen(nil, s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Screen
		if DecodeScreen(data, &s) == nil {
			require.Equal(t, data, AppendScreen([]byte{}, &s), "one record, one encoding")
		}
	})
}

func goldenProfile() *Profile {
	hours := &engine.Hours{Timezone: "UTC", Windows: []engine.HoursWindow{{Days: 31, From: 480, To: 1080}}}
	return &Profile{
		Salt: [SaltSize]byte{9, 8, 7}, Leaf: 41, Index: 1042, At: 1_774_150_408_589_000_000,
		Agents: []engine.AgentProfile{ReduceAgent(&engine.AgentProfile{
			Slot: 7, Rev: 3, Operator: 2, Root: 7, Type: engine.Supervised, AgentName: "buyer-1", OperatorLegalName: "Acmé Robotics Inc",
			Purpose: "not kept", CredentialVersion: 1, IssuedAt: 5, ExpiresAt: 6, KeyID: "cc-v1",
			Settings: engine.AgentSettings{Hours: hours},
		}, 1_774_150_408_589_000_000)},
		AgentIDs: []string{"agt_8f3k2m9q7t2x"},
		Fleet:    ReduceFleet(&engine.FleetProfile{Slot: 1, Rev: 2, FleetName: "north", DailyLimit: 5}, 0),
		FleetID:  "flt_abc",
		Policy:   ReducePolicy(engine.DefaultPolicy(), 0),
	}
}

func TestProfileRoundTrip(t *testing.T) {
	data := AppendProfile(nil, goldenProfile())
	got, err := DecodeProfile(data)
	require.NoError(t, err)
	require.Equal(t, data, AppendProfile(nil, got))
	require.Empty(t, got.Agents[0].Purpose)
	_, err = DecodeProfile(data[:len(data)-1])
	require.ErrorIs(t, err, ErrForm)
	_, err = DecodeProfile(append(append([]byte(nil), data...), 0))
	require.ErrorIs(t, err, ErrForm)
}

func FuzzDecodeProfile(f *testing.F) {
	f.Add(AppendProfile(nil, goldenProfile()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := DecodeProfile(data); err == nil {
			require.Equal(t, data, AppendProfile(nil, p))
		}
	})
}

// TestGolden holds the bytes of the forms. The file is never written again: a changed form is
// a new form with its own file.
func TestGolden(t *testing.T) {
	screen := randomScreen(rand.New(rand.NewPCG(7, 9)))
	randomEvidence(rand.New(rand.NewPCG(8, 9)), screen)
	held := *screen
	held.InFleet, held.FleetSpent, held.FleetHeld = true, 70_000_000, 20_000_000
	held.Levels[0].Held, held.HoldUntil, held.Used, held.UsedBy = 12_500_000, 1_774_150_468_589_000_000, true, 4711
	for name, data := range map[string][]byte{
		"testdata/screen-1.hex":  AppendScreen(nil, screen),
		"testdata/screen-2.hex":  AppendScreen(nil, &held),
		"testdata/profile-1.hex": AppendProfile(nil, goldenProfile()),
	} {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), hex.EncodeToString(data)+"\n", name)
	}
}

func TestRatchet(t *testing.T) {
	r := Ratchet{Key: [16]byte{1}}
	r.Turn(20_000)
	first := r.Salt(5)
	require.Equal(t, engine.Day(20_000), r.Day)
	require.Equal(t, first, r.Salt(5))
	require.NotEqual(t, first, r.Salt(6))
	slow := r
	r.Turn(20_003)
	require.NotEqual(t, first, r.Salt(5), "another day, another key")
	for day := engine.Day(20_001); day <= 20_003; day++ {
		slow.Turn(day)
	}
	require.Equal(t, r, slow, "a day without leaves is a step like any other")
	r.Turn(20_001)
	require.Equal(t, slow, r, "a ratchet never turns back")
}

func BenchmarkAppendScreen(b *testing.B) {
	s := randomScreen(rand.New(rand.NewPCG(7, 9)))
	randomEvidence(rand.New(rand.NewPCG(8, 9)), s)
	dst := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendScreen(dst[:0], s)
	}
	b.SetBytes(int64(len(dst)))
}

func BenchmarkDecodeScreen(b *testing.B) {
	s := randomScreen(rand.New(rand.NewPCG(7, 9)))
	randomEvidence(rand.New(rand.NewPCG(8, 9)), s)
	data := AppendScreen(nil, s)
	b.ReportAllocs()
	for b.Loop() {
		_ = DecodeScreen(data, s)
	}
}
