package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/audit/watch"
)

// newLog is `railguard log`: checks of the transparency log that anybody outside can make.
func newLog() *cobra.Command {
	cmd := &cobra.Command{
		Use: "log", Short: "The transparency log from outside: checkpoints, consistency, watching, cosigning", GroupID: "compliance",
		Long: `What needs no API key: signed checkpoints of the log, proofs that one continues
another, a watcher that keeps them all, and a witness that cosigns them.`,
		RunE: helpOnly,
	}
	cmd.AddCommand(newLogCheckpoint(), newLogConsistency(), newLogWatch(), newLogKeygen())
	return cmd
}

// logVerb is what the verbs of the log have in common.
type logVerb struct {
	client
	keysFile, policyFile string
}

const policyUsage = "file with your C2SP tlog-policy: a quorum of its witnesses must have signed every tree head (without --keys its logs are the trusted ones)"

func (v *logVerb) defineFlags(cmd *cobra.Command) {
	v.client.defineFlags(cmd, false)
	cmd.Flags().StringVar(&v.policyFile, "policy", "", policyUsage)
	cmd.Flags().StringVar(&v.keysFile, "keys", "", "file with the log's verifier keys, received another way (default: what the server lists, which shows no more than that it agrees with itself)")
}

// openSource returns the server's log and the keys to verify it with.
func (v *logVerb) openSource(ctx context.Context) (*watch.Source, string, error) {
	source := &watch.Source{Base: v.url[0], HTTP: v.http}
	if v.keysFile == "" {
		if keys, err := v.listedKeys(ctx, source); err != nil || keys != "" {
			return source, keys, err
		}
	}
	keys, err := readTrust(v.keysFile, v.policyFile)
	if err != nil {
		return source, "", err
	}
	return source, followKeys(ctx, source, keys), nil
}

// followKeys returns the keys that a log has now, if the given ones endorse them; else the given ones.
func followKeys(ctx context.Context, source *watch.Source, keys string) string {
	if listed, err := source.Keys(ctx); err == nil {
		if followed, steps, err := note.Succession(keys, listed); err == nil && len(steps) > 0 {
			return followed
		}
	}
	return keys
}

// listedKeys returns the keys that the log lists, with what the policy demands; "" if the policy
// names the logs to trust.
func (v *logVerb) listedKeys(ctx context.Context, source *watch.Source) (string, error) {
	text, policy, err := readPolicy(v.policyFile)
	if err != nil || policy != nil && policy.HasLogs() {
		return "", err
	}
	keys, err := source.Keys(ctx)
	if err != nil || policy == nil {
		return keys, awayOr(err)
	}
	return note.JoinPolicy(keys, text)
}

// readPolicy reads a policy of witnesses; nil: no path was given.
func readPolicy(path string) (text string, policy *note.Policy, err error) {
	if path == "" {
		return "", nil, nil
	}
	data, err := os.ReadFile(path)
	if err == nil {
		policy, err = note.ParsePolicy(string(data))
	}
	if err != nil {
		return "", nil, usageError("--policy: %w", err)
	}
	return string(data), policy, nil
}

// readTrust reads verifier keys, a policy of witnesses, or both, into one document.
func readTrust(keysPath, policyPath string) (keys string, err error) {
	return readTrustOf("--keys", keysPath, policyPath)
}

// readTrustOf is readTrust for a verb whose flag for verifier keys has another name.
func readTrustOf(flag, keysPath, policyPath string) (keys string, err error) {
	if keysPath != "" {
		if keys, err = readKeys(flag, keysPath); err != nil || policyPath == "" {
			return keys, err
		}
	}
	text, policy, err := readPolicy(policyPath)
	switch {
	case err != nil:
		return "", err
	case keysPath == "" && !policy.HasLogs():
		return "", usageError("--policy names no log: give %s", flag)
	}
	if keys, err = note.JoinPolicy(keys, text); err != nil {
		return "", usageError("--policy: %w", err)
	}
	return keys, nil
}

func readKeys(flag, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = note.CheckKeys(string(data))
	}
	if err != nil {
		return "", usageError("%s: %w", flag, err)
	}
	return string(data), nil
}

// awayOr adds the exit code for a missing answer to an error.
func awayOr(err error) error {
	var coded *exitError
	if errors.Is(err, watch.ErrAway) && !errors.As(err, &coded) {
		return &exitError{code: exitAway, err: err}
	}
	return err
}

type logCheckpoint struct {
	logVerb
	directory, hook string
	every           time.Duration
	cosigned        bool
	after           func(time.Duration) <-chan time.Time // time.After, or a test's replacement.
}

func newLogCheckpoint() *cobra.Command { return newLogCheckpointBy(time.After) }

