package families

import (
	"slices"
	"strings"
)

// Names in Arabic, Persian and Hebrew letters are written by sound: consonants and long vowels.

// abjad is a way of writing names.
type abjad struct {
	signs     signs
	words     map[string]string // Written by heart: names that every reader knows, and words of companies.
	particles map[string]string // Written before the word; no other particle can be written.
}

var arabic = abjad{
	signs{
		{"kh", "خ"}, {"sh", "ش"}, {"th", "ث"}, {"dh", "ذ"}, {"gh", "غ"}, {"zh", "ج"}, {"dj", "ج"}, {"ck", "ك"}, {"ch", "تش"}, {"ph", "ف"}, {"ou", "و"}, {"oo", "و"}, {"ee", "ي"}, {"ei", "ي"}, {"ai", "اي"}, {"ay", "اي"}, {"aa", "ا"},
		{"ss", "س"}, {"mm", "م"}, {"ll", "ل"}, {"dd", "د"}, {"bb", "ب"}, {"nn", "ن"}, {"tt", "ت"}, {"rr", "ر"}, {"ff", "ف"}, {"zz", "ز"}, {"yy", "ي"}, {"ww", "و"}, {"hh", "ح"}, {"kk", "ك"}, {"jj", "ج"}, {"qq", "ق"}, {"pp", "ب"}, {"cc", "ك"},
		{"b", "ب"}, {"p", "ب"}, {"t", "ت"}, {"j", "ج"}, {"h", "ح"}, {"d", "د"}, {"r", "ر"}, {"z", "ز"}, {"s", "س"}, {"f", "ف"}, {"q", "ق"}, {"k", "ك"}, {"c", "ك"}, {"g", "غ"}, {"l", "ل"}, {"m", "م"}, {"n", "ن"}, {"w", "و"}, {"v", "ف"}, {"y", "ي"}, {"x", "كس"},
		{"'", "ع"}, {"`", "ع"}, {"-", " "}, {shortVowel, ""}, {firstVowel, "ا"}, {"a", "ا"}, {"i", "ي"}, {"u", "و"}, {"o", "و"}, {"e", ""},
	},
	map[string]string{
		"muhammad": "محمد", "mohammad": "محمد", "mohammed": "محمد", "mohamed": "محمد", "muhammed": "محمد", "ahmad": "أحمد", "ahmed": "أحمد", "ali": "علي", "hassan": "حسن", "hasan": "حسن", "hussein": "حسين", "husayn": "حسين", "hossein": "حسين",
		"abdullah": "عبد الله", "abdallah": "عبد الله", "ibrahim": "إبراهيم", "ismail": "إسماعيل", "mahmoud": "محمود", "mahmud": "محمود", "mustafa": "مصطفى", "said": "سعيد", "omar": "عمر", "umar": "عمر", "khalid": "خالد", "yusuf": "يوسف", "hamid": "حميد", "abd": "عبد", "abdul": "عبد ال", "abdel": "عبد ال",
		"bank": "بنك", "company": "شركة", "trading": "للتجارة", "group": "مجموعة", "international": "الدولية", "general": "العامة", "establishment": "مؤسسة", "foundation": "مؤسسة", "organization": "منظمة", "exchange": "للصرافة", "industries": "للصناعات", "industry": "للصناعة", "shipping": "للشحن", "services": "للخدمات", "llc": "ذ.م.م", "ltd": "المحدودة", "limited": "المحدودة", "co": "شركة",
		"university": "جامعة", "research": "للأبحاث", "center": "مركز", "islamic": "الإسلامية", "national": "الوطنية", "association": "جمعية", "charity": "الخيرية", "import": "للاستيراد", "export": "والتصدير", "oil": "للنفط", "construction": "للإنشاءات", "contracting": "للمقاولات", "engineering": "للهندسة", "technology": "للتكنولوجيا", "petrochemical": "للبتروكيماويات", "transport": "للنقل", "airlines": "للطيران", "and": "و", "imam": "إمام", "corporation": "شركة", "enterprise": "مؤسسة", "enterprises": "مؤسسة", "for": "", "of": "", "the": "",
	},
	map[string]string{"al-": "ال", "el-": "ال", "ul-": "ال", "ad-": "ال", "ar-": "ال", "as-": "ال", "ash-": "ال", "at-": "ال", "az-": "ال", "an-": "ال", "al ": "ال", "el ": "ال", "bin ": "بن ", "ibn ": "بن ", "ben ": "بن ", "abu ": "أبو ", "abou ": "أبو ", "bint ": "بنت ", "umm ": "أم "},
}

