package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// manager is a service manager of its own for a test: systemd as a user's manager, in its own
// namespaces of mounts and processes, in which it finds what it takes for a booted system. It must
// not be the first process there: a user's manager refuses that.
const manager = `mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0 && /lib/systemd/systemd --user --log-level=notice --log-target=console --unit=basic.target; true`

// TestShippedUnitIsKeptUp runs the unit from deploy/ under systemd: it counts as started when the
// node serves; a crash and a process that hangs are restarted, however often; wrong settings are
// not, and say why.
func TestShippedUnitIsKeptUp(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a service manager")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil || os.Getuid() != 0 {
		t.Skip("no systemd to start, or not root: the unit is verified and not run")
	}
	waitBeside(t)
	u := newUnitUnderTest(t)
	u.must("start", "railguard.service") // Returns when the node has said that it is ready.
	require.True(t, u.alive(), "started means that it serves")
	require.Contains(t, u.must("show", "railguard.service", "-p", "StatusText"), "StatusText=serves")

	for _, signal := range []string{"SEGV", "STOP"} { // A panic's end; and what the watchdog finds.
		u.await("the node has said that it is ready", func() bool { // Before, no watchdog runs.
			return strings.Contains(u.must("show", "railguard.service", "-p", "ActiveState"), "ActiveState=active\n")
		})
		before := u.process()
		u.must("kill", "-s", signal, "--kill-who=main", "railguard.service")
		u.await("a new process after SIG"+signal, func() bool { return u.process() != before && u.process() != "0" && u.alive() })
	}
	u.must("stop", "railguard.service")
	require.Contains(t, u.must("show", "railguard.service", "-p", "Result,ExecMainStatus"), "Result=success")

	u.write("settings", u.settings+"RAILGUARD_GRACE=soon\n")
	_, err := u.run("start", "railguard.service")
	require.Error(t, err)
	u.await("given up for wrong settings", func() bool {
		said := u.must("show", "railguard.service", "-p", "ActiveState,ExecMainStatus,NRestarts")
		return strings.Contains(said, "ActiveState=failed") && strings.Contains(said, "ExecMainStatus=64")
	})
}

type unitUnderTest struct {
	t                *testing.T
	folder, settings string
	http, leader     string // Address of the API; the process id of the manager.
}

func newUnitUnderTest(t *testing.T) *unitUnderTest {
	u := &unitUnderTest{t: t, folder: t.TempDir()}
	ports, err := testcluster.FreePorts(3)
	require.NoError(t, err)
	u.http = ports[0]
	u.settings = fmt.Sprintf("RAILGUARD_ID=n1\nRAILGUARD_HTTP=%s\nRAILGUARD_ADMIN=%s\nRAILGUARD_CLUSTER=%s\nRAILGUARD_BOOTSTRAP_EXPECT=1\nRAILGUARD_PUBLIC_URL=https://guard.example.org\n", ports[0], ports[1], ports[2])
	u.write("settings", u.settings)
	u.write("cluster-secret", parkSecret)
	u.write("first-key", parkKey)
	text, err := os.ReadFile("../../deploy/systemd/railguard.service")
	require.NoError(t, err)
	unit := strings.NewReplacer(
		"/usr/bin/railguard", product(t), "/etc/railguard/railguard.env", filepath.Join(u.folder, "settings"), "/etc/railguard/", u.folder+"/",
		"User=railguard\n", "", "Group=railguard\n", "", // The manager has one user.
		"ProtectHome=yes\n", "", "PrivateTmp=yes\n", "", // The binary and the state are in a folder for tests.
		"LoadCredential=cluster-secret:/etc/railguard/cluster-secret\n", "", "LoadCredential=first-key:/etc/railguard/first-key\n", "", "=%d/", "="+u.folder+"/", // Credentials are the system's manager's.
		"[Service]\n", "[Service]\nStandardError=append:"+filepath.Join(u.folder, "said")+"\n", // There is no journal.
		"RestartSec=5\n", "RestartSec=100ms\n", "WatchdogSec=60\n", "WatchdogSec=3\n",
	).Replace(string(text))
	require.NoError(t, os.MkdirAll(filepath.Join(u.folder, "systemd", "user"), 0o755))
	u.write("systemd/user/railguard.service", unit)

	command := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", manager)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR=/run/user/0", "XDG_CONFIG_HOME="+u.folder, "XDG_STATE_HOME="+u.folder, "HOME="+u.folder)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(u.folder, "said"))
			t.Logf("systemd: %s\nthe node: %s", log.String(), said)
		}
	})
	u.await("a manager", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", command.Process.Pid, command.Process.Pid))
		u.leader = strings.TrimSpace(string(children))
		if u.leader == "" {
			return false
		}
		_, err := u.run("list-units")
		return err == nil
	})
	return u
}

func (u *unitUnderTest) write(name, text string) {
	require.NoError(u.t, os.WriteFile(filepath.Join(u.folder, name), []byte(text), 0o600))
}

// run runs systemctl where the manager is.
func (u *unitUnderTest) run(args ...string) (string, error) {
	command := exec.Command("nsenter", append([]string{"--mount", "--pid", "--target", u.leader, "systemctl", "--user", "--no-pager"}, args...)...)
	command.Env = append(os.Environ(), "XDG_RUNTIME_DIR=/run/user/0")
	said, err := command.CombinedOutput()
	return string(said), err
}

func (u *unitUnderTest) must(args ...string) string {
	u.t.Helper()
	said, err := u.run(args...)
	require.NoError(u.t, err, "systemctl %v: %s", args, said)
	return said
}

func (u *unitUnderTest) await(what string, is func() bool) {
	u.t.Helper()
	require.Eventually(u.t, is, slowPatience, 50*time.Millisecond, what) // The manager takes a minute to end what has stopped.
}

var mainProcess = regexp.MustCompile(`MainPID=(\d+)`)

// process returns the id of the unit's process as the manager counts; "0": there is none.
func (u *unitUnderTest) process() string {
	found := mainProcess.FindStringSubmatch(u.must("show", "railguard.service", "-p", "MainPID"))
	require.NotNil(u.t, found)
	return found[1]
}

func (u *unitUnderTest) alive() bool {
	answer, err := (&http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + u.http + "/livez")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
