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

// Neighbours carries the use of each API key between nodes, so that a key's rate holds for
// the whole cluster (decision 55).
type Neighbours interface {
	TellUse(use []report.KeyUse)  // Use on this node, kept for the other nodes for a while.
	OthersUse() map[string]uint64 // Calls in 1,000 seconds by key: the sum over the other nodes that answer.
}

const (
	ShareEvery  = 250 * time.Millisecond
	ShareLeast  = 16   // A node's part is at least 1/ShareLeast of a rate.
	demandLeast = 0.01 // Calls a second; a smaller demand counts as none.

	// registrationsOf is appended to a key's id to name its registrations among the uses
	// that nodes exchange. No key's id contains a space.
	registrationsOf = " registrations"
)

// fairShare divides each key's rate among the nodes. This node gets what the others do not
// use; when all together want more than the rate, each gets its share of the demand. The
// parts follow the demand with a delay of half a second. A burst after a pause is not
// divided: each node allows its own.
type fairShare struct {
	Last atomic.Int64 // Time of the last division, in ns of the process's clock.
	busy atomic.Bool
}

// divideRates starts a division in the background when it is due. Each lookup of a key
// calls it.
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

// divideRates sets every key's part from the demand here and elsewhere. It returns the
// demand here for the keys that are used most.
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
		share(id+namesOf, key.Names.tokens, &key.Names.asked, key.Names.limit)
	}
	slices.SortFunc(use, func(a, b report.KeyUse) int { return cmp.Compare(b.Milli, a.Milli) })
	return use[:min(len(use), report.KeyUseMax)]
}

// keyUse measures the demand for a key.
type keyUse struct {
	asked   atomic.Int64
	Average atomic.Uint64 // Calls a second, as the bits of a float64.
}

// recentDemand returns the key's recent demand here in calls a second, refused calls included. It
// is the mean of the previous average and the latest rate.
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

// WriteKeyRates writes Prometheus metrics: how much of their rates the most used keys take.
func (b *Border) WriteKeyRates(w io.Writer) {
	keys := b.KeysNow()
	b.divideRates(keys) // The rates are divided here, too, so that the metrics are current even if no calls come.
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

// partOf computes a node's part of a rate; all values are calls a second.
func partOf(limit, own, others float64) float64 {
	part := limit - others
	if own+others > limit {
		part = limit * own / (own + others)
	}
	return max(part, limit/ShareLeast)
}
