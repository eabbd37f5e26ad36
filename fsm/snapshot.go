package fsm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"railguard/engine"
)

// A snapshot is the whole state at one index, byte-identical on every node:
//
//	"RGSNAP01" | block* | end block | sha256 of all before
//	block = section u16 | version u16 | rows u32 | size u32 | payload | crc32c u32
//
// little-endian; blocks of a section follow each other, sections in rising
// order, payloads of at most snapshotBlockMax bytes. Rows are written field by
// field (varints) or as deterministic CBOR with a length before it; never as
// memory. docs/FORMATS.md has the rows.
const (
	snapshotMagic    = "RGSNAP01"
	snapshotBlock    = 256 * engine.KiB // A block is closed when its payload reaches this.
	snapshotBlockMax = 4 * engine.MiB
	snapshotVersion  = 1
)

// The sections, in their order.
const (
	sectionMeta uint16 = iota + 1
	sectionSettings
	sectionAgents
	sectionProfiles
	sectionActivity
	sectionAttestations
	sectionUsers
	sectionUserProfiles
	sectionFleets
	sectionFleetProfiles
	sectionOperators
	sectionOperatorProfiles
	sectionReviews
	sectionDispositions
	sectionIdempotency
	sectionStructuring
	sectionDays
	sectionList
	sectionStaged
	sectionAPIKeys
	sectionSigningKeys
	sectionCleared
	sectionHistory
	sectionHolds
	sectionOutcomes
	sectionReferences
	sectionDues
	sectionProposals
	sectionAlerts
	sectionSARs
	sectionCursors
	sectionDeadLetters
	sectionWebhooks
	sectionStatuses
	sectionStagedWhole
	sectionSanctions
	sectionWorks
	sectionDrafts
	sectionPasskeys
	sectionSecondLooks
	sectionEnd uint16 = 0xffff
)

// ErrSnapshot means bytes that are not a complete and undamaged snapshot.
var ErrSnapshot = errors.New("snapshot")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapshotMeta is the one row of sectionMeta.
type snapshotMeta struct {
	Format     engine.Format `cbor:"1,keyasint"`
	Index      uint64        `cbor:"2,keyasint"`
	Term       uint64        `cbor:"3,keyasint"`
	Time       engine.Time   `cbor:"4,keyasint"`
	Size       uint64        `cbor:"5,keyasint"`
	Oldest     uint64        `cbor:"6,keyasint"`
	UserSweep  uint64        `cbor:"7,keyasint"`
	Frontier   [][]byte      `cbor:"8,keyasint"`
	Root       [32]byte      `cbor:"9,keyasint"`
	Firsts     []uint64      `cbor:"10,keyasint"` // The first positions of the tables whose rows are dropped at the front, in the order of sections.
	Staged     *stagedMeta   `cbor:"11,keyasint,omitempty"`
	EndedFrom  uint64        `cbor:"23,keyasint,omitempty"` // The leaf from which on all endings of payments are in the table.
	SaltKey    [16]byte      `cbor:"12,keyasint"`           // The key of SaltDay; earlier keys cannot be computed from it.
	SaltDay    engine.Day    `cbor:"13,keyasint"`
	Sweep      uint64        `cbor:"14,keyasint"`           // The next row of activity to check for expiry.
	UserNext   uint64        `cbor:"15,keyasint"`           // The slot that the next user gets.
	SARsTold   uint64        `cbor:"17,keyasint,omitempty"` // Every report before this position that was due soon has been reported.
	Statuses   statusMeta    `cbor:"18,keyasint"`
	Lived      engine.Time   `cbor:"19,keyasint"`
	KeysFrom   uint64        `cbor:"22,keyasint"` // The leaf from which on all Idempotency-Keys are in the table.
	AgentFirst uint64        `cbor:"24,keyasint"`
	AgentNext  uint64        `cbor:"25,keyasint"` // The slot that the next agent gets.
	FleetFirst uint64        `cbor:"26,keyasint"`
	FleetNext  uint64        `cbor:"27,keyasint"`
	UsedFrom   uint64        `cbor:"20,keyasint,omitempty"` // The leaf from which on all uses of payment references are in the table.
	LooksOver  uint64        `cbor:"28,keyasint,omitempty"` // Every second look before this position that lapsed has been told.
	Overdue    uint64        `cbor:"16,keyasint,omitempty"` // Every review before this position that became overdue has been reported.
}

type stagedMeta struct {
	Digest [32]byte `cbor:"1,keyasint"`
	Total  uint32   `cbor:"2,keyasint"`
}

// blockWriter cuts a section's rows into blocks.
type blockWriter struct {
	w       io.Writer
	sum     hash.Hash
	written int64
	section uint16
	rows    uint32
	coder   // For the rows; data is the payload.
	err     error
}

func (b *blockWriter) beginSection(section uint16) {
	b.flushBlock()
	b.section = section
}

// endRow ends a row whose bytes are in data.
func (b *blockWriter) endRow() {
	b.rows++
	if len(b.data) >= snapshotBlock {
		b.flushBlock()
	}
}

func (b *blockWriter) flushBlock() {
	if b.rows == 0 {
		return
	}
	b.writeBlock()
}

