package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadWallets: a payee stands for cpWallet if the call has none, and for nothing if it has one.
func TestReadWallets(t *testing.T) {
	const both = `[{"role":"payee","address":"` + walletA + `"},{"role":"payer","address":"` + walletB + `"}]`
	var r Request
	require.Empty(t, r.ReadWallets([]byte(both)))
	require.Equal(t, []RoleWallet{{WalletPayee, walletA}, {WalletPayer, walletB}}, r.Wallets[:r.WalletCount])
	require.Equal(t, walletA, r.Wallet)
	own := Request{Wallet: walletB}
	require.Empty(t, own.ReadWallets([]byte(both)))
	require.Equal(t, walletB, own.Wallet)
	for _, bad := range []string{`null`, `{}`, `[7]`, `[{}]`, `[{"role":"payer","role":"fee","address":"x"}]`, `[{"role":"payer","address":" "}]`, `[{"Role":"payer","address":"x"}]`, `[{"role":"payer","address":"x"},7]`} {
		r := Request{}
		require.NotEmpty(t, r.ReadWallets([]byte(bad)), bad)
		require.Zero(t, r, bad)
	}
}

// TestPayerMustBeOperators: where the policy asks for it, a wallet that pays is one of the operator's,
// however it is written.
func TestPayerMustBeOperators(t *testing.T) {
	roles := func(r *Request, raw string) { require.Empty(t, r.ReadWallets([]byte(raw))) }
	for _, c := range []struct {
		name   string
		sub    Sub
		change func(*Facts)
	}{
		{"no payer is told", 0, func(*Facts) {}},
		{"the agent's operator wallet", 0, func(f *Facts) { f.Request.Payer, f.Chain[0].OperatorWallet = walletA, walletA }},
		{"in other letters", 0, func(f *Facts) { f.Request.Payer, f.Chain[0].OperatorWallet = strings.ToUpper(walletA[2:]), walletA }},
		{"with its chain", 0, func(f *Facts) { f.Request.Payer, f.Chain[0].OperatorWallet = "ethereum:"+walletA, walletA }},
		{"a parent's", 0, func(f *Facts) { f.Request.Payer = walletA; withParents(f, 1).Chain[1].OperatorWallet = walletA }},
		{"another agent's of the operator", 0, func(f *Facts) {
			f.Request.Payer, f.Operator = walletA, &OperatorProfile{Wallets: []OperatorWallet{{Wallet: walletB}, {Wallet: walletA}}}
		}},
		{"a stranger's", 10, func(f *Facts) { f.Request.Payer, f.Chain[0].OperatorWallet = walletB, walletA }},
		{"of an operator without a wallet", 10, func(f *Facts) { f.Request.Payer = walletB }},
		{"of nobody", 10, func(f *Facts) { f.Request.Payer, f.ChainSize = walletB, 0 }},
		{"a stranger's among the wallets", 10, func(f *Facts) {
			f.Request.Payer, f.Chain[0].OperatorWallet = walletA, walletA
			roles(f.Request, `[{"role":"payer","address":"`+walletA+`"},{"role":"payer","address":"`+walletB+`"}]`)
		}},
		{"a stranger's that does not pay", 0, func(f *Facts) {
			roles(f.Request, `[{"role":"fee","address":"`+walletB+`"},{"role":"intermediary","address":"`+walletB+`"},{"role":"payee","address":"`+walletB+`"}]`)
		}},
		{"not asked for", 0, func(f *Facts) { f.Request.Payer, f.Policy.PayerOwn = walletB, false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := cleanFacts()
			f.Policy.PayerOwn = true
			c.change(f)
			hits := NewestRules.JudgeStatic(f)
			require.Equal(t, c.sub != 0, hits.Has(RuleParty))
			require.Equal(t, c.sub, hits.Subs[RuleParty])
		})
	}
}

// FuzzReadWallets: whatever comes, either all of it is read or nothing of it.
func FuzzReadWallets(f *testing.F) {
	f.Add([]byte(`[{"role":"payee","address":"0x1"},{"role":"fee","address":"x"}]`))
	f.Add([]byte(`[{"role":"payee","address":"0x1"},7]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r Request
		if r.ReadWallets(raw) != nil {
			require.Zero(t, r)
			return
		}
		for i := range r.Wallets[:r.WalletCount] {
			require.NotEmpty(t, r.Wallets[i].Address)
		}
	})
}
