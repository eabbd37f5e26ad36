package listtest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Entity is one party of a hand-made list.
type Entity struct {
	ID         int
	Individual bool
	Last       string // Last name, or the whole name of an organisation.
	First      string // Given names; empty for an organisation.
	Aliases    []string
	Wallets    map[string]string // Ticker to address.
}

const (
	enhancedNamespace = "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ENHANCED_XML"
	SDN               = "SDN List"
	CONS              = "Consolidated List"
)

// Reference ids of the published format that a hand-made list uses.
var (
	listRefs   = map[string]int{SDN: 1550, CONS: 91512}
	tickerRefs = map[string]int{"XBT": 344, "ETH": 345, "USDT": 887, "TRX": 992, "USDC": 998, "SOL": 1167}
)

// WriteEnhanced writes a small valid list in the ENHANCED form: listName is "SDN List"
// or "Consolidated List". The caller chooses the entities.
func WriteEnhanced(listName string, asOf time.Time, entities ...Entity) []byte {
	var b strings.Builder
	date := asOf.UTC().Format("2006-01-02T15:04:05")
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="utf-8"?>`+"\n"+`<sanctionsData xmlns=%q>`+"\n", enhancedNamespace)
	fmt.Fprintf(&b, "<publicationInfo><dataAsOf>%s</dataAsOf><filters><sanctionsLists><sanctionsList refId=\"%d\">%s</sanctionsList></sanctionsLists></filters></publicationInfo>\n",
		date, listRefs[listName], listName)
	b.WriteString("<referenceValues>" +
		`<referenceValue refId="1400"><type>ALIAS TYPE</type><value>A.K.A.</value></referenceValue>` +
		`<referenceValue refId="600"><type>ENTITY TYPE</type><value>Individual</value></referenceValue>` +
		`<referenceValue refId="601"><type>ENTITY TYPE</type><value>Entity</value></referenceValue>` +
		"</referenceValues>\n<featureTypes>")
	for _, ticker := range slices.Sorted(maps.Keys(tickerRefs)) {
		fmt.Fprintf(&b, `<featureType featureTypeId="%d"><type>Digital Currency Address - %s</type><detailType refId="1432">TEXT</detailType></featureType>`, tickerRefs[ticker], ticker)
	}
	b.WriteString("</featureTypes>\n<entities>\n")
	for _, entity := range entities {
		writeEntity(&b, listName, date[:10], entity)
	}
	b.WriteString("</entities>\n</sanctionsData>\n")
	return []byte(b.String())
}

func writeEntity(b *strings.Builder, listName, date string, e Entity) {
	typeRef, typeName := 601, "Entity"
	if e.Individual {
		typeRef, typeName = 600, "Individual"
	}
	fmt.Fprintf(b, `<entity id="%d"><generalInfo><identityId>%d</identityId><entityType refId="%d">%s</entityType></generalInfo>`, e.ID, e.ID, typeRef, typeName)
	fmt.Fprintf(b, `<sanctionsLists><sanctionsList refId="%d" id="%d" datePublished="%s">%s</sanctionsList></sanctionsLists>`, listRefs[listName], e.ID*10, date, listName)
	fmt.Fprintf(b, `<sanctionsPrograms><sanctionsProgram refId="91529" id="%d">CYBER2</sanctionsProgram></sanctionsPrograms>`, e.ID*10+1)
	b.WriteString(`<sanctionsTypes><sanctionsType refId="1556" id="1">Block</sanctionsType></sanctionsTypes><legalAuthorities/><names>`)
	writeName(b, e, e.ID*100, e.Last, e.First, true)
	for i, alias := range e.Aliases {
		writeName(b, e, e.ID*100+i+1, alias, "", false)
	}
	b.WriteString("</names>")
	if len(e.Wallets) > 0 {
		b.WriteString("<features>")
		for i, ticker := range slices.Sorted(maps.Keys(e.Wallets)) {
			fmt.Fprintf(b, `<feature id="%d"><type featureTypeId="%d">Digital Currency Address - %s</type><versionId>%d</versionId><value>%s</value><isPrimary>true</isPrimary></feature>`,
				e.ID*100+50+i, tickerRefs[ticker], ticker, e.ID*100+70+i, escapeXML(e.Wallets[ticker]))
		}
		b.WriteString("</features>")
	}
	b.WriteString("</entity>\n")
}

// writeName writes one name with one Latin translation; both have the same id.
func writeName(b *strings.Builder, e Entity, id int, last, first string, primary bool) {
	full := last
	if first != "" {
		full = last + ", " + first
	}
	fmt.Fprintf(b, `<name id="%d"><isPrimary>%t</isPrimary>`, id, primary)
	if !primary {
		b.WriteString(`<aliasType refId="1400">A.K.A.</aliasType>`)
	}
	fmt.Fprintf(b, `<isLowQuality>false</isLowQuality><translations><translation id="%d"><isPrimary>true</isPrimary><script refId="20122">Latin</script>`, id)
	if first != "" {
		fmt.Fprintf(b, `<formattedFirstName>%s</formattedFirstName>`, escapeXML(first))
	}
	fmt.Fprintf(b, `<formattedLastName>%s</formattedLastName><formattedFullName>%s</formattedFullName><nameParts>`, escapeXML(last), escapeXML(full))
	part := map[bool]string{true: `<type refId="1520">Last Name</type>`, false: `<type refId="1525">Entity Name</type>`}[e.Individual]
	fmt.Fprintf(b, `<namePart id="%d">%s<value>%s</value></namePart>`, id*10, part, escapeXML(last))
	if first != "" {
		fmt.Fprintf(b, `<namePart id="%d"><type refId="1521">First Name</type><value>%s</value></namePart>`, id*10+1, escapeXML(first))
	}
	b.WriteString(`</nameParts></translation></translations></name>`)
}

func escapeXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // Writing to a strings.Builder never fails.
	return b.String()
}
