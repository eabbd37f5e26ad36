package text

import (
	"maps"
	"slices"
	"strings"
)

// legalForm is a class of legal forms that clerks treat as the same.
type legalForm uint8

// The classes. FormCompany stands for no specific form, so it contradicts no other.
const (
	FormNone legalForm = iota
	FormCompany
	formLimited
	formLLC
	formIncorporated
	formCorporation
	formJointStock
	formPLC
	formGmbH
	formAG
	formSA
	formSARL
	formSAS
	formSRL
	formSpA
	formBV
	formNV
	formFreeZone
	formLLP
	formSendirian
	formPT
	formDOO
	formAB
	formOy
	formKK
	formCV
	formEstablishment
	formAS
	formCA
	formSL
	formLda
	formOU
	formCount
)

// formWords is the word for each class in a normal form.
var formWords = [formCount]string{
	FormCompany: "co", formLimited: "ltd", formLLC: "llc", formIncorporated: "inc", formCorporation: "corp",
	formJointStock: "jsc", formPLC: "plc", formGmbH: "gmbh", formAG: "ag", formSA: "sa", formSARL: "sarl",
	formSAS: "sas", formSRL: "srl", formSpA: "spa", formBV: "bv", formNV: "nv", formFreeZone: "fze", formLLP: "llp",
	formSendirian: "sdnbhd", formPT: "pt", formDOO: "doo", formAB: "ab", formOy: "oy", formKK: "kk", formCV: "cv",
	formEstablishment: "est", formAS: "as", formCA: "ca", formSL: "sl", formLda: "lda", formOU: "ou",
}

// formPlace says where in a name the phrase is read as a legal form.
type formPlace uint8

const (
	placeAny   formPlace = iota
	placeEnd             // only if nothing but legal forms follows: SA, AG, AS, CO
	placeEdges           // at the start or the end: AO, OOO, PT
)

// formPhrase is one spelling of a legal form.
type formPhrase struct {
	words []string
	form  legalForm
	place formPlace
}

