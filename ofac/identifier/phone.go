package identifier

import (
	"strings"
	"unicode/utf8"
)

// appendPhone appends the digits of a telephone number, E.164: without the signs of an international
// call (+, 00), without the zero that is only dialled within a country, "(0)", and without an
// extension.
func appendPhone(dst []byte, text string) []byte {
	start := len(dst)
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], "(0)") && len(dst) > start {
			i += len("(0)")
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if digit, ok := digitOf(r); ok {
			dst = append(dst, '0'+digit)
		} else if (r == 'x' || r == 'X' || r == 'e' || r == 'E' || r == '#' || r == ';') && len(dst) > start+5 {
			break // An extension.
		}
		i += size
	}
	if form := dst[start:]; len(form) > 2 && form[0] == '0' && form[1] == '0' {
		dst = append(dst[:start], form[2:]...)
	}
	return dst
}

// AppendInternational appends the form of a telephone number that was written as it is dialled within
// a country: with the country's prefix instead of the leading zero. ok is false if the country's
// prefix is unknown.
func AppendInternational(dst []byte, text, country string) (form []byte, ok bool) {
	prefix := prefixOf(country)
	if prefix == "" {
		return dst, false
	}
	start := len(dst)
	dst = appendPhone(append(dst, prefix...), text)
	digits := dst[start+len(prefix):]
	national := WithoutZeros(digits)
	return append(dst[:start+len(prefix)], national...), len(national) >= 5
}

// prefixOf returns the prefix of a country, "" if it has none of its own.
func prefixOf(country string) string {
	if len(country) != 2 {
		return ""
	}
	for rest := phonePrefixes; len(rest) > 0; {
		var row string
		row, rest, _ = strings.Cut(rest, " ")
		if row[:2] == country {
			return row[2:]
		}
	}
	return ""
}

// phoneCountry returns the country of a number by its longest known prefix. Countries that share a
// prefix are told apart where the next digit does it: Kazakhstan has 76 and 77 of Russia's 7.
func phoneCountry(form []byte) (string, bool) {
	if len(form) < 7 {
		return "", false
	}
	first := 0
	for _, c := range form[:3] {
		if !isDigit(c) {
			return "", false
		}
		first = first*10 + int(c-'0')
	}
	country := phoneCountries[first]
	return country, country != ""
}

// phoneCountries are the countries by the first three digits of a number.
var phoneCountries = readPrefixes()

func readPrefixes() (countries [1000]string) {
	for length := 1; length <= 3; length++ { // A longer prefix takes its part of a shorter one.
		for row := range strings.SplitSeq(phonePrefixes, " ") {
			if len(row) != 2+length {
				continue
			}
			first, most := 0, 1
			for _, c := range (row[2:] + "000")[:3] {
				first = first*10 + int(c-'0')
			}
			for range 3 - length {
				most *= 10
			}
			for i := range most {
				countries[first+i] = row[:2]
			}
		}
	}
	return countries
}

// phonePrefixes are the prefixes of Recommendation E.164, each behind its country. The countries of
// prefix 1 are left out: their numbers are told apart by hundreds of area codes.
const phonePrefixes = "EG20 SS211 MA212 DZ213 TN216 LY218 GM220 SN221 MR222 ML223 GN224 CI225 BF226 NE227 TG228 BJ229 " +
	"MU230 LR231 SL232 GH233 NG234 TD235 CF236 CM237 CV238 ST239 GQ240 GA241 CG242 CD243 AO244 GW245 IO246 SH247 SC248 SD249 " +
	"RW250 ET251 SO252 DJ253 KE254 TZ255 UG256 BI257 MZ258 ZM260 MG261 RE262 ZW263 NA264 MW265 LS266 BW267 SZ268 KM269 ZA27 SH290 " +
	"ER291 AW297 FO298 GL299 GR30 NL31 BE32 FR33 ES34 GI350 PT351 LU352 IE353 IS354 AL355 MT356 CY357 FI358 BG359 HU36 LT370 LV371 " +
	"EE372 MD373 AM374 BY375 AD376 MC377 SM378 VA379 UA380 RS381 ME382 XK383 HR385 SI386 BA387 MK389 IT39 RO40 CH41 CZ420 SK421 LI423 " +
	"AT43 GB44 DK45 SE46 NO47 PL48 DE49 FK500 BZ501 GT502 SV503 HN504 NI505 CR506 PA507 PM508 HT509 PE51 MX52 CU53 AR54 BR55 CL56 CO57 " +
	"VE58 GP590 BO591 GY592 EC593 GF594 PY595 MQ596 SR597 UY598 CW599 MY60 AU61 ID62 PH63 NZ64 SG65 TH66 TL670 NF672 BN673 NR674 PG675 " +
	"TO676 SB677 VU678 FJ679 PW680 WF681 CK682 NU683 WS685 KI686 NC687 TV688 PF689 TK690 FM691 MH692 KZ76 KZ77 RU7 JP81 KR82 VN84 KP850 " +
	"HK852 MO853 KH855 LA856 CN86 BD880 TW886 TR90 IN91 PK92 AF93 LK94 MM95 MV960 LB961 JO962 SY963 IQ964 KW965 SA966 YE967 OM968 PS970 " +
	"AE971 IL972 BH973 QA974 BT975 MN976 NP977 IR98 TJ992 TM993 AZ994 GE995 KG996 UZ998"
