package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railguard/ofac"
	"railguard/ofac/wallet"
)

// FamilySummary counts one list family. Entities 0 means that it is not loaded.
type FamilySummary struct {
	Format    Format
	DataAsOf  int64 // ns UTC; 0 where unknown.
	Entities  int
	Names     int
	Addresses int // Digital currency addresses, as printed.

	Wallets []ChainCount // Distinct accounts by chain, the most first.
}

// ChainCount is how many accounts of one chain a list holds.
type ChainCount struct {
	Chain string // The chain by the form of the address and not by its ticker: EVM, TRON, BTC, ...; "other" for an address that fits no grammar.
	Count int
}

// CountWallets counts the distinct accounts of each chain, the most first.
func CountWallets(entities []ofac.Entity) []ChainCount {
	seen, counts := map[string]bool{}, map[string]int{}
	for i := range entities {
		for _, address := range entities[i].Addresses {
			if key := string(wallet.AppendKey(nil, address.Value)); key != "" && !seen[key] {
				seen[key] = true
				counts[wallet.Chain(address.Value)]++
			}
		}
	}
	list := make([]ChainCount, 0, len(counts))
	for _, chain := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, ChainCount{chain, counts[chain]})
	}
	slices.SortStableFunc(list, func(a, b ChainCount) int { return b.Count - a.Count })
	return list
}

// WalletsKeptPercentMin is the share of the active list's accounts, in all and of each
// chain, that a new list must keep. In 2025 OFAC removed 90 of 717 at once, of two chains.
const WalletsKeptPercentMin = 80

// ChainFew is the number of accounts below which a chain is too small to be judged by its
// share.
const ChainFew = 10

// Summary counts what is loaded.
type Summary struct {
	SDN, CONS FamilySummary
	Entities  int // Distinct entities of SDN and CONS together.
	Names     int // Names of the merged entities. Addresses counts those of the merged entities, too.
	Addresses int
}

func summarizeLists(sdn, cons *List, merged []ofac.Entity) Summary {
	whole := List{Entities: merged}
	return Summary{SDN: familySummary(sdn), CONS: familySummary(cons),
		Entities: len(merged), Names: whole.Names(), Addresses: whole.Addresses()}
}

func familySummary(list *List) FamilySummary {
	if list == nil {
		return FamilySummary{}
	}
	return FamilySummary{list.Format, list.DataAsOf, len(list.Entities), list.Names(), list.Addresses(), CountWallets(list.Entities)}
}

// Canaries are entries that every real list is known to hold. A list without them is cut,
// filtered or not OFAC's.
type Canaries struct {
	Names   []string // Full names on the SDN list; letter case does not matter.
	Tickers []string // Tickers with at least one digital currency address.
}

// DefaultCanaries returns entries that stood on the list in every snapshot since
// 2019 and whose removal would be world news.
func DefaultCanaries() Canaries {
	return Canaries{Names: []string{"LAZARUS GROUP"}, Tickers: []string{"XBT", "ETH"}}
}

// ProblemCode classifies a reason not to take a list.
type ProblemCode string

// ProblemCanary: a canary is missing.
const ProblemCanary ProblemCode = "canary"

// ProblemWallets: the accounts of a chain shrank too much.
const ProblemWallets ProblemCode = "wallets_shrunk"

// Problem is one reason not to take a list. An operator who gives a reason may switch to
// the list despite all problems.
type Problem struct {
	Code   ProblemCode
	Detail string
}

// String writes the problem for a log line or an error text.
func (p Problem) String() string { return string(p.Code) + ": " + p.Detail }

// Inspect returns the problems of a list's content that do not depend on the list it
// replaces: its missing canaries. Package judge compares the two lists.
func Inspect(loaded *Loaded, canaries Canaries) []string {
	if len(loaded.Entities) == 0 {
		return nil // The caller reports an empty list itself.
	}
	var problems []string
	for _, problem := range checkCanaries(loaded.Entities, canaries) {
		problems = append(problems, problem.String())
	}
	return problems
}

func checkCanaries(entities []ofac.Entity, canaries Canaries) []Problem {
	var problems []Problem
	for _, name := range canaries.Names {
		if !listsName(entities, name) {
			problems = append(problems, Problem{ProblemCanary, fmt.Sprintf("the new list does not name %s", name)})
		}
	}
	for _, ticker := range canaries.Tickers {
		if !listsTicker(entities, ticker) {
			problems = append(problems, Problem{ProblemCanary, fmt.Sprintf("the new list has no %s address", ticker)})
		}
	}
	return problems
}

func listsName(entities []ofac.Entity, name string) bool {
	for i := range entities {
		if entities[i].Lists&ofac.ListSDN == 0 {
			continue
		}
		for j := range entities[i].Names {
			if strings.EqualFold(entities[i].Names[j].Full, name) {
				return true
			}
		}
	}
	return false
}

func listsTicker(entities []ofac.Entity, ticker string) bool {
	for i := range entities {
		for j := range entities[i].Addresses {
			if entities[i].Addresses[j].Ticker == ticker {
				return true
			}
		}
	}
	return false
}
