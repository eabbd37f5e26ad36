package main

import (
	"strings"
	"unicode"
)

// special folds the characters that no Unicode property classifies.
func special(r rune) (fold, bool) {
	switch {
	case r >= '0' && r <= '9', r >= 'a' && r <= 'z':
		return fold{kind: kindLatin, plain: string(r)}, true
	case r >= 'A' && r <= 'Z':
		return fold{kind: kindLatin, plain: string(r + 32)}, true
	case r >= 0x1F150 && r <= 0x1F169: // negative circled letters
		return fold{kind: kindLatin, plain: string('a' + r - 0x1F150)}, true
	case r >= 0x1F170 && r <= 0x1F189: // negative squared letters
		return fold{kind: kindLatin, plain: string('a' + r - 0x1F170)}, true
	case r >= 0x1F1E6 && r <= 0x1F1FF: // regional indicators
		return fold{kind: kindLatin, plain: string('a' + r - 0x1F1E6)}, true
	case strings.ContainsRune(apostrophes, r):
		return fold{kind: kindDrop}, true
	case strings.ContainsRune(dots, r):
		return fold{kind: kindDot}, true
	case r == 0xFF9E || r == 0xFF9F: // the marks of voiced sounds behind half-width Kana
		return fold{kind: kindDrop}, true
	case strings.ContainsRune("&＆﹠", r):
		return fold{kind: kindAnd}, true
	}
	if plain, ok := latinLetters[r]; ok {
		return fold{kind: kindLatin, plain: plain}, true
	}
	return fold{}, false
}

// apostrophes vanish inside words: 'Abd, Mu'assasat, Qur`an, Denʹ. So do Arabic's tatweel
// and invisible characters.
const apostrophes = "'`´‘’‛′ʹʻʼʽʾʿˈʿ՚＇ꞌ·ـ\u02ca\u02cb\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff\u115f\u1160\u3164\uffa0\u034f\ufffd"

const dots = ".．。｡․﹒"

// latinLetters maps Latin letters, and signs for them, that do not decompose to the
// letters one would write instead.
var latinLetters = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ø': "o", 'Ø': "o",
	'ł': "l", 'Ł': "l", 'ı': "i", 'İ': "i", 'đ': "d", 'Đ': "d", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th",
	'ŋ': "n", 'Ŋ': "n", 'ə': "a", 'Ə': "a", 'ħ': "h", 'Ħ': "h", 'ŧ': "t", 'Ŧ': "t", 'ĸ': "k", 'ƒ': "f",
	'ɑ': "a", 'ɡ': "g", 'ɩ': "i", 'ʋ': "v", 'ɯ': "w", 'ɪ': "i", 'ꞁ': "l", 'ǀ': "l", 'ſ': "s", 'ꜱ': "s",
	'ɛ': "e", 'ɔ': "o", 'ʃ': "s", 'ʒ': "z", 'ƶ': "z", 'ƴ': "y", 'ƙ': "k", 'ɓ': "b", 'ɗ': "d", 'ƿ': "p",
	'ɴ': "n", 'ʀ': "r", 'ʏ': "y", 'ʟ': "l", 'ɢ': "g", 'ʜ': "h", 'ʙ': "b", 'ᴢ': "z", 'ᴀ': "a", 'ᴏ': "o",
	'℮': "e", 'ℯ': "e", '№': "no",
}

// rows reads "а:a б:b ..." into a map from the lower-case letter.
func rows(text string) map[rune]string {
	table := map[rune]string{}
	for _, field := range strings.Fields(text) {
		letter, value, _ := strings.Cut(field, ":")
		table[[]rune(letter)[0]] = value
	}
	return table
}

