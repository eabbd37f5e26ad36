package families

import (
	"strings"
	"unicode"

	"railguard/ofac"
)

// Subject is one strong listed name, taken apart for variation.
type Subject struct {
	UID     uint32
	Type    ofac.EntityType
	Full    string // As listed.
	Script  string // As listed; "Latin" where the list does not say.
	Scripts []string
	Typed   bool // The publisher typed the parts of the name.
	words   []word
}

// part is what a word is within a name.
type part uint8

// The parts, in the order in which a name is written with the given names first.
const (
	partGiven      part = iota + 1 // The first given name.
	partMiddle                     // Any further given name.
	partPatronymic                 // The father's name, where it is typed or has a Slavic ending.
	partFamily                     // The first family name.
	partSecond                     // A second family name: mother's, maiden or just another word.
	partWord                       // A word of the name of a company, a vessel or an aircraft.
	partForm                       // A company's legal form.
)

// word is one word of a name. Its particle, such as "al-" or "de la ", stands before the text and
// goes wherever the word goes.
type word struct {
	particle, text string
	part           part
}

func (w *word) written() string { return w.particle + w.text }

// Bounds of what is varied.
const (
	subjectWordsMax = 24  // Words of a name; longer ones are not varied.
	subjectBytesMax = 512 // Bytes of a name.
)

// Subjects takes all strong names of the entities apart, in the order of the list.
func Subjects(entities []ofac.Entity) []Subject {
	var subjects []Subject
	for i := range entities {
		entity := &entities[i]
		scripts := scriptsOf(entity)
		for k := range entity.Names {
			name := &entity.Names[k]
			if name.Weak || name.Full == "" || len(name.Full) > subjectBytesMax {
				continue
			}
			s := Subject{UID: entity.UID, Type: entity.Type, Full: name.Full, Script: name.Script, Scripts: scripts, Typed: len(name.Parts) > 0}
			if s.Script == "" {
				s.Script = latin
			}
			if s.Script == latin {
				s.words = layOut(entity.Type, name)
			}
			if len(s.words) <= subjectWordsMax {
				subjects = append(subjects, s)
			}
		}
	}
	return subjects
}

const latin = "Latin"

// scriptsOf lists the scripts of an entity's strong names.
func scriptsOf(entity *ofac.Entity) (scripts []string) {
	for i := range entity.Names {
		script := entity.Names[i].Script
		if script == "" {
			script = latin
		}
		if !entity.Names[i].Weak && !has(scripts, script) {
			scripts = append(scripts, script)
		}
	}
	return scripts
}

func has(all []string, one string) bool {
	for _, text := range all {
		if text == one {
			return true
		}
	}
	return false
}

// latinOnly reports whether no name of the entity is in another script.
func (s *Subject) latinOnly() bool { return s.Script == latin && len(s.Scripts) == 1 }

// count returns how many words have one of the parts.
func (s *Subject) count(parts ...part) (n int) {
	for i := range s.words {
		for _, p := range parts {
			if s.words[i].part == p {
				n++
			}
		}
	}
	return n
}

// plain reports whether no word has a particle.
func (s *Subject) plain() bool {
	for i := range s.words {
		if s.words[i].particle != "" {
			return false
		}
	}
	return true
}

// layOut finds the words of a listed name in Latin and what each of them is.
func layOut(kind ofac.EntityType, name *ofac.Name) []word {
	if kind != ofac.Individual {
		return layOutCompany(kind, name.Full)
	}
	var words []word
	for _, typed := range partsOf(name) {
		words = append(words, splitWords(typed.Value, rolesOf(typed.Kind, name.Parts))...)
	}
	words = bindTitle(words)
	given := false
	for i := range words {
		switch {
		case words[i].part == partGiven && given:
			words[i].part = partMiddle
		case words[i].part == partGiven:
			given = true
		}
		if words[i].part == partMiddle && hasFathersEnding(words[i].text) {
			words[i].part = partPatronymic
		}
	}
	return orderWords(words)
}

// bindTitle makes one word of a title that stands as the first of several given names and the next
// one: nobody is called Sayyed alone.
func bindTitle(words []word) []word {
	for i := range len(words) - 1 {
		if next := words[i+1].part; words[i].part == partGiven && titles[strings.ToLower(words[i].text)] && (next == partGiven || next == partMiddle) {
			words[i].text += " " + words[i+1].written()
			return append(words[:i+1], words[i+2:]...)
		}
	}
	return words
}

