package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/recorder"
	"railguard/cluster/report"
)

// debugRun is one run of `railguard debug`.
type debugRun struct {
	client
	path    string
	seconds int
	now     func() time.Time

	reports map[string]*recorder.Report // By node.
	trouble []string                    // Addresses that gave no report, and why.
}

func newDebug() *cobra.Command {
	d := &debugRun{now: time.Now}
	cmd := &cobra.Command{
		Use: "debug", Short: "Gather what all nodes recorded of an incident into one file, and tell it", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Ask every node of the group for its flight recorder (elections, stalls, refused calls by code
and route, changes, lists, snapshots, clocks, starts), its last log lines, its status, metrics,
settings without secrets, and profiles, and put them into one file, with summary.txt that tells
the incident in a few sentences.

One admin listener is enough: its node asks the others through the port between nodes. A node
that cannot be asked so is asked at its own address, if --admin names that too; who does not
answer is named. The file holds no secret, no name of a person or party and no content of a
payment, but addresses and ids: read it before you give it away.

Exit codes: 0 every member told, 4 some did not, 1 nobody did.`,
		Example: "  railguard debug --admin http://127.0.0.1:8180\n  railguard debug --data /var/lib/railguard --file incident.tar.gz --cpu 5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.seconds < 0 || d.seconds > 5 {
				return usageError("--cpu: 0 to 5 seconds")
			}
			if err := d.findServer(cmd, true); err != nil {
				return err
			}
			return d.gather(cmd)
		},
	}
	d.client.defineFlags(cmd, true)
	cmd.Flags().StringVar(&d.path, "file", "", "where to write (default: railguard-debug-TIME.tar.gz here); it must not exist")
	cmd.Flags().IntVar(&d.seconds, "cpu", 1, "seconds of a profile of each node's processors; 0: none")
	return cmd
}

func (d *debugRun) gather(cmd *cobra.Command) error {
	m, err := d.askAll(cmd.Context())
	if err != nil {
		return err
	}
	says := m.tell()
	at := d.now().UTC()
	if d.path == "" {
		d.path = "railguard-debug-" + at.Format(backupNameTime) + ".tar.gz"
	}
	if err := writeBundle(d.path, at, m, says); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if d.output == "json" {
		err = printJSON(out, map[string]any{"file": d.path, "summary": says, "silent": append([]string{}, m.silent...), "trouble": append([]string{}, d.trouble...)})
	} else {
		_, err = fmt.Fprintf(out, "%s\n\nwritten: %s\n", strings.Join(says, "\n"), d.path)
	}
	if err == nil && len(m.silent) > 0 {
		return &exitError{code: exitWarn, err: fmt.Errorf("no report of %s (%s)", strings.Join(m.silent, ", "), strings.Join(d.trouble, "; "))}
	}
	return err
}

// askAll asks each address, then the members that no address was of through those that answered.
func (d *debugRun) askAll(ctx context.Context) (*incident, error) {
	d.reports = map[string]*recorder.Report{}
	var through []string
	for _, address := range d.admin {
		if r := d.askNode(ctx, address, ""); r != nil {
			d.reports[r.Node] = r
			through = append(through, address)
		}
	}
	if len(through) == 0 {
		return nil, &exitError{code: exitAway, err: errors.New("no node gave a report: " + strings.Join(d.trouble, "; "))}
	}
	members := d.listMembers()
	var silent []string
	for _, id := range members {
		for _, address := range through {
			if d.reports[id] == nil {
				d.reports[id] = d.askNode(ctx, address, id)
			}
		}
		if d.reports[id] == nil {
			silent = append(silent, id)
		}
	}
	var all []*recorder.Report
	for _, id := range members {
		if r := d.reports[id]; r != nil {
			all = append(all, r)
		}
	}
	return mergeReports(all, silent), nil
}

// listMembers returns the members that the reports know of, sorted.
func (d *debugRun) listMembers() (ids []string) {
	for id, r := range d.reports {
		ids = append(ids, id)
		var status report.ClusterStatus
		if json.Unmarshal(r.Status, &status) != nil {
			continue
		}
		for i := range status.Nodes {
			ids = append(ids, status.Nodes[i].ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// askNode asks one address for the report of its node, or of another one; nil: there is none.
func (d *debugRun) askNode(ctx context.Context, address, node string) *recorder.Report {
	one := d.client
	one.admin, one.at = []string{address}, 0
	query := url.Values{"cpu": {strconv.Itoa(d.seconds)}}
	if node != "" {
		query.Set("node", node)
	}
	data, err := one.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/admin/debug?" + query.Encode(), admin: true})
	r := &recorder.Report{}
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil {
		d.trouble = append(d.trouble, strings.TrimSpace(hostOf(address)+" "+node)+": "+err.Error())
		return nil
	}
	return r
}

// writeBundle writes the file. It exists only when it is whole.
func writeBundle(path string, at time.Time, m *incident, says []string) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	folder := "railguard-debug-" + at.Format(backupNameTime) + "/"
	for _, part := range bundleParts(m, says) {
		header := &tar.Header{Name: folder + part.name, Mode: 0o600, Size: int64(len(part.data)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(part.data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

type bundlePart struct {
	name string
	data []byte
}

// bundleParts returns the files of a bundle.
func bundleParts(m *incident, says []string) []bundlePart {
	var events bytes.Buffer
	lines := json.NewEncoder(&events)
	for i := range m.events {
		_ = lines.Encode(&m.events[i]) // Plain values into memory.
	}
	parts := []bundlePart{{"summary.txt", []byte(strings.Join(says, "\n") + "\n")}, {"events.jsonl", events.Bytes()}}
	for _, r := range m.reports {
		var settings strings.Builder
		fmt.Fprintf(&settings, "release %s\ncommit %s\nbuilt with %s\nstarted %s\ngathered %s\nlog time %s\n\n", r.Version, r.Commit, r.Go, timeText(r.StartedAt), timeText(r.Now), timeText(r.LogTime))
		for _, row := range r.Settings {
			fmt.Fprintf(&settings, "%-24s %-12s %s\n", row[0], row[2], row[1])
		}
		of := func(name string, data []byte) {
			if len(data) > 0 {
				parts = append(parts, bundlePart{r.Node + "/" + name, data})
			}
		}
		of("settings.txt", []byte(settings.String()))
		of("status.json", r.Status)
		of("metrics.txt", []byte(r.Metrics))
		of("log.jsonl", []byte(strings.Join(append(slices.Clone(r.Lines), ""), "\n")))
		of("goroutines.txt", []byte(r.Goroutines))
		of("heap.pprof", r.Heap)
		of("cpu.pprof", r.CPU)
	}
	return parts
}
