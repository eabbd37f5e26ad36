package leaf

import (
	"encoding/binary"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Ref names another leaf: its index and its RFC 6962 leaf hash.
type Ref struct {
	Leaf uint64
	Hash [32]byte
}

// Level is what the live rules saw of one level of a delegation chain. The rest (revision,
// limit, expiry, credential version) is in the profile.
type Level struct {
	Status        engine.Status
	MinVersion    uint16
	OverlapUntil  engine.Time
	OwnershipFrom engine.Time
	AttestedAt    engine.Time
	Spent         engine.USD // Amount spent on the record's UTC date before this call.
	Held          engine.USD // Held for payments of that date before this call.
	KeyRevoked    bool       // For an ancestor: the key that signed its credential was revoked.
}

// levelKeyRevoked is a bit of a level's first byte, which also has the status.
const levelKeyRevoked = 0x10

// levelHeld is another bit of that byte: Held is not zero.
const levelHeld = 0x20

// UserSeen is what the live rules saw of a user credential.
type UserSeen struct {
	Status       engine.Status
	MinVersion   uint16
	OverlapUntil engine.Time
	Version      uint16 // The version that the token claims.
	Expires      engine.Time
}

// Screen is one screening record. Everything but Edge is Apply's own: ids,
// times, integers. Rendering it needs the profiles it refers to.
type Screen struct {
	Salt  [SaltSize]byte
	Leaf  uint64 // Its own index.
	Index uint64 // Raft index of its entry.
	At    engine.Time
	Txn   [8]byte // The eight characters of its txnId.

	Rules     uint16 // The number of the rule set that judged it and that names its rules.
	Verdict   engine.Verdict
	Rule      engine.RuleID
	Sub       engine.Sub
	Triggered uint32
	Shadow    uint32
	Idle      uint32 // Of a PROCEED: the rules that were off or in shadow.

	PolicyVersion uint64
	ListVersion   uint64
	ListDigest    [32]byte // The digest of the canonical entities.
	Matcher       uint16   // The version of the matcher in force.
	ListStale     bool     // The list was older than the policy's ofac.maxAge.
	ListOld       bool     // It was not confirmed for as long as ofac.reviewAge.

	Evidence

	Edge []byte // The bytes of a Fragment, as the edge sent them.
}

// Evidence is what a call with a valid credential was judged by. For any other call Judged is
// false and the rest is zero.
type Evidence struct {
	Judged            bool
	Profile           Ref    // Profile of the agent and its chain; its Hash is zero for a user credential alone.
	User              Ref    // Profile of the user; its Hash is zero if there is no user.
	Sequence          uint64 // The number among the leaves about the agent, from 1.
	Previous          uint64 // The leaf about the agent that stands before it; valid if Sequence > 1.
	Status            engine.Status
	StaticMask        uint32
	Amount            engine.USD
	Levels            [engine.DepthMax + 1]Level
	LevelCount        uint8
	InFleet           bool
	FleetSpent        engine.USD
	InOperator        bool // The agent's operator is known, and what all its agents spent.
	OperatorSpent     engine.USD
	OperatorHeld      engine.USD
	OperatorSuspended bool
	SameToken         bool // The token claims the profile's own version and expiry. The next two fields are then zero.
	TokenVersion      uint16
	TokenExpires      engine.Time
	WithUser          bool
	UserSeen          UserSeen
	Minute            uint32
	Hour              uint32
	DayMeanX100       uint32
	Structuring       uint8
	WithRoot          bool        // The agent is a delegate.
	Root              engine.Pace // The pace of its root agent and all the root's delegates.
	AgentNear         engine.Near // R25: the root agent's payments near limits; its Count is 0 if the amount is not near one.
	OperatorNear      engine.Near
	FleetHeld         engine.USD
	HoldUntil         engine.Time // When a held PROCEED expires; otherwise 0.
	Used              bool        // The payment reference was used before.
	UsedBy            uint64      // The record that used the payment reference.
	PermitSeconds     uint32      // Of a PROCEED with a permit: how long it is good; otherwise 0, as ListAge.
	ListAge           engine.Time // Since the list was last found current.
}

// Bits of a screening record's flags.
const (
	flagJudged = 1 << iota
	flagListStale
	flagShadow
	flagProfile
	flagUser
	flagPrevious
	flagFleet
	flagOperatorSuspended
	flagSameToken
	flagWithUser
	flagFleetHeld
	flagHold
	flagUsed
	flagIdle
	flagRoot
	flagNear
	flagOperator
	flagOperatorHeld
	flagListOld
	flagPermit
	flagsAll = 1<<iota - 1
)

func (s *Screen) flags() uint64 {
	var flags uint64
	for _, f := range [...]struct {
		on  bool
		bit uint64
	}{
		{s.Judged, flagJudged}, {s.ListStale, flagListStale}, {s.Shadow != 0, flagShadow},
		{s.Profile.Hash != [32]byte{}, flagProfile}, {s.User.Hash != [32]byte{}, flagUser}, {s.Sequence > 1, flagPrevious},
		{s.InFleet, flagFleet}, {s.OperatorSuspended, flagOperatorSuspended}, {s.SameToken, flagSameToken}, {s.WithUser, flagWithUser},
		{s.FleetHeld != 0, flagFleetHeld}, {s.HoldUntil != 0, flagHold}, {s.Used, flagUsed}, {s.Idle != 0, flagIdle},
		{s.WithRoot, flagRoot}, {s.AgentNear.Count != 0, flagNear},
		{s.InOperator, flagOperator}, {s.OperatorHeld != 0, flagOperatorHeld}, {s.ListOld, flagListOld}, {s.PermitSeconds != 0, flagPermit},
	} {
		if f.on {
			flags |= f.bit
		}
	}
	return flags
}

// AppendScreen writes the record's bytes.
func AppendScreen(dst []byte, s *Screen) []byte {
	flags := s.flags()
	dst = append(dst, byte(FormScreen))
	dst = append(dst, s.Salt[:]...)
	dst = binary.AppendUvarint(dst, flags)
	dst = binary.AppendUvarint(dst, s.Leaf)
	dst = binary.AppendUvarint(dst, s.Index)
	dst = binary.AppendVarint(dst, int64(s.At))
	dst = append(dst, s.Txn[:]...)
	dst = binary.LittleEndian.AppendUint16(dst, s.Rules)
	dst = append(dst, byte(s.Verdict), byte(s.Rule), byte(s.Sub))
	dst = binary.AppendUvarint(dst, uint64(s.Triggered))
	if flags&flagShadow != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.Shadow))
	}
	if flags&flagIdle != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.Idle))
	}
	dst = binary.AppendUvarint(dst, s.PolicyVersion)
	dst = binary.AppendUvarint(dst, s.ListVersion)
	dst = append(dst, s.ListDigest[:]...)
	dst = binary.AppendUvarint(dst, uint64(s.Matcher))
	if s.Judged {
		dst = s.appendEvidence(dst, flags)
	}
	return append(dst, s.Edge...)
}

