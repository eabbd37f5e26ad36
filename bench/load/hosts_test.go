package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

const testHostPort = "19000"

// requireGone wants no process whose command line names a folder.
func requireGone(t *testing.T, folder string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, line := range lines {
		raw, _ := os.ReadFile(line) // The process may have ended meanwhile.
		require.NotContains(t, string(raw), folder, line)
	}
}

// TestThreeHosts runs bare raft and bare HTTP at three attendants, lets them form a group, loads it
// and kills its leader. Nothing is left behind.
func TestThreeHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and runs it for seconds")
	}
	t.Parallel() // It waits more than it works.
	folders, loader := t.TempDir(), t.TempDir()
	o := Options{
		Self: buildBinary(t, "../cmd/railguard-bench"), Folder: loader, Brief: true, Workload: StandardWorkload(), Secret: testSecret,
		Suites: []string{"kill"},
	}
	o.Workload.Agents, o.Workload.Delegates, o.Workload.Fleets = 12, 4, 2
	network := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
	for i := range 3 {
		address := net.JoinHostPort(network+strconv.Itoa(i+2), testHostPort)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Skipf("this system has no further addresses on loopback: %v", err)
		}
		require.NoError(t, listener.Close())
		folder := filepath.Join(folders, strconv.Itoa(i))
		require.NoError(t, os.Mkdir(folder, 0o700))
		attend(t, HostOptions{Listen: address, Folder: folder, Self: o.Self, Binary: buildBinary(t, "../../cmd/railguard"), Version: "of the hosts"})
		o.Hosts = append(o.Hosts, address)
	}
	measureFloors(t, o)
	var said bytes.Buffer
	o.Progress = &said
	report, err := Run(t.Context(), o)
	require.NoError(t, err, "%s", &said)
	require.Empty(t, report.Skipped, "%s", &said)
	require.Equal(t, "of the hosts", report.Version)
	require.Equal(t, "hosts: 3+1, but on 1 machine(s): nodes or the loader share one", report.Placement)
	require.Len(t, report.Hosts, 3)
	require.Len(t, report.RoundTrips, 3+3*2)
	for _, key := range []string{"kill.median", "fsync.p50", "rtt.loader.p50", "rtt.hosts.p50"} {
		require.Contains(t, report.Measures, key)
		require.Positive(t, report.Measures[key].Value, key)
	}
	for _, c := range report.Curves {
		require.NotZero(t, c.Done, c.Name)
		require.Zero(t, c.Failed, "%s: %v", c.Name, c.Errors)
	}
	requireEmpty(t, loader)
	for i := range 3 {
		requireEmpty(t, filepath.Join(folders, strconv.Itoa(i)))
	}
	requireGone(t, folders)
}

// measureFloors measures bare raft whose three processes are at the hosts, and bare HTTP at the first.
func measureFloors(t *testing.T, o Options) {
	t.Helper()
	b := testBench()
	b.options = o
	defer func() {
		for _, h := range b.hosts {
			h.close()
		}
	}()
	require.NoError(t, b.settlePlaces(t.Context()))
	trio, err := b.startTrio(t.Context(), "wal")
	require.NoError(t, err)
	defer trio.close()
	for i, h := range trio.helpers {
		require.Contains(t, h.url, strings.TrimSuffix(o.Hosts[i], testHostPort), "each host has one")
	}
	result, err := trio.apply(t.Context(), 1, 400, briefSpan)
	require.NoError(t, err)
	require.Positive(t, result.P50)
	_, err = b.echoRound(t.Context(), 4, briefSpan, simple)
	require.NoError(t, err)
	require.Contains(t, b.echoes.url, strings.TrimSuffix(o.Hosts[0], testHostPort))
	require.Contains(t, b.report.Measures, "echo.cpu")
}

