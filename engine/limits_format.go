package engine

// Limits are the bounds that Apply reads. Every node must apply an entry with the same bounds,
// whatever binary it runs, so they belong to the format: a row of limitsByFormat is never
// edited, and another bound needs another format. The constants of limits.go bind edges only
// and may be stricter. Sizes of arrays in rows (DepthMax, StructuringCallsMax) are constants,
// because they are part of the rows' layout.
type Limits struct {
	TableLimits
	RowLimits
	TimeLimits
}

// TableLimits bound the rows of the tables.
type TableLimits struct {
	Agents, Users, Fleets, Operators int
	OpenReviews, Idempotency         int
	ClosedReviews                    int // Dispositions kept, each as long as its record.
	Structuring                      int // Rows of the table of R25.
	APIKeys, SigningKeys, Cleared    int
	Passkeys, PasskeysOfPerson       int
	ListHistory                      int
	ListsStaged                      int // Uploaded lists that are staged.
	ListLeft                         int // Parties, names and wallets that a record names as having left a list.
	Removed                          int // Removed members of the cluster that are remembered.
	LogLines                         int // Names and keys of the log that are remembered.
	Holds                            int // Open holds and unresolved payments.
	Outcomes                         int // Endings of payments, of which older ones are found in files.
	References                       int // Payment references that were used.
	Proposals, Alerts, SARs          int // Open ones of each of the three.
	SanctionsAlerts                  int // Open alerts about the sanctions list; they are not among Alerts.
	SanctionsCases                   int // Sanctions cases that somebody must still work on, or whose property is blocked.
	Works                            int // Claims of what is no review.
	Drafts, DraftsOfPerson           int
	SecondLooks                      int // Second looks, open and ended.
	SecondLooksHeld                  int // Of those, how many somebody has in hand.
	SecondLookKnown                  int // Persons who may not make one: who decided, and who gave it back.
	DraftFields                      int
	DraftBytes                       int // Of the text, and of all fields together.
	ProposedActs                     int // Open proposals that keep the record which would be applied, each of RecordBytes at most.
	Webhooks, DeadLetters            int
	WebhooksOfOperator               int
	Dues, Epochs                     int
	Statuses                         int // Credential versions that have not ended.

	AgentBytes, FleetBytes, UserBytes int64 // What profiles have beyond the ordinary, all together.
}

// RowLimits bound the parts of a row, a profile or a record.
type RowLimits struct {
	Depth              uint8
	Children           uint16
	FleetAgents        int
	UserAgents         int
	WhitelistEntries   int
	HoursWindows       int
	HoursHolidays      int
	HoursTransitions   int
	Attestations       int // Attestations kept for an agent.
	Comments           int // Comments of a review from which on each key may write one.
	CommentsOfKey      int // Comments that one API key may write about a review.
	DryRuns            int // Dry runs of a key on one node within an hour from which on an alert opens.
	FieldBytes         int
	OperatorNameBytes  int // A legal name, and its fold.
	OperatorWallets    int // Wallets of one operator.
	KeyIDBytes         int // Length of the id of a signing key, a lineage, a node or a node's incarnation.
	RecordBytes        int // A record's body.
	FragmentBytes      int // The edge's part of a leaf; it leaves room for the longest head.
	FilterKeys         int // Filter keys of a leaf that come from the edge. History keeps at most 32 filter keys of a leaf.
	ListBytes          int
	ListChunkBytes     int
	RecordTargets      int // Agents in one assignment, leaves in one queue record, values sealed again in one record.
	ForgottenAtOneTime int // Items of each kind that one entry forgets, so that no entry is slow.
	ExpiredAtOneTick   int // Holds that one tick ends.
	HoldSecondsLeast   uint32
	HoldSecondsMost    uint32
	PermitSecondsLeast uint32
	PermitSecondsMost  uint32
	ConfirmsMost       uint8  // How often a payment can be confirmed.
	PermitHoldBeyond   uint32 // For how many seconds after a permit's end its payment stays held.
	URLBytes           int    // Length of a webhook's URL.
	EventTypes         int    // Event types that a webhook names.
	SealedBytes        int    // Length of one sealed value.
	StatusVersions     int    // Versions of one party that are visited one by one when its status changes.
}

// TimeLimits are lengths of log time.
type TimeLimits struct {
	AgentValidity       Time
	UserValidity        Time
	UserStored          Time
	AttestationValidity Time
	AttestationStored   Time
	Retention           Time // Of leaves, in time that the group lived through.
	LivedAtOnce         Time // How much of the time between two entries counts as lived through.
	IdempotencyKept     Time
	ClaimLease          Time
	DraftKept           Time
	SecondLookKept      Time // How long a second look is open, from the beginning of the day of the decision.
	SecondLookLease     Time // How long a person has one in hand.
	Overlap             Time
	ReferenceKept       Time
	ProposalKept        Time
	SARDue              Time
	DeadLetterKept      Time
	SessionMost         Time // The longest session of a sign-in.
	ExpiryNotice        Time // Notice before a credential or an API key ends.
	AttestationNotice   Time // Notice before an attestation ends.
	StatusEvery         Time // Interval at which status lists are made; the lists call it ttl.
	ListAhead           Time // How far ahead of log time the publication of a list may lie.
	ListPeak            Time // How long the largest list that was in force stays in the history.
}

