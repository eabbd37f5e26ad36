package families

import "strings"

// The words that families add, and those by which they know parts of names. They were written for
// this room from common knowledge; none is copied from the tables of the matcher.

func wordSet(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
	}
	return set
}

// particles belong to the word behind them.
var particles = wordSet("bin ibn ben bint abu abou umm um al el ul ad ash as at az de del la las los da das do dos di du van von der den ter ten af av mac mc st san santa")

// titles are listed as given names and stand before another one.
var titles = wordSet("sayyed sayyid sayed seyed seyyed syed")

// kinWords are particles that make another name of the word behind them.
var kinWords = wordSet("bin ibn ben bint abu abou umm um mac mc st san santa")

// boundParticles are written together with the word behind them.
var boundParticles = []string{"al-", "el-", "ul-", "ad-", "ar-", "as-", "ash-", "at-", "az-", "an-", "d'", "o'"}

// legalForms are the legal forms of companies, without dots and in small letters, and their
// spelling in full ("" where a form has no other).
var legalForms = map[string]string{
	"llc": "LIMITED LIABILITY COMPANY", "ltd": "LIMITED", "limited": "LTD", "inc": "INCORPORATED", "incorporated": "INC", "corp": "CORPORATION", "corporation": "CORP",
	"co": "COMPANY", "company": "CO", "plc": "PUBLIC LIMITED COMPANY", "llp": "LIMITED LIABILITY PARTNERSHIP", "lp": "LIMITED PARTNERSHIP", "gmbh": "GESELLSCHAFT MIT BESCHRAENKTER HAFTUNG",
	"ag": "AKTIENGESELLSCHAFT", "sa": "SOCIEDAD ANONIMA", "srl": "SOCIEDAD DE RESPONSABILIDAD LIMITADA", "sarl": "SOCIETE A RESPONSABILITE LIMITEE", "sas": "SOCIEDAD POR ACCIONES SIMPLIFICADA",
	"spa": "SOCIETA PER AZIONI", "bv": "BESLOTEN VENNOOTSCHAP", "nv": "NAAMLOZE VENNOOTSCHAP", "oy": "OSAKEYHTIO", "ab": "AKTIEBOLAG", "as": "ANONIM SIRKETI", "doo": "DRUSTVO S OGRANICENOM ODGOVORNOSCU",
	"ooo": "LIMITED LIABILITY COMPANY", "oao": "OPEN JOINT STOCK COMPANY", "zao": "CLOSED JOINT STOCK COMPANY", "ao": "JOINT STOCK COMPANY", "pao": "PUBLIC JOINT STOCK COMPANY",
	"pjsc": "PUBLIC JOINT STOCK COMPANY", "ojsc": "OPEN JOINT STOCK COMPANY", "cjsc": "CLOSED JOINT STOCK COMPANY", "jsc": "JOINT STOCK COMPANY", "fze": "FREE ZONE ESTABLISHMENT", "fzco": "FREE ZONE COMPANY",
	"fzc": "FREE ZONE COMPANY", "fzllc": "FREE ZONE LLC", "kft": "KORLATOLT FELELOSSEGU TARSASAG", "pte": "PRIVATE", "pvt": "PRIVATE", "pty": "PROPRIETARY", "sal": "SOCIETE ANONYME LIBANAISE", "ou": "OSAUHING", "eood": "EOOD", "ood": "OOD",
}

// shortForms are the forms for which a form of several words is put.
var shortForms = []string{"llc", "llp", "lp", "plc", "pjsc", "ojsc", "cjsc", "jsc", "fzco"}

