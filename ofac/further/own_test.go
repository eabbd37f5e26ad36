package further

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

const ownHead = "id,kind,name,aliases,wallets,identifiers,countries,reason,until\n"

const ownCSV = ownHead +
	`case-1,person,"Doe, Jane",J. Doe; Janie Doe,0x1111111111111111111111111111111111111111,passport:T36369585|Iran;email:jane@doe.example,DE,"Fraud, twice",2027-01-31` + "\n" +
	"case-2,wallet,,,bc1qxyz,,,mule,2027-01-31T12:00:00Z\n" +
	"case-3,company,Known Defrauder Ltd,,,website:https://defrauder.example/shop,,,\n"

const ownJSON = `[{"id":"case-1","kind":"person","name":"Doe, Jane","aliases":["J. Doe","Janie Doe"],"wallets":["0x1111111111111111111111111111111111111111"],
"identifiers":[{"type":"passport","value":"T36369585","country":"Iran"},{"type":"email","value":"jane@doe.example"}],"countries":["DE"],"reason":"Fraud, twice","until":"2027-01-31"},
{"id":"case-2","kind":"wallet","wallets":["bc1qxyz"],"reason":"mule","until":"2027-01-31T12:00:00Z"},
{"id":"case-3","kind":"company","name":"Known Defrauder Ltd","identifiers":[{"type":"website","value":"https://defrauder.example/shop"}]}]`

// CSV, a JSON array and JSON lines say the same.
func TestReadOwn(t *testing.T) {
	part, err := Read([]byte(ownCSV), Options{})
	require.NoError(t, err)
	require.Equal(t, FormatOwn, part.Format)
	require.Len(t, part.Entities, 3)
	lines := strings.NewReplacer("[{\"id\"", "{\"id\"", "},\n{\"id\"", "}\n{\"id\"", "}]}]", "}]}").Replace(ownJSON)
	for _, file := range []string{ownJSON, lines, "\xef\xbb\xbf" + ownCSV, strings.ReplaceAll(ownCSV, "\n", "\r\n")} {
		again, err := Read([]byte(file), Options{})
		require.NoError(t, err)
		require.Equal(t, part.Entities, again.Entities)
	}
	jane := part.Entities[0]
	require.Equal(t, ofac.Individual, jane.Type)
	require.Len(t, jane.Names, 3)
	require.Contains(t, jane.Facts, ofac.Fact{Kind: ofac.FactDocument, Label: "passport", Value: "T36369585, Iran"})
	require.EqualValues(t, 1801440000000000000, jane.Until, "a day counts to its end")
	require.EqualValues(t, 1801396800000000000, part.Entities[1].Until)
	require.Equal(t, ofac.AliasID, part.Entities[1].Names[0].AliasType)
	require.Zero(t, part.Entities[2].Until)
}

// An error names the row and the column, and nothing is taken.
func TestOwnIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ file, says string }{
		"an effect":             {"id,kind,name,effect\n1,person,A B,allow\n", "row 1, column effect"},
		"a column twice":        {"id,kind,id\n", "row 1, column id: it is there twice"},
		"no kind":               {"id,name\n1,A B\n", "row 1, column kind: it is missing"},
		"an unknown kind":       {ownHead + "1,ship,A,,,,,,\n", "row 2, column kind"},
		"no id":                 {ownHead + "1,person,A B,,,,,,\n,person,A B,,,,,,\n", "row 3, column id"},
		"an id twice":           {ownHead + "1,person,A B,,,,,,\n1,person,C D,,,,,,\n", "row 3, column id: \"1\" is that of row 2 too"},
		"nothing to match":      {ownHead + "1,person,,,,,DE,because,\n", "row 2, column name"},
		"too few fields":        {ownHead + "1,person\n", "row 2"},
		"an open quote":         {ownHead + "1,person,\"A\n", "row 2"},
		"an unknown type":       {ownHead + "1,person,,,,shoe:44,,,\n", "row 2, column identifiers"},
		"no type":               {ownHead + "1,person,,,,44,,,\n", "row 2, column identifiers"},
		"a comma in a number":   {ownHead + "1,person,,,,\"bic:A, B\",,,\n", "row 2, column identifiers"},
		"no day":                {ownHead + "1,person,A B,,,,,,soon\n", "row 2, column until"},
		"a day before 1970":     {ownHead + "1,person,A B,,,,,,1969-01-01\n", "row 2, column until"},
		"a long name":           {ownHead + "1,person," + strings.Repeat("x", nameBytesMax+1) + ",,,,,,\n", "row 2, column name"},
		"a long wallet":         {ownHead + "1,wallet,,," + strings.Repeat("x", walletBytes+1) + ",,,,\n", "row 2, column wallets"},
		"a long reason":         {ownHead + "1,person,A B,,,,," + strings.Repeat("x", factBytesMax+1) + ",\n", "row 2, column reason"},
		"many aliases":          {ownHead + "1,person,A B," + strings.Repeat("x y;", valuesMax+1) + ",,,,,\n", "row 2, column aliases"},
		"not UTF-8":             {ownHead + "1,person,A\xff B,,,,,,\n", "row 2, column name"},
		"no rows":               {ownHead, "empty list"},
		"nothing":               {" \n ", "empty"},
		"an unknown member":     {`[{"id":"1","kind":"person","effect":"allow"}]`, "row 1, column effect"},
		"a member twice":        {`[{"id":"1","kind":"person","id":"2"}]`, "row 1, column id: it is there twice"},
		"a member's other case": {`[{"ID":"1","kind":"person"}]`, "row 1, column ID"},
		"a member's type":       {`[{"id":"1","kind":"person","name":"A B"},{"id":2}]`, "row 2, column id"},
		"an identifier's":       {`[{"id":"1","kind":"person","identifiers":[{"typ":"bic"}]}]`, "row 1, column identifiers"},
		"cut JSON":              {ownJSON[:len(ownJSON)-1], "not JSON"},
		"more behind":           {ownJSON + "[]", "behind the array"},
		"a number in the list":  {`[1]`, "row 1, an object"},
	} {
		t.Run(name, func(t *testing.T) {
			part, err := Read([]byte(test.file), Options{Format: FormatOwn})
			require.ErrorContains(t, err, test.says)
			require.Empty(t, part.Entities)
		})
	}
}

// A million rows are read; one more is refused.
func TestOwnRowsMax(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows")
	}
	var file strings.Builder
	file.WriteString("id,kind,wallets\n")
	for i := range rowsMax {
		fmt.Fprintf(&file, "%d,wallet,0x%040x\n", i, i)
	}
	part, err := Read([]byte(file.String()), Options{})
	require.NoError(t, err)
	require.Len(t, part.Entities, rowsMax)
	file.WriteString("more,wallet,0x1\n")
	part, err = Read([]byte(file.String()), Options{})
	require.ErrorContains(t, err, "row 1000002, more than 1000000 rows")
	require.Empty(t, part.Entities)
}

func FuzzOwn(f *testing.F) {
	f.Add([]byte(ownCSV))
	f.Add([]byte(ownJSON))
	f.Fuzz(func(t *testing.T, file []byte) {
		part, err := Read(file, Options{Format: FormatOwn})
		checkPart(t, &part, err)
	})
}
