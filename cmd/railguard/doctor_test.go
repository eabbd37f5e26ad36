package main

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

// backdate puts an empty file where a backup of that age would be.
func backdate(t testing.TB, dir string, age time.Duration) string {
	name := "railguard-" + time.Now().Add(-age).UTC().Format(backupNameTime) + backupSuffix
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	return name
}

// certificateUntil issues a certificate as of so many days ago, good for five.
func certificateUntil(t testing.TB, dir, id string, ago int) string {
	f := &issueFlags{dir: dir, id: id, days: 5}
	_, err := f.issue(time.Now().Add(-time.Duration(ago) * day))
	require.NoError(t, err)
	return filepath.Join(dir, id+".pem")
}

// The doctor names an expired certificate and an old backup; of a real node it knows
// everything there is, and what ends soon is a warning.
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
	for _, well := range []string{"node n1", "clock n1", "clock here", "versions", "format", "list", "list versions", "folder n1", "table agents"} {
		require.Equal(t, levelOK, d.of(t, well).Level, well)
	}
	require.Equal(t, levelWarn, d.of(t, "quorum").Level, "a cluster of one survives nothing")
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
	require.Equal(t, levelBad, d.of(t, "admin").Level)
	require.Equal(t, levelOK, d.of(t, "folder n1").Level, "of a stopped node too")
	_, complaint, code = p.cli("doctor")
	require.Equal(t, exitUsage, code)
	require.Contains(t, complaint, "anything else to look at")
}

// What a small machine does not show: a cluster in trouble, as its status and metrics
// tell of it.
func TestDoctorOnTrouble(t *testing.T) {
	status := `{"clusterId":"cl_x","node":"n1","leader":{"id":"n1"},"writes":{"state":"ok"},"quorum":{"voters":3,"healthy":2,"failureTolerance":0},
		"featureLevel":1,"maxFeatureLevel":2,"logTime":"` + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339Nano) + `","warnings":["states differ between nodes"],"nodes":[
		{"id":"n1","role":"leader","healthy":true,"version":"0.2.0","clockSkewMs":-700,"diskFreePct":7,"listVersion":9},
		{"id":"n2","role":"follower","healthy":true,"version":"0.1.0","lag":5000,"clockSkewMs":250,"diskFreePct":15,"listVersion":8},
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
`
	answers := map[string]string{"/v1/cluster/status": status, "/metrics": metrics, "/v1/ofac": `{"active":{"source":"published"},"ageSeconds":400000,"stale":true}`}
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
		"quorum": levelWarn, "clock here": levelWarn, "node n1": levelOK, "clock n1": levelBad, "disk n1": levelBad,
		"node n2": levelWarn, "clock n2": levelWarn, "disk n2": levelWarn, "node n3": levelBad,
		"versions": levelWarn, "format": levelWarn, "list versions": levelWarn, "list": levelWarn, "warning": levelWarn,
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
