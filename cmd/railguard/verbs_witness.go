package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/note"
	"railguard/audit/watch"
	"railguard/audit/witness"
)

// witnessServe is `railguard witness serve`: a witness of many logs, which looks at none of them by
// itself.
type witnessServe struct {
	client
	witnessListener
	state, key string
	logs       []string
	logLevel   string
	logFormat  string

	addresses map[string]string // Where each log lists its keys, by origin.
	kept      *watch.Logs
	log       *logs
}

// witnessListener is where a witness answers.
type witnessListener struct{ listen, tlsCert, tlsKey string }

func newWitness() *cobra.Command {
	cmd := &cobra.Command{Use: "witness", Short: "Be a witness of logs", GroupID: "compliance", Args: cobra.NoArgs}
	cmd.AddCommand(newWitnessServe())
	return cmd
}

func newWitnessServe() *cobra.Command {
	w := &witnessServe{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Cosign what logs send, if it continues all that was cosigned of them", Args: cobra.NoArgs,
		Long: `Be a witness (C2SP tlog-witness) of any number of logs, under Ed25519 and ML-DSA-44 (C2SP
tlog-cosignature). It answers POST /add-checkpoint, and cosigns a checkpoint only if one of the
logs given here signed it and it continues what was cosigned of that log before: a log that is seen
for the first time begins with "old 0". What was cosigned last stands in --state, synced to disk
before it is signed, and at GET /HASH/checkpoint, HASH being the SHA-256 of the log's origin in hex.

A log is --log "KEY [KEY] [URL]": its verifier keys as GET /log/keys lists them, and where it lists
them, or --log @FILE with that list. Nothing is polled. Only if a checkpoint of a log bears other keys and it
has a URL, the witness asks there for the log's keys, at most once a minute, and follows those that
the trusted ones endorse (log-key rotate). Without a URL give the new keys yourself.

` + "`railguard log watch --cosign`" + ` is a witness that also looks at its log by itself.

Exit codes: 0 ended on request, 1 it cannot go on, 64 wrong flags.`,
		Example: `  railguard log keygen --name witness.example.org/w1 --file witness.key
  railguard witness serve --state /var/lib/witness --key witness.key --log "pay.example.org/cl_1+d2991478+AYxe… pay.example.org/cl_1+91c0aa07+Bg… https://pay.example.org"`,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.serveLogs(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&w.state, "state", "", "the witness's own folder (required)")
	flags.StringVar(&w.key, "key", "", "file with its secret key (railguard log keygen; required)")
	flags.StringArrayVar(&w.logs, "log", nil, `a log: "KEY [KEY] [URL]" or @FILE; repeat it (required)`)
	w.witnessListener.defineFlags(cmd)
	flags.StringVar(&w.ca, "ca", "", "file with the certificate authorities of https addresses (default: the system's)")
	flags.DurationVar(&w.timeout, "timeout", 5*time.Second, "longest wait for a log's keys")
	flags.StringVar(&w.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&w.logFormat, "log-format", "text", "text or json: one object a line")
	return cmd
}

func (l *witnessListener) defineFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&l.listen, "listen", "127.0.0.1:8380", "address of the witness")
	flags.StringVar(&l.tlsCert, "tls-cert", "", "certificate file of the witness's address")
	flags.StringVar(&l.tlsKey, "tls-key", "", "its key file")
}

func (l *witnessListener) checkFlags() error {
	if (l.tlsCert == "") != (l.tlsKey == "") {
		return usageError("--tls-cert and --tls-key go together")
	}
	return nil
}

