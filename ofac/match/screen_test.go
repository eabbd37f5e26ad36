package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

func decisionList(t testing.TB) *Index {
	return mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "MADURO MOROS, Nicolas", "FOX"),
		listtest.Named(2, list.Individual, list.ListCONS, "PETROV, Ivan Sergeyevich"),
		listtest.Named(13, list.Individual, list.ListSDN, "TREVIÑO MORALES, Ómar"),
		listtest.Weak(listtest.Named(3, list.Company, list.ListSDN, "LAZARUS GROUP", "HIDDEN COBRA", "GUARDIANS OF PEACE"), "ZINC GANG"),
		listtest.Named(4, list.Company, list.ListSDN, "CARVANA COMPANY"),
		listtest.Named(5, list.Company, list.ListSDN, "OPEL", "NEC", "ROSNEFT"),
		listtest.Named(6, list.Company, list.ListSDN, "PTC GMBH"),
		listtest.Named(7, list.Company, list.ListCONS, "GARANTEX EUROPE OU"),
		listtest.Named(8, list.Vessel, list.ListSDN, "DOVER", "OCEAN GLORY"),
		listtest.Named(9, list.Aircraft, list.ListSDN, "YV2030"),
		listtest.Named(10, list.Company, list.ListSDN, "TRADING HOUSE OF THE NORTHERN SEA LIMITED LIABILITY COMPANY"),
		listtest.Named(11, list.Company, list.ListSDN, "COSTAR GROUP CO., LTD."),
		listtest.Named(12, list.Company, list.ListCONS, "MAGNITOGORSK PIPE ROLLING PLANT JOINT STOCK COMPANY"),
	})
}

// This is the table of decision 44, "Exact hits".
func TestExactDecisions(t *testing.T) {
	list := decisionList(t)
	for name, c := range map[string]struct {
		query   Query
		outcome Outcome
		sub     Sub
		form    string
	}{
		"person as listed":              {Query{Name: "MADURO MOROS, Nicolas"}, Listed, SubNone, "full"},
		"person first name first":       {Query{Name: "Omar Trevino Morales"}, Listed, SubNone, "first-last"},
		"person any order":              {Query{Name: "morales TREVIÑO omar"}, Listed, SubNone, "sorted-words"},
		"person with a title":           {Query{Name: "Mr. Omar Trevino Morales"}, Listed, SubNone, "sorted-words"},
		"person without spaces":         {Query{Name: "nicolasmaduromoros"}, Listed, SubNone, "joined"},
		"person called a business":      {Query{Name: "Omar Trevino Morales", Type: PartyBusiness}, Listed, SubNone, "first-last"},
		"person of one word":            {Query{Name: "Fox"}, Possible, SubOneWordPerson, "full"},
		"company named as a person":     {Query{Name: "Omar Trevino Morales Inc."}, Possible, SubLegalForm, "sorted-words"},
		"company of two words":          {Query{Name: "Lazarus-Group"}, Listed, SubNone, "full"},
		"company as individual":         {Query{Name: "Lazarus Group", Type: PartyIndividual}, Possible, SubPartyType, "full"},
		"homoglyphs":                    {Query{Name: "Lаzаrus Grоup"}, Listed, SubNone, "full"},
		"primary word of four":          {Query{Name: "opel"}, Listed, SubNone, "full"},
		"alias of six":                  {Query{Name: "Rosneft"}, Listed, SubNone, "full"},
		"alias of three":                {Query{Name: "NEC"}, Possible, SubShortWord, "full"},
		"same form in another spelling": {Query{Name: "Carvana Co."}, Listed, SubNone, "full"},
		"form left out of one word":     {Query{Name: "Carvana"}, Possible, SubLegalFormAbsent, "content-words"},
		"form added to one word":        {Query{Name: "Rosneft Inc"}, Possible, SubLegalFormAbsent, "full"},
		"forms contradict":              {Query{Name: "PTC Inc."}, Possible, SubLegalForm, "content-words"},
		"generic second word":           {Query{Name: "CoStar Group, Inc."}, Possible, SubLegalForm, "content-words"},
		"vessel":                        {Query{Name: "Dover"}, Possible, SubVessel, "full"},
		"vessel of two words":           {Query{Name: "Ocean Glory"}, Possible, SubVessel, "full"},
		"aircraft":                      {Query{Name: "YV2030"}, Possible, SubAircraft, "full"},
		"weak alias":                    {Query{Name: "Zinc Gang"}, Clear, SubWeakAlias, "full"},
		"weak alias turned on":          {Query{Name: "Zinc Gang", WeakAliases: true}, Possible, SubWeakAlias, "full"},
		"one cut line":                  {Query{Name: "MAGNITOGORSK PIPE ROLLING PLANT JOI"}, Possible, SubTruncated, "truncated"},
		"not on the SDN, exact":         {Query{Name: "Ivan Sergeyevich Petrov"}, Listed, SubNone, "first-last"},
	} {
		t.Run(name, func(t *testing.T) {
			result := list.Screen(&c.query, NewScratch())
			require.Equal(t, c.outcome, result.Outcome)
			require.NotEmpty(t, result.Matches)
			require.Equal(t, c.sub.String(), result.Matches[0].Sub.String())
			require.Equal(t, c.form, result.Matches[0].Form)
		})
	}
}