func newLogCheckpointBy(after func(time.Duration) <-chan time.Time) *cobra.Command {
	v := &logCheckpoint{after: after}
	cmd := &cobra.Command{
		Use: "checkpoint", Short: "Fetch, verify and print the log's signed tree head, or keep one so often", Args: cobra.NoArgs,
		Long: `Print the signed checkpoint as it is, once its signatures are verified. Keep it:
with ` + "`railguard log consistency`" + ` it shows at any later time that nothing of what was
in the log then has been changed, removed or moved.

With --directory it becomes a file there, named by its tree's size, once it is proven to
continue the newest one that lies there; with --every it goes on until it is
stopped. --hook is run for each new file, with its path behind its words: it
carries checkpoints to where nobody here can change them.`,
		Example: "  railguard log checkpoint --keys keys.txt > 2026-05-01.checkpoint\n  railguard log checkpoint --cosigned --directory /srv/checkpoints --every 1h --hook \"rclone copyto\"",
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.keepCheckpoints(cmd) },
	}
	v.defineFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&v.cosigned, "cosigned", false, "the newest one that witnesses cosigned")
	flags.StringVar(&v.directory, "directory", "", "keep it in this folder (default: print it)")
	flags.DurationVar(&v.every, "every", 0, "go on, and keep one so often (at least 1s)")
	flags.StringVar(&v.hook, "hook", "", "command run for each new file, its path behind it")
	return cmd
}

func (v *logCheckpoint) keepCheckpoints(cmd *cobra.Command) error {
	if v.directory == "" && (v.every != 0 || v.hook != "") || v.every != 0 && v.every < time.Second {
		return usageError("--every (at least 1s) and --hook need --directory")
	}
	if err := v.findServer(cmd, false); err != nil {
		return err
	}
	for {
		err := v.keepCheckpoint(cmd)
		if v.every == 0 {
			return err
		}
		if err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "NO CHECKPOINT this time:", err)
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-v.after(v.every):
		}
	}
}

func (v *logCheckpoint) keepCheckpoint(cmd *cobra.Command) error {
	source, keys, err := v.openSource(cmd.Context())
	if err != nil {
		return err
	}
	signed, point, err := fetchCheckpoint(cmd.Context(), source, keys, v.cosigned)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d leaves, signatures verified\n", printableText(point.Origin), point.Size)
	if v.directory == "" {
		_, err = cmd.OutOrStdout().Write(signed)
		return err
	}
	path := filepath.Join(v.directory, fmt.Sprintf("%020d.checkpoint", point.Size))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := v.demandContinuation(cmd.Context(), source, keys, &point); err != nil {
		return err
	}
	if err := writeSynced(path, signed); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), path)
	if v.hook == "" {
		return nil
	}
	words := append(strings.Fields(v.hook), path)
	hook := exec.CommandContext(cmd.Context(), words[0], words[1:]...)
	hook.Stdout, hook.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := hook.Run(); err != nil {
		return fmt.Errorf("%s is kept, and the hook failed: %w", path, err)
	}
	return nil
}

// demandContinuation returns an error unless a checkpoint continues the newest one in the
// folder.
func (v *logCheckpoint) demandContinuation(ctx context.Context, source *watch.Source, keys string, point *note.Checkpoint) error {
	kept, err := filepath.Glob(filepath.Join(v.directory, "*.checkpoint"))
	if err != nil || len(kept) == 0 {
		return err
	}
	last := slices.Max(kept) // All names have the same length, so the greatest name is of the largest tree.
	older, err := keptCheckpoint(last, keys)
	if err != nil {
		return err
	}
	if older.Size > point.Size {
		return fmt.Errorf("the log shows %d leaves, %s has %d: a node that lags, or a log that went back", point.Size, last, older.Size)
	}
	if _, err := watch.Prove(ctx, source, &older, point); err != nil {
		return awayOr(fmt.Errorf("NOT PROVEN to continue %s: %w", last, err))
	}
	return nil
}

