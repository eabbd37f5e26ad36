package families

import (
	"strings"

	"railguard/ofac"
)

func isCompany(s *Subject) bool { return s.Type == ofac.Company && s.Script == latin }

// companyOf is a company with at least that many words beside its legal form.
func companyOf(least int) func(*Subject) bool {
	return func(s *Subject) bool { return isCompany(s) && s.count(partWord) >= least }
}

// oneWord is a company of one word that is no generic one, beside its legal form.
func oneWord(s *Subject) bool {
	if !isCompany(s) || s.count(partWord) != 1 {
		return false
	}
	for i := range s.words {
		if s.words[i].part == partWord {
			return isPlainWord(s.words[i].text, 4) && !genericNames[bare(s.words[i].text)]
		}
	}
	return false
}

func withForm(s *Subject) bool    { return companyOf(1)(s) && s.count(partForm) > 0 }
func withoutForm(s *Subject) bool { return companyOf(2)(s) && s.count(partForm) == 0 }

// companyFamilies write companies of several words.
func companyFamilies() []Family {
	several := companyOf(2)
	return []Family{
		row("company_small_letters", Whole, "companies of two words: in small letters", several, rewrite(strings.ToLower)),
		row("company_spaces_lost", Whole, "companies of two words: all words as one", several, withoutSpaces),
		row("company_hyphens", Whole, "companies of two words: hyphens between", several, joinedBy("-")),
		row("company_reversed", Information, "companies of two words: reversed", several, reversed),
		row("form_dropped", Whole, "companies with a legal form: without it", and(withForm, several), dropForm),
		row("form_swapped", Whole, "companies with a legal form: another one", and(withForm, several), dropForm, addLast(formsAdded...)),
		row("form_added", Whole, "companies without a legal form: with one", withoutForm, addLast(formsAdded...)),
		row("form_expanded", Whole, "companies with a legal form: in full, or abbreviated", and(withForm, several), expandForm),
		row("form_first", Whole, "companies with a legal form: it stands before the name", and(withForm, several), formFirst),
		row("ampersand", Whole, "companies with AND or &: the other one", several, swapAmpersand),
		row("synonym", Whole, "companies: one generic word for another", several, swapSynonym),
		row("company_words_swapped", Whole, "companies of three words: two neighbours swapped", companyOf(3), swapNeighbours),
		row("company_group", Whole, "companies of two words: Group, International or Holdings behind", several, dropForm, addLast("Group", "International", "Holdings")),
		row("company_city", Whole, "companies of two words: a city behind", several, addLast(cities...)),
		row("company_country", Whole, "companies of two words: a country in brackets", several, func(d *draft) bool { d.line = d.text() + " (" + countries[d.choose(len(countries))] + ")"; return true }),
		row("company_branch", Whole, "companies of two words: a branch", several, around("#, Dubai Branch", "# - Representative Office", "Branch of #", "# Headquarters")),
		row("company_the", Whole, "companies: The before, a numeral or a year behind", several, oneOf(addFirst("The"), addLast("2"), addLast("2024"))),
		row("company_domain", Whole, "companies of two words: as a domain", several, dropForm, asDomain(".com", ".ru", ".io", ".ae")),
		row("company_handle", Whole, "companies of two words: AsOneWord", several, asHandle),
		row("company_possessive", Whole, "companies of two words: with 's and a word", several, dropForm, around("#'s Shop", "#'s office", "#'s account")),
		row("company_generic_out", LeftOut, "companies of three words: a generic word left out", companyOf(3), dropGeneric),
		row("company_word_out", Information, "companies of three words: a word left out", companyOf(3), leaveOutOne(partWord)),
		row("company_respelt", Slip, "companies of two words: one word respelt", several, respell(partWord)),
		row("company_slip", Slip, "companies of two words: a slip in one word", several, slip(partWord)),
		row("company_slip_each", Slip, "companies of two words: a slip in each word", several, varyEach(slipped, slipLettersMin, partWord)),
		row("company_slip_form", Slip, "companies of two words: a slip, and another legal form", and(withForm, several), slip(partWord), dropForm, addLast(formsAdded...)),
		row("company_slip_group", Slip, "companies of two words: a slip, and Group behind", several, dropForm, slip(partWord), addLast("Group", "International", "Holdings")),
		row("company_memo", Whole, "companies of two words: in a sentence, as the name of the counterparty", several, around(sentences...)),
		row("company_memo_slip", Slip, "the same with a slip", several, slip(partWord), around(sentences...)),
		{Name: "company_memo_text", Claim: Whole, About: "the same in the text that travels with a payment", Memo: true, of: several, steps: []step{around(sentences...)}},
		row("company_two_parties", Whole, "companies of two words: beside another party in one field", several, around("# or Marcel Lindgren", "# / Acme Bakery", "Marcel Lindgren; #")),
		row("company_cut_small", Whole, "companies of more than 35 bytes: cut, in small letters", companyOf(2), cutAt(35), rewrite(strings.ToLower)),
		row("company_look_alike", Whole, "companies: one Cyrillic letter that looks alike", several, rewrite(once(glyphs))),
		row("company_product", Whole, "companies of two words: legal form, order, ornament and embedding as the hash takes them", several,
			oneOf(always, dropForm, seq(dropForm, addLast(formsAdded...))), oneOf(always, rewrite(strings.ToLower), rewrite(once(glyphs))), oneOf(always, around("account of #", "# (Dubai)", "# or Marcel Lindgren"))),
	}
}

