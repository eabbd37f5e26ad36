package further

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"railguard/ofac"
)

// ReadFTM reads FollowTheMoney entities, one JSON object a line: flat ones that name each other by id
// (entities.ftm.json), or parties that hold what belongs to them (targets.nested.json).
//
// A party is listed if the file calls it a target, or, in a file that says so of nobody, if one of
// its topics is a sanction or a sanction names it. What else the file has (relatives, owned companies)
// is not listed. Owners are facts of what they own, and the other way round.
func ReadFTM(source io.Reader) (Part, error) {
	f := &ftmReader{parties: map[string]*ftmParty{}}
	reader := bufio.NewReaderSize(source, 256<<10)
	for number := 1; ; number++ {
		line, err := readLine(reader)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errLine) {
			return Part{}, refuse(number, "", "more than %d bytes", lineBytesMax)
		}
		if err != nil {
			return Part{}, err
		}
		if number > linesMax {
			return Part{}, refuse(number, "", "more than %d lines", linesMax)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := f.readLine(number, line); err != nil {
			return Part{}, err
		}
	}
	return f.finish()
}

var errLine = errors.New("a line that is too long")

// readLine returns the next line without its end.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	for {
		piece, more, err := reader.ReadLine()
		if err != nil {
			return nil, err
		}
		if len(line)+len(piece) > lineBytesMax {
			return nil, errLine
		}
		if line == nil && !more {
			return piece, nil
		}
		if line = append(line, piece...); !more {
			return line, nil
		}
	}
}

// ftmEntity is one entity as it is written. Property values are texts, or entities in a nested file.
type ftmEntity struct {
	ID         string                       `json:"id"`
	Schema     string                       `json:"schema"`
	Caption    string                       `json:"caption"`
	Target     *bool                        `json:"target"`
	Datasets   []string                     `json:"datasets"`
	Properties map[string][]json.RawMessage `json:"properties"`
	LastChange string                       `json:"last_change"`

	row int
}

// texts are the texts of a property.
func (e *ftmEntity) texts(names ...string) (all []string) {
	for _, name := range names {
		for _, raw := range e.Properties[name] {
			var text string
			if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil && clean(text) != "" {
				all = append(all, clean(text))
			}
		}
	}
	return all
}

// refers are the ids of entities that a property names.
func (e *ftmEntity) refers(names ...string) (all []string) {
	all = e.texts(names...)
	for _, name := range names {
		for _, raw := range e.Properties[name] {
			var nested struct {
				ID string `json:"id"`
			}
			if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &nested) == nil && nested.ID != "" {
				all = append(all, nested.ID)
			}
		}
	}
	return all
}

// ftmParty is a possible party with what refers to it.
type ftmParty struct {
	entity     ftmEntity
	sanctioned bool
	programs   []string
	extra      []ofac.Fact
	wallets    []ofac.Address
}

type ftmReader struct {
	parties    map[string]*ftmParty
	order      []string // Ids of the parties, as read.
	addresses  map[string]string
	others     []ftmEntity // Sanctions, documents, wallets and ownerships, which may stand before their parties.
	targets    bool        // The file says of somebody that it is a target.
	lastChange string
}

// partyTypes are the schemata of parties.
var partyTypes = map[string]ofac.EntityType{
	"Person":  ofac.Individual,
	"Company": ofac.Company, "Organization": ofac.Company, "LegalEntity": ofac.Company, "PublicBody": ofac.Company, "Asset": ofac.Company,
	"Vessel": ofac.Vessel, "Airplane": ofac.Aircraft, "CryptoWallet": ofac.Company,
}

func (f *ftmReader) readLine(number int, line []byte) error {
	if !utf8.Valid(line) {
		return refuse(number, "", "not UTF-8")
	}
	return f.readEntity(number, line, "", 0)
}

// readEntity reads an entity and those that it holds. holder is the entity that holds it; "": none.
func (f *ftmReader) readEntity(number int, raw []byte, holder string, depth int) error {
	if depth > nestedMax {
		return refuse(number, "", "entities nested deeper than %d", nestedMax)
	}
	e := ftmEntity{row: number}
	if err := json.Unmarshal(raw, &e); err != nil {
		return refuse(number, "", "no FollowTheMoney entity: %v", err)
	}
	if e.ID == "" || len(e.ID) > idBytesMax || e.Schema == "" {
		return refuse(number, "id", "an entity has an id of at most %d bytes and a schema", idBytesMax)
	}
	f.targets = f.targets || e.Target != nil && *e.Target
	f.lastChange = max(f.lastChange, cut(e.LastChange, len("2006-01-02T15:04:05")))
	for _, name := range sortedNames(e.Properties) {
		for _, value := range e.Properties[name] {
			if len(value) > 0 && value[0] == '{' {
				if err := f.readEntity(number, value, e.ID, depth+1); err != nil {
					return err
				}
			}
		}
	}
	return f.keep(&e, holder)
}

func sortedNames(properties map[string][]json.RawMessage) []string {
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// keep keeps what an entity is for: a party, an address, or something about a party.
func (f *ftmReader) keep(e *ftmEntity, holder string) error {
	if holder != "" { // What is held belongs to its holder, whatever member says so.
		for _, name := range [...]string{"entity", "holder"} {
			if e.Properties == nil {
				e.Properties = map[string][]json.RawMessage{}
			}
			if len(e.refers(name)) == 0 {
				quoted, err := json.Marshal(holder)
				if err != nil {
					return refuse(e.row, "id", "%v", err)
				}
				e.Properties[name] = []json.RawMessage{quoted}
			}
		}
	}
	_, party := partyTypes[e.Schema]
	switch {
	case e.Schema == "Address":
		if f.addresses == nil {
			f.addresses = map[string]string{}
		}
		if full := e.texts("full"); len(full) > 0 && len(f.addresses) < referencesMax {
			f.addresses[e.ID] = full[0]
		} else if parts := e.texts("street", "city", "state", "postalCode", "country"); len(parts) > 0 {
			f.addresses[e.ID] = strings.Join(parts, ", ")
		}
	case slices.Contains([]string{"Sanction", "Identification", "Passport", "Ownership"}, e.Schema), e.Schema == "CryptoWallet" && len(e.refers("holder")) > 0:
		if len(f.others) == referencesMax {
			return refuse(e.row, "", "more than %d sanctions, documents and ownerships", referencesMax)
		}
		f.others = append(f.others, *e)
	case party:
		if held, twice := f.parties[e.ID]; twice {
			if holder == "" && held.entity.row != e.row {
				return refuse(e.row, "id", "%.80q is that of row %d too", e.ID, held.entity.row)
			}
			return nil
		}
		if len(f.parties) == referencesMax {
			return refuse(e.row, "", "more than %d parties", referencesMax)
		}
		f.parties[e.ID] = &ftmParty{entity: *e}
		f.order = append(f.order, e.ID)
	}
	return nil
}
