package ofac_test

import (
	"fmt"

	"railguard/ofac"
)

// Example compiles entities once to a list, then queries it without allocation. A near name
// is possible, an exact one is listed.
func Example() {
	list, err := ofac.Build([]ofac.Entity{{
		UID: 7, Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN List"}, Programs: []string{"EXAMPLE"},
		Names:     []ofac.Name{{Primary: true, AliasType: "Name", Script: "Latin", Full: "SMORGENBROD, Quillian"}},
		Addresses: []ofac.Address{{Ticker: "ETH", Value: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"}},
	}}, ofac.Meta{Source: "an example"})
	if err != nil {
		panic(err)
	}
	scratch := ofac.NewScratch()
	for _, name := range []string{"Quillian Smorgenbrod", "Quilian Smorgenbrodd", "Contoso Ltd"} {
		result := list.Screen(&ofac.Query{Name: name}, scratch)
		fmt.Printf("%s: %s\n", name, result.Outcome)
	}
	match, listed := list.Wallet(" 0x098b716b8aaf21512996dc57eb0615e2383e2f96")
	fmt.Println("wallet:", listed, match.UID)
	// Output:
	// Quillian Smorgenbrod: listed
	// Quilian Smorgenbrodd: possible
	// Contoso Ltd: clear
	// wallet: true 7
}
