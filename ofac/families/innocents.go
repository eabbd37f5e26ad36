package families

import (
	"slices"
	"strings"

	"railguard/ofac"
)

// Innocent names are crossed from tables of frequent names (cultures.go) and made from the list's
// own words. A name that equals a listed one in any form is left out and counted.

// innocentFamilies returns the families that mean nobody listed.
func innocentFamilies() []Family {
	var all []Family
	for i := range cultures {
		c := &cultures[i]
		all = append(all, Family{Name: "innocent_person_" + c.name, Claim: Innocent, About: "frequent " + c.title + " given and family names, crossed", names: c.cross()})
	}
	for i := range nativeCultures {
		c := &nativeCultures[i]
		all = append(all, Family{Name: "innocent_script_" + c.name, Claim: Innocent, About: "frequent " + c.title + ", crossed, in their own letters", made: c.crossUnlisted})
	}
	fixed := func(name, about string, names []string) Family {
		return Family{Name: name, Claim: Innocent, About: about, names: names}
	}
	made := func(name, about string, make func(*Listed) []string) Family {
		return Family{Name: name, Claim: Innocent, About: about, made: make}
	}
	memo := func(name, about string, names func(*Listed) []string) Family {
		return Family{Name: name, Claim: Innocent, About: about, made: names, Memo: true}
	}
	return append(all,
		memo("innocent_memo_person", "the same in the text that travels with a payment", memoNames),
		memo("innocent_memo_text", "goods, services, companies and what people write, in such a text", memoTexts),
		fixed("innocent_person_three_names", "frequent names of all cultures, two given names and a family name", threeNames()),
		made("innocent_person_title", "frequent names of all cultures behind a title", titledNames),
		made("innocent_person_han", "the Chinese names in Han characters", hanNames),
		made("innocent_person_kana", "a seventh of the names with the given name first, in Katakana", kanaNames),
		fixed("innocent_company", "ordinary words and trades, crossed", crossCompanies()),
		made("innocent_company_shared_word", "companies that share one telling word with a listed company of several", sharedWords),
		made("innocent_company_person", "a family name of a listed person, and a trade", familyTrades),
		fixed("innocent_place", "places", splitLines(places)),
		fixed("innocent_place_address", "street addresses in them", addresses()),
		fixed("innocent_product", "goods and services", splitLines(products)),
		fixed("innocent_sentence", "what people write into a memo", splitLines(innocentTexts)),
		made("innocent_mixed_person", "the given name of one listed person and the family name of another", mixedPersons))
}

// innocents returns the names that do not equal a listed one.
func (f *Family) innocents(l *Listed, sample int) (cases []Case, left int) {
	names := f.names
	if f.made != nil {
		names = f.made(l)
	}
	if sample > 0 && len(names) > sample {
		names = slices.Clone(names)
		slices.SortStableFunc(names, func(a, b string) int {
			if hashOf(0, f.Name, a) < hashOf(0, f.Name, b) {
				return -1
			}
			return 1
		})
	}
	for _, name := range names {
		if sample > 0 && len(cases) == sample {
			break
		}
		if l.Equals(name) {
			left++
			continue
		}
		cases = append(cases, Case{Text: name})
	}
	return cases, left
}

// cross returns each given name with each family name.
func (c *culture) cross() (names []string) {
	given, family := splitNames(c.given), splitNames(c.family)
	for _, first := range given {
		for _, last := range family {
			if c.familyFirst {
				names = append(names, last+" "+first)
			} else {
				names = append(names, first+" "+last)
			}
		}
	}
	return names
}

// crossUnlisted crosses the names of a table in letters of their own, and leaves out those that a listed one
// equals in Latin letters: the table of the same name in cultures has them in the same order.
func (c *culture) crossUnlisted(l *Listed) []string {
	names, name := c.cross(), strings.TrimSuffix(c.name, "_in_hebrew")
	at := slices.IndexFunc(cultures, func(other culture) bool { return other.name == name })
	if at < 0 {
		return names
	}
	var kept []string
	for i, latin := range cultures[at].cross() {
		if !l.Equals(latin) {
			kept = append(kept, names[i])
		}
	}
	return kept
}

// splitNames splits a table of names, in which "_" stands for a blank within one.
func splitNames(table string) []string {
	names := strings.Fields(table)
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "_", " ")
	}
	return names
}

func splitLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// threeNames returns names of two given names and a family name, of each culture.
func threeNames() (names []string) {
	for i := range cultures {
		given, family := splitNames(cultures[i].given), splitNames(cultures[i].family)
		for k := range 60 {
			first, second := given[k%len(given)], given[(k*7+3)%len(given)]
			if last := family[(k*5+k/len(given))%len(family)]; first != second {
				names = append(names, first+" "+second+" "+last)
			}
		}
	}
	return names
}

// titledNames puts titles before names. A title hides no listed name, so those that equal one are
// left out here.
func titledNames(l *Listed) (names []string) {
	for i := range cultures {
		for k, name := range cultures[i].cross() {
			if k%11 == 0 && !l.Equals(name) {
				names = append(names, titlesBefore[k%len(titlesBefore)]+" "+name)
			}
		}
	}
	return names
}

// memoNames puts names into sentences. Those that equal a listed one are left out.
func memoNames(l *Listed) (texts []string) {
	for i := range cultures {
		for k, name := range cultures[i].cross() {
			if k%7 == 0 && !l.Equals(name) {
				texts = append(texts, strings.Replace(sentences[(i+k)%len(sentences)], "#", name, 1))
			}
		}
	}
	return texts
}

// memoTexts puts goods, services and companies into sentences.
func memoTexts(*Listed) []string {
	texts := slices.Concat(splitLines(innocentTexts), splitLines(products), addresses())
	for i, name := range crossCompanies() {
		texts = append(texts, strings.Replace(sentences[i%len(sentences)], "#", name, 1))
	}
	return texts
}

func crossCompanies() (names []string) {
	for _, word := range splitNames(companyWords) {
		for _, trade := range splitNames(trades) {
			names = append(names, word+" "+trade)
		}
	}
	return names
}

// Bounds of families that are made from the list.
const (
	sharedMax         = 4000 // Names of one such family.
	tellingLettersMin = 5
)

// sharedWords returns a telling word of listed companies of several words, each with a trade. A
// word that is a listed name by itself is not innocent.
func sharedWords(l *Listed) (names []string) {
	trade := splitNames(trades)
	seen := map[string]bool{}
	for i := range l.Subjects {
		s := &l.Subjects[i]
		if !isCompany(s) || s.count(partWord) < 3 {
			continue
		}
		for _, w := range s.words {
			key := bare(w.text)
			if w.part != partWord || seen[key] || genericNames[key] || !isPlainWord(w.text, tellingLettersMin) || l.Equals(key) {
				continue
			}
			seen[key] = true
			if hashOf(0, "shared", key)%3 == 0 && len(names) < sharedMax {
				names = append(names, titled(w.text)+" "+trade[hashOf(1, key)%uint64(len(trade))])
			}
			break
		}
	}
	return names
}

// familyTrades returns family names of listed persons with a trade behind.
func familyTrades(l *Listed) (names []string) {
	trade := splitNames(trades)
	seen := map[string]bool{}
	for i := range l.Subjects {
		s := &l.Subjects[i]
		if !isPerson(s) {
			continue
		}
		for _, w := range s.words {
			key := bare(w.text)
			if w.part != partFamily || seen[key] || !isPlainWord(w.text, tellingLettersMin) || l.Equals(key) {
				continue
			}
			seen[key] = true
			if hashOf(0, "trade", key)%4 == 0 && len(names) < sharedMax {
				names = append(names, w.text+" "+trade[hashOf(1, key)%uint64(len(trade))])
			}
		}
	}
	return names
}

// mixedPersons returns given names of listed persons with family names of others.
func mixedPersons(l *Listed) (names []string) {
	var persons []*Subject
	for i := range l.Subjects {
		if s := &l.Subjects[i]; s.Type == ofac.Individual && isPerson(s) && len(s.words) == 2 && s.plain() {
			persons = append(persons, s)
		}
	}
	for i, s := range persons {
		if len(names) == sharedMax {
			break
		}
		other := persons[hashOf(s.UID, "mixed", s.Full)%uint64(len(persons))]
		if other.UID != s.UID && i%2 == 0 {
			names = append(names, s.words[0].text+" "+other.words[1].text)
		}
	}
	return names
}

// addresses returns a street in each place.
func addresses() (names []string) {
	streets := []string{"12 Station Road, #", "4 Market Square, #", "Hafenstrasse 9, #", "Avenida Central 201, #", "PO Box 4711, #"}
	for i, place := range splitLines(places) {
		names = append(names, strings.Replace(streets[i%len(streets)], "#", place, 1))
	}
	return names
}
