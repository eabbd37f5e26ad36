package cluster

import (
	"encoding/json"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// noteOf makes the record of a recovery's leaf. The record has an idempotency key: the node may
// crash after the record was applied and before node.json says so. Then the second record of the
// same recovery gets the first one's answer and writes no leaf.
func noteOf(r *datadir.Record) (*wire.Note, error) {
	fragment, err := json.Marshal(struct {
		ClusterID    string           `json:"clusterId"`
		Node         string           `json:"node"`
		Recovery     uint64           `json:"recovery"`
		LastIndex    uint64           `json:"lastIndex"`
		LastTerm     uint64           `json:"lastTerm"`
		LastTime     string           `json:"lastTime"`
		Committed    uint64           `json:"committedIndex"`
		TakenOver    uint64           `json:"entriesTakenOver"`
		TakenLeaves  uint64           `json:"leavesTakenOver"`
		LostFrom     uint64           `json:"possiblyLostFromIndex"`
		LostAfter    string           `json:"possiblyLostAfter"`
		LeavesBefore uint64           `json:"leavesBefore"`
		TreeHead     string           `json:"treeHead"`
		Former       []datadir.Member `json:"formerMembers"`
		Kept         []string         `json:"keptMembers,omitempty"`
		Forced       bool             `json:"behindAnotherSurvivor"`
		By           string           `json:"by"`
		Second       string           `json:"second"`
		Reason       string           `json:"reason"`
		DecidedAt    string           `json:"decidedAt"`
	}{
		r.ClusterID, r.Node, r.Recovery, r.LastIndex, r.LastTerm, r.LastTime, r.CommittedIndex,
		r.TakenOver, r.TakenLeaves, r.LastIndex + 1, r.LastTime, r.AuditLeaves, r.TreeHead, r.Former, r.Kept, r.Forced,
		r.By, r.Second, r.Reason, r.DecidedAt,
	})
	if err != nil {
		return nil, err
	}
	key := wire.Idem{Looked: wire.NeverUsed} // A lineage begins once.
	copy(key.Key[:], r.Lineage)
	copy(key.Body[:], r.Lineage)
	return &wire.Note{Event: wire.EventRecovered, Lineage: r.Lineage, Common: wire.Common{Idem: &key, Fragment: fragment[1 : len(fragment)-1]}}, nil
}
