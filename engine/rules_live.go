package engine

// The live rules judge in the log what can change, on rows and log time alone. Every function
// here runs in Apply, so it allocates nothing and formats nothing. What it computes changes
// only together with RuleSet.

// The numbers of the live rules; the static rules have the others. No number is given to a
// second rule.
const (
	RuleCredentialStatus RuleID = 2
	RuleOwnership        RuleID = 8
	RuleDailyLimit       RuleID = 11
	RuleFleetLimit       RuleID = 12
	RuleVelocity         RuleID = 16
	RuleHours            RuleID = 17
	RuleAttestation      RuleID = 22
	RuleStructuring      RuleID = 25
)

// Only the sub-reasons that code outside the rules uses have names.
const (
	SubRevoked        Sub = 1
	SubExpired        Sub = 2
	SubSuspended      Sub = 3
	SubSuperseded     Sub = 4
	SubKeyRevoked     Sub = 5
	SubParentRevoked  Sub = 6
	SubParentExpired  Sub = 7
	SubParentSuspend  Sub = 8
	SubOperator       Sub = 9
	SubUserRevoked    Sub = 10
	SubUserExpired    Sub = 11
	SubUserSuspended  Sub = 12
	SubUserSuperseded Sub = 13

	subOperatorLimit Sub = 5 // The last sub-reason of R11, after the four levels.

	SubUnproven Sub = 3 // A sub-reason of R22, which the edge finds: the call has no proof of the agent's key.

	SubDuplicate Sub = 2 // A sub-reason of R25: duplicate_reference.
	subNearSum   Sub = 3 // The first of four of R25: sum and number, of the agent and of the operator.
)

// liveJudges judges the live rules, and says of each what people read. A row is never edited in
// what it judges, because that is the meaning of old entries: see rulesByFormat.
var liveJudges = map[RuleID]judge{
	RuleCredentialStatus: {Live: credentialStatus, ComparedLive: compareStatus,
		Trigger: "The effective status is REVOKED, EXPIRED or SUSPENDED: the worst of the credential, its version, every parent, the operator and the user credential.",
		Default: "on, final", Params: "none"},
	RuleOwnership: {Live: ownershipTransferred, ComparedLive: compareOwnership,
		Trigger: "An ownership transfer is flagged and in effect, on the agent or on a parent.",
		Default: "on", Params: "none"},
	RuleDailyLimit: {Live: dailyLimit, ComparedLive: compareDailyLimit,
		Trigger: "The amount and what was spent or is held on that UTC day come to more than the daily limit of the agent, of a parent or of the operator, over all its agents; the limit itself passes.",
		Default: "on when a policy says so", Params: "dailyLimitUSDC of agents and of operators, operators.dailyLimitUSDC; mode"},
	RuleFleetLimit: {Live: fleetLimit, ComparedLive: compareFleetLimit,
		Trigger: "The amount and what the fleet spent or holds on that UTC day come to more than its daily limit; the limit itself passes.",
		Default: "on for members of a fleet", Params: "dailyLimitUSDC of the fleet; mode"},
	RuleVelocity: {Live: velocityExceeded, ComparedLive: compareVelocity,
		Trigger: "More screened payments in the last 60 seconds, or in the last hour, than the velocity setting allows; or, with 24 hours of history, more than 100 in the minute and more than the burst factor times the mean. A delegate's payments count for its root agent as well.",
		Default: "maxPerMinute 1,000; burstFactor 20", Params: "velocity of agent, fleet, institution (the strictest holds); mode"},
	RuleHours: {Live: unusualHour,
		Trigger: "Log time is outside the operating hours of agent, parent, fleet or institution.",
		Default: "on when hours are set", Params: "operatingHours; mode"},
	RuleAttestation: {Live: attestationStale, ComparedLive: compareAttestation,
		Trigger: "The agent is autonomous, its last attestation is 24 hours old or older or there is none, and the amount is above the attestation threshold. Or the call does not prove that it has the agent's key, and the policy, the agent or an ancestor wants such calls reviewed.",
		Default: "on, above 10,000 USD; never attested is stale; no proof is wanted", Params: "attestation.above (may only be lowered), attestation.issuanceCounts; mode; possession (review), apart from the mode"},
	RuleStructuring: {Live: structuringSuspected, ComparedLive: compareStructuring,
		Trigger: "Several screened payments of one root agent to one counterparty within the window, as many as the policy counts, each just below the reporting threshold; or, to any counterparties in 24 hours, payments of one root agent or of one operator that stand just below a limit of the policy, twice as many (an operator: ten times as many), or as large a sum of them in the band; or the payment reference is that of a PROCEED or an open hold of the same owner of the last 30 days.",
		Default: "5 in 24 h in [9,000, 10,000); a paymentRef once", Params: "structuring.count, low, high, window; mode; paymentRef.once (review or off, apart from the mode)"},
}

