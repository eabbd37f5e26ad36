package wire

// Work claims, releases, assigns or comments what officers work on and is no open review: an alert,
// a sanctions case, a report, a BLOCK. Its Op is one of those of Queue.
type Work struct {
	Common
	Op      uint8  `cbor:"4,keyasint"`
	Subject uint64 `cbor:"5,keyasint"`           // A value of WorkSubject.
	Who     string `cbor:"6,keyasint,omitempty"` // The assignee, or the person who claims.
	Force   bool   `cbor:"7,keyasint,omitempty"` // The claim may be somebody else's.
}

// WorkKind is what somebody works on.
type WorkKind uint8

// The kinds of work. Numbers never change.
const (
	WorkRecord WorkKind = iota // A payment's record.
	WorkAlert                  // An alert, by the leaf that opened it.
	WorkCase                   // A sanctions case, by the leaf that opened it.
	WorkReport                 // A suspicious activity report, by the record that it is about.
)

// WorkSubject packs what somebody works on into one number.
func WorkSubject(kind WorkKind, leaf uint64) uint64 { return uint64(kind)<<subjectShift | leaf }

// SplitWork reverses WorkSubject.
func SplitWork(subject uint64) (kind WorkKind, leaf uint64) {
	return WorkKind(subject >> subjectShift), subject & (1<<subjectShift - 1)
}

// Draft keeps what a person has typed and not sent yet, or drops it. It writes no leaf.
type Draft struct {
	Common
	Name string     `cbor:"4,keyasint"`
	Said *DraftText `cbor:"5,keyasint,omitempty"` // nil: the draft is dropped.
}

// DraftText is the content of a draft.
type DraftText struct {
	Text   string       `cbor:"1,keyasint,omitempty"`
	Fields []DraftField `cbor:"2,keyasint,omitempty"` // By name, ascending.
}

// DraftField is one field of a draft.
type DraftField struct {
	Name  string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
}
