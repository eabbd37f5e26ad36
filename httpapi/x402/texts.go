package x402

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	sites "railguard/ofac/identifier"
	"railguard/ofac/wallet"
)

// This file reads what a payment tells in words. Nobody checks these texts against the payment, so
// that what stands in them is screened as a memo, which is reviewed and blocks nothing: the address
// of a resource may ask about a listed wallet.

// readResource reads what the payment is for. All that is said of it in words is one text, first
// what the resource server says. A resource that is no address is such a text too.
func (p *payment) readResource(version int, payload, wanted object) {
	resource, accepted := payload.object("resource"), payload.object("accepted")
	if p.resource = resource.text("url"); version == 1 {
		p.resource = wanted.text("resource")
	}
	texts := []string{wanted.text("description"), accepted.text("description"), resource.text("description"), p.note}
	if address, err := url.Parse(p.resource); websiteOf(p.resource) == "" && (err != nil || address.Host == "") {
		texts = append(texts, p.resource)
	}
	for _, text := range texts {
		if text != "" && !strings.Contains(p.description, text) {
			p.description = strings.TrimSpace(p.description + "\n" + text)
		}
	}
}

// readMentioned finds wallets in all texts of the body, in members that are unknown too. Not looked
// at are what the payer signed, which is read before, and what describes the interface of the
// resource: it holds examples, and says nothing of this payment.
func (p *payment) readMentioned(top, payload, wanted object) *invalid {
	m := mentions{payment: p}
	rest, terms, said := maps.Clone(top), maps.Clone(wanted), maps.Clone(payload)
	delete(rest, "paymentPayload")
	delete(rest, "paymentRequirements")
	delete(terms, "outputSchema")
	delete(said, "payload")
	if extensions := payload.object("extensions"); extensions != nil {
		extensions = maps.Clone(extensions)
		delete(extensions, "bazaar")
		said["extensions"] = extensions
	}
	for _, part := range []object{rest, terms, said} {
		m.add(part)
	}
	if m.found.More {
		return &invalid{"invalid_payload", "the payment names more wallets in its texts than are judged"}
	}
	p.mentioned = string(m.found.Texts)
	return nil
}

// mentions are the wallets that texts name beside those of the payment.
type mentions struct {
	payment *payment
	found   wallet.Elsewhere
}

// add searches a value. The same body must give the same order: it is the order of the names.
func (m *mentions) add(value any) {
	switch v := value.(type) {
	case string:
		if !m.payment.isJudged(v) {
			m.found.Add([]byte(v))
		}
	case []any:
		for _, item := range v {
			m.add(item)
		}
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			m.found.Add([]byte(name))
			m.add(v[name])
		}
	}
}

// isJudged reports whether a text is a member that is judged as what it is, or is a credential.
func (p *payment) isJudged(text string) bool {
	if text == p.token || text == p.userToken || text == p.proof || text == p.travelRule || slices.Contains(p.signers, text) {
		return true
	}
	return slices.ContainsFunc([]string{p.payer, p.payee, p.asset.Address}, func(address string) bool { return p.asset.sameAddress(address, text) })
}

// memo returns the text that is screened: what the payment is for, and the wallets that stand
// elsewhere or behind the end of what is screened.
func (p *payment) memo() string {
	short, missing := cutText(p.description, memoRunes-len(p.mentioned)), ""
	for _, mentioned := range strings.Fields(p.mentioned) {
		if !strings.Contains(short, mentioned) {
			missing += " " + mentioned
		}
	}
	if missing == "" {
		return cutText(p.description, memoRunes)
	}
	return strings.TrimSpace(short + missing)
}

// memoRunes is how many characters of the description are screened; the API takes no more.
const memoRunes = 512

// cutText cuts a text behind so many characters.
func cutText(text string, runes int) string {
	for at := range text {
		if runes--; runes < 0 {
			return text[:at]
		}
	}
	return text
}

// websiteOf returns the address of a resource as far as it tells whose it is: the host and the first
// part of the path. It is read as leniently as the API reads a website: what no parser takes is still
// told. It returns "" for an address that has no host with a domain, as in a test.
func websiteOf(resource string) string {
	if end := strings.IndexAny(resource, "?#"); end >= 0 {
		resource = resource[:end] // What is asked for may be anybody's.
	}
	host, path := sites.CutAddress(resource)
	if end := strings.IndexAny(path, `/\`); end >= 0 {
		path = path[:end]
	}
	host, path = unescape(host), unescape(path)
	for _, website := range []string{host + "/" + path, host} {
		if len(website) <= textMax && sites.IsSound(sites.Website, website) {
			return website
		}
	}
	return ""
}

// unescape writes a part of an address without its escapes, if they are sound.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
