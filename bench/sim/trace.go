package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"railguard/bench/spec"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// leapMost is how far log time may leap unless somebody confirms more (decision 111).
const leapMost = time.Hour

// traceOf translates what the callers heard and a whole history for the model of bench/spec. Its
// times are milliseconds, as leaves show them.
func (h *History) traceOf(leaves [][]byte, limits Limits) *spec.Trace {
	trace := &spec.Trace{Day: (24 * time.Hour).Milliseconds(), Leap: leapMost.Milliseconds(), Limits: map[string]int64{}}
	for slot, account := range limits.Agents {
		trace.Limits[agentPurse(slot)] = int64(account.Daily)
	}
	for slot, limit := range limits.Fleets {
		trace.Limits[fleetPurse(slot)] = int64(limit)
	}
	for _, data := range leaves {
		trace.Seen = append(trace.Seen, seenOf(data, limits))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, op := range h.ops {
		trace.Answers = append(trace.Answers, heardBy(op))
	}
	return trace
}

func agentPurse(slot engine.AgentSlot) string { return fmt.Sprintf("agent %d", slot) }
func fleetPurse(slot engine.FleetSlot) string { return fmt.Sprintf("fleet %d", slot) }

// seenOf translates a leaf.
func seenOf(raw []byte, limits Limits) spec.Seen {
	data := shown(raw)
	kind := member(data, "kind")
	seen := spec.Seen{Name: member(data, "name")}
	seen.Kind = spec.Other
	seen.At = instant(member(data, "time") + member(data, "screenedAt")).UnixMilli()
	seen.Amount = digits(member(data, "amount"))
	for _, slot := range limits.chain(engine.AgentSlot(digits(member(data, "agent")))) {
		seen.Purses = append(seen.Purses, agentPurse(slot))
	}
	if fleet := digits(member(data, "fleet")); fleet != 0 {
		seen.Purses = append(seen.Purses, fleetPurse(engine.FleetSlot(fleet)))
	}
	switch {
	case kind == "screen":
		seen.Kind, seen.Verdict = spec.Pay, verdictOf(member(data, "verdict"))
		seen.Hold = digits(member(data, "hold")) * time.Second.Milliseconds()
		seen.Limit = isLimited(raw)
	case kind == "review.dispositioned" && member(data, "disposition") == "APPROVED":
		seen.Kind, seen.Payment = spec.Approve, int(number(data, "reviewedLeaf"))
		seen.Hold = instant(member(data, "payBy")).UnixMilli() - seen.At
	case kind == "payment.confirmed", kind == "payment.redeemed":
		seen.Kind, seen.Verdict, seen.Payment = spec.Confirm, verdictOf(member(data, "verdict")), int(number(data, "screenedLeaf"))
		switch state := member(data, "state"); {
		case state == "redeemed":
			seen.Kind = spec.Redeem
		case state == "held" && seen.Verdict == spec.Block: // What had leave goes on counting.
			seen.Stays = true
		}
	case kind == leaf.KindHoldSettled:
		seen.Kind = spec.Settle
	case kind == leaf.KindHoldReleased:
		seen.Kind = spec.Release
	case kind == "due" && member(data, "state") == "expired":
		seen.Kind = spec.Expire
	case kind == "due" && member(data, "state") == "unresolved":
		seen.Kind = spec.Unresolve
	}
	if seen.Kind == spec.Settle || seen.Kind == spec.Release || seen.Kind == spec.Expire || seen.Kind == spec.Unresolve {
		seen.Payment, seen.Late = int(number(data, "screenedLeaf")), strings.Contains(string(data), `"late":true`)
	}
	return seen
}

// isLimited tells whether a limit decided a screening record.
func isLimited(data []byte) bool {
	var s leaf.Screen
	if leaf.FormOf(data) != leaf.FormScreen || leaf.DecodeScreen(data, &s) != nil {
		return false
	}
	return s.Rule == engine.RuleDailyLimit || s.Rule == engine.RuleFleetLimit
}

func verdictOf(text string) spec.Verdict {
	switch text {
	case "":
		return spec.NoVerdict
	case "PROCEED":
		return spec.Proceed
	case "BLOCK":
		return spec.Block
	}
	return spec.Undecided
}

// heardBy translates what a caller knows of its call.
func heardBy(op *Op) spec.Heard {
	heard := spec.Heard{
		Name: op.Name, Leaf: int(op.Leaf), Verdict: verdictOf(op.Verdict), Replayed: op.Data == nil,
		Index: op.Index, Term: op.Term, From: op.Start.UnixMilli(), To: op.End.UnixMilli(),
	}
	switch {
	case errors.Is(op.Err, wire.ErrUnknown):
		heard.Outcome = spec.IsUnknown
	case op.Err != nil:
		heard.Outcome = spec.NothingHappened
	}
	return heard
}
