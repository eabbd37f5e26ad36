package edge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// Steps 3 to 5 of a screening call (docs/ARCHITECTURE.md): what cannot change is judged
// here, what can change is judged in the log.

// screening is the room one screening call needs. It is pooled with its call.
type screening struct {
	request  engine.Request
	facts    engine.Facts
	hits     engine.Hits
	record   wire.Screen
	members  leaf.Fragment
	fragment []byte // The members' bytes.
	texts    []byte // What members are made of.
	keys     []uint64
	subs     []byte

	requestHash [32]byte
	hold        uint32 // Seconds; 0: none.
	reference   string // paymentRef.

	token     string // As sent, prefix and all; "" when not a string. Borrowed of the body, as userToken is.
	userToken string
	userGiven bool
	context   ofac.Context               // What the call says of its counterparty besides; no rule reads it.
	strangers []strictjson.UnknownMember // Unknown members that are near to none; warned of.
	agent     credentialClaims
	user      credentialClaims
}

// reset keeps the room and forgets the rest: a pooled call must not keep a
// caller's names alive.
//
// In place: the room is three kilobytes, and a copy of it costs more than its use.
func (s *screening) reset() {
	fragment, texts, keys, subs := s.fragment[:0], s.texts[:0], s.keys[:0], s.subs[:0]
	*s = screening{}
	s.fragment, s.texts, s.keys, s.subs = fragment, texts, keys, subs
}

// lookers are not part of a call: each remembers many answers, and one is held
// only while the list is asked.
var lookers = sync.Pool{New: func() any { return engine.NewLooker() }}

// Screen judges the request that was read and makes its record: credential, static
// rules, evidence. It may be asked again, at newer terms, when the log knew of
// something newer. The record is good until the judge is used again.
func (j *Judge) Screen() (*wire.Screen, error) {
	began := time.Now()
	list, err := j.ActiveList()
	if err != nil {
		return nil, err
	}
	if err := j.gatherFacts(list); err != nil {
		return nil, err
	}
	if err := j.checkScope(); err != nil {
		return nil, err
	}
	j.Forged = j.screen.facts.Token == engine.TokenSignature
	j.lookUpCleared(list)
	verified := time.Now()
	j.Timing.Verify += verified.Sub(began)
	looker := lookers.Get().(*engine.Looker)
	s := &j.screen
	looker.Look(&s.facts)
	s.hits = judgeStatic(j)
	if j.Agent = nil; s.facts.ChainSize > 0 {
		j.Agent = s.facts.Chain[0]
	}
	j.buildRecord(list) // Reads the matches, which live in the looker.
	lookers.Put(looker)
	j.Timing.Rules += time.Since(verified)
	return &s.record, nil
}

// ActiveList returns the list that the settings of this moment name, with the tables of
// the matcher they name: the pointer published beside them may be one step ahead or
// behind, and a node that has not made those tables yet gives no verdict.
func (j *Judge) ActiveList() (*ofac.Index, error) {
	settings := j.Terms.Settings
	if settings.List == nil || settings.List.Entries == 0 {
		return nil, noList()
	}
	if settings.List.Sample && !settings.Genesis.Dev {
		return nil, noList()
	}
	list := j.shared.deps.Published.List()
	if list != nil && list.Digest() == settings.List.Digest && list.Matcher() == settings.Matcher {
		return list, nil
	}
	return j.shared.awaitList(j.ctx, settings)
}

// How long a call waits for the tables of the active list, and between two looks. A call
// that waits is in flight, and as bounded as any.
const (
	listPatience = 1200 * time.Millisecond
	listLook     = 10 * time.Millisecond
)

