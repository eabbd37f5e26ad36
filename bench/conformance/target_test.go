package conformance

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

var (
	flagNodes = flag.Int("nodes", 1, "nodes of the development cluster that the suite starts")
	flagCalls = flag.Int("calls", distinctDefault, "screening calls of T043")
	flagOnly  = flag.String("only", "", "comma-separated prefixes of the checks to run")
	flagSpec  = flag.Bool("spec", false, "leave out the statements that are our rulings")
	flagEvery = flag.Bool("every", false, "contradict every demand of the checks that are data, not one of each")
	flagSlow  = flag.Bool("slow", false, "also run probes that wait for time-outs")
	flagQuick = flag.Bool("latency", false, "also judge the 50 ms target; the machine must be quiet")
)

// target is a development cluster that the test started and will stop.
type target struct {
	*testcluster.Development
	file DevFile
}

// startTarget starts a cluster on fresh data and stops it when the test ends.
func startTarget(t *testing.T, nodes int) *target {
	t.Helper()
	asked, err := filepath.Abs("testdata/gateway-map.yaml")
	require.NoError(t, err)
	d := &target{Development: testcluster.StartDevelopment(t, nodes, "--test-clock", "--gateway-map", asked)}
	d.file, err = ReadDevFile(d.Folder)
	require.NoError(t, err)
	require.NoError(t, d.LetOneAct(t.Context()))
	return d
}

func (d *target) restart(ctx context.Context) error {
	if err := d.Stop(); err != nil {
		return err
	}
	if err := d.Start(ctx); err != nil {
		return err
	}
	var err error
	d.file, err = ReadDevFile(d.Folder)
	return err
}

// config returns the configuration for a full examination of this target.
func (d *target) config(t *testing.T) Config {
	cfg, err := d.file.Config(d.Folder)
	require.NoError(t, err)
	cfg.BaseURLs, cfg.AdminURL = d.followersFirst(t)
	cfg.DistinctCalls, cfg.Slow, cfg.MeasureLatency, cfg.Restart = *flagCalls, *flagSlow, *flagQuick, d.restart
	cfg.OnlySpec = *flagSpec
	if testing.Short() {
		cfg.DistinctCalls = min(cfg.DistinctCalls, 2000)
	}
	if *flagOnly != "" {
		cfg.IDs = strings.Split(*flagOnly, ",")
	}
	if len(d.Nodes) > 2 && testcluster.CanPause {
		cfg.LoseQuorum = d.loseQuorum
	}
	if raw, err := exec.CommandContext(t.Context(), d.Binary, "version").Output(); err == nil {
		cfg.Version = versionWord(string(raw))
	}
	return cfg
}

// followersFirst orders the nodes so that most checks call a follower. A follower forwards
// writes, and its reads may lag behind.
func (d *target) followersFirst(t *testing.T) (bases []string, admin string) {
	t.Helper()
	var leader []string
	for _, node := range d.file.Nodes {
		base := Address(node.HTTP)
		response, err := http.Get(base + "/v1/health")
		require.NoError(t, err)
		raw, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		if strings.Contains(string(raw), `"role":"leader"`) && len(d.file.Nodes) > 1 {
			leader = append(leader, base)
			continue
		}
		if bases = append(bases, base); admin == "" {
			admin = Address(node.Admin)
		}
	}
	return append(bases, leader...), admin
}

// loseQuorum pauses all nodes but one.
func (d *target) loseQuorum(context.Context) (string, func() error, error) {
	signalOthers := func(signal os.Signal) (failed error) {
		for _, node := range d.file.Nodes[1:] {
			process, err := os.FindProcess(node.PID)
			if err == nil {
				err = process.Signal(signal)
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}
	restore := func() error { return signalOthers(testcluster.SignalResume) }
	if err := signalOthers(testcluster.SignalPause); err != nil {
		return "", nil, errors.Join(err, restore())
	}
	return Address(d.file.Nodes[0].HTTP), restore, nil
}

// versionWord picks the semantic version out of what `railguard version` prints.
func versionWord(text string) string {
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, `",{}v`)
		if strings.Count(word, ".") == 2 && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return strings.TrimSpace(text)
}

// TestConformance builds the real binary, starts it and examines it: one subtest
// for each statement.
func TestConformance(t *testing.T) {
	target := startTarget(t, *flagNodes)
	cfg := target.config(t)
	document := held(t, &cfg)
	summary := Run(t.Context(), cfg, func(r Result) {
		t.Run(r.ID, func(t *testing.T) {
			switch r.Outcome {
			case Fail:
				t.Errorf("%s (%s): %s", r.Title, r.Source, r.Reason)
			case Skipped:
				t.Skipf("%s: %s", r.Title, r.Reason)
			}
		})
	})
	t.Run("walk", func(t *testing.T) { document.walk(t, &cfg) })
	t.Run("document", document.report)
	t.Logf("%d passed, %d failed, %d skipped", summary.Pass, summary.Fail, summary.Skipped)
}