func (s *Screen) appendEvidence(dst []byte, flags uint64) []byte {
	dst = appendRef(dst, &s.Profile, flags&flagProfile != 0)
	dst = appendRef(dst, &s.User, flags&flagUser != 0)
	dst = binary.AppendUvarint(dst, s.Sequence)
	if flags&flagPrevious != 0 {
		dst = binary.AppendUvarint(dst, s.Previous)
	}
	dst = append(dst, byte(s.Status))
	dst = binary.AppendUvarint(dst, uint64(s.StaticMask))
	dst = binary.AppendVarint(dst, int64(s.Amount))
	dst = append(dst, s.LevelCount)
	for i := range s.LevelCount {
		dst = appendLevel(dst, &s.Levels[i])
	}
	if s.InFleet {
		dst = binary.AppendVarint(dst, int64(s.FleetSpent))
	}
	if flags&flagFleetHeld != 0 {
		dst = binary.AppendVarint(dst, int64(s.FleetHeld))
	}
	if s.InOperator {
		dst = binary.AppendVarint(dst, int64(s.OperatorSpent))
	}
	if flags&flagOperatorHeld != 0 {
		dst = binary.AppendVarint(dst, int64(s.OperatorHeld))
	}
	if !s.SameToken {
		dst = binary.AppendUvarint(dst, uint64(s.TokenVersion))
		dst = binary.AppendVarint(dst, int64(s.TokenExpires))
	}
	if s.WithUser {
		u := &s.UserSeen
		dst = append(dst, byte(u.Status))
		dst = binary.AppendUvarint(dst, uint64(u.MinVersion))
		dst = binary.AppendVarint(dst, int64(u.OverlapUntil))
		dst = binary.AppendUvarint(dst, uint64(u.Version))
		dst = binary.AppendVarint(dst, int64(u.Expires))
	}
	dst = appendPace(dst, &engine.Pace{Minute: s.Minute, PerHour: s.Hour, DayMeanX100: s.DayMeanX100})
	dst = append(dst, s.Structuring)
	if s.WithRoot {
		dst = appendPace(dst, &s.Root)
	}
	if flags&flagNear != 0 {
		dst = appendNear(appendNear(dst, &s.AgentNear), &s.OperatorNear)
	}
	if flags&flagHold != 0 {
		dst = binary.AppendVarint(dst, int64(s.HoldUntil))
	}
	if flags&flagUsed != 0 {
		dst = binary.AppendUvarint(dst, s.UsedBy)
	}
	if flags&flagPermit != 0 {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(s.PermitSeconds)), int64(s.ListAge))
	}
	return dst
}

