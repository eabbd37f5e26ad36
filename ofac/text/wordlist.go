package text

import "bytes"

// GenericWords do not distinguish one company from another.
var GenericWords = wordSet(
	"group", "grupo", "groupe", "gruppa", "holding", "holdings", "kholding",
	"and", "of", "the", "for", "de", "y", "et", "und", "i",
)

// BusinessWords name a business, a place of business or the end of a domain. Beside a company's own name
// they make no other company.
var BusinessWords = wordSet(
	"exchange", "trading", "trade", "bank", "banking", "company", "corp", "import", "export", "shipping", "logistics", "industries",
	"services", "studio", "cafe", "restaurant", "bakery", "market", "garage", "clinic", "pharmacy", "hotel", "salon", "io", "com", "net", "org", "ru", "ir", "info", "co", "shop", "store", "online", "digital", "crypto", "wallet",
	"global", "international", "intl", "group", "holding", "holdings", "finance", "capital", "invest", "investment", "consulting",
	"solutions", "technology", "technologies", "tech", "energy", "oil", "gas", "petroleum", "insurance", "foundation", "charity",
	"fund", "association", "center", "centre", "institute", "university", "office", "branch", "agency", "general", "commercial", "foreign",
)

// PlaceWords are the names of countries and large cities, of one word, and the words of some of several.
// Beside a company's own name they say where it is.
var PlaceWords = wordSet(
	"moscow", "moskva", "petersburg", "minsk", "kiev", "kyiv", "tehran", "isfahan", "dubai", "abu", "dhabi", "sharjah", "doha", "riyadh",
	"jeddah", "kuwait", "manama", "muscat", "baghdad", "erbil", "basra", "damascus", "aleppo", "beirut", "amman", "jerusalem", "gaza", "cairo",
	"tripoli", "benghazi", "tunis", "algiers", "khartoum", "sanaa", "aden", "mogadishu", "nairobi", "lagos", "accra", "johannesburg",
	"istanbul", "ankara", "izmir", "athens", "nicosia", "limassol", "sofia", "belgrade", "bucharest", "budapest", "vienna", "prague", "warsaw",
	"berlin", "hamburg", "frankfurt", "munich", "zurich", "geneva", "milan", "rome", "madrid", "barcelona", "lisbon", "paris", "brussels",
	"amsterdam", "rotterdam", "london", "dublin", "copenhagen", "stockholm", "oslo", "helsinki", "riga", "tallinn", "vilnius", "tbilisi",
	"yerevan", "baku", "almaty", "astana", "tashkent", "bishkek", "dushanbe", "ashgabat", "kabul", "karachi", "lahore", "islamabad", "delhi",
	"mumbai", "dhaka", "colombo", "bangkok", "hanoi", "jakarta", "manila", "singapore", "kuala", "lumpur", "hong", "kong", "beijing", "shanghai",
	"shenzhen", "guangzhou", "taipei", "tokyo", "osaka", "seoul", "pyongyang", "vladivostok", "sydney", "havana", "caracas", "managua", "bogota",
	"medellin", "lima", "quito", "panama", "mexico", "guadalajara", "tijuana", "buenos", "aires", "santiago", "sao", "paulo", "miami", "york",
	"russia", "belarus", "ukraine", "iran", "iraq", "syria", "lebanon", "jordan", "yemen", "libya", "sudan", "somalia", "turkey", "turkiye",
	"cyprus", "china", "korea", "dprk", "japan", "india", "pakistan", "afghanistan", "qatar", "oman", "bahrain", "uae", "emirates", "egypt",
	"cuba", "venezuela", "nicaragua", "colombia", "brazil", "germany", "france", "italy", "spain", "switzerland", "austria", "poland", "latvia",
	"estonia", "lithuania", "serbia", "bulgaria", "romania", "greece", "malta", "uk", "usa", "canada", "australia", "malaysia", "indonesia",
	"thailand", "vietnam", "myanmar", "kazakhstan", "uzbekistan", "armenia", "georgia", "azerbaijan",
)

// FunctionWords are articles, particles and the like.
var FunctionWords = wordSet(
	"of", "the", "and", "for", "in", "to", "on", "at", "by", "with",
	"de", "del", "la", "las", "los", "le", "les", "du", "des", "da", "do", "dos",
	"y", "e", "i", "et", "und", "der", "die", "das", "van", "von", "den",
	"al", "el", "ul", "ad", "ar", "as", "az", "ed", "ash", "bin", "ben", "ibn", "bint",
	"ve", "va", "im", "imeni", "po", "na", "dlya", "para", "en", "a", "an",
)

// legalWords are parts of legal forms. Even alone or misspelt they are no part of the name.
var legalWords = [...]string{
	"limited", "liability", "company", "joint", "stock", "incorporated", "corporation", "partnership", "establishment", "offshore",
	"obshchestvo", "obschestvo", "ogranichennoi", "ogranichennoy", "otvetstvennostyu", "otvetstvennostiu", "aktsionernoe", "aktsionernoye",
	"otkrytoe", "zakrytoe", "publichnoe", "sociedad", "anonima", "societe", "anonyme", "sirketi", "private", "proprietary", "kompaniya",
}

