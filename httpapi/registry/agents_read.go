package registry

import (
	"net/http"

	"railguard/edge"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// getAgent is GET /v1/agents/{id}: credential, status, effective policy, today's
// spend, attestation, fleet, delegation chain, current model.
func getAgent(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	chain := viewChain(view, profile.Slot)
	if chain == nil {
		return border.Answer{}, border.NotFound("no such agent")
	}
	m := agentSummary(c, view, chain)
	if err := agentDetails(c, &m, view, chain); err != nil {
		return border.Answer{}, err
	}
	m.Uint("asOfIndex", view.Index)
	c.SetHeader("ETag", border.ETag(uint64(chain[0].Rev)))
	return c.Reply(http.StatusOK, m), nil
}

// viewChain returns an agent and its ancestors as a view has them, the agent first; nil
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

// agentSummary returns what a list shows of an agent.
func agentSummary(c *border.Request, view *fsm.View, chain []*engine.AgentProfile) strictjson.Members {
	p := chain[0]
	row, _, _ := view.Agent(p.Slot)
	var m strictjson.Members
	m.Text("agentId", c.Judge.Terms.AgentID(p.Slot))
	m.Text("agentName", p.AgentName)
	m.Text("agentType", p.Type.String())
	m.Text("operatorLegalName", p.OperatorLegalName)
	m.Text("operatorId", c.Judge.OperatorID(p.Operator))
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
		m.Text("parentAgentId", c.Judge.Terms.AgentID(p.Parent))
	}
	m.Int("depth", int64(p.Depth))
	return m
}

func fleetText(c *border.Request, slot engine.FleetSlot) string {
	if slot == 0 {
		return ""
	}
	return c.Judge.Terms.FleetID(slot)
}

func agentDetails(c *border.Request, m *strictjson.Members, view *fsm.View, chain []*engine.AgentProfile) error {
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
	edge.WritePublicKey(m, p.PublicKey)
	m.Text("effectivePossession", view.Settings().Policy.EffectivePossession(c.Judge.OperatorID(p.Operator), chain).String())
	_, fleet, _ := view.Fleet(chain[len(chain)-1].Fleet)
	registry.WriteWarnings(m, edge.WriteEffectiveVelocity(m, p.Settings.Velocity, edge.VelocityOf(view.Settings().Policy, chain, fleet)...))
	var spend strictjson.Members
	spend.Text("date", dateText(view.Time.Day()))
	spend.USD("spentUSDC", row.Spend.SpentOn(view.Time.Day()))
	m.Object("spend", spend)
	m.Object("attestation", attestationState(view, p, &row))
	m.Object("ownershipTransfer", ownershipMembers(view.Time, &row))
	m.Texts("chain", c.Judge.Terms.AncestorIDs(chain))
	current := c.Judge.Terms.ProfileCredential(chain)
	if !c.Key.May(wire.RoleOperator) {
		m.Raw("credential", current.AppendJSON(nil)) // Only callers that may register see the token.
		return nil
	}
	return c.Judge.Terms.WriteCredential(m, current, p.KeyID)
}

func operatorStatus(view *fsm.View, slot engine.OperatorSlot) engine.Status {
	if row, _, known := view.Operator(slot); known && row.Suspended {
		return engine.Suspended
	}
	return engine.Active
}

func dateText(day engine.Day) string { return string(day.AppendDate(nil)) }

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
func listAgents(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("agents")
	if err != nil {
		return border.Answer{}, err
	}
	wanted, err := readAgentFilter(c)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	var items []strictjson.Members
	next := p.Scan(uint64(view.AgentSlots()), func(row uint64) bool {
		chain := viewChain(view, engine.AgentSlot(row))
		if chain == nil || !wanted(view, chain) {
			return false
		}
		items = append(items, agentSummary(c, view, chain))
		return true
	})
	return c.AnswerList(items, next)
}

