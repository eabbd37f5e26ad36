package httpapi

import (
	"net/http"
	"unicode/utf8"

	"railguard/engine"
	"railguard/ofac"
)

// matchName is GET /v1/match?name=&wallet=&cpType=: what a screening call would
// find, without one. It changes nothing and leaves no record.
func matchName(c *call) error {
	name, wallet := c.query("name"), c.query("wallet")
	kind, known := ofac.PartyUnknown, true
	for _, parameter := range []string{"cpType", "type"} {
		if text := c.query(parameter); text != "" {
			kind, known = engine.ParsePartyType(text)
		}
	}
	switch {
	case name == "" && wallet == "":
		return &Error{
			Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "name",
			Message: "name or wallet is required",
		}
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > engine.NameRunesMax:
		return invalidField("name", "must have at most 512 characters")
	case !utf8.ValidString(wallet) || len(wallet) > engine.FieldMax:
		return invalidField("wallet", "must have at most 256 bytes")
	case !known:
		return invalidField("cpType", "must be individual, business or exchange")
	}
	list, err := c.activeList()
	if err != nil {
		return err
	}
	info := c.edge.settings.List
	var m members
	m.uint("listVersion", info.Version)
	m.text("snapshotId", snapshotID(info.Digest))
	m.text("ofacSource", ofacSource(info))
	if name != "" {
		m.object("name", c.nameMatches(name, kind, list))
	} else {
		m.null("name")
	}
	if wallet != "" {
		m.object("wallet", walletMatches(wallet, list))
	} else {
		m.null("wallet")
	}
	c.reply(http.StatusOK, m)
	return nil
}

// nameMatches asks the list as the strictest caller would: possible matches
// against every list, cleared pairs named but not applied.
func (c *call) nameMatches(name string, kind ofac.PartyType, list *ofac.Index) members {
	policy := c.edge.settings.Policy
	scratch := scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	result := list.Screen(&ofac.Query{
		Name: name, Type: kind, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases, NonSDNPossible: true,
	}, scratch)
	normalised := ofac.NormaliseName(name)
	var m members
	m.text("query", name)
	m.text("normalised", normalised)
	m.text("outcome", result.Outcome.String())
	m.text("verdict", [...]string{ofac.Clear: "PROCEED", ofac.Possible: "REVIEW", ofac.Listed: "BLOCK"}[result.Outcome])
	m.bool("truncated", result.Truncated)
	items := []members{}
	for i := range result.Matches {
		match := &result.Matches[i]
		item := nameEvidence("query", match, list)
		item.bool("cleared", c.isCleared(normalised, match.UID, list))
		items = append(items, item)
	}
	m.list("matches", items)
	return m
}

func walletMatches(wallet string, list *ofac.Index) members {
	match, listed := list.Wallet(wallet)
	var m members
	m.text("query", wallet)
	m.text("canonical", engine.CanonicalWallet(wallet))
	m.bool("listed", listed)
	items := []members{}
	if listed {
		items = append(items, walletEvidence("query", &match, list))
	}
	m.list("matches", items)
	return m
}

// isCleared tells whether a reviewer cleared the pair, and the clearing stands.
func (c *call) isCleared(normalised string, uid uint32, list *ofac.Index) bool {
	now := c.api.deps.Published.LogTime()
	digest, listed := list.EntryDigest(uid)
	for _, pair := range c.edge.settings.Cleared {
		if pair.UID == uid && pair.Name == normalised && listed && pair.EntryDigest == digest && (pair.ExpiresAt == 0 || pair.ExpiresAt > now) {
			return true
		}
	}
	return false
}
