package httpapi

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// element describes one element of FinCEN's schema: its children in order, the required
// ones, and for a text its longest length or its allowed values.
type element struct {
	numbered bool // It has a SeqNum, unique in the file.
	children []string
	required []string
	most     int
	among    []string
}

// finCENElements is the part of FinCEN's XML schema 2.0 for suspicious activity reports
// that a draft can hold. Its sources are EFL_SARXBatchSchema.xsd (namespace
// www.fincen.gov/base), types EFilingBatchXML, Activity, ActivityAssociation, Party,
// PartyName, Address, SuspiciousActivity, SuspiciousActivityClassification and
// ActivityNarrativeInformation, and section 4 of the "FinCEN SAR XML Schema User Guide",
// version 1.6, August 2021. Both were read in public conversions and excerpts; the
// originals were not at hand. Sequences are complete: an element that a draft leaves out
// keeps its place here, so that adding it later is checked too.
var finCENElements = map[string]element{
	"EFilingBatchXML": {children: []string{"FormTypeCode", "Activity"}, required: []string{"FormTypeCode", "Activity"}},
	"FormTypeCode":    {among: []string{"SARX"}},
	"Activity": {numbered: true, children: []string{
		"EFilingPriorDocumentNumber", "FilingDateText", "FilingInstitutionNotetoFinCEN", "ActivityAssociation", "ActivitySupportDocument", "Party", "SuspiciousActivity", "ActivityIPAddress",
		"CyberEventIndicators", "Assets", "AssetsAttribute", "ActivityNarrativeInformation"},
		required: []string{"FilingDateText", "ActivityAssociation", "Party", "SuspiciousActivity", "ActivityNarrativeInformation"}},
	"FilingDateText": {most: 8},
	"ActivityAssociation": {numbered: true, children: []string{
		"ContinuingActivityReportIndicator", "CorrectsAmendsPriorReportIndicator", "InitialReportIndicator", "JointReportIndicator"}},
	"InitialReportIndicator": {among: []string{"Y"}},
	"Party": {numbered: true, children: []string{
		"ActivityPartyTypeCode", "AdmissionConfessionNoIndicator", "AdmissionConfessionYesIndicator", "AllCriticalSubjectInformationUnavailableIndicator", "BirthDateUnknownIndicator",
		"BothPurchaserSenderPayeeReceiveIndicator", "ContactDateText", "FemaleGenderIndicator", "IndividualBirthDateText", "LossToFinancialAmountText", "MaleGenderIndicator",
		"NoBranchActivityInvolvedIndicator", "NoKnownAccountInvolvedIndicator", "NonUSFinancialInstitutionIndicator", "PartyAsEntityOrganizationIndicator", "PayeeReceiverIndicator",
		"PayLocationIndicator", "PrimaryRegulatorTypeCode", "PurchaserSenderIndicator", "SellingLocationIndicator", "SellingPayingLocationIndicator", "UnknownGenderIndicator", "PartyName",
		"Address", "PhoneNumber", "PartyIdentification", "OrganizationClassificationTypeSubtype", "PartyOccupationBusiness", "ElectronicAddress", "PartyAssociation", "PartyAccountAssociation"},
		required: []string{"ActivityPartyTypeCode"}},
	"ActivityPartyTypeCode":              {among: []string{"35", "37", "30", "33", "34", "8", "46", "18", "19", "41"}},
	"IndividualBirthDateText":            {most: 8},
	"PartyAsEntityOrganizationIndicator": {among: []string{"Y"}},
	"PartyName": {numbered: true, children: []string{
		"EntityLastNameUnknownIndicator", "FirstNameUnknownIndicator", "PartyNameTypeCode", "RawEntityIndividualLastName", "RawIndividualFirstName", "RawIndividualMiddleName",
		"RawIndividualNameSuffixText", "RawPartyFullName"}, required: []string{"PartyNameTypeCode"}},
	"EntityLastNameUnknownIndicator": {among: []string{"Y"}},
	"PartyNameTypeCode":              {among: []string{"L", "AKA", "DBA"}},
	"RawEntityIndividualLastName":    {most: 150},
	"RawPartyFullName":               {most: 150},
	"Address": {numbered: true, children: []string{
		"CityUnknownIndicator", "CountryCodeUnknownIndicator", "RawCityText", "RawCountryCodeText", "RawStateCodeText", "RawStreetAddress1Text", "RawZIPCode", "StateCodeUnknownIndicator",
		"StreetAddressUnknownIndicator", "ZIPCodeUnknownIndicator"}},
	"RawCountryCodeText":    {most: 2},
	"RawStreetAddress1Text": {most: 100},
	"SuspiciousActivity": {numbered: true, children: []string{
		"AmountUnknownIndicator", "CumulativeTotalViolationAmountText", "NoAmountInvolvedIndicator", "SuspiciousActivityFromDateText", "SuspiciousActivityToDateText",
		"TotalSuspiciousAmountText", "SuspiciousActivityClassification"}, required: []string{"SuspiciousActivityFromDateText", "SuspiciousActivityClassification"}},
	"SuspiciousActivityFromDateText": {most: 8},
	"SuspiciousActivityToDateText":   {most: 8},
	"TotalSuspiciousAmountText":      {most: 15},
	"SuspiciousActivityClassification": {numbered: true, children: []string{"OtherSuspiciousActivityTypeText", "SuspiciousActivitySubtypeID", "SuspiciousActivityTypeID"},
		required: []string{"SuspiciousActivitySubtypeID", "SuspiciousActivityTypeID"}},
	"OtherSuspiciousActivityTypeText": {most: 50},
	"SuspiciousActivitySubtypeID":     {among: []string{"9999"}},
	"SuspiciousActivityTypeID":        {among: []string{"9"}},
	"ActivityNarrativeInformation": {numbered: true, children: []string{"ActivityNarrativeSequenceNumber", "ActivityNarrativeText"},
		required: []string{"ActivityNarrativeSequenceNumber", "ActivityNarrativeText"}},
	"ActivityNarrativeSequenceNumber": {among: []string{"1", "2", "3", "4", "5"}},
	"ActivityNarrativeText":           {most: 4000},
}

