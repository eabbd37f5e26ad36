package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

// diagnosis is what `railguard doctor -o json` prints.
type diagnosis struct {
	Worst    string
	Findings []finding
}

func (d *diagnosis) of(t testing.TB, check string) finding {
	t.Helper()
	for _, f := range d.Findings {
		if f.Check == check {
			return f
		}
	}
	require.Failf(t, "not looked at", "%s: %+v", check, d.Findings)
	return finding{}
}

func readDiagnosis(t testing.TB, out string) *diagnosis {
	t.Helper()
	var d diagnosis
	require.NoError(t, json.Unmarshal([]byte(out), &d), out)
	for _, f := range d.Findings {
		require.Equal(t, f.Level == levelOK, f.Do == "", "%+v: what is not well says what to do, and nothing else does", f)
	}
	return &d
}

// backdate writes the beginning of a backup file. The time in its name gives the file the wanted
// age.
func backdate(t testing.TB, dir string, age time.Duration) string {
	name := "railguard-" + time.Now().Add(-age).UTC().Format(backupNameTime) + backupSuffix
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(backupBegin+"v1"), 0o600))
	return name
}

// certificateUntil issues a certificate, dated so many days ago, that is valid for five days.
func certificateUntil(t testing.TB, dir, id string, ago int) string {
	f := &issueFlags{dir: dir, id: id, days: 5}
	_, err := f.issueCertificate(time.Now().Add(-time.Duration(ago) * day))
	require.NoError(t, err)
	return filepath.Join(dir, id+".pem")
}

// The doctor reports an expired certificate and an old backup as faults, and what ends soon as
// a warning. It can check everything about a real node.
func TestDoctorOnARealNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	p := newPark(t, 1)
	p.form()
	n1 := p.machines[0]
	authority, backups := t.TempDir(), t.TempDir()
	_, err := makeAuthority(authority, "tests", 1000, time.Now().Add(-100*day))
	require.NoError(t, err)
	good, expired := certificateUntil(t, authority, "good", 0), certificateUntil(t, authority, "expired", 9)
	old := backdate(t, backups, 40*time.Hour)

	out, complaint, code := p.cli("doctor", "-o", "json", "--url", p.url(n1), "--admin", p.adminURL(n1), "--data", n1.data,
		"--certificate", good, "--certificate", expired, "--backups", backups)
	require.Equal(t, exitFailed, code, complaint)
	d := readDiagnosis(t, out)
	require.Equal(t, levelBad, d.Worst)
	f := d.of(t, "certificate expired.pem")
	require.Equal(t, levelBad, f.Level)
	require.Contains(t, f.Says, "EXPIRED")
	require.Contains(t, f.Do, "renew it")
	require.Equal(t, levelWarn, d.of(t, "certificate good.pem").Level, "five days are few")
	f = d.of(t, "backup")
	require.Equal(t, levelBad, f.Level)
	require.Contains(t, f.Says, old)
	for _, well := range []string{"node n1", "clock n1", "clock here", "versions", "format", "list", "list versions", "folder n1", "table agents", "ready " + n1.http, "files " + n1.admin} {
		require.Equal(t, levelOK, d.of(t, well).Level, well)
	}
	require.Equal(t, levelWarn, d.of(t, "quorum").Level, "a cluster of one survives nothing")
	// The doctor reads the members of the list's status that the server really sends.
	var list struct{ Active, Sync map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(p.raw(n1, "/v1/ofac")), &list))
	for _, member := range []string{"source", "ageSeconds", "stale", "sample", "missing", "quarantined"} {
		require.Contains(t, list.Active, member)
	}
	require.Contains(t, list.Sync, "error")
	for _, known := range []string{"sync n1", "room n1", "disk n1"} {
		require.NotContains(t, d.of(t, known).Says, "not known")
	}
	left, err := filepath.Glob(filepath.Join(n1.data, "doctor-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, os.Remove(filepath.Join(backups, old)))
	backdate(t, backups, 0)
	out, _, code = p.cli("doctor", "--url", p.url(n1), "--backups", backups)
	require.Equal(t, exitWarn, code, out)
	require.Regexp(t, `(?m)^ok +backup `, out)
	require.Regexp(t, `(?m)^warn +quorum .*\n +-> bring`, out)
	_, _, code = p.cli("doctor", "--backups", backups)
	require.Zero(t, code, "nothing to warn of")

	out, _, code = p.cliWith([]string{"RAILGUARD_KEY=rg_live_nobody_knows_this_key_at_all"}, "doctor", "-o", "json", "--url", p.url(n1))
	require.Equal(t, exitFailed, code)
	require.Contains(t, readDiagnosis(t, out).of(t, "cluster").Do, "role ops")
	p.stop(n1)
	out, _, code = p.cli("doctor", "-o", "json", "--url", p.url(n1), "--admin", p.adminURL(n1), "--data", n1.data)
	require.Equal(t, exitFailed, code)
	d = readDiagnosis(t, out)
	require.Equal(t, levelBad, d.of(t, "cluster").Level)
	require.Equal(t, levelBad, d.of(t, "admin "+n1.admin).Level)
	require.Equal(t, levelBad, d.of(t, "ready "+n1.http).Level)
	require.Equal(t, levelOK, d.of(t, "folder n1").Level, "of a stopped node too")
	_, complaint, code = p.cli("doctor")
	require.Equal(t, exitUsage, code)
	require.Contains(t, complaint, "anything else to look at")
}

// A cluster in trouble, which a small machine cannot show, is simulated by its status and
// metrics.
func TestDoctorOnTrouble(t *testing.T) {
	status := `{"clusterId":"cl_x","node":"n1","leader":{"id":"n1"},"writes":{"state":"ok"},"quorum":{"voters":3,"healthy":2,"failureTolerance":0},
		"featureLevel":1,"maxFeatureLevel":2,"logTime":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano) + `","warnings":["states differ between nodes"],"nodes":[
		{"id":"n1","role":"leader","healthy":true,"version":"0.2.0","clockSkewMs":-700,"diskFreePct":7,"listVersion":9},
		{"id":"n2","role":"follower","healthy":true,"version":"0.1.0","lag":5000,"clockSkewMs":250,"diskFreePct":4,"listVersion":8},
		{"id":"n3","role":"unreachable","healthy":false,"addr":"10.0.0.3:8280","diskFreePct":-1}]}`
	metrics := `# HELP railguard_state_rows x
