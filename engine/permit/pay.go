package permit

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"unicode"

	"railguard/engine"
	"railguard/engine/jws"
)

// Pay is the statement of a payment. An empty text stands for a member that was not told.
type Pay struct {
	Amount   engine.USD // The recorded one.
	Asset    string     // CAIP-19; x402 only, as are Units and Nonce.
	Chain    string     // Upper case.
	Nonce    string
	Payee    string   // A canonical wallet.
	PayeeIDs []string // Hashes of how a payee without a wallet was named, see PayeeID; sorted.
	Payer    string   // A canonical wallet.
	Rail     string   // Upper case.
	Ref      string   // The caller's paymentRef.
	Units    string
}

// currency is the one in which all amounts are.
const currency = "USD"

// AppendJSON appends the statement in its canonical form (RFC 8785): texts and one list of texts,
// the names in their order.
func (p *Pay) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"amount":"`...)
	dst = append(engine.AppendUSD(dst, p.Amount), '"')
	dst = appendText(dst, "asset", p.Asset)
	dst = appendText(dst, "chain", p.Chain)
	dst = appendText(dst, "currency", currency)
	dst = appendText(dst, "nonce", p.Nonce)
	dst = appendText(dst, "payee", p.Payee)
	if len(p.PayeeIDs) > 0 {
		dst = append(dst, `,"payeeIds":[`...)
		for i, id := range p.PayeeIDs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jws.AppendQuoted(dst, id)
		}
		dst = append(dst, ']')
	}
	dst = appendText(dst, "payer", p.Payer)
	dst = appendText(dst, "rail", p.Rail)
	dst = appendText(dst, "ref", p.Ref)
	return append(appendText(dst, "units", p.Units), '}')
}

func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	return jws.AppendQuoted(dst, text)
}

// Hash returns the one value that stands for the statement: base64url of SHA-256 of its canonical
// form.
func (p *Pay) Hash() string { return hashOf(p.AppendJSON(nil)) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// PayeeID returns the member of PayeeIDs for a name or an identifier. The payment's id is the salt,
// so that two permits cannot be linked by it; whoever guesses the text can confirm the guess.
// An identifier is given in its normal form, a name as TrimName returns it.
func PayeeID(txnID, kind, value string) string {
	return hashOf([]byte(txnID + "\n" + kind + "\n" + value))
}

// KindName is the kind of a PayeeID that is a name.
const KindName = "name"

// TrimName returns a name without the blanks around it.
func TrimName(name string) string { return strings.TrimFunc(name, unicode.IsSpace) }
