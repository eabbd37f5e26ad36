package text

import (
	"strings"
	"unicode/utf8"
)

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
func appendTrades(dst, word []byte) ([]byte, bool) {
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
		dst = appendSyllable(dst, r)
		at, rest = at+hangulBytes, true
	}
	if !found {
		return dst[:base], false
	}
	return dst, true
}