// credentialStatus is R2. It returns the first reason that it finds: in the agent's own
// credential, then in its parents from the nearest on, in the operator, and in the user
// credential.
func credentialStatus(m *Moment) Sub {
	if first, _ := m.chainStatus(); first != 0 {
		return first
	}
	return m.userStatus()
}

func compareStatus(m *Moment) []Compared {
	all := []Compared{{"tokenVersion", int(m.Version)}, {"tokenExpires", m.Expires}}
	if m.LevelCount == 0 {
		return all
	}
	return append([]Compared{{"credentialStatus", EffectiveStatus(m).String()}}, all...)
}

// EffectiveStatus is the worst status of the chain: the credential itself, the key
// that signed it, its ancestors, its operator. It is the credentialStatus of a
// record, of GET and of listings. It differs from Active exactly when R2 fires for a reason
// other than the user credential. For an agent without a token, Version and Expires are
// those of its current credential.
func EffectiveStatus(m *Moment) Status {
	_, worst := m.chainStatus()
	return worst
}

// chainStatus walks the chain once. It returns the first sub-reason of R2 (0 for none) and the
// worst status in the chain.
func (m *Moment) chainStatus() (first Sub, worst Status) {
	first = m.ownStatus()
	switch first {
	case SubRevoked, SubSuperseded, SubKeyRevoked:
		worst = Revoked
	case SubSuspended:
		worst = Suspended
	case SubExpired:
		worst = Expired
	}
	for i := 1; i < m.LevelCount; i++ {
		parent := &m.Levels[i]
		status := CredentialStatus(parent.Row.Status, parent.Profile.ExpiresAt, m.Now, parent.KeyRevoked)
		worst = worseStatus(worst, status)
		if first == 0 {
			first = [...]Sub{Active: 0, Revoked: SubParentRevoked, Suspended: SubParentSuspend, Expired: SubParentExpired}[status]
		}
	}
	if m.Operator != nil && m.Operator.Suspended {
		worst = worseStatus(worst, Suspended)
		if first == 0 {
			first = SubOperator
		}
	}
	return first, worst
}

// ownStatus judges the credential itself.
func (m *Moment) ownStatus() Sub {
	if m.LevelCount == 0 {
		return 0
	}
	own := m.Levels[0]
	switch status := CredentialStatus(own.Row.Status, m.Expires, m.Now, m.KeyRevoked); {
	case status == Revoked && own.Row.Status != Revoked:
		return SubKeyRevoked
	case status == Revoked:
		return SubRevoked
	case Superseded(m.Version, own.Row.MinVersion, own.Profile.CredentialVersion, own.Row.OverlapUntil, m.Now):
		return SubSuperseded
	case status == Suspended:
		return SubSuspended
	case status == Expired:
		return SubExpired
	}
	return 0
}

// CredentialStatus returns the status of one credential from its stored status, its expiry and
// its signing key. It ignores the chain and the operator. Revocation goes before suspension and
// suspension before expiry: a revocation can never be cured, an expiry can be cured by a
// renewal.
func CredentialStatus(stored Status, expires, now Time, keyRevoked bool) Status {
	switch {
	case keyRevoked:
		return Revoked
	case stored == Active && now >= expires:
		return Expired
	}
	return stored
}

// Superseded reports whether a credential version is no longer good. That is so for a version
// below the least good one, and, after the overlap of a plain renewal, for one below the
// current one. A version above the current one was never issued here, so it is not good either.
func Superseded(version, least, current uint16, overlapUntil, now Time) bool {
	return version < least || version > current || (version < current && now >= overlapUntil)
}

func (m *Moment) userStatus() Sub {
	if m.User == nil {
		return 0
	}
	status := CredentialStatus(m.User.Status, m.UserExpires, m.Now, false)
	switch {
	case status == Revoked:
		return SubUserRevoked
	case Superseded(m.UserVersion, m.User.MinVersion, m.UserCurrent, m.User.OverlapUntil, m.Now):
		return SubUserSuperseded
	case status == Suspended:
		return SubUserSuspended
	case status == Expired || m.User.Purged:
		return SubUserExpired
	}
	return 0
}

