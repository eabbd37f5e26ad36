package text

import (
	"strings"
	"unicode/utf8"
)

// Hangul is kept as it is, so a listed Korean name is found in its own letters. For the
// possible matcher a name in Hangul is also romanised, syllable by syllable, in the systems
// of South and of North Korea: 김정은 is "gim jeong eun" and "kim jong un".

// The code points of Unicode's Hangul Syllable Composition.
const (
	hangulFirst, hangulLast = 0xAC00, 0xD7A3
	jamoOnset, jamoVowel    = 0x1100, 0x1161
	jamoCoda                = 0x11A7 // stands for no coda
	onsets, vowels, codas   = 19, 21, 28
)

var hangulCodas = strings.Split("- k k k n n n t l k m l l l p l m p p t t ng t t k t p t", " ")

// hangulSystem is a romanisation of Hangul.
type hangulSystem struct{ onsets, vowels []string }

var southern = hangulSystem{
	strings.Split("g kk n d tt r m b pp s ss - j jj ch k t p h", " "),
	strings.Split("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i", " "),
}

var northern = hangulSystem{
	strings.Split("k kk n t tt r m p pp s ss - j jj ch k t p h", " "),
	strings.Split("a ae ya yae o e yo ye o wa wae oe yo u wo we wi yu u ui i", " "),
}

// spokenSyllables is the length of the longest Hangul word that is romanised as a person's name.
const spokenSyllables = 4

// composeHangul appends a rune. It joins a vowel or coda letter to the onset or syllable
// before it, so that decomposed Hangul gives the same name.
func composeHangul(dst []byte, mark int, r rune) []byte {
	if r < jamoVowel || r >= jamoCoda+codas || len(dst) == mark {
		return utf8.AppendRune(dst, r)
	}
	last, size := utf8.DecodeLastRune(dst[mark:])
	switch {
	case r < jamoVowel+vowels && last >= jamoOnset && last < jamoOnset+onsets:
		r = hangulFirst + ((last-jamoOnset)*vowels+r-jamoVowel)*codas
	case r > jamoCoda && last >= hangulFirst && last <= hangulLast && (last-hangulFirst)%codas == 0:
		r = last + r - jamoCoda
	default:
		size = 0
	}
	return utf8.AppendRune(dst[:len(dst)-size], r)
}

// AppendSpoken appends the words of a folded name with Hangul romanised. It returns false
// when there is no Hangul to romanise.
func AppendSpoken(dst, words []byte, north bool) ([]byte, bool) {
	system := &southern
	if north {
		system = &northern
	}
	spoken := false
	if !hasHangul(words) {
		return dst, false
	}
	for start := 0; start < len(words); {
		end := start
		syllables, other := 0, 0
		for end < len(words) && words[end] != ' ' {
			r, size := utf8.DecodeRune(words[end:])
			if r >= hangulFirst && r <= hangulLast {
				syllables++
			} else {
				other++
			}
			end += size
		}
		parted := false
		if other == 0 && syllables > 0 {
			dst, parted = appendTrades(dst, words[start:end], system)
		}
		switch {
		case parted:
			spoken = true
		case other == 0 && syllables > 0 && syllables <= spokenSyllables:
			dst, spoken = appendSpokenWord(dst, words[start:end], system), true
		default:
			dst = append(AppendSeparator(dst, 0), words[start:end]...)
		}
		start = end + 1
	}
	return dst, spoken
}

// hasHangul reports whether words may have a Hangul syllable, by their lead bytes.
func hasHangul(words []byte) bool {
	for _, c := range words {
		if c >= 0xEA && c <= 0xED {
			return true
		}
	}
	return false
}

// appendSpokenWord appends each syllable of a Hangul word as a word of its own.
func appendSpokenWord(dst, word []byte, system *hangulSystem) []byte {
	for len(word) > 0 {
		r, size := utf8.DecodeRune(word)
		word = word[size:]
		dst = AppendSeparator(dst, 0)
		mark := len(dst)
		dst = system.appendSyllable(dst, r)
		if string(dst[mark:]) == "i" {
			dst = append(dst[:mark], "yi"...) // as in the surname Lee
		}
	}
	return dst
}

