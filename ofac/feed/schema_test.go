package feed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// edit replaces one string of a sample file by another.
type edit struct {
	from, to string
	reason   Reason
	detail   string
}

// schemaTraps are changes of the samples that every parser must refuse.
var schemaTraps = map[string]map[string]edit{
	"ENHANCED": {
		"no date":              {"<dataAsOf>2026-02-03T00:00:00</dataAsOf>", "", ReasonSchema, "no dataAsOf"},
		"date is none":         {"2026-02-03T00:00:00", "yesterday", ReasonSchema, `"yesterday" is no date`},
		"date beyond reason":   {"2026-02-03T00:00:00", "9999-02-03T00:00:00", ReasonSchema, "is no date"},
		"another list":         {">SDN List</sanctionsList>\n      </sanctionsLists>\n    </filters>", ">SSI List</sanctionsList></sanctionsLists></filters>", ReasonFamily, "SSI List"},
		"both lists":           {"</sanctionsLists>\n    </filters>", `<sanctionsList refId="91512">Consolidated List</sanctionsList></sanctionsLists></filters>`, ReasonFamily, "both"},
		"some programmes":      {"</filters>", `<sanctionsPrograms><sanctionsProgram refId="1">CUBA</sanctionsProgram></sanctionsPrograms></filters>`, ReasonFamily, "some programmes"},
		"entity twice":         {`<entity id="9100001">`, `<entity id="9100002">`, ReasonSchema, "entity 9100002 twice"},
		"entity without id":    {`<entity id="9100001">`, `<entity>`, ReasonSchema, "without its attribute id"},
		"entity id 0":          {`<entity id="9100001">`, `<entity id="0">`, ReasonSchema, "id 0"},
		"entity id of 33 bits": {`<entity id="9100001">`, `<entity id="4294967296">`, ReasonSchema, "a number was expected"},
		"negative id":          {`<entity id="9100001">`, `<entity id="-1">`, ReasonSchema, "a number was expected"},
		"unknown type":         {`<entityType refId="602">Vessel`, `<entityType refId="9">Spacecraft`, ReasonSchema, "Spacecraft"},
		"no type":              {`<entityType refId="602">Vessel</entityType>`, "", ReasonSchema, "has no type"},
		"unknown alias type":   {">F.K.A.<", ">W.K.A.<", ReasonSchema, "W.K.A."},
		"no primary name":      {"<isPrimary>true</isPrimary>\n          <isLowQuality>", "<isPrimary>false</isPrimary><isLowQuality>", ReasonSchema, "0 primary names"},
		"two primary names":    {"<isPrimary>false</isPrimary>\n          <aliasType refId=\"1401\">F.K.A.</aliasType>", "<isPrimary>true</isPrimary>", ReasonSchema, "2 primary names"},
		"flag is no flag":      {"<isLowQuality>true<", "<isLowQuality>perhaps<", ReasonSchema, "true or false"},
		"no quality":           {"<isLowQuality>true</isLowQuality>", "", ReasonSchema, "without isPrimary or isLowQuality"},
		"no script":            {`<script refId="220">Cyrillic</script>`, "", ReasonSchema, "without a script"},
		"empty name":           {">МУСТЕРМАН, Макс<", "> <", ReasonSchema, "empty name"},
		"name is an element":   {">МУСТЕРМАН, Макс<", "><b/><", ReasonSchema, "text was expected"},
		"gigantic name":        {"МУСТЕРМАН, Макс", strings.Repeat("N", NameBytesMax+1), ReasonTooLarge, "longer than 1000 bytes"},
		"gigantic part":        {">Mustermann<", ">" + strings.Repeat("N", NameBytesMax+1) + "<", ReasonTooLarge, "longer than 1000 bytes"},
		"gigantic word":        {">Cyrillic<", ">" + strings.Repeat("N", LabelBytesMax+1) + "<", ReasonTooLarge, "longer than 256 bytes"},
		"gigantic address":     {"0x00", strings.Repeat("0", AddressBytesMax), ReasonSchema, "digital currency address"},
		"empty address":        {"<value>1SampleSampleSampleSampleSample11</value>", "<value/>", ReasonSchema, "has no address"},
		"no address":           {"<value>1SampleSampleSampleSampleSample11</value>", "", ReasonSchema, "has no address"},
		"no ticker":            {"Digital Currency Address - ETH", "Digital Currency Address - ", ReasonSchema, "an empty word"},
		"on no list":           {`<sanctionsList refId="1550" id="1" datePublished="2026-01-02">SDN List</sanctionsList>`, "", ReasonSchema, "on no list"},
		"text among elements":  {"<entities>", "<entities>hello", ReasonSchema, "elements were expected"},
	},
	"ADVANCED": {
		"no date":              {`<DateOfIssue CalendarTypeID="1"><Year>2026</Year><Month>2</Month><Day>3</Day></DateOfIssue>`, "", ReasonSchema, "no DateOfIssue"},
		"31 February":          {"<Day>3</Day>", "<Day>31</Day>", ReasonSchema, "2026-2-31 is no date"},
		"month is a word":      {"<Month>2</Month>", "<Month>May</Month>", ReasonSchema, "a number was expected"},
		"no party types":       {"PartySubTypeValues", "PartySubTypeValuesX", ReasonMalformed, "was expected"},
		"no entries":           {"<SanctionsEntries>", "<SanctionsEntries/><Other>", ReasonMalformed, "was expected"},
		"party twice":          {`<DistinctParty FixedRef="9100001">`, `<DistinctParty FixedRef="9100002">`, ReasonSchema, "entity 9100002 twice"},
		"profile twice":        {`<Profile ID="9100001"`, `<Profile ID="9100002"`, ReasonSchema, "profile 9100002 twice"},
		"unknown party type":   {`PartySubTypeID="1"`, `PartySubTypeID="9"`, ReasonSchema, "unknown type"},
		"a party that is none": {">Vessel</PartySubType>", ">Location</PartySubType>", ReasonSchema, "unknown type"},
		"unknown alias type":   {`AliasTypeID="1401"`, `AliasTypeID="77"`, ReasonSchema, "AliasTypeID 77"},
		"alias type is new":    {">F.K.A.<", ">W.K.A.<", ReasonSchema, "W.K.A."},
		"no quality":           {` LowQuality="true"`, "", ReasonSchema, "without its attribute LowQuality"},
		"quality is no flag":   {`LowQuality="true"`, `LowQuality="maybe"`, ReasonSchema, "true or false"},
		"unknown script":       {`ScriptID="220" ScriptStatusID`, `ScriptID="7" ScriptStatusID`, ReasonSchema, "ScriptID 7"},
		"unknown part group":   {`NamePartGroupID="91000011"`, `NamePartGroupID="5"`, ReasonSchema, "unknown group 5"},
		"unknown part type":    {`NamePartTypeID="1524"`, `NamePartTypeID="5"`, ReasonSchema, "NamePartTypeID 5"},
		"unknown status":       {`DocNameStatusID="1"`, `DocNameStatusID="9"`, ReasonSchema, "DocNameStatusID 9"},
		"not primary":          {`DocNameStatusID="1"`, `DocNameStatusID="2"`, ReasonSchema, "0 primary names"},
		"empty name":           {">ZZ-SAM<", "> <", ReasonSchema, "empty name"},
		"empty address":        {">1SampleSampleSampleSampleSample11<", "> <", ReasonSchema, "digital currency address of 0 bytes"},
		"no address":           {`<VersionDetail DetailTypeID="1432">1SampleSampleSampleSampleSample11</VersionDetail>`, "", ReasonSchema, "has no address"},
		"unknown list":         {`ProfileID="27307" ListID="1550"`, `ProfileID="27307" ListID="3"`, ReasonSchema, "ListID 3"},
		"entry of nobody":      {`ProfileID="27307" ListID`, `ProfileID="5" ListID`, ReasonSchema, "profile 5"},
		"no entry":             {`ProfileID="27307" ListID`, `ProfileID="9100001" ListID`, ReasonSchema, "party 27307 has no sanctions entry"},
		"a mixed list":         {`ProfileID="27307" ListID="1550"`, `ProfileID="27307" ListID="91512"`, ReasonFamily, "share neither"},
		"parties come first":   {"<ReferenceValueSets>", `<DistinctParties><DistinctParty FixedRef="1"/></DistinctParties><ReferenceValueSets>`, ReasonSchema, "before the reference values"},
	},
}

