package match

import (
	"strings"

	"railguard/ofac/identifier"
	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/place"
)

// IdentifierQuery is one identifier to look up.
type IdentifierQuery struct {
	Class   identifier.Class
	Value   string // In any spelling.
	Country string // Of whoever gave it: a name or a code; "" or unreadable: not told.

	// NonSDNPossible counts doubtful matches against entries that are not on a core source, as for
	// names.
	NonSDNPossible bool

	Now int64 // When the question is asked, ns UTC: entries that have ended match nothing.
}

// Doubt says why the party of an identifier may be another one than the listed party.
type Doubt uint8

// The doubts, from the smallest.
const (
	NoDoubt      Doubt = iota
	DoubtSource        // The identifier is the listed one, on a source that an officer reviews.
	DoubtShort         // One side tells no country, and the number is short.
	DoubtClass         // The list has the number as an identifier of another kind.
	DoubtCountry       // The countries differ.
	DoubtHost          // Only the host of a listed page is the same, or the registered domain of a listed host.
	doubtUnset         // No listed identifier was found yet.
)

var doubtTexts = [...]string{
	"", "listed on a source that is reviewed", "a short number without a country on both sides", "listed as an identifier of another kind",
	"the countries differ", "only the host or the institution is the same",
}

// String says it in words, "" for no doubt.
func (d Doubt) String() string {
	if int(d) >= len(doubtTexts) {
		return "no match"
	}
	return doubtTexts[d]
}

// IdentifierMatch is a listed party that has an identifier.
type IdentifierMatch struct {
	UID     uint32           // The listed party. If there are several: one without doubt first, one on a core source before others, then the lowest id.
	Lists   list.Lists       // All sources on which it stands with so little doubt.
	Class   identifier.Class // What the list has it as.
	Label   string           // What the publisher calls it, e.g. "Tax ID No.".
	Value   string           // As published.
	Country string           // As published.
	Doubt   Doubt            // NoDoubt: exactly this identifier.
}

// shortNumber is the length from which on a number is so rare that it needs no country. Registers
// of many countries count from one, so that every short number is somebody's in most of them.
const shortNumber = 8

// Identifier looks up an identifier. It is a pure function of the list and the query.
func (x *Index) Identifier(q *IdentifierQuery) (IdentifierMatch, bool) {
	var form IdentifierForm
	form.Read(q.Class, q.Value)
	return x.IdentifierOf(q, &form)
}

// IdentifierForm is the normal form of an identifier, read once for all that is asked of it.
type IdentifierForm struct {
	room [1 + identifier.FormBytesMax]byte // The family of the class, then the form.
	form []byte
}

// Read reads the form of a value of a class.
func (f *IdentifierForm) Read(class identifier.Class, value string) {
	f.room[0] = class.Family()
	f.form = identifier.AppendForm(f.room[1:1], class, value)
}

// Form returns the form as it was read. It is not to be used once it was looked up.
func (f *IdentifierForm) Form() []byte { return f.form }

// IdentifierOf is Identifier for a caller who has read the form of the value. It uses the form's
// bytes for other forms of the value.
func (x *Index) IdentifierOf(q *IdentifierQuery, form *IdentifierForm) (IdentifierMatch, bool) {
	s := identifierSearch{index: x, query: q, best: IdentifierMatch{Doubt: doubtUnset}}
	s.lookUpForm(q.Class, form)
	// An e-mail address or a website that is told as something else is read as what it is.
	if q.Class != identifier.Email && strings.IndexByte(q.Value, '@') > 0 {
		s.lookUpClass(identifier.Email)
	}
	if q.Class != identifier.Website && q.Class != identifier.Email && looksLikeWebsite(q.Value) {
		s.lookUpClass(identifier.Website)
	}
	if number, ok := shipNumber(q.Value); ok && q.Class != identifier.IMO {
		whole := q.Value
		q.Value = number
		s.lookUpClass(identifier.IMO)
		q.Value = whole
	}
	return s.best, s.best.Lists != 0
}

// shipNumber returns the number behind the letters IMO.
func shipNumber(value string) (string, bool) {
	if len(value) < 10 || value[0]|0x20 != 'i' || value[1]|0x20 != 'm' || value[2]|0x20 != 'o' {
		return "", false
	}
	return value[3:], true
}

func looksLikeWebsite(text string) bool {
	return strings.Contains(text, "://") || len(text) > 4 && (text[:4] == "www." || text[:4] == "WWW.")
}

// identifierSearch is the state of one look-up.
type identifierSearch struct {
	index *Index
	query *IdentifierQuery
	best  IdentifierMatch
}

// lookUpClass looks up the value, read as one class.
func (s *identifierSearch) lookUpClass(class identifier.Class) {
	var form IdentifierForm
	form.Read(class, s.query.Value)
	s.lookUpForm(class, &form)
}

