package railguard

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"railguard/httpapi/exposition"
)

// The files in deploy/ are checked by the tools that read them, if these are installed, and
// always against the rest of the repository.

func text(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// tool runs a program in a folder and fails if the program reports an error. It skips the
// test if the program is not installed.
func tool(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed: not asked")
	}
	command := exec.Command(path, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "RAILGUARD_BIND=127.0.0.1:8090", "RAILGUARD_N1=127.0.0.1:1", "RAILGUARD_N2=127.0.0.1:2", "RAILGUARD_N3=127.0.0.1:3")
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, said)
	return string(said)
}

func documents(t *testing.T, path string) []map[string]any {
	var all []map[string]any
	decoder := yaml.NewDecoder(strings.NewReader(text(t, path)))
	for {
		var one map[string]any
		if err := decoder.Decode(&one); err != nil {
			require.ErrorContains(t, err, "EOF", path)
			return all
		}
		all = append(all, one)
	}
}

// at follows keys and indices through a document and returns the value there; nil: there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[s]
		case int:
			array, _ := value.([]any)
			if s >= len(array) {
				return nil
			}
			value = array[s]
		}
	}
	return value
}

type alertRule struct {
	Alert, Expr, For    string
	Record              string // Of a rule that computes a series for others.
	Labels, Annotations map[string]string
}

func alertRules(t *testing.T) []alertRule {
	var all []alertRule
	for _, path := range []string{"alerts.yml", "objectives.yml"} {
		var file struct {
			Groups []struct{ Rules []alertRule }
		}
		require.NoError(t, yaml.Unmarshal([]byte(text(t, "deploy/prometheus/"+path)), &file))
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				if rule.Alert != "" {
					all = append(all, rule)
					continue
				}
				require.NotEmpty(t, rule.Record)
				requireMetrics(t, rule.Expr, rule.Record)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

var metricName = regexp.MustCompile(`\brailguard_[a-z0-9_]+`)

// requireMetrics checks that a node exposes every metric that an expression names.
func requireMetrics(t *testing.T, expression, where string) {
	t.Helper()
	for _, name := range metricName.FindAllString(expression, -1) {
		_, plain := exposition.Help[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base, cut := strings.CutSuffix(name, suffix)
			_, known := exposition.Help[base]
			plain = plain || cut && known
		}
		require.True(t, plain, "%s names %s, which no node exposes", where, name)
	}
}

// Each alert uses existing metrics and has a section in the runbooks; each section has its
// alert.
func TestAlertsHaveRunbooks(t *testing.T) {
	var headings, names []string
	for _, match := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(text(t, "docs/RUNBOOKS.md"), -1) {
		headings = append(headings, match[1])
	}
	for _, rule := range alertRules(t) {
		requireMetrics(t, rule.Expr, rule.Alert)
		require.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
		require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
		require.Equal(t, "docs/RUNBOOKS.md#"+strings.ToLower(rule.Alert), rule.Annotations["runbook"])
		require.Equal(t, "https://github.com/railguard/railguard/blob/main/"+rule.Annotations["runbook"], rule.Annotations["runbook_url"])
		names = append(names, rule.Alert)
	}
	require.Equal(t, names, headings)
}

// wakeUp lists the metrics that mean that somebody must look.
var wakeUp = []string{
	"railguard_list_late", "railguard_ofac_age_seconds", "railguard_ofac_families_missing", "railguard_ofac_quarantined", "railguard_ofac_sync_failures_total",
	"railguard_http_internal_errors_total", "railguard_http_panics_total", "railguard_http_certificate_expires_seconds",
	"railguard_cluster_voters_answering", "railguard_cluster_voters", "railguard_cluster_leader_changes_total",
	"railguard_cluster_log_write_seconds_bucket", "railguard_cluster_log_write_errors_total", "railguard_cluster_apply_lag_entries",
	"railguard_cluster_disk_level", "railguard_cluster_clock_offset_seconds", "railguard_cluster_certificate_expires_seconds",
	"railguard_cluster_certificate_errors_total", "railguard_cluster_digest_mismatches_total",
	"railguard_audit_damage_found_total", "railguard_cluster_list_damage_found_total", "railguard_audit_seal_errors_total",
	"railguard_settle_marked_total", "railguard_shares_refused_total", "railguard_structuring_displaced_total",
	"railguard_alerts_unlisted_total", "railguard_sar_unlisted_total", "railguard_x402_unbooked_total",
	"railguard_backup_verified_seconds", "railguard_backup_shipped_seconds", "railguard_backup_failures_total", "railguard_backup_drill_failed",
	"railguard_webhook_dead_letters_total", "railguard_webhook_missed_total", "railguard_webhook_unreadable_seconds",
	"railguard_reconciliation_overdue", "railguard_alerts_open", "railguard_sar_overdue", "railguard_review_overdue", "railguard_review_oldest_age_seconds",
}

// Each of these metrics has an alert.
func TestAlertsAskForWhatMustBeSeen(t *testing.T) {
	var asked []string
	for _, rule := range alertRules(t) {
		asked = append(asked, metricName.FindAllString(rule.Expr, -1)...)
	}
	require.Subset(t, asked, wakeUp)
}

// The dashboards show what operators asked for.
func TestDashboardsShowWhatIsAskedFor(t *testing.T) {
	boards := text(t, "deploy/grafana/railguard-service.json") + text(t, "deploy/grafana/railguard-cluster.json") + text(t, "deploy/grafana/railguard-compliance.json")
	for _, name := range []string{
		"railguard_screen_total", "railguard_screen_seconds_bucket", "railguard_cluster_proposals_forwarded_total", "railguard_key_rate_used_ratio", "railguard_cluster_digest_mismatches_total",
		"railguard_ofac_age_seconds", "railguard_review_open",
	} {
		require.Regexp(t, `\b`+name+`\b`, boards, "no panel shows it")
	}
}

func TestDashboardsAskWhatIsExposed(t *testing.T) {
	files, err := filepath.Glob("deploy/grafana/*.json")
	require.NoError(t, err)
	require.Len(t, files, 4)
	for _, file := range files {
		var board struct {
			UID    string
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text(t, file)), &board), file)
		require.Equal(t, filepath.Base(file), board.UID+".json")
		require.NotEmpty(t, board.Panels)
		for _, panel := range board.Panels {
			require.NotEmpty(t, panel.Targets, panel.Title)
			for _, target := range panel.Targets {
				require.NotEmpty(t, target.Expr, panel.Title)
				requireMetrics(t, target.Expr, file+": "+panel.Title)
			}
		}
	}
}

