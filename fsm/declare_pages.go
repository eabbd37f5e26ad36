package fsm

import "railguard/engine"

// The pages of the tables have a few hundred bytes to one KiB, so that a freeze costs little
// when few rows change. The digest of a state is made page by page (digest.go), so the number
// of rows in a page belongs to the format.
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

	reviewPage      = [8]ReviewRow
	openPage        = [16]uint64
	dispositionPage = [16]dispositionRow
	idemPage        = [16]idemRow
	structuringPage = [4]structuringRow
	dayPage         = [16]dayRow
	statusPage      = [64]statusRow

	holdPage       = [16]holdRow
	unresolvedPage = [16]UnresolvedRow
	outcomePage    = [16]outcomeRow
	referencePage  = [16]referenceRow
	duePage        = [16]dueRow
	proposalPage   = [16]proposalRow
	alertPage      = [16]AlertRow
	sarPage        = [16]SARRow
	sanctionsPage  = [8]SanctionsRow
	workPage       = [16]workRow
	secondLookPage = [8]SecondLookRow
	draftPage      = [8]draftRow
	cursorPage     = [16]cursorRow
	deadLetterPage = [16]deadLetterRow
)
