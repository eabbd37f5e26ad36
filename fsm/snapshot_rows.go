package fsm

import (
	"encoding/binary"
	"errors"

	"railguard/engine"
)

// Row codecs of the snapshot: varints in field order. A decoder reads exactly
// what its encoder wrote and fails on anything else.

var errRow = errors.New("row broken")

// rowReader reads varints and remembers the first failure.
type rowReader struct {
	data []byte
	bad  bool
}

func (r *rowReader) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *rowReader) signed() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *rowReader) byte() byte {
	if len(r.data) == 0 {
		r.bad = true
		return 0
	}
	v := r.data[0]
	r.data = r.data[1:]
	return v
}

func (r *rowReader) time() engine.Time { return engine.Time(r.signed()) }

// status reads a status that a row may have: EXPIRED is derived, never stored.
func (r *rowReader) status() engine.Status {
	status := engine.Status(r.byte())
	if status > engine.Revoked {
		r.bad = true
		return engine.Active
	}
	return status
}

func (r *rowReader) fill(dst []byte) {
	if len(r.data) < len(dst) {
		r.bad = true
		return
	}
	copy(dst, r.data)
	r.data = r.data[len(dst):]
}

func (r *rowReader) bytes() []byte {
	n := r.unsigned()
	if n > uint64(len(r.data)) {
		r.bad = true
		return nil
	}
	v := r.data[:n]
	r.data = r.data[n:]
	return v
}

func appendSpend(dst []byte, s *engine.Spend) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.Day))
	dst = binary.AppendVarint(dst, int64(s.Spent))
	return binary.AppendVarint(dst, int64(s.Held))
}

func (r *rowReader) spend() engine.Spend {
	return engine.Spend{Day: engine.Day(r.unsigned()), Spent: engine.USD(r.signed()), Held: engine.USD(r.signed())}
}

func appendAgentRow(dst []byte, row *engine.AgentRow) []byte {
	dst = append(dst, byte(row.Status), row.StatusReason, flag(row.Institutions))
	dst = binary.AppendUvarint(dst, uint64(row.MinVersion))
	dst = binary.AppendUvarint(dst, uint64(row.Children))
	dst = binary.AppendVarint(dst, int64(row.StatusAt))
	dst = binary.AppendVarint(dst, int64(row.OverlapUntil))
	dst = binary.AppendVarint(dst, int64(row.OwnershipFrom))
	dst = binary.AppendVarint(dst, int64(row.OwnershipAt))
	dst = binary.AppendVarint(dst, int64(row.AttestedAt))
	dst = appendSpend(dst, &row.Spend)
	dst = binary.AppendUvarint(dst, row.Sequence)
	dst = binary.AppendUvarint(dst, row.LastLeaf)
	return binary.AppendVarint(dst, row.CountedFrom)
}

func readAgentRow(r *rowReader) engine.AgentRow {
	return engine.AgentRow{
		Status: r.status(), StatusReason: r.byte(), Institutions: r.byte() != 0,
		MinVersion: uint16(r.unsigned()), Children: uint16(r.unsigned()),
		StatusAt: r.time(), OverlapUntil: r.time(), OwnershipFrom: r.time(), OwnershipAt: r.time(), AttestedAt: r.time(),
		Spend: r.spend(), Sequence: r.unsigned(), LastLeaf: r.unsigned(), CountedFrom: r.signed(),
	}
}

// appendUse writes which profile leaf a day's records refer to; one byte for none.
func appendUse(dst []byte, use *engine.ProfileUse) []byte {
	dst = binary.AppendUvarint(dst, uint64(use.Day))
	if use.Day == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, use.Revs)
	dst = binary.AppendUvarint(dst, use.Leaf)
	return append(dst, use.Hash[:]...)
}

func readUse(r *rowReader) (use engine.ProfileUse) {
	if use.Day = engine.Day(r.unsigned()); use.Day == 0 {
		return use
	}
	var revs [8]byte
	r.fill(revs[:])
	use.Revs, use.Leaf = binary.LittleEndian.Uint64(revs[:]), r.unsigned()
	r.fill(use.Hash[:])
	return use
}

// appendActivityRow writes of the three rings only the buckets that counted.
func appendActivityRow(dst []byte, row *activityRow) []byte {
	dst = binary.AppendUvarint(dst, uint64(row.Agent))
	dst = appendUse(dst, &row.Judged)
	dst = binary.AppendVarint(dst, row.Velocity.Second)
	dst = appendRing(dst, row.Velocity.Seconds[:])
	dst = appendRing(dst, row.Velocity.Minutes[:])
	return appendRing(dst, row.Velocity.Hours[:])
}

func readActivityRow(r *rowReader) (row activityRow) {
	row.Agent, row.Judged = engine.AgentSlot(r.unsigned()), readUse(r)
	if row.Velocity.Second = r.signed(); row.Velocity.Second <= 0 {
		r.bad = true
	}
	readRing(r, row.Velocity.Seconds[:])
	readRing(r, row.Velocity.Minutes[:])
	readRing(r, row.Velocity.Hours[:])
	return row
}

// appendRing writes how many buckets are not empty, and of each how many empty ones
// stand before it and its count.
func appendRing[N uint16 | uint32](dst []byte, ring []N) []byte {
	filled := 0
	for _, n := range ring {
		if n != 0 {
			filled++
		}
	}
	dst = append(dst, byte(filled))
	gap := byte(0)
	for _, n := range ring {
		if n == 0 {
			gap++
			continue
		}
		dst = binary.AppendUvarint(append(dst, gap), uint64(n))
		gap = 0
	}
	return dst
}

