package edge

import (
	"encoding/binary"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// ReconciliationNote builds the record of a comparison of a rail's extract with the log that ended
// well: its summary, one JSON object that names no party and no payment, and the API key that asked.
func ReconciliationNote(id, keyID string, summary []byte) *wire.Note {
	var m strictjson.Members
	m.Text("reconciliationId", id)
	m.Text("actorKeyId", keyID)
	m.Join(summary[1 : len(summary)-1])
	return &wire.Note{Event: wire.EventReconciled, Common: wire.Common{Fragment: m}}
}

// ReconciledFault is one fault that a comparison found, as its alert tells of it.
type ReconciledFault struct {
	ReconciliationID string
	Rail, Class      string
	Settlement       string   // Its id in the extract; "": the rail has none.
	TxnIDs           []string // The records that it is about.
	Gap, Statement   string   // Of a gap: what is missing, and in which statement.
	Hash             [32]byte // The same for the same fault in every comparison.
}

// faultTxnsMax is how many records an alert names. The findings have the others.
const faultTxnsMax = 16

// ReconciliationAlert builds the record of the alert about a fault. Its subject is 56 bits of the
// fault's hash, so that a fault which another comparison finds again opens no second alert.
func ReconciliationAlert(f *ReconciledFault) *wire.Alert {
	named := f.TxnIDs[:min(len(f.TxnIDs), faultTxnsMax)]
	var m strictjson.Members
	m.Text("reconciliationId", f.ReconciliationID)
	m.Text("rail", f.Rail)
	m.Text("class", f.Class)
	m.Optional("settlement", f.Settlement)
	m.Texts("txnIds", named)
	m.Optional("gap", f.Gap)
	m.Optional("statement", f.Statement)
	var filters []uint64
	for _, txn := range named {
		filters = append(filters, engine.FilterKey(engine.FilterTxn, txn))
	}
	_, at := wire.SplitSubject(binary.BigEndian.Uint64(f.Hash[:]))
	return &wire.Alert{
		Common: wire.Common{Fragment: m, Filters: filters},
		Op:     wire.AlertOpen, Kind: wire.AlertReconciled, Subject: wire.AlertSubject(0, max(at, 1)),
	}
}