// TestHostsInNamespaces runs three attendants and the loader in network namespaces that a bridge
// connects: no node is reached but over the network. Where the kernel can delay packets, what is
// measured contains the delay.
func TestHostsInNamespaces(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and runs it for seconds")
	}
	t.Parallel()    // It waits more than it works.
	const delay = 2 // Milliseconds that a packet waits where it leaves a namespace.
	names, delayed := lan(t, 4, strconv.Itoa(delay)+"ms")
	program, product, folders, loader := buildBinary(t, "../cmd/railguard-bench"), buildBinary(t, "../../cmd/railguard"), t.TempDir(), t.TempDir()
	spawner := testcluster.NewSpawner()
	t.Cleanup(spawner.Close)
	t.Cleanup(func() { // After the attendants' end.
		requireGone(t, folders)
		requireEmpty(t, folders)
	})
	environment := append(os.Environ(), "RAILGUARD_BENCH_SECRET="+testSecret)
	var hosts []string
	for i, name := range names[:3] {
		address := fmt.Sprintf("10.203.77.%d:%s", i+1, testHostPort)
		hosts = append(hosts, address)
		c, err := spawner.Launch("ip", []string{"netns", "exec", name, program, "host", "--listen", address, "--folder", folders, "--binary", product}, environment, filepath.Join(loader, name))
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, c.Command.Process.Signal(testcluster.SignalEnd))
			require.NoError(t, c.Wait(childPatient))
		})
	}
	kept := filepath.Join(loader, "report.json")
	run := exec.CommandContext(t.Context(), "ip", "netns", "exec", names[3], program, "--hosts", strings.Join(hosts, ","),
		"--suite", "cpu", "--brief", "--agents", "4", "--delegates", "0", "--fleets", "0", "--folder", loader, "--out", kept, "--secret-file", filepath.Join(loader, "secret"))
	require.NoError(t, os.WriteFile(filepath.Join(loader, "secret"), []byte(testSecret+"\n"), 0o600))
	require.NoError(t, until(t.Context(), childPatient, func() bool {
		said, _ := os.ReadFile(filepath.Join(loader, names[2]))
		return bytes.Contains(said, []byte("waiting for a loader"))
	}))
	said, err := run.CombinedOutput()
	require.NoError(t, err, "%s", said)
	report, err := ReadReport(kept)
	require.NoError(t, err)
	require.Len(t, report.RoundTrips, 3+3*2)
	require.Contains(t, report.Placement, "3+1")
	for _, key := range []string{"cpu.at100.p50", "cpu.at0.rate", "cpu.at0.cpu", "cpu.at0.disk", "cpu.at0.peak", "echo.rate", "echo.cpu", "idle.cpu"} {
		require.Contains(t, report.Measures, key)
		require.Positive(t, report.Measures[key].Value, key)
	}
	if !delayed {
		return
	}
	for _, way := range report.RoundTrips {
		require.Greater(t, way.P50, 2.0*delay, "from %s to %s", way.From, way.To)
	}
	// A caller's way to a node and back, and the leader's to a member that agrees.
	require.Greater(t, report.Measures["cpu.at100.p50"].Value, 2*2.0*delay)
}

// lan makes network namespaces with addresses from 10.203.77.1 on a bridge, and returns their names
// and whether packets are delayed. All devices are in the namespaces, and end with them.
func lan(t *testing.T, count int, delay string) (names []string, delayed bool) {
	t.Helper()
	run := "rgb" + randomHex(3)
	ip := func(words ...string) error {
		said, err := exec.Command("ip", words...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err, said)
		}
		return nil
	}
	add := func(name string) error {
		err := ip("netns", "add", name)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, ip("netns", "del", name)) })
		}
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Skipf("no network namespaces with a bridge here (they need root and iproute2): %v", err)
		}
	}
	hub := run + "s"
	must(add(hub))
	must(ip("-n", hub, "link", "add", "hub", "type", "bridge"))
	must(ip("-n", hub, "link", "set", "hub", "up"))
	for i := range count {
		name, port := run+strconv.Itoa(i), "p"+strconv.Itoa(i)
		must(add(name))
		must(ip("-n", hub, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name))
		must(ip("-n", hub, "link", "set", port, "master", "hub", "up"))
		must(ip("-n", name, "addr", "add", fmt.Sprintf("10.203.77.%d/24", i+1), "dev", "eth0"))
		must(ip("-n", name, "link", "set", "eth0", "up"))
		must(ip("-n", name, "link", "set", "lo", "up"))
		err := ip("netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", delay)
		if delayed = err == nil; !delayed {
			t.Logf("packets are not delayed: %v", err)
		}
		names = append(names, name)
	}
	return names, delayed
}
