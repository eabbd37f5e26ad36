package identifier

// IsSound reports whether a text can be an identifier of its class: its length and signs, and its
// check digits where the class has some.
func IsSound(class Class, text string) bool {
	var room [FormBytesMax]byte
	return IsSoundForm(class, AppendForm(room[:0], class, text))
}

// IsSoundForm is IsSound of the text that has this normal form.
func IsSoundForm(class Class, form []byte) bool {
	switch class {
	case BIC:
		return isBIC(form)
	case IBAN:
		return isIBAN(form)
	case LEI:
		return isLEI(form)
	case IMO:
		return isIMO(form)
	case MMSI, DUNS:
		return len(form) == 9 && allDigits(form)
	case AircraftTail:
		return len(form) >= 2 && len(form) <= 10
	case Email:
		return isEmail(form)
	case Website:
		return isHost(form)
	case Phone:
		return len(form) >= 5 && len(form) <= 15
	}
	return len(form) > 0
}

// isBIC reads four signs of the institution, two letters of the country, two signs of the place and
// at most three of the branch.
func isBIC(form []byte) bool {
	if len(form) != bicBytes && len(form) != bicBranch {
		return false
	}
	return isLetter(form[4]) && isLetter(form[5]) && allPlain(form)
}

// ibanBytes are the lengths of an account number, ISO 13616: of Norway, and of any country.
const (
	ibanBytesMin = 15
	ibanBytesMax = 34
)

func isIBAN(form []byte) bool {
	return len(form) >= ibanBytesMin && len(form) <= ibanBytesMax && isLetter(form[0]) && isLetter(form[1]) &&
		isDigit(form[2]) && isDigit(form[3]) && allPlain(form) && remainder97(form[4:], form[:4]) == 1
}

const leiBytes = 20

func isLEI(form []byte) bool {
	return len(form) == leiBytes && allPlain(form) && isDigit(form[18]) && isDigit(form[19]) && remainder97(form, nil) == 1
}

// remainder97 is the remainder of ISO 7064 MOD 97-10: a letter counts as the number 10 to 35.
func remainder97(parts ...[]byte) int {
	rest := uint64(0)
	for _, part := range parts {
		for _, c := range part {
			if isDigit(c) {
				rest = rest*10 + uint64(c-'0')
			} else {
				rest = rest*100 + uint64(c-'A') + 10
			}
			if rest > 1<<56 { // There is room for one more letter.
				rest %= 97
			}
		}
	}
	return int(rest % 97)
}

// isIMO reads seven digits, the last of which checks the others: a ship's, or that of an owner or
// company, whose weights differ.
func isIMO(form []byte) bool {
	if len(form) != 7 || !allDigits(form) {
		return false
	}
	ship, owner := 0, 0
	for i, weight := range [...]int{8, 6, 4, 2, 9, 7} {
		ship += (7 - i) * int(form[i]-'0')
		owner += weight * int(form[i]-'0')
	}
	last := int(form[6] - '0')
	return ship%10 == last || (11-owner%11)%10 == last
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' }

func allDigits(form []byte) bool {
	for _, c := range form {
		if !isDigit(c) {
			return false
		}
	}
	return true
}

// allPlain reports whether a form has no letters of another script.
func allPlain(form []byte) bool {
	for _, c := range form {
		if !isDigit(c) && !isLetter(c) {
			return false
		}
	}
	return true
}
