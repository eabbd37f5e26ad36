package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"railguard/edge"
	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
)

// paying is what a reader of a permit is about to let happen, in the words of a screening call.
type paying struct {
	request engine.Request
	amount  engine.USD
	asset   string
	units   string
	nonce   string
	ids     []string // Hashes in place of name and identifiers, as a permit has them.
}

// payingTexts are the members of --pay that are texts.
var payingTexts = []string{"asset", "chain", "currency", "name", "nonce", "payee", "payer", "rail", "ref", "units"}

// readPaying reads the statement of one's own payment. A member that no statement has is refused: it
// is a misspelt one.
func readPaying(path string) (*paying, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	document, err := readObject(data)
	if err != nil {
		return nil, err
	}
	p := &paying{}
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

func (p *paying) readMember(name string, value *jws.Value) (err error) {
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

func (p *paying) check(document *jws.Value) error {
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

// statement returns the statement as the guard would have made it for the payment with an id.
func (p *paying) statement(txnID string) *permit.Pay {
	pay := edge.PayOf(&p.request, p.amount, txnID)
	if len(p.ids) > 0 {
		pay.PayeeIDs = p.ids
	}
	pay.Asset, pay.Units, pay.Nonce = p.asset, p.units, p.nonce
	return &pay
}