var persian = abjad{
	signs{
		{"kh", "خ"}, {"sh", "ش"}, {"th", "ث"}, {"dh", "ض"}, {"gh", "ق"}, {"zh", "ژ"}, {"dj", "ج"}, {"ck", "ک"}, {"ch", "چ"}, {"ph", "ف"}, {"ou", "و"}, {"oo", "و"}, {"ee", "ی"}, {"ei", "ی"}, {"ai", "ای"}, {"ay", "ای"}, {"aa", "ا"}, {"ow", "و"},
		{"ss", "س"}, {"mm", "م"}, {"ll", "ل"}, {"dd", "د"}, {"bb", "ب"}, {"nn", "ن"}, {"tt", "ت"}, {"rr", "ر"}, {"ff", "ف"}, {"zz", "ز"}, {"yy", "ی"}, {"ww", "و"}, {"hh", "ه"}, {"kk", "ک"}, {"jj", "ج"}, {"qq", "ق"}, {"pp", "پ"}, {"cc", "ک"},
		{"b", "ب"}, {"p", "پ"}, {"t", "ت"}, {"j", "ج"}, {"h", "ه"}, {"d", "د"}, {"r", "ر"}, {"z", "ز"}, {"s", "س"}, {"f", "ف"}, {"q", "ق"}, {"k", "ک"}, {"c", "ک"}, {"g", "گ"}, {"l", "ل"}, {"m", "م"}, {"n", "ن"}, {"w", "و"}, {"v", "و"}, {"y", "ی"}, {"x", "کس"},
		{"'", "ع"}, {"`", "ع"}, {"-", "\u200c"}, {shortVowel, ""}, {firstVowel, "ا"}, {"a", "ا"}, {"i", "ی"}, {"u", "و"}, {"o", "و"}, {"e", "ه"},
	},
	map[string]string{
		"muhammad": "محمد", "mohammad": "محمد", "mohammed": "محمد", "ahmad": "احمد", "ahmed": "احمد", "ali": "علی", "hassan": "حسن", "hasan": "حسن", "hussein": "حسین", "hossein": "حسین", "hosein": "حسین", "reza": "رضا", "mehdi": "مهدی", "mahdi": "مهدی", "abbas": "عباس", "saeed": "سعید", "said": "سعید", "ebrahim": "ابراهیم", "seyed": "سید", "sayyed": "سید",
		"bank": "بانک", "company": "شرکت", "trading": "بازرگانی", "group": "گروه", "international": "بین\u200cالمللی", "general": "عمومی", "foundation": "بنیاد", "organization": "سازمان", "exchange": "صرافی", "industries": "صنایع", "industrial": "صنعتی", "industry": "صنعت", "shipping": "کشتیرانی", "services": "خدمات", "ltd": "محدود", "limited": "محدود", "co": "شرکت", "university": "دانشگاه", "research": "تحقیقات", "center": "مرکز", "petrochemical": "پتروشیمی",
		"oil": "نفت", "gas": "گاز", "engineering": "مهندسی", "iran": "ایران", "tehran": "تهران", "airlines": "هواپیمایی", "technology": "فناوری", "institute": "موسسه", "development": "توسعه", "and": "و", "of": "", "the": "", "e": "", "va": "و",
		"iranian": "ایرانی", "energy": "انرژی", "ministry": "وزارت", "space": "فضایی", "defense": "دفاع", "medical": "پزشکی", "pharmaceutical": "دارویی", "science": "علوم", "corporation": "شرکت", "offshore": "آفشور", "imam": "امام", "army": "ارتش", "islamic": "اسلامی", "bonyad": "بنیاد", "sherkat": "شرکت", "security": "امنیت", "credit": "اعتباری", "movement": "جنبش", "fund": "صندوق", "north": "شمال", "petroleum": "نفت", "helicopter": "هلیکوپتر",
	},
	map[string]string{"al-": "ال", "el-": "ال", "ul-": "ال", "al ": "ال", "bin ": "بن ", "ibn ": "بن ", "abu ": "ابو "},
}