func readRing[N uint16 | uint32](r *rowReader, ring []N) {
	at := 0
	for range r.byte() {
		at += int(r.byte())
		n := r.unsigned()
		if at >= len(ring) || n == 0 || uint64(N(n)) != n {
			r.bad = true
			return
		}
		ring[at] = N(n)
		at++
	}
}

func appendUserRow(dst []byte, row *engine.UserRow) []byte {
	dst = append(dst, byte(row.Status), row.StatusReason, flag(row.Institutions))
	dst = binary.AppendUvarint(dst, uint64(row.MinVersion))
	dst = binary.AppendVarint(dst, int64(row.StatusAt))
	dst = binary.AppendVarint(dst, int64(row.OverlapUntil))
	return appendUse(dst, &row.Judged)
}

func readUserRow(r *rowReader) engine.UserRow {
	return engine.UserRow{
		Status: r.status(), StatusReason: r.byte(), Institutions: r.byte() != 0,
		MinVersion: uint16(r.unsigned()), StatusAt: r.time(), OverlapUntil: r.time(), Judged: readUse(r),
	}
}

func appendFleetRow(dst []byte, row *engine.FleetRow) []byte {
	return appendSpend(binary.AppendUvarint(dst, uint64(row.Agents)), &row.Spend)
}

func readFleetRow(r *rowReader) engine.FleetRow {
	return engine.FleetRow{Agents: uint32(r.unsigned()), Spend: r.spend()}
}

func appendOperatorRow(dst []byte, row *engine.OperatorRow) []byte {
	dst = binary.AppendUvarint(append(dst, flag(row.Suspended), flag(row.Institutions)), uint64(row.Agents))
	return binary.AppendVarint(dst, int64(row.StatusAt))
}

func readOperatorRow(r *rowReader) engine.OperatorRow {
	return engine.OperatorRow{Suspended: r.byte() != 0, Institutions: r.byte() != 0, Agents: uint32(r.unsigned()), StatusAt: r.time()}
}

func appendReviewRow(dst []byte, row *ReviewRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendVarint(dst, int64(row.At))
	dst = binary.AppendVarint(dst, int64(row.Amount))
	dst = binary.AppendUvarint(dst, uint64(row.Agent))
	dst = append(dst, byte(row.Rule), byte(row.State), flag(row.Claim != nil))
	dst = binary.AppendUvarint(dst, row.Disposition)
	if row.Claim == nil {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(row.Claim.Assignee)))
	dst = append(dst, row.Claim.Assignee...)
	dst = binary.AppendVarint(dst, int64(row.Claim.LeaseUntil))
	dst = binary.AppendUvarint(dst, uint64(len(row.Claim.Comments)))
	for _, leaf := range row.Claim.Comments {
		dst = binary.AppendUvarint(dst, leaf)
	}
	return dst
}

func readReviewRow(r *rowReader) ReviewRow {
	row := ReviewRow{
		Leaf: r.unsigned(), At: r.time(), Amount: engine.USD(r.signed()), Agent: engine.AgentSlot(r.unsigned()),
		Rule: engine.RuleID(r.byte()), State: ReviewState(r.byte()),
	}
	claimed := r.byte() != 0
	row.Disposition = r.unsigned()
	if !claimed {
		return row
	}
	row.Claim = &Claim{Assignee: string(r.bytes()), LeaseUntil: r.time()}
	count := r.unsigned()
	if count > uint64(engine.LimitsOf(engine.FormatNewest).Comments) {
		r.bad = true
		return row
	}
	for range count {
		row.Claim.Comments = append(row.Claim.Comments, r.unsigned())
	}
	return row
}

func appendDispositionRow(dst []byte, row *dispositionRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendUvarint(dst, row.Later)
	return append(binary.AppendVarint(dst, int64(row.At)), row.Kind)
}

func readDispositionRow(r *rowReader) dispositionRow {
	return dispositionRow{Leaf: r.unsigned(), Later: r.unsigned(), At: r.time(), Kind: r.byte()}
}

func appendIdemRow(dst []byte, row *idemRow) []byte {
	dst = append(dst, row.Key[:]...)
	dst = append(dst, row.Body[:]...)
	dst = binary.AppendUvarint(dst, row.Leaf)
	return binary.AppendVarint(dst, int64(row.At))
}

func readIdemRow(r *rowReader) (row idemRow) {
	r.fill(row.Key[:])
	r.fill(row.Body[:])
	row.Leaf, row.At = r.unsigned(), r.time()
	return row
}

func appendStructuringRow(dst []byte, row *structuringRow) []byte {
	dst = binary.AppendUvarint(dst, uint64(row.Key.Root))
	dst = append(dst, row.Key.Party[:]...)
	dst = binary.AppendUvarint(dst, uint64(row.Older))
	dst = binary.AppendUvarint(dst, uint64(row.Newer))
	dst = append(dst, row.Band.Next)
	for _, at := range row.Band.Times {
		dst = binary.AppendVarint(dst, int64(at))
	}
	return dst
}

func readStructuringRow(r *rowReader) (row structuringRow) {
	row.Key.Root = engine.AgentSlot(r.unsigned())
	r.fill(row.Key.Party[:])
	row.Older, row.Newer = uint32(r.unsigned()), uint32(r.unsigned())
	row.Band.Next = r.byte()
	if row.Band.Next >= engine.StructuringCallsMax {
		r.bad = true
	}
	for i := range row.Band.Times {
		row.Band.Times[i] = r.time()
	}
	return row
}

func appendDayRow(dst []byte, row *dayRow) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Day)), row.First)
}

func readDayRow(r *rowReader) dayRow {
	return dayRow{Day: engine.Day(r.unsigned()), First: r.unsigned()}
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}
