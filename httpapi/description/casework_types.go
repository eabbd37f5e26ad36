package description

type DisposedRecord struct {
	judgedRecord
	RuleTriggered RuleCode `json:"ruleTriggered,omitempty"`
	EventID       string   `json:"eventId,omitempty"`
	Unchanged     bool     `json:"unchanged,omitempty"`
}

type QueueItem struct {
	TxnID             string     `json:"txnId"`
	Rule              RuleCode   `json:"rule" doc:"the rule that decided"`
	Reason            string     `json:"reason"`
	Rules             []RuleCode `json:"rules" doc:"all rules that triggered, in the order of the rule set"`
	GravestRule       RuleCode   `json:"gravestRule" doc:"the one of them that may mean the most"`
	Gravity           string     `json:"gravity" enum:"conduct limit pattern party" doc:"how much it may mean: party, that somebody may be listed or a place embargoed"`
	Amount            Number     `json:"amount"`
	Chain             *string    `json:"chain"`
	Rail              *string    `json:"rail"`
	AgentID           string     `json:"agentId"`
	AgentName         string     `json:"agentName"`
	OperatorLegalName string     `json:"operatorLegalName"`
	CpName            *string    `json:"cpName"`
	CpWallet          *string    `json:"cpWallet"`
	ScreenedAt        Time       `json:"screenedAt"`
	ListVersion       int64      `json:"listVersion"`
	OFACStale         bool       `json:"ofacStale,omitempty" doc:"the list was too old when this was judged"`
	AgeSeconds        int64      `json:"ageSeconds"`
	SLADueAt          *string    `json:"slaDueAt" format:"date-time" doc:"until when it may wait by the policy's review.sla"`
	SLABreached       bool       `json:"slaBreached"`
	Proposed          *Proposed  `json:"proposed" doc:"what one person proposed and another has to confirm"`
	Assignee          *string    `json:"assignee"`
	LeaseExpiresAt    *string    `json:"leaseExpiresAt" format:"date-time"`
	Comments          int64      `json:"comments"`
	Priority          int64      `json:"priority" doc:"1 to 8: twice the gravity, one less below 10,000 USD"`
	SimilarOpen       int64      `json:"similarOpen" doc:"open cases of the same agent that triggered the rule which decided this one; this one counts"`
	SamePayeeOpen     int64      `json:"samePayeeOpen" doc:"open cases in which the same party is paid; this one counts; 0: the call does not say who is paid"`
	State             string     `json:"state"`
}

type QueueEvent struct {
	TxnID          string  `json:"txnId"`
	EventID        string  `json:"eventId,omitempty"`
	Time           Time    `json:"time"`
	Event          string  `json:"event"`
	Assignee       *string `json:"assignee,omitempty"`
	LeaseExpiresAt *string `json:"leaseExpiresAt,omitempty" format:"date-time"`
	Actor          *string `json:"actor"`
	Comment        string  `json:"comment,omitempty"`
	Unchanged      bool    `json:"unchanged,omitempty"`
	Item           struct {
		TxnID             string          `json:"txnId"`
		Verdict           Verdict         `json:"verdict"`
		Rule              RuleCode        `json:"rule"`
		Reason            string          `json:"reason"`
		AgentID           string          `json:"agentId"`
		AgentName         string          `json:"agentName"`
		OperatorLegalName string          `json:"operatorLegalName"`
		ScreenedAt        Time            `json:"screenedAt"`
		Request           RecordedRequest `json:"_request"`
	} `json:"item"`
}

type BulkDecision struct {
	_                 struct{} `doc:"What a call of its own would have been answered, in short, behind its status; or its error."`
	Status            int64    `json:"status"`
	TxnID             string   `json:"txnId"`
	Disposition       *string  `json:"disposition,omitempty"`
	Proposed          Proposed `json:"proposed,omitempty"`
	ReviewedBy        string   `json:"reviewedBy,omitempty"`
	ReviewedAt        Time     `json:"reviewedAt,omitempty"`
	Notes             string   `json:"notes,omitempty"`
	SAREscalated      bool     `json:"sarEscalated,omitempty"`
	OverLimitApproved bool     `json:"overLimitApproved,omitempty"`
	NotHeld           bool     `json:"notHeld,omitempty"`
	Recheck           Free     `json:"recheck,omitempty" free:"what the same payment would be today"`
	Replayed          bool     `json:"replayed,omitempty"`
	Error             string   `json:"error,omitempty"`
	Code              string   `json:"code,omitempty"`
	Message           string   `json:"message,omitempty"`
	Statement         string   `json:"statement,omitempty" doc:"This and the two behind it: of passkey_required, as in Error; one signature is about all."`
	Challenge         string   `json:"challenge,omitempty"`
	Passkeys          []string `json:"passkeys,omitempty"`
	Param             string   `json:"param,omitempty"`
	RequestID         string   `json:"requestId,omitempty"`
	Docs              string   `json:"docs,omitempty"`
	Outcome           string   `json:"outcome,omitempty" enum:"none unknown"`
}

