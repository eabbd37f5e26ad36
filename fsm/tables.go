package fsm

import "railguard/engine"

// The pages of the tables: a few hundred bytes to one KiB, so that a freeze costs
// little where few rows change. The digest of a state is made page by page
// (digest.go): how many rows a page has belongs to the format.
type (
	agentPage       = [8]engine.AgentRow
	profilePage     = [16]*engine.AgentProfile
	activityPage    = [2]activityRow
	attestationPage = [64]*[]engine.Attestation
	userPage        = [8]engine.UserRow
	userProfilePage = [16]*engine.UserProfile

	fleetPage           = [16]engine.FleetRow
	fleetProfilePage    = [16]*engine.FleetProfile
	operatorPage        = [16]engine.OperatorRow
	operatorProfilePage = [16]*engine.OperatorProfile

	reviewPage      = [16]ReviewRow
	openPage        = [16]uint64
	dispositionPage = [16]dispositionRow
	idemPage        = [16]idemRow
	structuringPage = [4]structuringRow
	dayPage         = [16]dayRow
	statusPage      = [64]statusRow
)

// activityRow is what an agent did of late. Only agents that were screened within
// the last 24 hours have one.
type activityRow struct {
	Agent    engine.AgentSlot
	Judged   engine.ProfileUse
	Velocity engine.VelocityRow
}

type dispositionRow struct {
	Leaf  uint64
	Later uint64
	At    engine.Time
	Kind  uint8 // wire.Approved and its like.
}

type idemRow struct {
	Key  [16]byte
	Body [16]byte
	Leaf uint64
	At   engine.Time
}

type structuringKey struct {
	Root  engine.AgentSlot
	Party engine.PartyKey
}

type structuringRow struct {
	Key   structuringKey
	Older uint32 // The pair whose newest call came before this one's; 0: none did.
	Newer uint32
	Band  engine.BandRow
}

type dayRow struct {
	Day   engine.Day
	First uint64 // First leaf of that UTC date.
}
