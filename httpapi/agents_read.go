package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// getAgent is GET /v1/agents/{id}: credential, status, effective policy, today's
// spend, attestation, fleet, delegation chain, current model.
func getAgent(c *call) (Answer, error) {
	profile, err := c.pathAgent()
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	chain := viewChain(view, profile.Slot)
	if chain == nil {
		return Answer{}, notFound("no such agent")
	}
	m := agentSummary(c, view, chain)
	if err := agentDetails(c, &m, view, chain); err != nil {
		return Answer{}, err
	}
	m.Uint("asOfIndex", view.Index)
	c.header("ETag", etag(uint64(chain[0].Rev)))
	return c.reply(http.StatusOK, m), nil
}

// viewChain is an agent and its ancestors as a view has them, own first; nil
// when there is no such agent.
func viewChain(view *fsm.View, slot engine.AgentSlot) []*engine.AgentProfile {
	var chain []*engine.AgentProfile
	for slot != 0 && len(chain) <= engine.DepthMax {
		_, profile, known := view.Agent(slot)
		if !known {
			return nil
		}
		chain = append(chain, profile)
		slot = profile.Parent
	}
	return chain
}

// agentSummary is what a list shows of an agent.
func agentSummary(c *call, view *fsm.View, chain []*engine.AgentProfile) strictjson.Members {
	p := chain[0]
	row, _, _ := view.Agent(p.Slot)
	var m strictjson.Members
	m.Text("agentId", c.judge.Terms.AgentID(p.Slot))
	m.Text("agentName", p.AgentName)
	m.Text("agentType", p.Type.String())
	m.Text("operatorLegalName", p.OperatorLegalName)
	m.Text("credentialStatus", view.Effective(p.Slot).String())
	own := engine.CredentialStatus(row.Status, p.ExpiresAt, view.Time, view.Settings().KeyRevoked(p.KeyID))
	m.Text("ownStatus", own.String())
	m.Time("statusChangedAt", row.StatusAt)
	m.Int("credentialVersion", int64(p.CredentialVersion))
	m.Time("issuedAt", p.IssuedAt)
	m.Time("expiresAt", p.ExpiresAt)
	m.Time("registeredAt", p.RegisteredAt)
	m.TextOrNull("fleetId", fleetText(c, chain[len(chain)-1].Fleet))
	if p.Parent == 0 {
		m.Null("parentAgentId")
	} else {
		m.Text("parentAgentId", c.judge.Terms.AgentID(p.Parent))
	}
	m.Int("depth", int64(p.Depth))
	return m
}

func fleetText(c *call, slot engine.FleetSlot) string {
	if slot == 0 {
		return ""
	}
	return c.judge.Terms.FleetID(slot)
}

func agentDetails(c *call, m *strictjson.Members, view *fsm.View, chain []*engine.AgentProfile) error {
	p := chain[0]
	row, _, _ := view.Agent(p.Slot)
	m.TextOrNull("agentFramework", p.AgentFramework)
	m.TextOrNull("operatorWallet", p.OperatorWallet)
	m.TextOrNull("operatorEIN", p.EINMasked)
	m.Text("operatorStatus", operatorStatus(view, p.Operator).String())
	m.TextOrNull("purpose", p.Purpose)
	m.Raw("metadata", p.Metadata)
	m.TextOrNull("underlyingModel", p.Model)
	m.TextOrNull("currentModel", edge.CurrentModel(p))
	m.Raw("spendPolicy", p.PolicyJSON)
	effective := engine.EffectivePolicy(chain)
	m.Raw("effectivePolicy", effective.AppendJSON(nil))
	edge.WriteSettings(m, &p.Settings)
	_, fleet, _ := view.Fleet(chain[len(chain)-1].Fleet)
	writeWarnings(m, edge.WriteEffectiveVelocity(m, p.Settings.Velocity, edge.VelocityOf(view.Settings().Policy, chain, fleet)...))
	var spend strictjson.Members
	spend.Text("date", dateText(view.Time.Day()))
	spend.USD("spentUSDC", row.Spend.On(view.Time.Day()))
	m.Object("spend", spend)
	m.Object("attestation", attestationState(view, p, &row))
	m.Object("ownershipTransfer", ownershipMembers(view.Time, &row))
	m.Texts("chain", c.judge.Terms.AncestorIDs(chain))
	current := c.judge.Terms.ProfileCredential(chain)
	if !c.key.May(wire.RoleOperator) {
		m.Raw("credential", current.AppendJSON(nil)) // The token is for those who register.
		return nil
	}
	return c.judge.Terms.WriteCredential(m, current, p.KeyID)
}

func operatorStatus(view *fsm.View, slot engine.OperatorSlot) engine.Status {
	if row, _, known := view.Operator(slot); known && row.Suspended {
		return engine.Suspended
	}
	return engine.Active
}

func dateText(day engine.Day) string { return string(day.AppendDate(nil)) }

func etag(version uint64) string {
	return `"` + uintText(version) + `"`
}

func ownershipMembers(now engine.Time, row *engine.AgentRow) strictjson.Members {
	var m strictjson.Members
	m.Bool("flagged", row.OwnershipFrom != 0)
	if row.OwnershipFrom != 0 {
		m.Time("flaggedAt", row.OwnershipAt)
		m.Time("effectiveAt", row.OwnershipFrom)
		m.Bool("effective", now >= row.OwnershipFrom)
	}
	return m
}