type BulkAcknowledgement struct {
	Status         int64  `json:"status"`
	AlertID        string `json:"alertId"`
	AcknowledgedAt string `json:"acknowledgedAt,omitempty" format:"date-time"`
	AcknowledgedBy string `json:"acknowledgedBy,omitempty"`
	Reason         string `json:"reason,omitempty"`
	Replayed       bool   `json:"replayed,omitempty"`
	Error          string `json:"error,omitempty"`
	Code           string `json:"code,omitempty"`
	Message        string `json:"message,omitempty"`
	RequestID      string `json:"requestId,omitempty"`
	TxnID          any    `json:"txnId,omitempty" schema:"{\"type\": \"null\"}"`
	Docs           string `json:"docs,omitempty"`
	Outcome        string `json:"outcome,omitempty" enum:"none unknown"`
}

type SARSummary struct {
	TxnID       string   `json:"txnId"`
	State       SARState `json:"state"`
	OpenedAt    Time     `json:"openedAt"`
	DueAt       Time     `json:"dueAt"`
	Overdue     bool     `json:"overdue"`
	EscalatedBy string   `json:"escalatedBy,omitempty" doc:"where an escalation opened it"`
	OpenedBy    string   `json:"openedBy"`
	Reason      *string  `json:"reason" doc:"why it was opened"`

	NarrativeFinished bool `json:"narrativeFinished" doc:"somebody wrote it, and it leaves no question open"`

	FiledAt Time     `json:"filedAt,omitempty" doc:"this and the next two: of a report that is FILED"`
	FiledBy string   `json:"filedBy,omitempty"`
	BsaID   string   `json:"bsaId,omitempty"`
	Waits   *SARWait `json:"waits,omitempty" doc:"the step that waits for a second person"`

	AgentID           string  `json:"agentId,omitempty" doc:"this and the next five: in the list"`
	AgentName         string  `json:"agentName,omitempty"`
	OperatorLegalName string  `json:"operatorLegalName,omitempty"`
	CpName            *string `json:"cpName,omitempty" doc:"who is paid"`
	CpWallet          *string `json:"cpWallet,omitempty"`
	Amount            Number  `json:"amount,omitempty"`
}

type SARWait struct {
	ProposalID string   `json:"proposalId"`
	To         SARState `json:"to"`
	ProposedBy string   `json:"proposedBy"`
	ProposedAt Time     `json:"proposedAt"`
	ExpiresAt  Time     `json:"expiresAt"`
}

type SAROpened struct {
	TxnID    string   `json:"txnId"`
	State    SARState `json:"state"`
	OpenedAt Time     `json:"openedAt"`
	DueAt    Time     `json:"dueAt"`
	OpenedBy string   `json:"openedBy"`
	Reason   string   `json:"reason"`
	EventID  string   `json:"eventId"`
}

type SARWritten struct {
	TxnID           string   `json:"txnId"`
	State           SARState `json:"state"`
	NarrativeSHA256 string   `json:"narrativeSha256" doc:"what the next narrative replaces"`
	Finished        bool     `json:"finished" doc:"false: it leaves a question in brackets open, or is the skeleton, so the report cannot become READY"`
	Actor           string   `json:"actor"`
	EventID         string   `json:"eventId"`
	WrittenAt       Time     `json:"writtenAt"`
}

