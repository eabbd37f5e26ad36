package chaos

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"railguard/cluster/testcluster"
)

var (
	flagLong  = flag.Bool("chaos.long", os.Getenv("RAILGUARD_CHAOS") == "long", "the long form of every scenario")
	flagSeed  = flag.Uint64("chaos.seed", 0, "seed of the clients' choices; 0 draws one")
	flagMixed = flag.Bool("chaos.mixed", os.Getenv("RAILGUARD_CHAOS_MIXED") == "1", "clusters of this release and the next one, and with every start of a node from the one to the other")
	flagFile  = flag.String("chaos.binary", "", "a built railguard binary, instead of building one")
	flagRace  = flag.Int("chaos.races", envCount("RAILGUARD_N1"), "how often N1 is repeated (RAILGUARD_N1)")
	flagKeep  = flag.String("chaos.keep", "", "keep data and logs of the clusters in this folder")
)

// bench is shared by all scenarios of one test run. It has the binary, which is built once, and
// the clusters that are still healthy.
var bench struct {
	once        sync.Once
	examination *Examination
	folder      string
	reason      string // Why nothing can be run.
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if bench.examination != nil {
		bench.examination.Close()
	}
	if bench.folder != "" && *flagKeep == "" {
		_ = os.RemoveAll(bench.folder)
	}
	os.Exit(code)
}

// envCount reads a number from the environment; 0: there is none.
func envCount(name string) int {
	count, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return 0
	}
	return count
}

func prepare() {
	folder, err := os.MkdirTemp(*flagKeep, "railguard-chaos-")
	if err != nil {
		bench.reason = err.Error()
		return
	}
	bench.folder = folder
	binary := *flagFile
	if binary == "" {
		binary = filepath.Join(folder, "railguard")
		if err := testcluster.BuildProduct(binary); err != nil {
			bench.reason = err.Error()
			return
		}
	}
	other := ""
	if *flagMixed {
		other = filepath.Join(folder, "railguard-next")
		if err := testcluster.BuildProduct(other, "-tags", "nextformat", "-ldflags", "-X main.version=9.0.0"); err != nil {
			bench.reason = "the next release does not build: " + err.Error()
			return
		}
	}
	bench.examination = NewExamination(Options{Binary: binary, Other: other, Folder: folder, Long: *flagLong, Seed: *flagSeed, Races: *flagRace, Diverging: diverging})
}

// diverging builds a binary whose state machine counts an agent's days of activity from a wrong
// second. No answer and no record shows that; only the digests do.
func diverging() (string, error) {
	const source, right, wrong = "fsm/books.go", "row.CountedFrom = engine.UnixSecond(now)\n\t}\n", "row.CountedFrom = engine.UnixSecond(now)\n\t}\n\trow = m.agents.Edit(uint64(slot))\n\trow.CountedFrom--\n"
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, source))
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), right) != 1 {
		return "", errors.New(source + " has changed")
	}
	changed, overlay := filepath.Join(bench.folder, "books.go"), filepath.Join(bench.folder, "overlay.json")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600); err != nil {
		return "", err
	}
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, source): changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return "", err
	}
	binary := filepath.Join(bench.folder, "railguard-diverging")
	return binary, testcluster.BuildProduct(binary, "-overlay", overlay)
}

// play runs one scenario as a test. In the short form, scenarios that use a cluster of their own run
// beside one another, as many as go test allows: most of their time they wait for an election, a
// timeout or a restart.
func play(t *testing.T, id string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts and breaks real processes")
	}
	if s := find(id); s.fresh && !s.calm && !*flagLong && !*flagMixed {
		t.Parallel()
	}
	bench.once.Do(prepare)
	if bench.reason != "" {
		t.Skip(bench.reason)
	}
	result := bench.examination.Examine(t.Context(), id)
	switch result.Outcome {
	case Fail:
		t.Error(result)
	case Skipped:
		t.Skip(result)
	default:
		t.Log(result)
	}
}

// These are the tests of the specification's statements about clusters, and some more. They stand
// in the order of a run: first come those that can share a healthy cluster.

func TestC01(t *testing.T)          { play(t, "C01") }
func TestC06(t *testing.T)          { play(t, "C06") }
func TestC26(t *testing.T)          { play(t, "C26") }
func TestC16(t *testing.T)          { play(t, "C16") }
func TestN1Overspend(t *testing.T)  { play(t, "N1") }
func TestN1Repeated(t *testing.T)   { play(t, "N1/repeated") }
func TestC23(t *testing.T)          { play(t, "C23") }
func TestC02(t *testing.T)          { play(t, "C02") }
func TestC18(t *testing.T)          { play(t, "C18") }
func TestC10(t *testing.T)          { play(t, "C10") }
func TestC03(t *testing.T)          { play(t, "C03") }
func TestC05(t *testing.T)          { play(t, "C05") }
func TestC09(t *testing.T)          { play(t, "C09") }
func TestFaults(t *testing.T)       { play(t, "A3") }
func TestC10Apart(t *testing.T)     { play(t, "C10/apart") }
func TestFaultsApart(t *testing.T)  { play(t, "A3/apart") }
func TestKillAlone(t *testing.T)    { play(t, "A1") }
func TestC04(t *testing.T)          { play(t, "C04") }
func TestC04Skew(t *testing.T)      { play(t, "C04/skew") }
func TestC04Power(t *testing.T)     { play(t, "C04/power") }
func TestC07(t *testing.T)          { play(t, "C07") }
func TestC07Delta(t *testing.T)     { play(t, "C07/delta") }
func TestC07Published(t *testing.T) { play(t, "C07/published") }
func TestC08(t *testing.T)          { play(t, "C08") }
func TestC11(t *testing.T)          { play(t, "C11") }
func TestC11Stall(t *testing.T)     { play(t, "C11/stall") }
func TestOverload(t *testing.T)     { play(t, "A5") }
func TestRot(t *testing.T)          { play(t, "A4") }
func TestC14(t *testing.T)          { play(t, "C14") }
func TestC15(t *testing.T)          { play(t, "C15") }
func TestC19(t *testing.T)          { play(t, "C19") }
func TestC20(t *testing.T)          { play(t, "C20") }
func TestC21(t *testing.T)          { play(t, "C21") }
func TestC22(t *testing.T)          { play(t, "C22") }
func TestC27(t *testing.T)          { play(t, "C27") }
func TestC28(t *testing.T)          { play(t, "C28") }
func TestC17(t *testing.T)          { play(t, "C17") }
