package perfect

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Table is a minimal perfect hash over 128-bit key hashes (hash and displace): a key's
// bucket has a pilot, and hash and pilot together give a slot that no other key has. Slots
// beyond the number of keys are remapped to the holes below it, so n keys fill exactly n
// slots. Each slot keeps the key's print, so one comparison refuses a key that is not in
// the set. A Table is immutable.
type Table struct {
	keys, buckets, slots uint32
	pilots               []uint16 // Pilots by bucket.
	remap                []uint32 // For each slot beyond the number of keys: the hole to which it is remapped.
	prints               []uint64 // Prints of the keys, by slot.
	filter               []uint64 // a bit for each print, so that most keys outside the set are refused without a look at the table
	filterShift          uint8
}

const (
	keysPerBucket     = 4
	pilotMax          = 1 << 16
	slotsPerMille     = 1015 // slots for each 1,000 keys
	bucketSalt        = 0x8EBC6AF09C88C6E3
	pilotSalt         = 0x589965CC75374CC3
	perfectRetryLimit = 64
)

var errNoPilot = errors.New("perfect hash")

// mixPilot returns the slot of a key under a pilot.
func mixPilot(place uint64, pilot uint64, slots uint32) uint32 {
	return Reduce(Fold(place^(pilot+1)*pilotSalt, Odd2), slots)
}

// Build returns the table and, for each key, its slot. The keys' places must differ. The
// order of the keys does not change the table.
func Build(keys []Key) (table Table, slotOf []uint32, err error) {
	n := uint32(len(keys))
	buckets := n/keysPerBucket + 1
	for retry := uint32(0); retry < perfectRetryLimit; retry++ {
		slots := uint32(uint64(n)*slotsPerMille/1000) + 1 + retry*(n/64+1)
		table, slotOf, err = placeKeys(keys, buckets, slots)
		if err == nil {
			return table, slotOf, nil
		}
	}
	return Table{}, nil, err
}

func placeKeys(keys []Key, buckets, slots uint32) (Table, []uint32, error) {
	members := make([][]uint32, buckets)
	for i, key := range keys {
		b := Reduce(Fold(key.place, bucketSalt), buckets)
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
			return Table{}, nil, errNoPilot
		}
		pilots[b] = pilot
	}
	return fillHoles(keys, pilots, taken, slotOf, slots), slotOf, nil
}

// findPilot tries pilots until all keys of the bucket fall into free slots.
func findPilot(keys []Key, members []uint32, taken []bool, slotOf []uint32, slots uint32) (uint16, bool) {
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

// fillHoles remaps the slots beyond the number of keys to the holes and returns the table.
// It rewrites slotOf to the final slots.
func fillHoles(keys []Key, pilots []uint16, taken []bool, slotOf []uint32, slots uint32) Table {
	n := uint32(len(keys))
	remap := make([]uint32, slots-n)
	hole := uint32(0)
	for slot := n; slot < slots; slot++ {
		if !taken[slot] {
			continue // no key of the set has this slot
		}
		for taken[hole] {
			hole++
		}
		remap[slot-n] = hole
		hole++
	}
	p := Table{keys: n, buckets: uint32(len(pilots)), slots: slots, pilots: pilots, remap: remap, prints: make([]uint64, n)}
	for k, slot := range slotOf {
		if slot >= n {
			slot = remap[slot-n]
			slotOf[k] = slot
		}
		p.prints[slot] = keys[k].print
	}
	p.makeFilter()
	return p
}

// filterBitsPerKey is how many bits the filter has for each key, before it is rounded up to
// a power of two.
const filterBitsPerKey = 8

func (p *Table) makeFilter() {
	log := max(bits.Len32(p.keys*filterBitsPerKey), 6)
	p.filter, p.filterShift = make([]uint64, 1<<(log-6)), uint8(64-log)
	for _, print := range p.prints {
		bit := print >> p.filterShift
		p.filter[bit/64] |= 1 << (bit % 64)
	}
}

// Find returns the slot of a key, false if the key is not in the set.
func (p *Table) Find(key Key) (uint32, bool) {
	if bit := key.print >> p.filterShift; p.filter[bit/64]>>(bit%64)&1 == 0 {
		return 0, false
	}
	bucket := Reduce(Fold(key.place, bucketSalt), p.buckets)
	pilot := uint64(p.pilots[bucket])
	slot := mixPilot(key.place, pilot, p.slots)
	if slot >= p.keys {
		slot = p.remap[slot-p.keys]
	}
	return slot, p.prints[slot] == key.print
}

// Multimap maps each key of a set to some values.
type Multimap struct {
	hash    Table
	offsets []uint32 // By slot of the hash: where its values begin. The last item is their end.
	values  []uint32
}

// Of returns the values of a key.
func (m *Multimap) Of(key Key) []uint32 {
	slot, ok := m.hash.Find(key)
	if !ok {
		return nil
	}
	return m.values[m.offsets[slot]:m.offsets[slot+1]]
}

// BuildMultimap makes a perfect hash over the distinct keys and stores the values in the
// order of the keys' slots. Equal keys must be adjacent.
func BuildMultimap(keys []Key, values []uint32) (Multimap, error) {
	var distinct []Key
	var firsts []int
	for i, key := range keys {
		if i == 0 || key != keys[i-1] {
			distinct = append(distinct, key)
			firsts = append(firsts, i)
		}
	}
	firsts = append(firsts, len(keys))
	hash, slotOf, err := Build(distinct)
	if err != nil {
		return Multimap{}, fmt.Errorf("%w: %d keys", err, len(distinct))
	}
	keyAt := make([]uint32, len(distinct))
	for k, slot := range slotOf {
		keyAt[slot] = uint32(k)
	}
	m := Multimap{hash: hash, offsets: make([]uint32, 0, len(distinct)+1), values: make([]uint32, 0, len(values))}
	for _, k := range keyAt {
		m.offsets = append(m.offsets, uint32(len(m.values)))
		m.values = append(m.values, values[firsts[k]:firsts[k+1]]...)
	}
	m.offsets = append(m.offsets, uint32(len(m.values)))
	return m, nil
}

// Count is how many keys the set has.
func (p *Table) Count() int { return int(p.keys) }

// Size is how many bytes of memory the table takes.
func (p *Table) Size() int { return 2*len(p.pilots) + 4*len(p.remap) + 8*len(p.prints) }

// Count is how many keys have values.
func (m *Multimap) Count() int { return m.hash.Count() }

// Size is how many bytes of memory the map takes.
func (m *Multimap) Size() int { return m.hash.Size() + 4*len(m.offsets) + 4*len(m.values) }
