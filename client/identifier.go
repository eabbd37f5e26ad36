package client

import (
	"errors"
	"strings"
)

// upper and lower change the letters of ASCII alone, so that all clients do the same.
func upper(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, text)
}

// blanks are the characters of Unicode's property White_Space.
const blanks = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// payeeName returns a name as it is hashed: without blanks around it, in Unicode's form NFC.
func payeeName(name string) string { return composed(strings.Trim(name, blanks)) }

var (
	errIdentifierKind = errors.New("not a type of identifier")
	errIdentifierText = errors.New("not an identifier in ASCII")
)

// writtenWords are words that people write before a number.
var writtenWords = map[string][]string{"iban": {"IBAN"}, "imo": {"IMONO", "IMO"}, "mmsi": {"MMSI"}, "lei": {"LEI"}, "duns": {"DUNS"}}

// identifierForm returns the normal form of an identifier, in which two spellings are the same. It
// reads ASCII alone: of other digits and letters the service knows more than a client should.
func identifierForm(kind, text string) (form string, err error) {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return "", errIdentifierText
		}
	}
	switch kind {
	case "email":
		form = emailForm(text)
	case "website":
		form = hostForm(hostOf(text))
	case "phone":
		form = phoneForm(text)
	case "bic", "iban", "lei", "tax_id", "registration", "national_id", "passport", "imo", "mmsi", "aircraft_tail", "duns", "account":
		form = documentForm(kind, text)
	default:
		return "", errIdentifierKind
	}
	if form == "" {
		return "", errIdentifierText
	}
	return form, nil
}

// documentForm keeps letters and digits, in upper case. A BIC of a main office has eleven characters.
func documentForm(kind, text string) string {
	form := upper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text))
	for _, word := range writtenWords[kind] {
		if rest, found := strings.CutPrefix(form, word); found && rest != "" && (rest[0] <= '9' || len(form) > 15) {
			form = rest
		}
	}
	switch {
	case kind == "bic" && len(form) == 12: // The ninth character is a terminal's.
		form = form[:8] + form[9:]
	case kind == "bic" && len(form) == 8:
		form += "XXX"
	}
	return form
}

func trimSigns(text string) string { return strings.Trim(text, " \t\r\n\"'<>,;") }

// emailForm reads an address as people write it, with a name before it or "mailto:".
func emailForm(text string) string {
	text = trimSigns(text)
	if at := strings.LastIndexByte(text, '<'); at >= 0 {
		text = trimSigns(text[at:])
	}
	if len(text) > 7 && lower(text[:7]) == "mailto:" {
		text = text[7:]
	}
	if at := strings.IndexByte(text, '?'); at > 0 {
		text = text[:at]
	}
	at := strings.LastIndexByte(text, '@')
	host := hostForm(text[at+1:])
	if at <= 0 || host == "" {
		return ""
	}
	if host == "googlemail.com" {
		host = "gmail.com"
	}
	local := strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, text[:at])
	return lower(local) + "@" + host
}

// hostOf cuts the host out of an address of the web.
func hostOf(text string) string {
	text = trimSigns(text)
	if at := strings.IndexByte(text, ':'); at > 0 && (strings.HasPrefix(text[at+1:], "/") || strings.HasPrefix(text[at+1:], `\`)) {
		text = strings.TrimLeft(text[at+1:], `/\`)
	}
	text = strings.TrimLeft(text, `/\ `)
	if at := strings.IndexAny(text, `/\?#`); at >= 0 {
		text = text[:at]
	}
	text = text[strings.LastIndexByte(text, '@')+1:]
	if at := strings.IndexByte(text, ':'); at >= 0 && strings.Count(text, ":") == 1 {
		text = text[:at]
	}
	return text
}

func hostForm(host string) string {
	form := strings.TrimRight(strings.Map(func(r rune) rune {
		if r <= ' ' || strings.ContainsRune("[]()", r) {
			return -1
		}
		return r
	}, lower(host)), ".")
	if rest, found := strings.CutPrefix(form, "www."); found && strings.IndexByte(rest, '.') > 0 {
		return rest
	}
	return form
}

// phoneForm keeps the digits of a telephone number (E.164), without "(0)", "00" and an extension.
func phoneForm(text string) string {
	var form []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '(' && len(form) > 0 && strings.HasPrefix(text[i:], "(0)") {
			i += len("(0)") - 1
			continue
		}
		if c >= '0' && c <= '9' {
			form = append(form, c)
		} else if len(form) > 5 && strings.IndexByte("xXeE#;", c) >= 0 {
			break
		}
	}
	if len(form) > 2 && form[0] == '0' && form[1] == '0' {
		form = form[2:]
	}
	return string(form)
}
