package edge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"railguard/engine"
	"railguard/engine/credential"
	"railguard/engine/possession"
	"railguard/fsm"
	"railguard/ofac"
	"railguard/seal"
	"railguard/strictjson"
)

// A credential is issued in three steps: the edge screens the operator, the log assigns slot,
// time and key, and the token is made from the resulting leaf. The signature is deterministic, so
// a credential is a pure function of what was registered. It is never stored.

const contextPath = "/contexts/kya/v1"

// newCredential returns a credential with the parts that all credentials of the cluster share.
func (t *Terms) newCredential(kind credential.Kind) *credential.Credential {
	genesis := t.Settings.Genesis
	return &credential.Credential{
		Kind: kind, Issuer: genesis.Issuer, ContextURL: strings.TrimSuffix(genesis.PublicURL, "/") + contextPath,
	}
}

// statusPath stands in the URL before the number of a status list.
const statusPath = "/status-lists/"

// statusListMost is an upper bound of status list numbers, for the last epoch and the last
// position.
const statusListMost = 197_016_384

// StatusURL returns the address of a status list. The list's own token names it too.
func (t *Terms) StatusURL(list uint64) string {
	return strings.TrimSuffix(t.Settings.Genesis.PublicURL, "/") + statusPath + strconv.FormatUint(list, 10)
}

// publishedAt sets where the credential's status is published, as its leaf records it.
func (t *Terms) publishedAt(s *credential.Credential, l *Leaf) *credential.Credential {
	if list := l.Number("statusList"); list != 0 {
		s.StatusURL, s.StatusIndex = t.StatusURL(list), uint32(l.Number("statusIndex"))
	}
	return s
}

// publishedUnder sets where the credential's status is published, from the position that the
// registry has.
func (t *Terms) publishedUnder(s *credential.Credential, position uint32) *credential.Credential {
	list, index := t.IDs.StatusEntry(position)
	s.StatusURL, s.StatusIndex = t.StatusURL(list), index
	return s
}

// AgentCredential returns an agent's credential from its leaf: a registration, a delegate's
// creation or a re-issue.
func (t *Terms) AgentCredential(l *Leaf) *credential.Credential {
	s := t.newCredential(credential.KindAgent)
	s.ID, s.Subject, s.IssuedAt, s.ExpiresAt = l.Text("credentialId"), l.Text("agentId"), l.Instant("issuedAt"), l.Instant("expiresAt")
	s.Name, s.AgentType, s.OperatorLegalName = l.Text("agentName"), l.Text("agentType"), l.Text("operatorLegalName")
	s.SpendPolicy, s.ScreenedAt = l.Raw("spendPolicy"), s.IssuedAt
	if raw := l.Raw("publicKey"); len(raw) > 0 && string(raw) != "null" {
		s.Key = recordedKey(raw)
	}
	s.Matched = l.Flag("walletMatched") || l.Flag("nameMatched") || l.Flag("taxMatched")
	if l.Has("parentAgentId") {
		s.Kind, s.ParentID, s.RootID, s.Depth = credential.KindDelegate, l.Text("parentAgentId"), l.Text("rootAgentId"), int(l.Number("depth"))
		s.Chain = l.Texts("chain")
	}
	return t.publishedAt(s, l)
}

// recordedKey returns the agent's key from the leaf that registered it.
func recordedKey(document []byte) *possession.Key {
	key, err := possession.ReadJWK(document)
	if err != nil {
		panic("BUG: the key of a leaf: " + err.Error())
	}
	return key
}

