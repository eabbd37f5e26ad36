package possession

import (
	"strconv"
)

// A number of a proven request must mean the same to whoever signed and to whoever judges. JCS writes
// the shortest text of the nearest double, which is another number for 9999999999.999999. Up to
// 15 digits no two decimals share a double, so that the shortest text is the decimal itself: it is
// written here without any float.
const (
	digitsMax = 15
	// powerMax keeps numbers where doubles have their whole precision.
	powerMax = 300
)

// decimal is 0.DIGITS times ten to the power, without zeros at either end.
type decimal struct {
	negative bool
	digits   [digitsMax]byte
	count    int
	power    int
}

// readNumber reads a JSON number at the beginning of the text and returns its size in bytes.
// Errors: errSyntax, ErrNumber.
func readNumber(text []byte) (d decimal, size int, err error) {
	at := 0
	if at < len(text) && text[at] == '-' {
		d.negative = true
		at++
	}
	whole := digitsAt(text[at:])
	if whole == 0 || whole > 1 && text[at] == '0' {
		return d, 0, errSyntax
	}
	zeros, fits := 0, true
	for _, c := range text[at : at+whole] {
		zeros, fits = d.add(c, zeros, fits)
		if d.count+zeros > 0 || !fits {
			d.power++
		}
	}
	at += whole
	if at < len(text) && text[at] == '.' {
		at++
		fraction := digitsAt(text[at:])
		if fraction == 0 {
			return d, 0, errSyntax
		}
		for _, c := range text[at : at+fraction] {
			if zeros, fits = d.add(c, zeros, fits); d.count == 0 && fits {
				d.power--
			}
		}
		at += fraction
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		power, taken := exponentAt(text[at+1:])
		if taken == 0 {
			return d, 0, errSyntax
		}
		d.power += power
		at += 1 + taken
	}
	if !fits || d.count > 0 && (d.power > powerMax || d.power < -powerMax) {
		return d, at, ErrNumber
	}
	return d, at, nil
}

// add takes a digit. Zeros are kept back until another digit follows.
func (d *decimal) add(digit byte, zeros int, fits bool) (int, bool) {
	switch {
	case !fits:
		return 0, false
	case digit == '0' && d.count == 0:
		return 0, true
	case digit == '0':
		return zeros + 1, true
	case d.count+zeros+1 > digitsMax:
		return 0, false
	}
	for ; zeros > 0; zeros-- {
		d.digits[d.count] = '0'
		d.count++
	}
	d.digits[d.count] = digit
	d.count++
	return 0, true
}

// digitsAt returns how many digits the text begins with.
func digitsAt(text []byte) (count int) {
	for count < len(text) && text[count] >= '0' && text[count] <= '9' {
		count++
	}
	return count
}

// exponentAt reads what follows an e, and returns its size in bytes. Far out it stops counting.
func exponentAt(text []byte) (power, size int) {
	negative := false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		size = 1
	}
	count := digitsAt(text[size:])
	if count == 0 {
		return 0, 0
	}
	for _, c := range text[size : size+count] {
		power = min(10*power+int(c-'0'), 1<<30)
	}
	if negative {
		power = -power
	}
	return power, size + count
}

// appendTo appends the number as ECMAScript writes it (RFC 8785, 3.2.2.3).
func (d *decimal) appendTo(dst []byte) []byte {
	if d.count == 0 {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	digits, power := d.digits[:d.count], d.power
	switch {
	case power > 21 || power <= -6:
		dst = append(dst, digits[0])
		if d.count > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'e')
		if power > 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(power-1), 10)
	case power <= 0:
		return append(appendZeros(append(dst, "0."...), -power), digits...)
	case power < d.count:
		return append(append(append(dst, digits[:power]...), '.'), digits[power:]...)
	}
	return appendZeros(append(dst, digits...), power-d.count)
}

func appendZeros(dst []byte, count int) []byte {
	for range count {
		dst = append(dst, '0')
	}
	return dst
}
