package edge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// Steps 3 to 5 of a screening call (docs/ARCHITECTURE.md). What cannot change is judged here,
// what can change is judged in the log.

// screening is the memory that one screening call needs. It is pooled with its call.
type screening struct {
	ahead    engine.Time // How far the clocks are ahead of log time.
	request  engine.Request
	facts    engine.Facts
	hits     engine.Hits
	record   wire.Screen
	members  leaf.Fragment
	fragment []byte // The encoded members.
	texts    []byte // The bytes that members refer to.
	keys     []uint64
	subs     []byte
	causes   []wire.Cause

	clearings []clearing // Of the names of the call.

	requestHash [32]byte
	hold        uint32 // In seconds; 0: no hold.
	reference   string // paymentRef.
	permit      permitAsked
	proof       proofGiven
	x402        *x402Terms // Of a call by this service's facilitator.
	again       bool       // A recorded payment is judged again; its own record has what the call told.

	token     string // As sent, with its prefix; "" if it is no string. Like userToken it shares the body's memory.
	userToken string
	userGiven bool
	context   ofac.Context               // More details of the counterparty; no rule reads them but through cleared pairs.
	strangers []strictjson.UnknownMember // Ignored unknown members, for warnings.
	rounded   bool                       // The amount has more than six decimals, and was rounded up.
	agent     credentialClaims
	user      credentialClaims
}

// reset keeps the memory and forgets everything else: a pooled call must not keep a caller's
// names alive.
//
// It works in place, because a copy of these three kilobytes costs more than a call's use of
// them.
func (s *screening) reset() {
	fragment, texts, keys, subs, causes := s.fragment[:0], s.texts[:0], s.keys[:0], s.subs[:0], s.causes[:0]
	*s = screening{}
	s.fragment, s.texts, s.keys, s.subs, s.causes = fragment, texts, keys, subs, causes
}

// lookers are not part of a call. Each remembers many answers, and a call holds one only while
// it asks the list.
var lookers = sync.Pool{New: func() any { return engine.NewLooker() }}

// Screen judges the request that was read and makes its record: credential, static rules,
// evidence. If the log knew of something newer, Screen is called again under newer terms. The
// record is valid until the judge is used again.
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
	if err := j.endedByClocks(); err != nil {
		return nil, err
	}
	if err := j.prove(possession.ActScreen); err != nil {
		return nil, err
	}
	j.Forged = j.screen.facts.Token == engine.TokenSignature
	j.lookUpCleared(list)
	verified := time.Now()
	j.Timing.Verify += verified.Sub(began)
	if err := j.judgeInTurn(list); err != nil {
		return nil, err
	}
	j.Timing.Rules += time.Since(verified)
	return &j.screen.record, nil
}

// judgeInTurn judges the gathered facts in a turn and makes the record.
func (j *Judge) judgeInTurn(list *ofac.Index) error {
	s := &j.screen
	if j.Agent = nil; s.facts.ChainSize > 0 {
		j.Agent = s.facts.Chain[0]
	}
	looker, err := j.lookUp(func() {
		s.hits = judgeStatic(j)
		j.buildRecord(list) // It reads the matches, which are in the looker's memory.
	})
	if err == nil {
		lookers.Put(looker)
	}
	return err
}

// ActiveList returns the list that the present settings name, with the tables of the matcher
// that they name. The published list may be one step ahead or behind, so ActiveList compares
// both. A node that has not made those tables yet gives no verdict.
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

// How long a call waits for the tables of the active list, and how often it looks. The bound on
// calls in flight also bounds the waiting ones.
const (
	listPatience = 1200 * time.Millisecond
	listLook     = 10 * time.Millisecond
)

// awaitList waits for tables that are being compiled here. Most are ready within a second.
// After listPatience the caller is told to ask another node; nothing was recorded.
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

// beginFacts begins facts and record with what is in force, and checks the permit that is asked for.
func (j *Judge) beginFacts(list *ofac.Index) error {
	s, settings := &j.screen, j.Terms.Settings
	s.facts = engine.Facts{
		Request: &s.request, Now: j.shared.deps.Published.LogTime(), Policy: settings.Policy, List: list,
	}
	s.ahead = j.shared.deps.Published.ClocksAhead()
	s.record = wire.Screen{
		Key: j.call.Caller.Key, Amount: s.request.Amount, Permit: s.permit.seconds,
		Basis: engine.Basis{
			List: settings.ListVersion, Policy: settings.Policy.Version, Matcher: settings.Matcher, Rules: settings.Rules().Number, Cleared: settings.ClearedVersion(),
		},
	}
	s.agent, s.user = credentialClaims{}, credentialClaims{}
	return j.checkPermit(settings)
}

