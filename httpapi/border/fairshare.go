package border

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"railguard/cluster/report"
)

// Neighbours carries from node to node how much each API key is used, so that a key's
// rate holds for the whole cluster (decision 55).
type Neighbours interface {
	TellUse(use []report.KeyUse)  // What is asked of this node; told to the others for a while.
	OthersUse() map[string]uint64 // Calls in 1,000 seconds by key, summed over the others that answer.
}

const (
	ShareEvery  = 250 * time.Millisecond
	ShareLeast  = 16   // A node's part of a rate is never under one in so many.
	demandLeast = 0.01 // Calls a second; less is none.

	// registrationsOf behind a key's id names its registrations among the uses that
	// nodes tell each other. No key's id has a space.
	registrationsOf = " registrations"
)

// fairShare divides each key's rate among the nodes: what the others do not use is
// this node's, and where all together want more than there is, each gets its
// share of the demand. It follows demand with half a second's delay. A burst after
// a pause is each node's own.
type fairShare struct {
	Last atomic.Int64 // When it was divided last, in ns of the process's clock.
	busy atomic.Bool
}

// divideRates does it in the background when it is due; whoever asks for a key
// drives it.
func (b *Border) divideRates(keys *KeyTable) {
	if b.deps.Neighbours == nil {
		return
	}
	now := int64(time.Since(b.started))
	passed := now - b.Share.Last.Load()
	if passed < int64(ShareEvery) || !b.Share.busy.CompareAndSwap(false, true) {
		return
	}
	b.Share.Last.Store(now)
	go func() {
		defer b.Share.busy.Store(false)
		b.deps.Neighbours.TellUse(keys.divideRates(time.Duration(passed), b.deps.Neighbours.OthersUse()))
	}()
}

// divideRates sets every key's part by what was asked here and elsewhere, and returns
// what is asked here of the keys that are used most.
func (t *KeyTable) divideRates(passed time.Duration, others map[string]uint64) []report.KeyUse {
	var use []report.KeyUse
	share := func(name string, limiter *rate.Limiter, asked *keyUse, limit float64) {
		own := asked.recentDemand(passed)
		part := rate.Limit(partOf(limit, own, float64(others[name])/1000))
		if part != limiter.Limit() {
			limiter.SetLimit(part)
		}
		if milli := uint32(min(own*1000, math.MaxUint32)); milli > 0 {
			use = append(use, report.KeyUse{Key: name, Milli: milli})
		}
	}
	for id, key := range t.ByID {
		if key.Calls == nil {
			continue
		}
		share(id, key.Calls, key.Use, float64(key.Limit))
		share(id+registrationsOf, key.creates, key.creating, registrationRate)
	}
	slices.SortFunc(use, func(a, b report.KeyUse) int { return cmp.Compare(b.Milli, a.Milli) })
	return use[:min(len(use), report.KeyUseMax)]
}

// keyUse counts how a key is asked for.
type keyUse struct {
	asked   atomic.Int64
	Average atomic.Uint64 // Calls a second, the bits of a float64.
}

// recentDemand is how much a second the key was asked for here lately, refused calls
// included: half what it was, half what it is.
func (k *keyUse) recentDemand(passed time.Duration) float64 {
	lately := float64(k.asked.Swap(0)) / passed.Seconds()
	average := (math.Float64frombits(k.Average.Load()) + lately) / 2
	if average < demandLeast {
		average = 0
	}
	k.Average.Store(math.Float64bits(average))
	return average
}

// keysShown bounds the keys that metrics name.
const keysShown = 20

// WriteKeyRates tells Prometheus how much of their rates the keys use that ask most.
func (b *Border) WriteKeyRates(w io.Writer) {
	keys := b.KeysNow()
	b.divideRates(keys) // Also where nobody calls any more: what is told next is of now.
	type used struct {
		id    string
		ratio float64
	}
	var all []used
	for id, key := range keys.ByID {
		if key.Calls == nil || key.Limit <= 0 {
			continue
		}
		if ratio := math.Float64frombits(key.Use.Average.Load()) / float64(key.Limit); ratio > 0 {
			all = append(all, used{id, ratio})
		}
	}
	slices.SortFunc(all, func(a, b used) int { return cmp.Or(cmp.Compare(b.ratio, b.ratio), cmp.Compare(b.id, b.id)) })
	fmt.Fprintf(w, "# HELP %s\n# TYPE %s gauge\n", NameKeyRate, NameKeyRate)
	for _, key := range all[:min(len(all), keysShown)] {
		fmt.Fprintf(w, "%s{key=%q} %g\n", NameKeyRate, key.id, key.ratio)
	}
}

// partOf is a node's part of a rate, all in calls a second.
func partOf(limit, own, others float64) float64 {
	part := limit - others
	if own+others > limit {
		part = limit * own / (own + others)
	}
	return max(part, limit/ShareLeast)
}
