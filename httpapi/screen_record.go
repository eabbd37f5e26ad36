package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"sync/atomic"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// The audit fragment of a screening call: everything that is known at the edge,
// as JSON members that Apply copies behind its own. Texts of the caller are
// copied as the literals that were sent.

const (
	matchesBytesMax = 20 * engine.KiB // Evidence beyond this is left out and said to be.
	cardsMax        = 65_536          // Places of the card cache; a power of two.
)

// agentCard is what every call of one agent writes the same: computed once a
// profile.
type agentCard struct {
	profile        *engine.AgentProfile
	id             string
	operatorKey    string
	head           members // agentId, agentName, agentType, operatorLegalName.
	inputs         string  // See screen_inputs.go.
	agentFilter    uint64
	operatorFilter uint64
}

// cardCache is direct-mapped by slot: bounded, lock-free.
type cardCache struct {
	places [cardsMax]atomic.Pointer[agentCard]
}

func (e *edge) card(cache *cardCache, p *engine.AgentProfile) *agentCard {
	place := &cache.places[uint32(p.Slot)&(cardsMax-1)]
	if card := place.Load(); card != nil && card.profile == p {
		return card
	}
	card := &agentCard{profile: p, id: e.agentID(p.Slot), operatorKey: operatorKey(p.OperatorLegalName)}
	card.head.text("agentId", card.id)
	card.head.text("agentName", p.AgentName)
	card.head.text("agentType", p.Type.String())
	card.head.text("operatorLegalName", p.OperatorLegalName)
	card.inputs = encodeInputs(reduceAgent(p))
	card.agentFilter = engine.FilterKey(engine.FilterAgent, card.id)
	card.operatorFilter = engine.FilterKey(engine.FilterOperator, card.operatorKey)
	place.Store(card)
	return card
}

// buildRecord completes the record from facts and hits. The matches in facts
// are only good until the looker is used again, so this comes before.
func (c *call) buildRecord(list *ofac.Index) {
	s := &c.screen
	f := &s.facts
	s.record.Subs = s.subs[:0]
	wire.PackHits(&s.hits, &s.record)
	s.subs = s.record.Subs
	s.record.ValidUntil = f.ValidUntil
	s.fragment, s.filters = s.fragment[:0], s.filters[:0]
	m := &s.fragment
	if f.Token != engine.TokenGood {
		s.record.Agent, s.record.User = 0, 0 // R1 stands alone: nobody is named but in the evidence.
	}
	c.writeParties(m)
	m.text("ofacSource", ofacSource(c.edge.settings.List))
	digest := list.Digest()
	m.hex("listDigest", digest[:])
	m.text("mixerVersion", engine.MixerVersion())
	m.text("tzVersion", engine.TZVersion)
	m.text("version", c.api.deps.Version)
	m.optional("jti", s.agent.id)
	m.optional("userJti", s.user.id)
	m.text("keyId", c.key.id)
	m.text("node", c.api.deps.Node)
	m.text("requestId", c.requestID)
	hash := sha256.Sum256(c.body)
	m.hex("requestHash", hash[:])
	m.optional("idempotencyKeyHash", c.idemHash)
	c.writeMatches(m, list)
	c.writeInputs(m)
	c.writeRequest(m)
	s.record.Fragment, s.record.Filters = s.fragment, s.filters
}

func ofacSource(info *wire.ListInfo) string {
	if info.Sample {
		return "kv:sample"
	}
	return "kv:live"
}

// writeParties names the agent, its operator, chain, fleet and user, and makes
// the filter keys the record can be found by.
func (c *call) writeParties(m *members) {
	s := &c.screen
	f := &s.facts
	if f.Token == engine.TokenGood && f.ChainSize > 0 {
		card := c.edge.card(c.api.cards, f.Chain[0])
		m.join(card.head)
		s.filters = append(s.filters, card.agentFilter, card.operatorFilter)
		if f.ChainSize > 1 {
			chain := make([]string, 0, len(f.Chain))
			for i := f.ChainSize - 1; i >= 0; i-- {
				chain = append(chain, c.edge.agentID(f.Chain[i].Slot))
			}
			m.texts("chain", chain)
		}
		if f.Fleet != nil {
			id := c.edge.fleetID(f.Fleet.Slot)
			m.text("fleetId", id)
			s.filters = append(s.filters, engine.FilterKey(engine.FilterFleet, id))
		}
	} else if s.agent.kind == kindAgent {
		m.text("agentId", c.edge.agentID(engine.AgentSlot(s.agent.slot))) // The signature was good.
	}
	if s.user.kind == kindUser {
		id := c.edge.userID(engine.UserSlot(s.user.slot))
		m.text("userId", id)
		s.filters = append(s.filters, engine.FilterKey(engine.FilterAgent, id))
	}
	if wallet := engine.CanonicalWallet(s.request.Wallet); wallet != "" {
		s.filters = append(s.filters, engine.FilterKey(engine.FilterWallet, wallet))
	}
	if name := ofac.NormaliseName(s.request.Name); name != "" {
		s.filters = append(s.filters, engine.FilterKey(engine.FilterName, name))
	}
}

