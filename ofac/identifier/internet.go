package identifier

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// domainNames writes the names of domains in other scripts in ASCII, as a browser looks them up.
var domainNames = idna.New(idna.MapForLookup(), idna.StrictDomainName(false))

// CutAddress cuts an address of the web: its host, and its path without the first slash. Scheme,
// user and port are dropped, however many slashes there are.
func CutAddress(text string) (host, path string) {
	text = trimText(text)
	if at := strings.IndexByte(text, ':'); at > 0 && strings.HasPrefix(text[at+1:], "/") || at > 0 && strings.HasPrefix(text[at+1:], `\`) {
		text = strings.TrimLeft(text[at+1:], `/\`)
	}
	text = strings.TrimLeft(text, `/\ `)
	if at := strings.IndexAny(text, `/\?#`); at >= 0 {
		text, path = text[:at], strings.TrimLeft(text[at:], `/\?#`)
	}
	text = text[strings.LastIndexByte(text, '@')+1:]
	if at := strings.IndexByte(text, ':'); at >= 0 && strings.Count(text, ":") == 1 {
		text = text[:at]
	}
	return text, path
}

// appendHost appends the host of an address of the web, without "www.".
func appendHost(dst []byte, text string) []byte {
	host, _ := CutAddress(text)
	return appendDomain(dst, host)
}

// appendDomain appends the name of a host in lower case and ASCII. Signs that people put around a
// dot so that it is no link are dropped.
func appendDomain(dst []byte, host string) []byte {
	for i := range len(host) {
		if host[i] >= utf8.RuneSelf {
			if written, err := domainNames.ToASCII(host); err == nil {
				host = written
			}
			break
		}
	}
	start := len(dst)
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c-'A'+'a')
		case c != '[' && c != ']' && c != '(' && c != ')' && c > ' ':
			dst = append(dst, c)
		}
	}
	for len(dst) > start && dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	if form := dst[start:]; bytes.HasPrefix(form, []byte("www.")) && bytes.IndexByte(form[4:], '.') > 0 {
		dst = append(dst[:start], form[4:]...)
	}
	return dst
}

// AppendSegment appends the first part of an address's path, in lower case: who it is on a host that
// many share. It appends nothing if there is none that tells anything.
func AppendSegment(dst []byte, text string) []byte {
	_, path := CutAddress(text)
	if end := strings.IndexAny(path, `/\?#`); end >= 0 {
		path = path[:end]
	}
	if dot := strings.IndexByte(path, '.'); dot > 0 {
		path = path[:dot]
	}
	start := len(dst)
	for i := range len(path) {
		if c := path[i]; c >= 'A' && c <= 'Z' {
			dst = append(dst, c-'A'+'a')
		} else {
			dst = append(dst, c)
		}
	}
	segment := dst[start:]
	if len(segment) < 3 || len(segment) > FormBytesMax/2 { // Shorter ones are languages.
		return dst[:start]
	}
	switch string(segment) {
	case "index", "home", "default", "main", "about", "contact", "contacts":
		return dst[:start]
	}
	return dst
}

// hostLabelsMax is how many labels of a host are compared with those of listed hosts. None of those
// has as many.
const hostLabelsMax = 8

// NextDomain returns the domain to which a host belongs that is one label longer than the domain
// before it; the first has two labels, and the last is the host itself. before is where the domain
// before it begins in the host, and len(host) at first. ok is false if there is no further one.
func NextDomain(host []byte, before int) (domain []byte, begin int, ok bool) {
	if before <= 0 {
		return nil, 0, false
	}
	end := before - 1
	if before == len(host) {
		end = max(bytes.LastIndexByte(host, '.'), 0)
	} else if bytes.Count(host[before:], []byte{'.'}) >= hostLabelsMax-1 {
		return host, 0, true
	}
	begin = bytes.LastIndexByte(host[:end], '.') + 1
	return host[begin:], begin, true
}

// RegisteredDomain returns the domain that somebody registered and to which a host belongs. ok is
// false for a host that is a public suffix itself, below which everybody may register.
func RegisteredDomain(host string) (domain string, ok bool) {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	return domain, err == nil
}

// isHost reports whether a form is a name of a host with a domain, or the number of one.
func isHost(form []byte) bool {
	if len(form) > 253 || bytes.IndexByte(form, '.') <= 0 || bytes.Contains(form, []byte("..")) {
		return bytes.Count(form, []byte{':'}) > 1
	}
	for _, c := range form {
		if !isDigit(c) && (c < 'a' || c > 'z') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// appendEmail appends an address in lower case.
func appendEmail(dst []byte, text string) []byte {
	text = trimText(text)
	if at := strings.LastIndexByte(text, '<'); at >= 0 {
		text = trimText(text[at:])
	}
	if len(text) > 7 && strings.EqualFold(text[:7], "mailto:") {
		text = text[7:]
	}
	if at := strings.IndexByte(text, '?'); at > 0 {
		text = text[:at]
	}
	at := strings.LastIndexByte(text, '@')
	local, host := text[:max(at, 0)], text[at+1:]
	for i := 0; i < len(local); {
		r, size := utf8.DecodeRuneInString(local[i:])
		switch {
		case r >= 'A' && r <= 'Z':
			dst = append(dst, byte(r-'A'+'a'))
		case r >= 0xFF01 && r <= 0xFF5E: // Signs of full width.
			dst = append(dst, lowerByte(byte(r-0xFF01+'!')))
		case r > ' ':
			dst = append(dst, local[i:i+size]...)
		}
		i += size
	}
	dst = append(dst, '@')
	start := len(dst)
	dst = appendDomain(dst, host)
	if string(dst[start:]) == "googlemail.com" {
		dst = append(dst[:start], "gmail.com"...)
	}
	return dst
}

// Mailbox returns the form of an e-mail address without the tag behind a plus, and without the dots
// that one great provider ignores. It reports whether that is another form, and may reuse the bytes
// of the form.
func Mailbox(form []byte) (mailbox []byte, ok bool) {
	at := bytes.IndexByte(form, '@')
	if at <= 0 {
		return form, false
	}
	host, end := form[at:], at
	if plus := bytes.IndexByte(form[:at], '+'); plus > 0 {
		end = plus
	}
	mailbox = form[:0]
	dots := string(host) == "@gmail.com"
	for _, c := range form[:end] {
		if c != '.' || !dots {
			mailbox = append(mailbox, c)
		}
	}
	mailbox = append(mailbox, host...)
	return mailbox, len(mailbox) != len(form)
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c - 'A' + 'a'
	}
	return c
}

// isEmail reports whether a form has a name and a host with a domain.
func isEmail(form []byte) bool {
	at := bytes.IndexByte(form, '@')
	return at > 0 && at == bytes.LastIndexByte(form, '@') && isHost(form[at+1:])
}
