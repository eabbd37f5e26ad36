package further

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

const unHead = `<?xml version="1.0" encoding="UTF-8"?><CONSOLIDATED_LIST xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="x" dateGenerated="2026-02-27T00:00:09.554Z">`

const unPerson = unHead + `<INDIVIDUALS><INDIVIDUAL><DATAID>6907993</DATAID><FIRST_NAME>ERIC</FIRST_NAME><SECOND_NAME> BADEGE </SECOND_NAME><THIRD_NAME/>
<UN_LIST_TYPE>DRC</UN_LIST_TYPE><REFERENCE_NUMBER>CDi.001</REFERENCE_NUMBER><NAME_ORIGINAL_SCRIPT>صدام حسين</NAME_ORIGINAL_SCRIPT><COMMENTS1>Also SOMEBODY ELSE.</COMMENTS1>
<INDIVIDUAL_ALIAS><QUALITY/><ALIAS_NAME/></INDIVIDUAL_ALIAS><INDIVIDUAL_ALIAS><QUALITY>Low</QUALITY><ALIAS_NAME>Rumuli</ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>ERIC B</ALIAS_NAME></INDIVIDUAL_ALIAS>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>BETWEEN</TYPE_OF_DATE><FROM_YEAR>1965</FROM_YEAR><TO_YEAR>1967</TO_YEAR></INDIVIDUAL_DATE_OF_BIRTH>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>APPROXIMATELY</TYPE_OF_DATE><YEAR>1970</YEAR></INDIVIDUAL_DATE_OF_BIRTH>
<INDIVIDUAL_DATE_OF_BIRTH><TYPE_OF_DATE>EXACT</TYPE_OF_DATE><DATE>1973-08-20</DATE></INDIVIDUAL_DATE_OF_BIRTH>
<INDIVIDUAL_DOCUMENT><TYPE_OF_DOCUMENT>Numéro de passeport</TYPE_OF_DOCUMENT><NUMBER>OB 0243318</NUMBER><ISSUING_COUNTRY>Sudan</ISSUING_COUNTRY></INDIVIDUAL_DOCUMENT>
<INDIVIDUAL_DOCUMENT/></INDIVIDUAL></INDIVIDUALS><ENTITIES><ENTITY><DATAID>7</DATAID><FIRST_NAME>LAKES AIR ; GREAT LAKES</FIRST_NAME>
<ENTITY_ALIAS><QUALITY>f.k.a.</QUALITY><ALIAS_NAME>OLD AIR</ALIAS_NAME></ENTITY_ALIAS></ENTITY></ENTITIES></CONSOLIDATED_LIST>`

func TestReadUN(t *testing.T) {
	part, err := Read([]byte(unPerson), Options{})
	require.NoError(t, err)
	require.Equal(t, FormatUN, part.Format)
	require.EqualValues(t, 1772150409554000000, part.AsOf)
	require.Len(t, part.Entities, 2)
	person := part.Entities[0]
	require.Equal(t, ofac.Individual, person.Type)
	require.EqualValues(t, 6907993, person.UID)
	require.Equal(t, []ofac.Name{
		{ID: 0, AliasType: "Name", Primary: true, Script: "Latin", Full: "ERIC BADEGE"}, {ID: 1, AliasType: "A.K.A.", Script: "Arabic", Full: "صدام حسين"},
		{ID: 2, AliasType: "A.K.A.", Weak: true, Script: "Latin", Full: "Rumuli"}, {ID: 3, AliasType: "A.K.A.", Script: "Latin", Full: "ERIC B"},
	}, person.Names)
	for _, fact := range []ofac.Fact{
		{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "1965 to 1967"}, {Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "circa 1970"},
		{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "20 Aug 1973"}, {Kind: ofac.FactDocument, Label: "passport", Value: "OB 0243318, Sudan"},
		{Kind: ofac.FactRemark, Value: "Also SOMEBODY ELSE."},
	} {
		require.Contains(t, person.Facts, fact)
	}
	company := part.Entities[1]
	require.Equal(t, ofac.Company, company.Type)
	var names []string
	for _, name := range company.Names {
		names = append(names, name.AliasType+" "+name.Full)
	}
	require.Equal(t, []string{"Name LAKES AIR ; GREAT LAKES", "Name LAKES AIR", "Name GREAT LAKES", "F.K.A. OLD AIR"}, names)
}

func TestUNIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"empty document":      unHead + `</CONSOLIDATED_LIST>`,
		"another root":        `<sanctionsData></sanctionsData>`,
		"cut short":           unPerson[:len(unPerson)-200],
		"a type declaration":  `<!DOCTYPE CONSOLIDATED_LIST [<!ENTITY a "b">]>` + unPerson[len(`<?xml version="1.0" encoding="UTF-8"?>`):],
		"an unknown entity":   strings.Replace(unPerson, "SOMEBODY", "&some;", 1),
		"no number":           strings.Replace(unPerson, "6907993", "", 1),
		"a number twice":      strings.Replace(unPerson, "<DATAID>7<", "<DATAID>6907993<", 1),
		"no name":             strings.Replace(strings.Replace(unPerson, "LAKES AIR ; GREAT LAKES", "", 1), "OLD AIR", "", 1),
		"no date":             strings.Replace(unPerson, "2026-02-27T00:00:09.554Z", "yesterday", 1),
		"deep elements":       unHead + strings.Repeat("<A>", 100) + strings.Repeat("</A>", 100) + `</CONSOLIDATED_LIST>`,
		"an entry too large":  strings.Replace(unPerson, "SOMEBODY", strings.Repeat("x", entryBytesMax), 1),
		"too long a name":     strings.Replace(unPerson, "ERIC<", strings.Repeat("x", nameBytesMax+1)+"<", 1),
		"Latin-1, not UTF-8":  strings.Replace(unPerson, "ERIC<", "\xe9\xff<", 1),
		"a family not in it":  "",
		"nothing but a blank": " ",
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{Format: FormatUN}
			if file == "" {
				file, options.Families = unPerson, []string{"Atlantis"}
			}
			part, err := Read([]byte(file), options)
			require.Error(t, err)
			require.Empty(t, part.Entities)
		})
	}
	part, err := Read([]byte(unPerson), Options{Families: []string{"DRC"}})
	require.NoError(t, err)
	require.Len(t, part.Entities, 1)
}

// unFile is the real copy of the list, where there is one.
func unFile(t testing.TB) []byte {
	files, err := filepath.Glob("../../../shared/data/un/*.xml.gz")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no copy of the UN list here")
	}
	file, err := os.ReadFile(files[len(files)-1])
	require.NoError(t, err)
	return file
}

// The real copy is read whole: its counts are those of a plain XML reader.
func TestRealUN(t *testing.T) {
	part, err := Read(unFile(t), Options{})
	require.NoError(t, err)
	persons, companies, weak, original, births, documents := 0, 0, 0, 0, 0, 0
	programs := map[string]int{}
	for _, entity := range part.Entities {
		programs[entity.Programs[0]]++
		if entity.Type == ofac.Individual {
			persons++
		} else {
			companies++
		}
		for _, name := range entity.Names {
			if name.Weak {
				weak++
			}
			if name.Script == "Arabic" {
				original++
			}
		}
		for _, fact := range entity.Facts {
			switch fact.Kind {
			case ofac.FactBirthDate:
				births++
			case ofac.FactDocument:
				documents++
			}
		}
	}
	require.Equal(t, []int{730, 273}, []int{persons, companies})
	require.Equal(t, 341, programs["Al-Qaida"])
	require.Equal(t, 155, programs["DPRK"])
	require.Equal(t, 454, documents)
	require.Equal(t, 863, births)
	require.Greater(t, weak, 590)
	require.Greater(t, original, 300)
	snapshot := Snapshot{Entities: []ofac.Entity{{UID: 7, Type: ofac.Company, Lists: ofac.ListSDN, Names: []ofac.Name{{Primary: true, Full: "ACME"}}}}, Meta: ofac.Meta{Source: "SDN_CSV"}}
	joined, err := snapshot.Replace(ofac.Further{ID: "un", Name: "UN Security Council", Format: FormatUN}, &part)
	require.NoError(t, err)
	require.Equal(t, "SDN_CSV + un_UN-XML 2026-02-27T00:00:09Z", joined.Meta.Source)
	list, err := ofac.Build(joined.Entities, joined.Meta)
	require.NoError(t, err)
	scratch := ofac.NewScratch()
	for _, entity := range part.Entities {
		query := ofac.Query{Name: entity.Names[0].Full}
		result := list.Screen(&query, scratch)
		require.NotEqual(t, ofac.Clear, result.Outcome, entity.Names[0].Full)
		require.Equal(t, "UN Security Council", list.NameOf(result.Matches[0].Lists))
	}
}

func FuzzUN(f *testing.F) {
	f.Add([]byte(unPerson))
	f.Fuzz(func(t *testing.T, file []byte) {
		part, err := Read(file, Options{Format: FormatUN})
		checkPart(t, &part, err)
	})
}

// checkPart checks that a file is taken whole or not at all, and that what was taken can be a list.
func checkPart(t *testing.T, part *Part, err error) {
	if err != nil {
		require.Empty(t, part.Entities)
		return
	}
	joined, err := (&Snapshot{}).Replace(ofac.Further{ID: "x", Name: "X", Format: FormatOwn}, part)
	require.NoError(t, err)
	_, err = ofac.EncodeEntities(joined.Entities, joined.Meta)
	require.NoError(t, err)
}