func TestPossibleDecisions(t *testing.T) {
	list := decisionList(t)
	for name, c := range map[string]struct {
		query   Query
		outcome Outcome
	}{
		"a slip in a name":                    {Query{Name: "Nicolas Madruo Moros"}, Possible},
		"transliteration":                     {Query{Name: "Nikolasz Maduro Moross"}, Possible},
		"stranger":                            {Query{Name: "Emma Daniels"}, Clear},
		"one word in common":                  {Query{Name: "Lazarus Bakery"}, Clear},
		"a slip in a vessel's name":           {Query{Name: "Ocean Glorry"}, Clear},
		"only on CONS, OFAC level":            {Query{Name: "Ivan Sergeyevic Petrof"}, Clear},
		"only on CONS, OFAC+CONS level":       {Query{Name: "Ivan Sergeyevic Petrof", NonSDNPossible: true}, Possible},
		"cleared pair":                        {Query{Name: "Nicolas Madruo Moros", ClearedUIDs: []uint32{1}}, Clear},
		"cleared pair of another entry":       {Query{Name: "Nicolas Madruo Moros", ClearedUIDs: []uint32{2}}, Possible},
		"an exact hit cannot be cleared":      {Query{Name: "Nicolas Maduro Moros", ClearedUIDs: []uint32{1}}, Listed},
		"a company's name, unknown party":     {Query{Name: "Guardianz of Piece"}, Possible},
		"empty":                               {Query{}, Clear},
		"punctuation":                         {Query{Name: "..,- "}, Clear},
		"threshold cannot be loosened":        {Query{Name: "Nicolas Madruo Moros", Review: 10000, Block: 20000}, Possible},
		"a tighter threshold shows more":      {Query{Name: "Amar Treviko", Review: reviewFloor}, Possible},
		"the same at the default threshold":   {Query{Name: "Amar Treviko"}, Clear},
		"a tighter block threshold may block": {Query{Name: "Nicolas Madruo Moros", Block: ReviewDefault}, Listed},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.outcome.String(), list.Screen(&c.query, NewScratch()).Outcome.String())
		})
	}
}

// A person that the caller speaks of is less like a listed company.
func TestThePartySaidCounts(t *testing.T) {
	list, scratch := decisionList(t), NewScratch()
	said := func(party PartyType) int32 {
		return list.Screen(&Query{Name: "Guardianz of Piece", Type: party}, scratch).Matches[0].Score
	}
	require.Less(t, said(PartyIndividual), said(PartyBusiness))
}

