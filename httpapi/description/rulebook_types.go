package description

type PolicyVersion struct {
	PolicyVersion int64          `json:"policyVersion"`
	Policy        PolicyDocument `json:"policy"`
	Widened       []string       `json:"widened"`
	Reason        *string        `json:"reason"`
	ActivatedAt   Time           `json:"activatedAt"`
	EventID       string         `json:"eventId,omitempty"`
	ActorKeyID    string         `json:"actorKeyId,omitempty"`
	Unchanged     bool           `json:"unchanged,omitempty"`
}

type Policy struct {
	PolicyVersion int64             `json:"policyVersion"`
	RuleSet       string            `json:"ruleSet"`
	Policy        PolicyDocument    `json:"policy"`
	Modes         map[string]string `json:"modes" each:"{\"enum\": [\"review\", \"block\", \"shadow\", \"off\"]}" schema:"{\"propertyNames\": {\"pattern\": \"^R[0-9]+_\"}}"`
	Whitelist     WhitelistSummary  `json:"whitelist"`
}

type JobProgress struct {
	Leaves int64 `json:"leaves"`
	Of     int64 `json:"of"`
}

type JobSummary struct {
	ID             string      `json:"id"`
	Node           string      `json:"node"`
	State          JobState    `json:"state"`
	Error          string      `json:"error,omitempty"`
	CreatedBy      string      `json:"createdBy"`
	CreatedByName  *string     `json:"createdByName" doc:"what that key is called, as long as it is known"`
	CreatedAt      Time        `json:"createdAt"`
	EndedAt        Time        `json:"endedAt,omitempty"`
	From           Time        `json:"from"`
	To             Time        `json:"to"`
	ListSnapshotID *string     `json:"listSnapshotId"`
	Progress       JobProgress `json:"progress"`
	PolicyGiven    bool        `json:"policyGiven"`
	Records        int64       `json:"records"`
	Changed        int64       `json:"changed"`
}

type JobSide struct {
	Verdict string  `json:"verdict" enum:"PROCEED REVIEW BLOCK UNKNOWN"`
	Rule    *string `json:"rule"`
	Reason  string  `json:"reason"`
}

type JobCounts struct {
	Recorded  Number `json:"recorded"`
	Candidate Number `json:"candidate"`
}

type Job struct {
	ID             string          `json:"id"`
	Node           string          `json:"node"`
	State          JobState        `json:"state"`
	Error          string          `json:"error,omitempty"`
	CreatedBy      string          `json:"createdBy"`
	CreatedByName  *string         `json:"createdByName" doc:"what that key is called, as long as it is known"`
	CreatedAt      Time            `json:"createdAt"`
	EndedAt        Time            `json:"endedAt,omitempty"`
	From           Time            `json:"from"`
	To             Time            `json:"to"`
	ListSnapshotID *string         `json:"listSnapshotId"`
	Progress       JobProgress     `json:"progress"`
	Policy         *PolicyDocument `json:"policy"`
	Records        int64           `json:"records" doc:"Calls judged again."`
	Changed        int64           `json:"changed" doc:"Of them with another verdict."`
	Differing      int64           `json:"differing" doc:"Of them with another verdict, rule, reason or other rules that fired."`
	Matrix         []struct {
		Recorded   string `json:"recorded"`
		Candidate  string `json:"candidate"`
		Count      int64  `json:"count"`
		AmountUSDC Number `json:"amountUSDC"`
	} `json:"matrix"`
	Rules []struct {
		Rule      *string `json:"rule"`
		Recorded  int64   `json:"recorded"`
		Candidate int64   `json:"candidate"`
		Gained    int64   `json:"gained"`
		Lost      int64   `json:"lost"`
	} `json:"rules"`
	Reviews struct {
		Recorded  int64     `json:"recorded"`
		Candidate int64     `json:"candidate"`
		PerDay    JobCounts `json:"perDay"`
		Days      []struct {
			Day       string `json:"day" format:"date"`
			Recorded  int64  `json:"recorded"`
			Candidate int64  `json:"candidate"`
		} `json:"days"`
	} `json:"reviews"`
	Agents struct {
		Judged     int64    `json:"judged"`
		Exact      int64    `json:"exact"`
		Inexact    int64    `json:"inexact"`
		InexactIDs []string `json:"inexactIds"`
		Truncated  bool     `json:"truncated"`
	} `json:"agents"`
	Saved struct {
		Count           int64        `json:"count" doc:"calls that waited for an officer, and would not wait under the candidate"`
		Approved        int64        `json:"approved" doc:"that officers approved until the last record that was read"`
		Refused         int64        `json:"refused" doc:"that they rejected or escalated"`
		Undecided       int64        `json:"undecided"`
		Truncated       bool         `json:"truncated" doc:"there were more than are followed"`
		RefusedExamples []JobExample `json:"refusedExamples"`
	} `json:"saved" doc:"what officers said of the reviews that the candidate saves"`
	NotHeld struct {
		Rules []struct {
			Rule    string `json:"rule"`
			Records int64  `json:"records"`
		} `json:"rules"`
		Credentials      int64 `json:"credentials"`
		ListGone         int64 `json:"listGone"`
		ListAgeUnknown   int64 `json:"listAgeUnknown"`
		OfficerDecisions int64 `json:"officerDecisions"`
		Unreadable       int64 `json:"unreadable"`
	} `json:"notHeld"`
	Examples []JobExample `json:"examples"`
}

