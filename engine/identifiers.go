package engine

import (
	"railguard/ofac"
	"railguard/ofac/identifier"
	"railguard/ofac/place"
)

// Sub-reasons about identifiers and the memo.
const (
	subIdentifierListed   Sub = 3  // Of R7.
	subIdentifierPossible Sub = 8  // Of R21.
	subMemo               Sub = 9  // Of R21.
	subText               Sub = 18 // Of R21.
	subUnsound            Sub = 12 // Of R19, and the following: see unsoundSubs.
)

// unsoundSubs are the classes whose identifiers can be malformed, in the order of their sub-reasons
// from subUnsound on. The last sub-reason is that of all other classes.
var unsoundSubs = [...]identifier.Class{
	identifier.BIC, identifier.IBAN, identifier.LEI, identifier.IMO, identifier.MMSI, identifier.Email, identifier.Website, identifier.Phone, identifier.DUNS,
}

// Identified is an identifier of the call that a listed party has.
type Identified struct {
	At  int // Its place in the request's Identifiers, or the text in which it stands (InMemo and so on).
	As  identifier.Class
	Hit ofac.IdentifierMatch
}

// lookIdentifiers looks up the identifiers that the call tells. The list's answers stay in the
// looker until the next call.
func (l *Looker) lookIdentifiers(f *Facts) {
	query := &l.query
	query.NonSDNPossible, query.Now = f.anyPolicy(func(p *SpendPolicy) bool { return p.CONS }), l.now
	for i := range f.Request.Identifiers[:f.Request.IdentifierCount] {
		told := &f.Request.Identifiers[i]
		l.form.Read(told.Class, told.Value)
		l.read[i].readForm(told, l.form.Form())
		query.Class, query.Value, query.Country = told.Class, told.Value, told.Country
		if hit, found := f.List.IdentifierOf(query, &l.form); found {
			l.identified = append(l.identified, Identified{i, told.Class, hit})
		}
	}
	f.identifiers = l.read[:f.Request.IdentifierCount]
}

// readIdentifier is what an identifier of the call says by itself.
type readIdentifier struct {
	sound   bool       // It can be an identifier of its class.
	country place.Code // That it tells by itself; zero: none.
}

// identifierRead returns what an identifier of the call says by itself. Where nobody has the list any
// more, nobody has looked it up, and it is read here.
func (f *Facts) identifierRead(at int) (read readIdentifier) {
	if f.List != nil {
		return f.identifiers[at]
	}
	told := &f.Request.Identifiers[at]
	var room [identifier.FormBytesMax]byte
	read.readForm(told, identifier.AppendForm(room[:0], told.Class, told.Value))
	return read
}

// Form returns the normal form of the identifier.
func (i *Identifier) Form() string {
	var room [identifier.FormBytesMax]byte
	return string(identifier.AppendForm(room[:0], i.Class, i.Value))
}

// readForm reads an identifier that has this normal form.
func (r *readIdentifier) readForm(told *Identifier, form []byte) {
	r.sound, r.country = identifier.IsSoundForm(told.Class, form), place.Code{}
	alpha2, ok := identifier.CountryOfForm(told.Class, form)
	if shape, sure := told.shape(); sure {
		alpha2, ok = identifier.CountryOf(shape, told.Value)
	}
	if ok {
		r.country, _ = place.Parse(alpha2)
	}
}

// shape returns the class that an identifier of another class can only be: it is told as an account,
// say, and is an IBAN.
func (i *Identifier) shape() (class identifier.Class, sure bool) {
	switch i.Class {
	case identifier.IBAN, identifier.Email, identifier.Website, identifier.Phone:
		return i.Class, false
	}
	return identifier.ShapeOf(i.Value)
}

// identifierListed reports whether an identifier of the counterparty is a listed party's beyond
// doubt.
func (f *Facts) identifierListed() bool {
	for i := range f.Identified {
		if hit := &f.Identified[i]; hit.At >= 0 && hit.Hit.Doubt == ofac.NoDoubt {
			return true
		}
	}
	return false
}

// identifierPossible reports whether one may be a listed party's.
func (f *Facts) identifierPossible() bool {
	for i := range f.Identified {
		if hit := &f.Identified[i]; hit.At >= 0 && hit.Hit.Doubt != ofac.NoDoubt {
			return true
		}
	}
	return false
}

// possibleTold is the part of R21 about identifiers and texts.
func possibleTold(f *Facts) Sub {
	if f.identifierPossible() {
		return subIdentifierPossible
	}
	return f.possibleText()
}

// unreadTold is the part of R19 about what the call tells besides cpWallet.
func unreadTold(f *Facts) Sub {
	if sub := f.Request.unreadWallets(); sub != 0 {
		return sub
	}
	return unsoundIdentifiers(f)
}

// unsoundIdentifiers is the part of R19 about identifiers: each must be one of its type. A listed one
// is never unsound, whatever its check digits are.
func unsoundIdentifiers(f *Facts) Sub {
	for i := range f.Request.Identifiers[:f.Request.IdentifierCount] {
		told := &f.Request.Identifiers[i]
		if f.identifierRead(i).sound || f.isIdentified(i) {
			continue
		}
		for n, class := range unsoundSubs {
			if told.Class == class {
				return subUnsound + Sub(n)
			}
		}
		return subUnsound + Sub(len(unsoundSubs))
	}
	return 0
}

// isIdentified reports whether the list has an identifier of the call.
func (f *Facts) isIdentified(at int) bool {
	for i := range f.Identified {
		if f.Identified[i].At == at {
			return true
		}
	}
	return false
}
