package x402

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"railguard/engine"
	"railguard/engine/possession"
)

// payment is a payment as verify and settle receive it.
type payment struct {
	network string // As it was written: CAIP-2, or a name of version 1.
	asset   *Asset
	method  string   // How the tokens move.
	units   string   // Amount in atomic units.
	payer   string   // "": the transaction does not say who pays.
	signers []string // Further wallets that pay, or sign.
	payee   string
	nonce   string // What no two payments share: the nonce of the authorization, or the hash of the payload.

	token, userToken string // Credentials of agent and user.
	proof            string // Proof of the agent's key; "": none. It is for accepted and payload, whose hash is proves.
	proves           [32]byte
	travelRule       string // Id that the payer gave the payment.
	resource         string // URL of what is paid for.
	description      string // What is paid for, in words.
	note             string // Text that a transaction carries.
	mentioned        string // Wallets in texts of the body, each behind a blank.
	lasts            time.Duration
	review           string // The review whose leave it is to take (txnId); "": any.
	permit           bool   // The caller wants a permit for the resource's origin.

	hash    string // Hash of the body as it was received.
	forward []byte // The body for the facilitator behind, see forward.go.
}

// invalid says, in words of the protocol, why a body is no payment that can be judged.
type invalid struct{ reason, message string }

func (i *invalid) Error() string { return i.reason + ": " + i.message }

const (
	lastsMax   = 7*24*time.Hour - holdBeyond // Longest maxTimeoutSeconds; a hold is never longer than a week.
	unitsMax   = 78                          // Digits of 2 to the power of 256.
	textMax    = 256
	tokenMax   = 16 << 10 // The API refuses a longer one.
	extension  = "railguard"
	identifier = "payment-identifier"
)

// readPayment reads a body. header is the agent's credential if the caller sends it in a header
// beside the payment.
func readPayment(body []byte, assets []Asset, header string) (*payment, error) {
	top, err := readObject(body)
	if err == errTwice || err == errLarge {
		return nil, &invalid{"invalid_payload", err.Error()}
	}
	if err != nil {
		return nil, err
	}
	payload, wanted := top.object("paymentPayload"), top.object("paymentRequirements")
	version := top.wholeNumber("x402Version")
	switch {
	case version != 1 && version != 2:
		return nil, &invalid{"invalid_x402_version", "x402Version must be 1 or 2"}
	case payload == nil || payload.wholeNumber("x402Version") != version:
		return nil, &invalid{"invalid_payload", "paymentPayload must be an object of the same x402Version"}
	case wanted == nil:
		return nil, &invalid{"invalid_payment_requirements", "paymentRequirements must be an object"}
	}
	sum := sha256.Sum256(body)
	p := &payment{
		network: wanted.text("network"), payee: wanted.text("payTo"), units: wanted.text("amount"), hash: hex.EncodeToString(sum[:]),
		lasts: time.Duration(wanted.wholeNumber("maxTimeoutSeconds")) * time.Second,
	}
	accepted := payload.object("accepted")
	if version == 1 {
		p.units, accepted = wanted.text("maxAmountRequired"), payload
	}
	if bad := p.readTerms(version, wanted, accepted, assets); bad != nil {
		return nil, bad
	}
	if bad := p.readPayload(payload.object("payload")); bad != nil {
		return nil, bad
	}
	if bad := p.readExtensions(payload, header); bad != nil {
		return nil, bad
	}
	if bad := p.readProof(payload); bad != nil {
		return nil, bad
	}
	p.readResource(version, payload, wanted)
	if bad := p.readMentioned(top, payload, wanted); bad != nil {
		return nil, bad
	}
	p.forward = encodeForward(top, payload, wanted)
	return p, nil
}

// readTerms reads what is wanted for the resource, and compares what was accepted.
func (p *payment) readTerms(version int, wanted, accepted object, assets []Asset) *invalid {
	network := networkID(version, p.network)
	p.asset = findAsset(assets, network, wanted.text("asset"))
	same := []string{"scheme", "network"}
	if version == 2 {
		same = append(same, "asset", "amount", "payTo")
	}
	for _, name := range same {
		if accepted.text(name) != wanted.text(name) {
			return &invalid{"invalid_payload", "what the payer accepted differs in " + name}
		}
	}
	switch {
	case wanted.text("scheme") != "exact":
		return &invalid{"unsupported_scheme", "only the scheme exact is screened"}
	case network == "":
		return &invalid{"invalid_network", "the network is not known"}
	case p.asset == nil:
		return &invalid{"invalid_payment_requirements", "the asset is not one whose worth is known here"}
	case !isDecimal(p.units):
		return &invalid{"invalid_payment_requirements", "the amount must be a whole number of atomic units, as a string"}
	case p.payee == "" || len(p.payee) > textMax || p.asset.evm() && !isHexadecimal(p.payee, 40):
		return &invalid{"invalid_payment_requirements", "payTo is no address of the network"}
	case !p.mayBeMoved(version, wanted, accepted):
		return &invalid{"invalid_payment_requirements", "extra.assetTransferMethod must be " + byAuthorization + " or, on EVM networks and in version 2, " + byPermit2 + ", and as it was accepted"}
	case p.lasts < 0 || p.lasts > lastsMax:
		return &invalid{"invalid_payment_requirements", "maxTimeoutSeconds must be a whole number, within a week"}
	}
	return nil
}