type JobExample struct {
	TxnID      string  `json:"txnId"`
	AgentID    string  `json:"agentId,omitempty"`
	ScreenedAt Time    `json:"screenedAt"`
	Amount     Number  `json:"amount"`
	Recorded   JobSide `json:"recorded"`
	Candidate  JobSide `json:"candidate"`
}

type RetroRun struct {
	RetroID        string  `json:"retroId"`
	ListVersion    int64   `json:"listVersion"`
	ListSnapshotID *string `json:"listSnapshotId"`
	Against        *string `json:"against"`
	From           Time    `json:"from"`
	Asked          bool    `json:"asked" doc:"By somebody; else because the list was activated."`
	StartedAt      Time    `json:"startedAt"`
	EndedAt        *Time   `json:"endedAt"`
	State          string  `json:"state" enum:"running done"`
	Hits           int64   `json:"hits"`
	Known          int64   `json:"known" doc:"Hits that earlier runs of the same list told of: they have a leaf and an alert, and are not told again."`
	Progress       struct {
		Leaf    int64 `json:"leaf"`
		EndLeaf int64 `json:"endLeaf"`
	} `json:"progress,omitempty"`
}

type RetroSum struct {
	Count      int64  `json:"count"`
	AmountUSDC Number `json:"amountUSDC"`
}

type RetroPayments struct {
	Count      int64    `json:"count"`
	AmountUSDC Number   `json:"amountUSDC"`
	Proceeded  RetroSum `json:"proceeded"`
	First      Time     `json:"first,omitempty"`
	Last       Time     `json:"last,omitempty"`
	TxnIDs     []string `json:"txnIds"`
}

type RetroReport struct {
	RetroRun
	All struct {
		Text     string        `json:"text"`
		Payments RetroPayments `json:"payments"`
		Parties  int64         `json:"parties"`
		PartyIDs []string      `json:"partyIds"`
		Listed   bool          `json:"listed" doc:"By a wallet or a name that blocks; else by one that may be meant."`
	} `json:"all"`
	Entries []struct {
		UID      string        `json:"uid"`
		Name     string        `json:"name,omitempty"`
		Type     string        `json:"type,omitempty"`
		List     string        `json:"list,omitempty"`
		EntryID  string        `json:"entryId,omitempty" doc:"its id on a list beside OFAC's"`
		Programs []string      `json:"programs,omitempty"`
		Text     string        `json:"text"`
		Payments RetroPayments `json:"payments"`
		Parties  int64         `json:"parties"`
		PartyIDs []string      `json:"partyIds"`
		Listed   bool          `json:"listed" doc:"By a wallet or a name that blocks; else by one that may be meant."`
	} `json:"entries"`
	Truncated bool `json:"truncated"`
	Data      []struct {
		TxnID      string  `json:"txnId,omitempty"`
		AgentID    string  `json:"agentId,omitempty"`
		UserID     string  `json:"userId,omitempty"`
		OperatorID string  `json:"operatorId,omitempty"`
		Verdict    string  `json:"verdict,omitempty"`
		ScreenedAt Time    `json:"screenedAt,omitempty"`
		Amount     Number  `json:"amount,omitempty"`
		Entries    []int64 `json:"entries"`
		Wallet     bool    `json:"wallet"`
		Listed     bool    `json:"listed"`
	} `json:"data"`
	NextCursor *string `json:"nextCursor"`
}

type PolicyCheck struct {
	Valid  bool `json:"valid"`
	Errors []struct {
		Param   string `json:"param"`
		Message string `json:"message"`
	} `json:"errors"`
	Widens      []string       `json:"widens"`
	NeedsReason bool           `json:"needsReason"`
	Policy      PolicyDocument `json:"policy,omitempty"`
}