railguard_state_rows{table="agents"} 96
railguard_state_rows_max{table="agents"} 100
railguard_state_rows{table="holds"} 85
railguard_state_rows_max{table="holds"} 100
railguard_cluster_log_write_seconds_bucket{le="0.01"} 10
railguard_cluster_log_write_seconds_bucket{le="1"} 100
railguard_cluster_log_write_seconds_bucket{le="+Inf"} 100
railguard_cluster_certificate_expires_seconds{node="n1"} -5
railguard_cluster_disk_level{node="n1"} 2
railguard_cluster_disk_free_bytes{node="n1"} 900000000
process_open_fds 20
process_max_fds 256
`
	answers := map[string]string{"/v1/cluster/status": status, "/metrics": metrics, "/v1/ofac": `{"active":{"source":"published","ageSeconds":400000,"stale":true,"missing":["CONS"],"quarantined":0},"sync":{"node":"n1","error":"404 Not Found"}}`,
		"/readyz": "[+]node ok"}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(answers[r.URL.Path])) }))
	authority := t.TempDir()
	_, err := makeAuthority(authority, "tests", 1000, time.Now().Add(-100*day))
	require.NoError(t, err)
	certificate, err := tls.LoadX509KeyPair(certificateUntil(t, authority, "served", 9), filepath.Join(authority, "served.key"))
	require.NoError(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	plain := httptest.NewServer(server.Config.Handler)
	defer plain.Close()

	out, code, _ := run(t, "doctor", "-o", "json", "--url", plain.URL+","+server.URL, "--admin", plain.URL, "--data", t.TempDir())
	require.Equal(t, exitFailed, code)
	d := readDiagnosis(t, out)
	for check, level := range map[string]string{
		"quorum": levelWarn, "clock here": levelWarn, "node n1": levelOK, "clock n1": levelBad, "disk n1": levelOK,
		"node n2": levelWarn, "clock n2": levelWarn, "disk n2": levelWarn, "node n3": levelBad,
		"ready " + strings.TrimPrefix(plain.URL, "http://"): levelOK, "ready " + strings.TrimPrefix(server.URL, "https://"): levelBad,
		"files " + strings.TrimPrefix(plain.URL, "http://"): levelWarn, "disk " + strings.TrimPrefix(plain.URL, "http://"): levelBad,
		"versions": levelWarn, "format": levelWarn, "list versions": levelWarn, "list": levelWarn, "list whole": levelBad, "list sync": levelWarn, "warning": levelWarn,
		"table agents": levelBad, "table holds": levelWarn, "TLS " + strings.TrimPrefix(server.URL, "https://"): levelBad,
		"writes " + strings.TrimPrefix(plain.URL, "http://"): levelBad, "port " + strings.TrimPrefix(plain.URL, "http://"): levelBad,
		"folder": levelBad,
	} {
		require.Equal(t, level, d.of(t, check).Level, "%+v", d.of(t, check))
	}
	answers["/v1/cluster/status"] = strings.Replace(status, `"state":"ok"`, `"state":"no_quorum"`, 1)
	answers["/v1/ofac"] = `{"active":null}`
	out, _, _ = run(t, "doctor", "-o", "json", "--url", plain.URL, "--data", t.TempDir())
	d = readDiagnosis(t, out)
	require.Equal(t, levelBad, d.of(t, "quorum").Level)
	require.Equal(t, levelBad, d.of(t, "list").Level)
}

// Each fault is reported with a remedy. A check that could not be made is not reported as a
// fault.
func TestDoctorSaysWhatToDo(t *testing.T) {
	secured := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("[+]disk 40% free\n[-]node no state yet: a node \"n3\" with another data folder is alive\n[-]list none"))
	}))
	defer secured.Close()
	host := strings.TrimPrefix(secured.URL, "https://")
	ca, other := filepath.Join(t.TempDir(), "ca.pem"), t.TempDir()
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secured.Certificate().Raw}), 0o600))
	_, err := makeAuthority(other, "another", 10, time.Now())
	require.NoError(t, err)
	diagnose := func(args ...string) *diagnosis {
		out, code, _ := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
		require.Contains(t, []int{exitOK, exitFailed, exitWarn}, code, args)
		return readDiagnosis(t, out)
	}
	for _, c := range []struct{ url, ca, do string }{
		{secured.URL, filepath.Join(other, "ca.pem"), "give --ca"},
		{"http://" + host, ca, "write https://"},
		{"http://127.0.0.1:1", ca, "start the node"},
		{"http://no.such.host.invalid", ca, "mend the name"},
	} {
		require.Contains(t, diagnose("--url", c.url, "--ca", c.ca).of(t, "ready "+hostOf(c.url)).Do, c.do)
		require.Contains(t, diagnose("--admin", c.url, "--ca", c.ca).of(t, "admin "+hostOf(c.url)).Do, c.do)
	}
	var failing []string
	for _, f := range diagnose("--url", secured.URL, "--ca", ca).Findings {
		if f.Check == "ready "+host {
			failing = append(failing, f.Says)
		}
	}
	require.Equal(t, []string{"takes no calls: node no state yet: a node \"n3\" with another data folder is alive", "takes no calls: list none"}, failing)
}

func TestDoctorOnFoldersAndBackups(t *testing.T) {
	diagnose := func(args ...string) *diagnosis {
		out, code, _ := run(t, append([]string{"doctor", "-o", "json"}, args...)...)
		require.Contains(t, []int{exitOK, exitFailed, exitWarn}, code, args)
		return readDiagnosis(t, out)
	}
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o700))
	identity := filepath.Join(folder, "node.json")
	require.NoError(t, os.WriteFile(identity, []byte(`{"format":2,"id":"n1","incarnation":"aa"}`), 0o600))
	require.Contains(t, diagnose("--data", folder).of(t, "folder").Do, "the release that wrote it")
	require.NoError(t, os.WriteFile(identity, fmt.Appendf(nil, `{"format":%d,"id":"n1","incarnation":"aa"}`, datadir.Format), 0o600))
	d := diagnose("--data", folder)
	require.Equal(t, levelWarn, d.of(t, "folder n1").Level, "of no cluster")
	for _, f := range d.Findings {
		require.NotContains(t, f.Check, "access", "it is its owner's alone")
	}
	require.NoError(t, os.Chmod(identity, 0o640))
	require.Equal(t, levelWarn, diagnose("--data", folder).of(t, "access n1").Level)
	require.NoError(t, os.Chmod(folder, 0o755))
	f := diagnose("--data", folder).of(t, "access n1")
	require.Equal(t, levelBad, f.Level)
	require.Contains(t, f.Do, "chmod -R go= "+folder)

	backups := t.TempDir()
	require.Contains(t, diagnose("--backups", backups).of(t, "backup").Do, "--every 24h")
	require.Contains(t, diagnose("--backups", identity).of(t, "backup").Do, "name the directory")
	name := backdate(t, backups, time.Hour)
	require.Equal(t, levelOK, diagnose("--backups", backups).of(t, "backup").Level)
	require.Equal(t, levelBad, diagnose("--backups", backups, "--max-age", "1m").of(t, "backup").Level)
	require.Equal(t, levelOK, diagnose("--backups", backups, "--max-age", "0").of(t, "backup").Level)
	for _, spoilt := range []string{"", "age-encr", "any other file that is long enough"} {
		require.NoError(t, os.WriteFile(filepath.Join(backups, name), []byte(spoilt), 0o600))
		require.Contains(t, diagnose("--backups", backups).of(t, "backup").Says, "is no backup", spoilt)
	}
	backdate(t, backups, -48*time.Hour)
	require.Contains(t, diagnose("--backups", backups).of(t, "backup").Says, "ahead")
	_, code, _ := run(t, "doctor", "--backups", backups, "--max-age", "-1h")
	require.Equal(t, exitUsage, code)
}

// A doctor that is interrupted says so, and says nothing about checks that it did not finish.
func TestDoctorThatIsEnded(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { end(); <-r.Context().Done() }))
	defer server.Close()
	var out bytes.Buffer
	cmd := newDoctor()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"-o", "json", "--url", server.URL, "--data", t.TempDir()})
	err := cmd.ExecuteContext(ctx)
	require.ErrorContains(t, err, "ended before")
	require.Empty(t, readDiagnosis(t, out.String()).Findings)
}

// A node that its group does not accept says why in its readiness, where the doctor reads it.
// It does not log it three times a second.
func TestDoctorOnANodeThatIsNotTakenIn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	p := newPark(t, 2)
	p.form()
	twin := p.add("twin")
	twin.id = "n2" // A node with the same id is alive, with another folder.
	p.start(twin)
	var d *diagnosis
	require.Eventually(t, func() bool {
		out, _, _ := p.cli("doctor", "-o", "json", "--url", p.url(twin), "--admin", p.adminURL(twin), "--data", twin.data)
		d = readDiagnosis(t, out)
		return strings.Contains(out, "with another data folder is alive")
	}, slowPatience, 100*time.Millisecond)
	require.Equal(t, levelBad, d.of(t, "ready "+twin.http).Level)
	require.Equal(t, levelBad, d.of(t, "ready "+twin.admin).Level, "the admin listener says why")
	require.Equal(t, levelWarn, d.of(t, "folder n2").Level)
	for _, line := range strings.Split(d.of(t, "ready "+twin.admin).Says+"\n"+p.said(twin), "\n") {
		require.NotContains(t, line, "cluster: ", "no room's name: it says nothing to who reads it")
		for _, check := range strings.Split(line, "; ") { // A node without a leader for long says why at that check, too.
			require.LessOrEqual(t, strings.Count(check, "the peer says"), 1, line)
		}
		if strings.Contains(line, "with another data folder") {
			require.Contains(t, line, "an --id of its own")
		}
	}
}
