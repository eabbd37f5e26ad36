package match

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"railguard/ofac/index"
	"railguard/ofac/list"
)

// MatcherVersion is the newest matcher for which this program compiles tables and with
// which it judges. It rises whenever the same list and query may get another answer. The
// version before it then stays for one release, so that a cluster can be upgraded node by
// node.
const MatcherVersion uint16 = 1

// ErrMatcherVersion is wrapped by errors about versions that a program does not have.
var ErrMatcherVersion = errors.New("matcher version")

// ErrBeingCompiled is wrapped by the errors of lists whose tables are being made.
var ErrBeingCompiled = errors.New("the list is being compiled")

// Matchers are the matcher versions that a program has, ascending. A list has other tables
// for each version. This package has all versions up to MatcherVersion. A greater number is
// a rehearsal, which only tests use: it has the tables of the newest version and counts
// weak aliases, so that a test can see which version judged.
type Matchers []uint16

// Carried returns the versions of this program.
func Carried() Matchers { return Matchers{MatcherVersion} }

// rehearseQuery returns the query for a rehearsal version.
func rehearseQuery(q *Query) *Query {
	wider := *q
	wider.WeakAliases = true
	return &wider
}

// Carries reports whether the program has that version.
func (m Matchers) Carries(version uint16) bool { return slices.Contains(m, version) }

// Newest is the highest version, 0 if there is none.
func (m Matchers) Newest() uint16 {
	if len(m) == 0 {
		return 0
	}
	return m[len(m)-1]
}

// Help reduces the work of compiling a list or spreads it over time. It does not change the
// result. The zero value gives no help.
type Help struct {
	// Former is a list of the same version that was compiled before. Close words are copied
	// from it where they must be the same. Successive lists differ in few words.
	Former *Index
	// Step is called between two pieces of the work; it may pause.
	Step func()
}

// Index is a compiled list for screening names and wallets. It is immutable and safe for
// any number of readers.
type Index struct {
	index.Tables
	sample uint64 // See SampleDigest.
}

// Compile compiles an encoded list of entities for one version of the matcher, the same on
// every node. The error wraps ErrEntities or ErrMatcherVersion.
func (m Matchers) Compile(encoded []byte, version uint16) (*Index, error) {
	return m.CompileWith(Help{}, encoded, version)
}

// CompileWith is Compile with help. A list that brings out a fault of ours is refused: lists are
// replicated, so a panic would end every node, and again after each start.
func (m Matchers) CompileWith(help Help, encoded []byte, version uint16) (compiled *Index, err error) {
	defer func() {
		if p := recover(); p != nil {
			compiled, err = nil, fmt.Errorf("%w: BUG: its compilation panicked: %v\n%s", list.ErrEntities, p, debug.Stack())
		}
	}()
	if !m.Carries(version) {
		return nil, fmt.Errorf("%w %d: this program has %v", ErrMatcherVersion, version, []uint16(m))
	}
	entities, meta, err := list.Decode(encoded) // Decode refuses a list that is not canonical.
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
	compiled = &Index{Tables: *tables}
	compiled.sample = compiled.answerSamples()
	return compiled, nil
}

// Compile compiles a list for a version that this program has.
func Compile(encoded []byte, version uint16) (*Index, error) {
	return Carried().Compile(encoded, version)
}

// Build compiles entities to a list, the same for the same set of entities in any order,
// with tables of at most 64 MiB. It fails if an entity has no uid, type, list or name, or
// if any bound of the list or its tables is exceeded.
//
// The cluster replicates the bytes of EncodeEntities, and each node compiles them with
// Compile. Build does both in one step, for the newest matcher.
func Build(entities []list.Entity, meta list.Meta) (*Index, error) {
	encoded, err := list.Encode(entities, meta)
	if err != nil {
		return nil, err
	}
	return Compile(encoded, MatcherVersion)
}

// Diff compares two lists. An address printed in another case is the same address. An
// address that moves to another ticker of the same party is not a change.
func Diff(from, to *Index) index.ListDiff { return index.Diff(&from.Tables, &to.Tables) }
