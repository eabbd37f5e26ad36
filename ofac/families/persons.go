package families

import (
	"strings"

	"railguard/ofac"
)

// To whom a family applies.

func isPerson(s *Subject) bool {
	return s.Type == ofac.Individual && s.Script == latin && s.count(partGiven) > 0 && s.count(partFamily) > 0
}

// personOf is a person with at least that many words.
func personOf(least int) func(*Subject) bool {
	return func(s *Subject) bool { return isPerson(s) && len(s.words) >= least }
}

// personOfJust is a person with just that many words.
func personOfJust(words int) func(*Subject) bool {
	return func(s *Subject) bool { return isPerson(s) && len(s.words) == words }
}

// personWith is a person who has a word of one of the parts, and two words besides.
func personWith(parts ...part) func(*Subject) bool {
	return func(s *Subject) bool { return isPerson(s) && s.count(parts...) > 0 && len(s.words) >= 3 }
}

func hasParticle(s *Subject) bool { return isPerson(s) && !s.plain() }

// hasArticle is a person of whose particles none says whose son or father he is.
func hasArticle(s *Subject) bool {
	for i := range s.words {
		for particle := range strings.FieldsSeq(s.words[i].particle) {
			if kinWords[particle] || particle == "o'" {
				return false
			}
		}
	}
	return hasParticle(s)
}

// twoAndTwo is a person of two given and two family names.
func twoAndTwo(s *Subject) bool {
	return isPerson(s) && s.plain() && len(s.words) == 4 && s.count(partGiven, partMiddle) == 2 && s.count(partFamily, partSecond) == 2
}

// spellsForm is a person whose initials spell a legal form.
func spellsForm(s *Subject) bool {
	if !isPerson(s) || s.count(partMiddle, partPatronymic) == 0 {
		return false
	}
	d := draft{subject: s, words: s.words}
	return initialsOfForms[d.initials()]
}

func and(conditions ...func(*Subject) bool) func(*Subject) bool {
	return func(s *Subject) bool {
		for _, is := range conditions {
			if !is(s) {
				return false
			}
		}
		return true
	}
}

func not(condition func(*Subject) bool) func(*Subject) bool {
	return func(s *Subject) bool { return !condition(s) }
}

// namesOf are the words of persons that are varied.
var namesOf = []part{partGiven, partMiddle, partPatronymic, partFamily, partSecond}

// row writes a family of listed names in one line.
func row(name string, claim Claim, about string, of func(*Subject) bool, steps ...step) Family {
	return Family{Name: name, About: about, Claim: claim, of: of, steps: steps}
}

// orderFamilies write all words of a person in another order or look.
func orderFamilies() []Family {
	person := personOf(2)
	return []Family{
		row("as_listed", Whole, "every strong name, as listed", func(s *Subject) bool { return true }, asListed),
		row("given_first", Whole, "persons: First Middle Last", person, always),
		row("last_comma", Whole, "persons: Last, First Middle", person, lastComma),
		row("comma_lost", Whole, "persons: Last First Middle", person, lastFirst),
		row("order_reversed", Whole, "persons of three words: from the last word to the first", personOf(3), reversed),
		row("capitals", Whole, "persons: in capitals", person, rewrite(strings.ToUpper)),
		row("small_letters", Whole, "persons: in small letters", person, rewrite(strings.ToLower)),
		row("doubled_spaces", Whole, "persons: two blanks between", person, joinedBy("  ")),
		row("dots_between", Whole, "persons: first.middle.last", person, joinedBy(".")),
		row("underlines_between", Whole, "persons: first_middle_last", person, joinedBy("_")),
		row("punctuation", Whole, "persons: a comma, a stroke or brackets among the words", person, oneOf(joinedBy(", "), joinedBy(" - "), joinedBy(" / "), seq(lastFirst, joinedBy("; ")))),
		row("spaces_lost", Whole, "persons: all words as one", person, withoutSpaces),
		row("handle", Whole, "persons: FirstMiddleLast", person, asHandle),
		row("email", Whole, "persons: first.last@example.com", person, asEmail),
		row("hyphen_given", Whole, "persons of two given names: bound by a hyphen", personWith(partMiddle), bindGiven("-")),
		row("given_joined", Whole, "persons of two given names: as one word", personWith(partMiddle), bindGiven("")),
		row("particle_joined", Whole, "persons with a particle: alBashir, delaCruz", hasParticle, bindParticles("")),
		row("particle_apart", Whole, "persons with a particle: al Bashir, de-la-Cruz", hasParticle, swapBound),
		row("particle_left_out", Whole, "persons with an article, such as al or de: without it", hasArticle, leaveOutParticles),
		row("accents_added", Whole, "persons: accents on the letters", person, rewrite(accents.Replace)),
		row("look_alike", Whole, "persons: one Cyrillic letter that looks alike", person, rewrite(once(glyphs))),
		row("bidi_override", Whole, "persons: backwards, and turned round by a control of direction", person, rewrite(turned)),
		row("digit_for_letter", Whole, "persons: one digit for a letter", person, rewrite(once(digits))),
		row("full_width", Whole, "persons: in wide characters", person, rewrite(fullWidth)),
		row("letters_parted", Whole, "persons: a blank behind each letter", person, rewrite(lettersParted)),
		row("cut_35", Whole, "names of more than 35 bytes: cut", func(s *Subject) bool { return s.Script == latin && len(s.Full) > 35 }, asListed, cutAt(35)),
		row("cut_35_given_first", Whole, "the same of persons, given names first", personOf(2), cutAt(35)),
	}
}