// An answer that is not Clearable is the same whatever is cleared; and where clearing every entry
// changes an answer, it is Clearable.
func TestClearable(t *testing.T) {
	all := make([]uint32, 13)
	for i := range all {
		all[i] = uint32(i + 1)
	}
	x, scratch, other := decisionList(t), NewScratch(), NewScratch()
	cleared, possible := 0, 0
	for _, name := range []string{
		"Nicolas Madruo Moros", "Nikolas Maduro Moross", "Emma Daniels", "Lazarus Bakery", "Lazarus Group", "Lazarus Group Pyongyang branch office",
		"Ivann Petrof", "Guardianz of Piece", "NEC", "Carvana", "Fox", "Zinc Gang", "Dover", "MAGNITOGORSK PIPE ROLLING PLANT JOI", "", "Omar Treviko",
	} {
		for _, q := range []Query{{}, {Brief: true}, {NonSDNPossible: true, WeakAliases: true}, {Type: PartyIndividual}, {Review: reviewFloor}} {
			q.Name = name
			plain := x.Screen(&q, scratch)
			q.ClearedUIDs = all
			with := x.Screen(&q, other)
			require.Equal(t, plain.Clearable, with.Clearable, "%+v: a clearing in force does not hide that it is one", q)
			if plain.Outcome == Possible {
				require.True(t, plain.Clearable)
				possible++
			}
			if !plain.Clearable {
				require.Equal(t, plain, with, "%+v", q)
			}
			if plain.Outcome != with.Outcome {
				cleared++
			}
		}
	}
	require.Greater(t, cleared, 20)
	require.Equal(t, possible, cleared)
}

func TestScreenSaysWhatItDidNotRead(t *testing.T) {
	list := decisionList(t)
	words := func(n int) string {
		name := ""
		for i := range n {
			name += string([]byte{'b' + byte(i%19), 'a' + byte(i%13), ' '})
		}
		return name
	}
	require.False(t, list.Screen(&Query{Name: words(scoredWordsMax)}, NewScratch()).Truncated)
	require.True(t, list.Screen(&Query{Name: words(scoredWordsMax + 1)}, NewScratch()).Truncated)
	require.False(t, list.Screen(&Query{Name: strings.Repeat("a", scoredBytesMax)}, NewScratch()).Truncated)
	require.True(t, list.Screen(&Query{Name: strings.Repeat("a", scoredBytesMax+1)}, NewScratch()).Truncated)
	require.True(t, list.Screen(&Query{Name: strings.Repeat("a", text.QueryBytesMax+1)}, NewScratch()).Truncated)
}

func TestScreenEntry(t *testing.T) {
	list, scratch := decisionList(t), NewScratch()
	match, ok := list.ScreenEntry(3, &Query{Name: "hidden cobra"}, scratch)
	require.True(t, ok)
	require.Equal(t, "HIDDEN COBRA", match.Alias)
	require.Equal(t, "LAZARUS GROUP", match.Name)
	_, ok = list.ScreenEntry(4, &Query{Name: "hidden cobra"}, scratch)
	require.False(t, ok)
	_, ok = list.ScreenEntry(404, &Query{Name: "hidden cobra"}, scratch)
	require.False(t, ok)
}

// Every strong name of the real list is found in any case, spacing and order of its words,
// and a name other than a person's in its normal form. The short test takes one name in
// five.
func TestEveryListedNameIsFound(t *testing.T) {
	t.Parallel()
	each := 1
	if testing.Short() {
		each = 5
	}
	compiled, scratch := realList(t, "2025-11-19"), NewScratch()
	random := rand.New(rand.NewPCG(3, 4))
	found := func(uid uint32, name string) {
		match, ok := compiled.ScreenEntry(uid, &Query{Name: name, NonSDNPossible: true}, scratch)
		require.True(t, ok && match.Outcome >= Possible && match.Form != "possible", "%d %q", uid, name)
	}
	for i := uint32(0); i < compiled.NameCount; i += uint32(each) {
		record := compiled.NameAt(i)
		if record.Flags&index.NameWeak != 0 || len(text.NormaliseName(compiled.TextAt(record.Full))) < 2 {
			continue
		}
		uid, full := compiled.EntityAt(record.Entity).UID, compiled.TextAt(record.Full)
		found(uid, full)
		found(uid, strings.ToLower(full))
		found(uid, strings.ToUpper(full))
		found(uid, "  "+strings.ReplaceAll(full, " ", "   ")+" ")
		words := strings.Fields(strings.ReplaceAll(full, ",", " "))
		random.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
		found(uid, strings.Join(words, " "))
		if last, first, ok := strings.Cut(full, ", "); ok && compiled.EntityAt(record.Entity).Kind == list.Individual {
			found(uid, first+" "+last)
		}
		if compiled.EntityAt(record.Entity).Kind != list.Individual {
			found(uid, text.NormaliseName(full))
		}
	}
}

