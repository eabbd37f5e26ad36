package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// DevFile is the file dev.json in which `railguard dev` describes its cluster.
type DevFile struct {
	APIKey string    `json:"apiKey"`
	Nodes  []DevNode `json:"nodes"`
}

// DevNode is one node of a development cluster. Addresses may come without a scheme.
type DevNode struct {
	ID      string `json:"id"`
	PID     int    `json:"pid"`
	HTTP    string `json:"http"`
	Admin   string `json:"admin"`
	Cluster string `json:"cluster"`
}

// ReadDevFile reads dev.json of a data folder.
func ReadDevFile(folder string) (DevFile, error) {
	var file DevFile
	raw, err := os.ReadFile(filepath.Join(folder, "dev.json"))
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return file, fmt.Errorf("dev.json: %w", err)
	}
	if file.APIKey == "" || len(file.Nodes) == 0 {
		return file, fmt.Errorf("dev.json: no API key or no node")
	}
	return file, nil
}

// Config returns the configuration for the full examination of a throw-away development cluster.
// The examination moves the cluster's clock and switches its lists, and every endpoint that a
// ruling adds must exist.
func (f DevFile) Config(folder string) (Config, error) {
	cfg := Config{APIKey: f.APIKey, Strict: true, AllowTestClock: true, AllowListSwitch: true}
	for _, node := range f.Nodes {
		cfg.BaseURLs = append(cfg.BaseURLs, Address(node.HTTP))
	}
	cfg.AdminURL = Address(f.Nodes[0].Admin)
	for _, pattern := range []string{"*.log", "*/*.log", "*/*/*.log"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return cfg, err
		}
		for _, file := range found {
			if filepath.Base(filepath.Dir(file)) != "raft" { // These files hold raft entries, not lines, and come and go.
				cfg.LogFiles = append(cfg.LogFiles, file)
			}
		}
	}
	return cfg, nil
}

// Address brings "127.0.0.1:8080" and "http://127.0.0.1:8080/" to one form.
func Address(text string) string {
	text = strings.TrimRight(text, "/")
	if text == "" || strings.Contains(text, "://") {
		return text
	}
	return "http://" + text
}

// WriteResult prints one result as a line for people.
func WriteResult(w io.Writer, r Result) error {
	line := fmt.Sprintf("%-7s  %-13s  %-4s  %s", r.Outcome, r.ID, r.Source, r.Title)
	if r.Reason != "" {
		line += "\n         " + strings.ReplaceAll(r.Reason, "\n", "\n         ")
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// WriteSummary prints the counts of a run.
func WriteSummary(w io.Writer, s Summary) error {
	_, err := fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", s.Pass, s.Fail, s.Skipped)
	return err
}