// seq makes one step of several.
func seq(steps ...step) step {
	return func(d *draft) bool {
		for _, step := range steps {
			if !step(d) {
				return false
			}
		}
		return true
	}
}

// bindGiven writes the first two given names as one word.
func bindGiven(between string) step {
	return func(d *draft) bool {
		places := d.find(partGiven, partMiddle)
		if len(places) < 2 || places[1] != places[0]+1 || d.words[places[1]].particle != "" {
			return false
		}
		first, second := &d.words[places[0]], d.words[places[1]].text
		if between == "" {
			second = strings.ToLower(second)
		}
		first.text += between + second
		d.remove(places[1])
		return true
	}
}

// bindParticles writes particles and words as one.
func bindParticles(between string) step {
	return func(d *draft) bool {
		for i := range d.words {
			d.words[i].particle = strings.NewReplacer(" ", between, "-", between).Replace(d.words[i].particle)
		}
		return true
	}
}

// swapBound writes "al-" as "al " and the other way round.
func swapBound(d *draft) bool {
	for i := range d.words {
		d.words[i].particle = strings.NewReplacer(" ", "-", "-", " ").Replace(d.words[i].particle)
	}
	return true
}

// addedFamilies say more than the list does.
func addedFamilies() []Family {
	person := personOf(2)
	quoted := func(open, end string) step {
		return func(d *draft) bool {
			name, ok := d.foreign(nicknames)
			d.insert(d.find(partGiven)[0]+1, open+name+end, partMiddle)
			return ok
		}
	}
	return []Family{
		row("given_between", Whole, "persons listed as two words: First X Last", personOfJust(2), addBehind(partGiven, givenNames)),
		row("two_given_between", Information, "persons listed as two words: First X Y Last", personOfJust(2), addBehind(partGiven, givenNames), addBehind(partGiven, givenNames)),
		row("initial_between", Whole, "persons listed as two words: First X. Last", personOfJust(2), addBehind(partGiven, initialsOf)),
		row("name_behind", Whole, "persons listed as two words: First Last X", personOfJust(2), addLast(lastNames...)),
		row("name_before", Whole, "persons listed as two words: X First Last", personOfJust(2), addFirst(givenNames...)),
		row("three_words_one_more", Whole, "persons listed as three words: one more between", personOfJust(3), oneOf(addBehind(partGiven, givenNames), addBehind(partMiddle, givenNames))),
		row("family_between", Whole, "persons listed as two words: First Last, with another family name before it", personOfJust(2), addBehind(partGiven, lastNames)),
		row("nickname_quoted", Whole, `persons listed as two words: First "X" Last`, personOfJust(2), quoted(`"`, `"`)),
		row("nickname_in_brackets", Whole, "persons listed as two words: First (X) Last", personOfJust(2), quoted("(", ")")),
		row("title_added", Whole, "persons: a title before", person, addFirst(titlesBefore...)),
		row("honorific_behind", Whole, "persons: an honorific behind", person, addLast(honorificsAfter...)),
		row("suffix_added", Whole, "persons: Jr., II, Filho, nr. 2", person, addLast(suffixes...)),
		row("title_and_suffix", Whole, "persons: a title before and a suffix behind", person, addFirst(titlesBefore...), addLast(suffixes...)),
		row("also_known_as", Whole, "persons: another name beside the listed one", person, around("# alias Victor Whitfield", "# a.k.a. The Engineer", "Marcel Okafor (#)", "# also known as Tony")),
	}
}

