package x402

// This file reads what the payer of an EVM network signed. The facilitator behind compares signatures
// and times with the chain; what is compared here is who pays whom what, so that nothing else is paid
// than what was judged.

// The ways in which an authorization moves tokens, as extra.assetTransferMethod names them. What moves
// them otherwise (a delegation of ERC-7710, for example) is not one payment that can be read.
const (
	byAuthorization = "eip3009" // The token takes the payer's authorization itself. It is meant where nothing is said.
	byPermit2       = "permit2" // The contract Permit2 lets the proxy move them.
)

// permit2Proxy is the contract that spends by Permit2 for the scheme exact, as the protocol publishes
// it: it pays the one whom the payer signed, and nobody else. It is the same on all networks.
const permit2Proxy = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"

var (
	signedMembers     = []string{"signature", "authorization"}
	authorizedMembers = []string{"from", "to", "value", "validAfter", "validBefore", "nonce"}

	signedPermitMembers = []string{"signature", "permit2Authorization"}
	permit2Members      = []string{"from", "permitted", "spender", "nonce", "deadline", "witness"}
	permittedMembers    = []string{"token", "amount"}
	witnessMembers      = []string{"to", "validAfter"}
)

// transferMethod returns how terms have the tokens moved; "": in a way that is not screened.
func transferMethod(terms object) string {
	method, there := terms.object("extra")["assetTransferMethod"]
	switch {
	case !there || method == byAuthorization:
		return byAuthorization
	case method == byPermit2:
		return byPermit2
	}
	return ""
}

// mayBeMoved tells whether the tokens move in one way that is screened, by what is wanted and by what
// was accepted.
func (p *payment) mayBeMoved(version int, wanted, accepted object) bool {
	p.method = transferMethod(wanted)
	return p.method == transferMethod(accepted) && (p.method == byAuthorization || p.method == byPermit2 && version == 2 && p.asset.evm())
}

// readAuthorization reads an authorization that the token takes.
func (p *payment) readAuthorization(payload object) *invalid {
	signed := payload.object("authorization")
	p.payer, p.nonce = signed.text("from"), signed.text("nonce")
	switch {
	case !isHexadecimal(p.payer, 40) || !isHexadecimal(p.nonce, 64):
		return &invalid{"invalid_payload", "payload.authorization must have from (an address) and nonce (32 bytes)"}
	case !p.asset.sameAddress(signed.text("to"), p.payee):
		return &invalid{"invalid_exact_evm_payload_recipient_mismatch", "authorization.to is not payTo"}
	case signed.text("value") != p.units:
		return &invalid{"invalid_exact_evm_payload_authorization_value", "authorization.value is not the amount"}
	}
	if bad := payload.refuseOthers("payload", signedMembers); bad != nil {
		return bad
	}
	return signed.refuseOthers("payload.authorization", authorizedMembers)
}

// readPermit2 reads an authorization that the contract Permit2 takes. Its nonce is a number, which is
// the payer's own in all tokens.
func (p *payment) readPermit2(payload object) *invalid {
	signed := payload.object("permit2Authorization")
	permitted, witness := signed.object("permitted"), signed.object("witness")
	p.payer, p.nonce = signed.text("from"), signed.text("nonce")
	switch {
	case !isHexadecimal(p.payer, 40) || !isDecimal(p.nonce):
		return &invalid{"invalid_payload", "payload.permit2Authorization must have from (an address) and nonce (a whole number, as a string)"}
	case !isDecimal(signed.text("deadline")) || !isDecimal(witness.text("validAfter")):
		return &invalid{"invalid_payload", "payload.permit2Authorization must have deadline and witness.validAfter, as strings of digits"}
	case !p.asset.sameAddress(signed.text("spender"), permit2Proxy):
		return &invalid{"invalid_permit2_spender", "permit2Authorization.spender is not the contract of the scheme exact"}
	case !p.asset.sameAddress(witness.text("to"), p.payee):
		return &invalid{"invalid_permit2_recipient_mismatch", "permit2Authorization.witness.to is not payTo"}
	case !p.asset.sameAddress(permitted.text("token"), p.asset.Address):
		return &invalid{"permit2_token_mismatch", "permit2Authorization.permitted.token is not the asset"}
	case permitted.text("amount") != p.units:
		return &invalid{"permit2_amount_mismatch", "permit2Authorization.permitted.amount is not the amount"}
	}
	for _, part := range []struct {
		where string
		of    object
		known []string
	}{
		{"payload", payload, signedPermitMembers}, {"payload.permit2Authorization", signed, permit2Members},
		{"payload.permit2Authorization.permitted", permitted, permittedMembers}, {"payload.permit2Authorization.witness", witness, witnessMembers},
	} {
		if bad := part.of.refuseOthers(part.where, part.known); bad != nil {
			return bad
		}
	}
	return nil
}
