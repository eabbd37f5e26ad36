package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// USD is an amount in whole micro-dollars: 1_500_000 is $1.50. In JSON it is a number literal,
// which is read and written without a float.
type USD int64

const (
	microDigits = 6
	usdMax      = USD(1_000_000_000_000_000_000) // $1e12, the service's bound.
	literalMax  = 64
)

var errAmount = errors.New("not an amount from 0 to 1e12 dollars")

// ParseUSD reads a decimal such as "100", "0.10" or "1e3". It rounds more than six decimals up,
// as the service does before it compares an amount with a limit.
func ParseUSD(text string) (USD, error) {
	if len(text) > literalMax {
		return 0, fmt.Errorf("%w: %d characters", errAmount, len(text))
	}
	mantissa, exponent, err := splitExponent(text)
	if err != nil {
		return 0, err
	}
	whole, fraction, dotted := strings.Cut(mantissa, ".")
	if !digits(whole) || dotted && !digits(fraction) || len(whole) > 1 && whole[0] == '0' {
		return 0, fmt.Errorf("%w: %q", errAmount, text)
	}
	all, point := whole+fraction, len(whole)+exponent+microDigits // point is how many digits belong to whole micro-dollars.
	if point > len(all) {
		all += strings.Repeat("0", point-len(all))
	}
	if point < 0 {
		all, point = strings.Repeat("0", -point)+all, 0
	}
	micros := strings.TrimLeft(all[:point], "0")
	if len(micros) > 19 {
		return 0, fmt.Errorf("%w: %q", errAmount, text)
	}
	value, err := strconv.ParseUint("0"+micros, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %q", errAmount, text)
	}
	amount := USD(value)
	if strings.Trim(all[point:], "0") != "" {
		amount++
	}
	if amount > usdMax {
		return 0, fmt.Errorf("%w: %q", errAmount, text)
	}
	return amount, nil
}

func splitExponent(text string) (mantissa string, exponent int, err error) {
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return text, 0, nil
	}
	exponent, err = strconv.Atoi(text[at+1:])
	if err != nil || exponent < -literalMax || exponent > literalMax {
		return "", 0, fmt.Errorf("%w: %q", errAmount, text)
	}
	return text[:at], exponent, nil
}

func digits(text string) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}

// Dollars returns a whole number of dollars.
func Dollars(whole int64) USD { return USD(whole) * 1_000_000 }

// String returns the shortest decimal: "100", "0.1".
func (u USD) String() string {
	sign, value := "", int64(u)
	if value < 0 {
		sign, value = "-", -value
	}
	text := strconv.FormatInt(value/1_000_000, 10)
	if rest := value % 1_000_000; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", rest), "0")
	}
	return sign + text
}

// MarshalJSON writes a number.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number. It may be below zero, as the rest of a limit can be.
func (u *USD) UnmarshalJSON(data []byte) error {
	text, negative := strings.CutPrefix(string(data), "-")
	amount, err := ParseUSD(text)
	if err != nil {
		return err
	}
	if negative {
		amount = -amount
	}
	*u = amount
	return nil
}
