package ofac

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// A minimal perfect hash over 128-bit key hashes (hash and displace): a key's
// bucket has a pilot, and hash and pilot together give a slot no other key has.
// Slots beyond the number of keys are sent to the holes below it, so n keys
// fill exactly n slots. Each slot keeps the key's print, so a key that is not
// in the set is refused with one comparison.
//
// Layout, little-endian: u32 keys, u32 buckets, u32 slots, u32 zero,
// u16 pilot × buckets (padded to 4), u32 remap × (slots-keys), u64 print × keys
// (aligned to 8 from the table's start).
type perfectHash struct {
	keys, buckets, slots uint32
	pilots               []byte
	remap                []byte
	prints               []byte
	filter               []uint64 // a bit for each print, made when the table is opened: spares most keys that are not in the set the table
	filterShift          uint8
}

const (
	perfectHeader     = 16
	keysPerBucket     = 4
	pilotMax          = 1 << 16
	slotsPerMille     = 1015 // slots for each 1,000 keys
	perfectKeysMax    = 1 << 24
	bucketSalt        = 0x8EBC6AF09C88C6E3
	pilotSalt         = 0x589965CC75374CC3
	perfectRetryLimit = 64
)

var errPerfect = errors.New("perfect hash")

// mixPilot gives the slot of a key under a pilot.
func mixPilot(place uint64, pilot uint64, slots uint32) uint32 {
	return reduce(fold64(place^(pilot+1)*pilotSalt, hashOdd2), slots)
}

// buildPerfect returns the table and, for each key, its slot. The keys' places
// must differ. The same set of keys gives the same table in whatever order.
func buildPerfect(keys []hashPair) (table []byte, slotOf []uint32, err error) {
	n := uint32(len(keys))
	buckets := n/keysPerBucket + 1
	for retry := uint32(0); retry < perfectRetryLimit; retry++ {
		slots := uint32(uint64(n)*slotsPerMille/1000) + 1 + retry*(n/64+1)
		table, slotOf, err = placeKeys(keys, buckets, slots)
		if err == nil {
			return table, slotOf, nil
		}
	}
	return nil, nil, err
}

func placeKeys(keys []hashPair, buckets, slots uint32) ([]byte, []uint32, error) {
	members := make([][]uint32, buckets)
	for i, key := range keys {
		b := reduce(fold64(key.place, bucketSalt), buckets)
		members[b] = append(members[b], uint32(i))
	}
	order := make([]uint32, buckets)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return len(members[b]) - len(members[a]) })

	pilots := make([]uint16, buckets)
	taken := make([]bool, slots)
	slotOf := make([]uint32, len(keys))
	for _, b := range order {
		if len(members[b]) == 0 {
			break
		}
		pilot, ok := findPilot(keys, members[b], taken, slotOf, slots)
		if !ok {
			return nil, nil, errPerfect
		}
		pilots[b] = pilot
	}
	return encodePerfect(keys, pilots, taken, slotOf, slots), slotOf, nil
}

// findPilot tries pilots until all keys of the bucket fall into free slots.
func findPilot(keys []hashPair, members []uint32, taken []bool, slotOf []uint32, slots uint32) (uint16, bool) {
	for pilot := uint64(0); pilot < pilotMax; pilot++ {
		placed := 0
		for _, k := range members {
			slot := mixPilot(keys[k].place, pilot, slots)
			if taken[slot] {
				break
			}
			taken[slot] = true
			slotOf[k] = slot
			placed++
		}
		if placed == len(members) {
			return uint16(pilot), true
		}
		for _, k := range members[:placed] {
			taken[slotOf[k]] = false
		}
	}
	return 0, false
}