// The transliterations are what a clerk writes for a letter; spellings are folded later.
var (
	cyrillicLatin = rows(`а:a б:b в:v г:g д:d е:e ё:e ж:zh з:z и:i й:y к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh
		ц:ts ч:ch ш:sh щ:shch ъ: ы:y ь: э:e ю:yu я:ya і:i ї:yi є:ye ґ:g ў:u ђ:dj ј:j љ:lj њ:nj ћ:c џ:dz ѓ:g ќ:k ѕ:dz
		ѐ:e ѝ:i ә:a ғ:gh қ:k ң:n ө:o ұ:u ү:u һ:h ҷ:j ӯ:u ҳ:h ӣ:i ҝ:g ҹ:j ҫ:s ҙ:z ҡ:k ӑ:a ӗ:e ӳ:u ӱ:u ӧ:o ӏ: ѵ:i ѣ:e ѳ:f ԁ:d ԛ:q ԝ:w ҽ:e ӕ:ae`)
	greekLatin  = rows(`α:a β:v γ:g δ:d ε:e ζ:z η:i θ:th ι:i κ:k λ:l μ:m ν:n ξ:x ο:o π:p ρ:r σ:s ς:s τ:t υ:y φ:f χ:ch ψ:ps ω:o`)
	arabicLatin = rows(`ا:a أ:a إ:i آ:a ٱ:a ب:b پ:p ت:t ث:th ج:j چ:ch ح:h خ:kh د:d ذ:dh ر:r ز:z ژ:zh س:s ش:sh ص:s ض:d ط:t ظ:z
		ع:a غ:gh ف:f ق:q ك:k ک:k گ:g ل:l م:m ن:n ه:h ھ:h ہ:h ة:a و:w ؤ:u ي:y ی:y ى:a ئ:i ء: ې:e ۍ:y ټ:t ډ:d ړ:r ږ:g ښ:sh ڼ:n ڤ:v ں:n ے:e ڑ:r ٹ:t ڈ:d ە:a ۆ:o ێ:e ڕ:r ڵ:l ۀ:h`)
	hebrewLatin   = rows(`א:a ב:b ג:g ד:d ה:h ו:v ז:z ח:h ט:t י:y כ:k ך:k ל:l מ:m ם:m נ:n ן:n ס:s ע:a פ:p ף:f צ:ts ץ:ts ק:k ר:r ש:sh ת:t`)
	georgianLatin = rows(`ა:a ბ:b გ:g დ:d ე:e ვ:v ზ:z თ:t ი:i კ:k ლ:l მ:m ნ:n ო:o პ:p ჟ:zh რ:r ს:s ტ:t უ:u ფ:p ქ:k ღ:gh ყ:q შ:sh ჩ:ch ც:ts ძ:dz წ:ts ჭ:ch ხ:kh ჯ:j ჰ:h`)
	armenianLatin = rows(`ա:a բ:b գ:g դ:d ե:e զ:z է:e ը:y թ:t ժ:zh ի:i լ:l խ:kh ծ:ts կ:k հ:h ձ:dz ղ:gh ճ:ch մ:m յ:y ն:n շ:sh ո:o չ:ch պ:p ջ:j ռ:r ս:s վ:v տ:t ր:r ց:ts ւ:v փ:p ք:k օ:o ֆ:f և:ev`)
)