type List struct {
	SnapshotID  string  `json:"snapshotId"`
	Source      string  `json:"source"`
	Sha256      string  `json:"sha256"`
	Sample      bool    `json:"sample"`
	PublishedAt *string `json:"publishedAt" format:"date-time"`
	StagedAt    *string `json:"stagedAt" format:"date-time"`
	ActivatedAt Time    `json:"activatedAt,omitempty"`
	ListVersion int64   `json:"listVersion,omitempty"`
	Counts      struct {
		Entries     int64 `json:"entries"`
		SDN         int64 `json:"sdn"`
		CONS        int64 `json:"cons"`
		Names       int64 `json:"names"`
		Wallets     int64 `json:"wallets"`
		Individuals int64 `json:"individuals"`
		Entities    int64 `json:"entities"`
		Vessels     int64 `json:"vessels"`
		Aircraft    int64 `json:"aircraft"`
	} `json:"counts"`
	Families struct {
		SDN struct {
			Entries     int64   `json:"entries"`
			PublishedAt *string `json:"publishedAt" format:"date-time"`
		} `json:"SDN"`
		CONS struct {
			Entries     int64   `json:"entries"`
			PublishedAt *string `json:"publishedAt" format:"date-time"`
		} `json:"CONS"`
	} `json:"families"`
	Missing        []string         `json:"missing"`
	WalletsByChain map[string]int64 `json:"walletsByChain"`
	Quarantined    int64            `json:"quarantined"`
	Warnings       []string         `json:"warnings"`
	SizeBytes      int64            `json:"sizeBytes"`
	OFACSource     string           `json:"ofacSource,omitempty"`
	SyncedAt       Time             `json:"syncedAt,omitempty"`
	AgeSeconds     int64            `json:"ageSeconds,omitempty" doc:"since a source confirmed it"`
	Stale          bool             `json:"stale,omitempty" doc:"not confirmed within ofac.maxAge, or published more than 30 days ago"`

	PublicationAgeSeconds *int64 `json:"publicationAgeSeconds,omitempty" doc:"since its core sources were published; null where that is not known"`
}

type ListLeft struct {
	Parties int64    `json:"parties"`
	Names   int64    `json:"names" doc:"names of parties that stay"`
	Wallets int64    `json:"wallets"`
	First   []string `json:"first" doc:"the first of them; the diff has all"`
}

type ListShown struct {
	List
	Active   bool     `json:"active"`
	Problems []string `json:"problems" doc:"what activation would say now"`
	Left     ListLeft `json:"left" doc:"who would leave the active list"`
}

type Lists struct {
	Active  *List  `json:"active"`
	Staged  []List `json:"staged"`
	History []List `json:"history"`
	Sync    struct {
		Node          string  `json:"node"`
		Source        *string `json:"source"`
		Running       bool    `json:"running"`
		LastTryAt     *string `json:"lastTryAt" format:"date-time"`
		LastSuccessAt *string `json:"lastSuccessAt" format:"date-time"`
		Error         *string `json:"error"`
	} `json:"sync,omitempty"`
}

type ListStatus struct {
	Number        *int64   `json:"number,omitempty" doc:"of a list beside OFAC's, for as long as it is one: the label of its metrics"`
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Authority     string   `json:"authority"`
	Effect        string   `json:"effect" doc:"block or review"`
	Format        string   `json:"format" doc:"ofac, un-xml, ftm or own"`
	Families      []string `json:"families" doc:"what is taken of its files; none: everything"`
	Entries       int64    `json:"entries"`
	Names         int64    `json:"names"`
	Wallets       int64    `json:"wallets"`
	PublishedAt   *string  `json:"publishedAt" format:"date-time"`
	SyncedAt      Time     `json:"syncedAt" doc:"when it was last imported or found current"`
	AgeSeconds    int64    `json:"ageSeconds"`
	MaxAgeSeconds *int64   `json:"maxAgeSeconds" doc:"null: it is never late"`
	Late          bool     `json:"late"`
}

type ListEntry struct {
	ID          string             `json:"id" length:"1-200"`
	Kind        string             `json:"kind" doc:"individual, entity, vessel, aircraft or wallet"`
	Name        *string            `json:"name,omitempty"`
	Aliases     []string           `json:"aliases,omitempty"`
	Wallets     []string           `json:"wallets,omitempty"`
	Identifiers []ListedIdentifier `json:"identifiers,omitempty"`
	Countries   []string           `json:"countries,omitempty"`
	Reason      *string            `json:"reason,omitempty"`
	Until       *string            `json:"until,omitempty" doc:"a day, which still counts, or a time; afterwards the entry matches nothing"`
}

