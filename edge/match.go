package edge

import (
	"strconv"

	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// outcomeWords are what a match leads to, as the workbench says it.
var outcomeWords = [...]string{ofac.Clear: "CLEAR", ofac.Possible: "REVIEW", ofac.Listed: "BLOCK"}

// Matches asks the list as the strictest caller would: possible matches against
// every list, cleared pairs named but not applied. The wallet's match, which is
// certain, stands before those of the name.
func (j *Judge) Matches(name, wallet string, kind ofac.PartyType, list *ofac.Index) strictjson.Members {
	policy := j.Terms.Settings.Policy
	scratch := scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	result := list.Screen(&ofac.Query{
		Name: name, Type: kind, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases, NonSDNPossible: true,
	}, scratch)
	outcome := result.Outcome
	items, now := []strictjson.Members{}, j.shared.deps.Published.LogTime()
	if match, listed := list.Wallet(wallet); listed && wallet != "" {
		outcome = ofac.Listed
		items = append(items, walletItem(&match, list))
	}
	normalised := ofac.NormaliseName(name)
	for i := range result.Matches {
		item := nameItem(&result.Matches[i], list)
		item.Bool("cleared", j.Terms.isCleared(normalised, result.Matches[i].UID, list, now))
		items = append(items, item)
	}
	info := j.Terms.Settings.List
	var m, query strictjson.Members
	query.TextOrNull("name", name)
	query.TextOrNull("normalised", normalised)
	query.TextOrNull("wallet", wallet)
	query.TextOrNull("canonicalWallet", engine.CanonicalWallet(wallet))
	query.TextOrNull("cpType", engine.PartyTypeName(kind))
	m.Text("outcome", outcomeWords[outcome])
	m.Uint("listVersion", info.Version)
	m.List("matches", items)
	m.Bool("truncated", result.Truncated)
	m.Object("query", query)
	m.Text("snapshotId", SnapshotID(info.Digest))
	m.Text("ofacSource", ListSource(info))
	return m
}

// nameItem is one listed name that the query may mean.
func nameItem(match *ofac.Match, list *ofac.Index) strictjson.Members {
	m := matchItem(match.UID, match.Lists, match.Name, match.Alias, list)
	m.Text("type", match.Type.String())
	m.Text("quality", match.Quality)
	m.Text("form", match.Form)
	m.Score("score", match.Score)
	m.Score("strict", match.Strict)
	m.Text("outcome", outcomeWords[match.Outcome])
	m.Optional("why", match.Sub.String())
	return m
}

// walletItem is a listed address: the same members, and no doubt.
func walletItem(match *ofac.WalletMatch, list *ofac.Index) strictjson.Members {
	entry, _ := list.Entry(match.UID)
	m := matchItem(match.UID, match.Lists, entry.Primary, match.Address, list)
	m.Text("type", entry.Type.String())
	m.Text("quality", "strong")
	m.Text("form", "wallet")
	m.Int("score", 1)
	m.Int("strict", 1)
	m.Text("outcome", outcomeWords[ofac.Listed])
	m.Text("ticker", match.Ticker)
	return m
}

func matchItem(uid uint32, lists ofac.Lists, name, alias string, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("list", ListName(lists))
	m.Text("uid", strconv.FormatUint(uint64(uid), 10))
	m.Text("name", name)
	m.Text("alias", alias)
	entry, _ := list.Entry(uid)
	m.Texts("programs", entry.Programs)
	return m
}

// isCleared tells whether a reviewer cleared the pair, and the clearing stands.
func (t *Terms) isCleared(normalised string, uid uint32, list *ofac.Index, now engine.Time) bool {
	digest, listed := list.EntryDigest(uid)
	for _, pair := range t.Settings.Cleared {
		if pair.UID == uid && pair.Name == normalised && listed && pair.EntryDigest == digest && (pair.ExpiresAt == 0 || pair.ExpiresAt > now) {
			return true
		}
	}
	return false
}
