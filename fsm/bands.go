package fsm

// R25's pairs of a root agent and a counterparty stand in a dense table, linked from
// the one whose newest call is the oldest to the one that was called last. When the
// table is full the oldest makes room: a pair that goes on paying stays.

// bandEnds are the positions of the oldest and the newest pair; 0 where there are
// none.
type bandEnds struct{ oldest, newest uint64 }

// countBand counts one call of a pair and returns how many stand in the window.
func (m *Machine) countBand(key structuringKey) uint8 {
	at, known := m.structuringBy[key]
	switch {
	case !known:
		if m.structuring.Len() >= m.limits.Structuring {
			m.displaceBand()
		}
		at = m.structuring.Append(structuringRow{Key: key})
		m.structuringBy[key] = at
		m.linkNewest(at)
	case at != m.bandEnds.newest:
		m.unlinkBand(at)
		m.linkNewest(at)
	}
	return m.structuring.Edit(at).Band.Add(m.now, m.settings.Policy.StructuringWindow)
}

// displaceBand makes room for a pair, and tells when the one that goes still counts.
func (m *Machine) displaceBand() {
	if m.structuring.At(m.bandEnds.oldest).Band.Newest()+m.settings.Policy.StructuringWindow > m.now {
		m.out.PairsDisplaced++
	}
	m.dropBand(m.bandEnds.oldest)
}

// expireBands forgets pairs whose newest call is older than the window.
func (m *Machine) expireBands() {
	for range min(m.limits.ForgottenAtOneTime, m.structuring.Len()) {
		if m.structuring.At(m.bandEnds.oldest).Band.Newest()+m.settings.Policy.StructuringWindow > m.now {
			return
		}
		m.dropBand(m.bandEnds.oldest)
	}
}

// dropBand forgets a pair; the last row of the table takes its place.
func (m *Machine) dropBand(at uint64) {
	m.unlinkBand(at)
	delete(m.structuringBy, m.structuring.At(at).Key)
	if last := m.structuring.Next() - 1; at != last {
		moved := *m.structuring.At(last)
		*m.structuring.Edit(at) = moved
		m.structuringBy[moved.Key] = at
		m.joinBands(uint64(moved.Older), at)
		m.joinBands(at, uint64(moved.Newer))
	}
	m.structuring.DropBack()
}

func (m *Machine) linkNewest(at uint64) {
	m.joinBands(m.bandEnds.newest, at)
	m.joinBands(at, 0)
}

func (m *Machine) unlinkBand(at uint64) {
	row := m.structuring.At(at)
	m.joinBands(uint64(row.Older), uint64(row.Newer))
}

// joinBands makes newer the one after older; 0 is the end of the chain.
func (m *Machine) joinBands(older, newer uint64) {
	if older != 0 {
		m.structuring.Edit(older).Newer = uint32(newer)
	} else {
		m.bandEnds.oldest = newer
	}
	if newer != 0 {
		m.structuring.Edit(newer).Older = uint32(older)
	} else {
		m.bandEnds.newest = older
	}
}
