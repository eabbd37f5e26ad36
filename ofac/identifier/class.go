package identifier

// Class is the kind of an identifier.
type Class uint8

// The classes. The numbers are part of records: never reuse one.
const (
	Other        Class = 0 // A published identifier that is of none of the other classes.
	BIC          Class = 1 // Business identifier code, ISO 9362.
	IBAN         Class = 2 // International bank account number, ISO 13616.
	LEI          Class = 3 // Legal entity identifier, ISO 17442.
	TaxID        Class = 4
	Registration Class = 5 // Of a company in a register.
	NationalID   Class = 6 // Of a person.
	Passport     Class = 7
	IMO          Class = 8 // Number of a ship or its owner, International Maritime Organization.
	MMSI         Class = 9 // Maritime mobile service identity, ITU-R M.585.
	AircraftTail Class = 10
	Email        Class = 11
	Website      Class = 12
	Phone        Class = 13 // E.164.
	DUNS         Class = 14 // Data Universal Numbering System.
	Account      Class = 15 // At a bank, in the bank's own form.
	classEnd     Class = 16
)

// classWords are the words of the API.
var classWords = [classEnd]string{
	"other", "bic", "iban", "lei", "tax_id", "registration", "national_id", "passport", "imo", "mmsi", "aircraft_tail",
	"email", "website", "phone", "duns", "account",
}

// Words returns the classes that a caller can name, in the order of their numbers.
func Words() []string { return classWords[BIC:] }

// ClassNamed returns the class that a caller names by its word.
func ClassNamed(word string) (Class, bool) {
	for class := BIC; class < classEnd; class++ {
		if classWords[class] == word {
			return class, true
		}
	}
	return Other, false
}

// IsDocument reports whether a class is a number that an authority gave, so that two authorities
// may have given the same one: only the country tells them apart. The others are the only one of
// their kind in the world.
func (c Class) IsDocument() bool {
	switch c {
	case Other, TaxID, Registration, NationalID, Passport, Account:
		return true
	}
	return false
}

// IsPersonal reports whether an identifier of this class is personal data, because it may belong to
// a natural person.
func (c Class) IsPersonal() bool {
	switch c {
	case TaxID, NationalID, Passport, Phone, Email, Account, IBAN:
		return true
	}
	return false
}

// String returns the word of the API.
func (c Class) String() string {
	if c >= classEnd {
		return "unknown"
	}
	return classWords[c]
}