// requestMembers are the members of the request that the record shows always
// (specification 2.3), requestExtras those it shows when they were sent.
var (
	requestMembers = [...]string{"amount", "chain", "cpWallet", "cpName", "rail"}
	requestExtras  = [...]string{"cpType", "protocol", "underlyingModel", "model", "travelRuleRef"}
)

// writeRequest copies the literals of the request as they were sent. The token
// is not among them: it is never stored (statement T123).
func (c *call) writeRequest(m *members) {
	m.name("_request")
	*m = append(*m, '{')
	for i, name := range requestMembers {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = append(append(append(*m, '"'), name...), '"', ':')
		if raw := c.gate.raw(name); raw != nil {
			*m = append(*m, raw...)
		} else {
			*m = append(*m, "null"...)
		}
	}
	for _, name := range requestExtras {
		if raw := c.gate.raw(name); raw != nil {
			*m = append(append(append(*m, ',', '"'), name...), '"', ':')
			*m = append(*m, raw...)
		}
	}
	*m = append(*m, '}')
}

// writeMatches is the evidence of the list: what matched whom, how well.
func (c *call) writeMatches(m *members, list *ofac.Index) {
	f := &c.screen.facts
	if f.Token != engine.TokenGood {
		return
	}
	var items []members
	size := 0
	add := func(item members) {
		if size += len(item); size <= matchesBytesMax {
			items = append(items, item)
		}
	}
	if f.OperatorListed {
		add(walletEvidence("operator", &f.OperatorWallet, list))
	}
	if f.PartyListed {
		add(walletEvidence("counterparty", &f.PartyWallet, list))
	}
	truncated := false
	for _, party := range []struct {
		name   string
		result *ofac.Result
	}{{"operator", &f.OperatorName}, {"user", &f.UserName}, {"counterparty", &f.PartyName}} {
		truncated = truncated || party.result.Truncated
		for i := range party.result.Matches {
			add(nameEvidence(party.name, &party.result.Matches[i], list))
		}
	}
	if len(items) > 0 {
		m.list("matches", items)
	}
	if truncated || size > matchesBytesMax {
		m.bool("matchesTruncated", true)
	}
}

func walletEvidence(party string, match *ofac.WalletMatch, list *ofac.Index) members {
	var m members
	m.text("party", party)
	m.text("list", listName(match.Lists))
	m.text("uid", strconv.FormatUint(uint64(match.UID), 10))
	if entry, ok := list.Entry(match.UID); ok {
		m.text("name", entry.Primary)
		m.texts("programs", entry.Programs)
	}
	m.text("wallet", match.Address)
	m.text("ticker", match.Ticker)
	m.text("outcome", ofac.Listed.String())
	return m
}

func nameEvidence(party string, match *ofac.Match, list *ofac.Index) members {
	var m members
	m.text("party", party)
	m.text("list", listName(match.Lists))
	m.text("uid", strconv.FormatUint(uint64(match.UID), 10))
	m.text("type", match.Type.String())
	m.text("name", match.Name)
	m.text("alias", match.Alias)
	m.text("quality", match.Quality)
	m.text("form", match.Form)
	m.score("score", match.Score)
	m.score("strict", match.Strict)
	m.text("outcome", match.Outcome.String())
	if match.Sub != 0 {
		m.text("why", match.Sub.String())
	}
	if entry, ok := list.Entry(match.UID); ok {
		m.texts("programs", entry.Programs)
	}
	return m
}

// score adds a score of 1e-4 units as a decimal: 9312 is 0.9312.
func (m *members) score(name string, score int32) {
	m.raw(name, engine.AppendUSD(nil, engine.USD(score)*(engine.Dollar/10_000)))
}

func listName(lists ofac.Lists) string {
	if lists&ofac.ListSDN != 0 {
		return "SDN"
	}
	return "CONS"
}

func encodeInputs(v any) string { return base64.StdEncoding.EncodeToString(wire.Encode(v)) }
