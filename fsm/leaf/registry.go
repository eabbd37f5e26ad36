package leaf

import "slices"

// Kind is what the readers of leaves know of one kind.
type Kind struct {
	Name       string   // For a due event: KindDue, a colon and its type.
	Members    any      // Its struct; nil for a record with its own form.
	Audience   Audience // Who may know of its events.
	Events     []string // Types of the events that its leaf may cause, in the order of their numbers.
	Silent     string   // Why its leaf causes no event; "" if it does.
	Unanswered string   // Why no call is answered with its leaf; "": a package of httpapi renders the answer.
}

// Audience says who may see an event.
type Audience uint8

const (
	OfPayment     Audience = iota + 1 // Those who may read the payment's record.
	OfDesk                            // Those of them who may also see what reveals a suspicion (docs/API.md).
	OfParty                           // Those who may read the agent, fleet, user or operator.
	OfInstitution                     // Keys without an operator's scope.
	OfAlerts                          // Keys of the institution that may also see what reveals a suspicion (docs/API.md).
)

// Why no call is answered with a leaf.
const (
	byTime    = "log time wrote it"
	byCluster = "the cluster wrote it"
	byAnother = "the leaf of another kind brought it about"
	byRefusal = "the call was refused"
	byJob     = "a job wrote it when it ended"
)

// own returns a kind whose first event has the kind's name.
func own(audience Audience, name string, members any, types ...string) Kind {
	return Kind{Name: name, Members: members, Audience: audience, Events: append([]string{name}, types...)}
}

// unanswered is a kind with which no call is answered.
func unanswered(why string, kind Kind) Kind {
	kind.Unanswered = why
	return kind
}

// due returns the kind of an event that log time alone brings about.
func due(audience Audience, what Due, members any, types ...string) Kind {
	return Kind{Name: KindDue + ":" + what.String(), Members: members, Audience: audience, Events: append([]string{what.String()}, types...), Unanswered: byTime}
}

// silent returns a kind whose leaf causes no event.
func silent(name string, members any, why, unanswered string) Kind {
	return Kind{Name: name, Members: members, Silent: why, Unanswered: unanswered}
}

