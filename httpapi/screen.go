package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// POST /v1/screen: the eleven steps of house.md, section 5. What cannot change
// is judged here, what can change is judged in the log.

func (a *API) screenRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/screen", roles: wire.RoleScreener, body: bodyObject, max: engine.ScreenBodyMax, handle: screen},
		{method: http.MethodPost, path: "/v1/screen/dry-run", roles: wire.RolePolicy | wire.RoleReviewer, body: bodyObject, max: engine.ScreenBodyMax, handle: dryRun},
	}
}

// screening is the room one screening call needs. It is pooled with its call.
type screening struct {
	request  engine.Request
	facts    engine.Facts
	hits     engine.Hits
	record   wire.Screen
	fragment strictjson.Members
	filters  []uint64
	subs     []byte

	token     string // As sent, prefix and all; "" when not a string.
	userToken string
	userGiven bool
	agent     credentialClaims
	user      credentialClaims
	fresh     bool // The leader's state was asked for once already.
}

// reset keeps the room and forgets the rest: a pooled call must not keep a
// caller's names alive.
func (s screening) reset() screening {
	return screening{fragment: s.fragment[:0], filters: s.filters[:0], subs: s.subs[:0]}
}

// lookers are not part of a call: each remembers many answers, and one is held
// only while the list is asked.
var lookers = sync.Pool{New: func() any { return engine.NewLooker() }}

func screen(c *call) error {
	if err := c.parseScreen(); err != nil {
		return err
	}
	began := time.Now()
	result, err := c.commitScreen()
	if err != nil {
		return err
	}
	c.timing.commit = time.Since(began) - c.timing.verify - c.timing.rules
	l, err := c.resultLeaf(result)
	if err != nil {
		return err
	}
	if err := c.renderLeaf(&l); err != nil {
		return err
	}
	countScreen(l.text("verdict"), l.text("rule"), c.timing, time.Since(c.start))
	return nil
}

// commitScreen judges and proposes, again when the log knew of something newer.
func (c *call) commitScreen() (wire.Result, error) {
	return c.propose(proposal{kind: wire.KindScreen, record: func() (any, error) {
		if err := c.judge(); err != nil {
			return nil, err
		}
		return &c.screen.record, nil
	}})
}

// judge is steps 2 to 4: credential, static rules, record.
func (c *call) judge() error {
	began := time.Now()
	list, err := c.activeList()
	if err != nil {
		return err
	}
	if err := c.gatherFacts(list); err != nil {
		return err
	}
	if err := c.checkScope(); err != nil {
		return err
	}
	c.lookUpCleared(list)
	verified := time.Now()
	c.timing.verify += verified.Sub(began)
	looker := lookers.Get().(*engine.Looker)
	s := &c.screen
	looker.Look(&s.facts)
	s.hits = engine.JudgeStatic(&s.facts)
	c.buildRecord(list) // Reads the matches, which live in the looker.
	lookers.Put(looker)
	c.timing.rules += time.Since(verified)
	return nil
}

// activeList returns the list that the settings of this moment name: the pointer
// published beside them may be one step ahead or behind.
func (c *call) activeList() (*ofac.Index, error) {
	settings := c.edge.settings
	if settings.List == nil || settings.List.Entries == 0 {
		return nil, noList()
	}
	if settings.List.Sample && !settings.Genesis.Dev {
		return nil, noList()
	}
	list := c.api.deps.Published.List()
	if list != nil && list.Digest() == settings.List.Digest {
		return list, nil
	}
	list, err := c.api.deps.Published.ListByDigest(settings.List.Digest)
	if err != nil || list == nil {
		return nil, noList()
	}
	return list, nil
}

func noList() *Error {
	return unavailable("sanctions_data_unavailable", "no published sanctions list is active; no verdict can be given")
}

// gatherFacts resolves the credentials of the call and lays out what the static
// rules see, with the folded revisions of every profile looked at.
func (c *call) gatherFacts(list *ofac.Index) error {
	s := &c.screen
	settings := c.edge.settings
	s.facts = engine.Facts{
		Request: &s.request, Now: c.api.deps.Published.LogTime(), Policy: settings.Policy, List: list,
	}
	s.record = wire.Screen{
		Idem: c.idem, Amount: s.request.Amount, Party: s.request.Party(),
		Basis: engine.Basis{List: settings.ListVersion, Policy: settings.Policy.Version},
	}
	s.agent, s.user = credentialClaims{}, credentialClaims{}
	token, state, err := c.claimsOf(s.token)
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
		return c.userAlone()
	}
	s.agent = token
	if s.userGiven {
		if s.user, state, err = c.claimsOf(s.userToken); err != nil {
			return err
		}
		if state != engine.TokenGood || s.user.kind != kindUser {
			s.facts.Token = worseToken(state)
			return nil
		}
	}
	return c.loadParties(engine.AgentSlot(token.slot), token.version, token.expires)
}

func worseToken(state engine.TokenState) engine.TokenState {
	if state == engine.TokenGood {
		return engine.TokenWrongType
	}
	return state
}

// userAlone serves a user credential given as token: it stands for the agent it
// is bound to when that is exactly one (decisions 5.11); else it is R24.
func (c *call) userAlone() error {
	s := &c.screen
	profile, err := c.userProfile(engine.UserSlot(s.user.slot))
	if err != nil {
		return err
	}
	if profile == nil {
		s.facts.Token = engine.TokenUnknownAgent
		return nil
	}
	if len(profile.Agents) != 1 {
		s.facts.UserOnly = true
		return c.loadParties(0, 0, 0)
	}
	agent, err := c.agentProfile(profile.Agents[0])
	if err != nil {
		return err
	}
	if agent == nil {
		s.facts.Token = engine.TokenUnknownAgent
		return nil
	}
	// No agent's token is in the call: the registry's current credential stands in.
	return c.loadParties(agent.Slot, agent.CredentialVersion, agent.ExpiresAt)
}

