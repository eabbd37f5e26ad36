package ofac

import (
	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/match"
	"railguard/ofac/text"
)

// A list: its sources, its parties and its bytes (room list).
type (
	Source     = list.Source
	Lists      = list.Lists
	Entity     = list.Entity
	EntityType = list.EntityType
	Name       = list.Name
	NamePart   = list.NamePart
	Address    = list.Address
	Fact       = list.Fact
	FactKind   = list.FactKind
	Meta       = list.Meta
	Further    = list.Further
)

// OFAC's sources, as numbers and as sets; see list.Source.
const (
	SDN        = list.SDN
	CONS       = list.CONS
	SourcesMax = list.SourcesMax
	FurtherMax = list.FurtherMax
	AliasID    = list.AliasID
	ListSDN    = list.ListSDN
	ListCONS   = list.ListCONS
)

// The kinds of an entity.
const (
	Individual = list.Individual
	Company    = list.Company
	Vessel     = list.Vessel
	Aircraft   = list.Aircraft
)

// The kinds of an entity's facts.
const (
	FactOther         = list.FactOther
	FactBirthDate     = list.FactBirthDate
	FactBirthPlace    = list.FactBirthPlace
	FactNationality   = list.FactNationality
	FactCitizenship   = list.FactCitizenship
	FactGender        = list.FactGender
	FactDocument      = list.FactDocument
	FactPostalAddress = list.FactPostalAddress
	FactVessel        = list.FactVessel
	FactTitle         = list.FactTitle
	FactRemark        = list.FactRemark
)

// SortParts returns the parts of the family name and the given names in the order of a full name.
func SortParts(parts []NamePart) (family, given []NamePart) { return list.SortParts(parts) }

// ErrEntities is wrapped by the errors of encoded lists that cannot be read.
var ErrEntities = list.ErrEntities

// Sources are all sources, in the order of their numbers.
func Sources() []Source { return list.Sources() }

// IsListID reports whether a text can name a list beside OFAC's; see list.IsListID.
func IsListID(id string) bool { return list.IsListID(id) }

// SourceNamed finds a source by its name.
func SourceNamed(name string) (Source, bool) { return list.SourceNamed(name) }

// EncodeEntities writes a list in the form that the log keeps; see list.Encode.
func EncodeEntities(entities []Entity, meta Meta) ([]byte, error) { return list.Encode(entities, meta) }

// DecodeEntities reads the output of EncodeEntities; see list.Decode.
func DecodeEntities(encoded []byte) ([]Entity, Meta, error) { return list.Decode(encoded) }

// Digest is the SHA-256 of an encoded list of entities: the list's name.
func Digest(encoded []byte) [32]byte { return list.Digest(encoded) }

// SnapshotID is the id by which people refer to the list with this digest.
func SnapshotID(digest [32]byte) string { return list.SnapshotID(digest) }

// A compiled list and its matcher (rooms index and match).
type (
	Index        = match.Index
	Matchers     = match.Matchers
	Help         = match.Help
	Counts       = index.Counts
	Entry        = index.Entry
	WalletMatch  = index.WalletMatch
	TaxMatch     = index.TaxMatch
	ListDiff     = index.ListDiff
	ListedWallet = index.ListedWallet
)

// MatcherVersion is the newest matcher; see match.MatcherVersion.
const MatcherVersion = match.MatcherVersion

// Errors of lists that cannot be compiled, or are not compiled yet.
var (
	ErrMatcherVersion = match.ErrMatcherVersion
	ErrBeingCompiled  = match.ErrBeingCompiled
)

// Carried returns the matcher versions of this program.
func Carried() Matchers { return match.Carried() }

// Build compiles entities to a list in one step, for the newest matcher; see match.Build.
func Build(entities []Entity, meta Meta) (*Index, error) { return match.Build(entities, meta) }

// Compile compiles encoded entities for a version that this program has.
func Compile(encoded []byte, version uint16) (*Index, error) { return match.Compile(encoded, version) }

// Diff compares two lists; see match.Diff.
func Diff(from, to *Index) ListDiff { return match.Diff(from, to) }

// A name to screen and its result (room match).
type (
	Query     = match.Query
	PartyType = match.PartyType
	Context   = match.Context
	Scratch   = match.Scratch
	Result    = match.Result
	Match     = match.Match
	Outcome   = match.Outcome
	Constant  = match.Constant

	IdentifierQuery = match.IdentifierQuery
	IdentifierForm  = match.IdentifierForm
	IdentifierMatch = match.IdentifierMatch
	Doubt           = match.Doubt
	ExplainedPart   = match.ExplainedPart
	Likeness        = match.Likeness
)

// How near two tellings of one fact are; see match.Likeness.
const (
	Untold = match.Untold
	Unlike = match.Unlike
	Same   = match.Same
)

// The values of the caller's party type.
const (
	PartyUnknown    = match.PartyUnknown
	PartyIndividual = match.PartyIndividual
	PartyBusiness   = match.PartyBusiness
	PartyExchange   = match.PartyExchange
)

// The outcomes, from the mildest to the hardest.
const (
	Clear    = match.Clear
	Possible = match.Possible
	Listed   = match.Listed
)

// The doubts about whose an identifier is that other rooms tell apart.
const (
	NoDoubt     = match.NoDoubt
	DoubtSource = match.DoubtSource
	DoubtHost   = match.DoubtHost
)

// SubReviewSource says of a match that it is exact, on a list that an officer reviews.
const SubReviewSource = match.SubReviewSource

// SubTwin says of a wallet that it may be a listed one's, and is not surely.
const SubTwin = match.SubTwin

// Why a part of a name could not be compared; see match.Unread.
type (
	Unread     = match.Unread
	UnreadWord = text.UnreadWord
)

// The causes that other rooms tell apart.
const (
	UnreadSigns   = match.UnreadSigns
	UnreadLetters = match.UnreadLetters
)

// UnreadOf returns what of a name cannot be compared; see match.UnreadOf.
func UnreadOf(name string) Unread { return match.UnreadOf(name) }

// UnreadWords returns the words of a name that cannot be compared; see text.UnreadWords.
func UnreadWords(name string, most int) []UnreadWord { return text.UnreadWords(name, most) }

// The default thresholds of a policy, 1e-4.
const (
	ReviewDefault = match.ReviewDefault
	BlockDefault  = match.BlockDefault
)

// NewScratch returns the working memory with which one goroutine screens names without
// allocating.
func NewScratch() *Scratch { return match.NewScratch() }

// NewTunedScratch returns a Scratch for the evaluator; see match.NewTunedScratch.
func NewTunedScratch(values map[string]int32) (*Scratch, error) {
	return match.NewTunedScratch(values)
}

// Constants lists the numbers of the scorer.
func Constants() []Constant { return match.Constants() }

// CountryCode returns the code (ISO 3166-1 alpha-2) of a country given by its name or its code. It
// returns "" for an unknown country.
func CountryCode(name string) string { return match.CountryCode(name) }

// CompareBirths, CompareCountries and CompareAddresses compare two tellings of one fact.
func CompareBirths(a, b string) Likeness    { return match.CompareBirths(a, b) }
func CompareCountries(a, b string) Likeness { return match.CompareCountries(a, b) }
func CompareAddresses(a, b string) Likeness { return match.CompareAddresses(a, b) }

// NormaliseName returns the normal form of a name; see text.NormaliseName.
func NormaliseName(name string) string { return text.NormaliseName(name) }

// AppendNormalised appends the normal form of a name to dst.
func AppendNormalised(dst []byte, name string) []byte { return text.AppendNormalised(dst, name) }