// longForms are legal forms of several words, the longer ones first.
var longForms = [][]string{
	strings.Fields("obshchestvo s ogranichennoi otvetstvennostyu"), strings.Fields("obshchestvo s ogranichennoy otvetstvennostyu"), strings.Fields("society with limited liability"),
	strings.Fields("public joint stock company"), strings.Fields("open joint stock company"), strings.Fields("closed joint stock company"), strings.Fields("private joint stock company"),
	strings.Fields("zakrytoe aktsionernoe obshchestvo"), strings.Fields("otkrytoe aktsionernoe obshchestvo"), strings.Fields("publichnoe aktsionernoe obshchestvo"),
	strings.Fields("limited liability company"), strings.Fields("limited liability partnership"), strings.Fields("joint stock company"), strings.Fields("free zone company"),
	strings.Fields("aktsionernoe obshchestvo"), strings.Fields("limited sirketi"), strings.Fields("anonim sirketi"), strings.Fields("private limited"), strings.Fields("sal offshore"), strings.Fields("joint stock"),
}

// initialsOfForms are initials that spell a legal form.
var initialsOfForms = wordSet("S.A. A.S. N.V. A.G. A.B. A.O. S.P.A. L.P. L.L.C. O.Y. B.V. S.R.L. O.A. P.C. A.D.")

// genericNames are words that say what a company does and not which it is.
var genericNames = wordSet("group company trading international general industrial industries holding holdings bank exchange services service shipping marine maritime transport corporation foundation organization organisation the of and for")

var (
	givenNames = []string{"Alejandro", "Ricardo", "Mustafa", "Karim", "Viktor", "Stefan", "Emmanuel", "Samuel", "Rashid", "Daniel", "Antonio", "Farid", "Igor", "Tomas", "Yusuf", "Marcel"}
	lastNames  = []string{"Ferreira", "Haddad", "Lindgren", "Okafor", "Petrenko", "Salazar", "Tanaka", "Whitfield", "Yilmaz", "Novotny"}
	nicknames  = []string{"Barbecue", "Tiger", "El Flaco", "Lefty", "The Engineer", "Smiley", "Tony", "Nene"}
	initialsOf = []string{"B.", "J.", "K.", "R.", "T.", "W.", "Z."}

	titlesBefore    = []string{"Mr.", "Mrs", "Dr.", "Sheikh", "Gen.", "General", "President", "Haji", "Sayyid", "Mullah", "Colonel", "Senor", "Prof.", "Minister", "H.E.", "Capt."}
	honorificsAfter = []string{"Pasha", "Bey", "Sahib", "Effendi", "Esq.", "PhD", "MD", "Agha", "ji", "san", "Ustad", "QC"}
	suffixes        = []string{"Jr.", "jr", "Sr.", "II", "III", "Junior", "Filho", "Neto", "nr. 2"}

	cities     = []string{"Moscow", "Dubai", "Hong Kong", "Tehran", "Istanbul", "Damascus", "Panama", "Caracas", "Singapore", "Beirut"}
	countries  = []string{"Russia", "UAE", "Turkey", "China", "Cyprus", "Switzerland"}
	formsAdded = []string{"LLC", "Ltd", "Inc", "GmbH", "S.A.", "FZE"}

	sentences = []string{
		"payment to # for services", "invoice 4711 of # for March", "transfer from # regarding the order of last week", "rent for the office of # in April", "please pay # before Friday",
		"deposit for # as agreed", "for the attention of #, room 12", "purchase of goods from #, second part",
	}
	possessiveSentences = []string{"contribution to #'s birthday", "payment for #'s car", "rent of #'s house in June", "refund of #'s ticket"}
	shops               = []string{"Shop", "Bakery", "Cafe", "Store", "Garage", "Studio"}
)

// synonyms are words of companies that people put for one another.
var synonyms = map[string]string{
	"company": "corporation", "corporation": "company", "trading": "commerce", "commercial": "trading", "industries": "industry", "industry": "industries", "group": "holding", "holding": "group",
	"shipping": "marine", "marine": "shipping", "transport": "transportation", "transportation": "transport", "investment": "investments", "investments": "investment", "services": "service", "service": "services",
	"organization": "organisation", "organisation": "organization", "center": "centre", "centre": "center", "foundation": "fund", "import": "imports", "export": "exports", "petroleum": "oil", "oil": "petroleum",
	"technology": "technologies", "technologies": "technology", "airlines": "airways", "airways": "airlines", "institute": "institution", "factory": "plant", "plant": "factory", "electronics": "electronic",
}