func appendPace(dst []byte, pace *engine.Pace) []byte {
	dst = binary.AppendUvarint(dst, uint64(pace.Minute))
	dst = binary.AppendUvarint(dst, uint64(pace.PerHour))
	return binary.AppendUvarint(dst, uint64(pace.DayMeanX100))
}

func appendNear(dst []byte, near *engine.Near) []byte {
	return binary.AppendUvarint(binary.AppendVarint(dst, int64(near.Sum)), uint64(near.Count))
}

func appendRef(dst []byte, ref *Ref, present bool) []byte {
	if !present {
		return dst
	}
	return append(binary.AppendUvarint(dst, ref.Leaf), ref.Hash[:]...)
}

func appendLevel(dst []byte, l *Level) []byte {
	first := byte(l.Status)
	if l.KeyRevoked {
		first |= levelKeyRevoked
	}
	if l.Held != 0 {
		first |= levelHeld
	}
	dst = binary.AppendUvarint(append(dst, first), uint64(l.MinVersion))
	dst = binary.AppendVarint(dst, int64(l.OverlapUntil))
	dst = binary.AppendVarint(dst, int64(l.OwnershipFrom))
	dst = binary.AppendVarint(dst, int64(l.AttestedAt))
	dst = binary.AppendVarint(dst, int64(l.Spent))
	if l.Held != 0 {
		dst = binary.AppendVarint(dst, int64(l.Held))
	}
	return dst
}

// DecodeScreen reads a screening record. Edge aliases data.
func DecodeScreen(data []byte, s *Screen) error {
	*s = Screen{}
	r := wire.NewReader(data)
	if Form(r.Byte()) != FormScreen {
		return ErrForm
	}
	r.Fill(s.Salt[:])
	flags := r.Limited(flagsAll)
	s.Leaf, s.Index, s.At = r.Unsigned(), r.Unsigned(), readTime(&r)
	r.Fill(s.Txn[:])
	s.Rules = uint16(r.Byte()) | uint16(r.Byte())<<8
	s.Verdict, s.Rule, s.Sub = engine.Verdict(r.Byte()), engine.RuleID(r.Byte()), engine.Sub(r.Byte())
	s.Triggered = uint32(r.Limited(1<<engine.RuleBits - 1))
	if flags&flagShadow != 0 {
		s.Shadow = uint32(r.Limited(1<<engine.RuleBits - 1))
	}
	if flags&flagIdle != 0 {
		s.Idle = uint32(r.Limited(1<<engine.RuleBits - 1))
	}
	s.PolicyVersion, s.ListVersion = r.Unsigned(), r.Unsigned()
	r.Fill(s.ListDigest[:])
	s.Matcher = uint16(r.Limited(1<<16 - 1))
	s.ListStale, s.ListOld, s.Judged = flags&flagListStale != 0, flags&flagListOld != 0, flags&flagJudged != 0
	if s.Judged {
		s.readEvidence(&r, flags)
	}
	s.Edge = r.Rest()
	if r.Broken() || s.flags() != flags || s.Verdict > engine.Unknown || !s.soundRules() ||
		!validTxn(&s.Txn) || !SoundFragment(s.Edge) {
		return ErrForm
	}
	return nil
}

// RuleSet returns the rule set that judged the record, or nil if this binary does not know
// it.
func (s *Screen) RuleSet() *engine.RuleSet { return engine.RuleSetNumbered(s.Rules) }

// soundRules reports whether the record names only rules of its rule set. For an unknown rule
// set it allows every number.
func (s *Screen) soundRules() bool {
	set, masks := s.RuleSet(), s.Triggered|s.Shadow|s.StaticMask|s.Idle
	if set == nil {
		return s.Rules != 0 && masks&1 == 0 && s.Rule < engine.RuleBits
	}
	return set.Has(s.Rule) && set.HasAll(masks)
}