// listAgents is GET /v1/agents?operator=&status=&fleetId=&type=.
func listAgents(c *call) (Answer, error) {
	p, err := c.page("agents")
	if err != nil {
		return Answer{}, err
	}
	wanted, err := readAgentFilter(c)
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	var items []strictjson.Members
	next := p.scan(uint64(view.Agents()), func(row uint64) bool {
		chain := viewChain(view, engine.AgentSlot(row))
		if chain == nil || !wanted(view, chain) {
			return false
		}
		items = append(items, agentSummary(c, view, chain))
		return true
	})
	return c.list(items, next)
}

// readAgentFilter compiles the query of a list of agents. A key's scope is part of it.
func readAgentFilter(c *call) (func(*fsm.View, []*engine.AgentProfile) bool, error) {
	operator, err := c.normalised("operator", edge.OperatorKey)
	if err != nil {
		return nil, err
	}
	status, kind := c.query("status"), engine.AgentType(0)
	if status != "" && statusByName(status) < 0 {
		return nil, badQuery("status", "must be ACTIVE, SUSPENDED, REVOKED or EXPIRED")
	}
	if text := c.query("type"); text != "" {
		var known bool
		if kind, known = engine.ParseAgentType(text); !known {
			return nil, badQuery("type", "must be autonomous or supervised")
		}
	}
	var fleet engine.FleetSlot
	if text := c.query("fleetId"); text != "" {
		if _, sound := c.judge.Terms.ParseFleet(text); !sound {
			return nil, badQuery("fleetId", "must be a fleet's id")
		}
		profile, err := c.judge.KnownFleet(text)
		if err != nil {
			return nil, err
		}
		fleet = profile.Slot
	}
	scope := c.key.Operator
	return func(view *fsm.View, chain []*engine.AgentProfile) bool {
		p := chain[0]
		if _, named, known := view.Operator(p.Operator); !known ||
			scope != "" && named.Key != scope || operator != "" && named.Key != operator {
			return false
		}
		return (kind == 0 || p.Type == kind) && (fleet == 0 || chain[len(chain)-1].Fleet == fleet) &&
			(status == "" || view.Effective(p.Slot) == engine.Status(statusByName(status)))
	}, nil
}

// statusByName is the number of a status' word, -1 for none.
func statusByName(word string) int {
	for _, status := range []engine.Status{engine.Active, engine.Suspended, engine.Revoked, engine.Expired} {
		if strings.EqualFold(word, status.String()) {
			return int(status)
		}
	}
	return -1
}

// getLimits is GET /v1/agents/{id}/limits (decision 47, "Remaining").
func getLimits(c *call) (Answer, error) {
	profile, err := c.pathAgent()
	if err != nil {
		return Answer{}, err
	}
	view, err := c.judge.View()
	if err != nil {
		return Answer{}, err
	}
	chain := viewChain(view, profile.Slot)
	if chain == nil {
		return Answer{}, notFound("no such agent")
	}
	today := view.Time.Day()
	available := engine.NoLimit
	var m strictjson.Members
	m.Text("agentId", c.judge.Terms.AgentID(profile.Slot))
	m.Text("date", dateText(today))
	row, _, _ := view.Agent(profile.Slot)
	writeBudget(&m, chain[0].Policy.DailyLimit, &row.Spend, today, &available)
	effective := engine.EffectivePolicy(chain)
	m.Limit("maxSingleTxUSDC", effective.MaxSingle)
	ancestors := []strictjson.Members{}
	for _, ancestor := range chain[1:] {
		row, _, _ := view.Agent(ancestor.Slot)
		var level strictjson.Members
		level.Text("agentId", c.judge.Terms.AgentID(ancestor.Slot))
		writeBudget(&level, ancestor.Policy.DailyLimit, &row.Spend, today, &available)
		ancestors = append(ancestors, level)
	}
	if fleet := chain[len(chain)-1].Fleet; fleet != 0 {
		row, named, _ := view.Fleet(fleet)
		var envelope strictjson.Members
		envelope.Text("fleetId", c.judge.Terms.FleetID(fleet))
		writeBudget(&envelope, named.DailyLimit, &row.Spend, today, &available)
		m.Object("fleet", envelope)
	} else {
		m.Null("fleet")
	}
	m.List("ancestors", ancestors)
	m.Limit("availableUSDC", available)
	m.Uint("asOfIndex", view.Index)
	return c.reply(http.StatusOK, m), nil
}

// writeBudget writes one level's daily limit and what is left of it: held counts as spent
// does. available becomes the smallest remainder of all levels.
func writeBudget(m *strictjson.Members, limit engine.USD, spend *engine.Spend, today engine.Day, available *engine.USD) {
	m.Limit("dailyLimitUSDC", limit)
	m.USD("spentUSDC", spend.On(today))
	m.USD("heldUSDC", spend.HeldOn(today))
	if limit == engine.NoLimit {
		m.Null("remainingUSDC")
		return
	}
	remaining := max(limit-spend.Counted(today), 0)
	m.USD("remainingUSDC", remaining)
	if *available == engine.NoLimit || remaining < *available {
		*available = remaining
	}
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }
