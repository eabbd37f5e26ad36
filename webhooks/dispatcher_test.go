package webhooks

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

func settled(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestInOrderOnceAndOnFromTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		n.event()
		id := n.hook()
		d := n.dispatcher(r)
		d.Start()
		var want []string
		for range 5 {
			want = append(want, n.event())
		}
		settled(5 * time.Second)
		require.Equal(t, want, r.had(id))
		body := r.bodies[want[0]]
		require.Equal(t, want[0], body["id"])
		require.Equal(t, "key.created", body["type"])
		require.Equal(t, body["time"], body["timestamp"])
		require.NotNil(t, body["data"])
		require.NotNil(t, body["leafHash"])
		require.EqualValues(t, n.store.Size(), n.cursor(id), "noted, so that the next leader repeats nothing")
		size, records := n.store.Size(), len(n.records)
		settled(time.Hour)
		require.Equal(t, size, n.store.Size(), "deliveries write no leaves")
		require.Len(t, n.records, records, "and an idle webhook nothing at all")

		n.becomes("follower")
		settled(time.Second)
		want = append(want, n.event())
		settled(10 * time.Second)
		require.Len(t, r.had(id), 5, "only the leader sends")
		d.Stop()
		next := n.dispatcher(r)
		n.becomes("leader")
		next.Start()
		settled(5 * time.Second)
		next.Stop()
		require.Equal(t, want, r.had(id))
	})
}

// The next leader sends again what was received but not noted in the log: delivery is at
// least once.
func TestNothingIsLostWithALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		first := n.event()
		r.answers(func(_ uint32, event string) Attempt {
			if event == first {
				return Attempt{Status: 500}
			}
			return Attempt{Status: 204}
		})
		d := n.dispatcher(r)
		d.Start()
		second := n.event()
		settled(3 * time.Second)
		require.Equal(t, []string{first, second}, r.had(id))
		require.EqualValues(t, 2, n.cursor(id), "the cursor waits for what failed")
		d.Stop()
		r.answers(nil)
		next := n.dispatcher(r)
		next.Start()
		settled(5 * time.Second)
		next.Stop()
		require.Equal(t, []string{first, second, first, second}, r.had(id))
		require.EqualValues(t, n.store.Size(), n.cursor(id))
	})
}

func TestRetriesThenADeadLetterThenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		bad := n.event()
		var times []time.Duration
		begun := time.Now()
		r.answers(func(_ uint32, event string) Attempt {
			if event == bad {
				times = append(times, time.Since(begun))
				return Attempt{Status: 500}
			}
			return Attempt{Status: 200}
		})
		d := n.dispatcher(r)
		d.every = 20 * time.Second
		d.Start()
		settled(time.Minute)
		var good []string
		for range 45 { // Log time moves on with real time.
			good = append(good, n.event())
			n.mutex.Lock()
			n.now += 2 * engine.Hour
			n.mutex.Unlock()
			settled(2 * time.Hour)
		}
		require.Len(t, times, attemptsMax)
		for i, gap := range retryGaps {
			require.GreaterOrEqual(t, times[i+1]-times[i], gap)
			require.LessOrEqual(t, times[i+1]-times[i], gap+gap/10+idlePause)
		}
		got := slices.DeleteFunc(r.had(id), func(e string) bool { return e == bad })
		require.Equal(t, good, got, "what fails holds up nothing else, and its dead letter is not told to itself")
		v, _ := n.View(context.Background(), 0)
		var dead []string
		v.Sendings(id, math.MaxUint64, func(s fsm.Sending) bool {
			dead = append(dead, fmt.Sprintf("evt_%d_%d %d %d", s.Seq, s.N, s.Attempts, s.Status))
			return true
		})
		require.Equal(t, []string{bad + " 10 500"}, dead)
		require.Greater(t, n.cursor(id), n.store.Size()-3, "it waits for nothing any more")

		r.answers(nil)
		n.must(wire.KindDelivery, &wire.Delivery{Op: wire.DeliveryAll, Webhook: id})
		settled(time.Minute)
		d.Stop()
		had := r.had(id)
		require.Equal(t, bad, had[len(had)-1])
		require.Len(t, had, len(good)+attemptsMax+1, "once")
		v, _ = n.View(context.Background(), 0)
		v.Sendings(id, math.MaxUint64, func(fsm.Sending) bool { t.Error("nothing is left to send"); return false })
	})
}

// An unreachable receiver is called rarely. Once it is back it gets all events that are not
// too old; the older ones are dead letters.
func TestAReceiverThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		away := true
		r.answers(func(uint32, string) Attempt {
			if away {
				return Attempt{Failure: FailedTimeout}
			}
			return Attempt{Status: 200}
		})
		d := n.dispatcher(r)
		d.every = 20 * time.Second
		d.Start()
		var all []string
		for range 2 * pendingMax {
			all = append(all, n.event())
		}
		settled(24 * time.Hour)
		calls := len(r.had(id))
		require.Less(t, calls, 24*60/5+20, "one call in five minutes")
		require.Greater(t, calls, 200)
		r.mutex.Lock()
		away = false
		clear(r.got)
		r.mutex.Unlock()
		settled(30 * time.Hour)
		got := r.had(id)
		d.Stop()
		slices.Sort(got)
		got = slices.Compact(got)
		slices.Sort(all)
		require.Equal(t, all, got)
	})
}

// A receiver that fails a single call now and then is not left alone: the next event is sent at
// once. Only a second failure in a row pauses.
func TestSingleFailuresPauseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		calls := 0
		r.answers(func(uint32, string) Attempt {
			if calls++; calls%50 == 0 {
				return Attempt{Status: 500}
			}
			return Attempt{Status: 200}
		})
		d := n.dispatcher(r)
		d.Start()
		for range 200 {
			n.event()
		}
		begun := time.Now()
		for len(r.had(id)) < 200 && time.Since(begun) < time.Minute {
			settled(10 * time.Millisecond)
		}
		require.Less(t, time.Since(begun), time.Second, "four single failures cost nothing")
		r.answers(func(uint32, string) Attempt { return Attempt{Status: 500} })
		settled(time.Minute)
		had := len(r.had(id))
		for range 10 {
			n.event()
		}
		settled(900 * time.Millisecond)
		require.LessOrEqual(t, len(r.had(id)), had+2, "from the second failure in a row on it is left alone")
		d.Stop()
	})
}

func TestRetryAfterAndGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		r.answers(func(uint32, string) Attempt { return Attempt{Status: 429, RetryAfter: 10 * time.Minute} })
		d := n.dispatcher(r)
		d.every = time.Second
		d.Start()
		n.event()
		n.event()
		settled(9 * time.Minute)
		require.Len(t, r.had(id), 1, "left alone as long as it asked")
		r.answers(func(uint32, string) Attempt { return Attempt{Status: 410} })
		settled(2 * time.Minute)
		require.True(t, n.Settings().Webhooks[0].Off)
		had := len(r.had(id))
		settled(100 * time.Hour)
		require.Len(t, r.had(id), had)
		d.Stop()
	})
}

// A slow receiver delays only itself.
func TestASlowReceiverHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		slow, fast := n.hook(), n.hook()
		r.answers(func(hook uint32, _ string) Attempt {
			if hook == slow {
				time.Sleep(attemptTimeout)
				return Attempt{Failure: FailedTimeout}
			}
			return Attempt{Status: 200}
		})
		d := n.dispatcher(r)
		d.Start()
		settled(time.Second)
		var want []string
		for range 50 {
			want = append(want, n.event())
		}
		settled(time.Second)
		got := r.had(fast)
		require.Equal(t, want, got[len(got)-50:])
		require.LessOrEqual(t, len(r.had(slow)), 1)
		d.Stop()
	})
}

// A webhook gets nothing once its key is revoked, and continues where it was when another key
// takes it over.
func TestAWebhookEndsWithItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		n.event()
		row := uint32(len(n.Settings().Keys))
		id := n.hook(func(p *wire.WebhookPut) { p.Key = &wire.KeyRef{Row: row, Rev: 1} })
		d := n.dispatcher(r)
		d.every = time.Second
		d.Start()
		settled(2 * time.Second)
		n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: n.Settings().Keys[row-1].ID}})
		later := n.event()
		settled(time.Hour)
		require.Empty(t, r.had(id), "not even that its key was revoked")
		hook := *n.Settings().Webhooks[0]
		n.must(wire.KindWebhook, &wire.WebhookPut{Op: wire.WebhookChange, BaseRev: hook.Rev, Webhook: hook})
		settled(2 * time.Second)
		d.Stop()
		had := r.had(id)
		require.Equal(t, later, had[len(had)-1])
	})
}

