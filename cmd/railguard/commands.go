package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/report"
)

func clientCommands() []*cobra.Command {
	verbs := slices.Concat(paymentVerbs, complianceVerbs, foresightVerbs, operationVerbs, webhookVerbs)
	commands := commandTree(verbs, describeCommands)
	under := func(parent string, children ...*cobra.Command) {
		for _, cmd := range commands {
			if cmd.Name() == parent {
				cmd.AddCommand(children...)
			}
		}
	}
	under("audit", newAuditProof(), newAuditExport(), newAuditBundle())
	under("match", newMatchEval())
	under("ofac", newImport())
	under("list", newListImport(), newListRemove())
	under("policy", newPolicyPut(), newPolicyDiff())
	under("signing-key", newReissueAll())
	under("cluster-secret", newSecretNew(), newSecretReseal())
	under("cluster", newClusterStatus(), newClusterAdmit(), newClusterWait(), newClusterRecover(), newClusterUpgrade())
	return append(commands, newPermit(), newGateway(), newVerify(), newReconcile(), newLog(), newWitness(), newDump(), newBackup(), newDrill(), newDoctor(), newDebug(), newHealth(), newTLS())
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("expected %s", what)
		}
		return nil
	}
}

// judgeArguments turns cobra's errors about unexpected arguments into usage errors, for a
// command and all its subcommands.
func judgeArguments(cmd *cobra.Command) {
	args := cmd.Args
	switch {
	case args != nil:
		cmd.Args = func(cmd *cobra.Command, given []string) error {
			err := args(cmd, given)
			if coded := new(exitError); err == nil || errors.As(err, &coded) {
				return err
			}
			if len(given) == 0 {
				return usageError("%w\nsee `%s --help`", err, cmd.CommandPath())
			}
			return usageError("unexpected argument %q\nsee `%s --help`", given[0], cmd.CommandPath())
		}
	case cmd.HasSubCommands() && cmd.Runnable():
		cmd.Args = func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return helpOnly(cmd, given)
			}
			return nil
		}
	}
	for _, inner := range cmd.Commands() {
		judgeArguments(inner)
	}
}

func newHealth() *cobra.Command {
	c := &client{}
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a server how it is", GroupID: "operation", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/health"})
			if err != nil {
				return err
			}
			return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
		},
	}
	c.defineFlags(cmd, false)
	return cmd
}

// newAuditProof is `railguard audit proof TXN`: the answer as it is, for verify.
func newAuditProof() *cobra.Command {
	c := &client{}
	tlog := false
	cmd := &cobra.Command{
		Use: "proof TXN", Short: "Print a record with its proof, for `railguard verify`", Args: exactArgs(1, "one transaction id"),
		Example: "  railguard audit proof txn_1a2B3c4D > proof.json\n  railguard audit proof txn_1a2B3c4D --tlog > txn_1a2B3c4D.tlog-proof",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			request := &call{method: http.MethodGet, path: "/v1/audit/" + url.PathEscape(args[0]) + "/proof"}
			if tlog {
				request.headers = map[string]string{"Accept": "text/x.tlog-proof"}
			}
			data, err := c.fetchAnswer(cmd.Context(), request)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(data)))
			return err
		},
	}
	c.defineFlags(cmd, false)
	cmd.Flags().BoolVar(&tlog, "tlog", false, "as a C2SP tlog-proof, with the witnesses' signatures; verify it with --keys")
	return cmd
}

// newClusterStatus is `railguard cluster status`. It prints a table that can be read at a glance,
// in the middle of the night.
func newClusterStatus() *cobra.Command {
	c := &client{}
	cmd := &cobra.Command{
		Use: "status", Short: "Show the cluster: leader, nodes, lag, failure tolerance", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/status"})
			if err != nil {
				return err
			}
			var s report.ClusterStatus
			if c.output == "json" || json.Unmarshal(data, &s) != nil {
				return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
			}
			printStatus(cmd.OutOrStdout(), &s)
			return nil
		},
	}
	c.defineFlags(cmd, false)
	return cmd
}

