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

// scrubHistory is the goroutine that reads this node's history again and again, one segment at a
// time, and checks all hashes. It takes at most a few hundredths of one core. In this way damage
// on a disk is found before anybody asks for the damaged records. fillHistory fetches damaged
// leaves from peers. A pass begins as soon as the process starts.
func (s *scrubber) scrubHistory() {
	if s.every < 0 {
		return
	}
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	number, since := uint64(0), passSegments // since the pass began, in ticks.
	for {
		select {
		case <-s.life.stop:
			return
		case <-ticker.C:
		}
		since++
		if number == 0 {
			if since < passSegments {
				continue
			}
			since = 0
		}
		next, err := s.verify(number)
		if err != nil {
			s.life.log.Error("history could not be read again", "segment", number, "error", err)
		}
		number = next
	}
}

// tellDamage is a duty: it logs damage that anything found, and its repair.
func (s *scrubber) tellDamage() {
	damage := s.audit.Damage()
	known := s.known
	s.known = len(damage)
	switch {
	case len(damage) > known:
		s.life.log.Error("history on this disk is damaged; it is fetched again from peers", "places", len(damage), "first", damage[0])
	case len(damage) == 0 && known > 0:
		s.life.log.Info("damaged history is whole again")
	}
}
