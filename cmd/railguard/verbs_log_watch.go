package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/note"
	"railguard/audit/watch"
	"railguard/audit/witness"
)

type logWatch struct {
	client
	witnessListener
	state, keysFile, hook    string
	interval, silence, stale time.Duration
	policyFile               string
	unwitnessed              time.Duration
	lineage, cosign          string
	logLevel, logFormat      string
	once, keepGoing          bool

	log  *logs
	away map[string]bool // Addresses that did not answer the last time.
}

const hookTimeout = 30 * time.Second

func newLogWatch() *cobra.Command {
	w := &logWatch{away: map[string]bool{}}
	cmd := &cobra.Command{
		Use: "watch URL...", Short: "Keep every checkpoint of a log, and raise an alarm when one does not continue the last",
		Long: `Watch a log from outside: on another machine, of another team, without an API key.
Each new checkpoint is verified, proven to continue the last one, and kept in
--state, synced to disk. Several URLs (one a node) must show one tree.

An alarm is a log line at error and a file in DIR/alarms with the signed notes
that show it; --hook is run with RAILGUARD_ALARM, _TEXT, _FILE and _SOURCE in its environment; then the watcher
ends with exit code 1, or goes on with --keep-going. Alarms are:
  fork       two trees of which neither continues the other
  rollback   a tree signed later, and smaller
  signature  a checkpoint that the trusted keys did not sign
  lineage    another name of the log: a lost majority was recovered, or a backup restored; --lineage accepts it
  gap        for --silence the log has not shown how its newest tree continues the last
  silence    no checkpoint that verifies for --silence
  stale      the tree has not grown for --stale
  unwitnessed  the witnesses that you demand have signed nothing newer for --unwitnessed, while the log grew

Keys that the old ones endorse (log-key rotate) are followed, and told.

With --cosign the watcher is a witness besides (C2SP tlog-witness): it answers
POST /add-checkpoint on --listen, and cosigns what continues all it cosigned.

Exit codes: 0 ended on request (--once: nothing wrong), 1 an alarm, 64 wrong flags, 3 --once and no answer.`,
		Example: "  railguard log watch https://n1.example.org https://n2.example.org --keys keys.txt --state /var/lib/watch --hook /usr/local/bin/page\n  railguard log watch https://pay.example.org --keys keys.txt --state w --cosign witness.key --listen 127.0.0.1:8380 --keep-going",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 16 {
				return usageError("expected the log's URL, or up to 16")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return w.watchServers(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&w.state, "state", "", "the watcher's own folder (required)")
	flags.StringVar(&w.keysFile, "keys", "", "file with the log's verifier keys, received another way (default: what the log lists at first, told at its fingerprint)")
	flags.DurationVar(&w.interval, "interval", time.Minute, "how often to look, at least 1s")
	flags.DurationVar(&w.silence, "silence", 10*time.Minute, "alarm after so long without an answer that verifies; 0: never")
	flags.DurationVar(&w.stale, "stale", 24*time.Hour, "alarm after so long without growth; 0: never")
	flags.StringVar(&w.hook, "hook", "", "program to run at each new alarm, at most 30 seconds")
	flags.StringVar(&w.lineage, "lineage", "", "accept this name of the log in place of the one it had")
	flags.StringVar(&w.policyFile, "policy", "", policyUsage)
	flags.DurationVar(&w.unwitnessed, "unwitnessed", time.Hour, "alarm when the witnesses that you demand lag behind the log for so long; 0: never")
	flags.StringVar(&w.cosign, "cosign", "", "file with a witness's secret key (railguard log keygen): cosign on request")
	w.witnessListener.defineFlags(cmd)
	flags.StringVar(&w.ca, "ca", "", "file with the certificate authorities of https addresses (default: the system's)")
	flags.DurationVar(&w.timeout, "timeout", 20*time.Second, "longest wait for one answer")
	flags.StringVar(&w.logLevel, "log-level", "info", "debug, info, warn or error; at debug every look is a line")
	flags.StringVar(&w.logFormat, "log-format", "text", "text or json: one object a line")
	flags.BoolVar(&w.once, "once", false, "look once, and end")
	flags.BoolVar(&w.keepGoing, "keep-going", false, "go on after an alarm")
	return cmd
}

func (w *logWatch) watchServers(cmd *cobra.Command, urls []string) error {
	keys, err := w.checkFlags(cmd)
	if err != nil {
		return err
	}
	state, err := watch.OpenState(w.state, keys)
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	defer func() { _ = state.Close() }() // Everything kept is already synced.
	ended, err := w.serveWitness(cmd, state)
	if err != nil {
		return err
	}
	var sources []*watch.Source
	for _, address := range urls {
		sources = append(sources, &watch.Source{Base: address, HTTP: w.http})
	}
	watcher := watch.New(state, sources, watch.Options{Silence: w.silence, Unwitnessed: w.unwitnessed, Stale: w.stale, Lineage: w.lineage}, time.Now())
	for {
		found, err := watcher.Step(cmd.Context(), time.Now())
		if err != nil {
			return fmt.Errorf("--state: %w", err)
		}
		if cmd.Context().Err() != nil {
			return nil
		}
		if err := w.tellFindings(cmd.Context(), found, keys == "", state); err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case err := <-ended:
			return fmt.Errorf("--listen: %w", err)
		case <-time.After(w.interval):
		}
		if w.once {
			return nil
		}
	}
}

func (w *logWatch) checkFlags(cmd *cobra.Command) (keys string, err error) {
	switch {
	case w.state == "":
		return "", usageError("--state is required (the watcher's own folder)")
	case w.interval < time.Second && !w.once:
		return "", usageError("--interval must be at least 1s")
	}
	if err := w.witnessListener.checkFlags(); err != nil {
		return "", err
	}
	if w.once {
		w.interval = 0
	}
	if w.log, err = newLogs(cmd.ErrOrStderr(), w.logLevel, w.logFormat); err != nil {
		return "", err
	}
	if w.keysFile != "" || w.policyFile != "" {
		if keys, err = readTrust(w.keysFile, w.policyFile); err != nil {
			return "", err
		}
	}
	return keys, w.buildHTTPClient()
}

// tellFindings logs the findings of one step. An alarm ends the watch, unless it is to go on.
func (w *logWatch) tellFindings(ctx context.Context, found []watch.Finding, trusting bool, state *watch.State) error {
	answered := false
	var alarm *watch.Finding
	for i := range found {
		f := &found[i]
		answered = answered || f.Kind != watch.KindAway
		level := slog.LevelDebug
		switch {
		case f.Alarm():
			alarm, level = f, slog.LevelError
		case f.Kind == watch.KindRotation || f.Kind == watch.KindMoved || f.Kind == watch.KindAway && !w.away[f.Source]:
			level = slog.LevelWarn // An address that stays away is reported once.
		case f.Kind == watch.KindFirst || f.Kind == watch.KindGrown || f.Kind == watch.KindListed:
			level = slog.LevelInfo
		}
		w.away[f.Source] = f.Kind == watch.KindAway
		attributes := []any{"kind", f.Kind, "source", f.Source, "size", f.Size}
		if f.File != "" {
			attributes = append(attributes, "file", f.File)
		}
		w.log.Log(ctx, level, f.Text, attributes...)
		if f.Kind == watch.KindFirst && trusting {
			w.log.Warn("the keys that the log lists were taken: compare them with ones you got another way", "keys", state.Keys())
		}
		if f.Alarm() && f.New {
			w.runHook(ctx, f)
		}
	}
	if alarm != nil && !w.keepGoing {
		return fmt.Errorf("ALARM: %s: %s\n  %s", alarm.Kind, printableText(alarm.Text), alarm.File)
	}
	if w.once && !answered {
		return &exitError{code: exitAway, err: errors.New("no address answered")}
	}
	return nil
}

// runHook runs the operator's program for an alarm, at most for hookTimeout.
func (w *logWatch) runHook(ctx context.Context, f *watch.Finding) {
	if w.hook == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	hook := exec.CommandContext(ctx, w.hook)
	hook.Env = append(os.Environ(), "RAILGUARD_ALARM="+f.Kind, "RAILGUARD_ALARM_TEXT="+printableText(f.Text), "RAILGUARD_ALARM_FILE="+f.File, "RAILGUARD_ALARM_SOURCE="+f.Source)
	hook.WaitDelay = time.Second
	if output, err := hook.CombinedOutput(); err != nil {
		w.log.Error("the hook failed", "hook", w.hook, "error", err, "output", string(output[:min(len(output), 1000)]))
	}
}

// serveWitness answers add-checkpoint beside the watch, if --cosign is given.
func (w *logWatch) serveWitness(cmd *cobra.Command, state *watch.State) (<-chan error, error) {
	if w.cosign == "" {
		return nil, nil
	}
	cosigner, err := readCosigner("--cosign", w.cosign)
	if err != nil {
		return nil, err
	}
	origins := func() []string { return []string{note.NewestOrigin(state.Keys())} }
	return w.serve(cmd.Context(), &witness.Witness{Cosigner: cosigner, Store: state, Now: time.Now, Log: w.log.Warn, Origins: origins}, w.log)
}
