package leaf

import "railguard/engine"

// SARCase says which suspicious activity report a leaf is about. It places the leaf among those of
// the report and not among those of the record and the agent, whose operator counts them and must
// learn of no report.
type SARCase struct {
	TxnID          string `leaf:"txnId" event:"1"`
	ReviewedLeaf   uint64 `leaf:"reviewedLeaf" doc:"the record"`
	ReportLeaf     uint64 `leaf:"reportLeaf" doc:"the leaf that opened the report"`
	ReportPrevious uint64 `leaf:"reportPrevious,omitempty" doc:"the leaf about the report before this one"`
}

// SAROpened is a report that an officer opened.
type SAROpened struct {
	SARCase
	DueAt engine.Time `leaf:"dueAt" event:"2"`

	OpenedBy string `leaf:"openedBy,edge"`
	Reason   string `leaf:"reason,edge"`
}

// SARWritten is the narrative of a report. The one before it stays in its own leaf.
type SARWritten struct {
	SARCase
	State    string   `leaf:"state" event:"3" doc:"of the report"`
	Hash     [32]byte `leaf:"narrativeSha256"`
	Finished bool     `leaf:"finished" event:"4" doc:"it leaves no question open"`

	By        string `leaf:"by,edge"`
	Narrative string `leaf:"narrative,edge"`
}

// SARMoved is a report that reached another state.
type SARMoved struct {
	SARCase
	From  string      `leaf:"from" event:"6"`
	To    string      `leaf:"to" event:"7"`
	DueAt engine.Time `leaf:"dueAt" event:"2"`
	Hash  [32]byte    `leaf:"narrativeSha256,omitempty" doc:"of the narrative that was moved on"`
	Persons

	By     string `leaf:"by,edge"`
	Reason string `leaf:"reason,edge"`
	BSAID  string `leaf:"bsaId,edge"`
}

// SARDue is a report that is due soon.
type SARDue struct {
	SARCase
	DueAt engine.Time `leaf:"dueAt" event:"2"`
}
