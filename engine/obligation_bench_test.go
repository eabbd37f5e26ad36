package engine

import (
	"testing"

	"railguard/ofac/identifier"
)

// BenchmarkObligation measures what each member costs by which a call says more than a wallet and a
// name: every one alone, all of them with one wallet and one identifier ("all"), and all of them with
// as many as a call may tell ("full").
func BenchmarkObligation(b *testing.B) {
	list := listedNumbers(b)
	identifiers := [...]Identifier{
		{identifier.IBAN, "DE89 3704 0044 0532 0130 00", ""}, {identifier.BIC, "DEUTDEFF", ""}, {identifier.LEI, "529900T8BM49AURSDO55", ""}, {identifier.TaxID, "12-3456789", "US"},
		{identifier.Email, "info@example.org", ""}, {identifier.Website, "https://www.example.org/shop", ""}, {identifier.Phone, "+49 30 1234567", ""}, {identifier.Registration, "HRB 123456", "DE"},
	}
	payer := func(r *Request) { r.Payer = walletB }
	wallets := func(n int) func(*Request) {
		return func(r *Request) {
			for r.WalletCount = 0; r.WalletCount < n; r.WalletCount++ {
				r.Wallets[r.WalletCount] = RoleWallet{WalletIntermediary, walletB}
			}
		}
	}
	told := func(n int) func(*Request) {
		return func(r *Request) { r.IdentifierCount = copy(r.Identifiers[:], identifiers[:n]) }
	}
	country := func(r *Request) { r.Country, r.Origin = "DE", "Germany" }
	region := func(r *Request) { r.Region = "Bavaria" }
	address := func(r *Request) { r.Address = "12 Upper Montagu Street, London W1H 1LJ, United Kingdom" }
	memo := func(r *Request) { r.Memo = "Invoice 4711 for cleaning services" }
	for _, bench := range []struct {
		name string
		say  []func(*Request)
	}{
		{"none", nil},
		{"payer", []func(*Request){payer}},
		{"wallet", []func(*Request){wallets(1)}}, {"wallets", []func(*Request){wallets(WalletsMax)}},
		{"identifier", []func(*Request){told(1)}}, {"identifiers", []func(*Request){told(IdentifiersMax)}},
		{"country", []func(*Request){country}}, {"region", []func(*Request){region}}, {"address", []func(*Request){address}},
		{"memo", []func(*Request){memo}},
		{"all", []func(*Request){payer, wallets(1), told(1), country, region, address, memo}},
		{"full", []func(*Request){payer, wallets(WalletsMax), told(IdentifiersMax), country, region, address, memo}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			looker := NewLooker()
			f := cleanFacts()
			f.List = list
			f.Request = &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: walletB, Name: "Contoso Trading Limited", Type: "business", Protocol: "Uniswap"}
			for _, say := range bench.say {
				say(f.Request)
			}
			clean := *f
			b.ReportAllocs()
			for b.Loop() {
				*f = clean
				looker.Look(f)
				if hits := NewestRules.JudgeStatic(f); hits.Mask != 0 {
					b.Fatal(hits.Mask)
				}
			}
		})
	}
}