func TestSchemaTraps(t *testing.T) {
	for _, p := range parsers {
		good := string(sample(t, p.sample))
		for name, e := range schemaTraps[p.name] {
			t.Run(p.name+" "+name, func(t *testing.T) {
				require.Contains(t, good, e.from, "the sample does not hold what the test changes")
				_, err := p.parse(strings.NewReader(strings.Replace(good, e.from, e.to, 1)))
				requireRefused(t, err, e.reason, e.detail)
			})
		}
	}
}

func TestEmptyListsAreRefused(t *testing.T) {
	enhanced := fmt.Sprintf(`<sanctionsData xmlns=%q><publicationInfo><dataAsOf>2026-01-01T00:00:00</dataAsOf></publicationInfo>%%s</sanctionsData>`, namespaceEnhanced)
	for _, body := range []string{"", "<entities/>", "<entities></entities>"} {
		_, err := ParseENHANCED(strings.NewReader(fmt.Sprintf(enhanced, body)))
		requireRefused(t, err, ReasonEmpty, "an empty list")
	}
	advanced := fmt.Sprintf(`<Sanctions xmlns=%q><DateOfIssue><Year>2026</Year><Month>1</Month><Day>1</Day></DateOfIssue>%%s</Sanctions>`, namespaceAdvanced)
	for _, body := range []string{"", "<ReferenceValueSets><PartySubTypeValues/></ReferenceValueSets><DistinctParties/>"} {
		_, err := ParseADVANCED(strings.NewReader(fmt.Sprintf(advanced, body)))
		requireRefused(t, err, ReasonEmpty, "an empty list")
	}
}

