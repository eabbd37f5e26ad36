package text

import "strings"

// Arabic and Persian are written without short vowels, so a transliteration letter by letter
// gives "mhmd" for Mohammad. So the commonest names and words are read as a whole. Each line of
// this table has a written word and its Latin form. Other words are compared by their consonants.
const arabicSource = `
محمد mohammad
احمد ahmad
علي ali
عليرضا alireza
حسن hasan
حسين husayn
محمود mahmud
مصطفى mustafa
مصطفی mustafa
ابراهيم ibrahim
اسماعيل ismail
يوسف yusuf
عمر omar
عثمان othman
خالد khalid
سعيد said
سيد sayyid
عبد abd
عبدالله abdallah
عبدالرحمن abdurrahman
عبدالعزيز abdulaziz
عبدالكريم abdulkarim
عبدالرحيم abdulrahim
عبدالقادر abdulqadir
صالح salih
سالم salim
سليم salim
سليمان sulayman
موسى musa
موسی musa
عيسى isa
يحيى yahya
يحیی yahya
مهدي mehdi
رضا reza
جعفر jafar
جواد jawad
حميد hamid
مجيد majid
رشيد rashid
وليد walid
فؤاد fuad
كريم karim
رحيم rahim
امير amir
امين amin
ناصر nasir
منصور mansur
مسعود masud
سعود saud
فيصل faysal
فهد fahd
طارق tariq
زياد ziyad
بشار bashar
ماهر mahir
ايمن ayman
اسامة osama
اسامه osama
حمزة hamza
حمزه hamza
طلال talal
بلال bilal
هلال hilal
كمال kamal
جمال jamal
نبيل nabil
عادل adil
فاضل fadil
كامل kamil
باسم basim
قاسم qasim
هاشم hashim
نعيم naim
رامي rami
سامي sami
هادي hadi
غلام ghulam
اكبر akbar
اصغر asghar
عباس abbas
مرتضى murtada
مرتضی murtaza
مجتبى mujtaba
مجتبی mujtaba
حاج haji
حاجي haji
شيخ shaykh
ملا mullah
مولوي maulavi
خان khan
شاه shah
نور nur
الدين aldin
الله allah
بن bin
ابن bin
ابو abu
ابي abu
ام umm
فاطمة fatima
فاطمه fatima
زينب zaynab
مريم maryam
عائشة aisha
شركة company
شرکت company
بنك bank
بانك bank
بانک bank
مصرف bank
مؤسسة foundation
موسسه institute
جمعية association
حزب hizb
حركة harakat
جيش jaysh
صنايع industries
صنعتي industrial
التجارة trading
للتجارة trading
تجارة trading
العامة general
الدولية international
`

// arabicWords maps the transliteration of a written word to the Latin word.
var arabicWords = parseArabic(arabicSource)

func parseArabic(source string) map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(source) {
		written, latin, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			continue
		}
		var letters []byte
		for _, r := range written {
			letters = appendArabic(letters, 0, folds.entryOf(r))
		}
		key := string(letters)
		if _, known := table[key]; !known {
			table[key] = latin
		}
	}
	return table
}

// appendArabic appends the transliteration of a letter of the word that begins at mark. Waw
// is a vowel except at the beginning.
func appendArabic(dst []byte, mark int, entry *foldEntry) []byte {
	if entry.latin == "w" && len(dst) > mark {
		return append(dst, 'u')
	}
	return append(dst, entry.latin...)
}

// readArabic replaces a transliterated word, with or without the article before it, by the
// known Latin word.
func readArabic(dst []byte, mark int) []byte {
	if latin, ok := arabicWords[string(dst[mark:])]; ok {
		return append(dst[:mark], latin...)
	}
	if rest := mark + len("al"); len(dst) > rest+2 && string(dst[mark:rest]) == "al" {
		if latin, ok := arabicWords[string(dst[rest:])]; ok {
			return append(dst[:rest], latin...)
		}
	}
	return dst
}

// LacksVowels reports whether the name has letters of a script that leaves
// vowels out.
func LacksVowels(name string) bool {
	for i := 0; i < len(name); {
		r, size := decodeRune(name, i)
		if kind := folds.entryOf(r).kind; kind == foldArabic || kind == foldHebrew {
			return true
		}
		i += size
	}
	return false
}
