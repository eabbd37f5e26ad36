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

// An operator's key that tries dates of birth in the workbench finds out nothing about a clearing.
func TestTheWorkbenchTellsOperatorsOfNoGrounds(t *testing.T) {
	list := sampleWith(t, slices.Clone)
	digest, _ := list.EntryDigest(lazarus)
	n, judges := newTestNode(t)
	settings := *n.settings
	settings.Index = 2
	settings.Cleared = []*wire.ClearedPair{{ID: 1, Name: "lazarus groupe", UID: lazarus, EntryDigest: digest, Grounds: engine.ClearedGrounds{BirthDate: "1974"}}}
	n.settings = &settings
	for owner, want := range map[string]string{"": `"cleared":true,"clearedId":"1"`, wire.OwnerOperatorPrefix + "x": `"cleared":false}`} {
		var judge Judge
		judge.Begin(t.Context(), judges, &Call{Caller: &Caller{Owner: owner}})
		answer, err := judge.Matches(&MatchQuestion{Name: "Lazarus Groupe", Context: ofac.Context{BirthDate: "1974"}}, list)
		require.NoError(t, err)
		require.Contains(t, string(answer), want, "of %q", owner)
		judge.Reset()
	}
}

// The newest pair that holds counts, and of those that do not hold the newest is named.
func TestOneOfSeveralClearingsIsEnough(t *testing.T) {
	list := sampleWith(t, slices.Clone)
	digest, _ := list.EntryDigest(lazarus)
	pair := func(id uint32, country string, expires engine.Time) *wire.ClearedPair {
		return &wire.ClearedPair{ID: id, Name: "lazarus groupe", UID: lazarus, EntryDigest: digest, ExpiresAt: expires, Grounds: engine.ClearedGrounds{Country: country}}
	}
	pairs := newClearedPairs([]*wire.ClearedPair{pair(1, "FR", testNow+9), pair(2, "FR", testNow+5), pair(3, "JO", testNow+7), pair(4, "IT", testNow+1)})
	ask := func(country string) (ids []uint32, denied string, uids []uint32, until engine.Time) {
		found := pairs.hold(nil, partyCounterparty, "Lazarus Groupe", &engine.Told{Context: ofac.Context{Country: country}}, list, testNow)
		for i := range found {
			ids, denied = append(ids, found[i].pair.ID), found[i].denied
		}
		uids, until = heldEntries(found, partyCounterparty)
		return ids, denied, uids, until
	}
	ids, denied, uids, until := ask("France")
	require.Equal(t, []uint32{2}, ids)
	require.Empty(t, denied)
	require.Equal(t, []uint32{lazarus}, uids)
	require.Equal(t, testNow+5, until)
	ids, denied, uids, until = ask("Spain")
	require.Equal(t, []uint32{4}, ids)
	require.Equal(t, "country differs", denied)
	require.Empty(t, uids)
	require.Zero(t, until, "what silences nothing lapses without a word")
}
