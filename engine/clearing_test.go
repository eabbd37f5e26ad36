package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/identifier"
)

// hussein is the listed party of the tests: born 1980 in Somalia.
const hussein = 42956

func husseinList(t *testing.T) *ofac.Index {
	list, err := ofac.Build([]ofac.Entity{{
		UID: hussein, Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN"}, Programs: []string{"SDGT"},
		Names: []ofac.Name{{ID: 1, Primary: true, Script: "Latin", Full: "HUSSEIN, Ali Ahmed"}},
		Facts: []ofac.Fact{
			{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "1980"}, {Kind: ofac.FactNationality, Label: "Nationality Country", Value: "Somalia"},
			{Kind: ofac.FactPostalAddress, Label: "Address", Value: "Tortoroow, Lower Shabelle, Somalia"}, {Kind: ofac.FactDocument, Label: "Passport", Value: "A1234567, Somalia"},
		},
	}}, ofac.Meta{})
	require.NoError(t, err)
	return list
}

// A clearing holds where the call says the same as it rests on, contradicts none of it, and says
// nothing that the listed party has too.
func TestAClearingHoldsForWhomItWasMade(t *testing.T) {
	list := husseinList(t)
	passport := func(value, country string) []Identifier { return []Identifier{{identifier.Passport, value, country}} }
	born := ClearedGrounds{BirthDate: "1974-05-02", Country: "JO"}
	for name, c := range map[string]struct {
		grounds ClearedGrounds
		told    Told
		why     string
	}{
		"the same":                            {born, Told{Context: ofac.Context{BirthDate: "2 May 1974", Country: "Jordan"}}, ""},
		"one of them":                         {born, Told{Context: ofac.Context{Country: "Jordan"}}, ""},
		"less of it":                          {born, Told{Context: ofac.Context{BirthDate: "1974"}}, ""},
		"nothing":                             {born, Told{}, "the payment says nothing of what it rests on"},
		"only something else":                 {born, Told{Context: ofac.Context{Address: "Amman, Rainbow Street"}}, "the payment says nothing of what it rests on"},
		"another birth":                       {born, Told{Context: ofac.Context{BirthDate: "1975", Country: "JO"}}, "date of birth differs"},
		"the listed one's birth":              {born, Told{Context: ofac.Context{BirthDate: "1980", Country: "JO"}}, "date of birth differs"},
		"another country":                     {born, Told{Context: ofac.Context{BirthDate: "1974", Country: "FR"}}, "country differs"},
		"the listed one's address":            {born, Told{Context: ofac.Context{BirthDate: "1974", Address: "Lower Shabelle"}}, "address is the listed party's"},
		"the listed one's passport":           {born, Told{Context: ofac.Context{BirthDate: "1974"}, Identifiers: passport("A1234567", "SO")}, "identifier is the listed party's"},
		"the listed one's country is new":     {ClearedGrounds{BirthDate: "1974"}, Told{Context: ofac.Context{BirthDate: "1974", Country: "SO"}}, "country is the listed party's"},
		"it was cleared with that country":    {ClearedGrounds{BirthDate: "1974", Country: "SO"}, Told{Context: ofac.Context{BirthDate: "1974", Country: "Somalia"}}, ""},
		"it was cleared with a day of 1980":   {ClearedGrounds{BirthDate: "1980-02-03"}, Told{Context: ofac.Context{BirthDate: "1980-02-03"}}, ""},
		"the year of that day says less":      {ClearedGrounds{BirthDate: "1980-02-03"}, Told{Context: ofac.Context{BirthDate: "1980"}}, "date of birth is the listed party's"},
		"another address":                     {ClearedGrounds{Address: "12 Rue Haute, Lyon"}, Told{Context: ofac.Context{Address: "12 Rue Basse, Lyon"}}, "address differs"},
		"the same passport":                   {ClearedGrounds{Identifiers: passport("X 99 88 77", "JO")}, Told{Identifiers: passport("x998877", "Jordan")}, ""},
		"the passport of another country":     {ClearedGrounds{Identifiers: passport("X998877", "JO")}, Told{Identifiers: passport("X998877", "FR")}, "identifier differs"},
		"another passport":                    {ClearedGrounds{Identifiers: passport("X998877", "JO")}, Told{Identifiers: passport("X998878", "JO")}, "identifier differs"},
		"a number of another class":           {ClearedGrounds{Identifiers: passport("X998877", "JO")}, Told{Identifiers: []Identifier{{identifier.Email, "a@b.example", ""}}}, "the payment says nothing of what it rests on"},
		"the operator's":                      {ClearedGrounds{Operator: 3}, Told{Operator: 3, Agent: 4}, ""},
		"another operator's":                  {ClearedGrounds{Operator: 3}, Told{Operator: 5, Agent: 4}, "another operator pays"},
		"another agent's":                     {ClearedGrounds{Agent: 3}, Told{Operator: 3, Agent: 4}, "another agent pays"},
		"the operator's, silent":              {ClearedGrounds{BirthDate: "1974", Operator: 3}, Told{Operator: 3}, ""},
		"the operator's, another birth":       {ClearedGrounds{BirthDate: "1974", Operator: 3}, Told{Operator: 3, Context: ofac.Context{BirthDate: "1973"}}, "date of birth differs"},
		"the operator's, the listed country":  {ClearedGrounds{Operator: 3}, Told{Operator: 3, Context: ofac.Context{Country: "Somalia"}}, "country is the listed party's"},
		"the name alone":                      {ClearedGrounds{}, Told{}, ""},
		"the name alone, and another country": {ClearedGrounds{}, Told{Context: ofac.Context{Country: "FR", BirthDate: "1974"}}, ""},
		"the name alone, the listed birth":    {ClearedGrounds{}, Told{Context: ofac.Context{BirthDate: "1980"}}, "date of birth is the listed party's"},
		"the name alone, the listed passport": {ClearedGrounds{}, Told{Identifiers: passport("A1234567", "SO")}, "identifier is the listed party's"},
		"the name alone, somebody's passport": {ClearedGrounds{}, Told{Identifiers: passport("B1234567", "SO")}, ""},
		"the name alone, the listed address":  {ClearedGrounds{}, Told{Context: ofac.Context{Address: "Tortoroow, Shabelle"}}, "address is the listed party's"},
		"an unreadable birth is no other's":   {ClearedGrounds{BirthDate: "1974"}, Told{Context: ofac.Context{BirthDate: "not known"}}, "date of birth differs"},
		"blanks say nothing":                  {born, Told{Context: ofac.Context{BirthDate: " ", Country: "\t"}}, "the payment says nothing of what it rests on"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.why, c.grounds.Deny(&c.told, hussein, list, 1))
		})
	}
}