// The look-alikes give the Latin letter that a character is taken for. The key is the
// very character, because capital and small letter may look like different ones.
var lookAlikes = rows(`а:a А:a в:b В:b с:c С:c е:e Е:e ё:e Ё:e г:r н:h Н:h і:i І:i ї:i Ї:i ј:j Ј:j к:k К:k м:m М:m о:o О:o р:p Р:p ѕ:s Ѕ:s т:t Т:t
	у:y У:y х:x Х:x ѵ:v Ѵ:v ԁ:d Ԁ:d ԛ:q Ԛ:q ԝ:w Ԝ:w һ:h Һ:h ӏ:l Ӏ:l ү:y Ү:y ұ:y Ұ:y ҽ:e ь:b Ь:b ө:o Ө:o ғ:f Ғ:f қ:k Қ:k ҳ:x Ҳ:x ӕ:ae ҫ:c Ҫ:c ҝ:k ң:h
	п:n и:u ш:w З:3 з:3 б:b ԍ:g Ԍ:g ӧ:o Ӧ:o ӑ:a Ӑ:a є:e Є:e
	α:a Α:a β:b Β:b γ:y ε:e Ε:e ζ:z Ζ:z η:n Η:h ι:i Ι:i κ:k Κ:k μ:u Μ:m ν:v Ν:n ο:o Ο:o ρ:p Ρ:p σ:o τ:t Τ:t υ:u Υ:y χ:x Χ:x ω:w ϲ:c Ϲ:c ϳ:j Ϳ:j ϱ:p ϵ:e θ:o
	օ:o Օ:o ս:u Ս:u ո:n հ:h ց:g զ:q ռ:n յ:j լ:l Լ:l Տ:s ա:w ք:p ե:t ի:h գ:q
	Ꭰ:d Ꭱ:r Ꭲ:t Ꭵ:i Ꭹ:y Ꭺ:a Ꭻ:j Ꭼ:e Ꮃ:w Ꮇ:m Ꮋ:h Ꮍ:y Ꮐ:g Ꮓ:z Ꮟ:b Ꮢ:r Ꮤ:w Ꮥ:s Ꮩ:v Ꮪ:s Ꮮ:l Ꮯ:c Ꮲ:p Ꮶ:k Ᏼ:b
	ꓐ:b ꓑ:p ꓒ:d ꓓ:d ꓔ:t ꓖ:g ꓗ:k ꓙ:j ꓚ:c ꓜ:z ꓝ:f ꓟ:m ꓠ:n ꓡ:l ꓢ:s ꓣ:r ꓦ:v ꓧ:h ꓪ:w ꓫ:x ꓬ:y ꓮ:a ꓰ:e ꓲ:i ꓳ:o ꓴ:u
	Ⲃ:b ⲃ:b Ⲏ:h ⲏ:h Ⲓ:i ⲓ:i Ⲕ:k ⲕ:k Ⲙ:m ⲙ:m Ⲛ:n ⲛ:n Ⲟ:o ⲟ:o Ⲣ:p ⲣ:p Ⲥ:c ⲥ:c Ⲧ:t ⲧ:t Ⲩ:y ⲩ:y Ⲭ:x ⲭ:x Ⲍ:z ⲍ:z Ⲉ:e ⲉ:e ⲁ:a Ⲁ:a
	ו:l ן:l ס:o ט:v ا:l ه:o ߊ:l 𐌀:a 𐌁:b 𐌂:c 𐌄:e 𐌅:f 𐌉:i 𐌌:m 𐌏:o 𐌐:p 𐌓:p 𐌔:s 𐌕:t 𐌖:v 𐌗:x 𐐀:i 𐐄:o 𐐬:o 𐐠:s 𐑈:s 𐐕:c 𐐽:c 𐔖:f 𐔜:l
	ᖯ:b ᗅ:a ᗞ:d ᗪ:d ᖴ:f ᒍ:j ᒪ:l ᗰ:m ᑭ:p ᖇ:r ᑌ:u ᐯ:v ᙭:x ᕼ:h ᗷ:b ᛕ:k ᚷ:x ᛖ:m ᚱ:r ᛚ:l ᏼ:b`)

// scriptLetter folds a letter of a script that has a transliteration or a look-alike.
func scriptLetter(r rune) (fold, bool) {
	low := r
	for _, pair := range []struct{ first, last, shift rune }{
		{0x410, 0x42F, 32}, {0x400, 0x40F, 80}, {0x391, 0x3A9, 32}, {0x531, 0x556, 48}, {0x1C90, 0x1CBF, -0xBC0},
	} {
		if r >= pair.first && r <= pair.last {
			low = r + pair.shift
		}
	}
	if (r >= 0x460 && r <= 0x52F) && r%2 == 0 && !(r >= 0x482 && r <= 0x48A) && !(r >= 0x4C0 && r <= 0x4CF) {
		low = r + 1
	}
	if r >= 0x4C1 && r <= 0x4CE && r%2 == 1 {
		low = r + 1
	}
	skeleton, ok := lookAlikes[r]
	if !ok {
		skeleton = lookAlikes[low]
	}
	for _, script := range []struct {
		kind  byte
		latin map[rune]string
	}{
		{'C', cyrillicLatin}, {'G', greekLatin}, {'A', arabicLatin}, {'H', hebrewLatin}, {'O', georgianLatin}, {'E', armenianLatin},
	} {
		if latin, ok := script.latin[low]; ok {
			return fold{kind: script.kind, plain: string(low), skeleton: skeleton, latin: latin}, true
		}
	}
	if skeleton != "" {
		return fold{kind: kindOther, plain: string(unicode.ToLower(r)), skeleton: skeleton}, true
	}
	return fold{}, false
}
