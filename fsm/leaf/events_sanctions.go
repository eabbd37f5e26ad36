package leaf

import "railguard/engine"

// SanctionsCase says which sanctions case a leaf is about. It places the leaf among those of the
// case and not among those of the agent, whose operator counts them and must learn of no case.
type SanctionsCase struct {
	CaseID       string `leaf:"caseId" event:"1"`
	CaseLeaf     uint64 `leaf:"caseLeaf" doc:"the leaf that opened it"`
	CasePrevious uint64 `leaf:"casePrevious,omitempty" doc:"the leaf about the case before this one"`
	AgentID      string `leaf:"agentId,omitempty" event:"2" doc:"the root of the agents whose payments were blocked"`
	UserID       string `leaf:"userId,omitempty" event:"3" doc:"instead: a user without an agent"`
	UID          uint32 `leaf:"uid,omitempty" event:"4" doc:"the listed party"`
	Place        string `leaf:"place,omitempty" event:"5" doc:"instead: an ISO 3166 code"`
}

// SanctionsOpened is a case that a BLOCK opened, or an officer.
type SanctionsOpened struct {
	SanctionsCase
	TxnID        string      `leaf:"txnId" event:"6"`
	ScreenedLeaf uint64      `leaf:"screenedLeaf"`
	Amount       engine.USD  `leaf:"amount" event:"7"`
	DueAt        engine.Time `leaf:"dueAt" event:"8" doc:"when its report is overdue"`
	CaseBefore   string      `leaf:"caseBefore,omitempty" event:"12" doc:"the case of the same pair before it"`
	WentAhead    bool        `leaf:"wentAhead,omitempty" event:"14" doc:"an officer opened it: the payment went ahead, and nothing of it is blocked"`

	OpenedBy string `leaf:"openedBy,edge"`
	Reason   string `leaf:"reason,edge"`
}

// SanctionsAgain is the first BLOCK of a pair after an officer found that it is not the party.
type SanctionsAgain struct {
	SanctionsCase
	TxnID        string     `leaf:"txnId" event:"6"`
	ScreenedLeaf uint64     `leaf:"screenedLeaf"`
	Amount       engine.USD `leaf:"amount" event:"7"`
	Count        uint64     `leaf:"count" event:"13" doc:"how many payments the case has"`
}

// SanctionsMoved is a case that reached another state.
type SanctionsMoved struct {
	SanctionsCase
	From      string      `leaf:"from" event:"9"`
	To        string      `leaf:"to" event:"10"`
	CaseKind  string      `leaf:"caseKind,omitempty" event:"11" doc:"rejected_transaction, blocked_property or processed_transaction"`
	DueAt     engine.Time `leaf:"dueAt" event:"8"`
	Reference string      `leaf:"reference,omitempty" doc:"with REPORTED: what OFAC's system gave"`
	Persons

	By     string `leaf:"by,edge"`
	Reason string `leaf:"reason,edge"`
	Notes  string `leaf:"notes,edge"`
}

// SanctionsDue is a case whose report is due soon, or overdue.
type SanctionsDue struct {
	SanctionsCase
	DueAt  engine.Time `leaf:"dueAt" event:"8"`
	Count  uint64      `leaf:"count" event:"13"`
	Amount engine.USD  `leaf:"amountUSDC" event:"7" doc:"of all its payments"`
}