type SARPacket struct {
	SARSummary
	Notes   string `json:"notes,omitempty"`
	History []struct {
		Time   Time     `json:"time"`
		From   SARState `json:"from"`
		To     SARState `json:"to"`
		Actor  string   `json:"actor"`
		Reason string   `json:"reason,omitempty"`
		BsaID  string   `json:"bsaId,omitempty"`
	} `json:"history"`
	Narratives []struct {
		Time            Time   `json:"time"`
		Actor           string `json:"actor"`
		NarrativeSHA256 string `json:"narrativeSha256"`
		Finished        bool   `json:"finished"`
	} `json:"narratives" doc:"that were written, the oldest first; each is a leaf"`
	Subject  Free `json:"subject" free:"who it is about, as the record names them"`
	Activity struct {
		From          Time   `json:"from"`
		To            Time   `json:"to"`
		Count         int64  `json:"count"`
		TotalUSDC     Number `json:"totalUSDC"`
		Agents        int64  `json:"agents" doc:"how many agents asked for them"`
		Proceeded     int64  `json:"proceeded" doc:"that went ahead: PROCEED, approved or settled, and not released"`
		ProceededUSDC Number `json:"proceededUSDC"`
		Complete      bool   `json:"complete"`
		Transactions  []Free `json:"transactions" each:"{\"x-free\": \"txnId, screenedAt, verdict, rule, amount, disposition\"}"`
	} `json:"activity"`
	Evidence         Free    `json:"evidence" free:"members of the record, and the listed parties it resembles"`
	NarrativeIsDraft bool    `json:"narrativeIsDraft" doc:"nobody has finished it"`
	NarrativeSHA256  *string `json:"narrativeSha256" doc:"null: nobody has written one, and the narrative is a skeleton from the records"`
	Narrative        string  `json:"narrative"`
}

type SARMove struct {
	TxnID   string   `json:"txnId"`
	State   SARState `json:"state"`
	From    SARState `json:"from"`
	DueAt   Time     `json:"dueAt"`
	Actor   string   `json:"actor"`
	Reason  string   `json:"reason,omitempty"`
	BsaID   string   `json:"bsaId,omitempty"`
	EventID string   `json:"eventId,omitempty"`
	MovedAt Time     `json:"movedAt"`
}

type Alert struct {
	AlertID           string    `json:"alertId"`
	Kind              AlertKind `json:"kind"`
	Text              string    `json:"text"`
	State             string    `json:"state" enum:"open acknowledged"`
	OpenedAt          Time      `json:"openedAt"`
	DueAt             Time      `json:"dueAt" doc:"until when it may wait: as long as a review (review.sla), or 72 hours"`
	Overdue           bool      `json:"overdue"`
	Assignee          *string   `json:"assignee" doc:"who works on it"`
	LeaseExpiresAt    *string   `json:"leaseExpiresAt" format:"date-time"`
	Comments          int64     `json:"comments"`
	ListVersion       int64     `json:"listVersion,omitempty"`
	TxnID             string    `json:"txnId,omitempty"`
	AgentID           string    `json:"agentId,omitempty"`
	UserID            string    `json:"userId,omitempty"`
	OperatorID        string    `json:"operatorId,omitempty"`
	OperatorLegalName string    `json:"operatorLegalName,omitempty"`
	Amount            Number    `json:"amount,omitempty"`
	Entries           int64     `json:"entries,omitempty" doc:"how many entities were put aside"`
	LeftParties       int64     `json:"leftParties,omitempty" doc:"of list_left: parties that left the list; the list's diff has all"`
	LeftNames         int64     `json:"leftNames,omitempty"`
	LeftWallets       int64     `json:"leftWallets,omitempty"`
	Left              []string  `json:"left,omitempty" doc:"the first of them"`
	Payments          int64     `json:"payments,omitempty" doc:"how many unresolved payments the agent has; paymentsUSDC is their sum"`
	PaymentsUSDC      Number    `json:"paymentsUSDC,omitempty"`
	LookedBy          string    `json:"lookedBy,omitempty" doc:"the id of the key; without it, the admin token of a node"`
	LookedOn          string    `json:"lookedOn,omitempty" doc:"the node"`
	LookedAt          Time      `json:"lookedAt,omitempty" doc:"when the hour began"`
	LookCount         int64     `json:"lookCount,omitempty"`
	UID               int64     `json:"uid,omitempty" doc:"of names_probed: the listed party"`
	TwoPersons        []string  `json:"twoPersons,omitempty" doc:"what one person did alone"`
	Person            string    `json:"person,omitempty" doc:"who did it"`
	CaseID            string    `json:"caseId,omitempty" doc:"of sanctions_report: the case"`
	LookID            string    `json:"lookId,omitempty" doc:"this and the two behind it: of second_look"`
	FirstDisposition  string    `json:"firstDisposition,omitempty" enum:"APPROVED REJECTED ESCALATE_SAR" doc:"what was decided"`
	SecondDisposition string    `json:"secondDisposition,omitempty" enum:"APPROVED REJECTED ESCALATE_SAR" doc:"what the second officer would have decided"`
	ReconciliationID  string    `json:"reconciliationId,omitempty" doc:"this and the six behind it: of reconciliation_fault"`
	Rail              string    `json:"rail,omitempty"`
	Class             string    `json:"class,omitempty" doc:"what is wrong: docs/reconciliation.md"`
	Settlement        string    `json:"settlement,omitempty" doc:"what the extract calls it; absent: the rail has none"`
	TxnIDs            []string  `json:"txnIds,omitempty" doc:"the records that it is about, at most 16"`
	Gap               string    `json:"gap,omitempty" doc:"what is missing"`
	Statement         string    `json:"statement,omitempty" doc:"in which statement"`
	AgentName         string    `json:"agentName,omitempty"`
	CpName            *string   `json:"cpName,omitempty" doc:"who was paid"`
	CpWallet          *string   `json:"cpWallet,omitempty"`
	RetroID           string    `json:"retroId,omitempty" doc:"the run that found it"`
	Named             []struct {
		UID     string `json:"uid"`
		Name    string `json:"name,omitempty"`
		List    string `json:"list,omitempty"`
		EntryID string `json:"entryId,omitempty" doc:"its id on a list beside OFAC's"`
	} `json:"named,omitempty" doc:"the entries that the list leads to; without name and list where the node asked has the list no more"`
	AcknowledgedAt *string `json:"acknowledgedAt" format:"date-time"`
	AcknowledgedBy *string `json:"acknowledgedBy"`
	Reason         *string `json:"reason"`
}