// Every alert has a case in which it fires and one in which it does not.
// TestPromtoolTakesTheAlerts runs the cases.
func TestEveryAlertHasCases(t *testing.T) {
	type tests struct {
		Tests []struct {
			Cases []struct {
				Alert  string      `yaml:"alertname"`
				Expect []yaml.Node `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	var file, more tests
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "deploy/prometheus/alerts_test.yml")), &file))
	require.NoError(t, yaml.Unmarshal([]byte(text(t, "deploy/prometheus/objectives_test.yml")), &more))
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, test := range append(file.Tests, more.Tests...) {
		for _, one := range test.Cases {
			fires[one.Alert] = fires[one.Alert] || len(one.Expect) > 0
			rests[one.Alert] = rests[one.Alert] || len(one.Expect) == 0
		}
	}
	for _, rule := range alertRules(t) {
		require.True(t, fires[rule.Alert], "no file of tests has a case in which %s fires", rule.Alert)
		require.True(t, rests[rule.Alert], "no file of tests has a case in which %s rests", rule.Alert)
	}
	require.Len(t, fires, len(alertRules(t)), "a case of an alert that there is not")
}

func TestPromtoolTakesTheAlerts(t *testing.T) {
	t.Parallel()
	tool(t, "deploy/prometheus", "promtool", "check", "rules", "alerts.yml", "objectives.yml")
	tool(t, "deploy/prometheus", "promtool", "test", "rules", "alerts_test.yml")
	tool(t, "deploy/prometheus", "promtool", "test", "rules", "objectives_test.yml")
	tool(t, "deploy/prometheus", "promtool", "check", "config", "--syntax-only", "prometheus.yml")
}

func TestSystemdTakesTheUnit(t *testing.T) {
	unit := text(t, "deploy/systemd/railguard.service")
	for _, line := range []string{"RestartPreventExitStatus=64", "StartLimitIntervalSec=0", "Restart=always", "Type=notify", "WatchdogSec=60", "TimeoutStartSec=infinity", "NoNewPrivileges=yes", "ProtectSystem=strict", "ReadWritePaths=-/mnt/backups", "KillSignal=SIGTERM"} {
		require.Contains(t, unit, "\n"+line+"\n")
	}
	for _, waits := range []string{"time-sync.target", "systemd-time-wait-sync.service", "chrony-wait.service"} { // The target alone waits for nothing.
		require.Regexp(t, `(?m)^Wants=.*\b`+waits+`\b`, unit)
		require.Regexp(t, `(?m)^After=.*\b`+waits+`\b`, unit)
	}
	// railguard need not be installed here, so another program takes its place.
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "railguard.service"), []byte(strings.ReplaceAll(unit, "/usr/bin/railguard", "/bin/true")), 0o600))
	require.Empty(t, strings.TrimSpace(tool(t, folder, "systemd-analyze", "verify", "--man=no", "./railguard.service")))
	said := tool(t, folder, "systemd-analyze", "security", "--offline=true", "--no-pager", "./railguard.service")
	level := regexp.MustCompile(`Overall exposure level for railguard.service: ([0-9.]+)`).FindStringSubmatch(said)
	require.NotNil(t, level, said)
	score, err := strconv.ParseFloat(level[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, score, 1.5, "of 10; higher is more exposed")
}

func TestBalancersTakeTheirFiles(t *testing.T) {
	t.Run("haproxy", func(t *testing.T) { tool(t, "deploy/haproxy", "haproxy", "-c", "-f", "haproxy.cfg") })
	t.Run("nginx", func(t *testing.T) {
		folder := t.TempDir()
		whole := "pid " + folder + "/pid; error_log stderr; events {} http { access_log off;\n" + text(t, "deploy/nginx/railguard.conf") + "}\n"
		require.NoError(t, os.WriteFile(filepath.Join(folder, "nginx.conf"), []byte(whole), 0o600))
		tool(t, folder, "nginx", "-t", "-q", "-p", folder, "-c", filepath.Join(folder, "nginx.conf"))
	})
}

// Settings that a cluster needs from Kubernetes.
func TestKubernetesHoldsWhatMatters(t *testing.T) {
	const folder = "deploy/kubernetes/"
	set := documents(t, folder+"statefulset.yaml")[0]
	pod := at(set, "spec", "template", "spec")
	container := at(pod, "containers", 0)
	require.Equal(t, 3, at(set, "spec", "replicas"))
	require.Equal(t, "Parallel", at(set, "spec", "podManagementPolicy"), "a cluster forms when all are there")
	require.Equal(t, true, at(pod, "securityContext", "runAsNonRoot"))
	require.Equal(t, true, at(container, "securityContext", "readOnlyRootFilesystem"))
	require.Equal(t, []any{"ALL"}, at(container, "securityContext", "capabilities", "drop"))
	require.Equal(t, "kubernetes.io/hostname", at(pod, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", 0, "topologyKey"))
	require.Equal(t, "/readyz", at(container, "readinessProbe", "httpGet", "path"))
	require.Equal(t, "/livez", at(container, "livenessProbe", "httpGet", "path"))
	require.Equal(t, false, at(pod, "enableServiceLinks"), "its variables would look like settings")
	require.NotNil(t, at(set, "spec", "volumeClaimTemplates", 0))
	nodes := documents(t, folder+"service.yaml")[1]
	require.Equal(t, true, at(nodes, "spec", "publishNotReadyAddresses"), "nodes find each other before any is ready")
	require.Equal(t, "None", at(nodes, "spec", "clusterIP"))
	require.Equal(t, at(set, "spec", "serviceName"), at(nodes, "metadata", "name"))
	require.Equal(t, 1, at(documents(t, folder+"disruption.yaml")[0], "spec", "maxUnavailable"))
	listed := at(documents(t, folder+"kustomization.yaml")[0], "resources")
	for _, file := range listed.([]any) {
		require.NotEmpty(t, documents(t, folder+file.(string)))
	}
	tool(t, folder, "kubectl", "kustomize", ".")
}

func serverFlags(t *testing.T) []string {
	var all []string
	for _, match := range regexp.MustCompile(`flags\.\w+Var\(&f\.[\w.]+, "([a-z-]+)"`).FindAllStringSubmatch(text(t, "cmd/railguard/serve.go"), -1) {
		all = append(all, match[1])
	}
	require.Greater(t, len(all), 20)
	return all
}

// `railguard serve` knows every setting in deploy/.
func TestDeployNamesSettings(t *testing.T) {
	known := []string{"RAILGUARD_CLUSTER_SECRET_FILE", "RAILGUARD_BOOTSTRAP_KEY_FILE", "RAILGUARD_URL", "RAILGUARD_CA", "RAILGUARD_CERT", "RAILGUARD_CERT_KEY", "RAILGUARD_VERSION", "RAILGUARD_BIND", "RAILGUARD_N1", "RAILGUARD_N2", "RAILGUARD_N3"}
	for _, flag := range serverFlags(t) {
		known = append(known, "RAILGUARD_"+strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
	}
	setting := regexp.MustCompile(`RAILGUARD_[A-Z0-9_]+`)
	for _, pattern := range []string{"docker/*", "compose/*.yml", "kubernetes/*.yaml", "systemd/*", "haproxy/*"} {
		files, err := filepath.Glob("deploy/" + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			for _, name := range setting.FindAllString(text(t, file), -1) {
				require.True(t, slices.Contains(known, name) || name == "RAILGUARD_FLAG", "%s names %s", file, name)
			}
		}
	}
}

// The operator's handbook names every flag of a server and every variable without a flag.
func TestSettingsAreDocumented(t *testing.T) {
	handbook := text(t, "docs/OPERATING.md")
	for _, flag := range serverFlags(t) {
		if flag != "dev" && flag != "test-clock-file" && flag != "test-clock" { // These are not for operators.
			require.True(t, strings.Contains(handbook, "--"+flag), "docs/OPERATING.md does not tell of --%s", flag)
		}
	}
	for _, name := range []string{"RAILGUARD_URL", "RAILGUARD_KEY", "RAILGUARD_KEY_FILE", "RAILGUARD_ADMIN", "RAILGUARD_CLUSTER_SECRET", "RAILGUARD_BOOTSTRAP_KEY"} {
		require.True(t, strings.Contains(handbook, name), "docs/OPERATING.md does not tell of %s", name)
	}
}

// The image has the same build as `make release`.
func TestImageIsTheRelease(t *testing.T) {
	image := text(t, "deploy/docker/Dockerfile")
	for _, part := range []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0", "-trimpath", "-buildvcs=false", "-s -w -buildid= -X main.version=", "-pgo=cmd/railguard/release.pgo"} {
		require.Contains(t, image, part)
	}
	profile := text(t, "cmd/railguard/release.pgo") // A gzipped profile, as Go writes it; the compiler reads it at every build.
	require.True(t, strings.HasPrefix(profile, "\x1f\x8b"))
	require.Less(t, len(profile), 100<<10)
	require.Contains(t, text(t, "Makefile"), "PROFILE := -pgo=cmd/railguard/release.pgo\n")
	require.Contains(t, text(t, "Makefile"), "RELEASE := CGO_ENABLED=0 GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0")
	require.Contains(t, image, "\nFROM scratch\n")
	require.Contains(t, image, "\nUSER 65532:65532\n")
}

// No sample of a balancer lets a caller operate the cluster, by the API or by the console.
func TestBalancersDenyWhatOperates(t *testing.T) {
	haproxy, nginx := text(t, "deploy/haproxy/haproxy.cfg"), text(t, "deploy/nginx/railguard.conf")
	for _, below := range []string{"/v1/cluster/", "/console/api/cluster/"} {
		require.Contains(t, haproxy, "deny deny_status 404 if { path_beg "+below+" }")
		require.Contains(t, nginx, "location "+below+" { return 404; }")
	}
}
