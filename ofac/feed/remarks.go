package feed

import (
	"strings"

	"railguard/ofac"
)

// remarkedAliases takes the weak aliases out of an entity's remarks, which are
// the only place where the CSV files have them: a.k.a. 'BNC'; f.k.a. 'OLD'.
// A name may hold apostrophes of its own, so it ends at one that is followed by
// the end of the remark's item.
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

// remarkedAddresses takes the digital currency addresses out of an entity's
// whole remarks: "Digital Currency Address - XBT 12QtD5...; alt. Digital
// Currency Address - ETH 0x98E7...".
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