func (b *blockWriter) writeBlock() {
	head := make([]byte, 0, 12)
	head = binary.LittleEndian.AppendUint16(head, b.section)
	head = binary.LittleEndian.AppendUint16(head, snapshotVersion)
	head = binary.LittleEndian.AppendUint32(head, b.rows)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(b.data)))
	crc := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, b.data)
	b.writeBytes(head)
	b.writeBytes(b.data)
	b.writeBytes(binary.LittleEndian.AppendUint32(nil, crc))
	b.rows, b.data = 0, b.data[:0]
}

func (b *blockWriter) writeBytes(data []byte) {
	if b.err != nil {
		return
	}
	b.sum.Write(data)
	n, err := b.w.Write(data)
	b.written += int64(n)
	b.err = err
}

// writeValue writes one CBOR row with its length before it.
func (b *blockWriter) writeValue(v any) {
	b.encodeValue(v)
	b.endRow()
}

// WriteTo writes the snapshot and returns how many bytes it has.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	b := &blockWriter{w: w, sum: sha256.New()}
	b.writeBytes([]byte(snapshotMagic))
	v.writeBlocks(b)
	b.flushBlock()
	b.section = sectionEnd
	b.writeBlock()
	if b.err != nil {
		return b.written, b.err
	}
	n, err := w.Write(b.sum.Sum(nil))
	return b.written + int64(n), err
}

func (v *View) writeBlocks(b *blockWriter) {
	v.writeHead(b)
	for _, one := range planned.all {
		said := one.said()
		if v.Format < said.since {
			assertEmpty(one.countRows(&v.tables, v.settings))
			continue
		}
		b.beginSection(said.number)
		one.writeRows(b, &v.tables, v.settings)
	}
}

// writeHead writes the sections before the tables.
func (v *View) writeHead(b *blockWriter) {
	meta := snapshotMeta{
		Format: v.Format, Index: v.Index, Term: v.Term, Time: v.Time, Lived: v.lived, KeysFrom: v.KeysFrom, EndedFrom: v.endedFrom, UsedFrom: v.usedFrom, Size: v.Size, Oldest: v.Oldest,
		Frontier: v.frontier, Root: v.Root, SaltKey: v.ratchet.Key, SaltDay: v.ratchet.Day,
		Statuses: statusMeta{Minute: v.standing.minute, Changed: v.standing.changed},
	}
	for _, table := range planned.tables {
		if v.Format >= table.said().since {
			table.noteTable(&v.tables, &meta)
		}
	}
	if v.staged.total > 0 {
		meta.Staged = &stagedMeta{Digest: v.staged.digest, Total: v.staged.total}
	}
	b.beginSection(sectionMeta)
	b.writeValue(&meta)
	b.beginSection(sectionSettings)
	b.writeValue(v.settings)
}

// assertEmpty panics if the state has rows that its format does not have yet.
func assertEmpty(rows int) {
	if rows > 0 {
		panic("BUG: rows of a newer format")
	}
}

// Restore reads a snapshot. It returns a new Machine only if every checksum, the trailer, the
// tree head and the rows are right.
func Restore(r io.Reader) (*Machine, error) {
	sum := sha256.New()
	tee := io.TeeReader(r, sum)
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(tee, magic); err != nil || string(magic) != snapshotMagic {
		return nil, fmt.Errorf("%w: not one of ours, or of another version", ErrSnapshot)
	}
	restore := &restorer{m: New()}
	for {
		section, rows, payload, err := readBlock(tee)
		if err != nil {
			return nil, err
		}
		if section == sectionEnd {
			break
		}
		if err := restore.readBlock(section, rows, payload); err != nil {
			return nil, fmt.Errorf("%w: section %d: %w", ErrSnapshot, section, err)
		}
	}
	want := sum.Sum(nil)
	var trailer [sha256.Size]byte
	if _, err := io.ReadFull(r, trailer[:]); err != nil || !bytes.Equal(trailer[:], want) {
		return nil, fmt.Errorf("%w: trailer does not match", ErrSnapshot)
	}
	return restore.finishRestore()
}

func readBlock(r io.Reader) (section uint16, rows uint32, payload []byte, err error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, fmt.Errorf("%w: truncated", ErrSnapshot)
	}
	size := binary.LittleEndian.Uint32(head[8:])
	if size > snapshotBlockMax {
		return 0, 0, nil, fmt.Errorf("%w: block of %d bytes", ErrSnapshot, size)
	}
	payload = make([]byte, size)
	var tail [4]byte
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, 0, nil, fmt.Errorf("%w: truncated", ErrSnapshot)
	}
	if _, err := io.ReadFull(r, tail[:]); err != nil {
		return 0, 0, nil, fmt.Errorf("%w: truncated", ErrSnapshot)
	}
	if crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload) != binary.LittleEndian.Uint32(tail[:]) {
		return 0, 0, nil, fmt.Errorf("%w: block checksum does not match", ErrSnapshot)
	}
	if version := binary.LittleEndian.Uint16(head[2:]); version != snapshotVersion {
		return 0, 0, nil, fmt.Errorf("%w: section version %d: upgrade this node", ErrSnapshot, version)
	}
	return binary.LittleEndian.Uint16(head[:]), binary.LittleEndian.Uint32(head[4:]), payload, nil
}