// fillLimits gives a format without a row the limits of the one before.
func fillLimits(rows [FormatNewest + 1]*Limits) [FormatNewest + 1]*Limits {
	for format := Format1 + 1; format <= FormatNewest; format++ {
		if rows[format] == nil {
			rows[format] = rows[format-1]
		}
	}
	return rows
}

// limitsByFormat holds one row for each format, in literals. No constant is named, so that
// raising one cannot change the meaning of a format. A format without a row has the limits of
// the one before.
var limitsByFormat = fillLimits([FormatNewest + 1]*Limits{
	Format1: {TableLimits{
		Agents: 16_777_216, Users: 4_194_304, Fleets: 262_144, Operators: 1_048_576,
		OpenReviews: 4_194_304, Idempotency: 1_048_576,
		ClosedReviews: 33_554_432, Structuring: 1_048_576,
		Passkeys: 20_000, PasskeysOfPerson: 8,
		APIKeys: 10_000, SigningKeys: 64, Cleared: 100_000,
		ListHistory: 256, ListsStaged: 2, ListLeft: 20, Removed: 1024, LogLines: 64,
		Holds: 4_194_304, Outcomes: 1_048_576, References: 1_048_576,
		Proposals: 65_536, ProposedActs: 512, Alerts: 65_536, SanctionsAlerts: 65_536, SanctionsCases: 65_536, SARs: 1_048_576,
		SecondLooks: 16_384, SecondLooksHeld: 256, SecondLookKnown: 16,
		Works: 16_384, Drafts: 2048, DraftsOfPerson: 100, DraftFields: 64, DraftBytes: 16_384,
		Webhooks: 1000, DeadLetters: 65_536, WebhooksOfOperator: 32, Dues: 67_108_864, Epochs: 64,
		Statuses:   67_108_864,
		AgentBytes: 1_073_741_824, FleetBytes: 268_435_456, UserBytes: 536_870_912,
	}, RowLimits{
		Depth:              3,
		Children:           1000,
		FleetAgents:        100_000,
		UserAgents:         64,
		WhitelistEntries:   2000,
		HoursWindows:       64,
		HoursHolidays:      400,
		HoursTransitions:   256,
		Attestations:       8,
		Comments:           256,
		CommentsOfKey:      32,
		DryRuns:            200,
		FieldBytes:         256,
		OperatorNameBytes:  8 * KiB,
		OperatorWallets:    OperatorWalletsMax,
		KeyIDBytes:         64,
		RecordBytes:        262_144,
		FragmentBytes:      53_247,
		FilterKeys:         24,
		ListBytes:          100_663_296,
		ListChunkBytes:     131_072,
		RecordTargets:      500,
		ForgottenAtOneTime: 1024,
		ExpiredAtOneTick:   2048,
		HoldSecondsLeast:   30,
		PermitSecondsLeast: 60,
		PermitSecondsMost:  300,
		PermitHoldBeyond:   60,
		ConfirmsMost:       16,
		HoldSecondsMost:    604_800,
		URLBytes:           2048,
		EventTypes:         128,
		SealedBytes:        512,
		StatusVersions:     64,
	}, TimeLimits{
		AgentValidity:       91 * DayLength,
		UserValidity:        30 * DayLength,
		UserStored:          31 * DayLength,
		AttestationValidity: 24 * Hour,
		AttestationStored:   25 * Hour,
		Retention:           90 * DayLength,
		LivedAtOnce:         Hour,
		IdempotencyKept:     24 * Hour,
		ClaimLease:          10 * Minute,
		DraftKept:           14 * DayLength,
		SecondLookKept:      8 * DayLength,
		SecondLookLease:     Hour,
		Overlap:             168 * Hour,
		ReferenceKept:       30 * DayLength,
		ProposalKept:        24 * Hour,
		SARDue:              30 * DayLength,
		DeadLetterKept:      30 * DayLength,
		SessionMost:         24 * Hour,
		ExpiryNotice:        7 * DayLength,
		AttestationNotice:   Hour,
		StatusEvery:         Minute,
		ListAhead:           2 * DayLength,
		ListPeak:            90 * DayLength,
	}},
})

// LimitsOf returns the limits of a format. It panics for a format that this binary does not
// know, because nothing of it may be applied.
func LimitsOf(format Format) *Limits {
	if format < Format1 || format > FormatNewest {
		panic("BUG: limits of a format that this binary does not know")
	}
	return limitsByFormat[format]
}
