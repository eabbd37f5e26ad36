package fsm

import "railguard/engine"

// registry is the part that keeps the parties: agents, users, fleets and operators, their
// credentials, and the counters of their payments.
type registry struct {
	*core
	*registryTables
	calendar *calendar

	// Rebuilt by Restore, never iterated.
	operatorsNamed map[string]namesakes             // By legal name.
	operatorsLike  map[string][]engine.OperatorSlot // By fold.

	shared sharer
}

func newRegistry(c *core, t *registryTables, calendar *calendar) *registry {
	return &registry{
		core: c, registryTables: t, calendar: calendar,
		operatorsNamed: map[string]namesakes{}, operatorsLike: map[string][]engine.OperatorSlot{},
	}
}

// registryTables are the tables of the registry: agents, users, fleets, operators, and
// the positions of their credentials in the status lists.
type registryTables struct {
	// Positions in these tables are slots, from 1 on.
	agents           Table[engine.AgentRow, agentPage]
	profiles         Table[*engine.AgentProfile, profilePage]
	attestations     Table[*[]engine.Attestation, attestationPage]
	users            Table[engine.UserRow, userPage]
	userProfiles     Table[*engine.UserProfile, userProfilePage]
	fleets           Table[engine.FleetRow, fleetPage]
	fleetProfiles    Table[*engine.FleetProfile, fleetProfilePage]
	operators        Table[engine.OperatorRow, operatorPage]
	operatorProfiles Table[*engine.OperatorProfile, operatorProfilePage]

	statuses Table[statusRow, statusPage] // By position, from 1 on.
	standing standing

	usersHeld int    // The number of stored users; derived from the rows.
	userSweep uint64 // The next user to check for expiry.
}