type ListedIdentifier struct {
	Type    string  `json:"type"`
	Value   string  `json:"value"`
	Country *string `json:"country,omitempty"`
}

type ListChange struct {
	SnapshotID  string  `json:"snapshotId"`
	Source      string  `json:"source"`
	Sha256      string  `json:"sha256"`
	Sample      bool    `json:"sample,omitempty"`
	PublishedAt *string `json:"publishedAt,omitempty" format:"date-time"`
	StagedAt    *string `json:"stagedAt,omitempty" format:"date-time"`
	ActivatedAt Time    `json:"activatedAt,omitempty"`
	ListVersion int64   `json:"listVersion,omitempty"`
	Counts      struct {
		Entries     int64 `json:"entries"`
		SDN         int64 `json:"sdn"`
		CONS        int64 `json:"cons"`
		Names       int64 `json:"names"`
		Wallets     int64 `json:"wallets"`
		Individuals int64 `json:"individuals"`
		Entities    int64 `json:"entities"`
		Vessels     int64 `json:"vessels"`
		Aircraft    int64 `json:"aircraft"`
	} `json:"counts,omitempty"`
	Families struct {
		SDN struct {
			Entries     int64   `json:"entries"`
			PublishedAt *string `json:"publishedAt" format:"date-time"`
		} `json:"SDN"`
		CONS struct {
			Entries     int64   `json:"entries"`
			PublishedAt *string `json:"publishedAt" format:"date-time"`
		} `json:"CONS"`
	} `json:"families,omitempty"`
	Missing            []string         `json:"missing,omitempty"`
	WalletsByChain     map[string]int64 `json:"walletsByChain,omitempty"`
	Quarantined        int64            `json:"quarantined,omitempty"`
	Warnings           []string         `json:"warnings,omitempty"`
	SizeBytes          int64            `json:"sizeBytes,omitempty"`
	Entries            int64            `json:"entries,omitempty"`
	SyncedAt           Time             `json:"syncedAt,omitempty"`
	PreviousSnapshotID *string          `json:"previousSnapshotId,omitempty"`
	Forced             bool             `json:"forced,omitempty"`
	Rollback           bool             `json:"rollback,omitempty"`
	Problems           []string         `json:"problems,omitempty"`
	Left               ListLeft         `json:"left,omitempty" doc:"who left, or would leave, the list before"`
	EntryIDs           []string         `json:"entryIds,omitempty" doc:"the entries of an own list that were added, changed or ended"`
	Reason             *string          `json:"reason,omitempty"`
	Actor              *string          `json:"actor,omitempty"`
	EventID            string           `json:"eventId,omitempty"`
	Unchanged          bool             `json:"unchanged,omitempty"`
}

type ListDiffPart struct {
	Count   int64 `json:"count"`
	Entries []struct {
		UID      string   `json:"uid"`
		Name     string   `json:"name,omitempty"`
		Type     string   `json:"type,omitempty"`
		List     string   `json:"list,omitempty"`
		Programs []string `json:"programs,omitempty"`
		Ticker   string   `json:"ticker,omitempty"`
		Address  string   `json:"address,omitempty"`
		Changed  []string `json:"changed,omitempty"`
	} `json:"entries"`
	Truncated bool `json:"truncated"`
}

type ListDiff struct {
	From             string       `json:"from"`
	To               string       `json:"to"`
	Added            ListDiffPart `json:"added"`
	Removed          ListDiffPart `json:"removed"`
	Changed          ListDiffPart `json:"changed"`
	AddressesAdded   ListDiffPart `json:"addressesAdded"`
	AddressesRemoved ListDiffPart `json:"addressesRemoved"`
}

