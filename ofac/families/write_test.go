package families

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

var update = flag.Bool("update", false, "rewrite testdata")

func typed(pairs ...string) (parts []ofac.NamePart) {
	for i := 0; i < len(pairs); i += 2 {
		parts = append(parts, ofac.NamePart{Kind: pairs[i], Value: pairs[i+1]})
	}
	return parts
}

// smallList has one name of each kind that families tell apart.
func smallList() (entities []ofac.Entity) {
	add := func(kind ofac.EntityType, script, full string, parts ...ofac.NamePart) {
		uid := uint32(100 + len(entities))
		entities = append(entities, ofac.Entity{UID: uid, Type: kind, Lists: ofac.ListSDN, Names: []ofac.Name{
			{ID: uid, Primary: true, AliasType: "Name", Script: script, Full: full, Parts: parts},
			{ID: uid + 1000, AliasType: "A.K.A.", Weak: true, Script: latin, Full: "WEAK " + full},
		}})
	}
	add(ofac.Individual, latin, "ALDANA VERMEJO, Joaquin", typed("Last Name", "Aldana Vermejo", "First Name", "Joaquin")...)
	add(ofac.Individual, latin, "QUIROGA URIBIA, Gustavo Fermin", typed("Patronymic", "Quiroga", "Matronymic", "Uribia", "First Name", "Gustavo", "Middle Name", "Fermin")...)
	add(ofac.Individual, latin, "ZHELTOKOV, Anton Gennadievich", typed("Last Name", "Zheltokov", "First Name", "Anton", "Middle Name", "Gennadievich")...)
	add(ofac.Individual, latin, "AL-KHARRADI, Mahmoud")
	add(ofac.Individual, latin, "CHEN, Jianguo")
	add(ofac.Individual, latin, "RI, Myong Su")
	add(ofac.Individual, latin, "FOX")
	add(ofac.Company, latin, "GARVENTEX OU")
	add(ofac.Company, latin, "NORTH STAR MARINE & TRADING CO., LTD.")
	add(ofac.Company, latin, "LIMITED LIABILITY COMPANY OREN PROM SNAB")
	add(ofac.Company, "Chinese Traditional", "東方電業銀行")
	add(ofac.Vessel, latin, "SABITRA")
	add(ofac.Vessel, latin, "OCEAN KESTREL")
	add(ofac.Aircraft, latin, "EP-XYZ")
	return entities
}

// The transcript has what every family makes of the small list. Read its diff before you keep it.
func TestFamiliesWriteNames(t *testing.T) {
	listed := Prepare(smallList())
	require.Len(t, listed.Subjects, 14, "weak names are not varied")
	var b strings.Builder
	shown := strings.NewReplacer("\u202e", `\u202e`, "\u202c", `\u202c`) // They would turn the transcript round.
	all := All()
	for i := range all {
		if all[i].Claim == Innocent {
			continue
		}
		fmt.Fprintf(&b, "%s\n", all[i].Name)
		cases, _ := all[i].Cases(listed, 0)
		for _, one := range cases {
			fmt.Fprintf(&b, "  %s: %s\n", one.Listed, shown.Replace(one.Text))
		}
	}
	const path = "testdata/written.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(written), b.String())
}

// The families that are known to have been blind spots have the names by which they are spoken of.
func TestFamiliesHaveNames(t *testing.T) {
	all, seen := All(), map[string]bool{}
	listed := 0
	for i := range all {
		f := &all[i]
		require.Regexp(t, `^[a-z][a-z0-9_]*$`, f.Name)
		require.False(t, seen[f.Name], f.Name)
		require.NotEmpty(t, f.About, f.Name)
		require.NotEmpty(t, f.Claim.String(), f.Name)
		seen[f.Name] = true
		if f.Claim != Innocent {
			listed++
		}
	}
	require.Greater(t, listed, 40)
	for _, name := range strings.Fields(`given_between nickname_quoted three_words_one_more first_last1 last_initials_form company_generic_group company_generic_international
		company_generic_trading_llc company_generic_city company_generic_exchange company_generic_bank company_generic_domain company_generic_memo ship_prefix ship_prefix_one_word
		memo_whole memo_slip memo_without_patronymic memo_possessive left_out_varied slip_given_surname_out slip_each_word possessive_shop arabic_of_latin arabic_company han_of_pinyin
		hangul_of_korean han_simplified han_traditional cyrillic_of_latin two_parties cut_35 email handle`) {
		require.True(t, seen[name], name)
	}
}

