package rulebook

import (
	"fmt"
	"slices"

	"railguard/ofac"
	"railguard/strictjson"
)

// changesMax bounds what is told of one entry that changed.
const changesMax = 24

// changedMembers writes entries that both lists have, and what each of them says otherwise.
func changedMembers(from, to *ofac.Index, uids []uint32, most int) strictjson.Members {
	items := []strictjson.Members{}
	for _, uid := range uids[:min(len(uids), most)] {
		was, before := from.Entry(uid)
		is, now := to.Entry(uid)
		if !before || !now {
			continue
		}
		m := entryMembers(&is)
		m.Texts("changed", changesOf(&was, &is))
		items = append(items, m)
	}
	return counted(len(uids), items)
}

// changesOf says in words what an entry says otherwise than before: "name added: …".
func changesOf(was, is *ofac.Entry) []string {
	changes := []string{}
	for _, part := range [...]struct {
		what    string
		was, is []string
	}{
		{"type", []string{was.Type.String()}, []string{is.Type.String()}}, {"name", namesOf(was), namesOf(is)}, {"programme", was.Programs, is.Programs},
		{"list", was.Sublists, is.Sublists}, {"wallet", walletsOf(was), walletsOf(is)}, {"", factsOf(was), factsOf(is)},
	} {
		for _, side := range [...]struct {
			how         string
			these, than []string
		}{{"added", part.is, part.was}, {"taken away", part.was, part.is}} {
			for _, text := range side.these {
				if slices.Contains(side.than, text) {
					continue
				}
				if part.what != "" {
					text = fmt.Sprintf("%s %s: %s", part.what, side.how, text)
				} else {
					text = fmt.Sprintf("%s: %s", side.how, text)
				}
				changes = append(changes, text)
			}
		}
	}
	if more := len(changes) - changesMax; more > 0 {
		changes = append(changes[:changesMax], fmt.Sprintf("and %d more", more))
	}
	if len(changes) == 0 {
		changes = append(changes, "how its names are told apart, or their order")
	}
	return changes
}

func namesOf(entry *ofac.Entry) []string {
	names := make([]string, 0, len(entry.Names))
	for i := range entry.Names {
		name := entry.Names[i].Full
		if entry.Names[i].Weak {
			name += " (weak)"
		}
		names = append(names, name)
	}
	return names
}

func walletsOf(entry *ofac.Entry) []string {
	wallets := make([]string, 0, len(entry.Addresses))
	for _, address := range entry.Addresses {
		wallets = append(wallets, address.Ticker+" "+address.Value)
	}
	return wallets
}

func factsOf(entry *ofac.Entry) []string {
	facts := make([]string, 0, len(entry.Facts))
	for _, fact := range entry.Facts {
		facts = append(facts, fact.Kind.String()+" "+fact.Value)
	}
	return facts
}
