package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/backup"
)

type drillRun struct {
	backupKeys
	directory, file, scratch string
	maxAge, patience         time.Duration
	output                   string
	secret                   string // The cluster secret.
	key                      string // An API key of the cluster, if the drill can make none.
	child                    atomic.Pointer[os.Process]
}

type drillReport struct {
	Sleep    bool             `json:"sleep"` // Whether the drill succeeded.
	Says     string           `json:"says"`  // The result in one sentence.
	Files    []string         `json:"files"`
	AgeHours float64          `json:"ageHours"` // Age of the state; everything newer would be lost.
	Seconds  float64          `json:"seconds"`
	Steps    []string         `json:"steps"` // Checks that succeeded, in order.
	Why      []string         `json:"why"`   // Reasons why the drill failed.
	Restored *backup.Restored `json:"restored,omitempty"`
}

func newDrill() *cobra.Command {
	d := &drillRun{}
	cmd := &cobra.Command{
		Use: "drill", Short: "Restore the newest backup here, start a node on it, and say whether tonight you could sleep", GroupID: "operation", Args: cobra.NoArgs,
		Long: `Restore the newest backup of a directory into a scratch folder on this machine, as onto
an empty one, and start a node on it, with ports of its own on loopback alone. Digest,
tree head, key set and counts must be those of the backup, and the node must answer a dry
run. Afterwards it is stopped and the folder is removed. It joins nobody, tells nobody, and
reaches no other machine.

The cluster secret is needed as in a real restore: RAILGUARD_CLUSTER_SECRET, or a file
named by RAILGUARD_CLUSTER_SECRET_FILE. Where the policy demands two persons for new keys,
also an admin's key of the cluster, which is in the backup: RAILGUARD_KEY, or a file named by
RAILGUARD_KEY_FILE.

Exit codes: 0 you could sleep, 1 you could not, and why; 64 wrong flags.`,
		Example: "  railguard drill --directory /backups --identity key.txt --max-age 26h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := d.checkFlags()
			if err != nil {
				return err
			}
			report := d.runDrill(cmd.Context(), keys)
			if err := d.showReport(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if !report.Sleep {
				return errors.New("do not sleep on this backup")
			}
			return nil
		},
	}
	d.defineFlags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&d.directory, "directory", "", "where 'backup create --directory' writes; the newest file is taken, with those it continues")
	flags.StringVar(&d.file, "file", "", "one full backup instead")
	flags.StringVar(&d.scratch, "scratch", "", "where the scratch folder is made (default: the system's folder for such)")
	flags.DurationVar(&d.maxAge, "max-age", backupAgeMax, "an older backup is not good enough (0: any)")
	flags.DurationVar(&d.patience, "patience", 10*time.Minute, "how long the started node may take to be ready")
	flags.StringVarP(&d.output, "output", "o", "table", "table or json")
	return cmd
}

func (d *drillRun) checkFlags() (*backup.Keys, error) {
	switch {
	case (d.directory == "") == (d.file == ""):
		return nil, usageError("give --directory or --file")
	case d.output != "table" && d.output != "json":
		return nil, usageError("--output must be table or json")
	case d.maxAge < 0 || d.patience <= 0:
		return nil, usageError("--max-age and --patience must be spans of time")
	}
	var err error
	if d.secret, err = secretOf("RAILGUARD_CLUSTER_SECRET"); err != nil {
		return nil, err
	}
	if d.key, err = secretOf("RAILGUARD_KEY"); err != nil {
		return nil, err
	}
	if d.secret == "" {
		return nil, usageError("the cluster secret is needed, as in a real restore: set RAILGUARD_CLUSTER_SECRET_FILE (without it no token can be issued or read)")
	}
	return d.readOpeningKeys()
}

