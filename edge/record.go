package edge

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"sync/atomic"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// The edge's part of a screening record holds everything that is known here and that Apply does
// not know. It is a leaf.Fragment, which Apply copies behind its own. The caller's texts are
// copied as the literals that were sent. The token is never stored.

const (
	matchesBytesMax = 20 * engine.KiB // Matches beyond so many bytes are left out, and the record says so.
	cardsMax        = 65_536          // Places of the card cache; a power of two.
)

// agentCard holds the parts that are the same in every record of an agent. It is computed once
// for a profile.
type agentCard struct {
	profile        *engine.AgentProfile
	id             string
	operatorID     string
	head           strictjson.Members // agentId, agentName, agentType, operatorLegalName, operatorId.
	shown          *leaf.Profile      // The same members, for an answer.
	agentFilter    uint64
	operatorFilter uint64
}

// cardCache is direct-mapped by slot: bounded, lock-free.
type cardCache struct {
	places [cardsMax]atomic.Pointer[agentCard]
}

func (t *Terms) card(cache *cardCache, p *engine.AgentProfile) *agentCard {
	place := &cache.places[uint32(p.Slot)&(cardsMax-1)]
	if card := place.Load(); card != nil && card.profile == p {
		return card
	}
	card := &agentCard{profile: p, id: t.AgentID(p.Slot), operatorID: t.OperatorID(p.Operator)}
	card.head.Text("agentId", card.id)
	card.head.Text("agentName", p.AgentName)
	card.head.Text("agentType", p.Type.String())
	card.head.Text("operatorLegalName", p.OperatorLegalName)
	card.head.Optional("operatorId", card.operatorID)
	card.shown = &leaf.Profile{Agents: []engine.AgentProfile{*p}, AgentIDs: []string{card.id}, OperatorID: card.operatorID}
	card.agentFilter = engine.FilterKey(engine.FilterAgent, card.id)
	card.operatorFilter = engine.FilterKey(engine.FilterOperator, card.operatorID)
	place.Store(card)
	return card
}

// buildRecord completes the record from facts and hits. It must run before the looker is used
// again, because the matches in facts are valid only until then.
func (j *Judge) buildRecord(list *ofac.Index) {
	s := &j.screen
	s.record.Subs = s.subs[:0]
	wire.PackHits(&s.hits, &s.record)
	s.subs = s.record.Subs
	s.nameCauses()
	j.noteLapse()
	if s.facts.Token != engine.TokenGood {
		// R1 excludes all other rules: only the evidence names a party, and the basis has no
		// revisions.
		s.record.Agent, s.record.User, s.record.Basis.Revs = 0, 0, 0
	}
	j.makeFilters()
	f := &s.members
	*f = leaf.Fragment{}
	nameOrigin(j, f)
	s.nameFound(f, list)
	if name := s.facts.ListNamed(&s.hits); name != "" {
		f.Set(leaf.TagListName, []byte(name))
	}
	namePlaces(&s.facts, f)
	s.namePermit(f)
	s.nameProof(f)
	if warnings := s.warnings(); len(warnings) > 0 {
		f.Set(leaf.TagWarnings, strictjson.AppendList(nil, warnings))
	}
	if s.request.Elsewhere != "" {
		text := s.request.Elsewhere
		if s.request.ElsewhereMore {
			text += "+"
		}
		f.Set(leaf.TagElsewhere, []byte(text))
	}
	for i := range requestTags {
		if s.again {
			break
		}
		if raw := j.call.Document.Raw(requestTags[i].name); raw != nil {
			f.Set(requestTags[i].tag, raw)
		}
	}
	s.fragment = f.Append(s.fragment[:0])
	s.record.Fragment, s.record.Filters = s.fragment, s.keys
}

// noteLapse writes into the record by what the judged facts lapse: an instant, and a change of
// the cleared pairs. Facts that no cleared pair can change do not keep their version, so that
// a clearing makes only those calls stale whose names it may be about (decision 123).
func (j *Judge) noteLapse() {
	s := &j.screen
	s.record.ValidUntil = s.facts.ValidUntil
	if !s.facts.OfClearings() {
		s.record.Basis.Cleared = 0
	}
}

