package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"railguard/engine"
	"railguard/fsm/wire"
)

// history makes a log of random but plausible commands: every kind of record and every stored
// field, with and without keys, including refusals and stale bases.
func history(t testing.TB, seed uint64, steps int) *world {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(seed, 7))
	for range steps {
		w.now += engine.Time(random.Int64N(int64(40 * engine.Minute)))
		switch random.IntN(30) {
		case 0: // A leader whose clock is behind.
			w.now -= engine.Time(random.Int64N(int64(2 * engine.Hour)))
		case 1: // An entry of a former leader.
			w.term--
			late := w.entry(w.record(wire.KindScreen, w.screening(1, engine.Dollar)), w.record(wire.KindNote, &wire.Note{Event: "agent.refused"}))
			w.term++
			w.apply(late)
		}
		w.randomStep(random)
	}
	return w
}

// pick returns a random slot of a table of n rows; sometimes 0 or one too many.
func pick[S ~uint32](random *rand.Rand, n int) S { return S(random.IntN(n + 2)) }

func maybe[V any](random *rand.Rand, value V) *V {
	if random.IntN(2) == 0 {
		return nil
	}
	return &value
}

// randomCommon makes an edge's part. Some calls are keyed with one of few keys, so that
// replays and conflicts also happen across kinds.
func randomCommon(random *rand.Rand) wire.Common {
	common := wire.Common{Fragment: []byte(`"note":"é"`), Filters: []uint64{random.Uint64()}}
	if random.IntN(3) == 0 {
		common.Fragment, common.Filters = nil, nil
	}
	if random.IntN(3) == 0 {
		common.Idem = &wire.Idem{Key: [16]byte{1, byte(random.IntN(60))}, Body: [16]byte{byte(random.IntN(3) / 2)}}
	}
	return common
}

func randomSettings(random *rand.Rand) engine.AgentSettings {
	return engine.AgentSettings{
		Whitelist:    randomWhitelist(random),
		Hours:        randomHours(random),
		Velocity:     maybe(random, engine.Velocity{MaxPerMinute: uint32(random.IntN(4)), MaxPerHour: uint32(random.IntN(9)), BurstFactor: uint32(random.IntN(3))}),
		PartyTypes:   uint8(random.IntN(16)),
		CurrentModel: []string{"", "model-1", "módel-2"}[random.IntN(3)],
	}
}

// randomWhitelist may be absent, or present with nil or no entries at all.
func randomWhitelist(random *rand.Rand) *engine.Whitelist {
	w := &engine.Whitelist{Enforce: random.IntN(2) == 0, Rev: random.Uint32N(9)}
	switch random.IntN(4) {
	case 0:
		return nil
	case 1:
		w.Entries = []engine.WhitelistEntry{}
	case 2:
		w.Entries = []engine.WhitelistEntry{
			{ID: 1, Name: "acme", Shown: "Acme", ExpiresAt: start, AddedBy: "x"}, {ID: 2, Wallet: "0xab", Shown: "0xAB", Label: "l"},
		}
	}
	return w
}

func randomHours(random *rand.Rand) *engine.Hours {
	h := &engine.Hours{Timezone: "Europe/Vaduz", TZVersion: "2026a"}
	if random.IntN(3) == 0 {
		return nil
	}
	if random.IntN(2) == 0 {
		h.Source, h.Holidays = []byte(`{"timezone":"Europe/Vaduz"}`), []engine.Day{start.Day() + 1}
		h.Transitions = []engine.Transition{{Offset: 3600}, {At: start + engine.DayLength, Offset: 7200}}
	}
	for range random.IntN(3) {
		h.Windows = append(h.Windows, engine.HoursWindow{Days: uint8(random.IntN(128)), From: uint16(random.IntN(1440)), To: uint16(random.IntN(1441))})
	}
	return h
}

func randomPolicy(random *rand.Rand) engine.Policy {
	p := *engine.DefaultPolicy()
	p.Document = []byte([]string{"", "{}", `{"rules":{}}`}[random.IntN(3)])
	for id := engine.RuleChain; engine.RuleByID(id) != nil; id++ {
		// R11 and R12 stay on: the invariant of the limits is checked over every history.
		if id != engine.RuleDailyLimit && id != engine.RuleFleetLimit && random.IntN(4) == 0 {
			p.Modes[id] = engine.Mode(random.IntN(4))
		}
	}
	p.Hours, p.Whitelist = randomHours(random), randomWhitelist(random)
	p.Velocity.MaxPerMinute = uint32(random.IntN(50))
	p.FourEyes = maybe(random, engine.FourEyes{MinAmount: engine.USD(random.IntN(9)) * engine.Dollar, Rules: 1 << 21})
	p.ReviewSLA = engine.Time(random.IntN(3)) * engine.Hour
	p.AttestationAbove = engine.USD(random.IntN(10_000)) * engine.Dollar
	p.ListAgeMax, p.ListReviewAge = engine.Time(random.IntN(30))*engine.Hour, engine.Time(1+random.IntN(60))*engine.Hour
	p.ListStaleReview, p.IssuanceAttests = random.IntN(2) == 0, random.IntN(2) == 0
	p.StructuringCount = uint8(1 + random.IntN(6))
	p.StructuringWindow = engine.Time(1+random.IntN(48)) * engine.Hour
	return p
}

func (w *world) randomAgent(random *rand.Rand, p *engine.AgentProfile) {
	p.Type = engine.AgentType(1 + random.IntN(2))
	p.Policy = engine.SpendPolicy{
		MaxSingle: engine.NoLimit, DailyLimit: engine.USD(random.IntN(20_000)) * engine.Dollar,
		ChainsSet: random.IntN(2) == 0, Chains: uint8(random.IntN(128)), RailsSet: random.IntN(2) == 0, Rails: uint8(random.IntN(64)),
		CONS: random.IntN(2) == 0, ScreenSet: random.IntN(2) == 0, NoMixer: random.IntN(2) == 0, NoMixerSet: random.IntN(2) == 0,
	}
	p.AgentFramework, p.Model, p.OperatorWallet = "framework", "model-1", []string{"0xAB", "0xCD", ""}[random.IntN(3)]
	p.EINSealed, p.EINMasked, p.Purpose = []byte{byte(random.IntN(3))}, "**-***6789", "pürpose"
	p.PolicyJSON, p.Metadata = []byte("{}"), []byte([]string{"", `{"a":1}`}[random.IntN(2)])
	p.WalletMatched, p.NameMatched = random.IntN(9) == 0, random.IntN(9) == 0
	p.Settings = randomSettings(random)
	if random.IntN(3) == 0 {
		p.Fleet = pick[engine.FleetSlot](random, w.m.registry.fleets.Len())
	}
}

func (w *world) randomStep(random *rand.Rand) {
	slot := pick[engine.AgentSlot](random, w.m.registry.agents.Len())
	switch random.IntN(26) {
	case 0, 1:
		w.randomRegistration(random, slot)
	case 2, 3, 4, 5, 6, 7:
		w.randomScreens(random)
	case 8, 20, 21:
		body := &wire.Status{Common: randomCommon(random), Target: wire.Target(1 + random.IntN(3)), Slot: uint32(slot), To: engine.Status(random.IntN(9) % 4), ReasonCode: uint8(random.IntN(3))}
		if body.Target == wire.TargetOperator {
			body.Slot = pick[uint32](random, w.m.registry.operators.Len())
		}
		if body.Target == wire.TargetUser {
			body.Slot = pick[uint32](random, int(w.m.registry.users.Next()-1))
		}
		if body.To == engine.Revoked && random.IntN(2) == 0 { // Half of the revocations are skipped, because nothing can follow on one.
			body.To = engine.Active
		}
		w.do(wire.KindStatus, body)
	case 9:
		w.do(wire.KindAttest, &wire.Attest{Common: randomCommon(random), Agent: slot, AttestedBy: "someone", Note: []string{"", "n"}[random.IntN(2)]})
	case 10:
		body := &wire.Disposition{
			Common: randomCommon(random), Leaf: random.Uint64N(w.m.size + 1), Disposition: uint8(random.IntN(5)), Agent: slot,
			Amount: engine.USD(random.IntN(9)) * engine.Dollar, Fleet: pick[engine.FleetSlot](random, w.m.registry.fleets.Len()),
		}
		if row, queued := w.m.Freeze().Review(body.Leaf); queued {
			body.Agent = row.Agent // An edge reads it from the record.
		}
		w.do(wire.KindDisposition, body)
	case 11, 12:
		w.randomQueue(random)
	case 13:
		w.do(wire.KindOwnership, &wire.Ownership{Common: randomCommon(random), Agent: slot, Operator: named([]string{"acme", "globex"}[random.IntN(2)]), Cancel: random.IntN(2) == 0, EffectiveAt: engine.Time(random.IntN(2)) * (w.now + engine.Hour)})
	case 14:
		w.randomUser(random)
	case 15:
		w.randomRevision(random, slot)
	case 16:
		w.randomFleet(random, slot)
	case 17, 18:
		w.randomAdministration(random)
	case 22, 23, 24, 25:
		w.deskStep(random)
	case 19:
		w.do(wire.KindTick, &wire.Tick{Index: w.index, Digest: make([]byte, 32)})
	}
}

func randomOperator(random *rand.Rand) string {
	return []string{"acme inc", "other ltd"}[random.IntN(2)]
}

func (w *world) randomRegistration(random *rand.Rand, slot engine.AgentSlot) {
	profile := engine.AgentProfile{AgentName: fmt.Sprint("agent ", random.IntN(9)), OperatorLegalName: "Acme Inc"}
	w.randomAgent(random, &profile)
	if random.IntN(2) == 0 {
		profile.Parent = slot
	}
	body := &wire.Register{Common: randomCommon(random), Profile: profile, Operator: named(randomOperator(random))}
	body.Basis.List = w.m.settings.ListVersion
	foldAgent(w.m.registry, &body.Basis, profile.Parent)
	if random.IntN(4) == 0 {
		body.ExpiresAt = w.now + engine.Time(random.IntN(9))*engine.DayLength
	}
	w.do(wire.KindRegister, body)
}

// randomScreens puts several calls into one entry, as the sequencer does.
func (w *world) randomScreens(random *rand.Rand) {
	var records []wire.Record
	for range 1 + random.IntN(6) {
		slot := pick[engine.AgentSlot](random, w.m.registry.agents.Len())
		s := w.screening(slot, engine.USD(random.IntN(12_000))*engine.Dollar)
		s.Party = engine.PartyKey{byte(random.IntN(3))}
		s.Idem = randomCommon(random).Idem
		if user := pick[engine.UserSlot](random, int(w.m.registry.users.Next()-1)); random.IntN(4) == 0 && user != 0 {
			s.User, s.UserVersion, s.UserExpires = user, uint16(random.IntN(3)), w.now+engine.Hour
			s.Basis.Fold(engine.RevUser, uint32(user), userRev(w.m.registry, user))
		}
		switch random.IntN(12) {
		case 0:
			s.Basis.Policy++
		case 1:
			s.Mask, s.Subs = 1<<1, []byte{byte(1 + random.IntN(6))}
		case 2:
			s.Mask, s.Subs = 1<<9|1<<21, []byte{1, 2}
		case 3:
			s.Version = uint16(random.IntN(4))
		case 4:
			s.ValidUntil = w.now + engine.Time(random.IntN(2))
		case 7:
			s.Mask, s.Subs, s.Causes = 1<<7, []byte{1}, randomCauses(random)
		case 5, 6:
			s.Basis.Cleared = w.m.settings.ClearedVersion() - random.Uint64N(2)
		}
		records = append(records, w.record(wire.KindScreen, s))
	}
	w.apply(w.entry(records...))
}

func (w *world) randomQueue(random *rand.Rand) {
	var leaves []uint64
	for range random.IntN(3) {
		leaves = append(leaves, random.Uint64N(w.m.size))
	}
	if reviews := w.m.desk.reviews.Len(); reviews > 0 {
		leaves = append(leaves, w.m.desk.reviews.At(w.m.desk.reviews.First()+random.Uint64N(uint64(reviews))).Leaf)
	}
	w.do(wire.KindQueue, &wire.Queue{
		Common: randomCommon(random), Op: uint8(random.IntN(6)), Leaves: leaves, Who: fmt.Sprint("officer ", random.IntN(3)), Force: random.IntN(4) == 0,
	})
}

func (w *world) randomUser(random *rand.Rand) {
	if user := pick[engine.UserSlot](random, int(w.m.registry.users.Next()-1)); random.IntN(2) == 0 {
		w.do(wire.KindUserReissue, &wire.UserReissue{
			Common: randomCommon(random), User: user, BaseRev: userRev(w.m.registry, user), Overlap: engine.Time(random.IntN(3)) * engine.Hour, NameMatched: random.IntN(9) == 0,
		})
		return
	}
	body := &wire.User{Common: randomCommon(random), Profile: engine.UserProfile{LegalName: "Nia", Email: "n@x", OperatorLegalName: "Acme Inc"}}
	body.Basis.List = w.m.settings.ListVersion
	for range random.IntN(3) {
		slot := pick[engine.AgentSlot](random, w.m.registry.agents.Len())
		body.Profile.Agents = append(body.Profile.Agents, slot)
		foldAgent(w.m.registry, &body.Basis, slot)
	}
	w.do(wire.KindUser, body)
}