// worseStatus orders statuses by how hard they are to cure: REVOKED, SUSPENDED, EXPIRED.
func worseStatus(a, b Status) Status {
	rank := [...]uint8{Active: 0, Expired: 1, Suspended: 2, Revoked: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// ownershipTransferred is R8.
func ownershipTransferred(m *Moment) Sub {
	for i := 0; i < m.LevelCount; i++ {
		if from := m.Levels[i].Row.OwnershipFrom; from != 0 && m.Now >= from {
			return Sub(min(i, 1)) + 1
		}
	}
	return 0
}

func compareOwnership(m *Moment) []Compared {
	if m.LevelCount == 0 || m.Levels[0].Row.OwnershipFrom == 0 {
		return nil
	}
	return []Compared{{"flaggedFrom", m.Levels[0].Row.OwnershipFrom}}
}

// added returns what the payment adds to the counters.
func (m *Moment) added() USD {
	if m.Counted {
		return 0
	}
	return m.Amount
}

// dailyLimit is R11. It checks the counters of the UTC day of the agent, of every ancestor and of
// the agent's operator.
func dailyLimit(m *Moment) Sub {
	day := m.Now.Day()
	for i := 0; i < m.LevelCount; i++ {
		level := &m.Levels[i]
		if level.Row.Spend.Counted(day).Plus(m.added()).Exceeds(level.Profile.Policy.DailyLimit) {
			return atLevel(i)
		}
	}
	if m.Owner != nil && m.Owner.Counted(day).Plus(m.added()).Exceeds(m.Policy.LimitOf(m.OwnerLimit)) {
		return subOperatorLimit
	}
	return 0
}

func compareDailyLimit(m *Moment) []Compared {
	day, levels := m.Now.Day(), make([][]Compared, m.LevelCount)
	for i := range levels {
		level := &m.Levels[i]
		levels[i] = []Compared{{"level", i}, {"spentUSDC", level.Row.Spend.SpentOn(day)}, {"heldUSDC", level.Row.Spend.HeldOn(day)}, {"dailyLimitUSDC", nil}}
		if limit := level.Profile.Policy.DailyLimit; limit != NoLimit {
			levels[i][3].Value = limit
		}
	}
	all := []Compared{{"amount", m.Amount}, {"levels", levels}}
	if m.Owner == nil {
		return all
	}
	if limit := m.Policy.LimitOf(m.OwnerLimit); limit != NoLimit {
		all = append(all, Compared{"operator", []Compared{
			{"spentUSDC", m.Owner.SpentOn(day)}, {"heldUSDC", m.Owner.HeldOn(day)}, {"dailyLimitUSDC", limit},
		}})
	}
	return all
}

// fleetLimit is R12.
func fleetLimit(m *Moment) Sub {
	if m.Fleet == nil || !m.Fleet.Spend.Counted(m.Now.Day()).Plus(m.added()).Exceeds(m.FleetLimit) {
		return 0
	}
	return 1
}

func compareFleetLimit(m *Moment) []Compared {
	if m.Fleet == nil {
		return nil
	}
	day, spend := m.Now.Day(), &m.Fleet.Spend
	return []Compared{{"spentUSDC", spend.SpentOn(day)}, {"heldUSDC", spend.HeldOn(day)}, {"amount", m.Amount}, {"dailyLimitUSDC", m.FleetLimit}}
}

// velocityExceeded is R16. It compares the agent's own count with the strictest setting of
// agent, ancestors, fleet and institution, and then the count of the root agent, which includes
// all its delegates, with the root's.
func velocityExceeded(m *Moment) Sub {
	limit := m.Policy.Velocity
	limit.Tighten(m.FleetPace)
	tree := limit
	for i := 0; i < m.LevelCount; i++ {
		limit.Tighten(m.Levels[i].Profile.Settings.Velocity)
	}
	own := Pace{Minute: m.Minute, PerHour: m.PerHour, DayMeanX100: m.DayMeanX100}
	if sub := limit.exceededBy(&own); sub != 0 || m.Root == nil || m.LevelCount == 0 {
		return sub
	}
	tree.Tighten(m.Levels[m.LevelCount-1].Profile.Settings.Velocity)
	if sub := tree.exceededBy(m.Root); sub != 0 {
		return sub + 3
	}
	return 0
}

// exceededBy returns which bound a pace exceeds; 0: none.
func (v *Velocity) exceededBy(pace *Pace) Sub {
	switch {
	case v.MaxPerMinute != 0 && pace.Minute > v.MaxPerMinute:
		return 1
	case v.MaxPerHour != 0 && pace.PerHour > v.MaxPerHour:
		return 2
	case v.BurstFactor != 0 && pace.DayMeanX100 != 0 && pace.Minute > velocityBurstMin &&
		uint64(pace.Minute)*100 > uint64(v.BurstFactor)*uint64(pace.DayMeanX100):
		return 3
	}
	return 0
}

func compareVelocity(m *Moment) []Compared {
	all := []Compared{{"lastMinute", int(m.Minute)}, {"lastHour", int(m.PerHour)}, {"maxPerMinute", int(m.Policy.Velocity.MaxPerMinute)}}
	if m.Root != nil {
		all = append(all, Compared{"rootLastMinute", int(m.Root.Minute)}, Compared{"rootLastHour", int(m.Root.PerHour)})
	}
	return all
}

// unusualHour is R17. It fires outside the intersection of all hours that are set.
func unusualHour(m *Moment) Sub {
	for i := 0; i < m.LevelCount; i++ {
		if hours := m.Levels[i].Profile.Settings.Hours; hours != nil && !hours.Open(m.Now) {
			return Sub(min(i, 1)) + 1
		}
	}
	if m.FleetHours != nil && !m.FleetHours.Open(m.Now) {
		return 3
	}
	if m.Policy.Hours != nil && !m.Policy.Hours.Open(m.Now) {
		return 4
	}
	return 0
}

// attestationPeriod belongs to R22 of every rule set so far, because Apply judges old formats
// with it, too: another period needs a rule of its own and not another constant.
const attestationPeriod = 24 * Hour

// attestationStale is R22. An agent that was never attested is stale (decision 30, no. 5),
// unless the institution counts the first issuance as an attestation. A re-issue never counts,
// because an ownership transfer demands a new attestation.
func attestationStale(m *Moment) Sub {
	if m.LevelCount == 0 || m.Amount <= m.Policy.AttestationAbove {
		return 0
	}
	own := &m.Levels[0]
	if own.Profile.Type != Autonomous {
		return 0
	}
	since := own.Row.AttestedAt
	if since == 0 && m.Policy.IssuanceAttests && own.Profile.CredentialVersion <= 1 {
		since = own.Profile.IssuedAt
	}
	switch {
	case since == 0:
		return 1
	case m.Now-since >= attestationPeriod:
		return 2
	}
	return 0
}

func compareAttestation(m *Moment) []Compared {
	compared := []Compared{{"above", m.Policy.AttestationAbove}, {"attestedAt", nil}}
	if m.LevelCount > 0 && m.Levels[0].Row.AttestedAt != 0 {
		compared[1].Value = m.Levels[0].Row.AttestedAt
	}
	return compared
}

// structuringSuspected is R25. The rule also fires if the payment reference was used before. The
// rule's mode does not switch that off; paymentRef.once does. The reference is the reason only if
// the amounts have no effect.
func structuringSuspected(m *Moment) Sub {
	amounts, mode := structuredAmounts(m), m.Policy.Modes[RuleStructuring]
	if m.Duplicate && !m.Policy.ReferenceOff && (amounts == 0 || mode == ModeOff || mode == ModeShadow) {
		return SubDuplicate
	}
	return amounts
}

// structuredAmounts judges the amounts that were paid to one counterparty, then those of the
// agent and of its operator to anybody.
func structuredAmounts(m *Moment) Sub {
	if m.Policy.StructuringCount == 0 {
		return 0
	}
	if m.Structuring >= m.Policy.StructuringCount && m.Policy.InBand(m.Amount) {
		return 1
	}
	if !m.Policy.NearLimit(m.Amount) {
		return 0
	}
	banded := m.Policy.InBand(m.Amount)
	for i, of := range [...]struct {
		near   *Near
		factor int64
	}{{&m.AgentNear, nearOfAgent}, {&m.OperatorNear, nearOfOperator}} {
		switch sum, count := of.near.exceeds(m.Policy, of.factor); {
		case banded && sum:
			return subNearSum + Sub(2*i)
		case count:
			return subNearSum + Sub(2*i) + 1
		}
	}
	return 0
}

func compareStructuring(m *Moment) []Compared {
	all := []Compared{{"count", int(m.Structuring)}, {"threshold", int(m.Policy.StructuringCount)}, {"duplicateReference", m.Duplicate}}
	if m.AgentNear.Count > 0 {
		all = append(all, Compared{"agentNearLimits", int(m.AgentNear.Count)}, Compared{"agentInBand", m.AgentNear.Sum},
			Compared{"operatorNearLimits", int(m.OperatorNear.Count)}, Compared{"operatorInBand", m.OperatorNear.Sum})
	}
	return all
}