// readAgentFilter makes a filter from the query of a list of agents. It includes the key's
// scope.
func readAgentFilter(c *border.Request) (func(*fsm.View, []*engine.AgentProfile) bool, error) {
	operator, err := c.OperatorQuery()
	if err != nil {
		return nil, err
	}
	status, kind := c.Query("status"), engine.AgentType(0)
	if status != "" && statusByName(status) < 0 {
		return nil, border.BadQuery("status", "must be ACTIVE, SUSPENDED, REVOKED or EXPIRED")
	}
	if text := c.Query("type"); text != "" {
		var known bool
		if kind, known = engine.ParseAgentType(text); !known {
			return nil, border.BadQuery("type", "must be autonomous or supervised")
		}
	}
	var fleet engine.FleetSlot
	if text := c.Query("fleetId"); text != "" {
		if _, sound := c.Judge.Terms.ParseFleet(text); !sound {
			return nil, border.BadQuery("fleetId", "must be a fleet's id")
		}
		profile, err := c.Judge.KnownFleet(text)
		if err != nil {
			return nil, err
		}
		fleet = profile.Slot
	}
	return func(view *fsm.View, chain []*engine.AgentProfile) bool {
		p := chain[0]
		if !c.Judge.Covers(p.Operator) || operator != nil && p.Operator != operator.Slot {
			return false
		}
		return (kind == 0 || p.Type == kind) && (fleet == 0 || chain[len(chain)-1].Fleet == fleet) &&
			(status == "" || view.Effective(p.Slot) == engine.Status(statusByName(status)))
	}, nil
}

// statusByName returns the number of a status, or -1.
func statusByName(word string) int {
	for _, status := range []engine.Status{engine.Active, engine.Suspended, engine.Revoked, engine.Expired} {
		if word == status.String() {
			return int(status)
		}
	}
	return -1
}

// getLimits is GET /v1/agents/{id}/limits (decision 47, "Remaining").
func getLimits(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	chain := viewChain(view, profile.Slot)
	if chain == nil {
		return border.Answer{}, border.NotFound("no such agent")
	}
	today := view.Time.Day()
	available := engine.NoLimit
	var m strictjson.Members
	m.Text("agentId", c.Judge.Terms.AgentID(profile.Slot))
	m.Text("date", dateText(today))
	row, _, _ := view.Agent(profile.Slot)
	writeBudget(&m, chain[0].Policy.DailyLimit, &row.Spend, today, &available)
	effective := engine.EffectivePolicy(chain)
	m.Limit("maxSingleTxUSDC", effective.MaxSingle)
	ancestors := []strictjson.Members{}
	for _, ancestor := range chain[1:] {
		row, _, _ := view.Agent(ancestor.Slot)
		var level strictjson.Members
		level.Text("agentId", c.Judge.Terms.AgentID(ancestor.Slot))
		writeBudget(&level, ancestor.Policy.DailyLimit, &row.Spend, today, &available)
		ancestors = append(ancestors, level)
	}
	if fleet := chain[len(chain)-1].Fleet; fleet != 0 {
		row, named, _ := view.Fleet(fleet)
		var envelope strictjson.Members
		envelope.Text("fleetId", c.Judge.Terms.FleetID(fleet))
		writeBudget(&envelope, named.DailyLimit, &row.Spend, today, &available)
		m.Object("fleet", envelope)
	} else {
		m.Null("fleet")
	}
	operator, named, _ := view.Operator(profile.Operator)
	var envelope strictjson.Members
	envelope.Text("operatorId", c.Judge.OperatorID(profile.Operator))
	writeBudget(&envelope, view.Settings().Policy.LimitOf(named.DailyLimit), &operator.Spend, today, &available)
	m.Object("operator", envelope)
	m.List("ancestors", ancestors)
	m.Limit("availableUSDC", available)
	m.Uint("asOfIndex", view.Index)
	return c.Reply(http.StatusOK, m), nil
}

// writeBudget writes one level's daily limit and its remainder; held amounts count as
// spent. available becomes the smallest remainder of all levels.
func writeBudget(m *strictjson.Members, limit engine.USD, spend *engine.Spend, today engine.Day, available *engine.USD) {
	m.Limit("dailyLimitUSDC", limit)
	m.USD("spentUSDC", spend.SpentOn(today))
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