// awaitList waits a moment for tables that are being made here: most are within a
// second. Whoever waits longer is told to ask another node; nothing happened.
func (js *Judges) awaitList(ctx context.Context, settings *fsm.Settings) (*ofac.Index, error) {
	for range listPatience / listLook {
		list, err := js.deps.Published.ListAs(settings.List.Digest, settings.Matcher)
		if err == nil && list != nil {
			return list, nil
		}
		if !errors.Is(err, ofac.ErrBeingCompiled) {
			break
		}
		select {
		case <-time.After(listLook):
			continue
		case <-ctx.Done():
		}
		break
	}
	return nil, Refuse("sanctions_data_unavailable", "this node has not compiled the active sanctions list yet; no verdict can be given here: ask another node")
}

func noList() *Refusal {
	return Refuse("sanctions_data_unavailable", "no published sanctions list is active; no verdict can be given")
}

// gatherFacts resolves the credentials of the call and lays out what the static
// rules see, with the folded revisions of every profile looked at.
func (j *Judge) gatherFacts(list *ofac.Index) error {
	s := &j.screen
	settings := j.Terms.Settings
	s.facts = engine.Facts{
		Request: &s.request, Now: j.shared.deps.Published.LogTime(), Policy: settings.Policy, List: list,
	}
	s.record = wire.Screen{
		Idem: j.call.Idem, Key: j.call.Caller.Key, Amount: s.request.Amount, Party: s.request.PartyKey(), Hold: s.hold, Reference: referenceKey(j.call.Caller.Owner(), s.reference),
		Basis: engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version, Matcher: settings.Matcher, Rules: settings.Rules().Number},
	}
	s.agent, s.user = credentialClaims{}, credentialClaims{}
	if sandboxRule(j) == engine.RuleNoCredential {
		s.facts.Token = engine.TokenMalformed
		return nil
	}
	token, state, err := j.Claims(s.token)
	if err != nil {
		return err
	}
	if state != engine.TokenGood {
		s.facts.Token = state
		return nil
	}
	if token.kind == kindUser {
		if s.userGiven {
			s.facts.Token = engine.TokenWrongType // Two user credentials and no agent's.
			return nil
		}
		s.user = token
		return j.userAlone()
	}
	s.agent = token
	if s.userGiven {
		if s.user, state, err = j.Claims(s.userToken); err != nil {
			return err
		}
		if state != engine.TokenGood || s.user.kind != kindUser {
			s.facts.Token = worseToken(state)
			return nil
		}
	}
	return j.loadParties(engine.AgentSlot(token.slot), token.version, token.expires)
}

func worseToken(state engine.TokenState) engine.TokenState {
	if state == engine.TokenGood {
		return engine.TokenWrongType
	}
	return state
}

// userAlone serves a user credential given as token: it stands for the agent it
// is bound to when that is exactly one (decision 41); else it is R24.
func (j *Judge) userAlone() error {
	s := &j.screen
	profile, err := j.UserProfile(engine.UserSlot(s.user.slot))
	if err != nil {
		return err
	}
	if profile == nil {
		s.facts.Token = engine.TokenUnknownAgent
		return nil
	}
	if len(profile.Agents) != 1 {
		s.facts.UserOnly = true
		return j.loadParties(0, 0, 0)
	}
	agent, err := j.agentProfile(profile.Agents[0])
	if err != nil {
		return err
	}
	if agent == nil {
		s.facts.Token = engine.TokenUnknownAgent
		return nil
	}
	// No agent's token is in the call: the registry's current credential stands in.
	return j.loadParties(agent.Slot, agent.CredentialVersion, agent.ExpiresAt)
}