// ProfileCredential returns an agent's current credential from the registry.
func (t *Terms) ProfileCredential(chain []*engine.AgentProfile) *credential.Credential {
	p := chain[0]
	s := t.newCredential(credential.KindAgent)
	s.ID, s.Subject = t.IDs.CredentialID(kindAgent, uint32(p.Slot), p.Epochs.EpochOf(p.CredentialVersion), p.CredentialVersion), t.AgentID(p.Slot)
	s.IssuedAt, s.ExpiresAt, s.ScreenedAt = wholeMilli(p.IssuedAt), p.ExpiresAt, wholeMilli(p.IssuedAt)
	s.Name, s.AgentType, s.OperatorLegalName = p.AgentName, p.Type.String(), p.OperatorLegalName
	s.Key = keyOf(p.PublicKey)
	s.SpendPolicy, s.Matched = p.PolicyJSON, p.WalletMatched || p.NameMatched || p.TaxMatched
	if p.Parent != 0 {
		s.Kind, s.ParentID, s.RootID, s.Depth = credential.KindDelegate, t.AgentID(p.Parent), t.AgentID(p.Root), int(p.Depth)
		s.Chain = t.AncestorIDs(chain)
	}
	return t.publishedUnder(s, p.Status)
}

// wholeMilli rounds a time down to the millisecond, as leaves do.
func wholeMilli(t engine.Time) engine.Time { return t / engine.Millisecond * engine.Millisecond }

// AncestorIDs returns the ids of a delegate's ancestors, root first.
func (t *Terms) AncestorIDs(chain []*engine.AgentProfile) []string {
	ids := make([]string, 0, len(chain))
	for i := len(chain) - 1; i > 0; i-- {
		ids = append(ids, t.AgentID(chain[i].Slot))
	}
	return ids
}

// UserCredential returns a user's credential from its leaf.
func (t *Terms) UserCredential(l *Leaf) *credential.Credential {
	s := t.newCredential(credential.KindUser)
	s.ID, s.Subject, s.IssuedAt, s.ExpiresAt = l.Text("credentialId"), l.Text("userId"), l.Instant("issuedAt"), l.Instant("expiresAt")
	s.Name, s.AgentType, s.OperatorLegalName = l.Text("legalName"), engine.Supervised.String(), l.Text("operatorLegalName")
	s.Agents, s.Matched, s.ScreenedAt = l.Texts("boundAgents"), l.Flag("nameMatched"), s.IssuedAt
	return t.publishedAt(s, l)
}

// ProfileUserCredential returns a user's current credential from the registry.
func (t *Terms) ProfileUserCredential(p *engine.UserProfile) *credential.Credential {
	s := t.newCredential(credential.KindUser)
	s.ID, s.Subject = t.IDs.CredentialID(kindUser, uint32(p.Slot), p.Epochs.EpochOf(p.CredentialVersion), p.CredentialVersion), t.UserID(p.Slot)
	s.IssuedAt, s.ExpiresAt, s.ScreenedAt = wholeMilli(p.IssuedAt), p.ExpiresAt, wholeMilli(p.IssuedAt)
	s.Name, s.AgentType, s.OperatorLegalName = p.LegalName, engine.Supervised.String(), p.OperatorLegalName
	s.Agents, s.Matched = t.AgentIDs(p.Agents), p.NameMatched
	return t.publishedUnder(s, p.Status)
}

// AgentIDs returns the ids of slots.
func (t *Terms) AgentIDs(slots []engine.AgentSlot) []string {
	ids := make([]string, len(slots))
	for i, slot := range slots {
		ids[i] = t.AgentID(slot)
	}
	return ids
}