// serve answers with a witness until the context ends.
func (l *witnessListener) serve(ctx context.Context, w *witness.Witness, log *logs) (<-chan error, error) {
	listener, err := net.Listen("tcp", l.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{
		Handler:     w,
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	ended := make(chan error, 1)
	go func() {
		if l.tlsCert != "" {
			ended <- server.ServeTLS(listener, l.tlsCert, l.tlsKey)
			return
		}
		ended <- server.Serve(listener)
	}()
	log.Info("witness", "address", listener.Addr().String(), "key", w.Cosigner.VerifierKey())
	return ended, nil
}

func readCosigner(flag, path string) (*note.Cosigner, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError("%s: %w", flag, err)
	}
	cosigner, err := note.ParseCosigner(string(text))
	if err != nil {
		return nil, usageError("%s: %w", flag, err)
	}
	return cosigner, nil
}

func (w *witnessServe) serveLogs(cmd *cobra.Command) error {
	made, err := w.open(cmd)
	if err != nil {
		return err
	}
	defer func() { _ = w.kept.Close() }() // Everything kept is already synced.
	ended, err := w.witnessListener.serve(cmd.Context(), made, w.log)
	if err != nil {
		return err
	}
	select {
	case <-cmd.Context().Done():
		return nil
	case err := <-ended:
		return fmt.Errorf("--listen: %w", err)
	}
}

// open reads the flags, opens the folder and makes the witness.
func (w *witnessServe) open(cmd *cobra.Command) (*witness.Witness, error) {
	if w.state == "" || w.key == "" || len(w.logs) == 0 {
		return nil, usageError("--state, --key and --log are required")
	}
	err := w.witnessListener.checkFlags()
	if err != nil {
		return nil, err
	}
	if w.log, err = newLogs(cmd.ErrOrStderr(), w.logLevel, w.logFormat); err != nil {
		return nil, err
	}
	cosigner, err := readCosigner("--key", w.key)
	if err != nil {
		return nil, err
	}
	keys, err := w.readLogs()
	if err != nil {
		return nil, err
	}
	if err := w.buildHTTPClient(); err != nil {
		return nil, err
	}
	if w.kept, err = watch.OpenLogs(w.state, keys); err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	return &witness.Witness{Cosigner: cosigner, Store: w.kept, Now: time.Now, Log: w.log.Warn, Origins: w.kept.Origins, Follow: w.followKeys}, nil
}

// readLogs returns the verifier keys of each log, and keeps the addresses.
func (w *witnessServe) readLogs() (all []string, err error) {
	w.addresses = map[string]string{}
	for _, given := range w.logs {
		var keys, address string
		if path, isFile := strings.CutPrefix(given, "@"); isFile {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, usageError("--log: %w", err)
			}
			keys = string(text)
		} else {
			words := strings.Fields(given)
			if last := len(words) - 1; last > 0 && strings.Contains(words[last], "://") {
				address, words = words[last], words[:last]
			}
			keys = strings.Join(words, "\n") + "\n"
		}
		if err := note.CheckKeys(keys); err != nil {
			return nil, usageError("--log: %w", err)
		}
		if len(note.Witnesses(keys)) > 0 {
			return nil, usageError("--log: a witness's key is none of a log")
		}
		if at, err := url.Parse(address); address != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || at.User != nil) {
			return nil, usageError("--log: %q is no http or https address", address)
		}
		origin := note.NewestOrigin(keys)
		if _, twice := w.addresses[origin]; twice {
			return nil, usageError("--log: %s is given twice: put all its keys together", origin)
		}
		w.addresses[origin] = address
		all = append(all, keys)
	}
	return all, nil
}

// followKeys asks a log for its keys, and takes those that the trusted ones endorse.
func (w *witnessServe) followKeys(ctx context.Context, origin string) bool {
	address := w.addresses[origin]
	if address == "" || !w.kept.MayAsk(origin, time.Now()) {
		return false
	}
	source := &watch.Source{Base: address, HTTP: w.http}
	listed, err := source.Keys(ctx)
	if err == nil {
		var changed bool
		if changed, err = w.kept.Follow(origin, listed); changed {
			w.log.Info("a log has other keys, which the former ones endorse", "log", origin)
			return true
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		w.log.Warn("a checkpoint bears other keys, and none are endorsed", "log", origin, "error", err)
	}
	return false
}