// nameOrigin writes who called, and which node and versions judged the call.
func nameOrigin(j *Judge, f *leaf.Fragment) {
	s := &j.screen
	source := sourceLive
	if j.Terms.Settings.List.Sample {
		source = sourceSample
	}
	f.Set(leaf.TagSource, source)
	text := func(t leaf.Tag, value string) {
		if value != "" {
			at := len(s.texts)
			s.texts = append(s.texts, value...)
			f.Set(t, s.texts[at:])
		}
	}
	s.texts = s.texts[:0]
	text(leaf.TagMixers, engine.MixerVersion())
	text(leaf.TagZones, engine.TZVersion)
	text(leaf.TagVersion, j.shared.deps.Version)
	text(leaf.TagCredential, s.agent.id)
	text(leaf.TagUserCred, s.user.id)
	if s.facts.Token != engine.TokenGood && s.agent.kind == kindAgent {
		text(leaf.TagAgent, j.Terms.AgentID(engine.AgentSlot(s.agent.slot))) // An agent is set only if the signature was good.
	}
	if s.user.kind == kindUser {
		text(leaf.TagUser, j.Terms.UserID(engine.UserSlot(s.user.slot)))
	}
	text(leaf.TagKey, j.call.Caller.ID)
	text(leaf.TagNode, j.shared.deps.Node)
	text(leaf.TagRequestID, j.call.RequestID)
	if j.call.Trace != "" {
		if trace, err := hex.DecodeString(j.call.Trace); err == nil && len(trace) == traceSize {
			f.Set(leaf.TagTrace, trace)
		}
	}
	f.Set(leaf.TagRequestHash, j.requestHash())
	if j.call.Idem != nil {
		f.Set(leaf.TagIdempotency, j.call.Idem.Key[:])
	}
}

// nameFound adds the evidence of the list, and what else a replay needs.
func (s *screening) nameFound(f *leaf.Fragment, list *ofac.Index) {
	facts := &s.facts
	if facts.Token != engine.TokenGood {
		return
	}
	items, truncated := s.listMatches(list)
	if len(items) > 0 {
		f.Set(leaf.TagMatches, strictjson.AppendList(nil, items))
	}
	if truncated {
		f.Set(leaf.TagTruncated, nil)
	}
	flags := byte(0)
	if facts.HasWhitelist() {
		flags |= leafjson.FlagWhitelist
	}
	if facts.ChainBad {
		flags |= leafjson.FlagChainBad
	}
	if flags != 0 {
		f.Set(leaf.TagFlags, []byte{flags})
	}
	for _, cleared := range [...]struct {
		tag  leaf.Tag
		uids []uint32
	}{{leaf.TagOperatorOK, facts.OperatorCleared}, {leaf.TagUserOK, facts.UserCleared}, {leaf.TagPartyOK, facts.PartyCleared}} {
		if len(cleared.uids) == 0 {
			continue
		}
		data := make([]byte, 0, 4*len(cleared.uids))
		for _, uid := range cleared.uids {
			data = binary.LittleEndian.AppendUint32(data, uid)
		}
		f.Set(cleared.tag, data)
	}
}

// namePlaces writes what was read of the places of the call, from which member, and the exemption
// that let a place pass.
func namePlaces(facts *engine.Facts, f *leaf.Fragment) {
	places := &facts.Places
	if facts.Token != engine.TokenGood || places.Count == 0 {
		return
	}
	items := make([]strictjson.Members, places.Count)
	for i := range items {
		found, item := &places.Found[i], &items[i]
		member := found.Member.String()
		switch found.Member {
		case engine.MemberIdentifier:
			member += "[" + strconv.Itoa(int(found.Index)) + "].value"
		case engine.MemberIdentifierCountry:
			member += "[" + strconv.Itoa(int(found.Index)) + "].country"
		case engine.MemberText:
			member = engine.TextMember(-int(found.Index))
		}
		item.Text("member", member)
		item.Optional("read", found.Code.String())
		item.Text("outcome", found.Outcome.String())
		if found.Outcome == engine.OutcomeExempt {
			exemption := facts.Policy.Exemption(found.Exemption)
			item.Text("exemption", exemption.ID)
			item.Text("licence", exemption.Licence)
		}
	}
	f.Set(leaf.TagPlaces, strictjson.AppendList(nil, items))
	f.Set(leaf.TagPlacesVersion, []byte(engine.PlacesVersion()))
}

