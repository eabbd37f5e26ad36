package edge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// A wallet is found in every text of a call, unknown members included, whatever JSON escapes it
// is written with. The credentials and cpWallet are not searched.
func TestWalletsAreReadElsewhere(t *testing.T) {
	const wallet = "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"
	for body, found := range map[string]string{
		`{"token":"x","amount":1,"cpName":"rent, ` + wallet + `"}`:                                     " " + wallet,
		`{"token":"x","amount":1,"travelRuleRef":"` + wallet + `"}`:                                    " " + wallet,
		`{"token":"x","amount":1,"settleWith":"\u0030x098B716B8Aaf21512996dC57EB0615e2383E2f9\u0036"}`: " " + wallet,
		`{"token":"x","amount":1,"extras":{"list":["` + wallet + `"]}}`:                                " " + wallet,
		`{"token":"` + wallet + `","amount":1,"cpWallet":"` + wallet + `"}`:                            "",
		`{"cpWallet":"` + wallet + `","token":"x","amount":1,"protocol":"Uniswap"}`:                    "",
		`{"cpWallet":"` + wallet + `","token":"x","amount":1,"protocol":"` + wallet + `"}`:             " " + wallet,
	} {
		call := Call{Body: []byte(body)}
		require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
		var s screening
		s.findElsewhere(&call)
		require.Equal(t, found, s.request.Elsewhere, body)
		require.False(t, s.request.ElsewhereMore)
	}
}