// randomRevision changes an agent's profile: settings, or a re-issue of everything.
func (w *world) randomRevision(random *rand.Rand, slot engine.AgentSlot) {
	if !w.m.registry.hasAgent(slot) {
		return
	}
	profile := **w.m.registry.profiles.At(uint64(slot))
	rev := profile.Rev - uint32(random.IntN(5)/4)
	if random.IntN(2) == 0 {
		w.do(wire.KindSettings, &wire.Settings{Common: randomCommon(random), Agent: slot, BaseRev: rev, Settings: randomSettings(random), Event: "agent.settings"})
		return
	}
	if random.IntN(2) == 0 {
		w.randomAgent(random, &profile)
	}
	w.do(wire.KindReissue, &wire.Reissue{
		Common: randomCommon(random), Agent: slot, Profile: profile, BaseRev: rev, Operator: named(randomOperator(random)),
		List: w.m.settings.ListVersion, Plain: random.IntN(2) == 0, Overlap: engine.Time(random.IntN(3)) * engine.Hour,
	})
}

func (w *world) randomFleet(random *rand.Rand, slot engine.AgentSlot) {
	fleet := pick[engine.FleetSlot](random, w.m.registry.fleets.Len())
	profile := engine.FleetProfile{
		FleetName: "f", OperatorLegalName: "Acme Inc", DailyLimit: engine.USD(random.IntN(9000)) * engine.Dollar, DailyLimitText: "1",
		Whitelist: randomWhitelist(random), Hours: randomHours(random), Velocity: maybe(random, engine.Velocity{MaxPerMinute: 3}),
	}
	if operator := pick[engine.OperatorSlot](random, w.m.registry.operators.Len()); random.IntN(5) == 0 && w.m.registry.operators.Has(uint64(operator)) {
		limit := maybe(random, engine.USD(random.IntN(9000))*engine.Dollar)
		w.do(wire.KindOperatorLimit, &wire.OperatorLimit{
			Common: randomCommon(random), Operator: operator, BaseRev: (*w.m.registry.operatorProfiles.At(uint64(operator))).Rev, Limit: limit,
		})
	}
	if random.IntN(6) == 0 {
		w.do(wire.KindRetire, &wire.Retire{Common: randomCommon(random), Fleet: fleet})
		w.do(wire.KindRetire, &wire.Retire{Common: randomCommon(random), Agent: slot})
	}
	switch random.IntN(4) {
	case 0:
		w.do(wire.KindFleet, &wire.Fleet{Common: randomCommon(random), Profile: profile, Operator: named(randomOperator(random))})
	case 1:
		rev := uint32(1)
		if w.m.registry.hasFleet(fleet) {
			rev = (*w.m.registry.fleetProfiles.At(uint64(fleet))).Rev
		}
		w.do(wire.KindFleetUpdate, &wire.FleetUpdate{Common: randomCommon(random), Fleet: fleet, BaseRev: rev, Profile: profile, Event: "fleet.updated"})
	default:
		body := &wire.Assign{Common: randomCommon(random), Fleet: fleet, Agents: []engine.AgentSlot{slot, slot + 1}[:1+random.IntN(2)], Remove: random.IntN(3) == 0}
		for i := w.m.registry.profiles.First(); i < w.m.registry.profiles.Next() && body.Remove; i++ {
			if member := *w.m.registry.profiles.At(i); member != nil && member.Fleet != 0 {
				body.Fleet, body.Agents = member.Fleet, []engine.AgentSlot{member.Slot}
			}
		}
		w.do(wire.KindAssign, body)
	}
}