var registryDeclarations = []declaration{
	&tableOf[engine.AgentRow, agentPage]{
		section: section{number: sectionAgents, most: func(l *engine.Limits) int { return l.Agents }, sound: func(m *Machine) error { return m.registry.checkLengths() }},
		of:      func(t *tables) *Table[engine.AgentRow, agentPage] { return &t.agents }, code: codeAgentRow, from: 1,
		gaps: &gapsOf[engine.AgentRow]{held: isAgent, first: firstAgent, next: nextAgent},
		fits: func(m *Machine) fitting[engine.AgentRow] { return m.registry.fitsAgentRow },
	},
	&tableOf[*engine.AgentProfile, profilePage]{
		section: section{number: sectionProfiles, most: func(l *engine.Limits) int { return l.Agents }},
		of:      func(t *tables) *Table[*engine.AgentProfile, profilePage] { return &t.profiles }, code: codeValue[engine.AgentProfile], from: 1,
		gaps: &gapsOf[*engine.AgentProfile]{
			held: isProfile[engine.AgentProfile], place: func(profile **engine.AgentProfile) uint64 { return uint64((*profile).Slot) },
			first: firstAgent, next: nextAgent,
		},
		taken: func(m *Machine, profile **engine.AgentProfile) {
			if *profile != nil {
				m.registry.shared.shareProfile(*profile)
			}
		},
		fits: func(m *Machine) fitting[*engine.AgentProfile] { return m.registry.fitsAgent },
	},
	&tableOf[*[]engine.Attestation, attestationPage]{
		section: section{number: sectionAttestations, most: func(*engine.Limits) int { return userSlots }}, // Of retired agents, too.
		of:      func(t *tables) *Table[*[]engine.Attestation, attestationPage] { return &t.attestations }, code: codeValue[[]engine.Attestation], from: 1,
	},
	&tableOf[engine.UserRow, userPage]{
		section: section{
			number: sectionUsers, most: func(l *engine.Limits) int { return l.Users },
			sound: func(m *Machine) error { return m.registry.checkUserSweep() },
		},
		of: func(t *tables) *Table[engine.UserRow, userPage] { return &t.users }, code: codeUserRow, from: 1,
		gaps: &gapsOf[engine.UserRow]{held: isUser, next: func(meta *snapshotMeta) *uint64 { return &meta.UserNext }},
		mark: func(t *tables, meta *snapshotMeta) (held, noted *uint64) { return &t.userSweep, &meta.UserSweep },
		fits: func(m *Machine) fitting[engine.UserRow] { return m.registry.fitsUserRow },
	},
	&tableOf[*engine.UserProfile, userProfilePage]{
		section: section{number: sectionUserProfiles, most: func(l *engine.Limits) int { return l.Users }},
		of:      func(t *tables) *Table[*engine.UserProfile, userProfilePage] { return &t.userProfiles }, code: codeValue[engine.UserProfile], from: 1,
		gaps: &gapsOf[*engine.UserProfile]{
			held: isUserProfile, place: func(profile **engine.UserProfile) uint64 { return uint64((*profile).Slot) },
			next: func(meta *snapshotMeta) *uint64 { return &meta.UserNext },
		},
		fits: func(m *Machine) fitting[*engine.UserProfile] { return m.registry.fitsUser },
	},
	&tableOf[engine.FleetRow, fleetPage]{
		section: section{number: sectionFleets, most: func(l *engine.Limits) int { return l.Fleets }},
		of:      func(t *tables) *Table[engine.FleetRow, fleetPage] { return &t.fleets }, code: codeFleetRow, from: 1,
		gaps: &gapsOf[engine.FleetRow]{held: isFleet, first: firstFleet, next: nextFleet},
		fits: func(m *Machine) fitting[engine.FleetRow] { return m.registry.fitsFleetRow },
	},
	&tableOf[*engine.FleetProfile, fleetProfilePage]{
		section: section{number: sectionFleetProfiles, most: func(l *engine.Limits) int { return l.Fleets }},
		of:      func(t *tables) *Table[*engine.FleetProfile, fleetProfilePage] { return &t.fleetProfiles }, code: codeValue[engine.FleetProfile], from: 1,
		gaps: &gapsOf[*engine.FleetProfile]{
			held: isProfile[engine.FleetProfile], place: func(profile **engine.FleetProfile) uint64 { return uint64((*profile).Slot) },
			first: firstFleet, next: nextFleet,
		},
		fits: func(m *Machine) fitting[*engine.FleetProfile] { return m.registry.fitsFleet },
	},
	&tableOf[engine.OperatorRow, operatorPage]{
		section: section{number: sectionOperators, most: func(l *engine.Limits) int { return l.Operators }, shownAs: "operators"},
		of:      func(t *tables) *Table[engine.OperatorRow, operatorPage] { return &t.operators }, code: codeOperatorRow, from: 1,
	},
	&tableOf[*engine.OperatorProfile, operatorProfilePage]{
		section: section{number: sectionOperatorProfiles, most: func(l *engine.Limits) int { return l.Operators }},
		of:      func(t *tables) *Table[*engine.OperatorProfile, operatorProfilePage] { return &t.operatorProfiles }, code: codeValue[engine.OperatorProfile], from: 1,
		fits: func(m *Machine) fitting[*engine.OperatorProfile] { return m.registry.fitsOperator },
	},
	&tableOf[statusRow, statusPage]{
		section: section{
			number: sectionStatuses, most: func(l *engine.Limits) int { return l.Statuses },
			sound: func(m *Machine) error { return m.registry.checkStatuses() }, summedBehind: sectionDays,
		},
		of: func(t *tables) *Table[statusRow, statusPage] { return &t.statuses }, code: codeStatusRow, from: 1,
		gaps: &gapsOf[statusRow]{
			held:  func(row *statusRow) bool { return row.Slot != 0 },
			first: func(meta *snapshotMeta) *uint64 { return &meta.Statuses.First },
			next:  func(meta *snapshotMeta) *uint64 { return &meta.Statuses.Next },
		},
		fits: func(m *Machine) fitting[statusRow] { return m.registry.fitsStatus },
	},
}

// The slots of agents and fleets begin with 1, retired ones included.
func firstAgent(meta *snapshotMeta) *uint64 { return &meta.AgentFirst }
func nextAgent(meta *snapshotMeta) *uint64  { return &meta.AgentNext }
func firstFleet(meta *snapshotMeta) *uint64 { return &meta.FleetFirst }
func nextFleet(meta *snapshotMeta) *uint64  { return &meta.FleetNext }

func codeAgentRow(c *coder, row *engine.AgentRow) {
	c.codeStatus(&row.Status)
	codeByte(c, &row.StatusReason)
	c.codeFlag(&row.Institutions)
	codeUnsigned(c, &row.MinVersion)
	codeUnsigned(c, &row.Children)
	codeSigned(c, &row.StatusAt)
	codeSigned(c, &row.OverlapUntil)
	codeSigned(c, &row.OwnershipFrom)
	codeSigned(c, &row.OwnershipAt)
	codeSigned(c, &row.AttestedAt)
	c.codeSpend(&row.Spend)
	codeUnsigned(c, &row.Sequence)
	codeUnsigned(c, &row.LastLeaf)
	codeSigned(c, &row.CountedFrom)
}

func codeUserRow(c *coder, row *engine.UserRow) {
	c.codeStatus(&row.Status)
	codeByte(c, &row.StatusReason)
	c.codeFlag(&row.Institutions)
	codeUnsigned(c, &row.MinVersion)
	codeSigned(c, &row.StatusAt)
	codeSigned(c, &row.OverlapUntil)
	c.codeUse(&row.Judged)
}

