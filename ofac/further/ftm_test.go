package further

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// flatFTM are flat entities: two targets and what belongs to them, some of it before them.
const flatFTM = `{"id":"s1","schema":"Sanction","properties":{"entity":["p1"],"program":["EU Ukraine"],"reason":["Supports"]}}
{"id":"a1","schema":"Address","properties":{"full":["Main Street 1, Minsk"],"country":["by"]}}
{"id":"p1","schema":"Person","target":true,"caption":"Ivan Zorbal","datasets":["eu_fsf"],"last_change":"2026-01-02T03:04:05","properties":{"name":["Ivan Zorbal"],"alias":["Иван Зорбаль"],"weakAlias":["Vanya"],"birthDate":["1970-01-02"],"nationality":["by"],"passportNumber":["MP1234567"],"email":["ivan@zorbal.example"],"addressEntity":["a1"],"topics":["sanction"]}}
{"id":"i1","schema":"Identification","properties":{"holder":["p1"],"type":["Driver licence"],"number":["D 99887766"],"country":["by"]}}
{"id":"pp","schema":"Passport","properties":{"holder":["p1"],"number":["X0000001"],"country":["ru"]}}
{"id":"c1","schema":"Company","target":true,"datasets":["gb_hmt"],"properties":{"name":["Zorbal Trading"],"previousName":["Zorbal Old"],"leiCode":["5493001KJTIIGC8Y1R12"],"swiftBic":["ZORBBY2X"],"taxNumber":["7707083893"],"jurisdiction":["by"]}}
{"id":"o1","schema":"Ownership","properties":{"owner":["p1"],"asset":["c1"],"percentage":["60"]}}
{"id":"w1","schema":"CryptoWallet","properties":{"holder":["c1"],"publicKey":["0x1111111111111111111111111111111111111111"],"currency":["ETH"]}}
{"id":"r1","schema":"Person","target":false,"properties":{"name":["Innocent Relative"],"topics":["role.rca"]}}
{"id":"v1","schema":"Vessel","target":true,"properties":{"name":["Zorbal Glory"],"imoNumber":["9327413"],"flag":["pa"]}}
{"id":"x1","schema":"Airplane","target":true,"properties":{"name":["EP-QUX"],"registrationNumber":["EP-QUX"]}}
{"id":"k1","schema":"CryptoWallet","target":true,"properties":{"publicKey":["bc1qxyz"],"currency":["XBT"]}}
{"id":"f1","schema":"Family","properties":{"person":["p1"],"relative":["r1"]}}
`

func byID(part *Part) map[string]ofac.Entity {
	all := map[string]ofac.Entity{}
	for _, entity := range part.Entities {
		all[entity.ID] = entity
	}
	return all
}

func TestReadFlatFTM(t *testing.T) {
	part, err := Read([]byte(flatFTM), Options{})
	require.NoError(t, err)
	require.Equal(t, FormatFTM, part.Format)
	require.EqualValues(t, 1767323045000000000, part.AsOf)
	all := byID(&part)
	require.Len(t, all, 5, "targets alone")
	person := all["p1"]
	require.Equal(t, ofac.Individual, person.Type)
	require.Equal(t, []string{"eu_fsf"}, person.Sublists)
	require.Equal(t, []string{"EU Ukraine"}, person.Programs)
	require.Equal(t, "Ivan Zorbal", person.Names[0].Full)
	require.Equal(t, "Cyrillic", person.Names[1].Script)
	require.True(t, person.Names[2].Weak)
	for _, fact := range []ofac.Fact{
		{Kind: ofac.FactDocument, Label: "passport", Value: "MP1234567, BY"}, {Kind: ofac.FactDocument, Label: "passport", Value: "X0000001, RU"},
		{Kind: ofac.FactDocument, Label: "Driver licence", Value: "D 99887766, BY"}, {Kind: ofac.FactDocument, Label: "email", Value: "ivan@zorbal.example"},
		{Kind: ofac.FactPostalAddress, Label: "Address", Value: "Main Street 1, Minsk"}, {Kind: ofac.FactOther, Label: "Owner of", Value: "Zorbal Trading, 60 %"},
		{Kind: ofac.FactRemark, Label: "Reason", Value: "Supports"},
	} {
		require.Contains(t, person.Facts, fact)
	}
	company := all["c1"]
	require.Equal(t, []ofac.Address{{Ticker: "ETH", Value: "0x1111111111111111111111111111111111111111"}}, company.Addresses)
	require.Contains(t, company.Facts, ofac.Fact{Kind: ofac.FactDocument, Label: "tax_id", Value: "7707083893, BY"})
	require.Contains(t, company.Facts, ofac.Fact{Kind: ofac.FactDocument, Label: "bic", Value: "ZORBBY2X"})
	require.Equal(t, "F.K.A.", company.Names[1].AliasType)
	require.Equal(t, ofac.Vessel, all["v1"].Type)
	require.Contains(t, all["x1"].Facts, ofac.Fact{Kind: ofac.FactDocument, Label: "aircraft_tail", Value: "EP-QUX"})
	require.Equal(t, ofac.AliasID, all["k1"].Names[0].AliasType)
	only, err := Read([]byte(flatFTM), Options{Families: []string{"gb_hmt"}})
	require.NoError(t, err)
	require.Len(t, only.Entities, 1)
}