// partsOf returns the typed parts of a person's name, or reads them off "LAST, First Middle".
func partsOf(name *ofac.Name) []ofac.NamePart {
	if len(name.Parts) > 0 {
		return name.Parts
	}
	last, given, found := strings.Cut(name.Full, ",")
	if !found {
		return []ofac.NamePart{{Kind: kindLast, Value: last}}
	}
	return []ofac.NamePart{{Kind: kindLast, Value: last}, {Kind: kindFirst, Value: strings.TrimSpace(given)}}
}

// OFAC's kinds of name parts.
const (
	kindLast       = "Last Name"
	kindFirst      = "First Name"
	kindMiddle     = "Middle Name"
	kindMaiden     = "Maiden Name"
	kindPatronymic = "Patronymic"
	kindMatronymic = "Matronymic"
	kindNickname   = "Nickname"
)

// roles are what the first and the further words of a typed part are; 0: the part is not written.
type roles struct{ first, further part }

// rolesOf says what the words of a typed part are. A patronymic beside a last name is the Slavic
// one; without a last name it is the first of the Spanish pair.
func rolesOf(kind string, all []ofac.NamePart) roles {
	switch kind {
	case kindFirst:
		return roles{partGiven, partMiddle}
	case kindMiddle:
		return roles{partMiddle, partMiddle}
	case kindMaiden, kindMatronymic:
		return roles{partSecond, partSecond}
	case kindNickname:
		return roles{}
	case kindPatronymic:
		for i := range all {
			if all[i].Kind == kindLast {
				return roles{partPatronymic, partPatronymic}
			}
		}
	}
	return roles{partFamily, partSecond}
}

// splitWords splits a part of a name into words, each with its particle.
func splitWords(value string, is roles) (words []word) {
	if is.first == 0 {
		return nil
	}
	particle := ""
	next := is.first
	for field := range strings.FieldsSeq(strings.ReplaceAll(value, ",", " ")) {
		field = titled(field)
		lower := strings.ToLower(field)
		if particles[lower] {
			particle += lower + " "
			continue
		}
		for _, bound := range boundParticles {
			if len(lower) > len(bound)+2 && strings.HasPrefix(lower, bound) {
				particle += bound
				field = titled(field[len(bound):])
				break
			}
		}
		words = append(words, word{particle, field, next})
		particle, next = "", is.further
	}
	if particle != "" { // A particle alone is a name.
		words = append(words, word{"", titled(strings.TrimSpace(particle)), next})
	}
	return words
}

// titled writes a word that is wholly in capitals with one capital, and after each hyphen one.
func titled(text string) string {
	if text == "" || strings.ToUpper(text) != text && text[0] < 'a' {
		return text
	}
	runes := []rune(strings.ToLower(text))
	first := true
	for i, r := range runes {
		if first && unicode.IsLetter(r) {
			runes[i] = unicode.ToUpper(r)
		}
		first = r == '-'
	}
	return string(runes)
}

// orderWords puts the given names first and keeps the order within each part.
func orderWords(words []word) []word {
	ordered := make([]word, 0, len(words))
	for p := partGiven; p <= partForm; p++ {
		for i := range words {
			if words[i].part == p {
				ordered = append(ordered, words[i])
			}
		}
	}
	return ordered
}

// layOutCompany finds the words and the legal form of a name that is not a person's.
func layOutCompany(kind ofac.EntityType, full string) (words []word) {
	for field := range strings.FieldsSeq(full) {
		words = append(words, word{"", field, partWord})
	}
	if kind != ofac.Company {
		return words
	}
	forms := 0
	for at := 0; at < len(words); {
		size := formAt(words[at:])
		for i := range size {
			words[at+i].part = partForm
		}
		forms += size
		at += max(size, 1)
	}
	if forms == len(words) { // The legal form is the whole name.
		for i := range words {
			words[i].part = partWord
		}
	}
	return words
}

// formAt returns how many words the legal form has with which the words begin; 0: with none.
func formAt(words []word) int {
	for _, form := range longForms {
		same := len(form) <= len(words)
		for i := 0; same && i < len(form); i++ {
			same = bare(words[i].text) == form[i]
		}
		if same {
			return len(form)
		}
	}
	if legalForms[bare(words[0].text)] != "" {
		return 1
	}
	return 0
}

// bare returns the letters and digits of a word in lower case.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// hasFathersEnding reports whether a word ends like the Slavic or Turkic name of a father.
func hasFathersEnding(text string) bool {
	lower := strings.ToLower(text)
	for _, ending := range fathersEndings {
		if len(lower) > len(ending)+2 && strings.HasSuffix(lower, ending) {
			return true
		}
	}
	return false
}

var fathersEndings = []string{"ovich", "evich", "ovych", "evych", "ovna", "evna", "ivna", "yevich", "ichna", "ogly", "oglu", "ugli", "kyzy", "qizi"}
