package engine

import (
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

// BenchmarkWallets measures what the further wallets of a payment cost: with none of them, with the
// wallet that pays, and with all that a call may name.
func BenchmarkWallets(b *testing.B) {
	list := benchList(b)
	for _, bench := range []struct {
		name  string
		payer string
		count int
	}{{"none", "", 0}, {"payer", walletA, 0}, {"all", walletA, WalletsMax}} {
		b.Run(bench.name, func(b *testing.B) {
			looker := NewLooker()
			f := cleanFacts()
			f.List, f.Chain[0].OperatorWallet = list, walletA
			f.Request = &Request{Amount: 100 * Dollar, Chain: "BASE", Rail: "USDC", Wallet: walletB, Type: "business", Protocol: "Uniswap", Payer: bench.payer, WalletCount: bench.count}
			for i := range bench.count {
				f.Request.Wallets[i] = RoleWallet{WalletIntermediary, walletB}
			}
			clean := *f
			var hits Hits
			b.ReportAllocs()
			for b.Loop() {
				*f = clean
				looker.Look(f)
				hits = NewestRules.JudgeStatic(f)
			}
			_ = hits
		})
	}
}
