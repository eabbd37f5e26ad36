package engine

// This file holds the bounds that callers and operators meet (decision 59). Bounds that Apply
// reads are in limits_format.go, by format. A bound that only one package needs, such as the
// size of its own buffer, is in that package.
const (
	KiB = 1 << 10
	MiB = 1 << 20

	// Requests.
	ScreenBodyMax     = 64 * KiB
	BodyMax           = 256 * KiB
	ListUploadMax     = 256 * MiB
	HeaderMax         = 16 * KiB
	JSONDepthMax      = 32
	JSONMembersMax    = 1024
	ScreenValuesMax   = 256 // JSON values in the body of a screening call, objects and lists counted.
	BodyValuesMax     = 16_384
	BatchMax          = 256 // Payments in one batch.
	BatchBodyMax      = 2 * MiB
	TokenMax          = 8 * KiB // A longer token is UNKNOWN, R1.
	NameRunesMax      = 512     // agentName, operatorLegalName, legalName, fleetName, cpName, cpAddress, memo.
	TextMax           = 8 * KiB // purpose, note, notes, reason.
	FieldMax          = 256     // protocol, cpWallet, chain, rail, cpType, model, ids; bytes.
	PageDefault       = 50
	PageMax           = 500
	IdempotencyKeyMax = 255

	AddressConnectionsMax = 16_384 // For one client address.
	AddressUnfinishedMax  = 1024   // Requests of one client address that have not arrived whole.

	// State.
	WhitelistMax        = 2000
	ChildrenMax         = 1000
	FleetAgentsMax      = 100_000
	AgentsMax           = 16_777_216
	UsersMax            = 4_194_304
	FleetsMax           = 262_144
	OperatorsMax        = 1_048_576
	OperatorWalletsMax  = 64 // Wallets of one operator.
	OpenReviewsMax      = 4_194_304
	APIKeysMax          = 10_000
	SigningKeysMax      = 64
	ClearedMax          = 100_000
	StructuringMax      = 1_048_576 // Rows of the table of R25; enough for 12 new pairs a second over a day, 176 MB.
	StructuringCallsMax = 16        // Calls kept in one such row; the largest count that R25 can ask for.
	HolidaysMax         = 400
	WindowsMax          = 64
	DepthMax            = 3 // Generations of delegates below the root.
	AttestationsKept    = 8
	CommentsOfKeyMax    = 32     // Comments that one API key may write about a review.
	DryRunsCalm         = 200    // Dry runs of a key on one node within an hour; as many open an alert.
	NamesCalm           = 8      // Different names near one listed party that a key tries in dry runs within an hour; as many open an alert.
	LooksMax            = 16_384 // Rows of looks that a node counts within an hour, of probes, and of counts that wait for the log.
	LooksBatch          = 500    // Counts in one record.
	CommentsKept        = 256    // Comments of a review from which on each key has one more.
	UserAgentsMax       = 64
	ListHistoryMax      = 256
	HoldsMax            = 4_194_304
	AlertsMax           = 65_536

	// Idempotency (decision 31, "Idempotency").

	// Log.
	RecordMax       = 64 * KiB
	PolicyRecordMax = 256 * KiB
	ListChunkMax    = 128 * KiB
	EntryRecordsMax = 512
	EntryMax        = 512 * KiB
	LeafMax         = 64*KiB - 1
	ListMax         = 96 * MiB

	// Proposals that wait on a node, in number and bytes.
	WaitingMax      = 65_536
	WaitingBytesMax = 64 * MiB
	RejudgeMax      = 3 // How often a call is judged in all when its basis goes stale.
)

// Durations, in nanoseconds of log time unless the name says otherwise.
const (
	Millisecond Time = 1_000_000
	Second           = 1000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
	DayLength        = 24 * Hour

	AgentValidity       = 91 * DayLength
	UserValidity        = 30 * DayLength
	UserStored          = 31 * DayLength
	AttestationValidity = 24 * Hour
	AttestationStored   = 25 * Hour
	Retention           = 90 * DayLength
	LogKept             = DayLength // For the log and its snapshots, because they hold the text of records too.
	IdempotencyKept     = 24 * Hour
	ClaimLease          = 10 * Minute
	HoldMin             = 30 * Second
	HoldMax             = 7 * DayLength
	ReferenceKept       = 30 * DayLength
	OverlapDefault      = 24 * Hour
	OverlapMax          = 168 * Hour
	ListAgeDefault      = 48 * Hour
	ClockSkewAllowed    = 60 * Second // For nbf and iat only.
	WriteDeadline       = 2 * Second  // Wall time.
)

// AmountMax is the largest amount of one call: 1e12 USD (decision 59).
const AmountMax USD = 1_000_000_000_000 * Dollar
