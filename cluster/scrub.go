package cluster

import (
	"time"

	"railguard/audit"
)

// scrubber reads this node's history again and again.
type scrubber struct {
	life  *life
	audit *audit.Store
	every time.Duration // Pause between two segments; below 0: never.

	// verify reads a segment again and returns the number of the next one, or 0 after the last
	// one.
	verify func(number uint64) (next uint64, err error)
	// lists reads the file of a kept list again and returns its name, or "" after the last one. It
	// is given the name of the one before it. nil: there are none.
	lists func(after string) (name string)
	loss  func() string // What of history cannot be read now, and how it comes back.

	known int // Count of damaged places that were logged. Only the duties use it.
}

func newScrubber(l *life, store *audit.Store, every time.Duration) *scrubber {
	return &scrubber{life: l, audit: store, every: every, verify: func(number uint64) (uint64, error) {
		return store.VerifySegment(number, nil)
	}}
}

// passSegments is the least time of a pass over history, counted in segments: half an hour.
// Otherwise a short history would be read again every minute.
const passSegments = 180

// scrubHistory is the goroutine that reads this node's history and its kept lists again and again,
// one segment and one list at a time, and checks all hashes. It takes at most a few hundredths of
// one core. In this way damage on a disk is found before anybody asks for the damaged records.
// fillHistory fetches damaged leaves from peers. A pass begins as soon as the process starts.
func (s *scrubber) scrubHistory() {
	if s.every < 0 {
		return
	}
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	number, list := uint64(0), ""
	segmentsLeft, listsLeft := false, false
	since := passSegments // since the pass began, in ticks.
	for {
		select {
		case <-s.life.stop:
			return
		case <-ticker.C:
		}
		since++
		if !segmentsLeft && !listsLeft {
			if since < passSegments {
				continue
			}
			since, segmentsLeft, listsLeft = 0, true, s.lists != nil
		}
		if segmentsLeft {
			next, err := s.verify(number)
			if err != nil {
				s.life.log.Error("history could not be read again", "segment", number, "error", err)
			}
			number, segmentsLeft = next, next != 0
		}
		if listsLeft {
			list = s.lists(list)
			listsLeft = list != ""
		}
	}
}

// tellDamage is a duty: it logs damage that anything found, and its repair.
func (s *scrubber) tellDamage() {
	damage := s.audit.Damage()
	known := s.known
	s.known = len(damage)
	switch {
	case len(damage) > known:
		s.life.log.Error("history on this disk is damaged", "places", len(damage), "file", damage[0].File, "from_byte", damage[0].At,
			"first_leaf", damage[0].First, "last_leaf", damage[0].Last, "what", s.loss())
	case len(damage) == 0 && known > 0:
		s.life.log.Info("damaged history is whole again")
	}
}
