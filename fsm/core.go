package fsm

import (
	"encoding/binary"

	"railguard/engine"
)

// coreTables are the tables of the core: what every record and every leaf goes through.
type coreTables struct {
	idem Table[idemRow, idemPage] // Idempotency keys, in the order of their calls.
	days Table[dayRow, dayPage]   // The first leaf of each UTC date.
}

var coreDeclarations = []declaration{
	&tableOf[idemRow, idemPage]{
		section: sectionIdempotency, of: func(t *tables) *Table[idemRow, idemPage] { return &t.idem },
		codec: codec[idemRow]{appendIdemRow, readIdemRow}, queue: 3,
		most:   func(l *engine.Limits) int { return l.Idempotency },
		over:   func(m *Machine, row *idemRow) bool { return row.At+m.limits.IdempotencyKept <= m.now },
		forget: (*Machine).forgetOldestKey,
	},
	&tableOf[dayRow, dayPage]{
		section: sectionDays, of: func(t *tables) *Table[dayRow, dayPage] { return &t.days },
		codec: codec[dayRow]{appendDayRow, readDayRow}, queue: 4,
		most: func(*engine.Limits) int { return 1 << 20 },
	},
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

func appendDayRow(dst []byte, row *dayRow) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(row.Day)), row.First)
}

func readDayRow(r *rowReader) dayRow {
	return dayRow{Day: engine.Day(r.unsigned()), First: r.unsigned()}
}

type idemRow struct {
	Key  [16]byte
	Body [16]byte
	Leaf uint64
	At   engine.Time
}

type dayRow struct {
	Day   engine.Day
	First uint64 // First leaf of that UTC date.
}