var hebrew = abjad{
	signs{
		{"kh", "ח"}, {"sh", "ש"}, {"th", "ת"}, {"dh", "ד"}, {"gh", "ג"}, {"zh", "ז'"}, {"dj", "ג'"}, {"ck", "ק"}, {"ch", "צ'"}, {"ph", "פ"}, {"tz", "צ"}, {"ts", "צ"}, {"ou", "ו"}, {"oo", "ו"}, {"ee", "י"}, {"ei", "י"}, {"ai", "אי"}, {"ay", "אי"}, {"aa", "א"},
		{"ss", "ס"}, {"mm", "מ"}, {"ll", "ל"}, {"dd", "ד"}, {"bb", "ב"}, {"nn", "נ"}, {"tt", "ט"}, {"rr", "ר"}, {"ff", "פ"}, {"zz", "ז"}, {"yy", "י"}, {"ww", "וו"}, {"hh", "ה"}, {"kk", "ק"}, {"jj", "ג'"}, {"qq", "ק"}, {"pp", "פ"}, {"cc", "ק"},
		{"b", "ב"}, {"p", "פ"}, {"t", "ט"}, {"j", "ג'"}, {"h", "ה"}, {"d", "ד"}, {"r", "ר"}, {"z", "ז"}, {"s", "ס"}, {"f", "פ"}, {"q", "ק"}, {"k", "ק"}, {"c", "ק"}, {"g", "ג"}, {"l", "ל"}, {"m", "מ"}, {"n", "נ"}, {"w", "ו"}, {"v", "ו"}, {"y", "י"}, {"x", "קס"},
		{"'", "ע"}, {"`", "ע"}, {"-", " "}, {shortVowel, ""}, {firstVowel, "א"}, {"a", "א"}, {"i", "י"}, {"u", "ו"}, {"o", "ו"}, {"e", ""},
	},
	map[string]string{
		"muhammad": "מוחמד", "mohammad": "מוחמד", "mohammed": "מוחמד", "mohamed": "מוחמד", "ahmad": "אחמד", "ahmed": "אחמד", "ali": "עלי", "hassan": "חסן", "hasan": "חסן", "hussein": "חוסיין", "husayn": "חוסיין", "hossein": "חוסיין", "abdullah": "עבדאללה", "abdallah": "עבדאללה", "ibrahim": "איבראהים", "mahmoud": "מחמוד", "mahmud": "מחמוד",
		"mustafa": "מוסטפא", "omar": "עומר", "khalid": "ח'אלד", "yusuf": "יוסוף", "abd": "עבד", "david": "דוד", "moshe": "משה", "yaakov": "יעקב", "avraham": "אברהם",
	},
	map[string]string{"al-": "אל-", "el-": "אל-", "ul-": "אל-", "ad-": "א-ד", "al ": "אל ", "el ": "אל ", "bin ": "בן ", "ibn ": "אבן ", "ben ": "בן ", "abu ": "אבו ", "abou ": "אבו ", "bint ": "בנת ", "umm ": "אום "},
}

// shortVowel stands for a vowel that is not written, and firstVowel for the letter that carries the first
// vowel of a word.
const shortVowel, firstVowel = "~", "^"

// in writes the name.
func (a *abjad) in(d *draft) bool {
	d.words = slices.DeleteFunc(d.words, func(w word) bool {
		text, known := a.words[strings.ToLower(w.text)]
		return known && text == ""
	})
	if !d.writeIn(func(w *word) string {
		particle, known := a.particles[w.particle]
		lower := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(w.text), "-e"), "-ye") // The ezafe is not written.
		text := a.words[lower]
		if text == "" {
			text = a.signs.write(inner(lower))
		}
		if w.particle != "" && !known || text == "" {
			return ""
		}
		return particle + text
	}) {
		return false
	}
	d.line = strings.ReplaceAll(d.line, "عبد ال ", "عبد ال")
	return true
}

