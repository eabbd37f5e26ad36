package names

import (
	"slices"
	"strconv"
	"strings"

	"railguard/ofac"
)

// Own makes a small labelled set from a list alone, for machines that have no data. Strong
// Latin names of two words or more must be found in other order, case and punctuation, and
// should be found with one letter left out of a long word. Some ordinary names must not be
// found. It shows whether a build works; only real names show how good the matcher is.
func Own(entities []ofac.Entity) *Data {
	d := &Data{left: map[string]bool{}}
	for _, entity := range entities {
		for _, listed := range entity.Names {
			id := strconv.FormatUint(uint64(listed.ID), 10)
			d.names = append(d.names, nameRow{
				uid: entity.UID, kind: entity.Type, id: id, primary: listed.Primary, weak: listed.Weak,
				script: listed.Script, full: listed.Full, aliasType: listed.AliasType, family: entity.Lists.First().String(),
			})
			if !listed.Weak && listed.Script == "Latin" && entity.Type <= ofac.Company {
				d.vary(entity.UID, listed.Full)
			}
		}
	}
	d.Pairs = romanisedPairs()
	d.addAround()
	for _, name := range ordinaryNames {
		d.Negatives = append(d.Negatives, Negative{Kind: "ordinary", Query: name})
	}
	return d
}

func (d *Data) vary(uid uint32, full string) {
	add := func(category, tier, query string) {
		d.Positives = append(d.Positives, Positive{Category: category, Query: query, UID: uid, Mode: "full", Tier: tier, Base: full})
	}
	words := strings.FieldsFunc(full, func(r rune) bool { return r == ' ' || r == ',' })
	add("exact_primary", "MUST", full)
	add("name_order", "MUST", strings.ToLower(full))
	add("punctuation", "MUST", strings.Join(words, ". "))
	if len(words) < 2 {
		return
	}
	slices.Reverse(words)
	add("name_order", "MUST", strings.Join(words, " "))
	longest := 0
	for i, word := range words {
		if len(word) > len(words[longest]) {
			longest = i
		}
	}
	if word := words[longest]; len(word) >= 7 && isLetters(word) {
		words[longest] = word[:3] + word[4:]
		add("typo_1", "SHOULD", strings.Join(words, " "))
	}
}

func isLetters(word string) bool {
	for i := range len(word) {
		if c := word[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// ordinaryNames are invented or common names of nobody listed.
var ordinaryNames = []string{
	"Acme Robotics Inc", "Contoso Trading Ltd", "Fabrikam GmbH", "Northwind Traders LLC", "Tailspin Toys", "Blue Yonder Airlines",
	"Greenfield Organic Foods", "Harbour View Dental Practice", "Lakeside Plumbing and Heating", "Maple Street Bakery",
	"Red Barn Hardware Store", "Silver Birch Consulting", "Three Rivers Brewing Company", "Willow Creek Veterinary Clinic",
	"Emma Thompson", "Oliver Bennett", "Sophia Martinez Lopez", "Lukas Schneider", "Chloe Dubois", "Noah Andersson",
	"Isabella Rossi", "William O'Connor", "Hannah Kowalski", "Daniel Fernandes", "Priya Raghunathan", "Kenji Watanabe",
	"Amelia Johansson", "Thomas van der Berg", "Grace Nakamura", "Samuel Okonkwo", "Julia Novakova", "Peter Lindqvist",
	"Global Logistics Partners LLC", "Sunrise Solar Energy Ltd", "First Community Credit Union", "Pacific Coast Seafood Inc",
	"Metro City Taxi Cooperative", "Alpine Sports Equipment AG", "Evergreen Paper Mills", "Crystal Clear Window Cleaning",
}
