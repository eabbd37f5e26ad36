package audit

import "time"

// pacer spreads background work over time, so that no verdict waits for it: after each step it
// rests for a multiple of the step's duration. The zero value does not rest.
type pacer struct {
	rest   int         // Length of a rest, as a multiple of the step's duration.
	urgent func() bool // Reports that it must not rest, because others wait for the work or the store closes.
	since  time.Time

	makeWay func() // Waits while verdicts wait; nil: nobody does.

	sync func(File) error // Syncs a file between steps; if nil, the file is synced once at the end.
}

const (
	// sealRest limits sealing to a third of a core: a full segment of 65,536 leaves takes 1 to
	// 3 seconds, of which 0.3 to 0.7 are work.
	sealRest = 3
	// scrubRest limits the verification of history to a tenth of a core.
	scrubRest = 9
	// restMax bounds one rest, even if the step took long on a slow disk.
	restMax = 20 * time.Millisecond
)

func (p *pacer) beginStep() {
	if p.rest > 0 {
		p.since = time.Now()
	}
}

// endStep ends a step and rests.
func (p *pacer) endStep() {
	if p.rest > 0 && !p.urgent() {
		time.Sleep(min(time.Duration(p.rest)*time.Since(p.since), restMax))
		if p.makeWay != nil {
			p.makeWay()
		}
	}
}
