package cluster

import (
	"errors"
	"fmt"
	"log/slog"

	"railguard/audit"
)

// aloneRemedy says what a person can do about lost history where no other node has it.
const aloneRemedy = "this node is alone, so no other node can give it back: payments go on. Restart the node, " +
	"which writes again what its log still has; what is damaged after that is whole in the newest backup (RailguardHistoryDamaged in docs/RUNBOOKS.md)"

// errAlone says that history cannot be fetched because there is no other member.
var errAlone = errors.New("cluster: " + aloneRemedy)

// tellFound logs what the store found at a start that it cannot read, by file, byte and leaf. The
// log's replay writes these leaves again where the log still has them, and peers give the others.
func tellFound(log *slog.Logger, found audit.OpenReport) {
	const remedy = "it is written again from the log, or fetched from a peer"
	for _, tail := range found.Tails {
		for _, p := range tail.Places {
			log.Error("history on this disk is damaged: "+remedy, "file", tail.File, "from_byte", p.At, "to_byte", p.End-1, "first_leaf", p.First, "last_leaf", p.Last)
		}
		if more := tail.Damaged - len(tail.Places); more > 0 {
			log.Error("history on this disk is damaged in more places", "file", tail.File, "places", more)
		}
		switch {
		case tail.Dropped > 0:
			log.Error("history on this disk cannot be read to its end, after a power loss or because the disk is bad: "+remedy,
				"file", tail.File, "from_byte", tail.At, "bytes", tail.Cut, "whole_leaves_dropped", tail.Dropped)
		case tail.Cut > 0:
			log.Warn("history on this disk ends in bytes that are no leaf, as a crash leaves them: "+remedy, "file", tail.File, "from_byte", tail.At, "bytes", tail.Cut)
		}
	}
}

// isAlone reports whether nobody else has this node's history.
func (h *history) isAlone() bool { return len(h.replica.otherIDs()) == 0 }

// describeLoss says what of history cannot be read on this disk now and how it comes back; "":
// nothing is known to be lost.
func (h *history) describeLoss() string {
	remedy := "it is fetched again from the others"
	if h.isAlone() {
		remedy = aloneRemedy
	}
	if damage := h.audit.Damage(); len(damage) > 0 {
		return fmt.Sprintf("history on this node's disk is damaged in %d places, the first: %v; %s", len(damage), damage[0], remedy)
	}
	if !h.busy.Load() || !h.isAlone() {
		return ""
	}
	if missing := h.audit.Missing(1); len(missing) > 0 {
		return fmt.Sprintf("history on this node's disk lacks leaves, the first in %d to %d; %s", missing[0].First, missing[0].End-1, remedy)
	}
	return ""
}
