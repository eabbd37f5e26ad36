package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/report"
	"railguard/seal"
)

// resealingText says how many values are still to be sealed anew, and what to do.
func resealingText(r *report.Resealing) string {
	switch {
	case r.Lost > 0:
		return fmt.Sprintf("%d of %d sealed values cannot be opened by any secret that this node was given: give it the one that is missing (RAILGUARD_CLUSTER_SECRET_OLD)", r.Lost, r.Values)
	case r.Left > 0:
		return fmt.Sprintf("%d of %d sealed values are sealed under a secret of before, which must stay set: railguard cluster-secret reseal", r.Left, r.Values)
	case r.Older == 0:
		return fmt.Sprintf("all %d sealed values are sealed under it, and this node has none of before", r.Values)
	}
	return fmt.Sprintf("all %d sealed values are sealed under it: RAILGUARD_CLUSTER_SECRET_OLD may be removed, from one node after the other; keep it with the backups of before %s, which need it", r.Values, r.At)
}

func showResealing(out io.Writer, data []byte) error {
	var r report.Resealing
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("cluster secret: %w", err)
	}
	_, err := fmt.Fprintln(out, resealingText(&r))
	return err
}

type secretReseal struct {
	client
	reason string
	every  time.Duration // Time between two lines of progress.
}

// newSecretNew is `railguard cluster-secret new`: it asks no server.
func newSecretNew() *cobra.Command {
	return &cobra.Command{
		Use: "new", Short: "Make a cluster secret: 32 random bytes, in hex", Args: cobra.NoArgs,
		Long: `Print a cluster secret for RAILGUARD_CLUSTER_SECRET, or for the file that
RAILGUARD_CLUSTER_SECRET_FILE names: the same on every node. serve takes no other form, outside
of --dev: whoever reaches the port between nodes can guess a phrase without asking again.`,
		Example: "  (umask 077; railguard cluster-secret new > cluster-secret)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), seal.NewClusterSecret())
			return err
		},
	}
}

// resealRounds bounds how often it goes through all values. A node that still seals under the
// former secret may write values meanwhile; the next round finds them.
const resealRounds = 3

func newSecretReseal() *cobra.Command {
	r := &secretReseal{every: 2 * time.Second}
	cmd := &cobra.Command{
		Use: "reseal", Short: "Seal anew what cluster secrets of before had sealed, step by step, with progress", Args: cobra.NoArgs,
		Long: `After the cluster secret was exchanged on every node: go through signing keys, the log's
keys, webhooks' keys and EINs, and seal anew what the secret before had sealed, so that it can be
removed. 256 values a step, beside what is served. It may be ended and run again.

Exit codes: 0 nothing needs the secret of before any more, 1 something still does.`,
		Example: `  railguard cluster-secret reseal --reason "yearly exchange"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.reason == "" {
				return usageError("--reason is required")
			}
			if err := r.findServer(cmd, true); err != nil {
				return err
			}
			return r.resealAll(cmd)
		},
	}
	r.client.defineFlags(cmd, true)
	cmd.Flags().StringVar(&r.reason, "reason", "", "why, for the audit record (required)")
	return cmd
}

func (r *secretReseal) resealAll(cmd *cobra.Command) error {
	r.note = cmd.ErrOrStderr()
	var is report.Resealing
	for range resealRounds {
		if err := r.resealRound(cmd); err != nil {
			return err
		}
		data, err := r.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/admin/cluster-secret", admin: true})
		if err == nil {
			err = json.Unmarshal(data, &is)
		}
		if err != nil {
			return err
		}
		if is.Left == 0 {
			break
		}
	}
	fmt.Fprintln(cmd.OutOrStdout(), resealingText(&is))
	if !is.Free {
		return errors.New("the secret of before is still needed")
	}
	return nil
}

// resealRound goes through all values once.
func (r *secretReseal) resealRound(cmd *cobra.Command) error {
	type step struct {
		Resealed, Agents int
		Next             *int64
	}
	told, sealed := time.Now(), 0
	for from, end := int64(0), false; !end; {
		body, err := json.Marshal(map[string]any{"reason": r.reason, "from": from})
		if err != nil {
			return err
		}
		data, err := r.fetchPatiently(cmd.Context(), &call{method: http.MethodPost, path: "/admin/cluster-secret/reseal", admin: true, body: body})
		var done step
		if err == nil {
			err = json.Unmarshal(data, &done)
		}
		if err != nil {
			return err
		}
		sealed += done.Resealed
		looked := int64(done.Agents)
		if end = done.Next == nil; !end {
			from, looked = *done.Next, max(*done.Next-1, 0)
		}
		if now := time.Now(); end || now.Sub(told) >= r.every {
			told = now
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d agents looked at, %d values sealed anew\n", looked, done.Agents, sealed)
		}
	}
	return nil
}