func codeFleetRow(c *coder, row *engine.FleetRow) {
	c.codeFlag(&row.Kept)
	codeUnsigned(c, &row.Agents)
	c.codeSpend(&row.Spend)
}

func codeOperatorRow(c *coder, row *engine.OperatorRow) {
	c.codeFlag(&row.Suspended)
	c.codeFlag(&row.Institutions)
	codeUnsigned(c, &row.Agents)
	codeSigned(c, &row.StatusAt)
	codeNear(c, &row.Near)
	c.codeSpend(&row.Spend)
}

// codeNear codes what R25 counts. Most rows hold nothing.
func codeNear(c *coder, row *engine.NearRow) {
	if codeSigned(c, &row.Block); row.Block == 0 {
		return
	}
	if row.Block < 0 { // The ring is entered by it.
		c.failReading()
		return
	}
	for i := range row.Sums {
		codeSigned(c, &row.Sums[i])
		codeUnsigned(c, &row.Counts[i])
	}
}

// statusRow is one version of a credential, at its position.
type statusRow struct {
	Slot    uint32 // The agent or user; 0: this position was never given out.
	Expires uint32 // Unix second.
	Older   uint32 // The position of the version before; 0: there is none.
	Key     uint32 // keyMark of the key that signed it.
	Version uint16
	Kind    uint8 // CredentialAgent, CredentialUser.
	Matched bool  // The sanctions list matched when it was issued.

	Operator uint32 // For which operator it was issued; 0: none. It keeps this position of its share.
}

// standing tells which entries may have changed what the status lists read. minute and
// changed are replicated: with them a node that restored a state knows whether it may make
// the lists of the current minute from it.
type standing struct {
	minute  uint64 // Log index of the entry that began the current minute.
	changed uint64 // Log index of the last entry that may have changed a value.
	wide    uint64 // Log index of the last entry that may have changed any number of values, so that all are computed again; 0 after a restore.
	kin     uint64 // Log index of the last entry that may have changed the values of an agent's descendants.
}

func codeStatusRow(c *coder, row *statusRow) {
	codeByte(c, &row.Kind)
	c.codeFlag(&row.Matched)
	codeUnsigned(c, &row.Slot)
	codeUnsigned(c, &row.Expires)
	codeUnsigned(c, &row.Older)
	codeUnsigned(c, &row.Version)
	codeFixed(c, &row.Key, 4)
	codeUnsigned(c, &row.Operator)
}

// Agents of one operator have the same operator, wallet, policy and key, and often the same
// framework and model. Their profiles share one copy of each such text, which saves six of
// ten heap objects for each agent. The sharer is not part of the state.
const (
	sharedMax      = 16_384 // How many texts are remembered; when it is reached, the memory is emptied.
	sharedBytesMax = 1024   // The longest text that is shared.
)

// sharer remembers texts.
type sharer struct {
	texts map[string]string
	blobs map[string][]byte
}

func (s *sharer) shareText(v string) string {
	if v == "" || len(v) > sharedBytesMax {
		return v
	}
	if known, ok := s.texts[v]; ok {
		return known
	}
	if s.texts == nil || len(s.texts) >= sharedMax {
		s.texts = map[string]string{}
	}
	s.texts[v] = v
	return v
}

func (s *sharer) shareBlob(v []byte) []byte {
	if len(v) == 0 || len(v) > sharedBytesMax {
		return v
	}
	if known, ok := s.blobs[string(v)]; ok {
		return known
	}
	if s.blobs == nil || len(s.blobs) >= sharedMax {
		s.blobs = map[string][]byte{}
	}
	s.blobs[string(v)] = v
	return v
}

// shareProfile makes a profile, which is not published yet, share its texts with other
// profiles. It joins the agent's own texts into one string.
func (s *sharer) shareProfile(p *engine.AgentProfile) {
	p.OperatorLegalName, p.OperatorWallet, p.EINMasked = s.shareText(p.OperatorLegalName), s.shareText(p.OperatorWallet), s.shareText(p.EINMasked)
	p.AgentFramework, p.Model, p.Settings.CurrentModel = s.shareText(p.AgentFramework), s.shareText(p.Model), s.shareText(p.Settings.CurrentModel)
	p.KeyID, p.PolicyJSON = s.shareText(p.KeyID), s.shareBlob(p.PolicyJSON)
	own := p.AgentName + p.Purpose
	p.AgentName, p.Purpose = own[:len(p.AgentName)], own[len(p.AgentName):]
}
