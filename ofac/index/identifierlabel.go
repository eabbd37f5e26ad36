package index

import (
	"strings"

	"railguard/ofac/identifier"
	"railguard/ofac/list"
)

// labelOf returns what the publisher calls a fact, and its value. In the CSV files it is one text,
// and the label is its beginning.
func labelOf(kind list.FactKind, label, value string) (string, string) {
	if kind != list.FactRemark {
		return label, value
	}
	for end := min(len(value), labelBytesMax); end > 0; end-- {
		if end < len(value) && value[end] == ' ' {
			if _, known := identifierLabels[value[:end]]; known {
				return value[:end], value[end+1:]
			}
		}
	}
	return "", value
}

// labelBytesMax is as long as the longest label.
const labelBytesMax = 80

// identifierLabels are OFAC's labels of identifiers. A document with another label is of
// class Other; any other fact with another label is no identifier.
var identifierLabels = gatherLabels([]classLabels{
	{identifier.BIC, "SWIFT/BIC"},
	{identifier.LEI, "LEI|Legal Entity Identifier"},
	{identifier.IMO, "IMO Number"},
	{identifier.MMSI, "MMSI"},
	{identifier.AircraftTail, "Aircraft Tail Number|Previous Aircraft Tail Number"},
	{identifier.Email, "Email Address"},
	{identifier.Website, "Website"},
	{identifier.Phone, "Phone Number"},
	{identifier.DUNS, "D-U-N-S Number"},
	{identifier.IBAN, "IBAN"},
	{identifier.Account, "Account Number|Bank Account Number"},
	{identifier.TaxID, "Tax ID No.|US FEIN|SSN|V.A.T. Number|V.A.T. No.|R.F.C.|RFC|NIT #|RUC #|RIF #|RTN|C.U.I.T.|C.I.F.|N.I.F.|Fiscal Code|Italian Fiscal Code|" +
		"Numero Unico de Identificacao Tributaria (NUIT)|Paraguayan tax identification number|Romanian Tax Registration"},
	{identifier.Passport, "Passport|Diplomatic Passport|British National Overseas Passport|Stateless Person Passport|Travel Document Number"},
	{identifier.NationalID, "National ID No.|Cedula No.|C.U.R.P.|D.N.I.|Identification Number|C.U.I.|C.U.I.P.|C.I.N.|CNP (Personal Numerical Code)|Personal ID Card|" +
		"Numero de Identidad|Kenyan ID No.|Turkish Identification Number|Tazkira National ID Card|UAE Identification|Citizen's Card Number|Credencial electoral|" +
		"I.F.E.|LE Number|Tarjeta de Identidad|Electoral Registry No.|Bosnian Personal ID No.|Moroccan Personal ID No.|N.I.E.|National Foreign ID Number|" +
		"Residency Number|Refugee ID Card|Stateless Person ID Card|Federal ID Card|Birth Certificate Number|Public Security and Immigration No."},
	{identifier.Registration, "Registration Number|Registration ID|Company Number|UK Company Number|Business Registration Number|Business Registration Document #|" +
		"Business Number|Commercial Registry Number|Chamber of Commerce Number|C.R. No.|Enterprise Number|Public Registration Number|" +
		"Certificate of Incorporation Number|Unified Social Credit Code (USCC)|United Social Credit Code Certificate (USCCC)|Folio Mercantil No.|" +
		"Matricula Mercantil No|Legal Entity Number|Central Registration System Number|Economic Register Number (CBLS)|Organization Code|" +
		"Government Gazette Number|Registered Charity No.|Romanian C.R.|Registration Certificate Number (Dubai)|MSB Registration Number|Trade License No.|" +
		"Istanbul Chamber of Comm. No.|Dubai Chamber of Commerce Membership No.|Branch Unit Number|Vessel Registration Identification|" +
		"Russian State Individual Business Registration Number Pattern (OGRNIP)"},
	{identifier.Other, "License|BIK (RU)|ISIN|MICEX Code|Vessel Call Sign|Other Vessel Call Sign|Aircraft Mode S Transponder Code|" +
		"Aircraft Manufacturer's Serial Number (MSN)|Aircraft Construction Number (also called L/N or S/N or F/N)|Aircraft Serial Identification|Identification No.|" +
		"Driver's License No.|Serial No.|Permit Number|File Number|Global Intermediary Identification Number"},
})

// classLabels are the labels of one class, with | between them.
type classLabels struct {
	class  identifier.Class
	joined string
}

func gatherLabels(all []classLabels) map[string]identifier.Class {
	labels := map[string]identifier.Class{}
	for _, of := range all {
		for label := range strings.SplitSeq(of.joined, "|") {
			labels[label] = of.class
		}
	}
	for _, word := range identifier.Words() { // Files of lists beside OFAC's are read into the words of the API.
		labels[word], _ = identifier.ClassNamed(word)
	}
	return labels
}
