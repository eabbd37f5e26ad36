package cluster

import "time"

// scrubHistory is the goroutine that reads the own history again and again, hashes
// included, a segment at a time: at most a few hundredths of one core, and a disk
// that rots is found before its records are asked for. What is damaged is fetched
// from peers (fetchHistory).
func (n *Node) scrubHistory() {
	defer n.life.running.Done()
	if n.config.ScrubEvery < 0 {
		return
	}
	ticker := time.NewTicker(n.config.ScrubEvery)
	defer ticker.Stop()
	number := uint64(0)
	for {
		select {
		case <-n.life.stop:
			return
		case <-ticker.C:
		}
		next, err := n.audit.VerifySegment(number, nil)
		if err != nil {
			n.log.Error("history could not be read again", "segment", number, "error", err)
		}
		number = next
	}
}

// tellDamage is a duty: damage that anyone found, and its mending, stand in the log.
func (n *Node) tellDamage() {
	damage := n.audit.Damage()
	known := n.damaged
	n.damaged = len(damage)
	switch {
	case len(damage) > known:
		n.log.Error("history on this disk is damaged; it is fetched again from peers", "places", len(damage), "first", damage[0])
	case len(damage) == 0 && known > 0:
		n.log.Info("damaged history is whole again")
	}
}
