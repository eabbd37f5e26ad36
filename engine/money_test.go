package engine

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseUSD(t *testing.T) {
	tests := []struct {
		name, literal string
		want          USD
		err           error
	}{
		{"zero", "0", 0, nil},
		{"minus zero", "-0", 0, nil},
		{"minus zero with decimals and exponent", "-0.000e5", 0, nil},
		{"one dollar", "1", Dollar, nil},
		{"tenth", "0.1", 100_000, nil},
		{"one micro-dollar", "0.000001", 1, nil},
		{"far below every amount", "1e-400", 1, nil},
		{"below a micro-dollar is rounded up", "0.0000001", 1, nil},
		{"just above a micro-dollar", "0.0000010000001", 2, nil},
		{"far below, as an exponent", "1e-07", 1, nil},
		{"seventh decimal zero", "0.1000000", 100_000, nil},
		{"exact beyond a float", "9007199254.740993", 9_007_199_254_740_993, nil},
		{"exponent", "1e2", 100 * Dollar, nil},
		{"exponent with sign", "1.5E+3", 1500 * Dollar, nil},
		{"negative exponent", "12345e-3", 12_345_000, nil},
		{"leading zeros of the fraction", "0.00123", 1230, nil},
		{"the largest", "1000000000000", AmountMax, nil},
		{"the largest as an exponent", "1e12", AmountMax, nil},
		{"one micro-dollar more", "1000000000000.000001", 0, ErrAmountTooLarge},
		{"a tenth of one more", "1000000000000.0000001", 0, ErrAmountTooLarge},
		{"an exponent bomb", "1e999999999", 0, ErrAmountTooLarge},
		{"an exponent bomb of many digits", "1e" + strings.Repeat("9", 200), 0, ErrAmountTooLarge},
		{"a tiny bomb", "1e-999999999", 1, nil},
		{"zero with a bomb", "0e999999999", 0, nil},
		{"infinity of a float", "1E400", 0, ErrAmountTooLarge},
		{"int64 overflow", "9223372036854775808", 0, ErrAmountTooLarge},
		{"uint64 overflow", "18446744073709551616", 0, ErrAmountTooLarge},
		{"negative", "-1", 0, ErrAmountNegative},
		{"negative and tiny", "-0.0000001", 0, ErrAmountNegative},
		{"empty", "", 0, ErrAmountSyntax},
		{"plus", "+1", 0, ErrAmountSyntax},
		{"leading zero", "01", 0, ErrAmountSyntax},
		{"no digit before the point", ".5", 0, ErrAmountSyntax},
		{"no digit behind the point", "5.", 0, ErrAmountSyntax},
		{"two points", "1.2.3", 0, ErrAmountSyntax},
		{"empty exponent", "1e", 0, ErrAmountSyntax},
		{"exponent with a point", "1e1.5", 0, ErrAmountSyntax},
		{"string", `"5"`, 0, ErrAmountSyntax},
		{"subtraction", "1-2", 0, ErrAmountSyntax},
		{"hexadecimal", "0x10", 0, ErrAmountSyntax},
		{"NaN", "NaN", 0, ErrAmountSyntax},
		{"blank", " 1", 0, ErrAmountSyntax},
		{"longest literal", "1." + strings.Repeat("0", FieldMax-2), Dollar, nil},
		{"longer literal", "1." + strings.Repeat("0", FieldMax-1), 0, ErrAmountLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseUSD(test.literal)
			require.Equal(t, test.err, err)
			require.Equal(t, test.want, got)
			fromBytes, err := ParseUSD([]byte(test.literal))
			require.Equal(t, test.err, err)
			require.Equal(t, got, fromBytes)
		})
	}
}

// An amount that was rounded says so; zeros behind the sixth decimal are nothing to round.
func TestRoundedAmounts(t *testing.T) {
	for literal, want := range map[string]bool{
		"1": false, "0": false, "0e-400": false, "0.000001": false, "1.0000010000": false, "1e-6": false, "10e-7": false,
		"1e-7": true, "1e-400": true, "0.0000001": true, "1.0000001": true, "12.3456789": true,
	} {
		_, rounded, err := ReadUSD(literal)
		require.NoError(t, err)
		require.Equal(t, want, rounded, literal)
	}
}

// TestDecimalSums is statement T083: 0.1 + 0.2 is not above 0.3, a ten-millionth more is.
func TestDecimalSums(t *testing.T) {
	parse := func(literal string) USD {
		amount, err := ParseUSD(literal)
		require.NoError(t, err)
		return amount
	}
	limit, sum := parse("0.3"), parse("0.1").Plus(parse("0.2"))
	require.False(t, sum.Exceeds(limit))
	require.True(t, sum.Plus(parse("0.0000001")).Exceeds(limit))
}

func TestPlusSaturates(t *testing.T) {
	total := USD(0)
	for range 9 {
		total = total.Plus(AmountMax)
	}
	require.Equal(t, 9*AmountMax, total)
	for range 9 {
		total = total.Plus(AmountMax)
	}
	require.Equal(t, maxUSD, total)
	require.True(t, total.Exceeds(AmountMax))
	require.False(t, total.Exceeds(NoLimit))
}

func TestAppendUSD(t *testing.T) {
	for amount, want := range map[USD]string{
		0: "0", 1: "0.000001", 300_000: "0.3", Dollar: "1", 1_500_000: "1.5", 12_345_678: "12.345678",
		AmountMax: "1000000000000", maxUSD: "9223372036854.775807", NoLimit: "-0.000001", -1 << 63: "-9223372036854.775808",
	} {
		require.Equal(t, want, string(AppendUSD(nil, amount)))
	}
}

// TestAppendUSDRoundTrip: the text of an amount parses to the same amount.
func TestAppendUSDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := USD(rapid.Int64Range(0, int64(AmountMax)).Draw(t, "amount"))
		got, err := ParseUSD(AppendUSD(nil, amount))
		require.NoError(t, err)
		require.Equal(t, amount, got)
	})
}

// oracleUSD is ParseUSD over big rationals, for literals with a small exponent.
func oracleUSD(literal string) (USD, error) {
	value, ok := new(big.Rat).SetString(literal)
	if !ok {
		return 0, ErrAmountSyntax
	}
	if value.Sign() < 0 {
		return 0, ErrAmountNegative
	}
	value.Mul(value, big.NewRat(int64(Dollar), 1))
	micro, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		micro.Add(micro, big.NewInt(1))
	}
	if micro.Cmp(big.NewInt(int64(AmountMax))) > 0 {
		return 0, ErrAmountTooLarge
	}
	return USD(micro.Int64()), nil
}

func TestParseUSDAgainstOracle(t *testing.T) {
	literals := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		literal := literals.Draw(t, "literal")
		want, wantErr := oracleUSD(literal)
		got, err := ParseUSD(literal)
		require.Equal(t, wantErr, err, literal)
		require.Equal(t, want, got, literal)
	})
}

func FuzzParseUSD(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1e2", "0.1", "1e999999999", "01", "1.", "1e-07", "9007199254740993", "1000000000000.0000001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		got, err := ParseUSD(literal)
		if err != nil {
			require.Zero(t, got)
			return
		}
		require.True(t, got >= 0 && got <= AmountMax)
		again, err := ParseUSD(AppendUSD(nil, got))
		require.NoError(t, err)
		require.Equal(t, got, again)
		if n, ok := scanNumber(literal); ok && n.exponent > -100 && n.exponent < 100 {
			want, wantErr := oracleUSD(literal)
			require.NoError(t, wantErr)
			require.Equal(t, want, got)
		}
	})
}
