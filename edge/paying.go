package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
)

// Paying is what a reader of a permit is about to let happen, in the words of a permit's statement and
// of a screening call.
type Paying struct {
	request engine.Request
	amount  engine.USD
	asset   string
	units   string
	nonce   string
	ids     []string // Hashes in place of name and identifiers, as a permit has them.
}

// payingTexts are the members that are texts.
var payingTexts = []string{"asset", "chain", "currency", "name", "nonce", "payee", "payer", "rail", "ref", "units"}

// ReadPaying reads the statement of one's own payment. A member that no statement has is refused: it
// is a misspelt one.
func ReadPaying(data []byte) (*Paying, error) {
	document, objection := jws.ReadObject(data)
	if objection != nil {
		return nil, errors.New(strings.TrimPrefix(objection.Error(), jws.ErrMalformed.Error()+": ")) // It is no token.
	}
	p := &Paying{}
	for i := range document.Members {
		if err := p.readMember(document.Members[i].Name, &document.Members[i].Value); err != nil {
			return nil, err
		}
	}
	var raw struct {
		Identifiers json.RawMessage `json:"identifiers"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if document.Member("identifiers") != nil {
		if wrong := p.request.ReadIdentifiers(raw.Identifiers); len(wrong) > 0 {
			return nil, fmt.Errorf("identifiers: %s", wrong[0].Message)
		}
	}
	p.request.Wallet, p.request.Payer, p.request.Name = document.TextOf("payee"), document.TextOf("payer"), document.TextOf("name")
	p.request.Chain, p.request.Rail, p.request.Reference = document.TextOf("chain"), document.TextOf("rail"), document.TextOf("ref")
	p.asset, p.units, p.nonce = document.TextOf("asset"), document.TextOf("units"), document.TextOf("nonce")
	return p, p.check(document)
}

func (p *Paying) readMember(name string, value *jws.Value) (err error) {
	switch {
	case name == "amount" && (value.Kind == '"' || value.Kind == '0'):
		if p.amount, err = engine.ParseUSD(value.Text); err != nil {
			return fmt.Errorf("amount: %w", err)
		}
	case name == "payeeIds" && value.Kind == '[':
		for i := range value.Elements {
			if value.Elements[i].Kind != '"' {
				return errors.New("payeeIds are texts")
			}
			p.ids = append(p.ids, value.Elements[i].Text)
		}
		slices.Sort(p.ids)
	case name == "identifiers":
	case slices.Contains(payingTexts, name) && value.Kind == '"':
	default:
		return fmt.Errorf("%q is no member of a payment's statement, or of another kind", name)
	}
	return nil
}

func (p *Paying) check(document *jws.Value) error {
	named := p.request.Wallet != "" || p.request.Name != "" || p.request.IdentifierCount > 0
	switch {
	case document.Member("amount") == nil:
		return errors.New("amount is missing")
	case document.Member("currency") != nil && document.TextOf("currency") != "USD":
		return errors.New("currency is USD")
	case len(p.ids) > 0 && named:
		return errors.New("payeeIds stand in place of payee, name and identifiers")
	case len(p.ids) == 0 && !named:
		return errors.New("the payee is missing: payee, name, identifiers or payeeIds")
	}
	return nil
}

// Statement returns the statement as the guard would have made it for the payment with an id.
func (p *Paying) Statement(txnID string) *permit.Pay {
	pay := PayOf(&p.request, p.amount, txnID)
	if len(p.ids) > 0 {
		pay.PayeeIDs = p.ids
	}
	pay.Asset, pay.Units, pay.Nonce = p.asset, p.units, p.nonce
	return &pay
}
