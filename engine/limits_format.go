package engine

// Limits are the bounds that Apply reads. Every node must apply an entry with the
// same ones, whatever binary it runs, so they belong to the format: a row below is
// never edited, and another bound is another format's row. The constants of
// limits.go are the edges' own and may be stricter. What sizes an array of a row
// (DepthMax, StructuringCallsMax) is part of the rows' layout and a constant.
type Limits struct {
	TableLimits
	RowLimits
	TimeLimits
}

// TableLimits bound the rows of the tables.
type TableLimits struct {
	Agents, Users, Fleets, Operators int
	OpenReviews, Idempotency         int
	ClosedReviews                    int // Dispositions kept; each goes with its record.
	Structuring                      int // Rows of the table of R25.
	APIKeys, SigningKeys, Cleared    int
	ListHistory                      int
	Removed                          int // Removed members that are remembered.
	LogLines                         int // Names and keys of the log that are remembered.
	Holds                            int // Open ones.
	Outcomes                         int // Ended holds and other settled payments; each goes with its record's retention.
	References                       int // Payment references that were used.
	Proposals, Alerts, SARs          int // Open ones.
	Webhooks, DeadLetters            int
	WebhooksOfOperator               int
	Dues, Epochs                     int
	Statuses                         int // Versions of credentials that have not ended.
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
	Attestations       int // Kept for an agent.
	Comments           int // Kept for a review.
	FieldBytes         int
	KeyIDBytes         int // Of a signing key, a lineage, a node or its incarnation.
	RecordBytes        int // A record's body.
	FragmentBytes      int // An edge's part of a leaf; leaves room for the longest head.
	FilterKeys         int // An edge's part of a leaf's filter keys; history keeps 32.
	ListBytes          int
	ListChunkBytes     int
	RecordTargets      int // Agents of one assignment, leaves of one queue record, values sealed anew.
	ForgottenAtOneTime int // Of each kind, by one entry: none is slow.
	ExpiredAtOneTick   int // Holds that end by one tick.
	HoldSecondsLeast   uint32
	HoldSecondsMost    uint32
	URLBytes           int // Of a webhook.
	EventTypes         int // That a webhook names.
	SealedBytes        int // One sealed value.
	StatusVersions     int // Of one party, that are looked at one by one when its status changes.
}

// TimeLimits are lengths of log time.
type TimeLimits struct {
	AgentValidity       Time
	UserValidity        Time
	UserStored          Time
	AttestationValidity Time
	AttestationStored   Time
	Retention           Time
	IdempotencyKept     Time
	IdempotencyYoung    Time // A key younger than this is never displaced.
	ClaimLease          Time
	Overlap             Time
	ReferenceKept       Time
	ReferenceYoung      Time // A reference younger than this is never displaced.
	ProposalKept        Time
	SARDue              Time
	DeadLetterKept      Time
	ExpiryNotice        Time // Before a credential or an API key ends.
	AttestationNotice   Time // Before an attestation does.
	StatusEvery         Time // From one making of the status lists to the next; what they call ttl.
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

// limitsByFormat holds one row a format, in literals: no constant is named, so that
// raising one cannot change what a format means. A format without a row has the limits
// of the one before.
var limitsByFormat = fillLimits([FormatNewest + 1]*Limits{
	Format1: {TableLimits{
		Agents: 16_777_216, Users: 4_194_304, Fleets: 262_144, Operators: 1_048_576,
		OpenReviews: 4_194_304, Idempotency: 8_388_608,
		ClosedReviews: 33_554_432, Structuring: 1_048_576,
		APIKeys: 10_000, SigningKeys: 64, Cleared: 100_000,
		ListHistory: 256, Removed: 1024, LogLines: 64,
		Holds: 4_194_304, Outcomes: 33_554_432, References: 16_777_216,
		Proposals: 65_536, Alerts: 65_536, SARs: 1_048_576,
		Webhooks: 1000, DeadLetters: 65_536, WebhooksOfOperator: 32, Dues: 67_108_864, Epochs: 64,
		Statuses: 67_108_864,
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
		Comments:           32,
		FieldBytes:         256,
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
		IdempotencyKept:     24 * Hour,
		IdempotencyYoung:    5 * Minute,
		ClaimLease:          10 * Minute,
		Overlap:             168 * Hour,
		ReferenceKept:       30 * DayLength,
		ReferenceYoung:      24 * Hour,
		ProposalKept:        24 * Hour,
		SARDue:              30 * DayLength,
		DeadLetterKept:      30 * DayLength,
		ExpiryNotice:        7 * DayLength,
		AttestationNotice:   Hour,
		StatusEvery:         Minute,
	}},
})

// LimitsOf returns the limits of a format that this binary knows; of another it
// panics: nothing of it may be applied.
func LimitsOf(format Format) *Limits {
	if format < Format1 || format > FormatNewest {
		panic("BUG: limits of a format that this binary does not know")
	}
	return limitsByFormat[format]
}