func validTxn(txn *[8]byte) bool {
	for _, c := range txn {
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	return true
}

func (s *Screen) readEvidence(r *wire.Reader, flags uint64) {
	readRef(r, &s.Profile, flags&flagProfile != 0)
	readRef(r, &s.User, flags&flagUser != 0)
	s.Sequence = r.Unsigned()
	if flags&flagPrevious != 0 {
		s.Previous = r.Unsigned()
	}
	s.Status = readStatus(r)
	s.StaticMask = uint32(r.Limited(1<<engine.RuleBits - 1))
	s.Amount = engine.USD(r.Signed())
	s.LevelCount = r.Byte()
	if int(s.LevelCount) > len(s.Levels) {
		r.Fail()
		return
	}
	for i := range s.LevelCount {
		first := r.Byte()
		s.Levels[i] = Level{
			Status: soundStatus(r, first&^(levelKeyRevoked|levelHeld)), KeyRevoked: first&levelKeyRevoked != 0, MinVersion: readVersion(r), OverlapUntil: readTime(r),
			OwnershipFrom: readTime(r), AttestedAt: readTime(r), Spent: engine.USD(r.Signed()),
		}
		if first&levelHeld != 0 {
			s.Levels[i].Held = readHeld(r)
		}
	}
	s.OperatorSuspended, s.SameToken = flags&flagOperatorSuspended != 0, flags&flagSameToken != 0
	if s.InFleet = flags&flagFleet != 0; s.InFleet {
		s.FleetSpent = engine.USD(r.Signed())
	}
	if flags&flagFleetHeld != 0 {
		s.FleetHeld = readHeld(r)
	}
	if s.InOperator = flags&flagOperator != 0; s.InOperator {
		s.OperatorSpent = engine.USD(r.Signed())
	}
	if flags&flagOperatorHeld != 0 {
		s.OperatorHeld = readHeld(r)
	}
	if !s.SameToken {
		s.TokenVersion, s.TokenExpires = readVersion(r), readTime(r)
	}
	if s.WithUser = flags&flagWithUser != 0; s.WithUser {
		s.UserSeen = UserSeen{
			Status: readStatus(r), MinVersion: readVersion(r), OverlapUntil: readTime(r),
			Version: readVersion(r), Expires: readTime(r),
		}
	}
	pace := readPace(r)
	s.Minute, s.Hour, s.DayMeanX100, s.Structuring = pace.Minute, pace.PerHour, pace.DayMeanX100, r.Byte()
	if s.WithRoot = flags&flagRoot != 0; s.WithRoot {
		s.Root = readPace(r)
	}
	if flags&flagNear != 0 {
		s.AgentNear, s.OperatorNear = readNear(r), readNear(r)
	}
	if flags&flagHold != 0 {
		s.HoldUntil = readTime(r)
	}
	if s.Used = flags&flagUsed != 0; s.Used {
		s.UsedBy = r.Unsigned()
	}
	if flags&flagPermit != 0 {
		s.PermitSeconds, s.ListAge = uint32(r.Limited(1<<32-1)), readTime(r)
	}
}

// readHeld reads an amount that is stored only if it is not zero.
func readHeld(r *wire.Reader) engine.USD {
	held := engine.USD(r.Signed())
	if held == 0 {
		r.Fail()
	}
	return held
}

func readPace(r *wire.Reader) engine.Pace {
	return engine.Pace{Minute: uint32(r.Limited(1<<32 - 1)), PerHour: uint32(r.Limited(1<<32 - 1)), DayMeanX100: uint32(r.Limited(1<<32 - 1))}
}

func readNear(r *wire.Reader) engine.Near {
	return engine.Near{Sum: engine.USD(r.Signed()), Count: uint32(r.Limited(1<<32 - 1))}
}

func readRef(r *wire.Reader, ref *Ref, present bool) {
	if present {
		ref.Leaf = r.Unsigned()
		r.Fill(ref.Hash[:])
	}
}

func readStatus(r *wire.Reader) engine.Status { return soundStatus(r, r.Byte()) }

func soundStatus(r *wire.Reader, number byte) engine.Status {
	status := engine.Status(number)
	if status > engine.Expired {
		r.Fail()
	}
	return status
}

func readTime(r *wire.Reader) engine.Time { return engine.Time(r.Signed()) }

func readVersion(r *wire.Reader) uint16 { return uint16(r.Limited(1<<16 - 1)) }