// traceSize is the length of a trace id (W3C Trace Context).
const traceSize = 16

// The values of the tag leaf.TagSource.
var sourceLive, sourceSample = []byte{1}, []byte{2}

// requestTags are the members of a request that its record keeps.
var requestTags = func() (tags []requestTag) {
	for _, name := range leafjson.RequestMembers() {
		tag, _ := leafjson.RequestTag(name)
		tags = append(tags, requestTag{name, tag})
	}
	return tags
}()

type requestTag struct {
	name string
	tag  leaf.Tag
}

// ListSource returns the word of the API for where a list came from.
func ListSource(info *wire.ListInfo) string {
	if info.Sample {
		return "kv:sample"
	}
	return "kv:live"
}

// makeFilters makes the keys that find the record.
func (j *Judge) makeFilters() {
	s := &j.screen
	f := &s.facts
	s.keys = s.keys[:0]
	if f.Token == engine.TokenGood && f.ChainSize > 0 {
		card := j.Terms.card(j.shared.cards, f.Chain[0])
		s.keys = append(s.keys, card.agentFilter, card.operatorFilter)
		if f.Fleet != nil {
			s.keys = append(s.keys, engine.FilterKey(engine.FilterFleet, j.Terms.FleetID(f.Fleet.Slot)))
		}
	}
	if s.user.kind == kindUser {
		s.keys = append(s.keys, engine.FilterKey(engine.FilterAgent, j.Terms.UserID(engine.UserSlot(s.user.slot))))
	}
	s.addWallet(s.request.Wallet)
	s.addWallet(s.request.Payer)
	for i := range s.request.Wallets[:s.request.WalletCount] {
		s.addWallet(s.request.Wallets[i].Address)
	}
	for i := range s.request.Identifiers[:s.request.IdentifierCount] {
		s.addIdentifier(&s.request.Identifiers[i])
	}
	name := f.PartyFilter // Set when the list was asked; it was not asked if there was nobody to screen.
	if f.Token != engine.TokenGood {
		name = engine.NameFilterKey(s.request.Name)
	}
	if name != 0 {
		s.keys = append(s.keys, name)
	}
}

// addWallet adds the key by which a search for a wallet finds the record.
func (s *screening) addWallet(wallet string) {
	if key, ok := engine.WalletFilterKey(wallet); ok && !slices.Contains(s.keys, key) {
		s.keys = append(s.keys, key)
	}
}

// writeParties names the agent, its operator, chain, fleet and user.
func (j *Judge) writeParties(m *strictjson.Members) {
	s := &j.screen
	f := &s.facts
	if f.Token == engine.TokenGood && f.ChainSize > 0 {
		m.Join(j.Terms.card(j.shared.cards, f.Chain[0]).head)
		if f.ChainSize > 1 {
			chain := make([]string, 0, len(f.Chain))
			for i := f.ChainSize - 1; i >= 0; i-- {
				chain = append(chain, j.Terms.AgentID(f.Chain[i].Slot))
			}
			m.Texts("chain", chain)
		}
		if f.Fleet != nil {
			m.Text("fleetId", j.Terms.FleetID(f.Fleet.Slot))
		}
	} else if s.agent.kind == kindAgent {
		m.Text("agentId", j.Terms.AgentID(engine.AgentSlot(s.agent.slot))) // An agent is set only if the signature was good.
	}
	if s.user.kind == kindUser {
		m.Text("userId", j.Terms.UserID(engine.UserSlot(s.user.slot)))
	}
}

// writeMatches writes the evidence of the list: which entry matched whom, and how well.
func (j *Judge) writeMatches(m *strictjson.Members, list *ofac.Index) {
	if j.screen.facts.Token != engine.TokenGood {
		return
	}
	items, truncated := j.screen.listMatches(list)
	if len(items) > 0 {
		m.List("matches", items)
	}
	if truncated {
		m.Bool("matchesTruncated", true)
	}
}

