package edge_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
)

// alike is a node whose state has forgotten every payment reference, and whose files find the same
// leaves for each: the upper bits of their references are alike.
type alike struct {
	*edgetest.World
	leaves []audit.PlacedLeaf
}

func (a *alike) UsedFrom() uint64 { return a.Store.Size() }

func (a *alike) ReferenceLeaves(engine.ReferenceKey) ([]audit.PlacedLeaf, uint64, error) {
	return a.leaves, a.Store.Size(), nil
}

// A look for a payment reference reads a bounded number of leaves. If they are of other references, and
// older ones may not have been read, this node does not know whether the reference was used: it
// refuses the call, as it does one whose Idempotency-Key it cannot look for.
func TestReferencesThatAreAlike(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	sought := w.Screened(edgetest.Admin(), payment(token, `,"paymentRef":"sought"`))
	other := w.Screened(edgetest.Admin(), payment(token, `,"paymentRef":"other"`))
	at := func(l *edge.Leaf, time engine.Time) audit.PlacedLeaf {
		return audit.PlacedLeaf{Index: l.Index, Leaf: audit.Leaf{Time: int64(time), Data: l.Data}}
	}
	w.Advance(engine.Hour)
	young, old := w.LogTime(), w.LogTime()-engine.ReferenceKept
	fill := func(count int, last audit.PlacedLeaf) (leaves []audit.PlacedLeaf) {
		for range count - 1 {
			leaves = append(leaves, at(&other, young))
		}
		return append(leaves, last)
	}
	for name, c := range map[string]struct {
		leaves []audit.PlacedLeaf
		used   bool
		code   string
	}{
		"none":                            {},
		"fewer than one look can find":    {leaves: fill(15, at(&other, young))},
		"as many as one look can find":    {leaves: fill(16, at(&other, young)), code: "overloaded"},
		"and the last is the one":         {leaves: fill(16, at(&sought, young)), used: true},
		"and the last is of another time": {leaves: fill(16, at(&other, old))},
	} {
		t.Run(name, func(t *testing.T) {
			node := &alike{World: w, leaves: c.leaves}
			judges := edge.New(edge.Deps{Published: node, Records: node, Secrets: w.Secrets, Node: "n1", Version: "0.0.0-test", Logger: slog.New(slog.DiscardHandler)})
			j := new(edge.Judge)
			defer j.Reset()
			j.Begin(t.Context(), judges, w.NewCall(edgetest.Admin(), `{}`))
			_, key := edge.PaymentOf(j, &sought)
			found, err := j.LookForReference(key)
			if c.code != "" {
				require.Equal(t, c.code, refusalOf(t, err).Code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.used, found.By == sought.Index+1)
			require.Equal(t, w.Store.Size(), found.Looked)
		})
	}
}
