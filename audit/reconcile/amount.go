package reconcile

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"railguard/engine"
)

// Amount is an exact amount that is not negative. A token can have 18 decimals, a record has six:
// what is finer than a micro-dollar is kept beside it, so that nothing is rounded into equality.
type Amount struct {
	Micro engine.USD // Millionths.
	Fine  uint64     // 10^-18 below a millionth, fewer than fineUnit of them.
}

const (
	fineUnit        = 1_000_000_000_000
	microDigits     = 6
	fractionDigits  = 18
	wholeDigitsMax  = 12
	amountTextBytes = wholeDigitsMax + 1 + fractionDigits
)

var errAmount = errors.New("must be a decimal number that is not negative, with at most 12 digits before the point and 18 behind it")

// ParseAmount reads a plain decimal number: digits, and perhaps a point and digits.
func ParseAmount(text string) (Amount, error) {
	whole, fraction, pointed := strings.Cut(text, ".")
	if whole == "" || pointed && fraction == "" || len(text) > amountTextBytes || len(whole) > wholeDigitsMax || len(fraction) > fractionDigits ||
		len(whole) > 1 && whole[0] == '0' || !allDigits(whole) || !allDigits(fraction) {
		return Amount{}, errAmount
	}
	fraction += strings.Repeat("0", fractionDigits-len(fraction))
	micro, err := strconv.ParseInt(whole+fraction[:microDigits], 10, 64)
	if err != nil {
		return Amount{}, errAmount
	}
	fine, err := strconv.ParseUint(fraction[microDigits:], 10, 64)
	return Amount{Micro: engine.USD(micro), Fine: fine}, err
}

func allDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// String is the shortest decimal text of the amount.
func (a Amount) String() string {
	text := strconv.FormatInt(int64(a.Micro/engine.Dollar), 10)
	digits := strconv.FormatUint(1_000_000+uint64(a.Micro%engine.Dollar), 10)[1:] + strconv.FormatUint(fineUnit+a.Fine, 10)[1:]
	if digits = strings.TrimRight(digits, "0"); digits != "" {
		text += "." + digits
	}
	return text
}

// equals reports whether the amount is exactly so many micro-dollars.
func (a Amount) equals(usd engine.USD) bool { return a.Fine == 0 && a.Micro == usd }

// plus adds two amounts. It saturates at a sum that no record can have.
func (a Amount) plus(b Amount) Amount {
	sum := Amount{Micro: a.Micro.Plus(b.Micro), Fine: a.Fine + b.Fine}
	if sum.Fine >= fineUnit {
		sum.Micro, sum.Fine = sum.Micro.Plus(1), sum.Fine-fineUnit
	}
	return sum
}

// Total is a sum that cannot overflow.
type Total struct {
	micro big.Int
	fine  uint64
}

func (t *Total) add(a Amount) {
	t.fine += a.Fine
	carry := t.fine / fineUnit
	t.fine %= fineUnit
	t.micro.Add(&t.micro, big.NewInt(int64(a.Micro)))
	t.micro.Add(&t.micro, new(big.Int).SetUint64(carry))
}

// String is the shortest decimal text of the sum.
func (t *Total) String() string {
	whole, rest := new(big.Int).QuoRem(&t.micro, big.NewInt(int64(engine.Dollar)), new(big.Int))
	inner := Amount{Micro: engine.USD(rest.Int64()), Fine: t.fine}
	return whole.String() + strings.TrimPrefix(inner.String(), "0")
}
