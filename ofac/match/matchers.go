package match

import (
	"errors"
	"fmt"
	"slices"

	"railguard/ofac/index"
	"railguard/ofac/list"
)

// MatcherVersion is the newest matcher this program compiles tables for and judges
// with. It rises whenever the same list and query may be answered otherwise; the
// version before it then stays beside it for one release, so that a cluster can be
// upgraded node by node.
const MatcherVersion uint16 = 1

// ErrMatcherVersion is wrapped by the errors of versions that a program does not carry.
var ErrMatcherVersion = errors.New("matcher version")

// ErrBeingCompiled is wrapped by the errors of lists whose tables are being made.
var ErrBeingCompiled = errors.New("the list is being compiled")

// Matchers are the versions of the matcher that a program carries, ascending. One
// list has other tables for each. All versions up to MatcherVersion are of this
// package. A number beyond it is a rehearsal, which tests alone carry: the tables of the
// newest, and weak aliases count, so that which version judged can be seen from outside.
type Matchers []uint16

// Carried are the versions of this program.
func Carried() Matchers { return Matchers{MatcherVersion} }

// rehearseQuery is the query as a rehearsal reads it.
func rehearseQuery(q *Query) *Query {
	wider := *q
	wider.WeakAliases = true
	return &wider
}

// Carries reports whether the program has that version.
func (m Matchers) Carries(version uint16) bool { return slices.Contains(m, version) }

// Newest is the highest version, 0 where there is none.
func (m Matchers) Newest() uint16 {
	if len(m) == 0 {
		return 0
	}
	return m[len(m)-1]
}

// Help spares or spreads the work of compiling a list. It changes nothing of what
// comes out. The zero value helps with nothing.
type Help struct {
	// Former is a list that was compiled before, of the same version: which of its words
	// are near to one another is taken from it where the new list has the same words
	// there. Lists that follow one another differ in a few.
	Former *Index
	// Step is called between two pieces of the work; it may rest.
	Step func()
}

// Index is a compiled list that names and wallets are screened against. It is immutable and
// safe for any number of readers.
type Index struct {
	index.Tables
}

// Compile makes the list of an encoded list of entities that one version of the matcher
// judges with: the same on every node. The error wraps ErrEntities or ErrMatcherVersion.
func (m Matchers) Compile(encoded []byte, version uint16) (*Index, error) {
	return m.CompileWith(Help{}, encoded, version)
}

// CompileWith is Compile with help.
func (m Matchers) CompileWith(help Help, encoded []byte, version uint16) (*Index, error) {
	if !m.Carries(version) {
		return nil, fmt.Errorf("%w %d: this program has %v", ErrMatcherVersion, version, []uint16(m))
	}
	entities, meta, err := list.Decode(encoded) // Canonical: it refuses what is not.
	if err != nil {
		return nil, err
	}
	plan := index.Plan{Entities: entities, Meta: meta, Digest: list.Digest(encoded), Matcher: version, Step: help.Step}
	if help.Former != nil {
		plan.Former = &help.Former.Tables
	}
	tables, err := index.Make(&plan)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", list.ErrEntities, err)
	}
	return &Index{*tables}, nil
}

// Compile makes the list for a version that this program carries.
func Compile(encoded []byte, version uint16) (*Index, error) {
	return Carried().Compile(encoded, version)
}

// Build compiles entities to a list, the same for the same set of entities in any
// order, with tables of at most 64 MiB. It is refused if an entity has no uid, type,
// list or name, or if any bound of the list or its tables is passed.
//
// What the cluster replicates is EncodeEntities' bytes, and a node makes the tables of
// them with Compile; this is the same in one step, for the newest matcher.
func Build(entities []list.Entity, meta list.Meta) (*Index, error) {
	encoded, err := list.Encode(entities, meta)
	if err != nil {
		return nil, err
	}
	return Compile(encoded, MatcherVersion)
}

// Diff compares two lists. An address printed in another case is the same
// address; one that moves to another ticker of the same party is not a change.
func Diff(from, to *Index) index.ListDiff { return index.Diff(&from.Tables, &to.Tables) }