func TestScreenIsAPureFunction(t *testing.T) {
	list, used := realList(t, "2025-11-19"), NewScratch()
	entries := list.Entities()
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		name := entries[random.IntN(len(entries))].Names[0].Full
		letters := []byte(name)
		letters[random.IntN(len(letters))] = 'e'
		query := Query{Name: string(letters), NonSDNPossible: true}
		again := list.Screen(&query, used)
		fresh := list.Screen(&query, NewScratch())
		require.Equal(t, fresh, again)
		require.LessOrEqual(t, len(again.Matches), matchesMax)
		require.True(t, slices.IsSortedFunc(again.Matches, func(a, b Match) int { return int(b.Outcome) - int(a.Outcome) }))
	}
}

func TestScreenDoesNotAllocate(t *testing.T) {
	list, scratch := decisionList(t), NewScratch()
	for _, name := range []string{"Nicolás Maduro Moros", "Nikolas Madruo Moross LLC", "Сечин Игорь", "Acme Payments Inc.", strings.Repeat("word ", 60), "شركة نيكولاس مادورو", "מחמד אלנור"} {
		query := Query{Name: name, NonSDNPossible: true}
		list.Screen(&query, scratch)
		require.Zero(t, testing.AllocsPerRun(50, func() { list.Screen(&query, scratch) }), name)
	}
}

func FuzzScreen(f *testing.F) {
	compiled, scratch := decisionList(f), NewScratch()
	for _, seed := range []string{"", "Maduro", "LAZARUS GROUP", "a b c d e f", "ООО", "\xff", strings.Repeat("al ", 200), "0x1", "м0r0s nicоlas"} {
		f.Add(seed, uint8(0), int32(0), true)
	}
	f.Fuzz(func(t *testing.T, name string, kind uint8, review int32, weak bool) {
		query := Query{Name: name, Type: PartyType(kind % 4), Review: review, WeakAliases: weak, NonSDNPossible: weak}
		result := compiled.Screen(&query, scratch)
		again := compiled.Screen(&query, NewScratch())
		require.Equal(t, again.Outcome, result.Outcome)
		require.Equal(t, len(again.Matches), len(result.Matches))
		for _, match := range result.Matches {
			require.LessOrEqual(t, match.Outcome, result.Outcome)
			require.LessOrEqual(t, match.Score, int32(text.ScoreOne))
			require.False(t, match.Outcome == Listed && (match.Type == list.Vessel || match.Type == list.Aircraft))
		}
	})
}

// TestBriefKeepsTheOutcome checks that Brief does not change the verdict.
func TestBriefKeepsTheOutcome(t *testing.T) {
	x := decisionList(t)
	s := NewScratch()
	names := []string{"Contoso Trading Ltd", "Lazarus Groupp"}
	for _, entity := range x.Entities() {
		for _, listed := range entity.Names {
			names = append(names, listed.Full, listed.Full+"x", "attn "+listed.Full, listed.Full+" Ltd", strings.ReplaceAll(listed.Full, "a", "а"))
		}
	}
	for _, name := range names {
		full := x.Screen(&Query{Name: name}, s)
		outcome := full.Outcome
		brief := x.Screen(&Query{Name: name, Brief: true}, s)
		require.Equal(t, outcome, brief.Outcome, name)
		if outcome == Listed {
			require.NotEmpty(t, brief.Matches, name)
		}
	}
}

// TestNormalOfTheScreened checks that a Scratch keeps the normal form of the name.
func TestNormalOfTheScreened(t *testing.T) {
	list, scratch := decisionList(t), NewScratch()
	for _, name := range []string{"Acme Payments Limited", "Общество с ограниченной ответственностью Ромашка", "Mr J.P. Morgan", "РАУ", "Limited", "--", "Bank of Zorb, or Lazarus Group", strings.Repeat("quux ", 600)} {
		for _, brief := range []bool{false, true} {
			list.Screen(&Query{Name: name, Brief: brief}, scratch)
			form, whole := scratch.Normal()
			require.True(t, whole)
			require.Equal(t, text.NormaliseName(name), string(form), name)
		}
	}
	list.Screen(&Query{Name: strings.Repeat("a", text.QueryBytesMax+1)}, scratch)
	_, whole := scratch.Normal()
	require.False(t, whole)
}