// runDrill restores a backup, starts a node on it and checks it. It reports failures as
// reasons, not as an error.
func (d *drillRun) runDrill(ctx context.Context, keys *backup.Keys) *drillReport {
	r := &drillReport{Files: []string{}, Steps: []string{}, Why: []string{}}
	started := time.Now()
	err := d.rehearseRestore(ctx, keys, r)
	r.Seconds = time.Since(started).Round(10 * time.Millisecond).Seconds()
	if ctx.Err() != nil {
		r.Why = append(r.Why, "the drill was ended before it was done")
		r.Says = "Nothing is known: the drill was ended before it was done."
		return r
	}
	if err != nil {
		r.Why = append(r.Why, err.Error())
	}
	if r.Restored != nil {
		age := started.Sub(time.Unix(0, r.Restored.LogNanos))
		r.AgeHours = age.Hours()
		if d.maxAge > 0 && age > d.maxAge {
			r.Why = append(r.Why, fmt.Sprintf("the newest backup is too old, %s: all since then would be lost; see why `backup create --every` stopped", age.Round(time.Second)))
		}
		if age < -backupAhead {
			r.Why = append(r.Why, fmt.Sprintf("the backup's log time is %s ahead of this machine's clock: one of the two is wrong, and its age is not known", (-age).Round(time.Second)))
		}
	}
	if r.Sleep = len(r.Why) == 0; r.Sleep {
		r.Says = fmt.Sprintf("Tonight you could sleep: the backup of %s came back in %.1f s and gives verdicts.", r.Restored.LogTime, r.Seconds)
	} else {
		first, _, _ := strings.Cut(r.Why[0], "\n")
		r.Says = "Tonight you could NOT sleep: " + strings.TrimSuffix(first, "; the end of its log:")
	}
	return r
}

func (d *drillRun) rehearseRestore(ctx context.Context, keys *backup.Keys, r *drillReport) (err error) {
	files, tails, err := d.findFiles(keys)
	if err != nil {
		return err
	}
	r.Files = append(append(r.Files, files...), tails...)
	scratch, err := os.MkdirTemp(d.scratch, "railguard-drill-")
	if err != nil {
		return fmt.Errorf("scratch folder: %w", err)
	}
	defer d.abandonOnSignal(ctx, scratch)()
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	restored, err := backup.Restore(files, keys, backup.Order{Dir: filepath.Join(scratch, "data"), ID: drillNode, Now: time.Now(), Tails: tails})
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Restored = restored
	r.Steps = append(r.Steps, fmt.Sprintf("restored: %d leaves, %d agents, %d users, %d open reviews; tree head, digest and counts are the manifest's",
		restored.TreeSize, restored.Counts.Agents, restored.Counts.Users, restored.Counts.OpenReviews))
	if err := backup.ReadBack(restored); err != nil {
		return err
	}
	r.Steps = append(r.Steps, "read back from the scratch folder: the same digest")
	node := drillServer{dir: scratch, secret: d.secret, key: d.key, patience: d.patience, restored: restored, process: &d.child}
	if err := node.rehearseCalls(ctx, r); err != nil {
		return err
	}
	if err := backup.HistoryHolds(restored); err != nil {
		return err
	}
	r.Steps = append(r.Steps, "stopped in order: history leads to the backup's tree head")
	return nil
}

// findFiles finds the newest backup, the backups that it continues, oldest first, and the tails
// behind it.
func (d *drillRun) findFiles(keys *backup.Keys) (files, tails []string, err error) {
	if d.file != "" {
		return []string{d.file}, nil, nil
	}
	chain, err := backup.FindChain(d.directory, keys)
	if err != nil {
		return nil, nil, err
	}
	return chain.Files, chain.Tails, nil
}

func (d *drillRun) showReport(out io.Writer, r *drillReport) error {
	if d.output == "json" {
		return printJSON(out, r)
	}
	for _, file := range r.Files {
		fmt.Fprintln(out, "file:", file)
	}
	for _, step := range r.Steps {
		fmt.Fprintln(out, "ok:", step)
	}
	for _, why := range r.Why {
		fmt.Fprintln(out, "NOT:", why)
	}
	_, err := fmt.Fprintln(out, r.Says)
	return err
}

const (
	drillNode     = "drill"
	drillPoll     = 100 * time.Millisecond
	drillStopWait = 30 * time.Second
	drillLogShown = 2000 // Bytes at the end of a node's log that a failure shows.
)