type Match struct {
	Party
	Alias       string `json:"alias,omitempty"`
	Quality     string `json:"quality,omitempty"`
	Form        string `json:"form,omitempty"`
	Score       Number `json:"score,omitempty"`
	Strict      Number `json:"strict,omitempty"`
	Outcome     string `json:"outcome"`
	Cleared     bool   `json:"cleared,omitempty" doc:"an officer cleared the pair, and the clearing holds for what is asked"`
	ClearedID   string `json:"clearedId,omitempty"`
	Clearing    string `json:"clearing,omitempty" doc:"why the cleared pair does not hold"`
	Ticker      string `json:"ticker,omitempty"`
	Why         string `json:"why,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	Pairs       []struct {
		Query      string `json:"query"`
		Listed     string `json:"listed"`
		Kind       string `json:"kind"`
		Similarity Number `json:"similarity"`
		Bits       Number `json:"bits"`
	} `json:"pairs,omitempty"`
	Others []struct {
		Where string `json:"where"`
		What  string `json:"what"`
		Bits  Number `json:"bits"`
	} `json:"others,omitempty"`
	Bits       Number `json:"bits,omitempty"`
	BitsNeeded Number `json:"bitsNeeded,omitempty"`
}

type Matches struct {
	Outcome     string  `json:"outcome" enum:"CLEAR REVIEW BLOCK"`
	ListVersion int64   `json:"listVersion"`
	Matches     []Match `json:"matches"`
	Truncated   bool    `json:"truncated"`
	NotCompared string  `json:"notCompared,omitempty" doc:"what of the name could not be compared, and why: R21 reviews it"`
	Query       struct {
		Name            *string `json:"name"`
		Normalised      *string `json:"normalised"`
		Wallet          *string `json:"wallet"`
		CanonicalWallet *string `json:"canonicalWallet"`
		CpType          *string `json:"cpType"`
		CpCountry       *string `json:"cpCountry,omitempty"`
		CpDateOfBirth   *string `json:"cpDateOfBirth,omitempty"`
		CpAddress       *string `json:"cpAddress,omitempty"`
	} `json:"query"`
	SnapshotID string `json:"snapshotId"`
	OFACSource string `json:"ofacSource"`
}

type ClearedGrounds struct {
	DateOfBirth string             `json:"dateOfBirth,omitempty" length:"-FieldMax"`
	Country     string             `json:"country,omitempty" length:"-FieldMax"`
	Address     string             `json:"address,omitempty" length:"-FieldMax"`
	Identifiers []GroundIdentifier `json:"identifiers,omitempty" items:"-8"`
	OperatorID  string             `json:"operatorId,omitempty" length:"-FieldMax" doc:"whose payments the clearing is about"`
	AgentID     string             `json:"agentId,omitempty" length:"-FieldMax"`
}

type GroundIdentifier struct {
	Type    string  `json:"type" enum:"bic iban lei tax_id registration national_id passport imo mmsi aircraft_tail email website phone duns account"`
	Value   string  `json:"value" length:"-FieldMax"`
	Country *string `json:"country,omitempty" length:"-FieldMax" doc:"Of whoever gave it."`
}

type ClearedPair struct {
	ClearedID string          `json:"clearedId"`
	Name      string          `json:"name"`
	UID       string          `json:"uid"`
	EntryName *string         `json:"entryName" doc:"as the active list calls the entry; null: it is listed no more"`
	ExpiresAt *string         `json:"expiresAt" format:"date-time"`
	InForce   bool            `json:"inForce"`
	Void      any             `json:"void" schema:"{\"enum\": [\"expired\", \"entry_changed\", \"entry_removed\", null]}" doc:"why it is in force no more"`
	Grounds   *ClearedGrounds `json:"grounds" doc:"what the clearing rests on; null for keys that see no names"`
	NameOnly  bool            `json:"nameOnly" doc:"it rests on the name alone"`
	Reason    string          `json:"reason"`
	ClearedBy *string         `json:"clearedBy"`
	ClearedAt Time            `json:"clearedAt"`
}

type ClearedChange struct {
	ClearedID  string          `json:"clearedId"`
	Name       string          `json:"name,omitempty"`
	Normalised string          `json:"normalised,omitempty"`
	UID        string          `json:"uid,omitempty"`
	EntryName  string          `json:"entryName,omitempty"`
	ExpiresAt  *string         `json:"expiresAt,omitempty" format:"date-time"`
	Removed    bool            `json:"removed,omitempty"`
	RemovedAt  Time            `json:"removedAt,omitempty"`
	Grounds    *ClearedGrounds `json:"grounds,omitempty"`
	NameOnly   bool            `json:"nameOnly,omitempty"`
	TxnID      string          `json:"txnId,omitempty"`
	Reason     *string         `json:"reason"`
	Actor      *string         `json:"actor,omitempty"`
	ClearedBy  *string         `json:"clearedBy,omitempty"`
	ClearedAt  Time            `json:"clearedAt,omitempty"`
	EventID    string          `json:"eventId,omitempty"`
	Unchanged  bool            `json:"unchanged,omitempty"`
}