// encodePerfect sends the slots beyond the number of keys to the holes and
// writes the table; slotOf is rewritten to the final slots.
func encodePerfect(keys []hashPair, pilots []uint16, taken []bool, slotOf []uint32, slots uint32) []byte {
	n := uint32(len(keys))
	remap := make([]uint32, slots-n)
	hole := uint32(0)
	for slot := n; slot < slots; slot++ {
		if !taken[slot] {
			continue // never asked for by a key of the set
		}
		for taken[hole] {
			hole++
		}
		remap[slot-n] = hole
		hole++
	}
	table := make([]byte, perfectHeader, perfectHeader+len(pilots)*2+len(remap)*4+len(keys)*8+16)
	binary.LittleEndian.PutUint32(table[0:], n)
	binary.LittleEndian.PutUint32(table[4:], uint32(len(pilots)))
	binary.LittleEndian.PutUint32(table[8:], slots)
	for _, pilot := range pilots {
		table = binary.LittleEndian.AppendUint16(table, pilot)
	}
	table = pad(table, 4)
	for _, slot := range remap {
		table = binary.LittleEndian.AppendUint32(table, slot)
	}
	table = pad(table, 8)
	prints := len(table)
	table = append(table, make([]byte, 8*len(keys))...)
	for k, slot := range slotOf {
		if slot >= n {
			slot = remap[slot-n]
			slotOf[k] = slot
		}
		binary.LittleEndian.PutUint64(table[prints+int(slot)*8:], keys[k].print)
	}
	return table
}

func pad(data []byte, to int) []byte {
	for len(data)%to != 0 {
		data = append(data, 0)
	}
	return data
}

// openPerfect reads a table and checks every bound; it returns what follows it.
func openPerfect(data []byte) (perfectHash, error) {
	var p perfectHash
	if len(data) < perfectHeader {
		return p, errPerfect
	}
	p.keys = binary.LittleEndian.Uint32(data[0:])
	p.buckets = binary.LittleEndian.Uint32(data[4:])
	p.slots = binary.LittleEndian.Uint32(data[8:])
	if p.keys > perfectKeysMax || p.buckets == 0 || p.buckets > perfectKeysMax || p.slots <= p.keys || p.slots > 2*perfectKeysMax {
		return p, errPerfect
	}
	pilots := perfectHeader
	remap := align(pilots+int(p.buckets)*2, 4)
	prints := align(remap+int(p.slots-p.keys)*4, 8)
	if prints+int(p.keys)*8 != len(data) {
		return p, errPerfect
	}
	p.pilots, p.remap, p.prints = data[pilots:remap], data[remap:prints], data[prints:]
	for i := range int(p.slots - p.keys) {
		if slot := binary.LittleEndian.Uint32(p.remap[i*4:]); slot >= p.keys && !(slot == 0 && p.keys == 0) {
			return p, errPerfect
		}
	}
	p.makeFilter()
	return p, nil
}

// filterBitsPerKey of the filter are made for each key, rounded up to a power of two.
const filterBitsPerKey = 8

func (p *perfectHash) makeFilter() {
	log := max(bits.Len32(p.keys*filterBitsPerKey), 6)
	p.filter, p.filterShift = make([]uint64, 1<<(log-6)), uint8(64-log)
	for i := range p.keys {
		bit := binary.LittleEndian.Uint64(p.prints[i*8:]) >> p.filterShift
		p.filter[bit/64] |= 1 << (bit % 64)
	}
}

func align(n, to int) int { return (n + to - 1) / to * to }

// find returns the slot of a key, false if the key is not in the set.
func (p *perfectHash) find(key hashPair) (uint32, bool) {
	if bit := key.print >> p.filterShift; p.filter[bit/64]>>(bit%64)&1 == 0 {
		return 0, false
	}
	bucket := reduce(fold64(key.place, bucketSalt), p.buckets)
	pilot := uint64(binary.LittleEndian.Uint16(p.pilots[bucket*2:]))
	slot := mixPilot(key.place, pilot, p.slots)
	if slot >= p.keys {
		slot = binary.LittleEndian.Uint32(p.remap[(slot-p.keys)*4:])
	}
	return slot, binary.LittleEndian.Uint64(p.prints[slot*8:]) == key.print
}
