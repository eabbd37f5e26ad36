package chaos

import (
	"context"
	"time"
)

// killAlone kills a cluster of one again and again at random moments under load, and starts it on
// the same data each time. Only its disk keeps what it has answered.
func killAlone(ctx context.Context, s *stage) error {
	n := s.cluster.nodes[0]
	random := newRandom(s.seed, 0)
	storm := s.storm(ctx, s.load())
	defer storm.stop()
	kills := s.times(12, 60)
	for range kills {
		pause(ctx, time.Duration(20+random.IntN(400))*time.Millisecond)
		if err := n.Kill(); err != nil {
			return err
		}
		began := time.Now()
		if err := n.restart(ctx); err != nil {
			return err
		}
		s.sample("started until ready after", time.Since(began))
	}
	pause(ctx, 200*time.Millisecond)
	return nil
}