func printStatus(out io.Writer, s *report.ClusterStatus) {
	leader := "NONE"
	if s.Leader != nil {
		leader = s.Leader.ID
	}
	fmt.Fprintf(out, "cluster %s, seen from %s (%s), term %d\n", s.ClusterID, s.Node, s.Role, s.Term)
	fmt.Fprintf(out, "leader %s, writes %s, %d of %d voters healthy, survives the loss of %d\n", leader, s.Writes.State, s.Quorum.Healthy, s.Quorum.Voters, s.Quorum.FailureTolerance)
	fmt.Fprintf(out, "commit %d, applied %d, snapshot %d, log time %s, feature level %d, matcher %d\n\n", s.Index.Commit, s.Index.Applied, s.Index.Snapshot, s.LogTime, s.FeatureLevel, s.Matcher)
	if s.Log != nil && len(s.Log.Witnesses) > 0 {
		fmt.Fprintf(out, "audit log: %d leaves; a checkpoint of %d has %d of %d cosignatures\n", s.Log.TreeSize, s.Log.CosignedSize, s.Log.Cosignatures, len(s.Log.Witnesses))
		for _, line := range []string{s.Log.Quorum, s.Log.Short} {
			if line != "" {
				fmt.Fprintln(out, "witnesses:", line)
			}
		}
		fmt.Fprintln(out)
	}
	if s.Secret != nil {
		fmt.Fprintf(out, "cluster secret: %s\n\n", resealingText(s.Secret))
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tROLE\tHEALTHY\tLAG\tCONTACT MS\tCLOCK MS\tDISK FREE\tLIST\tMATCHERS\tVERSION\tADDRESS")
	for _, n := range s.Nodes {
		healthy := "yes"
		if !n.Healthy {
			healthy = "NO"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%d%%\t%d\t%v\t%s\t%s\n", n.ID, n.Role, healthy, n.Lag, n.LastContactMs, n.ClockSkewMs, n.DiskFreePct, n.ListVersion, n.Matchers, n.Version, n.Addr)
	}
	_ = table.Flush()
	for _, warning := range s.Warnings {
		fmt.Fprintln(out, "WARNING:", warning)
	}
}

const (
	waitPoll = 500 * time.Millisecond
	// waitLooks is how many looks in a row must find nothing amiss. A node reports the last
	// answer that another node gave it. Right after a restart that answer may come from the
	// ended process, until the next question is answered or times out (650 ms).
	waitLooks = 3
	waitTold  = 10 * time.Second // Time between two lines that say what it waits for.
)

// newClusterWait is `railguard cluster wait`: it returns when the next node may be taken.
func newClusterWait() *cobra.Command {
	c := &client{}
	var node string
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "wait", Short: "Wait until a node is back and the next one may be taken down", Args: cobra.NoArgs,
		Long: `For whoever restarts, upgrades or replaces all nodes one after the other: it returns
when the node has its vote and all it needs (log, history, list), and every other node too,
so that the cluster survives the next one's absence, for three looks in a second. Ask a
node that stays up.`,
		Example: "  railguard cluster wait --node n2 --patience 10m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" {
				return usageError("--node is required (the node that was replaced or restarted)")
			}
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			var last string // What is still missing; "" when nothing is.
			well := 0       // How many looks in a row found nothing amiss.
			var told time.Time
			end := time.Now().Add(patience)
			for {
				data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/status"})
				refused := new(exitError)
				switch {
				case errors.As(err, &refused) && (refused.status == http.StatusUnauthorized || refused.status == http.StatusForbidden):
					return err // Waiting does not change that.
				case err != nil:
					last = err.Error()
				default:
					if last, err = waitsFor(data, node); err != nil {
						return err
					}
				}
				if well++; last != "" {
					well = 0
				}
				if well == waitLooks {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is back: the next node may be taken\n", node)
					return nil
				}
				if time.Now().After(end) || cmd.Context().Err() != nil {
					return fmt.Errorf("do not take another node down: %s", cmp.Or(last, "all is well only since a moment ago"))
				}
				if last != "" && time.Since(told) > waitTold {
					told = time.Now()
					fmt.Fprintln(cmd.ErrOrStderr(), "waiting:", last)
				}
				time.Sleep(waitPoll)
			}
		},
	}
	c.defineFlags(cmd, false)
	cmd.Flags().StringVar(&node, "node", "", "the node that was replaced or restarted (required)")
	cmd.Flags().DurationVar(&patience, "patience", 10*time.Minute, "how long to wait at most")
	return cmd
}

