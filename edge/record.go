package edge

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"sync/atomic"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
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
	head           strictjson.Members // agentId, agentName, agentType, operatorLegalName.
	inputs         string             // See screen_inputs.go.
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
	card := &agentCard{profile: p, id: t.AgentID(p.Slot), operatorKey: OperatorKey(p.OperatorLegalName)}
	card.head.Text("agentId", card.id)
	card.head.Text("agentName", p.AgentName)
	card.head.Text("agentType", p.Type.String())
	card.head.Text("operatorLegalName", p.OperatorLegalName)
	card.inputs = encodeInputs(reduceAgent(p))
	card.agentFilter = engine.FilterKey(engine.FilterAgent, card.id)
	card.operatorFilter = engine.FilterKey(engine.FilterOperator, card.operatorKey)
	place.Store(card)
	return card
}

// buildRecord completes the record from facts and hits. The matches in facts
// are only good until the looker is used again, so this comes before.
func (j *Judge) buildRecord(list *ofac.Index) {
	s := &j.screen
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
	j.writeParties(m)
	m.Text("ofacSource", ListSource(j.Terms.Settings.List))
	digest := list.Digest()
	m.Hex("listDigest", digest[:])
	m.Text("mixerVersion", engine.MixerVersion())
	m.Text("tzVersion", engine.TZVersion)
	m.Text("version", j.shared.deps.Version)
	m.Optional("jti", s.agent.id)
	m.Optional("userJti", s.user.id)
	m.Text("keyId", j.call.Caller.ID)
	m.Text("node", j.shared.deps.Node)
	m.Text("requestId", j.call.RequestID)
	hash := sha256.Sum256(j.call.Body)
	m.Hex("requestHash", hash[:])
	m.Optional("idempotencyKeyHash", j.call.IdemHash)
	j.writeMatches(m, list)
	j.writeInputs(m)
	j.writeRequest(m)
	s.record.Fragment, s.record.Filters = s.fragment, s.filters
}

// ListSource is the word of the API for where a list came from.
func ListSource(info *wire.ListInfo) string {
	if info.Sample {
		return "kv:sample"
	}
	return "kv:live"
}

// writeParties names the agent, its operator, chain, fleet and user, and makes
// the filter keys the record can be found by.
func (j *Judge) writeParties(m *strictjson.Members) {
	s := &j.screen
	f := &s.facts
	if f.Token == engine.TokenGood && f.ChainSize > 0 {
		card := j.Terms.card(j.shared.cards, f.Chain[0])
		m.Join(card.head)
		s.filters = append(s.filters, card.agentFilter, card.operatorFilter)
		if f.ChainSize > 1 {
			chain := make([]string, 0, len(f.Chain))
			for i := f.ChainSize - 1; i >= 0; i-- {
				chain = append(chain, j.Terms.AgentID(f.Chain[i].Slot))
			}
			m.Texts("chain", chain)
		}
		if f.Fleet != nil {
			id := j.Terms.FleetID(f.Fleet.Slot)
			m.Text("fleetId", id)
			s.filters = append(s.filters, engine.FilterKey(engine.FilterFleet, id))
		}
	} else if s.agent.kind == kindAgent {
		m.Text("agentId", j.Terms.AgentID(engine.AgentSlot(s.agent.slot))) // The signature was good.
	}
	if s.user.kind == kindUser {
		id := j.Terms.UserID(engine.UserSlot(s.user.slot))
		m.Text("userId", id)
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
func (j *Judge) writeRequest(m *strictjson.Members) {
	m.Name("_request")
	*m = append(*m, '{')
	for i, name := range requestMembers {
		if i > 0 {
			*m = append(*m, ',')
		}
		*m = append(append(append(*m, '"'), name...), '"', ':')
		if raw := j.call.Document.Raw(name); raw != nil {
			*m = append(*m, raw...)
		} else {
			*m = append(*m, "null"...)
		}
	}
	for _, name := range requestExtras {
		if raw := j.call.Document.Raw(name); raw != nil {
			*m = append(append(append(*m, ',', '"'), name...), '"', ':')
			*m = append(*m, raw...)
		}
	}
	*m = append(*m, '}')
}

// writeMatches is the evidence of the list: what matched whom, how well.
func (j *Judge) writeMatches(m *strictjson.Members, list *ofac.Index) {
	f := &j.screen.facts
	if f.Token != engine.TokenGood {
		return
	}
	var items []strictjson.Members
	size := 0
	add := func(item strictjson.Members) {
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
		m.List("matches", items)
	}
	if truncated || size > matchesBytesMax {
		m.Bool("matchesTruncated", true)
	}
}

func walletEvidence(party string, match *ofac.WalletMatch, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("party", party)
	m.Text("list", ListName(match.Lists))
	m.Text("uid", strconv.FormatUint(uint64(match.UID), 10))
	if entry, ok := list.Entry(match.UID); ok {
		m.Text("name", entry.Primary)
		m.Texts("programs", entry.Programs)
	}
	m.Text("wallet", match.Address)
	m.Text("ticker", match.Ticker)
	m.Text("outcome", ofac.Listed.String())
	return m
}

func nameEvidence(party string, match *ofac.Match, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("party", party)
	m.Text("list", ListName(match.Lists))
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

// ListName is the list an entry is shown under.
func ListName(lists ofac.Lists) string {
	if lists&ofac.ListSDN != 0 {
		return "SDN"
	}
	return "CONS"
}

func encodeInputs(v any) string { return base64.StdEncoding.EncodeToString(wire.Encode(v)) }

// SnapshotID is the id under which people know a list.
func SnapshotID(digest [32]byte) string { return ofac.SnapshotID(digest) }

// CurrentModel is the model reported last, else the one at issuance.
func CurrentModel(p *engine.AgentProfile) string {
	if p.Settings.CurrentModel != "" {
		return p.Settings.CurrentModel
	}
	return p.Model
}