func (w *world) randomAdministration(random *rand.Rand) {
	common := randomCommon(random)
	switch random.IntN(13) {
	case 0:
		w.activateList([]byte(fmt.Sprint("list ", random.Uint64())))
	case 1, 2:
		w.do(wire.KindPolicy, &wire.PolicyPut{Common: common, Policy: randomPolicy(random), Base: w.m.settings.Policy.Version * random.Uint64N(3)})
	case 3:
		w.do(wire.KindWhitelist, &wire.WhitelistPut{Common: common, Whitelist: randomWhitelist(random), Base: w.m.settings.Policy.Version * random.Uint64N(3)})
	case 4, 12:
		key := wire.APIKey{ID: fmt.Sprint("k", random.IntN(6)), Name: "n", Hashes: key32(byte(random.IntN(256))), Roles: 3, Networks: []string{"::/0"}[:random.IntN(2)], Rate: -1}
		if known := w.m.settings.Keys; len(known) > 0 && random.IntN(2) == 0 {
			key.ID = known[random.IntN(len(known))].ID
		}
		w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: common, Op: []uint8{wire.KeyCreate, wire.KeyCreate, wire.KeyRotate, wire.KeySignOut, wire.KeyRevoke, wire.KeyRevoke}[random.IntN(6)], Key: key, Overlap: engine.Time(random.IntN(3)) * engine.Hour})
	case 5, 6:
		pair := wire.ClearedPair{Name: "x", UID: 7, Reason: "r", By: "b", ExpiresAt: engine.Time(random.IntN(2)) * (w.now + engine.Hour)}
		if pairs := w.m.settings.Cleared; len(pairs) > 0 {
			pair.ID = pairs[random.IntN(len(pairs))].ID
		}
		w.do(wire.KindCleared, &wire.ClearedPut{Common: common, Pair: pair, Remove: random.IntN(2) == 0})
	case 7:
		key := wire.SigningKey{KID: fmt.Sprint("cc-v", 2+random.IntN(9)), Public: bytes.Repeat([]byte{7}, 64), Sealed: []byte{1}}
		body := &wire.SigningKeyPut{Common: common, Op: uint8(1 + random.IntN(2)), Key: key, Now: random.IntN(2) == 0}
		if known := w.m.settings.SigningKeys; body.Op == wire.SigningRevoke && len(known) > 1 {
			body.Key.KID = known[random.IntN(len(known)-1)].KID // The newest one stays, so that a key can sign.
		}
		w.do(wire.KindSigningKey, body)
	case 8:
		w.randomChunk(random, common)
	case 9:
		w.do(wire.KindListActivate, &wire.ListActivate{Common: common, Digest: w.m.settings.List.Digest, Refresh: random.IntN(2) == 0, Base: w.m.settings.ListVersion * random.Uint64N(2)})
	case 10:
		advance := engine.Time(random.IntN(3)) * engine.DayLength
		if random.IntN(8) == 0 {
			advance = 40 * engine.DayLength
		}
		w.do(wire.KindClock, &wire.Clock{Common: common, Advance: advance})
	case 11:
		w.do(wire.KindFormat, &wire.FormatRaise{Common: common, To: engine.Format1})
		w.do(wire.KindNote, &wire.Note{Common: common, Event: []string{"agent.refused", "Refused"}[random.IntN(2)]})
		w.do(wire.KindMember, &wire.Member{Common: common, ID: "n2", Incarnation: strconv.Itoa(random.IntN(8))})
		w.do(wire.KindMember, &wire.Member{Common: common, ID: "n3", Change: wire.MemberDemoted})
		w.do(wire.KindLogKey, &wire.LogKeyPut{Common: common, Seed: []byte("a sealed seed")[:13*random.IntN(2)]})
		w.do(wire.KindMatcher, &wire.Matcher{Common: common, To: w.m.settings.Matcher + uint16(random.IntN(3))})
		w.do(wire.KindReseal, randomReseal(random, w.m, common))
		w.do(wire.KindGenesis, testGenesis())
	}
}

// randomChunk begins a list, continues one, or stages one whole.
func (w *world) randomChunk(random *rand.Rand, common wire.Common) {
	body := &wire.ListChunk{Common: common, Digest: [32]byte{1}, Total: 99, Data: []byte("left unfinished")}
	switch random.IntN(4) {
	case 0:
		body.Offset = uint32(len(w.m.rulebook.staged.data))
	case 1:
		data := []byte("staged, not active")
		body.Digest, body.Total, body.Data = sha(data), uint32(len(data)), data
		body.Info = &wire.ListInfo{Digest: sha(data), Source: "test"}
	case 2:
		body.Total = 0
	}
	w.do(wire.KindListChunk, body)
}

// randomReseal re-seals some agent's EIN and a value of the settings.
func randomReseal(random *rand.Rand, m *Machine, common wire.Common) *wire.Reseal {
	b := &wire.Reseal{Common: common, Values: []wire.Resealed{{Old: []byte{byte(random.IntN(3))}, New: []byte{byte(random.IntN(3))}}}}
	if n := m.registry.profiles.Len(); n > 0 {
		slot := engine.AgentSlot(1 + random.IntN(n))
		if _, profile := m.registry.agentAt(slot); profile != nil && len(profile.EINSealed) > 0 {
			sealed := profile.EINSealed
			b.Values = append(b.Values, wire.Resealed{Agent: slot, Old: sealed, New: []byte{byte(random.IntN(3))}})
		}
	}
	return b
}
