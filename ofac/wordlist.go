package ofac

// genericWords tell no company from another.
var genericWords = map[string]bool{
	"group": true, "grupo": true, "groupe": true, "gruppa": true, "holding": true, "holdings": true, "kholding": true,
	"and": true, "of": true, "the": true, "for": true, "de": true, "y": true, "et": true, "und": true, "i": true,
}

// functionWords are grammar.
var functionWords = map[string]bool{
	"of": true, "the": true, "and": true, "for": true, "in": true, "to": true, "on": true, "at": true, "by": true, "with": true,
	"de": true, "del": true, "la": true, "las": true, "los": true, "le": true, "les": true, "du": true, "des": true, "da": true, "do": true, "dos": true,
	"y": true, "e": true, "i": true, "et": true, "und": true, "der": true, "die": true, "das": true, "van": true, "von": true, "den": true,
	"al": true, "el": true, "ul": true, "ad": true, "ar": true, "as": true, "az": true, "ed": true, "ash": true, "bin": true, "ben": true, "ibn": true, "bint": true,
	"ve": true, "va": true, "im": true, "imeni": true, "po": true, "na": true, "dlya": true, "para": true, "en": true, "a": true, "an": true,
}

// legalWords are parts of legal forms. Alone, or with a slip of the pen, they
// are still no part of the name.
var legalWords = [...]string{
	"limited", "liability", "company", "joint", "stock", "incorporated", "corporation", "partnership", "establishment", "offshore",
	"obshchestvo", "obschestvo", "ogranichennoi", "ogranichennoy", "otvetstvennostyu", "otvetstvennostiu", "aktsionernoe", "aktsionernoye",
	"otkrytoe", "zakrytoe", "publichnoe", "sociedad", "anonima", "societe", "anonyme", "sirketi", "private", "proprietary", "kompaniya",
}

// legalWordWeight is what such a word weighs.
const legalWordWeight = 1000

// legalBags are their letters.
var legalBags = bagsOf(legalWords[:])

func bagsOf(words []string) []letterBag {
	bags := make([]letterBag, len(words))
	for i, word := range words {
		bags[i] = bagOf([]byte(word))
	}
	return bags
}

// isLegalWord reports whether a word is one of legalWords or, unless it is a
// listed word, one slip away from one: same first or last letter, one edit.
func isLegalWord(word string, listed bool) bool {
	if len(word) < 5 {
		return false
	}
	bag := bagOf([]byte(word))
	for i, legal := range legalWords {
		if legal == word {
			return true
		}
		difference := len(legal) - len(word)
		if listed || difference < -1 || difference > 1 || legal[0] != word[0] && legal[len(legal)-1] != word[len(word)-1] {
			continue
		}
		if !bag.farther(legalBags[i], costEdit) && spellingCost([]byte(legal), []byte(word), costEdit) <= costEdit {
			return true
		}
	}
	return false
}

// titleWords stand before a person's name and are not part of it.
var titleWords = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "miss": true, "mister": true, "dr": true, "doctor": true, "prof": true, "professor": true,
	"sir": true, "sheikh": true, "shaykh": true, "sheik": true, "shaikh": true, "haji": true, "hajji": true, "hadji": true, "hajj": true,
	"he": true, "hon": true, "general": true, "gen": true, "colonel": true, "col": true, "major": true, "captain": true, "capt": true,
	"lieutenant": true, "lt": true, "brigadier": true, "president": true, "presidente": true, "prasident": true, "prime": true, "secretary": true, "minister": true, "senator": true, "ambassador": true,
	"engineer": true, "eng": true, "ing": true, "mullah": true, "mulla": true, "maulavi": true, "mawlawi": true, "maulana": true,
	"ayatollah": true, "hojatoleslam": true, "imam": true, "qari": true, "hafiz": true, "ustad": true, "sayyid": true, "sayed": true,
	"lord": true, "lady": true, "madam": true, "madame": true, "mme": true, "monsieur": true, "herr": true, "frau": true,
	"senor": true, "senora": true, "don": true, "dona": true, "comandante": true, "commander": true, "his": true, "her": true, "excellency": true,
	"jr": true, "sr": true, "ii": true, "iii": true, "esq": true, "phd": true, "md": true,
}

// payWords are what payment messages write around a name, and grammar: a query is
// hardly another party for having them.
var payWords = map[string]bool{
	"account": true, "acct": true, "acc": true, "attn": true, "attention": true, "payee": true, "beneficiary": true, "bnf": true, "fbo": true, "iban": true,
	"invoice": true, "inv": true, "ref": true, "reference": true, "branch": true, "payment": true, "pay": true, "order": true, "favour": true, "favor": true,
	"care": true, "c": true, "o": true, "the": true, "of": true, "or": true, "to": true, "for": true, "from": true, "by": true,
}

// accountDigitsMin is how many digits a number has that numbers an account or an
// invoice; shorter ones are part of names (PLANT 44).
const accountDigitsMin = 5

// isPayWord holds for a word that belongs to the payment and not to the name.
func isPayWord(word []byte) bool {
	if payWords[string(word)] {
		return true
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(word) >= accountDigitsMin
}

// letterCount counts the letters of a folded word. A character of a script
// that writes a syllable or a word in one character counts as three.
func letterCount(word []byte) int {
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
