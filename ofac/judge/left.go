package judge

import (
	"fmt"
	"strings"

	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/wallet"
)

// LeftNamed bounds the parties, names and wallets that Left names; its counts are whole. The log
// holds the same bound.
const LeftNamed = 20

// leftBytesMax bounds the text of one of them.
const leftBytesMax = 160

// Left says who stands on one list and no longer on the other: parties, names of parties that
// stay, and accounts that no party has any more. It is shown to persons before the other list
// comes in force, and stands in an alert afterwards.
func Left(from, to []ofac.Entity) *wire.ListLeft {
	names := make(map[uint32]map[string]bool, len(to)) // By uid, in lower case; only looked up.
	accounts := map[string]bool{}                      // Only looked up.
	for i := range to {
		known := make(map[string]bool, len(to[i].Names))
		for _, name := range to[i].Names {
			known[strings.ToLower(name.Full)] = true
		}
		names[to[i].UID] = known
		for _, address := range to[i].Addresses {
			accounts[string(wallet.AppendKey(nil, address.Value))] = true
		}
	}
	var left wire.ListLeft
	var parties, aliases, wallets []string
	note := func(list *[]string, count *uint32, format string, values ...any) {
		if *count++; len(*list) < LeftNamed {
			text := fmt.Sprintf(format, values...)
			if len(text) > leftBytesMax {
				text = strings.ToValidUTF8(text[:leftBytesMax], "") + "..."
			}
			*list = append(*list, text)
		}
	}
	for i := range from {
		entity := &from[i]
		title := primaryOf(entity)
		known, stays := names[entity.UID]
		if !stays {
			note(&parties, &left.Parties, "party %d: %s", entity.UID, title)
		} else {
			for _, name := range entity.Names {
				if !known[strings.ToLower(name.Full)] {
					note(&aliases, &left.Names, "name of %d: %s", entity.UID, name.Full)
				}
			}
		}
		for _, address := range entity.Addresses {
			if key := string(wallet.AppendKey(nil, address.Value)); !accounts[key] {
				accounts[key] = true // An account is told once.
				note(&wallets, &left.Wallets, "wallet of %d (%s): %s %s", entity.UID, title, address.Ticker, address.Value)
			}
		}
	}
	left.First = shareOut(LeftNamed, wallets, parties, aliases)
	return &left
}

// shareOut takes from each list in turn, so that none crowds the others out.
func shareOut(most int, lists ...[]string) (all []string) {
	for at := 0; len(all) < most; at++ {
		before := len(all)
		for _, list := range lists {
			if at < len(list) && len(all) < most {
				all = append(all, list[at])
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

func primaryOf(entity *ofac.Entity) string {
	for _, name := range entity.Names {
		if name.Primary {
			return name.Full
		}
	}
	return ""
}
