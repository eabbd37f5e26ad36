package casework

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/ofac"
)

// This file makes a draft of a FinCEN batch file. Names, order and bounds of elements
// follow FinCEN's XML schema 2.0 for suspicious activity reports (EFL_SARXBatchSchema.xsd),
// as public conversions and implementations have it, and excerpts of its user guide. The
// schema itself was not at hand, and no draft has passed FinCEN's own check. What only the
// filer knows is written as finCENBlank: so a draft has the shape that the schema asks for,
// and cannot be taken for a completed one.

// Codes of FinCEN's batch files.
const (
	finCENNamespace = "www.fincen.gov/base"
	finCENSchema    = "www.fincen.gov/base https://www.fincen.gov/base/EFL_SARXBatchSchema.xsd"
	finCENForm      = "SARX"
	finCENSubject   = "33"   // Type of a party.
	finCENLegalName = "L"    // Type of a name.
	finCENOtherType = "9"    // Kind of activity: other suspicious activities.
	finCENOther     = "9999" // Subtype of finCENOtherType: other.
	finCENYes       = "Y"
	finCENBlank     = "TO BE FILLED IN"
)

// Bounds of FinCEN's batch files, in characters.
const (
	finCENName      = 150
	finCENStreet    = 100
	finCENPart      = 4000  // Length of one part of a narrative.
	finCENNarration = 17000 // Length of a whole narrative: four parts, and a fifth of 1,000.
)

// finCENFiler lists, by type code, the parties that only the filer knows. The schema asks
// for one of each, before the parties that a report is about.
var finCENFiler = []struct{ code, what string }{
	{"35", "transmitter"}, {"37", "transmitter contact"}, {"30", "filing institution"}, {"8", "contact for assistance"}, {"34", "where the activity occurred"},
}

// finCENDraft is a batch with one report.
type finCENDraft struct {
	XMLName     xml.Name       `xml:"fc2:EFilingBatchXML"`
	Namespace   string         `xml:"xmlns:fc2,attr"`
	Instance    string         `xml:"xmlns:xsi,attr"`
	Schema      string         `xml:"xsi:schemaLocation,attr"`
	Total       string         `xml:"TotalAmount,attr"`
	Subjects    int            `xml:"PartyCount,attr"` // Counts only the parties that the report is about.
	Reports     int            `xml:"ActivityCount,attr"`
	WithFiles   int            `xml:"ActivityAttachmentCount,attr"`
	Attachments int            `xml:"AttachmentCount,attr"`
	Comment     string         `xml:",comment"`
	Form        string         `xml:"fc2:FormTypeCode"`
	Activity    finCENActivity `xml:"fc2:Activity"`
}

type finCENActivity struct {
	Number      int               `xml:"SeqNum,attr"`
	Filed       string            `xml:"fc2:FilingDateText"`
	Association finCENAssociation `xml:"fc2:ActivityAssociation"`
	Parties     []finCENParty     `xml:"fc2:Party"`
	Suspicious  finCENSuspicious  `xml:"fc2:SuspiciousActivity"`
	Narrative   []finCENNarrative `xml:"fc2:ActivityNarrativeInformation"`
}

type finCENAssociation struct {
	Number  int    `xml:"SeqNum,attr"`
	Initial string `xml:"fc2:InitialReportIndicator"`
}

type finCENParty struct {
	Number  int              `xml:"SeqNum,attr"`
	Type    string           `xml:"fc2:ActivityPartyTypeCode"`
	Birth   string           `xml:"fc2:IndividualBirthDateText,omitempty"`
	Entity  string           `xml:"fc2:PartyAsEntityOrganizationIndicator,omitempty"`
	Name    *finCENPartyName `xml:"fc2:PartyName"`
	Address *finCENAddress   `xml:"fc2:Address"`
}

// finCENPartyName holds a subject's name in Legal, and any other party's in Full.
type finCENPartyName struct {
	Number  int    `xml:"SeqNum,attr"`
	Unknown string `xml:"fc2:EntityLastNameUnknownIndicator,omitempty"`
	Type    string `xml:"fc2:PartyNameTypeCode"`
	Legal   string `xml:"fc2:RawEntityIndividualLastName,omitempty"`
	Full    string `xml:"fc2:RawPartyFullName,omitempty"`
}

type finCENAddress struct {
	Number  int    `xml:"SeqNum,attr"`
	Country string `xml:"fc2:RawCountryCodeText,omitempty"`
	Street  string `xml:"fc2:RawStreetAddress1Text,omitempty"`
}

type finCENSuspicious struct {
	Number int               `xml:"SeqNum,attr"`
	From   string            `xml:"fc2:SuspiciousActivityFromDateText"`
	To     string            `xml:"fc2:SuspiciousActivityToDateText"`
	Total  string            `xml:"fc2:TotalSuspiciousAmountText"`
	Kind   finCENSuspectedOf `xml:"fc2:SuspiciousActivityClassification"`
}

type finCENSuspectedOf struct {
	Number  int    `xml:"SeqNum,attr"`
	Other   string `xml:"fc2:OtherSuspiciousActivityTypeText"`
	Subtype string `xml:"fc2:SuspiciousActivitySubtypeID"`
	Type    string `xml:"fc2:SuspiciousActivityTypeID"`
}

type finCENNarrative struct {
	Number int    `xml:"SeqNum,attr"`
	Part   int    `xml:"fc2:ActivityNarrativeSequenceNumber"`
	Text   string `xml:"fc2:ActivityNarrativeText"`
}

