package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// roundsEnv is how often TestVotesOutliveThePower cuts the power.
const roundsEnv = "RAILGUARD_SIM_ROUNDS"

// TestVotesOutliveThePower: the power goes away again and again in the midst of elections, when terms,
// votes and the first entries of a term are written. No node that starts again has an entry of a term
// that it does not know, or is behind what it was: it would refuse to start.
func TestVotesOutliveThePower(t *testing.T) {
	rounds := 15
	if n, err := strconv.Atoi(os.Getenv(roundsEnv)); err == nil {
		rounds = n
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, seed, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		for round := range rounds {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			go func() { h.Register(ctx, w.leading(), fmt.Sprintf("round-%d", round)) }()
			if node := w.leading().Node(); node != nil && w.Random.IntN(2) == 0 {
				go func() { _ = node.TransferLeader(ctx, w.IDs()[round%3]) }()
			} else {
				w.Net.Isolate(w.leading().ID, w.IDs()...)
			}
			time.Sleep(time.Duration(w.Random.IntN(2_000_000)) * time.Microsecond / time.Duration(1+w.Random.IntN(100)))
			_, hosts := w.drawScope()
			w.powerOff(hosts)
			cancel()
			time.Sleep(time.Duration(w.Random.IntN(1500)) * time.Millisecond)
			w.Net.Heal()
			for _, host := range hosts {
				host.Start()
			}
			if round%4 == 3 {
				w.AwaitReady(time.Minute)
			}
		}
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}