// Without the member target, a party is listed by its topics or by a sanction that is in force.
func TestFTMWithoutTargets(t *testing.T) {
	file := strings.NewReplacer(`"target":true,`, "", `"target":false,`, "", `,"topics":["sanction"]`, "").Replace(flatFTM)
	part, err := Read([]byte(file), Options{})
	require.NoError(t, err)
	require.Len(t, part.Entities, 1)
	require.Equal(t, "p1", part.Entities[0].ID)
	_, err = Read([]byte(strings.Replace(file, `"program"`, `"status":["Delisted"],"program"`, 1)), Options{})
	require.ErrorContains(t, err, "empty list")
}

func TestReadNestedFTM(t *testing.T) {
	file := `{"id":"c1","schema":"Company","target":true,"properties":{"name":["Zorbal Trading"],"addressEntity":[{"id":"a1","schema":"Address","properties":{"full":["Main Street 1"]}}],` +
		`"sanctions":[{"id":"s1","schema":"Sanction","properties":{"program":["EU"],"entity":["c1"]}}],` +
		`"cryptoWallets":[{"id":"w1","schema":"CryptoWallet","properties":{"publicKey":["0x1111111111111111111111111111111111111111"]}}],` +
		`"ownershipAsset":[{"id":"o1","schema":"Ownership","properties":{"asset":["c1"],"owner":[{"id":"p9","schema":"Person","properties":{"name":["An Owner"]}}]}}]}}`
	part, err := Read([]byte(file), Options{})
	require.NoError(t, err)
	require.Len(t, part.Entities, 1)
	entity := part.Entities[0]
	require.Equal(t, []string{"EU"}, entity.Programs)
	require.Len(t, entity.Addresses, 1)
	require.Contains(t, entity.Facts, ofac.Fact{Kind: ofac.FactPostalAddress, Label: "Address", Value: "Main Street 1"})
	require.Contains(t, entity.Facts, ofac.Fact{Kind: ofac.FactOther, Label: "Owned by", Value: "An Owner"})
}

func TestFTMIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, says string }{
		"no JSON":     {flatFTM + "what\n", "row 14"},
		"no id":       {flatFTM + `{"schema":"Person"}`, "row 14, column id"},
		"no schema":   {flatFTM + `{"id":"q"}`, "row 14, column id"},
		"an id again": {flatFTM + `{"id":"p1","schema":"Person","properties":{}}`, "row 14, column id"},
		"deep":        {strings.Repeat(`{"id":"a","schema":"X","properties":{"a":[`, 20) + strings.Repeat(`]}}`, 20), "nested"},
		"not UTF-8":   {"{\"id\":\"\xff\",\"schema\":\"Person\"}", "UTF-8"},
		"a long name": {`{"id":"q","schema":"Person","target":true,"properties":{"name":["x"]}}` + "\n" + strings.Repeat("x", lineBytesMax+1), "row 2"},
	} {
		t.Run(name, func(t *testing.T) {
			part, err := Read([]byte(test.file), Options{Format: FormatFTM})
			require.ErrorContains(t, err, test.says)
			require.Empty(t, part.Entities)
		})
	}
}

func FuzzFTM(f *testing.F) {
	f.Add([]byte(flatFTM))
	f.Fuzz(func(t *testing.T, file []byte) {
		part, err := Read(file, Options{Format: FormatFTM})
		checkPart(t, &part, err)
	})
}