// appendSyllable appends the sounds of a Hangul syllable.
func (s *hangulSystem) appendSyllable(dst []byte, r rune) []byte {
	place := int(r - hangulFirst)
	onset, vowel, coda := s.onsets[place/(vowels*codas)], s.vowels[place/codas%vowels], hangulCodas[place%codas]
	if onset != "-" {
		dst = append(dst, onset...)
	}
	dst = append(dst, vowel...)
	if coda != "-" {
		dst = append(dst, coda...)
	}
	return dst
}

// Korean companies are written as one word, 조선대성무역회사, and lists translate what such a word consists of,
// except the name: Korea Daesong Trading Corporation. So the words of this table are translated wherever they
// stand in a Hangul word, and the rest between them is romanised as one word.
const hangulSource = `
조선 korea
한국 korea
고려 koryo
평양 pyongyang
회사 corporation
총회사 general corporation
공사 corporation
총공사 general corporation
주식회사 company limited
유한회사 company limited
유한 limited
합영회사 joint venture company
합작회사 joint venture company
합영 joint venture
합작 joint venture
무역 trading
무역은행 trade bank
총무역회사 general trading corporation
상사 trading
상업 commercial
은행 bank
신용 credit
금융 financial
보험 insurance
투자 investment
광업 mining
광산 mining
공업 industry
산업 industrial
기계 machinery
화학 chemical
전자 electronics
전기 electric
석유 petroleum
원유 oil
석탄 coal
아연 zinc
금속 metal
제강 steel
건설 construction
건축 building
개발 development
탐사 exploration
해운 shipping
해양 marine
선박 ship
운수 transport
항공 air
철도 railway
수출 export
수입 import
수출입 export import
대외 foreign
대외경제 external economic
국제 international
국가 national
국립 national
련합 united
연합 united
중앙 central
제일 first
기술 technology
과학 science
과학원 academy of sciences
연구소 research institute
연구원 institute
대학 university
대학교 university
봉사 service
관광 tourism
려행사 travel
식료 food
수산 fisheries
농업 agriculture
의약 pharmaceutical
콤퓨터 computer
컴퓨터 computer
정보 information
통신 telecommunications
체신 telecommunications
쎈터 center
센터 center
그룹 group
위원회 committee
총국 general bureau
관리국 management bureau
국방 defense
군수 munitions
인민군 people's army
인민 people's
로동당 workers' party
정찰 reconnaissance
만수대 mansudae
해외 overseas
`

// hangulTrades maps a word of the table to its translation.
var hangulTrades = func() map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(hangulSource) {
		if written, latin, found := strings.Cut(strings.TrimSpace(line), " "); found {
			table[written] = latin
		}
	}
	return table
}()

// Bounds of words that are parted.
const (
	hangulBytes      = 3                // Of a syllable.
	tradeBytesMax    = 7 * hangulBytes  // The longest word of the table.
	partedBytesMin   = 4 * hangulBytes  // A shorter word may be a person's name, so it is translated as a whole only.
	partedBytesMax   = 40 * hangulBytes // The rest of a longer word is not read.
	tradeSyllableMin = 2
)

// tradeAt returns the longest word of the table with which a Hangul word begins.
func tradeAt(word []byte) (latin string, size int) {
	for size = min(len(word), tradeBytesMax); size >= tradeSyllableMin*hangulBytes; size -= hangulBytes {
		if latin, ok := hangulTrades[string(word[:size])]; ok {
			return latin, size
		}
	}
	return "", 0
}

// appendTrades appends the words of a Hangul word that has words of the table. It returns false for any other
// word.
func appendTrades(dst, word []byte, system *hangulSystem) ([]byte, bool) {
	word = word[:min(len(word), partedBytesMax)]
	if _, size := tradeAt(word); len(word) < partedBytesMin && size < len(word) {
		return dst, false
	}
	base, found, rest := len(dst), false, false
	for at := 0; at < len(word); {
		latin, size := tradeAt(word[at:])
		if size > 0 {
			dst = append(AppendSeparator(dst, 0), latin...)
			at, found, rest = at+size, true, false
			continue
		}
		if !rest {
			dst = AppendSeparator(dst, 0)
		}
		r, _ := utf8.DecodeRune(word[at:])
		dst = system.appendSyllable(dst, r)
		at, rest = at+hangulBytes, true
	}
	if !found {
		return dst[:base], false
	}
	return dst, true
}