// Unreachable receivers do not cause an endless chain of dead letters about each other.
func TestDeadLettersOfDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		for range 3 {
			n.hook(func(p *wire.WebhookPut) { p.Webhook.Types = []string{"webhook.dead_letter", "key.created"} })
		}
		r.answers(func(uint32, string) Attempt { return Attempt{Status: 500} })
		d := n.dispatcher(r)
		d.every = 2 * time.Minute
		d.Start()
		n.event()
		for range 60 {
			n.mutex.Lock()
			n.now += 8 * engine.Hour
			n.mutex.Unlock()
			settled(8 * time.Hour)
		}
		d.Stop()
		// There are three dead letters of the event, each reported to the two others, and no
		// more.
		require.EqualValues(t, 1+3+1+3+6, n.store.Size())
	})
}

// A leaf that this node's disk has damaged delays the later ones until a peer has supplied
// it, but for a day at most. A metric shows the delay.
func TestALeafThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		first := n.event()
		before := n.disk.Files()
		bad := n.event()
		whole := n.disk.Files()
		n.rots(before)
		again := func() { // Repairs the damaged leaf; later leaves are intact.
			for name, length := range whole {
				for at := before[name] + 40; at < length; at += 8 {
					require.NoError(t, n.disk.FlipBit(name, 8*at))
				}
			}
		}
		later := n.event()
		_, err := n.store.Leaf(n.store.Size() - 2)
		require.ErrorIs(t, err, audit.ErrCorrupt)
		d := n.dispatcher(r)
		d.every, d.afterError = 5*time.Second, 5*time.Second
		d.Start()
		settled(time.Hour)
		require.Equal(t, []string{first}, r.had(id))
		require.Greater(t, time.Duration(unreadableFor.Load()), 59*time.Minute)
		again()
		settled(10 * time.Second)
		require.Equal(t, []string{first, bad, later}, r.had(id), "nothing is lost that comes back")
		require.Zero(t, unreadableFor.Load())

		missed := missedTotal.Get()
		before = n.disk.Files()
		n.event()
		whole = n.disk.Files()
		n.rots(before)
		last := n.event()
		settled(unreadableMax - time.Minute)
		require.Len(t, r.had(id), 3)
		settled(2 * time.Minute)
		require.Equal(t, []string{first, bad, later, last}, r.had(id))
		require.Equal(t, missed+1, missedTotal.Get())
		require.Zero(t, unreadableFor.Load())
		require.Equal(t, n.store.Size()-1, n.cursor(id), "the leaf of the last one: it has no other event")
		d.Stop()
	})
}

// A failed event that can no longer be read does not delay later events, and is given up
// after a day.
func TestAFailedEventThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, r := newTestNode(t), newReceivers()
		id := n.hook()
		d := n.dispatcher(r)
		d.every = time.Second
		before := n.disk.Files()
		bad := n.event()
		r.answers(func(_ uint32, event string) Attempt {
			if event == bad {
				return Attempt{Status: 500}
			}
			return Attempt{Status: 200}
		})
		d.Start()
		settled(2 * time.Second)
		require.Equal(t, []string{bad}, r.had(id))
		n.rots(before)
		settled(time.Minute)
		var good []string
		for range 5 {
			good = append(good, n.event())
			settled(5 * time.Second)
		}
		require.Equal(t, good, r.had(id)[1:])
		require.Less(t, n.cursor(id), n.store.Size()-4, "the cursor waits for what failed")
		settled(unreadableMax + time.Minute)
		v, _ := n.View(context.Background(), 0)
		var dead []string
		v.Sendings(id, math.MaxUint64, func(s fsm.Sending) bool {
			dead = append(dead, fmt.Sprintf("evt_%d_%d %d", s.Seq, s.N, s.Attempts))
			return true
		})
		require.Equal(t, []string{bad + " 1"}, dead)
		require.Greater(t, n.cursor(id), n.store.Size()-3)
		require.Zero(t, unreadableFor.Load())
		d.Stop()
	})
}