// newClusterAdmit is `railguard cluster admit`: it waits until the node asks, and admits it.
func newClusterAdmit() *cobra.Command {
	c := &client{}
	var addr, key, reason string
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "admit ID", Short: "Admit a node that asks to join",
		Long: `A node that is started with --join and an id that the cluster does not know waits until an
admin admits it. So does a member that comes back with an empty folder: its key is a new one, and
nobody can tell it from somebody who took its name. The nodes that form a cluster together need
nobody, nor does a member that comes back with its folder.

Each node logs its key at its start. With --node-key no other node is admitted in its place.`,
		Example: "  railguard serve --id n4 --join 10.0.0.1:8280 ...   # on its machine; its log has its key\n  railguard cluster admit n4 --node-key 6f1d0c55e2a94b17c0a84b10d3f5e296   # the API key needs the role admin",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("expected the node's ID")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			asked := map[string]string{"id": args[0]}
			if addr != "" {
				asked["addr"] = addr
			}
			if key != "" {
				asked["key"] = key
			}
			if reason != "" {
				asked["reason"] = reason
			}
			body, err := json.Marshal(asked)
			if err != nil {
				return err
			}
			for end, told := time.Now().Add(patience), false; ; told = true {
				_, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodPost, path: "/v1/cluster/admit", body: body})
				refused := new(exitError)
				switch {
				case err == nil:
					fmt.Fprintf(cmd.OutOrStdout(), "%s is admitted; it gets its vote when it has caught up\n", args[0])
					c.tellNodeKey(cmd, args[0])
					return nil
				case !errors.As(err, &refused) || refused.status != http.StatusNotFound || time.Now().After(end) || cmd.Context().Err() != nil:
					return err
				case !told:
					fmt.Fprintf(cmd.ErrOrStderr(), "waiting until %s asks to join\n", args[0])
				}
				time.Sleep(waitPoll)
			}
		},
	}
	c.defineFlags(cmd, false)
	cmd.Flags().StringVar(&addr, "addr", "", "its cluster address, where it was started without --join")
	cmd.Flags().StringVar(&key, "node-key", "", "the key that it must have, as its own log says")
	cmd.Flags().StringVar(&reason, "reason", "", "why: it stands in the leaf of the change")
	cmd.Flags().DurationVar(&patience, "patience", time.Minute, "how long to wait until it asks")
	return cmd
}

// tellNodeKey prints the key with which a node was admitted, so that a person can compare it.
func (c *client) tellNodeKey(cmd *cobra.Command, id string) {
	key := "the nodeKey in `railguard cluster status -o json`"
	var s report.ClusterStatus
	status, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/status"})
	if err == nil && json.Unmarshal(status, &s) == nil {
		for _, node := range s.Nodes {
			if node.ID == id && node.Key != "" {
				key = node.Key
			}
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "its key is %s: compare it with the line \"this node's key\" in its log\n", key)
}

// waitsFor says why the next node may not be taken down yet, according to a status; "": it
// may.
func waitsFor(status []byte, node string) (string, error) {
	var s report.ClusterStatus
	if err := json.Unmarshal(status, &s); err != nil {
		return "", fmt.Errorf("cluster status: %w", err)
	}
	for _, member := range s.Nodes {
		if member.ID != node {
			continue
		}
		if !s.TakeDown.OK {
			return strings.Join(s.TakeDown.Why, "; "), nil
		}
		return "", nil
	}
	return node + " is no member yet", nil
}
