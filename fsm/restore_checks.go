package fsm

import (
	"crypto/sha256"
	"errors"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Restore checks that Apply can follow every slot, position and pointer of a state without
// checking it again. The methods named fits look at one row and enter it into the private
// maps (declare.go).

var errPositions = errors.New("positions do not fit the leaves")

// enterOnce enters a row's position under its key, and reports whether no row had the key.
func enterOnce[K comparable](positions map[K]uint64, key K, at uint64) bool {
	known := len(positions)
	positions[key] = at
	return len(positions) > known
}

// checkLengths checks that every row of a party has a profile.
func (m *registry) checkLengths() error {
	if m.profiles.Len() != m.agents.Len() || m.attestations.Len() != m.agents.Len() ||
		m.fleetProfiles.Len() != m.fleets.Len() || m.operatorProfiles.Len() != m.operators.Len() {
		return errors.New("tables of different lengths")
	}
	return nil
}

// fitsAgent checks that every agent has a chain that ends at its root.
func (m *registry) fitsAgent(at uint64, row, _ **engine.AgentProfile) bool {
	p := *row
	if p == nil {
		return !isAgent(m.agents.At(at)) // Retired.
	}
	if uint64(p.Slot) != at || !isAgent(m.agents.At(at)) || !m.operators.Has(uint64(p.Operator)) || p.Fleet != 0 && !m.hasFleet(p.Fleet) {
		return false
	}
	m.take(wire.TableAgents, agentOwner(p), agentPart(p, *m.attestations.At(at)))
	if p.Parent == 0 {
		return p.Root == p.Slot && p.Depth == 0
	}
	if uint64(p.Parent) >= at || p.Fleet != 0 { // Parents come first, so their own chains have been checked.
		return false
	}
	parent := *m.profiles.At(uint64(p.Parent))
	return parent != nil && p.Depth == parent.Depth+1 && p.Depth <= m.limits.Depth && p.Root == parent.Root
}

// fitsAgentRow checks that every agent has a profile, and fitsFleetRow that every fleet has one.
func (m *registry) fitsAgentRow(at uint64, row, _ *engine.AgentRow) bool {
	return !isAgent(row) || m.profiles.Has(at) && *m.profiles.At(at) != nil
}

func (m *registry) fitsFleetRow(at uint64, row, _ *engine.FleetRow) bool {
	return !isFleet(row) || m.fleetProfiles.Has(at) && *m.fleetProfiles.At(at) != nil
}

// fitsActivity checks that a row belongs to one agent, and stores its position in the agent's
// row.
func (m *ledger) fitsActivity(at uint64, row, _ *activityRow) bool {
	if row.Velocity.Second <= 0 || !m.registry.hasAgent(row.Agent) {
		return false
	}
	if agent := m.registry.agents.At(uint64(row.Agent)); agent.Activity != 0 || agent.CountedFrom <= 0 {
		return false
	}
	m.registry.placeActivity(row.Agent, uint32(at))
	return true
}

func (m *ledger) checkActivitySweep() error {
	if m.activitySweep < m.activity.First() {
		return errors.New("activity sweep outside the rows")
	}
	return nil
}

// checkBands checks that the pairs of R25 form one chain, and finds its ends.
func (m *ledger) checkBands() error {
	broken := errors.New("structuring: broken chain")
	t := &m.structuring
	for i := t.First(); i < t.Next(); i++ {
		row := t.At(i)
		if row.Older == 0 {
			m.bandEnds.oldest = i
		} else if !t.Has(uint64(row.Older)) || uint64(t.At(uint64(row.Older)).Newer) != i {
			return broken
		}
		if row.Newer == 0 {
			m.bandEnds.newest = i
		} else if !t.Has(uint64(row.Newer)) || uint64(t.At(uint64(row.Newer)).Older) != i {
			return broken
		}
	}
	count := 0
	for at := m.bandEnds.oldest; at != 0 && count <= t.Len(); at = uint64(t.At(at).Newer) {
		m.structuringBy[t.At(at).Key] = at
		count++
	}
	if count != t.Len() || len(m.structuringBy) != count {
		return broken
	}
	return nil
}

// fitsUserRow checks that every user has a profile, and counts the users.
func (m *registry) fitsUserRow(at uint64, row, _ *engine.UserRow) bool {
	if !isUser(row) {
		return true
	}
	m.usersHeld++
	return row.MinVersion != 0 && m.userProfiles.Has(at) && isUserProfile(m.userProfiles.At(at))
}

// fitsUser checks that a profile has its own slot and a user's row, and names existing
// agents.
func (m *registry) fitsUser(at uint64, row, _ **engine.UserProfile) bool {
	p := *row
	if p == nil {
		return true // Erased.
	}
	if uint64(p.Slot) != at || !m.users.Has(at) || !isUser(m.users.At(at)) {
		return false
	}
	m.take(wire.TableUsers, Owner(p.Operator), userPart(p))
	for _, slot := range p.Agents {
		if !m.agents.Has(uint64(slot)) { // It may be retired.
			return false
		}
	}
	return true
}

func (m *registry) checkUserSweep() error {
	if m.users.First() != m.userProfiles.First() || m.userSweep < m.users.First() {
		return errors.New("user sweep outside the users")
	}
	return nil
}

func (m *registry) fitsFleet(at uint64, row, _ **engine.FleetProfile) bool {
	p := *row
	if p == nil {
		return !isFleet(m.fleets.At(at)) // Retired.
	}
	if uint64(p.Slot) != at || !isFleet(m.fleets.At(at)) || !m.operators.Has(uint64(p.Operator)) {
		return false
	}
	m.take(wire.TableFleets, Owner(p.Operator), fleetPart(p))
	return true
}

func (m *registry) fitsOperator(at uint64, row, _ **engine.OperatorProfile) bool {
	p := *row
	if p == nil || uint64(p.Slot) != at || p.Rev == 0 || p.DailyLimit != nil && *p.DailyLimit < 0 {
		return false
	}
	m.noteOperator(p)
	return true
}

// hasLeaf tells whether a leaf was written.
func (m *core) hasLeaf(at uint64) bool { return at < m.size }

// nextLeaf is the leaf that is written next.
func (m *core) nextLeaf() uint64 { return m.size }

func (m *core) fitsKey(at uint64, row, _ *idemRow) bool {
	return m.hasLeaf(row.Leaf) && row.Leaf >= m.keysFrom && enterOnce(m.idemByKey, row.Key, at)
}

// fitsDay checks that days and their first leaves rise, and that no day ends later in lived time
// than it can. It may end before the day before it: a leap shortens days.
func (m *core) fitsDay(_ uint64, row, before *dayRow) bool {
	return m.hasLeaf(row.First) && (before == nil || row.Day > before.Day && row.First > before.First) &&
		row.Ends <= m.lived+engine.DayLength
}

// fitsReview checks that reviews name written leaves in order, and finds the open ones.
func (m *desk) fitsReview(at uint64, row, before *ReviewRow) bool {
	if !m.hasLeaf(row.Leaf) || before != nil && row.Leaf <= before.Leaf || row.Newest != 0 && (row.Newest <= row.Leaf || !m.hasLeaf(row.Newest)) {
		return false
	}
	if !m.inForce().Rules().HasAll(row.Rules) || row.Rules&(1<<row.Rule) == 0 || row.Rules&(1<<row.Gravest) == 0 || row.Gravity == 0 || row.Gravity > engine.GravityParty {
		return false
	}
	m.openWordOf(at)
	if row.State == ReviewOpen {
		m.reviewOpened(at)
	}
	return true
}

func (m *desk) fitsDisposition(at uint64, row, before *dispositionRow) bool {
	return m.hasLeaf(row.Later) && row.Leaf < row.Later && (before == nil || row.Later > before.Later) && enterOnce(m.disposedBy, row.Leaf, at)
}

// fitsProposal checks the order of proposals, and that a topic has at most one open proposal.
func (m *desk) fitsProposal(at uint64, row, before *proposalRow) bool {
	if !m.hasLeaf(row.Later) || row.Leaf >= row.Later || row.Disposition > wire.EscalateSAR || row.Kind > wire.KindNewest ||
		m.proposerOf(row) == nil || before != nil && (row.At < before.At || row.Later <= before.Later) {
		return false
	}
	if row.Act != nil {
		m.actsKept++
	}
	if row.Kind == 0 || (row.Act == nil) != (row.Kind == wire.KindDisposition) || (row.Disposition == 0) != (row.Act != nil) {
		return row.Kind == 0 && row.Act == nil
	}
	return enterOnce(m.proposalAt, row.Topic, at)
}

func (m *desk) fitsAlert(at uint64, row, before *AlertRow) bool {
	if !m.hasLeaf(row.Leaf) || before != nil && row.Leaf <= before.Leaf || row.Later != 0 && (row.Later <= row.Leaf || !m.hasLeaf(row.Later)) || leaf.AlertName(row.Kind) == "" {
		return false
	}
	if row.Later == 0 {
		m.countAlert(row, 1)
	}
	return enterOnce(m.alertAt, alertKey{row.List, row.Subject, row.Kind}, at)
}

func (m *desk) checkAlertsOpen() error {
	if m.alertsOpen.All() > m.limits.Alerts+m.limits.SanctionsAlerts {
		return errors.New("too many alerts are open")
	}
	return nil
}

// fitsSAR checks the order of reports, that a record has one open report at most, and that a ready one
// has its narrative.
func (m *desk) fitsSAR(at uint64, row, before *SARRow) bool {
	if known, found := m.sarAt[row.Leaf]; found && m.sars.At(known).isOpen() {
		return false
	}
	m.sarAt[row.Leaf] = at
	return row.Leaf < row.First && row.First <= row.Later && m.hasLeaf(row.Later) && SARState(row.State) != "" && (before == nil || row.First > before.First) &&
		(row.Finished || row.State != wire.SARReady && row.State != wire.SARFiled) && (row.Narrative != [32]byte{} || !row.Finished)
}

func (m *ledger) fitsHold(at uint64, row, _ *holdRow) bool {
	if row.Unresolved != 0 {
		if !m.hasLeaf(row.Unresolved) || row.Unresolved <= row.Leaf {
			return false
		}
		m.unresolved.Append(unresolvedRow(row)) // checkUnresolved puts them into their order.
	}
	m.countHold(row)
	told := max(row.Redeemed, 1) - 1
	if row.Redeemed != 0 && (told < row.Leaf || !m.hasLeaf(told)) || row.Newest != 0 && (row.Newest <= row.Leaf || !m.hasLeaf(row.Newest)) || !m.soundConfirms(row.Confirms) {
		return false
	}
	return m.hasLeaf(row.Leaf) && row.Amount >= 0 && (at == 1 || !row.before(m.holds.At(at/2))) &&
		(row.Agent == 0 || m.registry.agents.Has(uint64(row.Agent))) &&
		(row.Operator == 0 || m.registry.operators.Has(uint64(row.Operator))) && enterOnce(m.holdAt, row.Leaf, at)
}

// fitsOutcome checks that a payment that has ended is not held.
func (m *ledger) fitsOutcome(at uint64, row, before *outcomeRow) bool {
	if _, open := m.holdAt[row.Leaf]; open || row.State == HoldOpen || row.State > HoldExpired {
		return false
	}
	first := enterOnce(m.outcomeAt, row.Leaf, at)
	return row.Leaf < row.Later && row.Before < row.Later && m.hasLeaf(row.told()) && (before == nil || row.told() > before.told()) && (first || row.Late != 0)
}

func (m *ledger) checkEndedFrom() error {
	if m.outcomes.Len() > 0 && m.outcomes.At(m.outcomes.First()).told() < m.endedFrom {
		return errPositions
	}
	return nil
}

func (m *ledger) fitsReference(at uint64, row, before *referenceRow) bool {
	m.referenceAt[row.Key] = at
	return row.Key != (engine.ReferenceKey{}) && row.Leaf <= row.Told && m.hasLeaf(row.Told) && row.Told >= m.usedFrom &&
		(before == nil || row.At >= before.At && row.Told > before.Told)
}

// fitsDue checks that the rows are a heap and of known kinds.
func (m *calendar) fitsDue(at uint64, row, _ *dueRow) bool {
	if leaf.Due(row.Kind).String() == "" || at > 1 && row.before(m.dues.At(at/2)) {
		return false
	}
	return leaf.Due(row.Kind) != leaf.DueOwnership || enterOnce(m.transferAt, row.Subject, at)
}

func (m *keys) fitsAPIKey(key, _ *wire.APIKey) bool {
	return key.RevokedAt != 0 || (len(key.Hashes) > 0 || key.SignedIn != "") && len(key.Hashes) <= 2
}

func (m *keys) fitsSigningKey(key, _ *wire.SigningKey) bool { return m.soundSigningKey(key) }

func (m *keys) fitsWebhook(hook, before *wire.Webhook) bool {
	return hook.ID > 0 && (before == nil || hook.ID > before.ID) && hook.ID <= m.settings.WebhookNext &&
		uint64(hook.Key) <= uint64(len(m.settings.Keys)) && m.soundWebhook(hook)
}

func (m *keys) fitsCursor(at uint64, row, _ *cursorRow) bool {
	return m.soundSending(row.Webhook, row.Seq, row.N) && enterOnce(m.cursorAt, row.Webhook, at)
}

func (m *keys) fitsDeadLetter(at uint64, row, _ *deadLetterRow) bool {
	if row.Webhook == 0 {
		return true
	}
	m.deadOf[row.Webhook]++
	return m.soundSending(row.Webhook, row.Seq, row.N) && enterOnce(m.deadAt, sendingKey{row.Webhook, row.Seq, row.N}, at)
}

// soundSending tells whether a row names an existing webhook and a possible event.
func (m *keys) soundSending(webhook uint32, seq uint64, n uint8) bool {
	_, known := m.webhookAt(webhook)
	return known && seq <= m.size && n <= eventsOfLeaf
}

// checkSendings checks that each webhook has a cursor, and that there are not too many dead
// letters.
func (m *keys) checkSendings() error {
	if m.cursors.Len() != len(m.settings.Webhooks) || len(m.deadAt) > m.limits.DeadLetters {
		return errors.New("webhooks: broken link")
	}
	return nil
}

// fitsStatus checks that every position names an existing party.
func (m *registry) fitsStatus(at uint64, row, _ *statusRow) bool {
	if row.Slot != 0 {
		m.take(wire.TableStatuses, Owner(row.Operator), oneRow)
	}
	switch {
	case row.Slot == 0:
		return *row == (statusRow{})
	case row.Version == 0 || uint64(row.Older) >= at:
		return false
	case row.Kind == CredentialAgent:
		return m.agents.Has(uint64(row.Slot))
	}
	return row.Kind == CredentialUser && uint64(row.Slot) < m.users.Next()
}

// checkStatuses checks that every party has a position that names it.
func (m *registry) checkStatuses() error {
	broken := errors.New("statuses: broken link")
	for i := m.profiles.First(); i < m.profiles.Next(); i++ {
		p := *m.profiles.At(i)
		if p != nil && !m.statusIs(p.Status, CredentialAgent, uint32(p.Slot), p.CredentialVersion) {
			return broken
		}
	}
	for i := m.userProfiles.skipGaps(m.userProfiles.First()); i < m.userProfiles.Next(); i = m.userProfiles.skipGaps(i + 1) {
		if p := *m.userProfiles.At(i); p != nil && !m.statusIs(p.Status, CredentialUser, uint32(p.Slot), p.CredentialVersion) {
			return broken
		}
	}
	return nil
}

// statusIs tells whether a position belongs to a version, or was dropped.
func (m *registry) statusIs(position uint32, kind byte, slot uint32, version uint16) bool {
	if position == 0 || uint64(position) < m.statuses.First() {
		return position != 0
	}
	if !m.statuses.Has(uint64(position)) {
		return false
	}
	row := m.statuses.At(uint64(position))
	return row.Kind == kind && row.Slot == slot && row.Version == version
}

// checkEpochs checks that the numbers and positions of epochs rise, and that all have begun.
func (m *Machine) checkEpochs() error {
	last := &wire.Epoch{}
	if !m.fitsBackups(m.settings.Backups) {
		return errors.New("what it says of backups cannot be")
	}
	if len(m.settings.Epochs) > m.limits.Epochs {
		return errors.New("too many epochs")
	}
	for _, e := range m.settings.Epochs {
		switch {
		case e.Number <= last.Number, e.Number > epochMax, e.Leaf < last.Leaf, e.Agents < last.Agents,
			e.Users < last.Users, e.Fleets < last.Fleets, e.Operators < last.Operators:
			return errors.New("epochs out of order")
		case !m.hasLeaf(e.Leaf), uint64(e.Agents) > m.registry.agents.Next(), uint64(e.Users) > m.registry.users.Next(),
			uint64(e.Fleets) > m.registry.fleets.Next(), uint64(e.Operators) > m.registry.operators.Next():
			return errors.New("epoch that has not begun")
		}
		last = e
	}
	return nil
}

// checkLists checks that the bytes of the active and the staged lists have their digests, and
// rebuilds the running hash of the list that is being replicated. It also checks that the ids of
// cleared pairs rise.
func (m *rulebook) checkLists() error {
	last := uint32(0)
	for _, pair := range m.settings.Cleared {
		if pair.ID <= last || pair.ID > m.settings.ClearedLast {
			return errors.New("cleared pairs are out of order")
		}
		last = pair.ID
	}
	if list := m.settings.List; list == nil && len(m.listData) > 0 || list != nil && sha256.Sum256(m.listData) != list.Digest {
		return errors.New("list does not match its digest")
	}
	s := &m.staged
	if s.total > 0 && uint64(len(s.data)) >= uint64(s.total) || s.total == 0 && len(s.data) > 0 {
		return errors.New("the list being staged is not as long as it should be")
	}
	if s.total > 0 {
		s.sum = sha256.New()
		s.sum.Write(s.data)
	}
	if len(m.settings.Staged) != len(m.stagedData) {
		return errors.New("a staged list is not there")
	}
	for i, info := range m.settings.Staged {
		if sha256.Sum256(m.stagedData[i]) != info.Digest {
			return errors.New("a staged list does not match its digest")
		}
	}
	return nil
}
