package fsm

import (
	"encoding/binary"

	"railguard/engine"
)

// registry is the part that knows the parties: agents, users, fleets and operators, their
// credentials, and the counters that payments stand on.
type registry struct {
	*core
	*registryTables
	calendar *calendar

	operatorByKey map[string]engine.OperatorSlot // Rebuilt by Restore, never iterated.
	shared        sharer
}

func newRegistry(c *core, t *registryTables, calendar *calendar) *registry {
	return &registry{core: c, registryTables: t, calendar: calendar, operatorByKey: map[string]engine.OperatorSlot{}}
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

	usersHeld int    // Users that are stored; follows from the rows.
	userSweep uint64 // The next user that retention looks at.
}

var registryDeclarations = []declaration{
	&tableOf[engine.AgentRow, agentPage]{
		section: sectionAgents, of: func(t *tables) *Table[engine.AgentRow, agentPage] { return &t.agents },
		codec: codec[engine.AgentRow]{appendAgentRow, readAgentRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Agents }, shownAs: "agents",
	},
	&tableOf[*engine.AgentProfile, profilePage]{
		section: sectionProfiles, of: func(t *tables) *Table[*engine.AgentProfile, profilePage] { return &t.profiles },
		codec: valueCodec[engine.AgentProfile](), from: 1,
		most: func(l *engine.Limits) int { return l.Agents },
		taken: func(m *Machine, profile *engine.AgentProfile) {
			if profile != nil {
				m.registry.shared.agent(profile)
			}
		},
	},
	&tableOf[*[]engine.Attestation, attestationPage]{
		section: sectionAttestations, of: func(t *tables) *Table[*[]engine.Attestation, attestationPage] { return &t.attestations },
		codec: valueCodec[[]engine.Attestation](), from: 1,
		most: func(l *engine.Limits) int { return l.Agents },
	},
	&tableOf[engine.UserRow, userPage]{
		section: sectionUsers, of: func(t *tables) *Table[engine.UserRow, userPage] { return &t.users },
		codec: codec[engine.UserRow]{appendUserRow, readUserRow}, from: 1,
		stored: func(row *engine.UserRow) bool { return *row != engine.UserRow{} }, placed: true, readAll: func(s *restorer, r *rowReader, rows uint32) error {
			return s.m.registry.readUsers(r, rows, s.meta.UserNext)
		},
		most: func(l *engine.Limits) int { return l.Users }, shownAs: "users",
		filled: func(t *tables, l *engine.Limits) (int, int) { return t.usersHeld, l.Users },
	},
	&tableOf[*engine.UserProfile, userProfilePage]{
		section: sectionUserProfiles, of: func(t *tables) *Table[*engine.UserProfile, userProfilePage] { return &t.userProfiles },
		codec: valueCodec[engine.UserProfile](), from: 1,
		stored: func(profile **engine.UserProfile) bool { return *profile != nil }, readAll: func(s *restorer, r *rowReader, rows uint32) error {
			return s.m.registry.readUserProfiles(r, rows, s.meta.UserNext)
		},
		most: func(l *engine.Limits) int { return l.Users },
	},
	&tableOf[engine.FleetRow, fleetPage]{
		section: sectionFleets, of: func(t *tables) *Table[engine.FleetRow, fleetPage] { return &t.fleets },
		codec: codec[engine.FleetRow]{appendFleetRow, readFleetRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Fleets }, shownAs: "fleets",
	},
	&tableOf[*engine.FleetProfile, fleetProfilePage]{
		section: sectionFleetProfiles, of: func(t *tables) *Table[*engine.FleetProfile, fleetProfilePage] { return &t.fleetProfiles },
		codec: valueCodec[engine.FleetProfile](), from: 1,
		most: func(l *engine.Limits) int { return l.Fleets },
	},
	&tableOf[engine.OperatorRow, operatorPage]{
		section: sectionOperators, of: func(t *tables) *Table[engine.OperatorRow, operatorPage] { return &t.operators },
		codec: codec[engine.OperatorRow]{appendOperatorRow, readOperatorRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Operators }, shownAs: "operators",
	},
	&tableOf[*engine.OperatorProfile, operatorProfilePage]{
		section: sectionOperatorProfiles, of: func(t *tables) *Table[*engine.OperatorProfile, operatorProfilePage] { return &t.operatorProfiles },
		codec: valueCodec[engine.OperatorProfile](), from: 1,
		most: func(l *engine.Limits) int { return l.Operators },
	},
	&tableOf[statusRow, statusPage]{
		section: sectionStatuses, of: func(t *tables) *Table[statusRow, statusPage] { return &t.statuses },
		codec: codec[statusRow]{appendStatusRow, readStatusRow}, from: 1,
		stored: func(row *statusRow) bool { return row.Slot != 0 }, placed: true, readAll: func(s *restorer, r *rowReader, rows uint32) error {
			return s.m.registry.readStatuses(r, rows, &s.meta.Statuses)
		},
		most: func(l *engine.Limits) int { return l.Statuses }, shownAs: "status_entries",
	},
}

func appendAgentRow(dst []byte, row *engine.AgentRow) []byte {
	dst = append(dst, byte(row.Status), row.StatusReason, flag(row.Institutions))
	dst = binary.AppendUvarint(dst, uint64(row.MinVersion))
	dst = binary.AppendUvarint(dst, uint64(row.Children))
	dst = binary.AppendVarint(dst, int64(row.StatusAt))
	dst = binary.AppendVarint(dst, int64(row.OverlapUntil))
	dst = binary.AppendVarint(dst, int64(row.OwnershipFrom))
	dst = binary.AppendVarint(dst, int64(row.OwnershipAt))
	dst = binary.AppendVarint(dst, int64(row.AttestedAt))
	dst = appendSpend(dst, &row.Spend)
	dst = binary.AppendUvarint(dst, row.Sequence)
	dst = binary.AppendUvarint(dst, row.LastLeaf)
	return binary.AppendVarint(dst, row.CountedFrom)
}