// repeated returns head, n copies of body formatted with their numbers, and tail.
func repeated(head, body, tail string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, body, i+1)
	}
	return b.String() + tail
}

func TestBoundsOnEntities(t *testing.T) {
	head := fmt.Sprintf(`<sanctionsData xmlns=%q><publicationInfo><dataAsOf>2026-01-01T00:00:00</dataAsOf></publicationInfo><entities>`, namespaceEnhanced)
	entity := func(names, features string) string {
		return `<entity id="%d"><generalInfo><entityType refId="601">Entity</entityType></generalInfo><sanctionsLists><sanctionsList refId="1550">SDN List</sanctionsList></sanctionsLists>` +
			`<names><name id="1"><isPrimary>true</isPrimary><isLowQuality>false</isLowQuality><translations>` +
			`<translation id="1"><isPrimary>true</isPrimary><script refId="1">Latin</script><formattedFullName>A</formattedFullName></translation>` + names +
			`</translations></name></names><features>` + features + `</features></entity>`
	}
	one := func(names, features string) string { return strings.ReplaceAll(entity(names, features), "%d", "1") }
	const tail = "</entities></sanctionsData>"
	extra := `<translation id="%d"><isPrimary>false</isPrimary><script refId="1">Latin</script><formattedFullName>A</formattedFullName></translation>`
	feature := `<feature id="%d"><type featureTypeId="1">Digital Currency Address - XBT</type><value>x</value></feature>`
	part := `<namePart id="%d"><type refId="1">Entity Name</type><value>x</value></namePart>`

	for name, test := range map[string]struct {
		text  func(n int) string
		bound int
	}{
		"names of one": {func(n int) string {
			return head + strings.Replace(one("@", ""), "@", repeated("", extra, "", n), 1) + tail
		}, NamesPerEntityMax - 1},
		"addresses of one": {func(n int) string {
			return head + strings.Replace(one("", "@"), "@", repeated("", feature, "", n), 1) + tail
		}, AddressesPerEntityMax},
		"parts of one name": {func(n int) string {
			return head + strings.Replace(one("", ""), "</translation>", repeated("<nameParts>", part, "</nameParts></translation>", n), 1) + tail
		}, PartsPerNameMax},
		"lists of one": {func(n int) string {
			return head + strings.Replace(one("", ""), "<sanctionsLists>", repeated("<sanctionsLists>", `<sanctionsList refId="%d">SDN List</sanctionsList>`, "", n), 1) + tail
		}, LabelsPerEntityMax - 1},
		"entities": {func(n int) string { return repeated(head, entity("", ""), tail, n) }, EntitiesMax},
	} {
		t.Run(name, func(t *testing.T) {
			if test.bound == EntitiesMax {
				skipHeavy(t)
			}
			_, err := ParseENHANCED(strings.NewReader(test.text(test.bound)))
			require.NoError(t, err)
			_, err = ParseENHANCED(strings.NewReader(test.text(test.bound + 1)))
			requireRefused(t, err, ReasonTooLarge)
		})
	}
}