// gatherFacts verifies the credentials of the call and collects the facts for the static rules.
// It folds the revisions of all profiles that it reads into the basis.
func (j *Judge) gatherFacts(list *ofac.Index) error {
	s := &j.screen
	if err := j.beginFacts(list); err != nil {
		return err
	}
	s.record.Idem, s.record.Party, s.record.Hold, s.record.Reference = j.keyed(), s.request.PartyKey(), s.hold, referenceKey(j.call.Caller.Owner, s.reference)
	s.record.Counts = j.call.Facilitator && s.hold != 0 // Whoever has the signed payment can make it.
	var err error
	if s.record.Used, err = j.LookForReference(s.record.Reference); err != nil {
		return err
	}
	if SandboxRule(j) == engine.RuleNoCredential {
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
			s.facts.Token = engine.TokenWrongType // Two user credentials, but no agent's.
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

// userAlone handles a user credential given as token. If the credential is bound to exactly one
// agent, it stands for that agent (decision 41). Otherwise the call is R23.
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
	// The call has no agent's token, so the registry's current credential is used.
	return j.loadParties(agent.Slot, agent.CredentialVersion, agent.ExpiresAt)
}

// endedByClocks refuses a call whose credential has ended by the clocks of a quorum, and not by log
// time, which is behind them (decision 111). It is no BLOCK: the log, by which everybody judges
// again later, would not bear it out. Log time catches up, and then it is one.
func (j *Judge) endedByClocks() error {
	ahead := j.screen.ahead
	if ahead == 0 {
		return nil
	}
	s := &j.screen
	now, ends := s.facts.Now, []engine.Time{s.record.Expires, s.record.UserExpires}
	for _, profile := range s.facts.Chain[:s.facts.ChainSize] {
		ends = append(ends, profile.ExpiresAt)
	}
	for _, end := range ends {
		if end > now && end <= now+ahead {
			return Refuse("time_uncertain", "a credential of the call has ended by the clocks, and log time is behind them: no verdict before it has caught up")
		}
	}
	return nil
}

// loadParties loads the delegation chain, the root's fleet, the operator and the user, in the order in which
// Apply folds their revisions.
func (j *Judge) loadParties(slot engine.AgentSlot, version uint16, expires engine.Time) error {
	s := &j.screen
	f, record := &s.facts, &s.record
	if err := j.loadChain(slot); err != nil || f.Token != engine.TokenGood {
		return err
	}
	record.Agent, record.Version, record.Expires = slot, version, expires
	signer := s.agent.kid
	if s.agent.kind == 0 && f.ChainSize > 0 { // A user credential alone: the registry's credential is used, with its signing key.
		signer = f.Chain[0].KeyID
	}
	if j.Terms.Settings.KeyRevoked(signer) {
		record.Version = 0 // Version 0 never passes R2 (decision 56: an emergency rotation).
	}
	if f.ChainSize > 0 {
		if fleet := f.Chain[f.ChainSize-1].Fleet; fleet != 0 {
			if f.Fleet = j.shared.deps.Published.Fleet(fleet); f.Fleet != nil {
				record.Basis.Fold(engine.RevFleet, uint32(fleet), f.Fleet.Rev)
			}
		}
	}
	if f.ChainSize > 0 {
		operator, err := j.operatorProfile(f.Chain[0].Operator)
		if err != nil {
			return err
		}
		f.OperatorID = j.Terms.card(j.shared.cards, f.Chain[0]).operatorID
		if f.Operator = operator; operator != nil {
			record.Basis.Fold(engine.RevOperator, uint32(operator.Slot), operator.Rev)
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

// agentProfile returns a profile. If this node does not know it, it may have been registered on
// another node a moment ago, so the leader is asked once.
func (j *Judge) agentProfile(slot engine.AgentSlot) (*engine.AgentProfile, error) {
	if profile := j.shared.deps.Published.Agent(slot); profile != nil {
		return profile, nil
	}
	if err := j.CatchUp(); err != nil {
		return nil, err
	}
	return j.shared.deps.Published.Agent(slot), nil
}

// UserProfile is like agentProfile, for users.
func (j *Judge) UserProfile(slot engine.UserSlot) (*engine.UserProfile, error) {
	if profile := j.shared.deps.Published.User(slot); profile != nil {
		return profile, nil
	}
	if err := j.CatchUp(); err != nil {
		return nil, err
	}
	return j.shared.deps.Published.User(slot), nil
}

// checkScope keeps a key of one operator from screening another's agents, and from having
// another's users named in its records, whose evidence says who a user is. A user that is bound
// to the agent counts as the agent's, whoever registered it.
func (j *Judge) checkScope() error {
	f := &j.screen.facts
	if j.call.Caller.OwnerOperator() == "" || f.Token != engine.TokenGood {
		return nil
	}
	if f.ChainSize == 0 { // A user credential alone that stands for no single agent.
		if f.User == nil || !j.Covers(f.User.Operator) {
			return ForeignOperator()
		}
		return nil
	}
	if j.Terms.card(j.shared.cards, f.Chain[0]).operatorID != j.call.Caller.Owner {
		return ForeignOperator()
	}
	if f.User != nil && !slices.Contains(f.User.Agents, f.AgentSlot()) && !j.Covers(f.User.Operator) {
		return ForeignOperator()
	}
	return nil
}