// node is one element of a file.
type node struct {
	name     string
	attrs    map[string]string
	children []*node
	text     string
}

// nodes reads an XML file.
func nodes(t testing.TB, text string) *node {
	t.Helper()
	reader := xml.NewDecoder(strings.NewReader(text))
	top := &node{}
	open := []*node{top}
	for {
		token, err := reader.Token()
		if err == io.EOF {
			return top.children[0]
		}
		require.NoError(t, err)
		at := open[len(open)-1]
		switch x := token.(type) {
		case xml.StartElement:
			require.Equal(t, "www.fincen.gov/base", x.Name.Space, x.Name.Local)
			n := &node{name: x.Name.Local, attrs: map[string]string{}}
			for _, a := range x.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			at.children, open = append(at.children, n), append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			at.text += string(x)
		}
	}
}

// fits checks an element and its content against the schema.
func (n *node) fits(t testing.TB, numbers map[string]bool) {
	t.Helper()
	rule, known := finCENElements[n.name]
	require.True(t, known, n.name)
	if rule.numbered {
		require.NotEmpty(t, n.attrs["SeqNum"], n.name)
		require.False(t, numbers[n.attrs["SeqNum"]], "%s has a number that stands before", n.name)
		numbers[n.attrs["SeqNum"]] = true
	}
	last, there := -1, map[string]bool{}
	for _, child := range n.children {
		at := -1
		for i, name := range rule.children {
			if name == child.name {
				at = i
			}
		}
		require.GreaterOrEqual(t, at, last, "%s in %s stands too late, or has no place", child.name, n.name)
		last, there[child.name] = at, true
		child.fits(t, numbers)
	}
	for _, name := range rule.required {
		require.True(t, there[name], "%s lacks %s", n.name, name)
	}
	if len(rule.children) > 0 {
		return
	}
	require.NotEmpty(t, n.text, n.name)
	require.Equal(t, strings.TrimSpace(n.text), n.text, "%s begins or ends with a blank", n.name)
	require.False(t, strings.ContainsFunc(n.text, unicode.IsControl), "%s has line ends or tabs", n.name)
	if rule.most > 0 {
		require.LessOrEqual(t, len([]rune(n.text)), rule.most, n.name)
	}
	if rule.among != nil {
		require.Contains(t, rule.among, n.text, n.name)
	}
}

func (n *node) all(name string) (found []*node) {
	for _, child := range n.children {
		if child.name == name {
			found = append(found, child)
		}
	}
	return found
}

func (n *node) of(path ...string) *node {
	for _, name := range path {
		found := n.all(name)
		if len(found) == 0 {
			return &node{}
		}
		n = found[0]
	}
	return n
}