// drillServer is the node that a drill starts on the restored state: this binary as a child
// process, on loopback ports chosen by the system.
type drillServer struct {
	dir, secret string // dir holds data/ and the node's log.
	key         string // See drillRun.
	patience    time.Duration
	restored    *backup.Restored

	process *atomic.Pointer[os.Process] // The child, shared with abandonRun, which kills it.

	child  *exec.Cmd
	ended  chan error
	client client
}

// childArguments returns the child's arguments. --rehearsal is there because the state is a
// real cluster's: the receivers of its events must not hear of a drill.
func (s *drillServer) childArguments() []string {
	return []string{
		"serve", "--rehearsal", "--id", drillNode, "--data", s.restored.Dir, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json", "--grace", "0s",
	}
}

func (s *drillServer) logPath() string { return filepath.Join(s.dir, "node.log") }

// rehearseCalls starts the node, makes all calls of the drill, and stops the node.
func (s *drillServer) rehearseCalls(ctx context.Context, r *drillReport) (err error) {
	if err := s.startChild(); err != nil {
		return fmt.Errorf("the node does not start: %w", err)
	}
	defer func() {
		if stopped := s.stopChild(); stopped != nil && err == nil {
			err = fmt.Errorf("the node does not end in order: %w", stopped)
		}
	}()
	if err := s.awaitReady(ctx); err != nil {
		if why := s.ownReason(); why != "" {
			return fmt.Errorf("the node does not start on it: %s", why)
		}
		return fmt.Errorf("the node is not ready: %w; the end of its log:\n%s", err, s.lastWords())
	}
	r.Steps = append(r.Steps, "a node started on it and is ready")
	for _, ask := range []func(context.Context) (string, error){s.askKeySet, s.makeKey, s.askVerdict, s.askState} {
		found, err := ask(ctx)
		if err != nil {
			return fmt.Errorf("the started node: %w", err)
		}
		if found != "" {
			r.Steps = append(r.Steps, found)
		}
	}
	return nil
}

// startChild starts the child. It passes on the secret but no other setting of this process:
// those may belong to a real node, with peers to join.
func (s *drillServer) startChild() error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.child = exec.Command(binary, s.childArguments()...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "RAILGUARD_") || strings.HasPrefix(entry, "RAILGUARD_CLUSTER_SECRET_OLD") || strings.HasPrefix(entry, "RAILGUARD_CLUSTER_SECRET_ALSO") {
			s.child.Env = append(s.child.Env, entry)
		}
	}
	s.child.Env = append(s.child.Env, "RAILGUARD_CLUSTER_SECRET="+s.secret)
	s.child.Stdout, s.child.Stderr = log, log
	inOwnGroup(s.child)
	if err := s.child.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	s.process.Store(s.child.Process)
	s.ended = make(chan error, 1)
	go func() { s.ended <- errors.Join(s.child.Wait(), log.Close()) }()
	return nil
}

// stopChild ends the child in order, and kills it if that takes too long.
func (s *drillServer) stopChild() error {
	if err := s.child.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(drillStopWait):
		return errors.Join(errors.New("it was killed"), s.child.Process.Kill(), <-s.ended)
	}
}

// awaitReady waits for the log line with the addresses, then until the node takes calls. If
// the backup has no list, it does not wait for one: the first verdict reports that.
func (s *drillServer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	exclude := "disk"
	if s.restored.List == "" {
		exclude = "disk,list,ofac"
	}
	last := errors.New("it has not opened its state yet")
	for {
		if s.client.http == nil {
			s.findAddresses()
		}
		if s.client.http != nil {
			if _, last = s.client.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/readyz?exclude=" + exclude}); last == nil {
				return nil
			}
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return last
		case <-time.After(drillPoll):
		}
	}
}

// findAddresses reads the node's addresses from its log.
func (s *drillServer) findAddresses() {
	data, err := os.ReadFile(s.logPath())
	if err != nil {
		return
	}
	for line := range bytes.Lines(data) {
		var said struct{ Msg, HTTP, Admin string }
		if json.Unmarshal(line, &said) != nil || said.Msg != "serving" {
			continue
		}
		token, err := os.ReadFile(filepath.Join(s.restored.Dir, adminTokenFile))
		if err != nil {
			return
		}
		s.client = client{
			url: []string{"http://" + said.HTTP}, admin: []string{"http://" + said.Admin}, key: strings.TrimSpace(string(token)),
			http: &http.Client{Timeout: s.patience, Transport: &http.Transport{Proxy: nil}},
		}
	}
}

