package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// besideMax is how many tests of processes and groups run at once. They wait for elections, disks
// and timers and compute little, so that two processors carry more than two of them.
const besideMax = 4

// TestMain runs the tests of this room. -parallel says another number than besideMax.
func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(besideMax)); err != nil {
			return 0, err
		}
	}
	if productsFolder, err = os.MkdirTemp("", "railguard-products-"); err != nil {
		return 0, err
	}
	code = m.Run()
	return code, os.RemoveAll(productsFolder)
}

// atSide has the tests that wait beside others.
var atSide sync.Map

// waitBeside runs the rest of a test beside others of its kind, which mostly wait. A test of the
// process's own state (environment, current folder) cannot be one of them. A test may ask twice.
func waitBeside(t testing.TB) {
	test, is := t.(*testing.T)
	if !is {
		return
	}
	if _, asked := atSide.LoadOrStore(test, true); !asked {
		test.Parallel()
	}
}

// A machine that runs many tests gives a node its turn late, and then the others elect: nothing was
// done, and whoever asks asks again, as the handbook says. These waits are as long as a slow machine
// may take; nothing that a test promises of elections rests on them.
const (
	slowPatience  = 2 * time.Minute
	electionPause = 100 * time.Millisecond
)

// chooses is what a verb says of a call with which nothing was done because nobody leads.
var chooses = regexp.MustCompile(`\b503 (no_leader|no_quorum)\b`)

// undecided reports whether nothing was done with a call because nobody leads.
func undecided(status int, answer map[string]any) bool {
	return status == http.StatusServiceUnavailable && (answer["code"] == "no_leader" || answer["code"] == "no_quorum")
}

// products has the binaries that tests run, by their build flags: each is a function that builds
// once and returns the path.
var (
	products       sync.Map
	productsFolder string
)

// product returns the product's binary. With flags it is another build: another release's, say.
func product(t testing.TB, flags ...string) string {
	t.Helper()
	build, _ := products.LoadOrStore(strings.Join(flags, " "), sync.OnceValues(func() (string, error) {
		folder, err := os.MkdirTemp(productsFolder, "build-")
		path := filepath.Join(folder, "railguard")
		return path, errors.Join(err, testcluster.BuildProduct(path, flags...))
	}))
	path, err := build.(func() (string, error))()
	require.NoError(t, err)
	return path
}

// nextProduct returns the binary of a later release with a higher format.
func nextProduct(t testing.TB) string {
	t.Helper()
	return product(t, "-tags", "nextformat", "-ldflags", "-X main.version=9.0.0")
}
