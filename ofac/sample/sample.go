package sample

import (
	_ "embed"
	"strconv"
	"strings"

	"railguard/ofac"
)

//go:embed sample.tsv
var table string

// Source is the label of the sample in ofac.Meta.
const Source = "embedded sample, not a published list"

// publishedAt is 2025-11-19T00:00:00Z, the day the sample describes.
const publishedAt = 1763510400 * 1_000_000_000

// Meta labels the sample.
func Meta() ofac.Meta {
	return ofac.Meta{Source: Source, PublishedAt: publishedAt, Sample: true}
}

// Entities returns the sample's parties, a fresh copy each time.
func Entities() []ofac.Entity {
	var entities []ofac.Entity
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		fields := strings.Split(line, "\t")
		switch {
		case line == "" || line[0] == '#':
		case fields[0] == "E" && len(fields) == 6:
			entities = append(entities, ofac.Entity{
				UID: number(fields[1]), Type: entityType(fields[2]), Lists: lists(fields[3]),
				Sublists: strings.Split(fields[4], "; "), Programs: strings.Split(fields[5], "; "),
			})
		case fields[0] == "N" && len(fields) == 7:
			last := &entities[len(entities)-1]
			last.Names = append(last.Names, ofac.Name{
				ID: number(fields[1]), AliasType: fields[2], Primary: fields[3] == "primary", Weak: fields[4] == "weak",
				Script: fields[5], Full: fields[6],
			})
		case fields[0] == "A" && len(fields) == 4:
			last := &entities[len(entities)-1]
			last.Addresses = append(last.Addresses, ofac.Address{FeatureID: number(fields[1]), Ticker: fields[2], Value: fields[3]})
		default:
			panic("BUG: malformed row in sample.tsv: " + line)
		}
	}
	return entities
}

func number(field string) uint32 {
	value, err := strconv.ParseUint(field, 10, 32)
	if err != nil {
		panic("BUG: bad number in sample.tsv: " + field)
	}
	return uint32(value)
}

func entityType(field string) ofac.EntityType {
	for _, kind := range []ofac.EntityType{ofac.Individual, ofac.Company, ofac.Vessel, ofac.Aircraft} {
		if kind.String() == field {
			return kind
		}
	}
	panic("BUG: unknown type in sample.tsv: " + field)
}

func lists(field string) ofac.Lists {
	set := ofac.Lists(0)
	for name := range strings.SplitSeq(field, "+") {
		source, known := ofac.SourceNamed(name)
		if !known {
			panic("BUG: unknown list in sample.tsv: " + field)
		}
		set |= source.Set()
	}
	return set
}