// genericFamilies write companies of one word beside a generic word.
func genericFamilies() []Family {
	one := func(name, about string, steps ...step) Family {
		return row("company_generic_"+name, Whole, "companies of one word: "+about, oneWord, append([]step{dropForm}, steps...)...)
	}
	return []Family{
		one("ltd", "Ltd", addLast("Ltd")),
		one("group", "Group", addLast("Group")),
		one("international", "International", addLast("International")),
		one("trading_llc", "Trading LLC", addLast("Trading LLC")),
		one("city", "a city", addLast(cities...)),
		one("exchange", "Exchange", addLast("Exchange")),
		one("bank", "Bank", addLast("Bank")),
		one("domain", "as a domain", asDomain(".com", ".io", ".ru", ".org")),
		one("memo", "in a sentence", around(sentences...)),
		one("jsc_city", "PJSC and a city", addLast("PJSC Moscow", "OJSC Minsk", "FZE Dubai")),
		one("the", "The, or a generic word, before", addFirst("The", "Bank", "Company", "Group")),
		row("company_generic_slip", Slip, "companies of one word: a slip, and Ltd", oneWord, dropForm, slip(partWord), addLast("Ltd")),
	}
}

// dropForm leaves out the legal forms, and the comma before one.
func dropForm(d *draft) bool {
	for places := d.find(partForm); len(places) > 0; places = d.find(partForm) {
		d.remove(places[0])
	}
	last := &d.words[len(d.words)-1]
	last.text = strings.TrimRight(last.text, ",")
	return true
}

// lastForm returns where the legal form at the end of the name begins; 0: there is none.
func (d *draft) lastForm() int {
	at := len(d.words)
	for at > 0 && d.words[at-1].part == partForm {
		at--
	}
	if at == len(d.words) {
		return 0
	}
	return at
}

// expandForm writes a legal form of one word at the end in full, or one in full short.
func expandForm(d *draft) bool {
	at := d.lastForm()
	if at == 0 {
		return false
	}
	key := ""
	for i := at; i < len(d.words); i++ {
		key += bare(d.words[i].text) + " "
	}
	key = strings.TrimSuffix(key, " ")
	other := legalForms[key]
	if other == "" {
		for _, short := range shortForms {
			if strings.EqualFold(legalForms[short], key) {
				other = strings.ToUpper(short)
				break
			}
		}
	}
	if other == "" {
		return false
	}
	d.words = append(d.words[:at:at], word{"", other, partForm})
	return true
}

// formFirst writes a legal form at the end before the name.
func formFirst(d *draft) bool {
	at := d.lastForm()
	if at == 0 {
		return false
	}
	words := append([]word(nil), d.words[at:]...)
	words = append(words, d.words[:at]...)
	last := &words[len(words)-1]
	last.text = strings.TrimRight(last.text, ",")
	d.words = words
	return true
}

// swapAmpersand writes AND for & and & for AND.
func swapAmpersand(d *draft) bool {
	for i := range d.words {
		switch strings.ToLower(d.words[i].text) {
		case "&":
			d.words[i].text = "and"
			return true
		case "and":
			d.words[i].text = "&"
			return true
		}
	}
	return false
}

// swapSynonym writes a synonym for the first word that has one.
func swapSynonym(d *draft) bool {
	for i := range d.words {
		if other := synonyms[bare(d.words[i].text)]; other != "" && d.words[i].part == partWord {
			d.words[i].text = likeCase(d.words[i].text, other)
			return true
		}
	}
	return false
}

// swapNeighbours swaps two neighbouring words of the name.
func swapNeighbours(d *draft) bool {
	places := d.find(partWord)
	if len(places) < 3 {
		return false
	}
	at := d.choose(len(places) - 1)
	i, k := places[at], places[at+1]
	d.words[i], d.words[k] = d.words[k], d.words[i]
	return true
}