// loadParties loads the delegation chain, the root's fleet and the user, in the
// order in which Apply folds their revisions.
func (c *call) loadParties(slot engine.AgentSlot, version uint16, expires engine.Time) error {
	s := &c.screen
	f, record := &s.facts, &s.record
	if err := c.loadChain(slot); err != nil || f.Token != engine.TokenGood {
		return err
	}
	record.Agent, record.Version, record.Expires = slot, version, expires
	if c.edge.settings.KeyRevoked(s.agent.kid) {
		record.Version = 0 // Never passes R2 (decisions 5.26: an emergency rotation).
	}
	if f.ChainSize > 0 {
		if fleet := f.Chain[f.ChainSize-1].Fleet; fleet != 0 {
			if f.Fleet = c.api.deps.Published.Fleet(fleet); f.Fleet != nil {
				record.Basis.Fold(engine.RevFleet, uint32(fleet), f.Fleet.Rev)
			}
		}
	}
	if s.user.kind == 0 {
		return nil
	}
	profile, err := c.userProfile(engine.UserSlot(s.user.slot))
	if err != nil {
		return err
	}
	if profile == nil {
		f.Token = engine.TokenUnknownAgent
		return nil
	}
	f.User = profile
	record.User, record.UserVersion, record.UserExpires = profile.Slot, s.user.version, s.user.expires
	if c.edge.settings.KeyRevoked(s.user.kid) {
		record.UserVersion = 0
	}
	record.Basis.Fold(engine.RevUser, uint32(profile.Slot), profile.Rev)
	return nil
}

func (c *call) loadChain(slot engine.AgentSlot) error {
	s := &c.screen
	f := &s.facts
	for slot != 0 {
		if f.ChainSize == len(f.Chain) {
			f.ChainBad = true
			return nil
		}
		profile, err := c.agentProfile(slot)
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
func (c *call) agentProfile(slot engine.AgentSlot) (*engine.AgentProfile, error) {
	if profile := c.api.deps.Published.Agent(slot); profile != nil {
		return profile, nil
	}
	if err := c.catchUp(); err != nil {
		return nil, err
	}
	return c.api.deps.Published.Agent(slot), nil
}

func (c *call) userProfile(slot engine.UserSlot) (*engine.UserProfile, error) {
	if profile := c.api.deps.Published.User(slot); profile != nil {
		return profile, nil
	}
	if err := c.catchUp(); err != nil {
		return nil, err
	}
	return c.api.deps.Published.User(slot), nil
}

func (c *call) catchUp() error {
	if c.screen.fresh {
		return nil
	}
	c.screen.fresh = true
	return c.confirm()
}

// checkScope keeps a key of one operator from screening another's agents.
func (c *call) checkScope() error {
	f := &c.screen.facts
	if c.key.operator == "" || f.Token != engine.TokenGood || f.ChainSize == 0 {
		return nil
	}
	if c.edge.card(c.api.cards, f.Chain[0]).operatorKey != c.key.operator {
		return outOfScope()
	}
	return nil
}

// parseScreen reads the request: JSON, then required, then semantic.
func (c *call) parseScreen() error {
	f := c.fields()
	s := &c.screen
	if !f.Has("token") {
		return failure(http.StatusBadRequest, "missing_token", "token is required")
	}
	if !f.Has("amount") {
		return &Error{Status: http.StatusBadRequest, Code: "missing_amount", Message: "amount is required", Param: "amount"}
	}
	amount, err := engine.ParseUSD(c.document.Raw("amount"))
	if err != nil {
		message := "amount must be a number from 0 to 1e12: " + amountProblem(err)
		return &Error{Status: http.StatusBadRequest, Code: "invalid_amount", Message: message, Param: "amount"}
	}
	s.request = engine.Request{
		Amount: amount, AmountText: string(c.document.Raw("amount")),
		Chain: f.Text("chain", engine.FieldMax), Rail: f.Text("rail", engine.FieldMax),
		Wallet: f.Text("cpWallet", engine.FieldMax), Name: f.Name("cpName"),
		Type: f.Text("cpType", engine.FieldMax), Protocol: f.Text("protocol", engine.FieldMax),
		Model: f.Text("underlyingModel", engine.FieldMax), TravelRule: f.Text("travelRuleRef", engine.FieldMax),
	}
	if alias := f.Text("model", engine.FieldMax); s.request.Model == "" {
		s.request.Model = alias
	}
	s.token, s.userToken = looseText(&f, "token"), looseText(&f, "userToken")
	s.userGiven = f.Get("userToken") != nil
	if invalid, ok := f.Err().(*strictjson.InvalidBody); ok {
		return badFields(http.StatusBadRequest, invalid)
	}
	return nil
}

func amountProblem(err error) string {
	if errors.Is(err, engine.ErrAmountNegative) || errors.Is(err, engine.ErrAmountTooLarge) {
		return err.Error()
	}
	return "not a number"
}

// looseText reads a credential: anything but a string is a malformed one (R1),
// not an error (specification 7).
func looseText(f *strictjson.Fields, name string) string {
	v := f.Get(name)
	if v == nil {
		return ""
	}
	return strings.TrimSpace(string(v.GetStringBytes()))
}