// leftOutFamilies say less than the list does, or abbreviate.
func leftOutFamilies() []Family {
	abbreviated := personWith(partMiddle, partPatronymic)
	return []Family{
		row("first_last1", Whole, "persons of two given and two family names: First Last1", twoAndTwo, leaveOut(partMiddle), leaveOut(partSecond)),
		row("first_last2", Information, "the same: First Last2", twoAndTwo, leaveOut(partMiddle), leaveOut(partFamily)),
		row("first_middle_last1", Whole, "the same: First Middle Last1", twoAndTwo, leaveOut(partSecond)),
		row("first_last1_last2", Whole, "the same: First Last1 Last2", twoAndTwo, leaveOut(partMiddle)),
		row("last1_first", Whole, "the same: Last1, First", twoAndTwo, leaveOut(partMiddle), leaveOut(partSecond), lastComma),
		row("first_last", Whole, "persons of one given name and two family names, or of two given names and one: First Last", personOfJust(3), leaveOut(partMiddle, partPatronymic, partSecond)),
		row("middle_left_out", Whole, "persons: further given names and patronymic left out", personWith(partMiddle, partPatronymic), leaveOut(partMiddle, partPatronymic)),
		row("patronymic_left_out", Whole, "persons: patronymic left out", personWith(partPatronymic), leaveOut(partPatronymic)),
		row("second_family_left_out", Whole, "persons: second family name left out", personWith(partSecond), leaveOut(partSecond)),
		row("initial_middle", Whole, "persons: First M. Last", abbreviated, abbreviate(partMiddle, partPatronymic)),
		row("initial_first", Information, "persons: F. Last", personOfJust(2), abbreviate(partGiven)),
		row("initial_first_middle", Whole, "persons: F. Middle Last", abbreviated, abbreviate(partGiven)),
		row("initials_before", Whole, "persons: F.M. Last", abbreviated, initialsLast),
		row("initials_behind", Whole, "persons: Last F.M., whose initials spell no legal form", and(abbreviated, not(spellsForm)), lastInitials),
		row("last_initials_form", Whole, "persons: Last F.M., whose initials spell S.A., A.S., N.V., A.G., A.B., A.O. or another legal form", spellsForm, lastInitials),
		row("patronymic_initials", Information, "persons with a patronymic: F. P. Last", personWith(partPatronymic), abbreviate(partGiven, partMiddle, partPatronymic)),
	}
}

// slipFamilies have another spelling or a slip of the hand, alone or with a part left out or
// added.
func slipFamilies() []Family {
	person := personOf(2)
	removable := []part{partMiddle, partPatronymic, partSecond}
	withRemovable := personWith(removable...)
	each := func(of []part) step { return varyEach(respelt, respeltLettersMin, of...) }
	slips := varyEach(slipped, slipLettersMin, namesOf...)
	return []Family{
		row("respelt", Slip, "persons: one word by another spelling of its sound", person, respell(namesOf...)),
		row("respelt_each", Slip, "persons: two words and more respelt", person, each(namesOf)),
		row("slip", Slip, "persons: a slip in one word", person, slip(namesOf...)),
		row("slip_first_letter", Slip, "persons: a slip in the first letter of a word", person, slipFirst(namesOf...)),
		row("slip_each_word", Slip, "persons: a slip in each of two words and more", person, slips),
		row("slip_three_words", Slip, "persons of three words and more: a slip in one, all the others right", personOf(3), slip(namesOf...)),
		row("left_out_varied", LeftOut, "persons: one part left out and another respelt", withRemovable, leaveOutOne(removable...), respell(partGiven, partFamily)),
		row("left_out_varied_family", LeftOut, "persons: one part left out and the family name respelt", withRemovable, leaveOutOne(removable...), respell(partFamily)),
		row("left_out_all_varied", LeftOut, "persons: further given names, patronymic and second family name left out, and one of the two others respelt", withRemovable, leaveOut(removable...), respell(partGiven, partFamily)),
		row("left_out_slip", LeftOut, "persons: one part left out and a slip in another", withRemovable, leaveOutOne(removable...), slip(partGiven, partFamily)),
		row("left_out_varied_reversed", LeftOut, "persons: one part left out, another respelt, the family name first", withRemovable, leaveOutOne(removable...), respell(partGiven, partFamily), lastFirst),
		row("slip_given_surname_out", Slip, "persons of two family names: a slip in the given name, one family name left out", personWith(partSecond), leaveOut(partSecond), slip(partGiven)),
		row("slip_family_middle_out", Slip, "persons: further given names left out, a slip in the family name", personWith(partMiddle, partPatronymic), leaveOut(partMiddle, partPatronymic), slip(partFamily)),
		row("between_respelt", Slip, "persons listed as two words: one more between, another respelt", personOfJust(2), respell(namesOf...), addBehind(partGiven, givenNames)),
		row("title_slip", Slip, "persons: a title before and a slip", person, slip(namesOf...), addFirst(titlesBefore...)),
		row("reversed_slip", Slip, "persons of three words: reversed, with a slip", personOf(3), slip(namesOf...), reversed),
		row("joined_slip", Slip, "persons: all words as one, with a slip", person, slip(namesOf...), withoutSpaces),
		row("initial_middle_respelt", Slip, "persons: First M. Last, one of them respelt", personWith(partMiddle, partPatronymic), abbreviate(partMiddle, partPatronymic), respell(partGiven, partFamily)),
		row("first_last1_respelt", Slip, "persons of two given and two family names: First Last1, one of them respelt", twoAndTwo, leaveOut(partMiddle), leaveOut(partSecond), respell(partGiven, partFamily)),
	}
}