// inner leaves out the short vowels within a word, which abjads do not write.
func inner(lower string) string {
	if before, after, bound := strings.Cut(lower, "-"); bound {
		return inner(before) + "-" + inner(after)
	}
	var b strings.Builder
	for i := range len(lower) {
		c := lower[i]
		vowel := c == 'a' || c == 'i' || c == 'u' || c == 'e' || c == 'o'
		twice := i > 0 && lower[i-1] == c || i+1 < len(lower) && (lower[i+1] == c || lower[i+1] == 'y' || lower[i+1] == 'i' || lower[i+1] == 'u')
		switch {
		case vowel && i > 0 && i+1 < len(lower) && !twice && (c == 'u' || c == 'e' || c == 'a' && i > 1):
			b.WriteString(shortVowel)
			continue
		case vowel && i == 0 && c != 'a' && len(lower) > 1:
			b.WriteString(firstVowel)
			if c == 'e' || c == 'i' && lower[1] != 'a' {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// abjadFamilies write names of which the list has Latin alone in Arabic, Persian and Hebrew letters.
func abjadFamilies() []Family {
	person := func(s *Subject) bool { return isPerson(s) && s.latinOnly() && looksArabic(s) }
	company := func(s *Subject) bool { return companyOf(2)(s) && s.latinOnly() && looksArabic(s) }
	iranian := func(s *Subject) bool { return companyOf(2)(s) && s.latinOnly() && looksIranian(s) }
	all := []Family{
		row("arabic_of_latin", Whole, "persons of Arabic or Persian names listed in Latin alone: in Arabic", person, arabic.in),
		row("arabic_company", Whole, "companies listed in Latin alone, of words that look Arabic: in Arabic", company, arabic.in),
		row("persian_of_latin", Whole, "persons of Persian names listed in Latin alone: in Persian letters", func(s *Subject) bool { return isPerson(s) && s.latinOnly() && looksIranian(s) }, persian.in),
		row("persian_company", Whole, "companies listed in Latin alone, of words that look Persian: in Persian", iranian, persian.in),
		row("hebrew_of_latin", Whole, "persons of Arabic or Persian names listed in Latin alone: in Hebrew", person, hebrew.in),
		row("hangul_company", Whole, "Korean companies listed in Latin alone: in Hangul", func(s *Subject) bool { return companyOf(2)(s) && s.latinOnly() }, inHangul),
	}
	for i := range all {
		all[i].Guessed = true
	}
	return all
}

var arabicNames = wordSet("muhammad mohammad mohammed mohamed mohamad ahmad ahmed ali hassan hasan hussein husayn hossein hussain abdullah abdallah ibrahim ismail mahmoud mahmud mustafa said omar umar khalid yusuf hamid karim rashid salim salih saleh qasim kazem reza mehdi mahdi jamal kamal nasser nasir fayez bashar maher rami riad walid ziad abbas hadi sadiq jafar musa isa yahya zayd")

var iranianNames = wordSet("reza hossein mehdi alireza hamidreza mohammadreza gholam gholamreza mohsen farhad behzad javad masoud majid saeed ebrahim esmail ghasem morteza mojtaba davoud vahid parviz bahman farid kazem kourosh shahid imam iran iranian iranshahr pars parsian tehran esfahan isfahan shiraz khuzestan sepehr sepah noor andisheh sanaye sanat novin kish gostar pishro fanavaran")

// looksArabic reports whether a word of the name is one that nearly only Arabs and Persians bear.
func looksArabic(s *Subject) bool {
	for i := range s.words {
		particle := s.words[i].particle
		if arabicNames[strings.ToLower(s.words[i].text)] || strings.HasPrefix(particle, "al") || strings.HasPrefix(particle, "bin ") || strings.HasPrefix(particle, "abu ") {
			return true
		}
	}
	return false
}

// looksIranian reports whether a word of the name is one of Iran.
func looksIranian(s *Subject) bool {
	for i := range s.words {
		if lower := strings.ToLower(s.words[i].text); iranianNames[lower] || len(lower) > 6 && (strings.HasSuffix(lower, "zadeh") || strings.HasSuffix(lower, "pour")) {
			return true
		}
	}
	return false
}

// hangulWords are written in names of companies, in this order of their words in the list.
var hangulWords = map[string]string{
	"korea": "조선", "korean": "조선", "trading": "무역", "trade": "무역", "corporation": "회사", "company": "회사", "co": "회사", "corp": "회사", "bank": "은행", "shipping": "해운", "insurance": "보험", "mining": "광업", "development": "개발", "industry": "공업", "industrial": "공업",
	"general": "총", "export": "수출", "import": "수입", "machinery": "기계", "chemical": "화학", "credit": "신용", "foreign": "대외", "university": "대학", "institute": "연구소", "technology": "기술", "group": "그룹", "center": "쎈터", "national": "국가", "international": "국제", "united": "련합",
	"marine": "해양", "joint": "합영", "venture": "", "and": "", "ltd": "유한", "limited": "유한", "of": "", "north": "북", "central": "중앙", "ministry": "성", "academy": "과학원", "oil": "원유", "exploration": "탐사", "economic": "경제", "technical": "기술", "computer": "콤퓨터",
}

// inHangul writes a name of a Korean company as one word: words of companies translated, others by syllables.
func inHangul(d *draft) bool {
	line, korean := "", false
	for i := range d.words {
		lower := bare(d.words[i].written())
		sign, known := hangulWords[lower]
		if !known {
			if sign = spellSyllables(hangulSyllables, lower); sign == "" {
				return false
			}
		}
		korean = korean || lower == "korea" || lower == "korean"
		line += sign
	}
	d.line = line
	return korean
}

// nativeCultures are tables of frequent names as cultures, in letters of their own.
var nativeCultures = []culture{
	{"arabic", "Arabic names", false, "محمد فاطمة أحمد عائشة علي مريم عمر خديجة يوسف زينب خالد نور محمود ليلى حسن سلمى", "الحربي حداد منصور خوري الغامدي صالح السيد ناصر العتيبي حمدان درويش شاهين القحطاني فتحي عزيز رمضان"},
	{"persian", "Persian names", false, "محمد زهرا علی فاطمه رضا مریم حسین سارا مهدی نرگس امیر لیلا حمید پریسا سعید شیرین", "محمدی حسینی احمدی رضایی کریمی مرادی جعفری رحیمی هاشمی ابراهیمی صادقی رستمی حیدری موسوی اکبری نظری"},
	{"hebrew", "Hebrew names", false, "דוד שרה משה רחל יוסף נועה אבי תמר איתן יעל דניאל מיכל יעקב מרים עמית שירה", "כהן לוי מזרחי פרץ ביטון דהן אברהם פרידמן מלכה אזולאי כץ יוסף עמר אוחיון חדד גבאי"},
	{"arabic_in_hebrew", "Arabic names", false, "מוחמד פאטמה אחמד עאישה עלי מרים עומר חדיג'ה יוסף זיינב ח'אלד נור מחמוד לילא חסן סלמא", "אלחרבי חדאד מנסור ח'ורי אלע'אמדי סאלח אלסייד נאסר אלעותייבי חמדאן דרוויש שאהין אלקחטאני פתחי עזיז רמדאן"},
	{"korean", "Korean names", true, "민준 서연 지훈 지우 현우 수진 동현 은지 성민 혜진 영호 미경 재현 유나 상훈 나영", "김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황"},
	{"arabic_company", "words of Arabic companies", false, "شركة_النخيل مؤسسة_الأمل مجموعة_الفجر شركة_الواحة شركة_الربيع مطعم_الياسمين شركة_الهدى معرض_السلام صيدلية_الشفاء مكتب_النجاح شركة_البركة مركز_الزهراء", "للتجارة للصناعات للمقاولات الدولية للسيارات للسفر العامة للاستشارات الطبية للأثاث"},
	{"persian_company", "words of Persian companies", false, "شرکت_بهار گروه_پارسیان شرکت_سپهر فروشگاه_امید رستوران_شاندیز شرکت_آریا شرکت_البرز داروخانه_مهر شرکت_دماوند موسسه_دانش شرکت_نوین شرکت_گلستان", "بازرگانی صنعتی مهندسی تجهیزات_پزشکی گردشگری ساختمانی غذایی خودرو بین\u200cالمللی نرم\u200cافزار"},
	{"korean_company", "words of Korean companies", false, "한빛 대한 서울 동양 미래 한국 태양 신세계 금강 평화 희망 고려", "무역회사 건설 은행 화학 해운 전자 식품 제약 개발 보험"},
}
