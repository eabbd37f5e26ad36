package feed

import (
	"strings"

	"railguard/ofac"
)

// remarkedAliases extracts the weak aliases from an entity's remarks, the only place where
// the CSV files have them: a.k.a. 'BNC'; f.k.a. 'OLD'. A name may hold apostrophes of its
// own, so it ends at the apostrophe that ends the remark's item.
func remarkedAliases(remarks string) []ofac.Name {
	var names []ofac.Name
	for {
		at := strings.Index(remarks, ".k.a. '")
		if at < 0 {
			return names
		}
		kind := ""
		if at > 0 && (at == 1 || remarks[at-2] == ' ' || remarks[at-2] == '(') {
			switch remarks[at-1] {
			case 'a':
				kind = aliasAlso
			case 'f':
				kind = aliasFormer
			case 'n':
				kind = aliasNow
			}
		}
		remarks = remarks[at+len(".k.a. '"):]
		end := quoteEnd(remarks)
		if end < 0 {
			return names
		}
		if full := strings.TrimSpace(remarks[:end]); kind != "" && full != "" {
			names = append(names, ofac.Name{AliasType: kind, Weak: true, Script: scriptLatin, Full: full})
		}
		remarks = remarks[end+1:]
	}
}

// quoteEnd finds the closing quote of an alias, -1 when there is none.
func quoteEnd(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		rest := text[i+1:]
		if rest == "" || rest == "." || rest[0] == ';' || rest[0] == ')' || strings.HasPrefix(rest, ". ") {
			return i
		}
	}
	return -1
}

// remarkedAddresses extracts the digital currency addresses from an entity's whole remarks:
// "Digital Currency Address - XBT 12QtD5...; alt. Digital Currency Address - ETH
// 0x98E7...".
func remarkedAddresses(remarks string) []ofac.Address {
	var addresses []ofac.Address
	for {
		_, rest, found := strings.Cut(remarks, currencyPrefix)
		if !found {
			return addresses
		}
		remarks = rest
		item, _, _ := strings.Cut(rest, ";")
		ticker, value, _ := strings.Cut(strings.TrimSpace(item), " ")
		value, _, _ = strings.Cut(strings.TrimSpace(value), " ")
		value = strings.TrimSuffix(value, ".")
		if value != "" {
			addresses = append(addresses, ofac.Address{Ticker: ticker, Value: value})
		}
	}
}

// remarkWords begin the items of remarks that are facts about the party.
var remarkWords = []struct {
	word  string
	kind  ofac.FactKind
	label string
}{
	{"DOB ", ofac.FactBirthDate, "Birthdate"}, {"POB ", ofac.FactBirthPlace, "Place of Birth"}, {"nationality ", ofac.FactNationality, "Nationality Country"},
	{"citizen ", ofac.FactCitizenship, "Citizenship Country"}, {"Gender ", ofac.FactGender, "Gender"}, {"Passport ", ofac.FactDocument, "Passport"},
	{"National ID No. ", ofac.FactDocument, "National ID No."}, {"Tax ID No. ", ofac.FactDocument, "Tax ID No."}, {"Cedula No. ", ofac.FactDocument, "Cedula No."},
	{"Registration Number ", ofac.FactDocument, "Registration Number"}, {"Identification Number ", ofac.FactDocument, "Identification Number"},
	{"D.N.I. ", ofac.FactDocument, "D.N.I."}, {"C.U.R.P. ", ofac.FactDocument, "C.U.R.P."}, {"R.F.C. ", ofac.FactDocument, "R.F.C."}, {"SSN ", ofac.FactDocument, "SSN"},
	{"US FEIN ", ofac.FactDocument, "US FEIN"},
	{"Vessel Registration Identification ", ofac.FactDocument, "Vessel Registration Identification"}, {"MMSI ", ofac.FactDocument, "MMSI"},
}

// remarkedFacts cuts remarks at their semicolons: "DOB 23 Nov 1962; POB Caracas, Venezuela;
// nationality Venezuela." An item that begins with none of remarkWords is kept as a plain remark.
// It leaves aliases and digital currency addresses to other functions.
func remarkedFacts(remarks string) []ofac.Fact {
	var facts []ofac.Fact
	for item := range strings.SplitSeq(remarks, ";") {
		item = strings.TrimSuffix(strings.TrimSpace(item), ".")
		item = strings.TrimPrefix(item, "alt. ")
		if item == "" || strings.Contains(item, ".k.a. '") || strings.Contains(item, currencyPrefix) {
			continue
		}
		fact := ofac.Fact{Kind: ofac.FactRemark, Value: item}
		for _, known := range remarkWords {
			if rest, ok := strings.CutPrefix(item, known.word); ok {
				fact = ofac.Fact{Kind: known.kind, Label: known.label, Value: rest}
				break
			}
		}
		facts = append(facts, fact)
	}
	return facts
}
