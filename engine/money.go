package engine

import "errors"

// USD is an amount of money in micro-dollars (1e-6 USD). No float ever touches it.
type USD int64

// Dollar is one dollar in micro-dollars.
const Dollar USD = 1_000_000

// NoLimit marks a limit that is not set.
const NoLimit USD = -1

// maxUSD is the largest amount an int64 holds; counters saturate there.
const maxUSD USD = 1<<63 - 1

// The reasons why a literal is not an amount.
var (
	ErrAmountSyntax   = errors.New("not a JSON number")
	ErrAmountNegative = errors.New("below zero")
	ErrAmountTooLarge = errors.New("above 1e12")
	ErrAmountLong     = errors.New("longer than 256 characters")
)

// Plus adds two non-negative amounts and saturates at the int64 maximum, which
// stands above every limit (decision 47, "Counting"): a counter never wraps.
func (u USD) Plus(v USD) USD {
	if u > maxUSD-v {
		return maxUSD
	}
	return u + v
}

// Exceeds reports whether u is strictly above limit; NoLimit is never exceeded.
func (u USD) Exceeds(limit USD) bool { return limit != NoLimit && u > limit }

// ParseUSD reads an amount from the literal of a JSON number (RFC 8259, 6), digit by digit. It
// rounds fractions of a micro-dollar up, so that a comparison can only be too strict (decision
// 31, "Money"). An exponent moves the decimal point and is never expanded: 1e999999999 costs as
// little as 1.
// Errors: ErrAmountSyntax, ErrAmountNegative, ErrAmountTooLarge (AmountMax), ErrAmountLong
// (FieldMax).
func ParseUSD[T ~string | ~[]byte](literal T) (USD, error) {
	amount, _, err := ReadUSD(literal)
	return amount, err
}

// ReadUSD is ParseUSD for callers that tell whether the amount was rounded.
func ReadUSD[T ~string | ~[]byte](literal T) (amount USD, rounded bool, err error) {
	number, ok := scanNumber(literal)
	if !ok {
		if len(literal) > FieldMax && (literal[0] == '-' || literal[0] >= '0' && literal[0] <= '9') {
			return 0, false, ErrAmountLong
		}
		return 0, false, ErrAmountSyntax
	}
	if number.size == 0 {
		return 0, false, nil // 0, 0.00, -0 and 0e9 are all zero.
	}
	if number.negative {
		return 0, false, ErrAmountNegative
	}
	const microDigits = 6
	whole := number.size + number.exponent - number.fraction + microDigits // digits of the amount in micro-dollars
	if whole > literalDigitsMax {
		return 0, false, ErrAmountTooLarge
	}
	micro, rounded := takeDigits(literal, number, whole)
	if rounded {
		micro++
	}
	if micro > uint64(AmountMax) {
		return 0, false, ErrAmountTooLarge
	}
	return USD(micro), rounded, nil
}

const (
	literalDigitsMax = 19     // 1e12 USD is 1 and 18 zeros in micro-dollars; 19 digits always fit a uint64.
	exponentMax      = 10_000 // A larger exponent counts as this one, which is already beyond every amount.
)

// number is a JSON number taken apart. The value is the digits read as an
// integer, times ten to the power of exponent minus fraction.
type number struct {
	negative bool
	first    int // Index of the first digit that is not a leading zero.
	size     int // Significant digits from there, the decimal point not counted.
	fraction int // Digits behind the decimal point.
	exponent int // Clamped to plus or minus exponentMax.
}

// scanNumber reads exactly the grammar of RFC 8259, 6.
func scanNumber[T ~string | ~[]byte](literal T) (number, bool) {
	var n number
	if len(literal) == 0 || len(literal) > FieldMax {
		return n, false
	}
	i := 0
	if literal[0] == '-' {
		n.negative = true
		i++
	}
	start := i
	i = digitsEnd(literal, i)
	if i == start || (literal[start] == '0' && i-start > 1) {
		return n, false
	}
	end := i
	if i < len(literal) && literal[i] == '.' {
		end = digitsEnd(literal, i+1)
		n.fraction = end - i - 1
		if n.fraction == 0 {
			return n, false
		}
		i = end
	}
	if i < len(literal) {
		var ok bool
		if n.exponent, ok = scanExponent(literal, i); !ok {
			return n, false
		}
	}
	for n.first = start; n.first < end && (literal[n.first] == '0' || literal[n.first] == '.'); n.first++ {
	}
	n.size = end - n.first
	if n.fraction > 0 && n.first < end-n.fraction {
		n.size-- // The point stands between the digits.
	}
	return n, true
}

func digitsEnd[T ~string | ~[]byte](text T, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

// scanExponent reads "e", a sign and digits up to the end of the literal.
func scanExponent[T ~string | ~[]byte](literal T, i int) (int, bool) {
	if literal[i] != 'e' && literal[i] != 'E' {
		return 0, false
	}
	i++
	negative := false
	if i < len(literal) && (literal[i] == '+' || literal[i] == '-') {
		negative = literal[i] == '-'
		i++
	}
	if i == len(literal) || digitsEnd(literal, i) != len(literal) {
		return 0, false
	}
	exponent := 0
	for ; i < len(literal) && exponent < exponentMax; i++ {
		exponent = exponent*10 + int(literal[i]-'0')
	}
	exponent = min(exponent, exponentMax)
	if negative {
		return -exponent, true
	}
	return exponent, true
}

// takeDigits returns the first count significant digits of the literal as an integer, with zeros
// behind the last, and whether a digit other than zero remains after them. With a count of zero
// or less all digits remain.
func takeDigits[T ~string | ~[]byte](literal T, n number, count int) (amount uint64, rest bool) {
	taken := 0
	for i := n.first; taken < n.size; i++ {
		if literal[i] == '.' {
			continue
		}
		if taken < count {
			amount = amount*10 + uint64(literal[i]-'0')
		} else if literal[i] != '0' {
			return amount, true
		}
		taken++
	}
	for ; taken < count; taken++ {
		amount *= 10
	}
	return amount, false
}

// AppendUSD appends the amount in dollars, as short as it can be: 100, 0.3,
// 0.000001. An amount below zero has a minus sign.
func AppendUSD(dst []byte, amount USD) []byte {
	rest := uint64(amount)
	if amount < 0 {
		dst = append(dst, '-')
		rest = -rest
	}
	dst = appendPadded(dst, int64(rest/uint64(Dollar)), 1)
	micro := rest % uint64(Dollar)
	if micro == 0 {
		return dst
	}
	dst = append(dst, '.')
	dst = appendPadded(dst, int64(micro), 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}
