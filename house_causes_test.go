package railguard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// causes says for each end of a node that the handbook quotes which tests bring it about, as
// room.Test. A test holds the node to the words of the handbook. Where nothing can bring it about,
// the reason stands there.
var causes = []struct {
	quoted string
	tests  string
	unless string
}{
	{"disk stalled: ...", "cluster/datadir.TestGuardG4StalledDisk cluster.TestHistoryStalls bench/sim.TestOneDiskHangs", ""},
	{"disk failed: ...", "cluster/datadir.TestGuardedStoreFails cluster.TestStopsOfADisk", ""},
	{"panic:", "", "it is the end that Go makes of a bug; TestShippedUnitIsKeptUp ends a node as it does"},
	{"fatal error:", "", "as panic"},
	{"history diverged: the group would cut entries ...", "cluster/datadir.TestCutsOfTheLog", ""},
	{"history diverged", "cluster/datadir.TestCutsOfTheLog bench/sim.TestTwoFoldersOfAnotherTime", ""},
	{"state diverged", "cluster.TestDivergedNodeStops bench/sim.TestDivergedBesideARestart", ""},
	{"the data folder is an older copy", "cluster.TestFolderFromAnOlderCopy", ""},
	{"... this one runs on a copy of its folder", "cluster.TestCopyOfAMembersFolder", ""},
	{"disk full", "cluster.TestNodeLowOnDisk cluster.TestDiskIsWatchedBesideASlowDuty", ""},
	{"... upgrade this node", "cluster.TestStopsOfAState cmd/railguard.TestRollingUpgrade", ""},
	{"this node was removed from the cluster", "cluster.TestRemovedNodeStaysOut", ""},
	{"data folder ... was left behind", "cluster.TestRemovedNodeStaysOut cluster.TestRecoverOldNodesComeBack", ""},
	{"BUG: state diverged", "cluster.TestDivergedNodeStops bench/sim.TestDivergedBesideARestart", ""},
	{"history cannot be made durable: ...", "cluster.TestStopsOfADisk", ""},
	{"history that was fetched cannot be made durable: ...", "cluster.TestStopsOfADisk", ""},
	{"history past its retention cannot be deleted: ...", "cluster.TestStopsOfADisk", ""},
	{"the raft log is damaged: .../raft/...", "cluster/datadir.TestDamageWhileRunning cmd/railguard.TestDamagedLogIsFatal", ""},
	{"no snapshot can be loaded: .../state.bin", "cluster.TestSpoiltSnapshotIsNamed", ""},
	{"failed to load any existing snapshots", "cluster.TestSpoiltSnapshotIsNamed", ""},
	{"no snapshot that can be read reaches to where the log begins", "cluster.TestLostSnapshotsAreNamed", ""},
	{"the snapshot that the leader sent cannot be restored: .../state.bin", "cluster.TestARestoreThatFails", ""},
	{"log entry ...: ...", "cluster.TestStopsOfAState", ""},
	{"audit of log entry ...: ...", "cluster.TestStopsOfADisk", ""},
	{"leadership transfer does not end", "cluster.TestGuardG5ExitRule", ""},
	{"snapshots are installed again and again without progress", "cluster.TestGuardG3CountsInstallsWithoutProgress", ""},
	{"this node is not taken in at ...", "cluster.TestCopyOfAMembersFolder", ""},
	{"the genesis of this cluster was refused by the state machine", "cluster.TestStopsOfAState", ""},
	{"the state machine refuses the leaf of the recovery ...", "cluster.TestStopsOfAState", ""},
	{"BUG: the leaf of the recovery cannot be made: ...", "", "the record consists of numbers and texts, which always become JSON"},
	{"data folder ... is in use by another process", "cluster/datadir.TestFolderRefuses", ""},
	{"was recovered without node ...", "cluster.TestRecoverOldNodesComeBack", ""},
	{"a recovery of data folder ... was begun ... and not finished", "cluster.TestRecoverAfterAnyKill", ""},
	{"this folder was recovered or restored without them, and yet they answer", "cluster.TestRecoverOldNodesComeBack cmd/railguard.TestARestoredFolderAsksTheLiving", ""},
	{"the group that this folder's backup is of still serves", "cmd/railguard.TestWhoWasNotReachedIsAskedAgain", ""},
	{"a node of another recovery of this cluster is there", "cluster.TestALivingMajorityStays", ""},
	{"... has no node.key", "cluster/datadir.TestFolderRefusesOtherKeys", ""},
	{"is the key of another folder", "cluster/datadir.TestFolderRefusesOtherKeys", ""},
	{"... has data but no node.json", "cluster/datadir.TestFolderRefuses", ""},
}

// words of a quote that a test must say at least, so that it does not hold for any other end.
const wordsMin = 8

// TestEveryStopIsCaused: each end that the handbook's table quotes is brought about by a test, which
// requires the words that the handbook quotes.
func TestEveryStopIsCaused(t *testing.T) {
	listed, told := map[string]bool{}, map[string]bool{}
	for _, cause := range causes {
		require.False(t, listed[cause.quoted], "%q stands there twice", cause.quoted)
		listed[cause.quoted] = true
		require.NotEqual(t, cause.tests == "", cause.unless == "", "%q has tests, or a reason why not", cause.quoted)
		for _, test := range strings.Fields(cause.tests) {
			requireSays(t, test, cause.quoted)
		}
	}
	for _, row := range stopRows(t) {
		for _, quote := range row {
			require.True(t, listed[quote], "docs/OPERATING.md says that a node ends with %q: name the test that brings it about here", quote)
			told[quote] = true
		}
	}
	require.Equal(t, told, listed, "and only those")
}

// stopRows returns what each row of the handbook's table of ends quotes.
func stopRows(t *testing.T) (rows [][]string) {
	_, chapter, found := strings.Cut(text(t, "docs/OPERATING.md"), "\n## A node that stops\n")
	require.True(t, found)
	chapter, _, _ = strings.Cut(chapter, "\n### ")
	for _, line := range strings.Split(chapter, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| reason") {
			continue
		}
		cell, what, _ := strings.Cut(line[2:], " | ")
		require.NotEmpty(t, strings.Trim(what, " |"), line)
		require.NotRegexp(t, `(?i)\bwipe (it|the folder)\b`, what, "nobody is told to wipe what the product has not compared")
		var row []string
		for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
			row = append(row, match[1])
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// requireSays requires that a test exists, and that its file says the words of a quote: those before,
// between or behind what the quote leaves out.
func requireSays(t *testing.T, test, quote string) {
	room, name, found := strings.Cut(test, ".")
	require.True(t, found, test)
	files, err := filepath.Glob(room + "/*_test.go")
	require.NoError(t, err)
	for _, path := range files {
		if !strings.Contains(text(t, path), "\nfunc "+name+"(") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		require.True(t, says(file, quote), "%s: %s brings about %q and does not hold the node to these words", path, name, quote)
		return
	}
	require.Fail(t, "there is no such test", test)
}

var leftOut = regexp.MustCompile(`\.\.\.`)

// says reports whether a file has a literal with a part of a quote, or one that is such a part.
func says(file *ast.File, quote string) (found bool) {
	for _, part := range leftOut.Split(quote, -1) {
		part = strings.Trim(part, ": ")
		if len(part) < wordsMin {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, is := node.(*ast.BasicLit); is && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				text = strings.Trim(text, ": ")
				found = found || len(text) >= wordsMin && (strings.Contains(text, part) || strings.Contains(part, text))
			}
			return !found
		})
	}
	return found
}
