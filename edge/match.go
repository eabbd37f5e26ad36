package edge

import (
	"cmp"
	"slices"
	"strconv"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// outcomeWords are the words that answers use for the outcome of a match.
var outcomeWords = [...]string{ofac.Clear: "CLEAR", ofac.Possible: "REVIEW", ofac.Listed: "BLOCK"}

// MatchQuestion is a question of the workbench to the list.
type MatchQuestion struct {
	Name, Wallet string
	Type         ofac.PartyType
	Context      ofac.Context // Orders equal matches and is part of the explanation; it changes no outcome.
	Explain      bool         // Explain for each name why it matches, pair by pair.
	Record       *Leaf        // Cleared pairs are held against what this call said; nil: against Context.

	Info *wire.ListInfo // The list that is asked; nil: the active one.
}

// Matches asks the list as the strictest caller would. Possible matches count on every list,
// and cleared pairs are named but not applied. The wallet's match, which is certain, comes
// before those of the name.
func (j *Judge) Matches(question *MatchQuestion, list *ofac.Index) (m strictjson.Members, err error) {
	policy := j.Terms.Policy()
	asked := ofac.Query{
		Name: question.Name, Type: question.Type, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases, NonSDNPossible: true,
		Context: question.Context, Now: int64(j.LogTime()),
	}
	err = j.screenAlone(list, &asked, func(result ofac.Result) { m = j.writeMatchAnswer(question, &asked, &result, list) })
	return m, err
}

// writeMatchAnswer writes the answer to a question.
func (j *Judge) writeMatchAnswer(question *MatchQuestion, asked *ofac.Query, result *ofac.Result, list *ofac.Index) (m strictjson.Members) {
	name, wallet, outcome := question.Name, question.Wallet, result.Outcome
	items, now := []strictjson.Members{}, j.LogTime()
	if match, listed := list.WalletAt(wallet, int64(now)); listed && wallet != "" {
		outcome = max(outcome, walletOutcome(&match))
		item := walletItem(&match, list)
		writeIdentity(&item, match.UID, &question.Context, list)
		items = append(items, item)
	}
	missed := result.NotCompared(name)
	if missed != "" {
		outcome = max(outcome, ofac.Possible) // R21.
	}
	normalised := ofac.NormaliseName(name)
	clearings := j.Terms.cleared.hold(nil, partyCounterparty, name, j.Terms.toldOf(question, j.call.Caller), list, now)
	for i := range result.Matches {
		item := nameItem(&result.Matches[i], list)
		writeIdentity(&item, result.Matches[i].UID, &question.Context, list)
		if question.Explain {
			j.writeExplanation(&item, result.Matches[i].UID, asked, list)
		}
		at := slices.IndexFunc(clearings, func(c clearing) bool { return c.pair.UID == result.Matches[i].UID })
		item.Bool("cleared", at >= 0 && clearings[at].denied == "")
		if at >= 0 && j.call.Caller.Institution() {
			clearings[at].write(&item)
		}
		items = append(items, item)
	}
	info := cmp.Or(question.Info, j.Terms.Settings.List)
	var query strictjson.Members
	query.TextOrNull("name", name)
	query.TextOrNull("normalised", normalised)
	query.TextOrNull("wallet", wallet)
	query.TextOrNull("canonicalWallet", engine.CanonicalWallet(wallet))
	query.TextOrNull("cpType", engine.PartyTypeName(question.Type))
	m.Text("outcome", outcomeWords[outcome])
	m.Uint("listVersion", info.Version)
	m.List("matches", items)
	m.Bool("truncated", result.Truncated)
	m.Optional("notCompared", missed)
	m.Object("query", query)
	m.Text("snapshotId", SnapshotID(info.Digest))
	m.Text("ofacSource", ListSource(info))
	return m
}

// Resembles reports whether a name comes near a listed entry, asked as Matches asks. listed
// says that it is one of the entry's names; such a name blocks even if the pair is cleared.
func (j *Judge) Resembles(name string, uid uint32, list *ofac.Index) (near, listed bool) {
	policy, scratch := j.Terms.Policy(), scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	match, near := list.ScreenEntry(uid, &ofac.Query{
		Name: name, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases, NonSDNPossible: true,
	}, scratch)
	return near, near && match.Outcome == ofac.Listed
}

// factsShownMax bounds the facts that one match shows of a party. Only one party has more than
// this.
const factsShownMax = 200

// writeIdentity writes what OFAC says of the party besides names, and where the caller's
// context agrees with that or differs.
func writeIdentity(item *strictjson.Members, uid uint32, context *ofac.Context, list *ofac.Index) {
	entry, _ := list.Entry(uid)
	facts := make([]strictjson.Members, 0, min(len(entry.Facts), factsShownMax))
	for _, fact := range entry.Facts[:min(len(entry.Facts), factsShownMax)] {
		var m strictjson.Members
		m.Text("kind", fact.Kind.String())
		m.Optional("label", fact.Label)
		m.Text("value", fact.Value)
		facts = append(facts, m)
	}
	item.List("facts", facts)
	if *context == (ofac.Context{}) {
		return
	}
	words := []string{}
	for _, agreement := range list.Agreements(uid, context) {
		words = append(words, agreement.String())
	}
	item.Texts("context", words)
}

// writeExplanation writes why a name matches: on one line, and pair by pair.
func (j *Judge) writeExplanation(item *strictjson.Members, uid uint32, asked *ofac.Query, list *ofac.Index) {
	scratch := scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	explanation, ok := list.Explain(uid, asked, scratch)
	j.Steps += scratch.Steps()
	if !ok {
		return
	}
	item.Text("explanation", explanation.String())
	pairs := make([]strictjson.Members, 0, len(explanation.Pairs))
	for _, pair := range explanation.Pairs {
		var m strictjson.Members
		m.Text("query", pair.Query)
		m.Text("listed", pair.Listed)
		m.Text("kind", pair.Kind)
		m.Score("similarity", pair.Similarity)
		m.Hundredths("bits", pair.Bits)
		pairs = append(pairs, m)
	}
	item.List("pairs", pairs)
	others := []strictjson.Members{}
	for _, group := range []struct {
		where string
		list  []ofac.ExplainedPart
	}{{"query only", explanation.QueryOnly}, {"listed only", explanation.ListedOnly}, {"whole", explanation.Whole}} {
		for _, part := range group.list {
			var m strictjson.Members
			m.Text("where", group.where)
			m.Text("what", part.What)
			m.Hundredths("bits", part.Bits)
			others = append(others, m)
		}
	}
	item.List("others", others)
	if len(explanation.Pairs) > 0 {
		item.Hundredths("bits", explanation.Sum)
		item.Hundredths("bitsNeeded", explanation.Needed)
	}
}

// nameItem describes one listed name that the query may mean.
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

// walletItem describes a listed address with the same members as nameItem, as a certain match.
func walletItem(match *ofac.WalletMatch, list *ofac.Index) strictjson.Members {
	entry, _ := list.Entry(match.UID)
	m := matchItem(match.UID, match.Lists, entry.Primary, match.Address, list)
	m.Text("type", entry.Type.String())
	m.Text("quality", "strong")
	m.Text("form", "wallet")
	m.Int("score", 1)
	m.Int("strict", 1)
	m.Text("outcome", outcomeWords[walletOutcome(match)])
	m.Optional("why", walletWhy(match))
	m.Text("ticker", match.Ticker)
	return m
}

func matchItem(uid uint32, lists ofac.Lists, name, alias string, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("list", list.NameOf(lists))
	m.Text("uid", strconv.FormatUint(uint64(uid), 10))
	m.Text("name", name)
	m.Text("alias", alias)
	entry, _ := list.Entry(uid)
	m.Texts("programs", entry.Programs)
	return m
}
