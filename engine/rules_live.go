package engine

// The live rules judge in the log what can change, on rows and log time alone. Every function
// here runs in Apply, so it allocates nothing and formats nothing. What it computes changes
// only together with RuleSet.

// credentialStatus is R2. It returns the first reason that it finds: in the agent's own
// credential, then in its parents from the nearest on, in the operator, and in the user
// credential.
func credentialStatus(m *Moment) Sub {
	if first, _ := m.chainStatus(); first != 0 {
		return first
	}
	return m.userStatus()
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

// dailyLimit is R11. It checks the counters of the UTC day of the agent and of every ancestor.
func dailyLimit(m *Moment) Sub {
	day := m.Now.Day()
	for i := 0; i < m.LevelCount; i++ {
		level := &m.Levels[i]
		if level.Row.Spend.Counted(day).Plus(m.Amount).Exceeds(level.Profile.Policy.DailyLimit) {
			return atLevel(i)
		}
	}
	return 0
}

// fleetLimit is R12.
func fleetLimit(m *Moment) Sub {
	if m.Fleet == nil || !m.Fleet.Spend.Counted(m.Now.Day()).Plus(m.Amount).Exceeds(m.FleetLimit) {
		return 0
	}
	return 1
}

// velocityExceeded is R16. It compares the agent's own count with the strictest setting of
// agent, ancestors, fleet and institution.
func velocityExceeded(m *Moment) Sub {
	limit := m.Policy.Velocity
	for i := 0; i < m.LevelCount; i++ {
		limit.Tighten(m.Levels[i].Profile.Settings.Velocity)
	}
	limit.Tighten(m.FleetPace)
	switch {
	case limit.MaxPerMinute != 0 && m.Minute > limit.MaxPerMinute:
		return 1
	case limit.MaxPerHour != 0 && m.PerHour > limit.MaxPerHour:
		return 2
	case limit.BurstFactor != 0 && m.DayMeanX100 != 0 && m.Minute > velocityBurstMin &&
		uint64(m.Minute)*100 > uint64(limit.BurstFactor)*uint64(m.DayMeanX100):
		return 3
	}
	return 0
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

// structuringSuspected is R25. The rule also fires if the payment reference was used before. The
// rule's mode does not switch that off; paymentRef.once does. The reference is the reason only if
// the amount band has no effect.
func structuringSuspected(m *Moment) Sub {
	banded := m.Policy.StructuringCount != 0 && m.Structuring >= m.Policy.StructuringCount && m.Policy.InBand(m.Amount)
	mode := m.Policy.Modes[RuleStructuring]
	switch {
	case banded && (mode == ModeReview || mode == ModeBlock):
		return 1
	case m.Duplicate && !m.Policy.ReferenceOff:
		return SubDuplicate
	case banded:
		return 1
	}
	return 0
}