// lookUpForm looks up every form of the value that follows from the one that was read.
func (s *identifierSearch) lookUpForm(class identifier.Class, read *IdentifierForm) {
	form, room := read.form, &read.room
	if len(form) == 0 || len(form) > identifier.FormBytesMax {
		return
	}
	key := room[:1+len(form)]
	switch class {
	case identifier.Email:
		s.lookUp(key, false)
		if mailbox, ok := identifier.Mailbox(form); ok {
			s.lookUp(room[:1+len(mailbox)], false)
		}
	case identifier.Website:
		s.lookUpHost(form)
	default:
		s.lookUp(key, false)
		if bare := identifier.WithoutZeros(form); len(bare) < len(form) {
			start := len(form) - len(bare)
			room[start] = room[0]
			s.lookUp(room[start:1+len(form)], false)
		}
		if institution, ok := identifier.BranchOf(form); ok && class == identifier.BIC {
			s.lookUp(key[:1+len(institution)], false)
		}
		if class == identifier.Phone && s.query.Country != "" {
			s.lookUpNational()
		}
	}
}

// lookUpNational reads a telephone number as it is dialled within the country that is told.
func (s *identifierSearch) lookUpNational() {
	country := countryOf(s.query.Country)
	var room [1 + identifier.FormBytesMax]byte
	room[0] = identifier.Phone.Family()
	if form, ok := identifier.AppendInternational(room[1:1], s.query.Value, country.String()); ok && len(form) <= identifier.FormBytesMax {
		s.lookUp(room[:1+len(form)], false)
	}
}

// lookUpHost looks up a host and the domains to which it belongs, and on each the page that the
// address names.
func (s *identifierSearch) lookUpHost(host []byte) {
	var segmentRoom [identifier.FormBytesMax/2 + 1]byte
	segment := identifier.AppendSegment(segmentRoom[:0], s.query.Value)
	for domain, at, ok := identifier.NextDomain(host, len(host)); ok; domain, at, ok = identifier.NextDomain(host, at) {
		var keyRoom [1 + identifier.FormBytesMax + identifier.FormBytesMax/2 + 1]byte
		key := append(append(keyRoom[:0], identifier.Website.Family()), domain...)
		s.lookUp(key, at > 0)
		if len(segment) > 0 {
			s.lookUp(append(append(key, '/'), segment...), at > 0)
		}
	}
}

// lookUp judges every listed identifier of a form. above says that the form is a domain above the
// host that was asked for.
func (s *identifierSearch) lookUp(key []byte, above bool) {
	for _, posting := range s.index.IdentifiersOf(key) {
		posting := index.IdentifierPosting(posting)
		if above && posting.Use() == index.UseSuffix {
			continue
		}
		row, label, value, country := s.index.IdentifierAt(posting.Row())
		if s.index.IsOver(row.Entity, s.query.Now) {
			continue
		}
		doubt := s.doubtOf(row.Class, len(key)-1, country)
		if posting.Use() == index.UseShared || posting.Use() == index.UseOwner {
			doubt = max(doubt, DoubtHost)
		}
		s.consider(&row, IdentifierMatch{Class: row.Class, Label: label, Value: value, Country: country, Doubt: doubt})
	}
}

// doubtOf judges a listed identifier with the bytes of the one that was asked for. Of several doubts
// it returns the greatest: an officer decides, however many there are.
func (s *identifierSearch) doubtOf(listed identifier.Class, length int, country string) Doubt {
	doubt := NoDoubt
	if listed != s.query.Class {
		doubt = DoubtClass
	}
	if !listed.IsDocument() && !(s.query.Class.IsDocument() && doubt != NoDoubt) {
		return doubt // Such an identifier exists once in the world.
	}
	asked, known := countryOf(s.query.Country), listedCountry(country)
	switch {
	case asked != (place.Code{}) && known != (place.Code{}) && asked != known:
		return max(doubt, DoubtCountry)
	case asked == (place.Code{}) || known == (place.Code{}):
		if length < shortNumber {
			return max(doubt, DoubtShort)
		}
	}
	return doubt
}

// listedCountry reads a country as a list writes it; zero: it cannot be read.
func listedCountry(text string) place.Code {
	if code := countryOf(text); code != (place.Code{}) || text == "" {
		return code
	}
	return countryOf(lastPart(text))
}

// consider keeps the better match.
func (s *identifierSearch) consider(row *index.IdentifierRow, m IdentifierMatch) {
	entity := s.index.EntityAt(row.Entity)
	if m.Doubt == NoDoubt && !entity.Lists.Block() {
		m.Doubt = DoubtSource
	}
	if m.Doubt > DoubtSource && !entity.Lists.Core() && !s.query.NonSDNPossible {
		return
	}
	m.UID, m.Lists = entity.UID, entity.Lists
	best := &s.best
	if (m.Doubt == NoDoubt) != (best.Doubt == NoDoubt) {
		if m.Doubt == NoDoubt {
			*best = m // Sources of doubtful matches are not those of this one.
		}
		return
	}
	all := best.Lists | m.Lists
	if m.Doubt < best.Doubt || m.Doubt == best.Doubt && (m.Lists.Core() && !best.Lists.Core() || m.Lists.Core() == best.Lists.Core() && m.UID < best.UID) {
		*best = m
	}
	best.Lists = all
}
