package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/ofac"
	"railguard/strictjson"
)

// Issuing a credential: the operator is screened at the edge, the log assigns
// slot, time and key, and the token is minted from the leaf that came of it.
// The signature is deterministic, so a credential is a pure function of what
// was registered: it is never stored.

const contextPath = "/contexts/kya/v1"

// newCredential is what every credential of the cluster has.
func (c *call) newCredential(kind credential.Kind) *credential.Credential {
	genesis := c.edge.settings.Genesis
	return &credential.Credential{
		Kind: kind, Issuer: genesis.Issuer, ContextURL: strings.TrimSuffix(genesis.PublicURL, "/") + contextPath,
	}
}

// agentCredential is an agent's credential as its leaf tells it: a registration,
// a delegate's creation or a re-issue.
func (c *call) agentCredential(l *leaf) *credential.Credential {
	s := c.newCredential(credential.KindAgent)
	s.ID, s.Subject, s.IssuedAt, s.ExpiresAt = l.text("credentialId"), l.text("agentId"), l.instant("issuedAt"), l.instant("expiresAt")
	s.Name, s.AgentType, s.OperatorLegalName = l.text("agentName"), l.text("agentType"), l.text("operatorLegalName")
	s.SpendPolicy, s.ScreenedAt = l.raw("spendPolicy"), s.IssuedAt
	s.Matched = l.flag("walletMatched") || l.flag("nameMatched")
	if l.has("parentAgentId") {
		s.Kind, s.ParentID, s.RootID, s.Depth = credential.KindDelegate, l.text("parentAgentId"), l.text("rootAgentId"), int(l.number("depth"))
		s.Chain = l.texts("chain")
	}
	return s
}

// texts returns a list of strings, nil when it is absent.
func (l *leaf) texts(path ...string) []string {
	var texts []string
	for _, v := range l.value.GetArray(path...) {
		texts = append(texts, string(v.GetStringBytes()))
	}
	return texts
}

// profileCredential is the same from the registry: an agent's current credential.
func (c *call) profileCredential(chain []*engine.AgentProfile) *credential.Credential {
	p := chain[0]
	s := c.newCredential(credential.KindAgent)
	s.ID, s.Subject = c.edge.ids.CredentialID(kindAgent, uint32(p.Slot), p.CredentialVersion), c.edge.agentID(p.Slot)
	s.IssuedAt, s.ExpiresAt, s.ScreenedAt = wholeMilli(p.IssuedAt), p.ExpiresAt, wholeMilli(p.IssuedAt)
	s.Name, s.AgentType, s.OperatorLegalName = p.AgentName, p.Type.String(), p.OperatorLegalName
	s.SpendPolicy, s.Matched = p.PolicyJSON, p.WalletMatched || p.NameMatched
	if p.Parent != 0 {
		s.Kind, s.ParentID, s.RootID, s.Depth = credential.KindDelegate, c.edge.agentID(p.Parent), c.edge.agentID(p.Root), int(p.Depth)
		s.Chain = c.ancestorIDs(chain)
	}
	return s
}

// wholeMilli is a time as leaves tell it.
func wholeMilli(t engine.Time) engine.Time { return t / engine.Millisecond * engine.Millisecond }

// ancestorIDs names a delegate's ancestors, root first.
func (c *call) ancestorIDs(chain []*engine.AgentProfile) []string {
	ids := make([]string, 0, len(chain))
	for i := len(chain) - 1; i > 0; i-- {
		ids = append(ids, c.edge.agentID(chain[i].Slot))
	}
	return ids
}

// userCredential is a user's credential as its leaf tells it.
func (c *call) userCredential(l *leaf) *credential.Credential {
	s := c.newCredential(credential.KindUser)
	s.ID, s.Subject, s.IssuedAt, s.ExpiresAt = l.text("credentialId"), l.text("userId"), l.instant("issuedAt"), l.instant("expiresAt")
	s.Name, s.AgentType, s.OperatorLegalName = l.text("legalName"), engine.Supervised.String(), l.text("operatorLegalName")
	s.Agents, s.Matched, s.ScreenedAt = l.texts("boundAgents"), l.flag("nameMatched"), s.IssuedAt
	return s
}

// profileUserCredential is the same from the registry.
func (c *call) profileUserCredential(p *engine.UserProfile) *credential.Credential {
	s := c.newCredential(credential.KindUser)
	s.ID, s.Subject = c.edge.ids.CredentialID(kindUser, uint32(p.Slot), p.CredentialVersion), c.edge.userID(p.Slot)
	s.IssuedAt, s.ExpiresAt, s.ScreenedAt = wholeMilli(p.IssuedAt), p.ExpiresAt, wholeMilli(p.IssuedAt)
	s.Name, s.AgentType, s.OperatorLegalName = p.LegalName, engine.Supervised.String(), p.OperatorLegalName
	s.Agents, s.Matched = c.agentIDs(p.Agents), p.NameMatched
	return s
}

func (c *call) agentIDs(slots []engine.AgentSlot) []string {
	ids := make([]string, len(slots))
	for i, slot := range slots {
		ids[i] = c.edge.agentID(slot)
	}
	return ids
}

