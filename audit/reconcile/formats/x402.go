package formats

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"railguard/strictjson"
)

// firstNetworks are what version 1 of x402 calls networks.
var firstNetworks = map[string]string{
	"ethereum": "eip155:1", "sepolia": "eip155:11155111", "base": "eip155:8453", "base-sepolia": "eip155:84532",
	"polygon": "eip155:137", "polygon-amoy": "eip155:80002", "avalanche": "eip155:43114", "avalanche-fuji": "eip155:43113",
	"solana": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana-devnet": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
}

// readFacilitator reads the log of an x402 facilitator: each settle with its answer. What was not
// successful moved nothing.
func (r *Reader) readFacilitator(file io.Reader) error {
	return r.eachObject(file, func(f *strictjson.Fields) error {
		at := f.Text("time", logBytesMax)
		response, answered := f.Nested("response")
		if !answered {
			return errors.New("it has no response")
		}
		success, said := response.Flag("success")
		if err := f.Err(); err != nil {
			return err
		}
		if !said {
			return errors.New("response.success is required")
		}
		if !success {
			return nil
		}
		m, err := r.readSettle(f, &response)
		if err != nil || m == nil {
			return err
		}
		if _, timed := strictjson.ParseTime(at); !timed {
			return errors.New("time must be a time of RFC 3339")
		}
		m.time = at
		return r.tell(m)
	})
}

// readSettle reads a successful settle; nil: its token counts as nothing.
func (r *Reader) readSettle(f, response *strictjson.Fields) (*moved, error) {
	request, _ := f.Nested("request")
	terms, _ := request.Nested("paymentRequirements")
	payment, _ := request.Nested("paymentPayload")
	payload, _ := payment.Nested("payload")
	signed, authorized := payload.Nested("authorization")
	transaction, payer := response.Text("transaction", logBytesMax), response.Text("payer", logBytesMax)
	network := cmp.Or(response.Text("network", logBytesMax), terms.Text("network", logBytesMax))
	if id, known := firstNetworks[network]; known {
		network = id
	}
	asset := r.findAsset(network, terms.Text("asset", logBytesMax))
	m := &moved{
		asset: asset, units: cmp.Or(terms.Text("amount", logBytesMax), terms.Text("maxAmountRequired", logBytesMax)),
		from: payer, to: terms.Text("payTo", logBytesMax),
	}
	nonce := ""
	if authorized {
		m.from, m.to, m.units, nonce = signed.Text("from", logBytesMax), signed.Text("to", logBytesMax), signed.Text("value", logBytesMax), signed.Text("nonce", logBytesMax)
	}
	if err := f.Err(); err != nil || asset == nil {
		return nil, err
	}
	if asset.isEVM() {
		transaction, nonce = strings.ToLower(transaction), strings.ToLower(nonce)
		if !isHash(transaction) || !isAddress(m.from) || !isAddress(m.to) || nonce != "" && !isHash(nonce) {
			return nil, errors.New("a payment without its transaction, payer, payee or nonce")
		}
	}
	if transaction == "" || m.from == "" || m.to == "" {
		return nil, errors.New("a payment without its transaction, payer or payee")
	}
	m.id, m.refs = network+"/"+transaction, []string{transaction}
	if nonce != "" {
		m.id, m.refs = m.id+"/"+nonce, append(m.refs, nonce)
	}
	return m, nil
}