// ownReason returns why the node says it ended; "" if it says nothing, or runs.
func (s *drillServer) ownReason() (why string) {
	data, err := os.ReadFile(s.logPath())
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if reason, is := strings.CutPrefix(line, "railguard: "); is {
			why = strings.TrimSpace(reason)
		}
	}
	return why
}

func (s *drillServer) lastWords() string {
	data, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-drillLogShown):])
}

func (s *drillServer) askKeySet(ctx context.Context) (string, error) {
	jwks, err := s.client.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/v1/.well-known/jwks.json"})
	if err == nil && backup.Digest(jwks) != s.restored.JWKS {
		err = errors.New("its key set is not the backup's")
	}
	return "it publishes the backup's key set", err
}

// makeKey creates an API key on the drill's node. It ends with the scratch folder. Where the
// policy demands two persons for keys, a drill needs one that is in the backup.
func (s *drillServer) makeKey(ctx context.Context) (string, error) {
	data, err := s.client.fetchAnswer(ctx, &call{method: http.MethodPost, path: "/admin/keys", admin: true, body: []byte(`{"name":"drill","roles":["admin"],"expires":"1d"}`)})
	if err != nil && s.key != "" {
		s.client.key = s.key
		return "", nil
	}
	var made struct{ Key string }
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	if err == nil && made.Key == "" {
		err = errors.New("it gave no API key")
	}
	s.client.key = made.Key
	return "", err
}

// askVerdict asks for a dry run, which leaves no record. If the backup has an active agent,
// it sends that agent's credential, which the server must know.
func (s *drillServer) askVerdict(ctx context.Context) (string, error) {
	if s.restored.List == "" {
		return "", errors.New("the backup has no sanctions list: no verdict is given until one is imported")
	}
	token, err := s.anyToken(ctx)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"token": token, "amount": 1, "cpName": "Plain Harbour Bakery"})
	if err != nil {
		return "", err
	}
	data, err := s.client.fetchAnswer(ctx, &call{method: http.MethodPost, path: "/v1/screen/dry-run", body: body})
	var answer struct{ Verdict, Rule string }
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	switch {
	case err != nil:
		return "", err
	case answer.Verdict == "":
		return "", errors.New("it gives no verdict")
	case token != "" && answer.Verdict == "UNKNOWN":
		return "", fmt.Errorf("it does not know the credential of an active agent (%s)", answer.Rule)
	}
	return "it judges: a dry run is " + answer.Verdict, nil
}

// anyToken returns the credential of an active agent; "" if there is none.
func (s *drillServer) anyToken(ctx context.Context) (string, error) {
	data, err := s.client.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/v1/agents?limit=1&status=ACTIVE"})
	var page struct{ Data []struct{ AgentID string } }
	if err == nil {
		err = json.Unmarshal(data, &page)
	}
	if err != nil || len(page.Data) == 0 {
		return "", err
	}
	data, err = s.client.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/v1/agents/" + url.PathEscape(page.Data[0].AgentID)})
	var agent struct{ Token string }
	if err == nil {
		err = json.Unmarshal(data, &agent)
	}
	if err == nil && agent.Token == "" {
		err = errors.New("it cannot mint an active agent's credential again")
	}
	return agent.Token, err
}

// askState takes a snapshot of the running node and compares it with what was restored.
func (s *drillServer) askState(ctx context.Context) (string, error) {
	if _, err := s.client.fetchAnswer(ctx, &call{method: http.MethodPost, path: "/v1/cluster/snapshot"}); err != nil {
		return "", err
	}
	response, err := s.client.openAnswer(ctx, &call{method: http.MethodGet, path: "/v1/cluster/snapshot"})
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if err := backup.Lives(io.Reader(response.Body), s.restored, 1); err != nil {
		return "", err
	}
	return "its own snapshot has the same counts, list and lineage", nil
}
