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
)

// OFAC's sources, as numbers and as sets; see list.Source.
const (
	SDN        = list.SDN
	CONS       = list.CONS
	SourcesMax = list.SourcesMax
	ListSDN    = list.ListSDN
	ListCONS   = list.ListCONS
)

// What an entity is.
const (
	Individual = list.Individual
	Company    = list.Company
	Vessel     = list.Vessel
	Aircraft   = list.Aircraft
)

// What a fact of an entity tells.
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

// ErrEntities is wrapped by the errors of encoded lists that cannot be read.
var ErrEntities = list.ErrEntities

// Sources are all sources, in the order of their numbers.
func Sources() []Source { return list.Sources() }

// SourceNamed finds a source by its name.
func SourceNamed(name string) (Source, bool) { return list.SourceNamed(name) }

// EncodeEntities writes a list as the log keeps it; see list.Encode.
func EncodeEntities(entities []Entity, meta Meta) ([]byte, error) { return list.Encode(entities, meta) }

// DecodeEntities reads what EncodeEntities wrote; see list.Decode.
func DecodeEntities(encoded []byte) ([]Entity, Meta, error) { return list.Decode(encoded) }

// Digest is the SHA-256 of an encoded list of entities: the list's name.
func Digest(encoded []byte) [32]byte { return list.Digest(encoded) }

// SnapshotID is the id under which people know the list of a digest.
func SnapshotID(digest [32]byte) string { return list.SnapshotID(digest) }

// A compiled list and its matcher (rooms index and match).
type (
	Index        = match.Index
	Matchers     = match.Matchers
	Help         = match.Help
	Counts       = index.Counts
	WalletMatch  = index.WalletMatch
	ListDiff     = index.ListDiff
	ListedWallet = index.ListedWallet
)

// MatcherVersion is the newest matcher; see match.MatcherVersion.
const MatcherVersion = match.MatcherVersion

// Errors of lists that cannot be compiled, or not yet.
var (
	ErrMatcherVersion = match.ErrMatcherVersion
	ErrBeingCompiled  = match.ErrBeingCompiled
)

// Carried are the versions of the matcher that this program carries.
func Carried() Matchers { return match.Carried() }

// Build compiles entities to a list in one step, for the newest matcher; see match.Build.
func Build(entities []Entity, meta Meta) (*Index, error) { return match.Build(entities, meta) }

// Compile makes the list of encoded entities for a version that this program carries.
func Compile(encoded []byte, version uint16) (*Index, error) { return match.Compile(encoded, version) }

// Diff compares two lists; see match.Diff.
func Diff(from, to *Index) ListDiff { return match.Diff(from, to) }

// A name that is screened, and what it leads to (room match).
type (
	Query         = match.Query
	PartyType     = match.PartyType
	Context       = match.Context
	Scratch       = match.Scratch
	Result        = match.Result
	Match         = match.Match
	Outcome       = match.Outcome
	Constant      = match.Constant
	ExplainedLoss = match.ExplainedLoss
)

// What the caller says the named party is.
const (
	PartyUnknown    = match.PartyUnknown
	PartyIndividual = match.PartyIndividual
	PartyBusiness   = match.PartyBusiness
	PartyExchange   = match.PartyExchange
)

// The outcomes, hardest last.
const (
	Clear    = match.Clear
	Possible = match.Possible
	Listed   = match.Listed
)

// The thresholds of a policy that sets none, 1e-4.
const (
	ReviewDefault = match.ReviewDefault
	BlockDefault  = match.BlockDefault
)

// NewScratch returns what one goroutine needs to screen names without allocating.
func NewScratch() *Scratch { return match.NewScratch() }

// NewTunedScratch returns a Scratch for the evaluator; see match.NewTunedScratch.
func NewTunedScratch(name string, value int32) (*Scratch, error) {
	return match.NewTunedScratch(name, value)
}

// Constants lists the numbers of the scorer.
func Constants() []Constant { return match.Constants() }

// CountryCode is the code of a country that is named by its English name or its code; "": it
// is none that is known.
func CountryCode(name string) string { return match.CountryCode(name) }

// NormaliseName returns the normal form of a name; see text.NormaliseName.
func NormaliseName(name string) string { return text.NormaliseName(name) }

// AppendNormalised appends the normal form of a name to dst.
func AppendNormalised(dst []byte, name string) []byte { return text.AppendNormalised(dst, name) }
