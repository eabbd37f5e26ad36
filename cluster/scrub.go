package cluster

import (
	"time"

	"railguard/audit"
)

// scrubber reads the own history again and again.
type scrubber struct {
	life  *life
	audit *audit.Store
	every time.Duration // Between two segments; below 0: never.

	// verify reads a segment again and returns the number of the next one, 0 behind the last.
	verify func(number uint64) (next uint64, err error)

	known int // Damaged places that were told. Of the duties.
}

func newScrubber(l *life, store *audit.Store, every time.Duration) *scrubber {
	return &scrubber{life: l, audit: store, every: every, verify: func(number uint64) (uint64, error) {
		return store.VerifySegment(number, nil)
	}}
}

// passSegments is how many segments a pass over history takes the time of, at least: half
// an hour. A short history is not read anew every minute for that it is short.
const passSegments = 180

// scrubHistory is the goroutine that reads the own history again and again, hashes
// included, a segment at a time: at most a few hundredths of one core, and a disk
// that rots is found before its records are asked for. What is damaged is fetched
// from peers (history.run). A process begins with a pass, at once.
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

// tellDamage is a duty: damage that anyone found, and its mending, stand in the log.
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