func isDecimal(text string) bool {
	return text != "" && len(text) <= unitsMax && strings.Trim(text, "0123456789") == "" && (text[0] != '0' || text == "0")
}

// readPayload reads what the payer signed: an authorization, whose members are compared with the
// terms; or a transaction of the chain, of which it reads who pays. The facilitator behind compares
// the rest with the terms. The hash of a transaction serves as the payment's nonce.
func (p *payment) readPayload(payload object) *invalid {
	if payload == nil {
		return &invalid{"invalid_payload", "payload must be an object"}
	}
	if !p.asset.evm() {
		if payload.text("transaction") == "" {
			return &invalid{"invalid_payload", "payload.transaction must be a string"}
		}
		if bad := payload.refuseOthers("payload", []string{"transaction"}); bad != nil {
			return bad
		}
		sum := sha256.Sum256(payload.encodeObject())
		p.nonce = hex.EncodeToString(sum[:])
		if payers, note := readPayers(payload.text("transaction")); payers != nil {
			p.payer, p.signers, p.note = payers[0], payers[1:], note
		}
		return nil
	}
	if p.method == byPermit2 {
		return p.readPermit2(payload)
	}
	return p.readAuthorization(payload)
}

// readExtensions reads the payer's credentials and the payment's id.
func (p *payment) readExtensions(payload object, header string) *invalid {
	extensions := payload.object("extensions")
	info := extensions.object(extension).object("info")
	p.token, p.userToken = info.text("token"), info.text("userToken")
	switch {
	case p.token == "":
		p.token = header
	case header != "" && header != p.token:
		return &invalid{"invalid_payload", "X-Railguard-Token and the payment's extension name two credentials"}
	}
	p.permit, _ = info["permit"].(bool)
	if p.review = info.text("txnId"); len(p.review) > textMax {
		return &invalid{"invalid_payload", "the txnId is too long"}
	}
	if len(p.token) > tokenMax || len(p.userToken) > tokenMax {
		return &invalid{"invalid_payload", "the credential is too long"}
	}
	if p.travelRule = extensions.object(identifier).object("info").text("id"); len(p.travelRule) > textMax {
		return &invalid{"invalid_payload", "the payment-identifier is too long"}
	}
	return nil
}

// readProof reads the payer's proof of its agent's key. The payment's own nonce makes it good once.
func (p *payment) readProof(payload object) *invalid {
	p.proof = payload.object("extensions").object(extension).object("info").text(possession.ProofMember)
	if p.proof == "" {
		return nil
	}
	if len(p.proof) > possession.BytesMax {
		return &invalid{"invalid_payload", "the proof is too long"}
	}
	var err error
	signed := payload.selectMembers([]string{"accepted", "payload"})
	if p.proves, err = new(possession.Canonicaliser).RequestHash(signed.encodeObject(), engine.JSONDepthMax); err != nil {
		return &invalid{"invalid_payload", "accepted and payload have no canonical form (RFC 8785): numbers have at most 15 significant digits"}
	}
	return nil
}

// assetID is the token as CAIP-19 names it.
func (a *Asset) assetID() string {
	if a.evm() {
		return a.Network + "/erc20:" + strings.ToLower(a.Address)
	}
	return a.Network + "/token:" + a.Address
}

// nonceID is the nonce in the one way of writing it.
func (p *payment) nonceID() string {
	if p.asset.evm() {
		return strings.ToLower(p.nonce)
	}
	return p.nonce
}

// bindingHash returns the hash of everything that identifies this payment. One hold belongs to it.
func (p *payment) bindingHash() string {
	payee := p.payee
	if p.asset.evm() {
		payee = strings.ToLower(payee)
	}
	return hashParts("railguard x402 payment", p.signedHash(), payee, p.units, p.token, p.userToken)
}

// signedHash returns the hash of what makes a signed payment the only one of its kind: no chain makes
// two payments of one payer, token and nonce. One settlement belongs to it, whoever asks for it with
// whatever credential.
func (p *payment) signedHash() string {
	payer, asset := p.payer, p.asset.Address
	if p.asset.evm() {
		payer, asset = strings.ToLower(payer), strings.ToLower(asset)
	}
	return hashParts("railguard x402 signed", p.asset.Network, asset, payer, p.nonceID())
}

func hashParts(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// holdReference and settleReference are the payment references of the payment's hold
// and of its settlement.
func (p *payment) holdReference() string   { return "x402:payment:" + p.bindingHash() }
func (p *payment) settleReference() string { return "x402:settlement:" + p.signedHash() }