// writeSynced writes a file so that a crash leaves all of it or nothing.
func writeSynced(path string, data []byte) error {
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

func fetchCheckpoint(ctx context.Context, source *watch.Source, keys string, cosigned bool) (signed []byte, point note.Checkpoint, err error) {
	if cosigned {
		signed, err = source.Cosigned(ctx)
	} else {
		signed, err = source.Head(ctx, keys)
	}
	if err != nil {
		return nil, note.Checkpoint{}, awayOr(err)
	}
	point, err = note.Verify(signed, keys)
	return signed, point, err
}

func newLogConsistency() *cobra.Command {
	v := &logVerb{}
	var proofFile string
	cmd := &cobra.Command{
		Use: "consistency OLD [NEW]", Short: "Prove that the log of today, or of NEW, continues the log of OLD",
		Long: `OLD and NEW are files with checkpoints that you kept; without NEW the server's
current one is taken. Both must be signed by the log, and the larger tree must
begin with all of the smaller one. With NEW and --proof FILE, what
GET /log/consistency/OLDSIZE/NEWSIZE answered, no server is asked.

Exit codes: 0 proven, 1 not proven, 64 not readable, 3 no answer.`,
		Example: "  railguard log consistency 2026-05-01.checkpoint --keys keys.txt\n  railguard log consistency may.checkpoint june.checkpoint --keys keys.txt --proof may-june.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usageError("expected OLD, and NEW or nothing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return v.proveConsistency(cmd, args, proofFile) },
	}
	v.defineFlags(cmd)
	cmd.Flags().StringVar(&proofFile, "proof", "", "file with the log's proof: nothing is fetched; needs NEW and --keys")
	return cmd
}

func (v *logVerb) proveConsistency(cmd *cobra.Command, args []string, proofFile string) error {
	var source *watch.Source
	var keys string
	var err error
	if proofFile != "" {
		if len(args) < 2 || v.keysFile == "" && v.policyFile == "" {
			return usageError("--proof needs NEW and --keys")
		}
		keys, err = readTrust(v.keysFile, v.policyFile)
	} else if err = v.findServer(cmd, false); err == nil {
		source, keys, err = v.openSource(cmd.Context())
	}
	if err != nil {
		return err
	}
	older, err := keptCheckpoint(args[0], keys)
	if err != nil {
		return err
	}
	var newer note.Checkpoint
	if len(args) == 2 {
		newer, err = keptCheckpoint(args[1], keys)
	} else {
		_, newer, err = fetchCheckpoint(cmd.Context(), source, keys, false)
	}
	if err != nil {
		return err
	}
	if older.Size > newer.Size {
		return fmt.Errorf("NOT PROVEN: the newer tree has %d leaves, the older one %d", newer.Size, older.Size)
	}
	if proofFile != "" {
		err = consistentBy(proofFile, &older, &newer)
	} else {
		_, err = watch.Prove(cmd.Context(), source, &older, &newer)
	}
	if err != nil {
		return awayOr(fmt.Errorf("NOT PROVEN: %w", err))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "PROVEN: %s: the tree of %d leaves begins with all %d leaves of the older one, unaltered and in order\n", printableText(newer.Origin), newer.Size, older.Size)
	if older.Origin != newer.Origin {
		fmt.Fprintf(cmd.OutOrStdout(), "it was called %s before\n", printableText(older.Origin))
	}
	return nil
}

func keptCheckpoint(path, keys string) (note.Checkpoint, error) {
	signed, err := os.ReadFile(path)
	if err != nil {
		return note.Checkpoint{}, usageError("%w", err)
	}
	point, err := note.Verify(signed, keys)
	if err != nil {
		return point, fmt.Errorf("NOT PROVEN: %s: %w", path, err)
	}
	return point, nil
}

func consistentBy(path string, older, newer *note.Checkpoint) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return usageError("--proof: %w", err)
	}
	hashes, err := proof.ParseConsistency(data, older.Size, newer.Size)
	if err != nil {
		return usageError("--proof: %w", err)
	}
	return proof.VerifyConsistency(older.Size, newer.Size, older.Root, newer.Root, hashes)
}

func newLogKeygen() *cobra.Command {
	var name, path string
	cmd := &cobra.Command{
		Use: "keygen", Short: "Make the key of a witness; print its verifier keys", Args: cobra.NoArgs,
		Long: `Make the secret key of a witness, for ` + "`railguard log watch --cosign`" + `, and print its
verifier keys (Ed25519, ML-DSA-44), which the log's operator gives to ` + "`railguard serve --witness`" + `. NAME says
who the witness is, for ever: by custom a URL without its scheme.`,
		Example: "  railguard log keygen --name witness.example.org/w1 --file witness.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" || path == "" {
				return usageError("--name and --file are required")
			}
			seed := make([]byte, note.SeedSize)
			_, _ = rand.Read(seed) // It never returns an error.
			cosigner, err := note.NewCosigner(name, seed)
			if err != nil {
				return usageError("--name: %w", err)
			}
			file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return usageError("--file: %w", err)
			}
			_, err = fmt.Fprintln(file, cosigner.SecretKey())
			if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), cosigner.VerifierKeys())
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the witness's name (required)")
	cmd.Flags().StringVar(&path, "file", "", "where its secret key goes; must not exist (required)")
	return cmd
}
