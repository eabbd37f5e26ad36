package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/audit/watch"
)

// newLog is `railguard log`: the transparency log as anybody outside may check it.
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
	keysFile string
}

func (v *logVerb) flags(cmd *cobra.Command) {
	v.client.flags(cmd, false)
	cmd.Flags().StringVar(&v.keysFile, "keys", "", "file with the log's verifier keys, received another way (default: what the server lists, which shows no more than that it agrees with itself)")
}

// source is the server's log, and the keys it is verified with.
func (v *logVerb) source(ctx context.Context) (*watch.Source, string, error) {
	source := &watch.Source{Base: v.url[0], HTTP: v.http}
	if v.keysFile == "" {
		keys, err := source.Keys(ctx)
		return source, keys, awayOr(err)
	}
	keys, err := readKeys(v.keysFile)
	return source, keys, err
}

func readKeys(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = note.CheckKeys(string(data))
	}
	if err != nil {
		return "", usage("--keys: %w", err)
	}
	return string(data), nil
}

// awayOr gives an answer that did not come its exit code.
func awayOr(err error) error {
	var coded *exitError
	if errors.Is(err, watch.ErrAway) && !errors.As(err, &coded) {
		return &exitError{code: exitAway, err: err}
	}
	return err
}

// newLogCheckpoint is `railguard log checkpoint`.
func newLogCheckpoint() *cobra.Command {
	v := &logVerb{}
	cmd := &cobra.Command{
		Use: "checkpoint", Short: "Fetch, verify and print the log's signed tree head", Args: cobra.NoArgs,
		Long: `Print the signed checkpoint as it is, once its signatures are verified. Keep it:
with ` + "`railguard log consistency`" + ` it shows at any later time that nothing of what was
in the log then has been changed, removed or moved.`,
		Example: "  railguard log checkpoint --keys keys.txt > 2026-05-01.checkpoint",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := v.settle(cmd, false); err != nil {
				return err
			}
			source, keys, err := v.source(cmd.Context())
			if err != nil {
				return err
			}
			signed, point, err := fetchCheckpoint(cmd.Context(), source, keys)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d leaves, signatures verified\n", plain(point.Origin), point.Size)
			_, err = cmd.OutOrStdout().Write(signed)
			return err
		},
	}
	v.flags(cmd)
	return cmd
}

func fetchCheckpoint(ctx context.Context, source *watch.Source, keys string) ([]byte, note.Checkpoint, error) {
	signed, err := source.Checkpoint(ctx)
	if err != nil {
		return nil, note.Checkpoint{}, awayOr(err)
	}
	point, err := note.Verify(signed, keys)
	return signed, point, err
}

// newLogConsistency is `railguard log consistency OLD [NEW]`.
func newLogConsistency() *cobra.Command {
	v := &logVerb{}
	var proofFile string
	cmd := &cobra.Command{
		Use: "consistency OLD [NEW]", Short: "Prove that the log of today, or of NEW, continues the log of OLD",
		Long: `OLD and NEW are files with checkpoints that you kept; without NEW the server's
current one is taken. Both must be signed by the log, and the larger tree must
begin with all of the smaller one. With NEW and --proof FILE, what
GET /log/consistency/OLDSIZE/NEWSIZE answered, no server is asked.

Exit codes: 0 proven, 1 not proven, 2 not readable, 3 no answer.`,
		Example: "  railguard log consistency 2026-05-01.checkpoint --keys keys.txt\n  railguard log consistency may.checkpoint june.checkpoint --keys keys.txt --proof may-june.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("expected OLD, and NEW or nothing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return v.consistency(cmd, args, proofFile) },
	}
	v.flags(cmd)
	cmd.Flags().StringVar(&proofFile, "proof", "", "file with the log's proof: nothing is fetched; needs NEW and --keys")
	return cmd
}

func (v *logVerb) consistency(cmd *cobra.Command, args []string, proofFile string) error {
	var source *watch.Source
	var keys string
	var err error
	if proofFile != "" {
		if len(args) < 2 || v.keysFile == "" {
			return usage("--proof needs NEW and --keys")
		}
		keys, err = readKeys(v.keysFile)
	} else if err = v.settle(cmd, false); err == nil {
		source, keys, err = v.source(cmd.Context())
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
		_, newer, err = fetchCheckpoint(cmd.Context(), source, keys)
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
	fmt.Fprintf(cmd.OutOrStdout(), "PROVEN: %s: the tree of %d leaves begins with all %d leaves of the older one, unaltered and in order\n", plain(newer.Origin), newer.Size, older.Size)
	if older.Origin != newer.Origin {
		fmt.Fprintf(cmd.OutOrStdout(), "it was called %s before\n", plain(older.Origin))
	}
	return nil
}

func keptCheckpoint(path, keys string) (note.Checkpoint, error) {
	signed, err := os.ReadFile(path)
	if err != nil {
		return note.Checkpoint{}, usage("%w", err)
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
		return usage("--proof: %w", err)
	}
	hashes, err := watch.ParseConsistency(data, older.Size, newer.Size)
	if err != nil {
		return usage("--proof: %w", err)
	}
	return proof.VerifyConsistency(older.Size, newer.Size, older.Root, newer.Root, hashes)
}

// newLogKeygen is `railguard log keygen`.
func newLogKeygen() *cobra.Command {
	var name, path string
	cmd := &cobra.Command{
		Use: "keygen", Short: "Make the key of a witness; print its verifier key", Args: cobra.NoArgs,
		Long: `Make the secret key of a witness, for ` + "`railguard log watch --cosign`" + `, and print its
verifier key, which the log's operator gives to ` + "`railguard serve --witness`" + `. NAME says
who the witness is, for ever: by custom a URL without its scheme.`,
		Example: "  railguard log keygen --name witness.example.org/w1 --file witness.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" || path == "" {
				return usage("--name and --file are required")
			}
			seed := make([]byte, note.SeedSize)
			_, _ = rand.Read(seed) // It never fails.
			cosigner, err := note.NewCosigner(name, seed)
			if err != nil {
				return usage("--name: %w", err)
			}
			file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return usage("--file: %w", err)
			}
			_, err = fmt.Fprintln(file, cosigner.SecretKey())
			if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), cosigner.VerifierKey())
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the witness's name (required)")
	cmd.Flags().StringVar(&path, "file", "", "where its secret key goes; must not exist (required)")
	return cmd
}
