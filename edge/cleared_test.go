package edge

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// lazarus is a listed entry; names in the tests resemble it.
const lazarus = 27307

// sampleWith applies a change to the sample list and compiles it.
func sampleWith(t testing.TB, change func([]ofac.Entity) []ofac.Entity) *ofac.Index {
	t.Helper()
	list, err := ofac.Build(change(sample.Entities()), sample.Meta())
	require.NoError(t, err)
	return list
}

func entryAt(t testing.TB, entities []ofac.Entity) int {
	t.Helper()
	at := slices.IndexFunc(entities, func(e ofac.Entity) bool { return e.UID == lazarus })
	require.NotEqual(t, -1, at)
	return at
}

// A cleared pair is in force until it expires, and only while the list's entry is the same as
// when the pair was cleared (decision 44, "Cleared pairs"). Judging and displaying use the same
// function.
func TestClearedPairIsVoid(t *testing.T) {
	same := sampleWith(t, slices.Clone)
	digest, listed := same.EntryDigest(lazarus)
	require.True(t, listed)
	others := sampleWith(t, func(all []ofac.Entity) []ofac.Entity {
		all[(entryAt(t, all)+1)%len(all)].Programs = []string{"SDGT2"}
		return all
	})
	changed := sampleWith(t, func(all []ofac.Entity) []ofac.Entity {
		all[entryAt(t, all)].Programs = []string{"DPRK4"}
		return all
	})
	removed := sampleWith(t, func(all []ofac.Entity) []ofac.Entity {
		at := entryAt(t, all)
		return slices.Delete(all, at, at+1)
	})
	for _, c := range []struct {
		name    string
		list    *ofac.Index
		expires engine.Time
		void    string
	}{
		{"for ever", same, 0, ""},
		{"until a moment from now", same, testNow + 1, ""},
		{"until now", same, testNow, VoidExpired},
		{"until a moment ago", same, testNow - 1, VoidExpired},
		{"another entry changed", others, 0, ""},
		{"the entry changed", changed, 0, VoidEntryChanged},
		{"the entry changed, until later", changed, testNow + 1, VoidEntryChanged},
		{"the entry is gone", removed, 0, VoidEntryRemoved},
		{"the entry is gone, and the time has come", removed, testNow, VoidExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair := &wire.ClearedPair{ID: 1, Name: "lazarus groupe", UID: lazarus, EntryDigest: digest, ExpiresAt: c.expires}
			require.Equal(t, c.void, JudgeClearedPair(pair, c.list, testNow))

			n, judges := newTestNode(t)
			settings := *n.settings
			settings.Index, settings.Cleared = 2, []*wire.ClearedPair{pair}
			n.settings = &settings
			found := judges.Now().cleared.hold(nil, "", "Lazarus  GROUPE", &engine.Told{}, c.list, testNow)
			uids, until := heldEntries(found, "")
			question := &MatchQuestion{Name: "Lazarus Groupe"}
			var judge Judge
			defer judge.Reset()
			judge.Begin(t.Context(), judges, &Call{Caller: &Caller{}})
			answer, err := judge.Matches(question, c.list)
			require.NoError(t, err)
			displayed := string(answer)
			if c.void == "" {
				require.Equal(t, []uint32{lazarus}, uids, "the entry is not asked about")
				require.Equal(t, c.expires, until)
				require.Contains(t, displayed, `"cleared":true`)
				return
			}
			require.Empty(t, uids, "the entry is asked about again")
			require.Zero(t, until)
			require.NotContains(t, displayed, `"cleared":true`)
		})
	}
}
