package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// TestDashboardsHaveData: a real Prometheus scrapes three nodes with the shipped rules. Each query of each
// dashboard is answered with data, and each rule is evaluated without an error.
func TestDashboardsHaveData(t *testing.T) {
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: not asked")
	}
	p := newPark(t, 3)
	p.form()
	_, token := p.agent(p.machines[0], "watched")
	watch := p.watch(path)
	for i := range 12 { // Rates need two scrapes, a second apart.
		for _, m := range p.machines {
			p.pay(m, token, 1+i%3*1000)
		}
		time.Sleep(500 * time.Millisecond)
	}
	files, err := filepath.Glob("../../deploy/grafana/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		require.NoError(t, json.Unmarshal(data, &board))
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				query := strings.NewReplacer("$job", "railguard", "$__rate_interval", "5s").Replace(target.Expr)
				require.NotContains(t, query, "$", "a variable that the test does not know")
				name := filepath.Base(file) + ": " + panel.Title
				values := watch.query(t, query)
				require.NotEmpty(t, values, "%s shows nothing: %s", name, query)
				if strings.HasPrefix(name, "railguard-money") {
					require.NotContains(t, values, "NaN", name)
				}
				if name == "railguard-money.json: money can move" {
					require.Equal(t, []string{"1"}, values)
				}
			}
		}
	}
	watch.requireRules(t)
	for _, m := range p.machines[:2] {
		p.kill(m)
	}
	require.Eventually(t, func() bool {
		values := watch.query(t, `(max(railguard_cluster_leads{job="railguard"}) > bool 0) or vector(0)`)
		return len(values) == 1 && values[0] == "0"
	}, 30*time.Second, 200*time.Millisecond, "no majority is left")
	money, err := os.ReadFile("../../deploy/grafana/railguard-money.json")
	require.NoError(t, err)
	require.Equal(t, []string{"0"}, watch.query(t, strings.ReplaceAll(firstExpr(t, money), "$job", "railguard")), "money cannot move")
}

// firstExpr returns the query of a dashboard's first panel.
func firstExpr(t *testing.T, data []byte) string {
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(data, &board))
	return board.Panels[0].Targets[0].Expr
}

// watcher is a Prometheus that scrapes a park.
type watcher struct{ url string }

// watch starts Prometheus with the shipped rules, and waits until it has scraped every node.
func (p *park) watch(binary string) *watcher {
	ports, err := testcluster.FreePorts(1)
	require.NoError(p.t, err)
	rules, err := filepath.Abs("../../deploy/prometheus")
	require.NoError(p.t, err)
	var targets []string
	for _, m := range p.machines {
		targets = append(targets, fmt.Sprintf("%q", m.admin))
	}
	folder := filepath.Join(p.dir, "prometheus")
	require.NoError(p.t, os.MkdirAll(folder, 0o700))
	config := filepath.Join(folder, "prometheus.yml")
	require.NoError(p.t, os.WriteFile(config, []byte(fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q, %q]
scrape_configs:
  - job_name: railguard
    static_configs:
      - targets: [%s]
`, filepath.Join(rules, "alerts.yml"), filepath.Join(rules, "objectives.yml"), strings.Join(targets, ", "))), 0o600))
	child, err := p.spawner.Launch(binary, []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(folder, "data"), "--web.listen-address", ports[0], "--log.level", "warn"}, os.Environ(), filepath.Join(folder, "log"))
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		_ = child.Command.Process.Signal(testcluster.SignalEnd)
		<-child.Done
	})
	w := &watcher{"http://" + ports[0]}
	require.Eventually(p.t, func() bool {
		answer, err := http.Get(w.url + "/-/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK && len(w.query(p.t, `up{job="railguard"} == 1`)) == len(p.machines)
	}, 30*time.Second, 100*time.Millisecond, "Prometheus has not scraped every node")
	return w
}

// get asks Prometheus, and reads the data of its answer.
func (w *watcher) get(t testing.TB, path string, into any) {
	t.Helper()
	answer, err := http.Get(w.url + path)
	require.NoError(t, err)
	defer answer.Body.Close()
	var said struct {
		Status, Error string
		Data          json.RawMessage
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&said))
	require.Equal(t, "success", said.Status, "%s: %s", path, said.Error)
	require.NoError(t, json.Unmarshal(said.Data, into))
}

// query returns the values of an instant query.
func (w *watcher) query(t testing.TB, query string) (values []string) {
	t.Helper()
	var said struct {
		Result []struct{ Value [2]any }
	}
	w.get(t, "/api/v1/query?query="+url.QueryEscape(query), &said)
	for _, one := range said.Result {
		values = append(values, fmt.Sprint(one.Value[1]))
	}
	return values
}

// requireRules requires that every shipped rule is evaluated without an error.
func (w *watcher) requireRules(t *testing.T) {
	var said struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	require.Eventually(t, func() bool {
		w.get(t, "/api/v1/rules", &said)
		for _, group := range said.Groups {
			for _, rule := range group.Rules {
				require.Empty(t, rule.LastError, rule.Name)
				if rule.Health != "ok" {
					return false
				}
			}
		}
		return len(said.Groups) > 3
	}, 30*time.Second, 200*time.Millisecond, "rules that are not evaluated")
}