// drafted returns the draft of an escalated payment, checked against the schema.
func (n *testNode) drafted(txn string) *node {
	n.t.Helper()
	w := n.do("auditor", "GET", "/v1/sar/"+txn+"?format=xml", "")
	require.Equal(n.t, 200, w.Code)
	require.Equal(n.t, "application/xml; charset=utf-8", w.Header().Get("Content-Type"))
	require.Contains(n.t, w.Body.String(), "<!-- A draft of "+txn)
	batch := nodes(n.t, w.Body.String())
	require.Equal(n.t, "EFilingBatchXML", batch.name)
	batch.fits(n.t, map[string]bool{})
	activity := batch.of("Activity")
	subjects, types := 0, map[string]int{}
	for _, party := range activity.all("Party") {
		code := party.of("ActivityPartyTypeCode").text
		if types[code]++; code == "33" {
			subjects++
		}
	}
	for _, code := range []string{"35", "37", "30", "8", "34"} {
		require.Equal(n.t, 1, types[code], "party of type %s", code)
	}
	require.GreaterOrEqual(n.t, subjects, 1)
	for name, want := range map[string]string{
		"TotalAmount": activity.of("SuspiciousActivity", "TotalSuspiciousAmountText").text, "PartyCount": strconv.Itoa(subjects), "ActivityCount": "1",
		"ActivityAttachmentCount": "0", "AttachmentCount": "0",
	} {
		require.Equal(n.t, want, batch.attrs[name], name)
	}
	require.LessOrEqual(n.t, len(activity.all("ActivityNarrativeInformation")), 5)
	return activity
}

// The draft for FinCEN has the elements, order and bounds of its schema, whatever a caller
// wrote. It names the parties, the days and the whole dollars.
func TestSARDraft(t *testing.T) {
	n := newTestNode(t)
	txn := n.escalated()
	n.write(txn, `"`+strings.Repeat("ä<& ", 1500)+`\u0007\n\tend "`)
	draft := n.drafted(txn)
	subjects := draft.all("Party")[5:]
	require.Equal(t, "Acme Inc", subjects[0].of("PartyName", "RawEntityIndividualLastName").text)
	require.Equal(t, "Y", subjects[0].of("PartyAsEntityOrganizationIndicator").text)
	require.Equal(t, "BLUE <harbour> trading", subjects[1].of("PartyName", "RawEntityIndividualLastName").text)
	require.Empty(t, subjects[1].of("PartyAsEntityOrganizationIndicator").text, "nobody said what it is")
	require.Equal(t, "20260322", draft.of("SuspiciousActivity", "SuspiciousActivityFromDateText").text)
	require.Equal(t, "931", draft.of("SuspiciousActivity", "TotalSuspiciousAmountText").text, "930.5 in whole dollars")
	var told []string
	for _, part := range draft.all("ActivityNarrativeInformation") {
		told = append(told, part.of("ActivityNarrativeText").text)
	}
	require.Len(t, told, 2)
	require.Equal(t, strings.Repeat("ä<& ", 1500)+"end", strings.Join(told, " "))
}

// A caller wrote texts that are longer, or of another form, than the elements take.
func TestSARDraftOfOddParties(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":50}`)
	draft := func(party, narrative string) *node {
		t.Helper()
		txn := textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":900,`+party+`}`), 200), "txnId")
		answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"ESCALATE_SAR","reviewedBy":"Ann","notes":"n"}`), 200)
		if narrative != "" {
			n.write(txn, `"`+narrative+`"`)
		}
		return n.drafted(txn)
	}
	long := draft(`"cpName":"`+strings.Repeat("Blue Harbour ", 30)+`","cpCountry":"Germany","cpDateOfBirth":"1962-11","cpAddress":"`+strings.Repeat("Long Street 1, ", 20)+`","cpType":"individual"`,
		strings.Repeat("word ", 6000))
	party := long.all("Party")[6]
	require.Equal(t, "DE", party.of("Address", "RawCountryCodeText").text)
	require.Equal(t, "19621100", party.of("IndividualBirthDateText").text)
	require.Len(t, long.all("ActivityNarrativeInformation"), 5)
	require.LessOrEqual(t, len(long.all("ActivityNarrativeInformation")[4].of("ActivityNarrativeText").text), 1000)

	solid := draft(`"cpName":"Nowhere Trading","cpCountry":"Atlantis","cpType":"business","cpDateOfBirth":"1962"`, strings.Repeat("x", 9000))
	party = solid.all("Party")[6]
	require.Empty(t, party.of("Address").name, "no code of any country")
	require.Equal(t, "Y", party.of("PartyAsEntityOrganizationIndicator").text)
	require.Empty(t, party.of("IndividualBirthDateText").text)

	wallet := draft(`"cpWallet":"0x1111111111111111111111111111111111111111","chain":"ETH"`, "")
	require.Equal(t, "Y", wallet.all("Party")[6].of("PartyName", "EntityLastNameUnknownIndicator").text)
	require.Contains(t, wallet.of("ActivityNarrativeInformation", "ActivityNarrativeText").text, "0x1111111111111111111111111111111111111111")
	require.Len(t, draft(`"chain":"ETH"`, "").all("Party"), 6, "nobody but the operator is named")
}
