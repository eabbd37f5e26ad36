package further

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"railguard/ofac"
	"railguard/ofac/identifier"
)

// Columns are those of an own list, in CSV and as members of JSON. There is no column for an effect:
// the list has one, and an entry that lets a payment pass does not exist.
func Columns() []string {
	return []string{"id", "kind", "name", "aliases", "wallets", "identifiers", "countries", "reason", "until"}
}

// Row is one entry of an own list as a file or a call has it.
type Row struct {
	ID, Kind, Name     string
	Aliases, Wallets   []string
	Identifiers        []Identifier
	Countries          []string
	Reason, Until      string
	identifiersWritten []string // As in CSV: "type:value" or "type:value|country".
}

// Identifier is an identifier of a row.
type Identifier struct{ Type, Value, Country string }

// ReadOwn reads an own list: CSV with a line of column names, a JSON array, or JSON lines.
func ReadOwn(source io.Reader) (Part, error) {
	buffered := bufio.NewReaderSize(source, 64<<10)
	if mark, err := buffered.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	for {
		first, err := buffered.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return Part{}, refuse(0, "", "the file is empty")
		case err != nil:
			return Part{}, err
		}
		if first[0] == '[' || first[0] == '{' {
			return readOwnJSON(buffered)
		}
		if first[0] != ' ' && first[0] != '\n' && first[0] != '\r' && first[0] != '\t' {
			return readOwnCSV(buffered)
		}
		_, _ = buffered.Discard(1)
	}
}

// rows collects entries.
type rows struct {
	part Part
	at   map[string]int // By id: the row that has it.
}

func (r *rows) add(number int, row *Row) error {
	if len(r.part.Entities) == rowsMax {
		return refuse(number, "", "more than %d rows", rowsMax)
	}
	entity, err := row.Entity(number)
	if err != nil {
		return err
	}
	if r.at == nil {
		r.at = map[string]int{}
	}
	if before, twice := r.at[entity.ID]; twice {
		return refuse(number, "id", "%.80q is that of row %d too", entity.ID, before)
	}
	r.at[entity.ID] = number
	r.part.Entities = append(r.part.Entities, entity)
	return nil
}

// kinds are the words of the column kind.
var kinds = map[string]ofac.EntityType{
	"individual": ofac.Individual, "person": ofac.Individual,
	"entity": ofac.Company, "company": ofac.Company, "organization": ofac.Company, "organisation": ofac.Company, "wallet": ofac.Company,
	"vessel": ofac.Vessel, "aircraft": ofac.Aircraft,
}

// Entity turns a row into a listed party. number is that of the row, for the error.
func (r *Row) Entity(number int) (ofac.Entity, error) {
	entity := ofac.Entity{ID: strings.TrimSpace(r.ID)}
	kind, known := kinds[strings.ToLower(strings.TrimSpace(r.Kind))]
	switch {
	case entity.ID == "":
		return entity, refuse(number, "id", "it is missing")
	case !known:
		return entity, refuse(number, "kind", "%.40q is none of individual, entity, vessel, aircraft, wallet", r.Kind)
	}
	entity.Type = kind
	for _, of := range []struct {
		column string
		count  int
	}{{"aliases", len(r.Aliases)}, {"wallets", len(r.Wallets)}, {"identifiers", len(r.Identifiers) + len(r.identifiersWritten)}, {"countries", len(r.Countries)}} {
		if of.count > valuesMax {
			return entity, refuse(number, of.column, "%d values, at most %d", of.count, valuesMax)
		}
	}
	addName(&entity, r.Name, "Name", false)
	for _, alias := range r.Aliases {
		addName(&entity, alias, "A.K.A.", false)
	}
	for _, wallet := range r.Wallets {
		if wallet = strings.TrimSpace(wallet); wallet != "" {
			entity.Addresses = append(entity.Addresses, ofac.Address{Value: wallet})
		}
	}
	if err := r.addIdentifiers(number, &entity); err != nil {
		return entity, err
	}
	if len(entity.Names)+len(entity.Addresses)+len(entity.Facts) == 0 {
		return entity, refuse(number, "name", "a row has a name, a wallet or an identifier")
	}
	for _, country := range r.Countries {
		if len(country) > labelBytesMax {
			return entity, refuse(number, "countries", "%d bytes, at most %d", len(country), labelBytesMax)
		}
		addFact(&entity, ofac.FactNationality, "Country", country)
	}
	if len(r.Reason) > factBytesMax || !utf8.ValidString(r.Reason) {
		return entity, refuse(number, "reason", "%d bytes, at most %d, of UTF-8", len(r.Reason), factBytesMax)
	}
	addFact(&entity, ofac.FactRemark, "Reason", r.Reason)
	until, ok := readUntil(strings.TrimSpace(r.Until))
	if !ok {
		return entity, refuse(number, "until", "%.40q is neither a day (2027-01-31, which still counts) nor a time (2027-01-31T12:00:00Z)", r.Until)
	}
	entity.Until = until
	nameByID(&entity)
	return entity, check(number, &entity)
}

func (r *Row) addIdentifiers(number int, entity *ofac.Entity) error {
	all := r.Identifiers
	for _, written := range r.identifiersWritten {
		kind, value, ok := strings.Cut(strings.TrimSpace(written), ":")
		if !ok {
			return refuse(number, "identifiers", "%.80q is not type:value or type:value|country", written)
		}
		value, country, _ := strings.Cut(value, "|")
		all = append(all, Identifier{kind, value, country})
	}
	for _, one := range all {
		class, known := identifier.ClassNamed(strings.TrimSpace(one.Type))
		value := clean(one.Value)
		switch {
		case !known:
			return refuse(number, "identifiers", "type %.40q is none of %s", one.Type, strings.Join(identifier.Words(), ", "))
		case value == "" || len(value) > walletBytes || strings.Contains(value, ", ") || !utf8.ValidString(value):
			return refuse(number, "identifiers", "%s: a value of 1 to %d bytes without a comma", class, walletBytes)
		case len(one.Country) > labelBytesMax:
			return refuse(number, "identifiers", "%s: a country of at most %d bytes", class, labelBytesMax)
		}
		addDocument(entity, class.String(), value, one.Country)
	}
	return nil
}

// readUntil reads when an entry ends, ns UTC: a day counts to its end. 0: it does not end.
func readUntil(text string) (int64, bool) {
	if text == "" {
		return 0, true
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		if at, err = time.Parse(time.DateOnly, text); err != nil {
			return 0, false
		}
		at = at.AddDate(0, 0, 1)
	}
	if at.Year() < 1970 || at.Year() > 2200 || at.UnixNano() <= 0 {
		return 0, false
	}
	return at.UnixNano(), true
}
