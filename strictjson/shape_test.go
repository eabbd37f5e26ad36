package strictjson

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// Some names are misspellings of a known member, others are merely other words.
func TestNear(t *testing.T) {
	shape := Names("token", "amount", "cpName", "cpWallet", "rail", "hold", "chain")
	for name, want := range map[string]string{
		"cp_wallet": "cpWallet", "CPNAME": "cpName", "cp-name": "cpName", "cpWalet": "cpWallet", "cpWalllet": "cpWallet",
		"cpWallat": "cpWallet", "cpWlalet": "cpWallet", "Token": "token", "tokens": "token", "amout": "amount", "HOLD": "hold",
		"ho_ld": "hold", "cpNam\u0435": "cpName", // The last letter is Cyrillic.
		"rails": "", "holds": "", "bold": "", "orderReference": "", "cpNames2": "", "": "", "_": "", "metadata": "",
		strings.Repeat("_", 200) + "token": "",
	} {
		require.Equal(t, want, shape.nearestMember(name), "%q", name)
	}
}

func TestStrangers(t *testing.T) {
	shape := Names("reason", "metadata").
		WithNested("policy", Names("dailyLimitUSDC", "chains")).
		WithNested("entries", Names("wallet", "name"))
	for name, c := range map[string]struct {
		body string
		want []UnknownMember
	}{
		"none":     {`{"reason":"r","metadata":{"any":{"thing":1}},"policy":{"dailyLimitUSDC":1},"entries":[{"wallet":"w"}]}`, nil},
		"top":      {`{"reson":"r"}`, []UnknownMember{{"reson", "reason"}}},
		"nested":   {`{"policy":{"dailyLimitUSD":1,"x":2}}`, []UnknownMember{{"policy.dailyLimitUSD", "dailyLimitUSDC"}, {"policy.x", ""}}},
		"in lists": {`{"entries":[{"wallet":"w"},{"walet":"w"},7]}`, []UnknownMember{{"entries[1].walet", "wallet"}}},
		"no list":  {`{"entries":{"walet":"w"}}`, []UnknownMember{{"entries.walet", "wallet"}}},
		"escaped":  {`{"\u0072eason":"r","re\u0061zon":1}`, []UnknownMember{{"reazon", "reason"}}},
		"long":     {`{"` + strings.Repeat("é", 200) + `":1}`, []UnknownMember{{strings.Repeat("é", unknownNameBytes/2), ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			var d Document
			require.NoError(t, d.Read([]byte(c.body), engine.BodyValuesMax))
			require.Equal(t, c.want, d.UnknownMembers(shape))
		})
	}
	var many Document
	require.NoError(t, many.Read([]byte(wide(engine.JSONMembersMax)), engine.BodyValuesMax))
	require.Len(t, many.UnknownMembers(shape), FindingsMax)
	var invalid *InvalidBody
	require.True(t, errors.As(many.CheckShape(shape), &invalid))
	require.Equal(t, "unknown_field", invalid.Code)
}

// A value of two bytes costs its parser a hundred. So values are counted, and a parser that has
// grown large is not kept.
func TestValuesAreCounted(t *testing.T) {
	body := func(values int) []byte { // The list itself counts as one of them.
		return []byte(`{"a":[` + strings.Repeat("0,", values-2) + `0]}`)
	}
	var d Document
	require.NoError(t, d.Read(body(engine.ScreenValuesMax), engine.ScreenValuesMax))
	require.ErrorIs(t, d.Read(body(engine.ScreenValuesMax+1), engine.ScreenValuesMax), ErrValues)
	d.Reset()
	require.NotNil(t, d.parser, "a small parser is used again")
	require.NoError(t, d.Read(body(engine.BodyValuesMax), engine.BodyValuesMax))
	d.Reset()
	require.Nil(t, d.parser, "a large parser is dropped")
	require.NoError(t, d.Read([]byte(`{}`), engine.BodyValuesMax))
	d.Reset()
	require.NotNil(t, d.parser)
}