// listMatches lists the matches within a bound. truncated means that some are left out.
func (s *screening) listMatches(list *ofac.Index) (items []strictjson.Members, truncated bool) {
	f, size := &s.facts, 0
	add := func(item strictjson.Members) {
		if size += len(item); size <= matchesBytesMax {
			items = append(items, item)
		}
	}
	if f.OperatorListed {
		add(walletEvidence("operator", &f.OperatorWallet, list))
	}
	if f.PartyListed {
		item := walletEvidence("counterparty", &f.PartyWallet, list)
		writeCompared(&item, f.PartyWallet.UID, &s.context, list)
		add(item)
	}
	if f.PayerListed {
		add(walletEvidence("payer", &f.PayerWallet, list))
	}
	f.ListedWallets(func(role engine.WalletRole, match *ofac.WalletMatch) { add(walletEvidence(partyOf(role), match, list)) })
	for _, party := range [...]struct {
		name   string
		result *ofac.Result
	}{{partyOperator, &f.OperatorName}, {partyUser, &f.UserName}, {partyCounterparty, &f.PartyName}} {
		truncated = truncated || party.result.Truncated
		for i := range party.result.Matches {
			item := nameEvidence(party.name, &party.result.Matches[i], list)
			if party.name == partyCounterparty {
				writeCompared(&item, party.result.Matches[i].UID, &s.context, list)
			}
			s.writeClearing(&item, party.name, &party.result.Matches[i])
			add(item)
		}
	}
	addToldEvidence(f, list, add)
	return items, truncated || f.TextsTruncated() || size > matchesBytesMax
}

// writeCompared writes each fact that call and list both give of a party, and whether they agree, as
// it was when the call was judged.
func writeCompared(item *strictjson.Members, uid uint32, context *ofac.Context, list *ofac.Index) {
	agreements := list.Agreements(uid, context)
	if len(agreements) == 0 {
		return
	}
	compared := make([]strictjson.Members, 0, len(agreements))
	for i := range agreements {
		var m strictjson.Members
		m.Text("what", agreements[i].What())
		m.Text("asked", agreements[i].Asked)
		m.Text("listed", agreements[i].Listed)
		m.Bool("agrees", agreements[i].Agrees)
		compared = append(compared, m)
	}
	item.List("compared", compared)
}

// partyOf returns the word of evidence for whom a wallet stands.
func partyOf(role engine.WalletRole) string {
	if role == engine.WalletPayee {
		return "counterparty"
	}
	return role.String()
}

func walletEvidence(party string, match *ofac.WalletMatch, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("party", party)
	m.Text("list", list.NameOf(match.Lists))
	m.Text("uid", strconv.FormatUint(uint64(match.UID), 10))
	if entry, ok := list.Entry(match.UID); ok {
		m.Text("name", entry.Primary)
		m.Texts("programs", entry.Programs)
	}
	m.Text("wallet", match.Address)
	m.Text("ticker", match.Ticker)
	m.Text("outcome", walletOutcome(match).String())
	m.Optional("why", walletWhy(match))
	return m
}

func nameEvidence(party string, match *ofac.Match, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("party", party)
	m.Text("list", list.NameOf(match.Lists))
	m.Text("uid", strconv.FormatUint(uint64(match.UID), 10))
	m.Text("type", match.Type.String())
	m.Text("name", match.Name)
	m.Text("alias", match.Alias)
	m.Text("quality", match.Quality)
	m.Text("form", match.Form)
	m.Score("score", match.Score)
	m.Score("strict", match.Strict)
	m.Text("outcome", match.Outcome.String())
	if match.Sub != 0 {
		m.Text("why", match.Sub.String())
	}
	if entry, ok := list.Entry(match.UID); ok {
		m.Texts("programs", entry.Programs)
	}
	return m
}

// walletWhy says how a wallet is related to the listed one, unless it is that.
func walletWhy(match *ofac.WalletMatch) string {
	if !match.Twin.Sure() {
		return ofac.SubTwin.String()
	}
	return match.Twin.String()
}

// walletOutcome returns what a listed wallet leads to by itself.
func walletOutcome(match *ofac.WalletMatch) ofac.Outcome {
	if match.Blocks() {
		return ofac.Listed
	}
	return ofac.Possible
}

// SnapshotID returns the id of a list that people see.
func SnapshotID(digest [32]byte) string { return ofac.SnapshotID(digest) }

// CurrentModel returns the model reported last, else the one at issuance.
func CurrentModel(p *engine.AgentProfile) string {
	if p.Settings.CurrentModel != "" {
		return p.Settings.CurrentModel
	}
	return p.Model
}