// WriteCredential adds token and credential to an answer. The credential has exactly the bytes
// of the token's vc. If the token's key has been revoked since, the token is null: it would
// never be accepted.
func (t *Terms) WriteCredential(m *strictjson.Members, s *credential.Credential, kid string) error {
	if t.Settings.KeyRevoked(kid) {
		m.Null("token")
		m.Raw("credential", s.AppendJSON(nil))
		return nil
	}
	key, err := t.Signer(kid)
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

// canSign checks, before anything is in the log, that this node can mint the token. It refuses
// the registration otherwise.
func (j *Judge) canSign(s *credential.Credential) error {
	now := j.shared.deps.Published.LogTime()
	key := j.Terms.Settings.ActiveKey(now)
	if key == nil {
		return Refuse("overloaded", "no signing key of the cluster is active")
	}
	if _, err := j.Terms.Signer(key.KID); err != nil {
		j.shared.deps.Logger.Error("cannot sign", "error", err)
		return Refuse("overloaded", "this node cannot unseal the signing key")
	}
	trial := *s // The log will assign the real ids and times. They have the same length as these.
	trial.StatusURL, trial.StatusIndex = j.Terms.StatusURL(statusListMost), fsm.StatusListSize-1
	trial.ID, trial.Subject = j.Terms.IDs.CredentialID(kindAgent, 1, 0, 1), j.Terms.AgentID(1)
	if trial.Kind == credential.KindUser {
		trial.Subject = j.Terms.UserID(1)
	}
	trial.IssuedAt, trial.ExpiresAt, trial.ScreenedAt = now, now, now
	if trial.Kind == credential.KindDelegate {
		trial.ParentID, trial.RootID, trial.Depth = trial.Subject, trial.Subject, engine.DepthMax
		trial.Chain = []string{trial.Subject, trial.Subject, trial.Subject}
	}
	switch err := trial.Check(); {
	case errors.Is(err, credential.ErrTooLarge):
		return &Refusal{Code: "invalid_field", Param: "spendPolicy",
			Message: "names and spendPolicy are together larger than a token may be (8 KiB)",
		}
	case err != nil:
		return &Refusal{Code: "invalid_field", Param: "spendPolicy",
			Message: "the credential's content cannot be signed",
		}
	}
	return nil
}

// issuance holds what the list says of a party when its credential is issued.
type issuance struct {
	walletMatched bool
	taxMatched    bool // R5, of the operator's tax number.
	NameMatched   bool // A certain match: R5.
	possible      bool // A possible match: R21.
	notCompared   bool // A part of the name could not be compared: R21.
	Evidence      []strictjson.Members
}

var scratches = sync.Pool{New: func() any { return ofac.NewScratch() }}

// ScreenParty looks a party up in the active list, as R3 to R5 do.
func (j *Judge) ScreenParty(party, wallet, name string, kind ofac.PartyType) (issuance, error) {
	list, err := j.ActiveList()
	if err != nil {
		return issuance{}, err
	}
	var found issuance
	if wallet != "" {
		if match, listed := list.WalletAt(wallet, int64(j.LogTime())); listed {
			found.walletMatched = found.walletMatched || match.Twin.Sure() && match.Lists.IsOFAC() // R3 is about OFAC's list; others are asked with each payment.
			found.Evidence = append(found.Evidence, walletEvidence(party, &match, list))
		}
	}
	policy := j.Terms.Policy()
	asked := ofac.Query{Name: name, Type: kind, Review: policy.NameReview, Block: policy.NameBlock, WeakAliases: policy.WeakAliases, Now: int64(j.LogTime())}
	err = j.screenAlone(list, &asked, func(result ofac.Result) {
		found.NameMatched, found.possible = result.Outcome == ofac.Listed, result.Outcome == ofac.Possible
		found.notCompared = result.NotCompared(name) != ""
		for i := range result.Matches {
			found.Evidence = append(found.Evidence, nameEvidence(party, &result.Matches[i], list))
		}
	})
	return found, err
}

// screenOperator looks an operator up in the active list: its wallet, its legal name and its tax
// number. A number that this node cannot open is an error, because nobody could say that it is not
// listed.
func (j *Judge) screenOperator(p *engine.AgentProfile) (issuance, error) {
	found, err := j.ScreenParty("operator", p.OperatorWallet, p.OperatorLegalName, ofac.PartyUnknown)
	if err != nil {
		return found, err
	}
	match, listed, err := j.listedTax(p.EINSealed)
	if err != nil || !listed {
		return found, err
	}
	list, err := j.ActiveList()
	found.taxMatched = true
	found.Evidence = append(found.Evidence, taxEvidence(&match, list))
	return found, err
}

// listedTax looks a sealed tax number up in the active list.
func (j *Judge) listedTax(sealed []byte) (match ofac.TaxMatch, listed bool, err error) {
	if len(sealed) == 0 {
		return match, false, nil
	}
	list, err := j.ActiveList()
	if err != nil {
		return match, false, err
	}
	digits, err := j.openEIN(sealed)
	if err != nil {
		return match, false, err
	}
	match, listed = list.TaxNumber(digits)
	return match, listed, nil
}

// openEIN opens a sealed tax number.
func (j *Judge) openEIN(sealed []byte) (string, error) {
	digits, err := j.shared.deps.Secrets.Open(seal.LabelEIN, sealed)
	if err != nil {
		return "", fmt.Errorf("the operator's tax number cannot be opened: %w", err)
	}
	return string(digits), nil
}

// taxEvidence names the listed party, and not the number, which is masked wherever it is shown.
func taxEvidence(match *ofac.TaxMatch, list *ofac.Index) strictjson.Members {
	var m strictjson.Members
	m.Text("party", "operator")
	m.Text("list", list.NameOf(match.Lists))
	m.Text("uid", strconv.FormatUint(uint64(match.UID), 10))
	if entry, ok := list.Entry(match.UID); ok {
		m.Text("name", entry.Primary)
		m.Texts("programs", entry.Programs)
	}
	m.Text("document", match.Label)
	m.Text("outcome", ofac.Listed.String())
	return m
}

func (i *issuance) matched() bool { return i.walletMatched || i.NameMatched || i.taxMatched }

// refusedBy returns a refusal if the policy refuses to register a party that matches.
func (i *issuance) refusedBy(policy *engine.Policy) *Refusal {
	if !i.matched() || !policy.RefuseOnMatch {
		return nil
	}
	refused := Refuse("operator_sanctioned", "the operator matches the sanctions list and this institution refuses such registrations")
	refused.Changeable = true
	return refused
}

// writeFindings adds the findings to a fragment.
func (i *issuance) writeFindings(m *strictjson.Members, settings uint64) {
	m.Text("ofacAtIssuance", clearOrMatch(i.matched()))
	m.Uint("listVersion", settings)
	if len(i.Evidence) > 0 {
		m.List("matches", i.Evidence)
	}
}

// Warnings returns the warnings that follow from the list's matches.
func (i *issuance) Warnings() []strictjson.Members {
	switch {
	case i.walletMatched:
		return []strictjson.Members{makeWarning("operator_sanctions_match", "the operator's wallet is on the sanctions list: every payment will be blocked", "R3_OPERATOR_OFAC_ISSUANCE")}
	case i.NameMatched:
		return []strictjson.Members{makeWarning("operator_sanctions_match", "the operator's legal name is on the sanctions list: every payment will be blocked", "R5_OPERATOR_NAME_OFAC")}
	case i.taxMatched:
		return []strictjson.Members{makeWarning("operator_sanctions_match", "the operator's tax number is on the sanctions list: every payment will be blocked", "R5_OPERATOR_NAME_OFAC")}
	case i.possible:
		return []strictjson.Members{makeWarning("operator_possible_match", "the operator's legal name resembles a listed one: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	case i.notCompared:
		return []strictjson.Members{makeWarning("operator_not_compared", "a part of the operator's legal name cannot be compared with the list: payments will be reviewed", "R21_POSSIBLE_NAME_MATCH")}
	}
	return nil
}

func makeWarning(code, message, rule string) strictjson.Members {
	var m strictjson.Members
	m.Text("code", code)
	m.Text("message", message)
	m.Optional("rule", rule)
	return m
}

// basis returns the versions that a registration was judged with.
func (t *Terms) basis() engine.Basis { return engine.Basis{List: t.Settings.ListVersion} }

func clearOrMatch(matched bool) string {
	if matched {
		return "MATCH"
	}
	return "CLEAR"
}