// embeddedFamilies put a person among other words.
func embeddedFamilies() []Family {
	person := personOf(2)
	father := personWith(partMiddle, partPatronymic)
	shop := func(d *draft) string { return shops[d.choose(len(shops))] }
	behind := func(ending string) step {
		return func(d *draft) bool {
			d.line = d.text() + ending + " " + shop(d)
			return true
		}
	}
	families := []Family{
		row("memo_whole", Whole, "persons: in a sentence, as the name of the counterparty", person, around(sentences...)),
		row("memo_slip", Slip, "persons: in a sentence, with a slip", person, slip(namesOf...), around(sentences...)),
		row("memo_without_patronymic", Whole, "persons listed with a patronymic or middle name: in a sentence without it", father, leaveOut(partMiddle, partPatronymic), around(sentences...)),
		row("memo_possessive", Whole, "persons: in a sentence with 's", person, around(possessiveSentences...)),
		row("memo_last_comma", Whole, "persons: in a sentence as Last, First", person, lastComma, around(sentences...)),
		row("possessive", Whole, "persons: First Last's", person, possessive),
		row("possessive_shop", Whole, "persons: First Last's Shop", person, behind("'s")),
		row("plural_shop", Slip, "persons: First Lasts Shop", person, behind("s")),
		row("shop", Whole, "persons: First Last Shop", person, behind("")),
		row("slip_shop", Slip, "persons of three words: a slip, and Shop behind", personOf(3), slip(namesOf...), behind("")),
		row("initial_shop", Slip, "persons of three words: First M. Last Shop", father, abbreviate(partMiddle, partPatronymic), behind("")),
		row("joined_shop", Slip, "persons of three words: First Middle LastShop", personOf(3), func(d *draft) bool { d.line = d.text() + shop(d); return true }),
		row("trading_behind", Whole, "persons: First Last Trading", person, around("# Trading", "# Holdings", "# Consulting", "# & Sons")),
		row("estate_of", Whole, "persons: Estate of First Last", person, around("Estate of #", "Heirs of #", "Office of #", "Account of #", "c/o #")),
		row("two_parties", Whole, "persons: beside another party in one field", person, around("# or Marcel Lindgren", "Helga Novotny and #", "# / Acme Bakery", "Marcel Lindgren; #", "# & Helga Novotny")),
		row("two_parties_slip", Slip, "the same with a slip", person, slip(namesOf...), around("# or Marcel Lindgren", "Helga Novotny and #", "# / Acme Bakery")),
	}
	texts := []Family{
		row("memo_text_whole", Whole, "persons: in the text that travels with a payment", person, around(sentences...)),
		row("memo_text_slip", Slip, "the same with a slip", person, slip(namesOf...), around(sentences...)),
		row("memo_text_without_patronymic", Whole, "the same without patronymic and further given names", father, leaveOut(partMiddle, partPatronymic), around(sentences...)),
		row("memo_text_possessive", Whole, "the same with 's", person, around(possessiveSentences...)),
		row("memo_text_between", Whole, "the same, of persons listed as two words with one more between", personOfJust(2), addBehind(partGiven, givenNames), around(sentences...)),
	}
	for i := range texts {
		texts[i].Memo = true
	}
	return append(families, texts...)
}

// productFamilies multiply: for each name the hash takes one way of each dimension.
func productFamilies() []Family {
	removable := []part{partMiddle, partPatronymic, partSecond}
	more := oneOf(always, addFirst(titlesBefore...), addLast(suffixes...), addBehind(partGiven, initialsOf))
	order := oneOf(always, lastFirst, lastComma)
	ornament := oneOf(always, rewrite(strings.ToUpper), rewrite(strings.ToLower), rewrite(once(glyphs)), rewrite(accents.Replace))
	embedding := oneOf(always, around("# or Marcel Lindgren", "account of #", "# Trading"))
	return []Family{
		row("product_whole", Whole, "persons: added, order, ornament and embedding as the hash takes them", personOf(2), more, order, ornament, embedding),
		row("product_slip", Slip, "the same with a word respelt or mistyped", personOf(2), oneOf(respell(namesOf...), slip(namesOf...)), more, order, ornament, embedding),
		row("product_left_out", LeftOut, "the same with one part left out and another respelt", personWith(removable...), leaveOutOne(removable...), respell(partGiven, partFamily), more, order, ornament),
		row("order_ornament", Whole, "persons: order and ornament as the hash takes them", personOf(2), order, ornament),
		row("slip_order_ornament", Slip, "the same with a slip", personOf(2), slip(namesOf...), order, ornament),
	}
}