// formSource lists the spellings after folding: class, place ("any", "end" or "edge"),
// words. Longer phrases are tried first. Source: the forms of the published list and the
// registers' common abbreviations.
const formSource = `
llc any limited liability company
llc any limited liability co
llc any company limited liability
llc any obshchestvo s ogranichennoi otvetstvennostyu
llc any obshchestvo s ogranichennoy otvetstvennostyu
llc any obshchestvo s ogranichennoi otvetstvennostiu
llc any obshchestvo s ogranichennoy otvetstvennostiu
llc any obschestvo s ogranichennoy otvetstvennostyu
llc any obshchestvo c ogranichennoi otvetstvennostyu
llc any obshchestvo c ogranichennoy otvetstvennostyu
llc any obshchestvo ogranichennoy otvetstvennostyu
llc any obschestvo s ogranichennoi otvetstvennostyu
llc any obshchestvo s ogranichenoi otvetstvennostyu
llc any obshestvo s ogranichennoi otvetstvennostyu
llc any obshestvo s ogranichennoy otvetstvennostyu
llc any obshchestva s ogranichennoi otvetstvennostyu
llc any tovarishchestvo s ogranichennoi otvetstvennostyu
llc any tovarystvo z obmezhenoyu vidpovidalnistyu
llc any tavarystva z abmezhavanai adkaznastsyu
llc any obshchestvo s dopolnitelnoi otvetstvennostyu
llc any tovaristvo z obmezhenoyu vidpovidalnistyu
llc any tovarystvo z obmezhenoiu vidpovidalnistiu
llc any tavarystva z abmezhavanay adkaznastsyu
llc any youxian zeren gongsi
llc any cong ty trach nhiem huu han
llc any cong ty tnhh
llc any mkooo
llc any limited liability partnership
llc any limited liability
llc any llc
llc any ltd liability co
llc any l l c
llc edge ooo
llc edge too
llc edge tov
llc edge wll
llc end mchj
llc any osoo
ltd any limited
ltd any ltd
lda any ltda
lda any limitada
ltd any ltd sti
ltd any limited sirketi
ltd any limited sti
ltd any limitd
ltd any private limited
ltd any pvt limited
ltd any pvt ltd
ltd any pte ltd
ltd any pte limited
ltd any pty ltd
ltd any pty limited
ltd any proprietary limited
ltd end pte
ltd end private
ltd end pvt
ltd end pty
ltd end sti
sl any sociedad limitada
sl end sl
ltd end ltee
ltd any youxian gongsi
ltd any gufen youxian gongsi
lda end lda
lda any sociedade limitada
lda any sociedade por quotas
inc any incorporated
inc any inc
inc end incorp
corp any corporation
corp any corp
corp any korporatsiya
corp any corporacion
corp any korporatsia
jsc any joint stock company
jsc any joint stock co
jsc any stock company
jsc any open joint stock company
jsc any closed joint stock company
jsc any public joint stock company
jsc any private joint stock company
jsc any limited joint stock company
jsc any non public joint stock company
jsc any open joint stock co
jsc any closed joint stock co
jsc any public joint stock co
jsc any joint stock
jsc any aktsionernoe obshchestvo
jsc any aktsionernoye obshchestvo
jsc any aktsionerne tovarystvo
jsc any aktsyyanernae tavarystva
jsc any otkrytoe aktsionernoe obshchestvo
jsc any otkrytoye aktsionernoye obshchestvo
jsc any zakrytoe aktsionernoe obshchestvo
jsc any zakrytoye aktsionernoye obshchestvo
jsc any publichnoe aktsionernoe obshchestvo
jsc any publichnoye aktsionernoye obshchestvo
jsc any nepublichnoe aktsionernoe obshchestvo
jsc any aktsionernoe obschestvo
jsc any aktsionernoe obshestvo
jsc any aktsionernoye obschestvo
jsc any aktsionernoye obshestvo
jsc any adkrytae aktsyyanernae tavarystva
jsc any publichne aktsionerne tovarystvo
jsc any pjsc
jsc any ojsc
jsc any cjsc
jsc any jsc
jsc any jsco
jsc any jscb
jsc edge oao
jsc edge pao
jsc edge zao
jsc edge ao
jsc edge aat
jsc edge pat
jsc edge prjsc
jsc edge pjs
jsc any anonim sirketi
jsc any anonim sirket
jsc any anonim sti
jsc any sherkat sahami
jsc any psc
jsc any p j s
jsc any sherkat e sahami
jsc any aktsionerne tovaristvo
jsc any aktsionernaya kompaniya
jsc any cong ty co phan
jsc any mkpao
jsc any mkao
plc any public limited company
plc any public limited co
plc any plc
plc end pcl
gmbh any gesellschaft mit beschrankter haftung
gmbh any gesellschaft mit beschraenkter haftung
gmbh any gmbh
gmbh any gmbh and co kg
gmbh any m b h
gmbh end mbh
gmbh any gesellschaft m b h
gmbh any ges m b h
ag any aktiengesellschaft
ag edge ag
ag end kgaa
ag end kg
ag end se
sa any sociedad anonima
sa any societe anonyme
sa any sociedade anonima
sa any societate anonima
sa any sociedad anonima de capital variable
sa any s a de c v
sa any sa de cv
sa any s de rl de cv
sa any s de r l de c v
sa any sociedad de responsabilidad limitada de capital variable
sa any s a
sa any sapi de cv
sa any sociedad anonima cerrada
sa any s a c
sa any spolka akcyjna
sa any societate pe actiuni
sa any societatea pe actiuni
sa any zartkoruen mukodo reszvenytarsasag
sa any nyilvanosan mukodo reszvenytarsasag
sa end zrt
sa end nyrt
sa end sa
sa end sal
sa any societe anonyme libanaise
sa any s a l
sa any sal offshore
sa end saoc
sa end sak
as end aksjeselskap
as end as
as end aps
as any a s
as any akciova spolecnost
as any akciova spolocnost
ca end ca
ca any compania anonima
ca any c a
nv any naamloze vennootschap
sarl any societe a responsabilite limitee
sarl any sarl
sarl any s a r l
sarl end sarlu
sarl end eurl
sas any societe par actions simplifiee
sas any sociedad por acciones simplificada
sas any s a s
sas end sas
sas end sasu
sas end eu
srl any sociedad de responsabilidad limitada
srl any societa a responsabilita limitata
srl any s r l
srl any srl
srl any s de rl
srl any societate cu raspundere limitata
srl any societatea cu raspundere limitata
srl any spolecnost s rucenim omezenym
srl any spolocnost s rucenim obmedzenym
srl any korlatolt felelossegu tarsasag
srl end kft
srl any s de r l
srl any spr de rl
srl any s p r de r l
srl any sp z o o
srl any sp zoo
srl any spolka z ograniczona odpowiedzialnoscia
srl any s r o
srl any sro
srl any spol s r o
srl end eireli
spa any societa per azioni
spa any s p a
spa end spa
bv any besloten vennootschap
bv any b v
bv end bv
bv end bvba
nv any n v
nv end nv
fze any free zone establishment
fze any free zone company
fze any free zone co
fze any fz llc
fze any fze llc
fze any fzc llc
fze any fzco llc
fze any fz l l c
fze any fze
fze any fzc
fze any fzco
fze any dmcc
fze any f z e
fze any f z c
fze end fz
fze any jlt
llp any limited partnership
llp end llp
llp end lp
llp any slp
sdnbhd any sendirian berhad
sdnbhd any sdn bhd
sdnbhd end bhd
sdnbhd end berhad
pt any perseroan terbatas
pt edge pt
pt end tbk
doo any drustvo s ogranicenom odgovornoscu
doo any drustvo s ogranicenom odgovornosti
doo any drustvo sa ogranicenom odgovornoscu
doo any druzhestvo s ogranichena otgovornost
doo any ednolichno druzhestvo s ogranichena otgovornost
doo any d o o
doo any doo
doo end ooo
doo end eood
doo end ood
doo end ead
doo end ad
doo any dooel
doo end dd
ab any aktiebolag
ab end ab
oy end oy
oy end oyj
ou end ou
ou end uab
ou end sia
ou any osauhing
kk any kabushiki kaisha
kk any kabushiki gaisha
kk end kk
cv end cv
cv any commanditaire vennootschap
est end est
est end establishment
co any company
co any co
co any companies
co any kompaniya
co any kompania
co any compania
co any compagnie
co any sherkat
co any sherkate
co any sirketi
co any sirket
co end cie
`

