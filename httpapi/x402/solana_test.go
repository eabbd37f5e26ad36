package x402

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
)

// transfer is a transaction that moves tokens, as a wallet of Solana makes it: the fee payer signs
// first, the owner of the tokens second.
type transfer struct {
	lookups  bool
	signers  int
	keys     []string
	owner    byte // Place of the owner among the keys.
	op       []byte
	trailing string
}

const (
	feePayerSOL = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
	ownerSOL    = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"
	programSOL  = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	mintSOL     = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

func soundTransfer() transfer {
	return transfer{signers: 2, keys: []string{feePayerSOL, ownerSOL, mintSOL, programSOL}, owner: 1, op: []byte{12, 1, 0, 0, 0, 0, 0, 0, 0, 6}}
}

func (x *transfer) encode() string {
	data := append([]byte{byte(x.signers)}, make([]byte, 64*x.signers)...)
	if x.lookups {
		data = append(data, 0x80)
	}
	data = append(data, byte(x.signers), 0, 1, byte(len(x.keys)))
	for _, text := range x.keys {
		key, _ := base58.Decode(text)
		data = append(data, key...)
	}
	data = append(data, make([]byte, 32)...)
	data = append(data, 1, byte(len(x.keys)-1), 4, 2, 2, 2, x.owner, byte(len(x.op)))
	data = append(data, x.op...)
	if x.lookups {
		data = append(append(append(data, 1), make([]byte, 32)...), 1, 0, 0)
	}
	return base64.StdEncoding.EncodeToString(append(data, x.trailing...))
}

func payersIn(transaction string) []string {
	wallets, _ := readPayers(transaction)
	return wallets
}

// TestPayersOfATransaction: who pays is the owner of the tokens, and everybody who signs.
func TestPayersOfATransaction(t *testing.T) {
	for _, lookups := range []bool{false, true} {
		x := soundTransfer()
		x.lookups = lookups
		require.Equal(t, []string{ownerSOL, feePayerSOL}, payersIn(x.encode()))
		x.owner = 2 // An account that does not sign: several sign for it.
		require.Equal(t, []string{mintSOL, feePayerSOL, ownerSOL}, payersIn(x.encode()))
		whole, _ := base64.StdEncoding.DecodeString(x.encode())
		for cut := range whole {
			require.Nil(t, payersIn(base64.StdEncoding.EncodeToString(whole[:cut])), "cut at %d", cut)
		}
	}
	for name, spoil := range map[string]func(*transfer){
		"an owner in a table of the chain":    func(x *transfer) { x.owner = 4 },
		"no transfer":                         func(x *transfer) { x.op = []byte{4, 0} },
		"another program":                     func(x *transfer) { x.keys[3] = mintSOL },
		"something behind it":                 func(x *transfer) { x.trailing = "x" },
		"more signatures than accounts":       func(x *transfer) { x.signers = 5 },
		"an owner whose place is not written": func(x *transfer) { x.op = []byte{26, 2} },
	} {
		x := soundTransfer()
		spoil(&x)
		require.Nil(t, payersIn(x.encode()), name)
	}
	require.Nil(t, payersIn("no base64"))
}

// TestWhoPaysIsScreened: the call names every wallet that pays. If nobody can be read, it names none
// that a chain knows, so that the verdict is not PROCEED.
func TestWhoPaysIsScreened(t *testing.T) {
	x := soundTransfer()
	p, err := readPayment([]byte(strings.Replace(unreadBody, "AAAA", x.encode(), 1)), Published, "")
	require.NoError(t, err)
	body, err := json.Marshal(p.screeningCall("1", ""))
	require.NoError(t, err)
	require.Contains(t, string(body), `"payerWallet":"`+ownerSOL+`","wallets":[{"role":"payer","address":"`+feePayerSOL+`"}]`)
	p, err = readPayment([]byte(unreadBody), Published, "")
	require.NoError(t, err)
	require.Equal(t, unreadPayer, p.screeningCall("1", "").Payer)
}

// FuzzReadPayers: no transaction makes it fail, and what it returns are accounts.
func FuzzReadPayers(f *testing.F) {
	x := soundTransfer()
	for _, seed := range []string{x.encode(), "AAAA"} {
		data, _ := base64.StdEncoding.DecodeString(seed)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		wallets, _ := readPayers(base64.StdEncoding.EncodeToString(data))
		require.LessOrEqual(t, len(wallets), payersMost)
		for _, wallet := range wallets {
			key, err := base58.Decode(wallet)
			require.NoError(t, err)
			require.Len(t, key, keySize)
		}
	})
}