// legalBags are the letter bags of legalWords.
var legalBags = bagsOf(legalWords[:])

func bagsOf(words []string) []LetterBag {
	bags := make([]LetterBag, len(words))
	for i, word := range words {
		bags[i] = BagOf([]byte(word))
	}
	return bags
}

// IsLegalWord reports whether a word of five letters or more is one of legalWords. Unless
// it is a listed word, it may also be one edit away from one with the same first or last
// letter.
func IsLegalWord(word []byte, listed bool) bool {
	if len(word) < 5 {
		return false
	}
	bag := BagOf(word)
	for i, legal := range legalWords {
		if legal == string(word) {
			return true
		}
		difference := len(legal) - len(word)
		if listed || difference < -1 || difference > 1 || legal[0] != word[0] && legal[len(legal)-1] != word[len(word)-1] {
			continue
		}
		if !bag.FartherThan(legalBags[i], costEdit) && spellingCost([]byte(legal), word, costEdit) <= costEdit {
			return true
		}
	}
	return false
}

// TitleWords stand before or after a person's name and are not part of it.
var TitleWords = wordSet(
	"mr", "mrs", "ms", "miss", "mister", "dr", "doctor", "prof", "professor",
	"sir", "sheikh", "shaykh", "sheik", "shaikh", "haji", "hajji", "hadji", "hajj",
	"he", "hon", "general", "gen", "colonel", "col", "major", "captain", "capt",
	"lieutenant", "lt", "brigadier", "president", "presidente", "prasident", "prime", "secretary", "minister", "senator", "ambassador",
	"engineer", "eng", "ing", "mullah", "mulla", "maulavi", "mawlawi", "maulana",
	"ayatollah", "hojatoleslam", "imam", "qari", "hafiz", "ustad", "sayyid", "sayyed", "sayed", "seyyed",
	"lord", "lady", "madam", "madame", "mme", "monsieur", "herr", "frau",
	"senor", "senora", "don", "dona", "comandante", "commander", "his", "her", "excellency",
	"jr", "sr", "ii", "iii", "esq", "phd", "md",
)

// payWords are words that payment messages write around a name, with prepositions and the
// like. They hardly make a query another party.
var payWords = wordSet(
	"account", "acct", "acc", "attn", "attention", "payee", "beneficiary", "bnf", "fbo", "iban",
	"invoice", "inv", "ref", "reference", "branch", "payment", "pay", "order", "favour", "favor",
	"care", "c", "o", "the", "of", "or", "to", "for", "from", "by",
	"please", "before", "after", "transfer", "deposit", "purchase", "goods", "regarding", "concerning", "second", "first", "part", "last", "week", "month",
	"room", "rent", "agreed", "as", "per", "in", "on", "at", "and", "with", "our", "your", "his", "her", "my", "monday", "tuesday", "wednesday",
	"thursday", "friday", "saturday", "sunday", "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
	"november", "december", "gmail", "yahoo", "hotmail", "icloud", "protonmail", "yandex", "email", "donation", "gift", "salary", "fee", "fees", "bill", "delivery", "contract", "thanks", "dear",
)

// accountDigitsMin is the least number of digits of an account or invoice number; shorter
// numbers are part of names (PLANT 44).
const accountDigitsMin = 5

// IsPayWord reports whether a word belongs to the payment and not to the name.
func IsPayWord(word []byte) bool {
	if payWords.Has(word) {
		return true
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(word) >= accountDigitsMin
}

// IsFormal reports whether a word is an article, a particle, a title or part of a legal form.
func IsFormal(word []byte) bool {
	return FunctionWords.Has(word) || TitleWords.Has(word) || GenericWords.Has(word) || IsLegalWord(word, true)
}

// LetterCount counts the letters of a folded word. A character that stands for a syllable
// or a word counts as three.
func LetterCount(word []byte) int {
	count := 0
	for _, c := range word {
		if c < 0x80 || c >= 0xC0 && c < 0xE0 {
			count++
		} else if c >= 0xE0 {
			count += 3
		}
	}
	return count
}

// IsPatronymic recognises a Slavic or Turkic patronymic by its ending.
func IsPatronymic(word []byte) bool {
	for _, ending := range patronymicEndings {
		if len(word) > len(ending)+2 && bytes.HasSuffix(word, []byte(ending)) {
			return true
		}
	}
	return false
}

var patronymicEndings = [...]string{
	"ovich", "evich", "yevich", "ovych", "evych", "avich", "ievich", "yvich", "ovitch", "evitch", "ich", "yich",
	"ovna", "evna", "yevna", "ivna", "avna", "ichna", "inichna", "ogly", "oglu", "ughli", "kyzy", "qizi", "kizi",
}

func IsArticle(word string) bool {
	switch word {
	case "al", "el", "ul", "ur", "ar", "as", "az", "ad", "ed", "an", "at", "ash", "il", "allah", "ud", "us":
		return true
	}
	return false
}