// writeCredential adds token and credential to an answer: the very bytes of the
// token's vc. A token whose key was revoked since is not minted again: it would
// be good for nothing.
func (c *call) writeCredential(m *strictjson.Members, s *credential.Credential, kid string) error {
	if c.edge.settings.KeyRevoked(kid) {
		m.Null("token")
		m.Raw("credential", s.AppendJSON(nil))
		return nil
	}
	key, err := c.edge.signer(kid)
	if err != nil {
		return err
	}
	token, document, err := credential.Mint(s, key, kid)
	if err != nil {
		return err
	}
	m.Text("token", token)
	m.Raw("credential", document)
	return nil
}

// canSign refuses to register what this node could not mint a token for, before
// anything is in the log.
func (c *call) canSign(s *credential.Credential) error {
	now := c.api.deps.Published.LogTime()
	key := c.edge.settings.ActiveKey(now)
	if key == nil {
		return unavailable("overloaded", "no signing key of the cluster is active")
	}
	if _, err := c.edge.signer(key.KID); err != nil {
		c.api.log.Error("cannot sign", "error", err)
		return unavailable("overloaded", "this node cannot unseal the signing key")
	}
	trial := *s // Its ids and times are the log's to assign; these have their length.
	trial.ID, trial.Subject = c.edge.ids.CredentialID(kindAgent, 1, 1), c.edge.agentID(1)
	if trial.Kind == credential.KindUser {
		trial.Subject = c.edge.userID(1)
	}
	trial.IssuedAt, trial.ExpiresAt, trial.ScreenedAt = now, now, now
	if trial.Kind == credential.KindDelegate {
		trial.ParentID, trial.RootID, trial.Depth = trial.Subject, trial.Subject, engine.DepthMax
		trial.Chain = []string{trial.Subject, trial.Subject, trial.Subject}
	}
	switch err := trial.Check(); {
	case errors.Is(err, credential.ErrTooLarge):
		return &Error{
			Status: http.StatusUnprocessableEntity, Code: "invalid_field", Param: "spendPolicy",
			Message: "names and spendPolicy are together larger than a token may be (8 KiB)",
		}
	case err != nil:
		return &Error{
			Status: http.StatusUnprocessableEntity, Code: "invalid_field", Param: "spendPolicy",
			Message: "the credential's content cannot be signed",
		}
	}
	return nil
}

// issuance is what the list says of a party at issuance.
type issuance struct {
	walletMatched bool
	nameMatched   bool // A strong match: R5.
	possible      bool // R21.
	evidence      []strictjson.Members
}

var scratches = sync.Pool{New: func() any { return ofac.NewScratch() }}

// screenParty looks a party up in the active list, as R3 to R5 see it.
func (c *call) screenParty(party, wallet, name string, kind ofac.PartyType) (issuance, error) {
	list, err := c.activeList()
	if err != nil {
		return issuance{}, err
	}
	var found issuance
	if wallet != "" {
		if match, listed := list.Wallet(wallet); listed {
			found.walletMatched = true
			found.evidence = append(found.evidence, walletEvidence(party, &match, list))
		}
	}
	policy := c.edge.settings.Policy
	scratch := scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	result := list.Screen(&ofac.Query{
		Name: name, Type: kind, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases,
	}, scratch)
	found.nameMatched, found.possible = result.Outcome == ofac.Listed, result.Outcome == ofac.Possible
	for i := range result.Matches {
		found.evidence = append(found.evidence, nameEvidence(party, &result.Matches[i], list))
	}
	return found, nil
}

func (i *issuance) matched() bool { return i.walletMatched || i.nameMatched }

// refusedBy tells whether the institution refuses to register such a party.
func (i *issuance) refusedBy(policy *engine.Policy) error {
	if !i.matched() || !policy.RefuseOnMatch {
		return nil
	}
	return judged{failure(422, "operator_sanctioned", "the operator matches the sanctions list and this institution refuses such registrations")}
}

// write adds the findings to a fragment.
func (i *issuance) write(m *strictjson.Members, settings uint64) {
	m.Text("ofacAtIssuance", clearOrMatch(i.matched()))
	m.Uint("listVersion", settings)
	if len(i.evidence) > 0 {
		m.List("matches", i.evidence)
	}
}

// warnings are what the list gives to say.
func (i *issuance) warnings() []strictjson.Members {
	switch {
	case i.walletMatched:
		return []strictjson.Members{warning("operator_sanctions_match", "the operator's wallet is on the sanctions list: every payment will be blocked", "R3_OPERATOR_OFAC_ISSUANCE")}
	case i.nameMatched:
		return []strictjson.Members{warning("operator_sanctions_match", "the operator's legal name is on the sanctions list: every payment will be blocked", "R5_OPERATOR_NAME_OFAC")}
	case i.possible:
		return []strictjson.Members{warning("operator_possible_match", "the operator's legal name resembles a listed one: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	}
	return nil
}

func warning(code, message, rule string) strictjson.Members {
	var m strictjson.Members
	m.Text("code", code)
	m.Text("message", message)
	m.Optional("rule", rule)
	return m
}

// basis is what a registration was judged with.
func (c *call) basis() engine.Basis { return engine.Basis{List: c.edge.settings.ListVersion} }

func clearOrMatch(matched bool) string {
	if matched {
		return "MATCH"
	}
	return "CLEAR"
}