func readAgentRow(r *rowReader) engine.AgentRow {
	return engine.AgentRow{
		Status: r.status(), StatusReason: r.byte(), Institutions: r.byte() != 0,
		MinVersion: uint16(r.unsigned()), Children: uint16(r.unsigned()),
		StatusAt: r.time(), OverlapUntil: r.time(), OwnershipFrom: r.time(), OwnershipAt: r.time(), AttestedAt: r.time(),
		Spend: r.spend(), Sequence: r.unsigned(), LastLeaf: r.unsigned(), CountedFrom: r.signed(),
	}
}

func appendUserRow(dst []byte, row *engine.UserRow) []byte {
	dst = append(dst, byte(row.Status), row.StatusReason, flag(row.Institutions))
	dst = binary.AppendUvarint(dst, uint64(row.MinVersion))
	dst = binary.AppendVarint(dst, int64(row.StatusAt))
	dst = binary.AppendVarint(dst, int64(row.OverlapUntil))
	return appendUse(dst, &row.Judged)
}

func readUserRow(r *rowReader) engine.UserRow {
	return engine.UserRow{
		Status: r.status(), StatusReason: r.byte(), Institutions: r.byte() != 0,
		MinVersion: uint16(r.unsigned()), StatusAt: r.time(), OverlapUntil: r.time(), Judged: readUse(r),
	}
}

func appendFleetRow(dst []byte, row *engine.FleetRow) []byte {
	return appendSpend(binary.AppendUvarint(dst, uint64(row.Agents)), &row.Spend)
}

func readFleetRow(r *rowReader) engine.FleetRow {
	return engine.FleetRow{Agents: uint32(r.unsigned()), Spend: r.spend()}
}

func appendOperatorRow(dst []byte, row *engine.OperatorRow) []byte {
	dst = binary.AppendUvarint(append(dst, flag(row.Suspended), flag(row.Institutions)), uint64(row.Agents))
	return binary.AppendVarint(dst, int64(row.StatusAt))
}

func readOperatorRow(r *rowReader) engine.OperatorRow {
	return engine.OperatorRow{Suspended: r.byte() != 0, Institutions: r.byte() != 0, Agents: uint32(r.unsigned()), StatusAt: r.time()}
}

// statusRow is one version of a credential, at its position.
type statusRow struct {
	Slot    uint32 // Of the agent or user; 0: nobody was given this position.
	Expires uint32 // Unix second.
	Older   uint32 // The position of the version before; 0: there is none.
	Key     uint32 // keyMark of the key that signed it.
	Version uint16
	Kind    uint8 // CredentialAgent, CredentialUser.
	Matched bool  // The sanctions list matched when it was issued.
}

// standing says which entries may have changed what the status lists read. minute and
// changed are replicated: by them a node that restored a state knows whether it may make the
// lists of the running minute out of that state.
type standing struct {
	minute  uint64 // Log index of the entry that brought log time into the running minute.
	changed uint64 // Of the last entry that changed a value, or may have.
	wide    uint64 // Of the last one that may have changed any; 0 after a restore.
	kin     uint64 // Of the last one that may have changed those of an agent's descendants.
}

func appendStatusRow(dst []byte, row *statusRow) []byte {
	dst = append(dst, row.Kind, flag(row.Matched))
	for _, v := range [...]uint32{row.Slot, row.Expires, row.Older, uint32(row.Version)} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return binary.LittleEndian.AppendUint32(dst, row.Key)
}

func readStatusRow(r *rowReader) (row statusRow) {
	row.Kind, row.Matched = r.byte(), r.byte() != 0
	row.Slot, row.Expires, row.Older, row.Version = uint32(r.unsigned()), uint32(r.unsigned()), uint32(r.unsigned()), uint16(r.unsigned())
	var key [4]byte
	r.fill(key[:])
	row.Key = binary.LittleEndian.Uint32(key[:])
	return row
}

// Agents of one operator have the same operator, wallet, policy and key, and often the same
// framework and model. Their profiles share one copy of each such text: of ten objects on
// the heap an agent, six go. The sharer saves memory and is no part of the state.
const (
	sharedMax      = 16_384 // Texts that are remembered; the memory starts anew then.
	sharedBytesMax = 1024   // Of one: longer ones stay each their own.
)

// sharer remembers texts.
type sharer struct {
	texts map[string]string
	blobs map[string][]byte
}

func (s *sharer) text(v string) string {
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

func (s *sharer) blob(v []byte) []byte {
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

// agent makes a profile, which nobody has seen yet, share its texts with other profiles. The
// texts that are the agent's own become one string.
func (s *sharer) agent(p *engine.AgentProfile) {
	p.OperatorLegalName, p.OperatorWallet, p.EINMasked = s.text(p.OperatorLegalName), s.text(p.OperatorWallet), s.text(p.EINMasked)
	p.AgentFramework, p.Model, p.Settings.CurrentModel = s.text(p.AgentFramework), s.text(p.Model), s.text(p.Settings.CurrentModel)
	p.KeyID, p.PolicyJSON = s.text(p.KeyID), s.blob(p.PolicyJSON)
	own := p.AgentName + p.Purpose
	p.AgentName, p.Purpose = own[:len(p.AgentName)], own[len(p.AgentName):]
}
