package identifier

import (
	"bytes"
	"strings"
)

// CountryOf returns the country that an identifier tells by itself, ISO 3166-1 alpha-2: a bank's code
// and an account number name it, an e-mail address and a website by their top-level domain, a
// telephone number by its prefix. ok is false for every other class, for a text that is none of its
// class, and for domains and prefixes that belong to no country alone. It says nothing about where a
// party is: a company of any country may register a name below a country's domain.
func CountryOf(class Class, value string) (alpha2 string, ok bool) {
	var room [FormBytesMax]byte
	return CountryOfForm(class, AppendForm(room[:0], class, value))
}

// CountryOfForm is CountryOf of the value that has this normal form.
func CountryOfForm(class Class, form []byte) (alpha2 string, ok bool) {
	switch class {
	case BIC:
		if isBIC(form) {
			return lettersOf(form[4], form[5]), true
		}
	case IBAN:
		if isIBAN(form) {
			return lettersOf(form[0], form[1]), true
		}
	case Email:
		if at := bytes.IndexByte(form, '@'); isEmail(form) {
			return domainCountry(form[at+1:])
		}
	case Website:
		if isHost(form) {
			return domainCountry(form)
		}
	case Phone:
		return phoneCountry(form)
	}
	return "", false
}

// ShapeOf returns the class of a value that has the shape of one class and of no other: an e-mail
// address, a website with its scheme, a telephone number with its plus sign, an IBAN whose check
// digits are right.
func ShapeOf(value string) (class Class, ok bool) {
	switch {
	case strings.IndexByte(value, '@') > 0:
		class = Email
	case strings.Contains(value, "://"):
		class = Website
	case strings.HasPrefix(strings.TrimSpace(value), "+"):
		class = Phone
	default:
		if value = strings.TrimSpace(value); len(value) < 15 || isDigit(value[0]) || isDigit(value[1]) {
			return Other, false
		}
		class = IBAN
	}
	return class, IsSound(class, value)
}

// nativeDomains are the top-level domains of countries in their own script.
var nativeDomains = [...]struct{ domain, country string }{
	{"xn--p1ai", "RU"}, {"xn--mgba3a4f16a", "IR"}, {"xn--mgba3a4fra", "IR"}, {"xn--ogbpf8fl", "SY"}, {"xn--mgbtf8fl", "SY"}, {"xn--j1amh", "UA"},
	{"xn--90ais", "BY"}, {"xn--fiqs8s", "CN"}, {"xn--fiqz9s", "CN"}, {"xn--wgbh1c", "EG"}, {"xn--mgbaam7a8h", "AE"}, {"xn--mgbayh7gpa", "JO"},
	{"xn--mgberp4a5d4ar", "SA"}, {"xn--mgbpl2fh", "SD"}, {"xn--mgb2ddes", "YE"}, {"xn--ygbi2ammx", "PS"}, {"xn--mgbtx2b", "IQ"}, {"xn--90a3ac", "RS"},
	{"xn--80ao21a", "KZ"}, {"xn--node", "GE"}, {"xn--y9a3aq", "AM"}, {"xn--3e0b707e", "KR"}, {"xn--j6w193g", "HK"}, {"xn--kprw13d", "TW"},
}

// domainCountry returns the country of a host's top-level domain.
func domainCountry(host []byte) (string, bool) {
	domain := host[bytes.LastIndexByte(host, '.')+1:]
	if len(domain) != 2 {
		for _, row := range nativeDomains {
			if string(domain) == row.domain {
				return row.country, true
			}
		}
		return "", false
	}
	switch string(domain) {
	case "uk":
		return "GB", true
	case "eu", "su":
		return "", false
	}
	if a, b := domain[0]-'a'+'A', domain[1]-'a'+'A'; isLetter(a) && isLetter(b) {
		return lettersOf(a, b), true
	}
	return "", false
}

// pairs holds every two letters once, so that a country is a part of it and no new text.
var pairs = func() string {
	var all [26 * 26 * 2]byte
	for i := range all {
		all[i] = byte('A' + i/2/26)
		if i%2 == 1 {
			all[i] = byte('A' + i/2%26)
		}
	}
	return string(all[:])
}()

func lettersOf(a, b byte) string {
	at := 2 * (26*int(a-'A') + int(b-'A'))
	return pairs[at : at+2]
}