// draftPacket answers with a draft of FinCEN's batch file.
func draftPacket(c *border.Request, p *sarPacket) (border.Answer, error) {
	number := 0
	next := func() int { number++; return number }
	total := strconv.FormatInt(int64((p.did.total+engine.Dollar-1)/engine.Dollar), 10) // Whole dollars, rounded up.
	parts, whole := finCENParts(p.narrative)
	draft := finCENDraft{
		Namespace: finCENNamespace, Instance: "http://www.w3.org/2001/XMLSchema-instance", Schema: finCENSchema, Total: total, Reports: 1, Form: finCENForm,
		Comment: " A draft of " + p.record.Text("txnId") + " from the records: not complete, and not filed. What says " + finCENBlank + " only the filer knows, and the kinds of suspicion are for" +
			" people to say; parties that nobody suspects are to be taken out; a person's name is to be divided into its parts; the date of filing is the draft's. A wallet fits" +
			" no element: it stands in the narrative. Amounts are in US dollars. ",
		Activity: finCENActivity{Number: next(), Filed: finCENDay(c.Published().LogTime()), Association: finCENAssociation{Number: next(), Initial: finCENYes}},
	}
	if !whole {
		draft.Comment += "The narrative is longer than a report takes: its end is not here. "
	}
	for _, filer := range finCENFiler {
		draft.Activity.Parties = append(draft.Activity.Parties, finCENParty{Number: next(), Type: filer.code,
			Name: &finCENPartyName{Number: next(), Type: finCENLegalName, Full: finCENBlank + ": " + filer.what}})
	}
	subjects := finCENSubjects(p.record, next)
	draft.Subjects, draft.Activity.Parties = len(subjects), append(draft.Activity.Parties, subjects...)
	draft.Activity.Suspicious = finCENSuspicious{Number: next(), From: finCENDay(p.did.first), To: finCENDay(p.did.last), Total: total,
		Kind: finCENSuspectedOf{Number: next(), Other: finCENBlank, Subtype: finCENOther, Type: finCENOtherType}}
	for i, part := range parts {
		draft.Activity.Narrative = append(draft.Activity.Narrative, finCENNarrative{Number: next(), Part: i + 1, Text: part})
	}
	body, err := xml.MarshalIndent(&draft, "", " ")
	if err != nil {
		return border.Answer{}, err
	}
	attach(c, "sar-"+p.record.Text("txnId")+".xml")
	return c.Send(http.StatusOK, []string{"application/xml; charset=utf-8"}, append([]byte(xml.Header), append(body, '\n')...)), nil
}

// finCENDay is the day of a time.
func finCENDay(t engine.Time) string {
	day, _, _ := strings.Cut(t.String(), "T")
	return strings.ReplaceAll(day, "-", "")
}

// finCENText returns a text as elements take it: trimmed, without line ends and tabs, and
// of at most so many characters.
func finCENText(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most]))
	}
	return text
}

// finCENParts splits a narrative between words into parts, as far as a report takes it.
// whole is false when the rest was cut off.
func finCENParts(narrative string) (parts []string, whole bool) {
	rest := []rune(finCENText(narrative, len(narrative)))
	for left := finCENNarration; len(rest) > 0 && left > 0; {
		end := min(len(rest), finCENPart, left)
		if end < len(rest) {
			for at := end; at > end/2; at-- {
				if rest[at] == ' ' {
					end = at
					break
				}
			}
		}
		parts = append(parts, strings.TrimSpace(string(rest[:end])))
		left -= finCENPart // The part counts as a full one, even if it ends earlier, between two words.
		rest = []rune(strings.TrimSpace(string(rest[end:])))
	}
	if len(parts) == 0 {
		parts = []string{finCENBlank}
	}
	return parts, len(rest) == 0
}

// finCENBirth returns a date of birth, with zeros for the unknown parts; "" when there is
// none.
func finCENBirth(text string) string {
	for _, known := range []struct{ layout, zeros string }{{time.DateOnly, ""}, {"2006-01", "00"}, {"2006", "0000"}} {
		if at, err := time.Parse(known.layout, text); err == nil && at.Year() >= 1900 && at.Year() < 2100 {
			return strings.ReplaceAll(text, "-", "") + known.zeros
		}
	}
	return ""
}

// finCENSubjects returns the operator and the counterparty, as far as the record names
// them.
func finCENSubjects(l *edge.Leaf, next func() int) (parties []finCENParty) {
	add := func(name string, party finCENParty, address finCENAddress) {
		party.Number, party.Type = next(), finCENSubject
		party.Name = &finCENPartyName{Number: next(), Type: finCENLegalName, Legal: finCENText(name, finCENName)}
		if party.Name.Legal == "" {
			party.Name.Unknown = finCENYes
		}
		if address.Country != "" || address.Street != "" {
			address.Number = next()
			party.Address = &address
		}
		parties = append(parties, party)
	}
	add(l.Text("operatorLegalName"), finCENParty{Entity: finCENYes}, finCENAddress{})
	of := func(name string) string { return l.Text("_request", name) }
	if of("cpName") == "" && of("cpWallet") == "" {
		return parties
	}
	party := finCENParty{Birth: finCENBirth(of("cpDateOfBirth"))}
	if kind := of("cpType"); kind == "business" || kind == "exchange" {
		party = finCENParty{Entity: finCENYes}
	}
	add(of("cpName"), party, finCENAddress{Country: ofac.CountryCode(of("cpCountry")), Street: finCENText(of("cpAddress"), finCENStreet)})
	return parties
}
