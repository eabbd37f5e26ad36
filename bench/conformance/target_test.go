package conformance

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/process"
)

var (
	flagNodes = flag.Int("nodes", 1, "nodes of the development cluster that the suite starts")
	flagCalls = flag.Int("calls", distinctDefault, "screening calls of T043")
	flagOnly  = flag.String("only", "", "comma-separated prefixes of the checks to run")
	flagSpec  = flag.Bool("spec", false, "leave out the statements that are our rulings")
	flagSlow  = flag.Bool("slow", false, "also run probes that wait for time-outs")
	flagQuick = flag.Bool("latency", false, "also judge the 50 ms target; the machine must be quiet")
)

const (
	startTimeout = 150 * time.Second
	stopTimeout  = 20 * time.Second
	pollPause    = 50 * time.Millisecond
)

// target is a development cluster that the test started and will stop.
type target struct {
	binary, data string
	nodes, port  int
	command      *exec.Cmd
	output       *bytes.Buffer
	done         chan error
	file         DevFile
}

// buildTarget builds the binary, or skips the test when it does not build yet.
func buildTarget(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "railguard")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/railguard")
	build.Dir = filepath.Join("..", "..")
	if raw, err := build.CombinedOutput(); err != nil {
		t.Skipf("the binary does not build, nothing to examine: %v\n%s", err, cut(string(raw), 800))
	}
	return binary
}

// startTarget starts a cluster on fresh data and stops it when the test ends.
func startTarget(t *testing.T, binary string, nodes int) *target {
	t.Helper()
	port, err := process.FreeBase(nodes)
	require.NoError(t, err)
	d := &target{binary: binary, data: t.TempDir(), nodes: nodes, port: port}
	t.Cleanup(func() {
		if err := d.stop(); err != nil {
			t.Logf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("output of the target:\n%s", cut(d.output.String(), 4000))
		}
	})
	require.NoError(t, d.start(t.Context()))
	return d
}

// start runs the binary and waits until every node says it is ready.
func (d *target) start(ctx context.Context) error {
	_ = os.Remove(filepath.Join(d.data, "dev.json"))
	d.output = new(bytes.Buffer)
	d.command = exec.Command(d.binary, "dev", "--nodes", strconv.Itoa(d.nodes), "--data", d.data, "--http-base", strconv.Itoa(d.port), "--test-clock")
	d.command.Stdout, d.command.Stderr = d.output, d.output
	if err := d.command.Start(); err != nil {
		return err
	}
	d.done = make(chan error, 1)
	go func() { d.done <- d.command.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if d.ready(ctx) {
			return nil
		}
		select {
		case err := <-d.done:
			d.done <- err
			return fmt.Errorf("the target ended before it was ready: %v\n%s", err, cut(d.output.String(), 4000))
		case <-ctx.Done():
			return fmt.Errorf("the target was not ready in %v\n%s", startTimeout, cut(d.output.String(), 4000))
		case <-time.After(pollPause):
		}
	}
}

// ready reads dev.json and asks every node.
func (d *target) ready(ctx context.Context) bool {
	file, err := ReadDevFile(d.data)
	if err != nil || len(file.Nodes) != d.nodes {
		return false
	}
	d.file = file
	for _, node := range d.file.Nodes {
		call, err := http.NewRequestWithContext(ctx, http.MethodGet, Address(node.HTTP)+"/readyz", nil)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(call)
		if err != nil {
			return false
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// stop ends the target in good order, and by force when that takes too long.
func (d *target) stop() error {
	if d.command == nil || d.command.Process == nil {
		return nil
	}
	_ = d.command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-d.done:
		d.command = nil
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("the target ended with %w", err)
		}
		return nil
	case <-time.After(stopTimeout):
		_ = d.command.Process.Kill()
		<-d.done
		for _, node := range d.file.Nodes { // Its children, which it can no longer stop itself.
			if child, err := os.FindProcess(node.PID); err == nil {
				_ = child.Kill()
			}
		}
		d.command = nil
		return errors.New("the target did not stop when asked and was killed")
	}
}

func (d *target) restart(ctx context.Context) error {
	if err := d.stop(); err != nil {
		return err
	}
	return d.start(ctx)
}

// config is the full examination of this target.
func (d *target) config(t *testing.T) Config {
	cfg, err := d.file.Config(d.data)
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
	if d.nodes > 2 && canPause {
		cfg.LoseQuorum = d.loseQuorum
	}
	if raw, err := exec.CommandContext(t.Context(), d.binary, "version").Output(); err == nil {
		cfg.Version = versionWord(string(raw))
	}
	return cfg
}

// followersFirst orders the nodes so that most checks speak to a follower, where a
// write is forwarded and a read can be behind.
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
	kept := d.file.Nodes[0]
	restore := func() (err error) {
		for _, node := range d.file.Nodes[1:] {
			err = errors.Join(err, pauseProcess(node.PID, false))
		}
		return err
	}
	for _, node := range d.file.Nodes[1:] {
		if err := pauseProcess(node.PID, true); err != nil {
			return "", nil, errors.Join(err, restore())
		}
	}
	return Address(kept.HTTP), restore, nil
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
	target := startTarget(t, buildTarget(t), *flagNodes)
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
