package engine

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawList draws a whitelist of a few identifiers: enforced or not, with entries that may
// expire, with any kinds.
func drawList(rt *rapid.T, label string) *Whitelist {
	list := &Whitelist{Enforce: rapid.IntRange(0, 4).Draw(rt, label+" mode") > 0}
	for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{walletA, walletB, "Acme Ltd", "Globex"}), 0, 4).Draw(rt, label) {
		entry := listOf(rt, text).Entries[0]
		entry.ExpiresAt = rapid.SampledFrom([]Time{0, 0, someday, someday + Hour}).Draw(rt, label+" expiry")
		list = list.With(entry)
	}
	list.Kinds |= Kinds(rapid.IntRange(0, 3).Draw(rt, label+" kinds"))
	return list
}

// drawNarrower returns the list with something taken away: an entry removed or expiring sooner.
// It may also cover a further kind.
func drawNarrower(rt *rapid.T, list *Whitelist) *Whitelist {
	next := *list
	next.Entries = slices.Clone(list.Entries)
	if len(next.Entries) > 0 {
		at := rapid.IntRange(0, len(next.Entries)-1).Draw(rt, "which")
		if rapid.Bool().Draw(rt, "goes") {
			shorter, _ := next.Without(next.Entries[at].ID)
			next = *shorter
		} else {
			next.Entries[at].ExpiresAt = someday
		}
	}
	next.Kinds |= Kinds(rapid.IntRange(0, 3).Draw(rt, "more kinds"))
	return &next
}

// placeOn returns one of the places where a call can have a list, by number.
func placeOn(f *Facts, at int) **Whitelist {
	switch at {
	case 0:
		return &f.Chain[0].Settings.Whitelist
	case 1:
		return &f.Chain[1].Settings.Whitelist
	case 2:
		return &f.Fleet.Whitelist
	}
	return &f.Policy.Whitelist
}

const places = 4

func drawCall(rt *rapid.T) *Facts {
	f := withParents(cleanFacts(), 1)
	f.Fleet = &FleetProfile{}
	f.Request.Wallet = rapid.SampledFrom([]string{"", walletA, walletB}).Draw(rt, "cpWallet")
	f.Request.Name = rapid.SampledFrom([]string{"", "Acme Ltd", "Globex", "Contoso"}).Draw(rt, "cpName")
	for at := range places {
		if rapid.Bool().Draw(rt, "set") {
			*placeOn(f, at) = drawList(rt, "list")
		}
	}
	return f
}

// Neither adding a list nor narrowing one ever turns a hit of R13 into a pass (T147). Nor does
// any change that WhitelistWidens does not call a widening.
func TestListsOnlyNarrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawCall(rt)
		hit := notWhitelisted(f)
		if hit == 0 {
			return
		}
		at := placeOn(f, rapid.IntRange(0, places-1).Draw(rt, "placeOn"))
		old := *at
		switch {
		case old == nil || !old.Enforce:
			*at = drawList(rt, "added")
		case rapid.Bool().Draw(rt, "narrowed"):
			*at = drawNarrower(rt, old)
		default:
			if *at = drawList(rt, "put"); WhitelistWidens(old, *at) {
				return
			}
		}
		require.NotZero(rt, notWhitelisted(f), "from %+v to %+v", old, *at)
	})
}

// The same property for every pair of small lists and every call. Random draws seldom combine a
// wallet that one list covers with a name that all lists have.
func TestEveryListOnlyNarrows(t *testing.T) {
	lists := []*Whitelist{nil}
	for entries := range 4 {
		for kinds := range Kinds(4) {
			list := &Whitelist{Enforce: true}
			for i, text := range []string{walletA, "Acme Ltd"} {
				if entries>>i&1 != 0 {
					list = list.With(listOf(t, text).Entries[0])
				}
			}
			list.Kinds |= kinds
			lists = append(lists, list)
		}
	}
	f, passed := withParents(cleanFacts(), 1), 0
	f.Fleet = &FleetProfile{}
	for _, f.Chain[0].Settings.Whitelist = range lists {
		for _, f.Policy.Whitelist = range lists {
			for _, f.Request.Wallet = range []string{"", walletA, walletB} {
				for _, f.Request.Name = range []string{"", "Acme Ltd", "Globex"} {
					if notWhitelisted(f) == 0 {
						passed++
						continue
					}
					requireNarrowed(t, f, lists)
				}
			}
		}
	}
	require.NotZero(t, passed)
}

// requireNarrowed puts every list that is no widening in every placeOn, and demands that R13
// still fires.
func requireNarrowed(t *testing.T, f *Facts, lists []*Whitelist) {
	for _, at := range []int{0, 2, places - 1} {
		list := placeOn(f, at)
		old := *list
		for _, next := range lists {
			if old != nil && WhitelistWidens(old, next) {
				continue
			}
			if *list = next; notWhitelisted(f) == 0 {
				require.Fail(t, "a list widened", "%+v in placeOn %d instead of %+v passes %q %q", next, at, old, f.Request.Wallet, f.Request.Name)
			}
		}
		*list = old
	}
}

// Entries of a list that is not set change nothing.
func TestEntriesOfAnUnsetListChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := drawCall(rt)
		hit := notWhitelisted(f)
		at := placeOn(f, rapid.IntRange(0, places-1).Draw(rt, "placeOn"))
		if *at != nil && (*at).Enforce {
			return
		}
		*at = (*at).With(listOf(rt, rapid.SampledFrom([]string{walletA, "Acme Ltd"}).Draw(rt, "entry")).Entries[0])
		require.False(rt, (*at).Enforce)
		require.Equal(rt, hit, notWhitelisted(f))
	})
}