// Each name of the whole families still has the words of the listed name, and every draw is the
// same again.
func TestFamiliesAreTheSameAgain(t *testing.T) {
	first, second := Prepare(smallList()), Prepare(smallList())
	all := All()
	for i := range all {
		once, left := all[i].Cases(first, 0)
		again, leftAgain := all[i].Cases(second, 0)
		require.Equal(t, once, again, all[i].Name)
		require.Equal(t, left, leftAgain, all[i].Name)
		few, _ := all[i].Cases(first, 2)
		more, _ := all[i].Cases(first, 3)
		require.LessOrEqual(t, len(few), 2)
		require.Subset(t, more, few, "%s: a greater sample holds a smaller one", all[i].Name)
		for _, one := range few {
			require.Contains(t, once, one, all[i].Name)
		}
	}
}

// Every innocent that equals a listed name, in whatever order, case or legal form, is left out and
// counted.
func TestInnocentsEqualNobody(t *testing.T) {
	listed := Prepare([]ofac.Entity{
		{UID: 1, Type: ofac.Individual, Lists: ofac.ListSDN, Names: []ofac.Name{{ID: 1, Primary: true, Script: latin, Full: "SMITH, Mary"}}},
		{UID: 2, Type: ofac.Company, Lists: ofac.ListSDN, Names: []ofac.Name{{ID: 2, Primary: true, Script: latin, Full: "MAPLE BAKERY LLC"}}},
	})
	for _, name := range []string{"Mary Smith", "smith mary", "MarySmith", "Maple Bakery", "Maple Bakery GmbH"} {
		require.True(t, listed.Equals(name), name)
	}
	for _, name := range []string{"Mary Smithe", "Mary", "Maple", "Maple Bakery House"} {
		require.False(t, listed.Equals(name), name)
	}
	left := map[string]int{}
	all := All()
	for i := range all {
		if all[i].Claim != Innocent {
			continue
		}
		cases, without := all[i].Cases(listed, 0)
		left[all[i].Name] = without
		for _, one := range cases {
			require.Zero(t, one.UID)
			require.False(t, listed.Equals(one.Text), one.Text)
		}
	}
	require.Equal(t, 1, left["innocent_person_english"])
	require.Equal(t, 1, left["innocent_company"])
}

// Shares, intervals and floors are counted in integers; the intervals are those of the textbook.
func TestSharesAndFloors(t *testing.T) {
	for _, row := range []struct {
		hits, of  int
		low, high Share
	}{{0, 0, 0, 10_000}, {0, 150, 0, 249}, {150, 150, 9750, 10_000}, {5, 150, 142, 757}, {50, 100, 4038, 5961}, {45_130, 45_130, 9999, 10_000}} {
		low, high := wilson(row.hits, row.of)
		require.InDelta(t, int64(row.low), int64(low), 1, row)
		require.InDelta(t, int64(row.high), int64(high), 1, row)
	}
	require.Equal(t, "97.05", Share(9705).String())
	floors, err := ParseFloors("# floors\n\ngiven_between 97.5\ninnocent_place 0.3\nmemo_whole 100\n")
	require.NoError(t, err)
	require.Equal(t, []Floor{{"given_between", 9750}, {"innocent_place", 30}, {"memo_whole", 10_000}}, floors)
	for text, wrong := range map[string]string{
		"given_between": "not a family and a share", "given_between 101": "no share", "given_between -1": "no share", "given_between 1.234": "no share", "given_between x": "no share",
		"given_betwen 1": "no family", "memo_whole 1\nmemo_whole 2": "line 2: the family \"memo_whole\" stands twice",
	} {
		_, err := ParseFloors(text)
		require.ErrorContains(t, err, wrong, text)
	}
	rows := []Row{{Family: "given_between", Claim: Whole, Names: 1000, Flagged: 974}, {Family: "innocent_place", Claim: Innocent, Names: 1000, Flagged: 4}, {Family: "memo_whole", Claim: Whole}}
	require.Equal(t, []string{"given_between: 97.40 % of 1000 are flagged, at least 97.50", "innocent_place: 0.40 % of 1000 are flagged, at most 0.30"}, Fallen(rows, floors))
	rows[0].Flagged, rows[1].Flagged = 975, 3
	require.Empty(t, Fallen(rows, floors))
	require.Equal(t, Sum{Claim: Whole, Families: 1, Within: 1, Names: 1000, Flagged: 975}, Sums(rows)[0])
	require.Equal(t, Sum{Claim: Innocent, Families: 1, Within: 1, Names: 1000, Flagged: 3}, Sums(rows)[4])
}