// loadParties loads the delegation chain, the root's fleet and the user, in the
// order in which Apply folds their revisions.
func (j *Judge) loadParties(slot engine.AgentSlot, version uint16, expires engine.Time) error {
	s := &j.screen
	f, record := &s.facts, &s.record
	if err := j.loadChain(slot); err != nil || f.Token != engine.TokenGood {
		return err
	}
	record.Agent, record.Version, record.Expires = slot, version, expires
	signer := s.agent.kid
	if s.agent.kind == 0 && f.ChainSize > 0 { // A user credential alone: the registry's credential stands in, signer and all.
		signer = f.Chain[0].KeyID
	}
	if j.Terms.Settings.KeyRevoked(signer) {
		record.Version = 0 // Never passes R2 (decision 56: an emergency rotation).
	}
	if f.ChainSize > 0 {
		if fleet := f.Chain[f.ChainSize-1].Fleet; fleet != 0 {
			if f.Fleet = j.shared.deps.Published.Fleet(fleet); f.Fleet != nil {
				record.Basis.Fold(engine.RevFleet, uint32(fleet), f.Fleet.Rev)
			}
		}
	}
	if s.user.kind == 0 {
		return nil
	}
	profile, err := j.UserProfile(engine.UserSlot(s.user.slot))
	if err != nil {
		return err
	}
	if profile == nil {
		f.Token = engine.TokenUnknownAgent
		return nil
	}
	f.User = profile
	record.User, record.UserVersion, record.UserExpires = profile.Slot, s.user.version, s.user.expires
	if j.Terms.Settings.KeyRevoked(s.user.kid) {
		record.UserVersion = 0
	}
	record.Basis.Fold(engine.RevUser, uint32(profile.Slot), profile.Rev)
	return nil
}

func (j *Judge) loadChain(slot engine.AgentSlot) error {
	s := &j.screen
	f := &s.facts
	for slot != 0 {
		if f.ChainSize == len(f.Chain) {
			f.ChainBad = true
			return nil
		}
		profile, err := j.agentProfile(slot)
		if err != nil {
			return err
		}
		if profile == nil {
			if f.ChainSize == 0 {
				f.Token = engine.TokenUnknownAgent
				return nil
			}
			s.record.Basis.Fold(engine.RevAgent, uint32(slot), 0)
			f.ChainBad = true
			return nil
		}
		f.Chain[f.ChainSize] = profile
		f.ChainSize++
		s.record.Basis.Fold(engine.RevAgent, uint32(slot), profile.Rev)
		slot = profile.Parent
	}
	return nil
}

// agentProfile returns a profile. One that this node does not know, of a slot
// that a credential of ours names, was registered a moment ago on another node:
// the leader is asked once.
func (j *Judge) agentProfile(slot engine.AgentSlot) (*engine.AgentProfile, error) {
	if profile := j.shared.deps.Published.Agent(slot); profile != nil {
		return profile, nil
	}
	if err := j.CatchUp(); err != nil {
		return nil, err
	}
	return j.shared.deps.Published.Agent(slot), nil
}

// UserProfile is agentProfile for users.
func (j *Judge) UserProfile(slot engine.UserSlot) (*engine.UserProfile, error) {
	if profile := j.shared.deps.Published.User(slot); profile != nil {
		return profile, nil
	}
	if err := j.CatchUp(); err != nil {
		return nil, err
	}
	return j.shared.deps.Published.User(slot), nil
}

// checkScope keeps a key of one operator from screening another's agents, and from
// having another's users named in its records: who a user is stands in the record's
// evidence. A user that is bound to the agent is the agent's, whoever registered it.
func (j *Judge) checkScope() error {
	f := &j.screen.facts
	if j.call.Caller.Operator == "" || f.Token != engine.TokenGood {
		return nil
	}
	if f.ChainSize == 0 { // A user credential alone, which stands for no one agent.
		if f.User == nil || !j.call.Caller.Covers(f.User.OperatorLegalName) {
			return ForeignOperator()
		}
		return nil
	}
	if j.Terms.card(j.shared.cards, f.Chain[0]).operatorKey != j.call.Caller.Operator {
		return ForeignOperator()
	}
	if f.User != nil && !slices.Contains(f.User.Agents, f.Chain[0].Slot) && !j.call.Caller.Covers(f.User.OperatorLegalName) {
		return ForeignOperator()
	}
	return nil
}
