package text

import "bytes"

// GenericWords tell no company from another.
var GenericWords = wordSet(
	"group", "grupo", "groupe", "gruppa", "holding", "holdings", "kholding",
	"and", "of", "the", "for", "de", "y", "et", "und", "i",
)

// FunctionWords are grammar.
var FunctionWords = wordSet(
	"of", "the", "and", "for", "in", "to", "on", "at", "by", "with",
	"de", "del", "la", "las", "los", "le", "les", "du", "des", "da", "do", "dos",
	"y", "e", "i", "et", "und", "der", "die", "das", "van", "von", "den",
	"al", "el", "ul", "ad", "ar", "as", "az", "ed", "ash", "bin", "ben", "ibn", "bint",
	"ve", "va", "im", "imeni", "po", "na", "dlya", "para", "en", "a", "an",
)

// legalWords are parts of legal forms. Alone, or with a slip of the pen, they
// are still no part of the name.
var legalWords = [...]string{
	"limited", "liability", "company", "joint", "stock", "incorporated", "corporation", "partnership", "establishment", "offshore",
	"obshchestvo", "obschestvo", "ogranichennoi", "ogranichennoy", "otvetstvennostyu", "otvetstvennostiu", "aktsionernoe", "aktsionernoye",
	"otkrytoe", "zakrytoe", "publichnoe", "sociedad", "anonima", "societe", "anonyme", "sirketi", "private", "proprietary", "kompaniya",
}

// legalBags are their letters.
var legalBags = bagsOf(legalWords[:])

func bagsOf(words []string) []LetterBag {
	bags := make([]LetterBag, len(words))
	for i, word := range words {
		bags[i] = BagOf([]byte(word))
	}
	return bags
}

// IsLegalWord reports whether a word is one of legalWords or, unless it is a
// listed word, one slip away from one: same first or last letter, one edit.
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

// TitleWords stand before a person's name and are not part of it.
var TitleWords = wordSet(
	"mr", "mrs", "ms", "miss", "mister", "dr", "doctor", "prof", "professor",
	"sir", "sheikh", "shaykh", "sheik", "shaikh", "haji", "hajji", "hadji", "hajj",
	"he", "hon", "general", "gen", "colonel", "col", "major", "captain", "capt",
	"lieutenant", "lt", "brigadier", "president", "presidente", "prasident", "prime", "secretary", "minister", "senator", "ambassador",
	"engineer", "eng", "ing", "mullah", "mulla", "maulavi", "mawlawi", "maulana",
	"ayatollah", "hojatoleslam", "imam", "qari", "hafiz", "ustad", "sayyid", "sayed", "seyyed",
	"lord", "lady", "madam", "madame", "mme", "monsieur", "herr", "frau",
	"senor", "senora", "don", "dona", "comandante", "commander", "his", "her", "excellency",
	"jr", "sr", "ii", "iii", "esq", "phd", "md",
)

// OfficeWords are the titles that a person is known by together with the last name alone.
// GENERAL stands before what companies are called (GENERAL MOTORS) and is none of them.
var OfficeWords = wordSet(
	"president", "presidente", "prasident", "minister", "gen", "colonel", "col", "commander", "comandante",
	"secretary", "ambassador", "senator", "ayatollah", "mullah", "mulla", "imam",
)

// payWords are what payment messages write around a name, and grammar: a query is
// hardly another party for having them.
var payWords = wordSet(
	"account", "acct", "acc", "attn", "attention", "payee", "beneficiary", "bnf", "fbo", "iban",
	"invoice", "inv", "ref", "reference", "branch", "payment", "pay", "order", "favour", "favor",
	"care", "c", "o", "the", "of", "or", "to", "for", "from", "by",
)

// accountDigitsMin is how many digits a number has that numbers an account or an
// invoice; shorter ones are part of names (PLANT 44).
const accountDigitsMin = 5

// IsPayWord holds for a word that belongs to the payment and not to the name.
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

// LetterCount counts the letters of a folded word. A character of a script
// that writes a syllable or a word in one character counts as three.
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

// IsPatronymic tells a Slavic or Turkic patronymic by its ending.
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
