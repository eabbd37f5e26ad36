package client

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// PayStatement is what a permit says of the payment that it permits. It has no members but these.
// "" means not told.
type PayStatement struct {
	Amount   string   `json:"amount"`          // Shortest decimal.
	Asset    string   `json:"asset,omitempty"` // CAIP-19, of an x402 payment, as are Units and Nonce.
	Chain    string   `json:"chain,omitempty"` // Upper case, as is Rail.
	Currency string   `json:"currency"`        // USD.
	Nonce    string   `json:"nonce,omitempty"`
	Payee    string   `json:"payee,omitempty"`    // Canonical wallet, as is Payer.
	PayeeIDs []string `json:"payeeIds,omitempty"` // In place of a wallet: sorted hashes of name and identifiers.
	Payer    string   `json:"payer,omitempty"`
	Rail     string   `json:"rail,omitempty"`
	Ref      string   `json:"ref,omitempty"` // The request's paymentRef.
	Units    string   `json:"units,omitempty"`
}

// Paying is what one is about to pay, in the words of the screening request. A payee is required:
// a wallet, or else a name or identifiers. What was not told when the payment was screened must
// not be told here, and the other way round.
type Paying struct {
	Amount      USD          `json:"amount"`
	Chain       string       `json:"chain,omitempty"`
	Rail        string       `json:"rail,omitempty"`
	Payee       string       `json:"payee,omitempty"` // Wallet; with it Name and Identifiers do not count.
	Payer       string       `json:"payer,omitempty"` // Wallet.
	Name        string       `json:"name,omitempty"`  // Of the payee.
	Identifiers []Identifier `json:"identifiers,omitempty"`
	Ref         string       `json:"ref,omitempty"`   // paymentRef.
	Asset       string       `json:"asset,omitempty"` // x402: the token (CAIP-19), its smallest units, and the authorization's nonce.
	Units       string       `json:"units,omitempty"`
	Nonce       string       `json:"nonce,omitempty"`
}

var (
	errNoPayee  = errors.New("railguard: a payment without a payee: it would be any payee's")
	evmWallet   = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)
	hexText     = regexp.MustCompile(`^0[xX][0-9a-fA-F]+$`)
	unitsNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
)

// Statement builds the statement of the payment. jti is that of the permit, the payment's txnId: it
// salts the hashes of name and identifiers.
func (p *Paying) Statement(jti string) (*PayStatement, error) {
	if p.Amount < 0 || p.Amount > usdMax {
		return nil, errAmount
	}
	if p.Units != "" && !unitsNumber.MatchString(p.Units) {
		return nil, errors.New("railguard: units are a whole number")
	}
	pay := &PayStatement{
		Amount: p.Amount.String(), Currency: "USD", Chain: upper(p.Chain), Rail: upper(p.Rail), Payee: canonicalWallet(p.Payee),
		Payer: canonicalWallet(p.Payer), Ref: p.Ref, Asset: p.Asset, Units: p.Units, Nonce: p.Nonce,
	}
	if strings.HasPrefix(p.Asset, "eip155:") {
		pay.Asset = lower(p.Asset)
	}
	if hexText.MatchString(p.Nonce) {
		pay.Nonce = lower(p.Nonce)
	}
	if pay.Payee != "" {
		return pay, nil
	}
	if name := payeeName(p.Name); name != "" {
		pay.PayeeIDs = append(pay.PayeeIDs, payeeID(jti, "name", name))
	}
	for i := range p.Identifiers {
		form, err := identifierForm(p.Identifiers[i].Type, p.Identifiers[i].Value)
		if err != nil {
			return nil, fmt.Errorf("railguard: identifier %d: %w", i, err)
		}
		pay.PayeeIDs = append(pay.PayeeIDs, payeeID(jti, p.Identifiers[i].Type, form))
	}
	if pay.PayeeIDs == nil {
		return nil, errNoPayee
	}
	slices.Sort(pay.PayeeIDs)
	return pay, nil
}

func payeeID(jti, kind, value string) string {
	sum := sha256.Sum256([]byte(jti + "\n" + kind + "\n" + value))
	return tokenBase64.EncodeToString(sum[:])
}

// canonicalWallet writes addresses of EVM chains and in bech32 in lower case. Addresses in base58
// stay as they are.
func canonicalWallet(text string) string {
	if evmWallet.MatchString(text) || strings.HasPrefix(text, "BC1") {
		return lower(text)
	}
	return text
}

// PayHash returns the value that binds a payment: b64url(SHA-256(JCS(pay))).
func PayHash(pay *PayStatement) string {
	members := map[string]any{}
	for name, text := range map[string]string{
		"amount": pay.Amount, "asset": pay.Asset, "chain": pay.Chain, "currency": pay.Currency, "nonce": pay.Nonce, "payee": pay.Payee,
		"payer": pay.Payer, "rail": pay.Rail, "ref": pay.Ref, "units": pay.Units,
	} {
		if text != "" {
			members[name] = text
		}
	}
	if len(pay.PayeeIDs) > 0 {
		list := make([]any, len(pay.PayeeIDs))
		for i, id := range pay.PayeeIDs {
			list[i] = id
		}
		members["payeeIds"] = list
	}
	hash, _ := hashOfMembers(members)
	return hash
}

// payMembers are the members that a statement can have, sorted.
var payMembers = []string{"amount", "asset", "chain", "currency", "nonce", "payee", "payeeIds", "payer", "rail", "ref", "units"}

// hashOfMembers hashes a statement's canonical form (RFC 8785). ok is false if it has another
// member, or one of another kind.
func hashOfMembers(members map[string]any) (hash string, ok bool) {
	text, found := []byte{'{'}, 0
	for _, name := range payMembers {
		value, told := members[name]
		if !told {
			continue
		}
		if found++; found > 1 {
			text = append(text, ',')
		}
		text = append(appendQuoted(text, name), ':')
		switch value := value.(type) {
		case string:
			if name == "payeeIds" {
				return "", false
			}
			text = appendQuoted(text, value)
		case []any:
			if name != "payeeIds" {
				return "", false
			}
			text = append(text, '[')
			for i, id := range value {
				one, isText := id.(string)
				if !isText {
					return "", false
				}
				if i > 0 {
					text = append(text, ',')
				}
				text = appendQuoted(text, one)
			}
			text = append(text, ']')
		default:
			return "", false
		}
	}
	if found == 0 || found != len(members) {
		return "", false
	}
	sum := sha256.Sum256(append(text, '}'))
	return tokenBase64.EncodeToString(sum[:]), true
}

// appendQuoted appends a text as RFC 8785 writes it: it escapes what JSON demands and nothing else.
// encoding/json escapes U+2028 and U+2029 too.
func appendQuoted(dst []byte, text string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(text) {
		c := text[i]
		switch at := strings.IndexByte("\b\t\n\f\r", c); {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case at >= 0:
			dst = append(dst, '\\', "btnfr"[at])
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xF])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