func TestFamilyByFilter(t *testing.T) {
	good := string(sample(t, "enhanced/SDN_ENHANCED.XML"))
	list, err := ParseENHANCED(strings.NewReader(good))
	require.NoError(t, err)
	require.Equal(t, ofac.ListSDN, list.Family)

	from := strings.Index(good, "<sanctionsLists>\n        <sanctionsList refId=\"1550\">")
	to := strings.Index(good, "</filters>")
	silent := good[:from] + good[to:] // The schema allows a file without filters.
	list, err = ParseENHANCED(strings.NewReader(silent))
	require.NoError(t, err)
	require.Zero(t, list.Family)
	loaded, err := LoadFiles([]File{{"sdn_enhanced.xml", []byte(silent)}}, nil)
	require.NoError(t, err)
	require.Equal(t, 5, loaded.Summary.SDN.Entities)
	_, err = LoadFiles([]File{{"upload", []byte(silent)}}, nil)
	requireRefused(t, err, ReasonName, "does not tell SDN from CONS")
}

func TestFullName(t *testing.T) {
	part := func(kind, value string) ofac.NamePart { return ofac.NamePart{Kind: kind, Value: value} }
	for _, test := range []struct {
		want  string
		parts []ofac.NamePart
	}{
		{"", nil},
		{"EXAMPLE & SONS LLC", []ofac.NamePart{part("Entity Name", "Example & Sons LLC")}},
		{"ONE TWO", []ofac.NamePart{part("Entity Name", "One"), part("Entity Name", "Two")}},
		{"SAMPLE STAR", []ofac.NamePart{part("Vessel Name", "Sample Star")}},
		{"ZZ-SAM", []ofac.NamePart{part("Aircraft Name", "zz-sam")}},
		{"DOE, John", []ofac.NamePart{part("Last Name", "Doe"), part("First Name", "John")}},
		{"DOE, John Q. R.", []ofac.NamePart{part("Middle Name", "Q."), part("Last Name", "Doe"), part("Middle Name", "R."), part("First Name", "John")}},
		{"THE SAMPLE", []ofac.NamePart{part("Nickname", "The Sample")}},
		{"DOE, John", []ofac.NamePart{part("Last Name", "Doe"), part("First Name", "John"), part("Nickname", "Jack")}},
		{"ORTEGA MURILLO, Ana", []ofac.NamePart{part("First Name", "Ana"), part("Matronymic", "Murillo"), part("Patronymic", "Ortega")}},
		{"RUIZ, Ana", []ofac.NamePart{part("Matronymic", "Ruiz"), part("First Name", "Ana")}},
		{"IVANOV, Ivan Ivanovich", []ofac.NamePart{part("Patronymic", "Ivanovich"), part("Last Name", "Ivanov"), part("First Name", "Ivan")}},
		{"DOE SMITH, Jane", []ofac.NamePart{part("Last Name", "Doe"), part("First Name", "Jane"), part("Maiden Name", "Smith")}},
		{"RUIZ PEREZ DOE, Ana", []ofac.NamePart{part("Maiden Name", "Doe"), part("Matronymic", "Perez"), part("Patronymic", "Ruiz"), part("First Name", "Ana")}},
		{"John Q.", []ofac.NamePart{part("First Name", "John"), part("Middle Name", "Q.")}},
		{"МУСТЕРМАН, Макс", []ofac.NamePart{part("Last Name", "Мустерман"), part("First Name", "Макс")}},
		{"A KIND NOT KNOWN YET", []ofac.NamePart{part("Spacecraft Name", "A kind not known yet")}},
	} {
		require.Equal(t, test.want, fullName(test.parts))
	}
}