// dropGeneric leaves out one generic word where two others remain.
func dropGeneric(d *draft) bool {
	telling, generic := 0, -1
	for _, at := range d.find(partWord) {
		if genericNames[bare(d.words[at].text)] {
			generic = at
		} else {
			telling++
		}
	}
	if generic < 0 || telling < 2 {
		return false
	}
	d.remove(generic)
	return true
}

// vesselFamilies write the names of vessels and aircraft.
func vesselFamilies() []Family {
	vessel := func(s *Subject) bool { return s.Type == ofac.Vessel && s.Script == latin }
	single := func(s *Subject) bool { return vessel(s) && len(s.words) == 1 }
	several := func(s *Subject) bool { return vessel(s) && len(s.words) > 1 }
	aircraft := func(s *Subject) bool { return s.Type == ofac.Aircraft && s.Script == latin }
	return []Family{
		row("ship_prefix", Whole, "vessels: MV, M/V, MT, M/T or Vessel before", vessel, around("MV #", "M/V #", "MT #", "M/T #", "Vessel #", "M.V. #")),
		row("ship_prefix_one_word", Whole, "vessels of one word: the same", single, around("MV #", "M/V #", "MT #", "M/T #", "Vessel #", "M.V. #")),
		row("ship_prefix_mt", Whole, "vessels: MT before", vessel, around("MT #")),
		row("ship_small_letters", Whole, "vessels: in small letters", vessel, rewrite(strings.ToLower)),
		row("ship_quoted", Whole, "vessels: between quotation marks, or behind a kind", vessel, around(`"#"`, "tanker #", "ship #", "LPG/C #")),
		row("ship_slip", Slip, "vessels of two words: a slip", several, slip(partWord)),
		row("ship_memo", Information, "vessels: in a sentence", vessel, around("charter of MV # from Fujairah", "bunkers for # in May")),
		row("aircraft_hyphen_lost", Whole, "aircraft: hyphens lost", aircraft, rewrite(func(text string) string { return strings.ReplaceAll(text, "-", "") })),
		row("aircraft_small_letters", Whole, "aircraft: in small letters", aircraft, rewrite(strings.ToLower)),
	}
}

// scriptFamilies write names of which the list has Latin alone in other scripts, and listed names
// of other scripts as they are.
func scriptFamilies() []Family {
	latinPerson := func(s *Subject) bool { return isPerson(s) && s.latinOnly() }
	slavic := func(s *Subject) bool { return latinPerson(s) && looksSlavic(s) }
	return []Family{
		row("other_script", Whole, "names listed in another script than Latin: as listed", func(s *Subject) bool { return s.Script != latin }, asListed),
		row("cyrillic_of_latin", Whole, "persons of Slavic names listed in Latin alone: in Russian letters", slavic, inCyrillic),
		row("cyrillic_last_first", Whole, "the same, the family name first", slavic, lastFirst, inCyrillic),
		row("cyrillic_of_foreign", Whole, "other persons listed in Latin alone: in Russian letters", func(s *Subject) bool { return latinPerson(s) && !looksSlavic(s) && s.plain() }, inCyrillic),
		row("han_of_pinyin", Whole, "persons of pinyin syllables listed in Latin alone: a character for each", latinPerson, inSyllables(hanSyllables)),
		row("han_company", Whole, "companies listed in Latin alone, of words that a translator knows and of pinyin: in Han characters", chineseCompany, inHan),
		row("hangul_of_korean", Whole, "persons of Korean syllables listed in Latin alone: in Hangul", latinPerson, inSyllables(hangulSyllables)),
		row("kana_of_latin", Information, "persons listed in Latin alone, without particles: in Katakana", func(s *Subject) bool { return latinPerson(s) && s.plain() && len(s.words) == 2 }, inKana),
		row("han_simplified", Whole, "names listed in traditional characters: simplified", func(s *Subject) bool { return s.Script == "Chinese Traditional" }, asListed, otherHan(true)),
		row("han_traditional", Whole, "names listed in simplified characters: traditional", func(s *Subject) bool { return s.Script == "Chinese Simplified" }, asListed, otherHan(false)),
	}
}

var slavicEndings = []string{"ov", "ova", "ev", "eva", "yev", "yeva", "enko", "sky", "skiy", "skaya", "skyi", "chuk", "vich", "vych", "ovna", "evna"}

// looksSlavic reports whether a family name or a patronymic ends like a Slavic one.
func looksSlavic(s *Subject) bool {
	for i := range s.words {
		if s.words[i].part < partPatronymic {
			continue
		}
		for _, ending := range slavicEndings {
			if len(s.words[i].text) > len(ending)+2 && strings.HasSuffix(strings.ToLower(s.words[i].text), ending) {
				return true
			}
		}
	}
	return false
}