// formAdjectives may stand before the form of a joint-stock company and then belong to it.
const formAdjectives = "open closed public private limited nonpublic non unlimited otkrytoe otkrytoye zakrytoe zakrytoye publichnoe publichnoye nepublichnoe nepublichnoye publichne privatne adkrytae zakrytae"

// formIndex maps the first word of a phrase to the phrases, longest first.
var formIndex = NewLexicon(parseForms(formSource))

// formsFrom returns the phrases that begin with a word.
func formsFrom(word []byte) []formPhrase {
	phrases, _ := formIndex.LookUp(word)
	return phrases
}

// formSecond maps the second word to the long phrases that may stand anywhere. It finds
// phrases whose first word is misspelt.
var formSecond = NewLexicon(secondWords(formIndex.words))

func secondWords(index map[string][]formPhrase) map[string][]formPhrase {
	second := map[string][]formPhrase{}
	for _, first := range slices.Sorted(maps.Keys(index)) {
		for _, phrase := range index[first] {
			if len(phrase.words) >= slippedWords && len(first) >= slippedLetters && phrase.place == placeAny {
				second[phrase.words[1]] = append(second[phrase.words[1]], phrase)
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(second)) {
		slices.SortStableFunc(second[word], func(a, b formPhrase) int { return len(b.words) - len(a.words) })
	}
	return second
}

func parseForms(source string) map[string][]formPhrase {
	index := map[string][]formPhrase{}
	for line := range strings.Lines(source) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < 3 {
			panic("BUG: malformed legal form: " + line)
		}
		phrase := formPhrase{words: fields[2:], form: formOf(fields[0]), place: placeOf(fields[1])}
		addForm(index, phrase)
		if phrase.form == formJointStock {
			for adjective := range strings.FieldsSeq(formAdjectives) {
				addForm(index, formPhrase{words: append([]string{adjective}, phrase.words...), form: formJointStock, place: phrase.place})
			}
		}
	}
	return index
}

// addForm adds a phrase under its first word, longer phrases first.
func addForm(index map[string][]formPhrase, phrase formPhrase) {
	list := index[phrase.words[0]]
	at := 0
	for at < len(list) && len(list[at].words) >= len(phrase.words) {
		at++
	}
	list = append(list, formPhrase{})
	copy(list[at+1:], list[at:])
	list[at] = phrase
	index[phrase.words[0]] = list
}

func formOf(word string) legalForm {
	for form, canonical := range formWords {
		if canonical == word {
			return legalForm(form)
		}
	}
	panic("BUG: unknown legal form " + word)
}

func placeOf(word string) formPlace {
	switch word {
	case "any":
		return placeAny
	case "end":
		return placeEnd
	case "edge":
		return placeEdges
	}
	panic("BUG: unknown place of a legal form " + word)
}

// FormSet is a set of classes, one bit each.
type FormSet uint32

func (s FormSet) withForm(form legalForm) FormSet { return s | 1<<form }

// Kin adds the classes that clerks use for those of the set, and removes FormCompany.
func (s FormSet) Kin() FormSet {
	if s&(1<<formIncorporated|1<<formCorporation) != 0 {
		s |= 1<<formIncorporated | 1<<formCorporation
	}
	return s &^ (1 << FormCompany)
}

// Contradicts reports whether both sets have a specific form and share none.
func (s FormSet) Contradicts(other FormSet) bool {
	a, b := s.Kin(), other.Kin()
	return a != 0 && b != 0 && a&b == 0
}