type QueueFilter struct {
	State       any `json:"state,omitempty"`
	Rule        any `json:"rule,omitempty"`
	AgentID     any `json:"agentId,omitempty"`
	PayeeOf     any `json:"payeeOf,omitempty"`
	Operator    any `json:"operator,omitempty"`
	MinAmount   any `json:"minAmount,omitempty"`
	MaxAmount   any `json:"maxAmount,omitempty"`
	From        any `json:"from,omitempty"`
	To          any `json:"to,omitempty"`
	Assignee    any `json:"assignee,omitempty"`
	Q           any `json:"q,omitempty"`
	SLABreached any `json:"slaBreached,omitempty"`
	Sort        any `json:"sort,omitempty"`
}

// proposedAnswer answers an act that waits for a second person; proposedPut answers a call that
// takes no Idempotency-Key.
var (
	proposedAnswer = Answer{Status: 202, Text: "Proposed: another person has to confirm it (twoPersons).", Of: ActProposed{}, Headers: "Replayed"}
	proposedPut    = Answer{Status: 202, Text: proposedAnswer.Text, Of: ActProposed{}}
)

type ActProposed struct {
	State         string   `json:"state" enum:"proposed"`
	ProposalID    string   `json:"proposalId"`
	TwoPersons    []string `json:"twoPersons"`
	Act           string   `json:"act" doc:"the kind of the leaf that it will have"`
	TxnID         string   `json:"txnId,omitempty"`
	CaseID        string   `json:"caseId,omitempty" doc:"of a sanctions case's step"`
	KeyID         string   `json:"keyId,omitempty"`
	From          string   `json:"from,omitempty"`
	To            string   `json:"to,omitempty"`
	ProposedBy    string   `json:"proposedBy" doc:"the person of the key, or the key itself"`
	ProposedByKey string   `json:"proposedByKey"`
	ProposedAt    Time     `json:"proposedAt"`
	ExpiresAt     Time     `json:"expiresAt"`
	ProposalHash  string   `json:"proposalHash"`
	Content       Free     `json:"content" free:"what the caller said, as the act's leaf will hold it: docs/FORMATS.md"`
}

type Waiting struct {
	ProposalID    string      `json:"proposalId"`
	TwoPersons    []string    `json:"twoPersons" doc:"what the act is called in the policy's twoPersons"`
	Act           string      `json:"act,omitempty" doc:"the kind of the leaf that it will have; absent of a disposition"`
	TxnID         string      `json:"txnId,omitempty"`
	Disposition   Disposition `json:"disposition,omitempty"`
	CaseID        string      `json:"caseId,omitempty" doc:"of a sanctions case's step"`
	KeyID         string      `json:"keyId,omitempty"`
	From          string      `json:"from,omitempty"`
	To            string      `json:"to,omitempty"`
	ProposedBy    string      `json:"proposedBy" doc:"the person of the key, or the key itself"`
	ProposedByKey string      `json:"proposedByKey"`
	ProposedAt    Time        `json:"proposedAt"`
	ExpiresAt     Time        `json:"expiresAt"`
	ProposalHash  string      `json:"proposalHash"`
	Content       Free        `json:"content" free:"what the caller said, as the act's leaf will hold it: docs/FORMATS.md"`
	MayConfirm    bool        `json:"mayConfirm"`
	Why           *string     `json:"why" doc:"why the caller may not"`
}