// Kinds is the registry of kinds. Apply writes leaves by it; events, the packages of httpapi,
// the examiner and docs/FORMATS.md read them by it.
var Kinds = []Kind{
	{Name: KindScreen, Audience: OfPayment, Events: []string{"screen.proceed", "screen.review", "screen.block", "screen.unknown", "fleet.limit_80", "fleet.limit_100"}},
	silent(KindProfile, nil, "the records that name it have events", byAnother),
	own(OfPayment, KindHoldSettled, Settled{}, "hold.late", "hold.over_limit"),
	own(OfPayment, KindHoldReleased, Payment{}),
	own(OfPayment, KindPaymentConfirmed, Confirmed{}, KindPaymentRedeemed),
	own(OfPayment, KindPaymentRedeemed, Confirmed{}),
	due(OfPayment, DueHold, HoldOver{}),
	due(OfPayment, DueUnresolved, HoldOver{}),
	due(OfPayment, DueApproval, HoldOver{}, DueUnresolved.String(), DueHold.String()),
	own(OfPayment, KindDispositioned, Dispositioned{}, "review.escalated", "sar.opened"),
	own(OfDesk, KindProposed, Proposed{}),
	own(OfDesk, KindWithdrawn, Withdrawn{}),
	due(OfDesk, DueProposal, Withdrawn{}),
	own(OfInstitution, KindActProposed, ActProposed{}),
	own(OfInstitution, KindActWithdrawn, ActWithdrawn{}),
	due(OfInstitution, DueAct, ActWithdrawn{}),
	due(OfDesk, DueReviewSLA, ReviewDue{}),
	own(OfDesk, KindClaimed, Claimed{}),
	own(OfDesk, KindReleased, Claimed{}),
	own(OfDesk, KindAssigned, Claimed{}),
	own(OfDesk, KindCommented, Claimed{}),
	own(OfDesk, KindSAROpened, SAROpened{}),
	own(OfDesk, KindSARWritten, SARWritten{}),
	own(OfDesk, KindSARMoved, SARMoved{}, "sar.filed"),
	due(OfDesk, DueSAR, SARDue{}),
	own(OfAlerts, KindSanctionsOpened, SanctionsOpened{}),
	unanswered(byAnother, own(OfAlerts, KindSanctionsAgain, SanctionsAgain{})),
	own(OfAlerts, KindSanctionsMoved, SanctionsMoved{}),
	due(OfAlerts, DueSanctionsSoon, SanctionsDue{}),
	due(OfAlerts, DueSanctionsLate, SanctionsDue{}),
	unanswered(byAnother, own(OfAlerts, KindAlertOpened, AlertOpened{})),
	own(OfAlerts, KindAcknowledged, Acknowledged{}),
	own(OfAlerts, KindWorked, Worked{}),
	own(OfAlerts, KindLookAnswered, LookAnswered{}),
	due(OfAlerts, DueLook, LookLapsed{}),
	own(OfInstitution, KindRetroBegun, RetroBegun{}),
	unanswered(byCluster, own(OfAlerts, KindRetroHit, RetroHit{})),
	unanswered(byCluster, own(OfInstitution, KindRetroEnded, RetroEnded{})),
	unanswered(byJob, own(OfInstitution, KindReconciled, Reconciled{})),
	own(OfParty, "agent.registered", Credential{}, "agent.registered_with_match"),
	{Name: "delegate.created", Members: Credential{}, Audience: OfParty, Events: []string{"agent.registered", "agent.registered_with_match"}},
	own(OfParty, "agent.reissued", Reissued{}),
	silent("agent.refused", Note{}, "nothing was registered", byRefusal),
	own(OfParty, "agent.revoked", StatusChanged{}),
	own(OfParty, "agent.suspended", StatusChanged{}),
	own(OfParty, "agent.reinstated", StatusChanged{}),
	own(OfParty, "agent.settings", AgentChanged{}),
	own(OfParty, "agent.whitelist", AgentChanged{}),
	own(OfParty, "agent.model_changed", AgentChanged{}),
	due(OfParty, DueAgentExpiring, CredentialDue{}),
	due(OfParty, DueAgentExpired, CredentialDue{}),
	{Name: "ownership.flagged", Members: Ownership{}, Audience: OfParty, Events: []string{"agent.ownership_flagged"}},
	{Name: "ownership.cancelled", Members: Ownership{}, Audience: OfParty, Events: []string{"agent.ownership_cancelled"}},
	due(OfParty, DueOwnership, OwnershipDue{}),
	own(OfParty, "attestation.recorded", Attested{}),
	due(OfParty, DueAttestationExpiring, AttestationDue{}),
	due(OfParty, DueAttestationStale, AttestationDue{}),
	own(OfParty, "user.registered", UserCredential{}),
	own(OfParty, "user.reissued", UserCredential{}),
	silent("user.refused", Note{}, "nothing was registered", byRefusal),
	own(OfParty, "user.revoked", StatusChanged{}),
	own(OfParty, "user.suspended", StatusChanged{}),
	own(OfParty, "user.reinstated", StatusChanged{}),
	due(OfParty, DueUserErased, UserErased{}),
	own(OfParty, "operator.suspended", StatusChanged{}),
	own(OfParty, "operator.reinstated", StatusChanged{}),
	own(OfParty, "operator.limit", OperatorChanged{}),
	own(OfParty, "fleet.created", FleetCreated{}),
	own(OfParty, "fleet.updated", FleetChanged{}),
	own(OfParty, "fleet.whitelist", FleetChanged{}),
	own(OfParty, "fleet.assigned", FleetAssigned{}),
	own(OfParty, "fleet.removed", FleetAssigned{}),
	own(OfParty, "fleet.retired", FleetRetired{}),
	own(OfParty, "agent.retired", AgentRetired{}),
	own(OfInstitution, "policy.activated", PolicyChanged{}),
	own(OfInstitution, "policy.whitelist", PolicyChanged{}),
	own(OfInstitution, "list.staged", ListStaged{}),
	own(OfInstitution, "list.activated", ListActivated{}),
	own(OfInstitution, "list.synced", ListSynced{}),
	due(OfInstitution, DueListStale, ListDue{}),
	own(OfInstitution, "matcher.raised", MatcherRaised{}),
	own(OfInstitution, "format.raised", FormatRaised{}),
	own(OfInstitution, "cleared.added", PairChanged{}),
	own(OfInstitution, "cleared.removed", PairChanged{}),
	due(OfInstitution, DueCleared, PairDue{}),
	own(OfInstitution, "key.created", KeyChanged{}),
	own(OfInstitution, "key.rotated", KeyChanged{}),
	unanswered("the answer is the list of keys", own(OfInstitution, "key.revoked", KeyChanged{})),
	unanswered("the answer is the key", own(OfInstitution, "key.sessions_ended", KeyChanged{})),
	own(OfInstitution, "key.reinstated", KeyChanged{}),
	unanswered("the answer is a page", own(OfInstitution, KindSignedIn, SignedIn{})),
	own(OfInstitution, KindPasskeyAdded, PasskeyAdded{}),
	own(OfInstitution, KindPasskeyRemoved, PasskeyRemoved{}),
	own(OfInstitution, KindPersonEnded, PersonEnded{}),
	due(OfInstitution, DueAPIKey, KeyDue{}),
	unanswered(byCluster, own(OfAlerts, KindLooked, Looked{})),
	unanswered("the answer is the list of keys", own(OfInstitution, "signing_key.added", SigningKeyChanged{})),
	unanswered("the answer is the list of keys", own(OfInstitution, "signing_key.revoked", SigningKeyChanged{})),
	due(OfInstitution, DueSigningKey, SigningKeyChanged{}),
	own(OfInstitution, KindWebhook, WebhookChanged{}),
	unanswered(byCluster, own(OfInstitution, KindDeadLetter, DeadLetter{})),
	own(OfInstitution, KindTimeConfirmed, TimeConfirmed{}),
	silent("clock.advanced", ClockAdvanced{}, "only a development cluster has a clock to move", ""),
	silent("cluster.created", ClusterCreated{}, "nobody has a key before it", byCluster),
	silent("cluster.member_removed", MemberRemoved{}, "nodes are told of by metrics and the cluster's status", byCluster),
	silent("cluster.member_changed", MemberChanged{}, "nodes are told of by metrics and the cluster's status", byCluster),
	own(OfInstitution, KindBackupSchedule, BackupScheduled{}),
	unanswered(byCluster, own(OfInstitution, KindBackupTaken, BackupTaken{})),
	unanswered(byCluster, own(OfInstitution, KindBackupDrilled, BackupDrilled{})),
	silent(KindResealed, Resealed{}, "no value changed, only the secret that seals it", "the answer counts what is still to be sealed"),
	silent("log.key_rotated", LogKeyRotated{}, "checkpoints carry the new keys and their endorsement", byCluster),
	silent(KindClusterLineage, Restored{}, "it stands in the history before whatever is told next", byCluster),
	silent("cluster.recovered", Recovered{}, "it stands in the history before whatever is told next", byCluster),
}

// Named returns a kind's row, or nil if this release does not know it.
func Named(kind string) *Kind {
	if at := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == kind }); at >= 0 {
		return &Kinds[at]
	}
	return nil
}
