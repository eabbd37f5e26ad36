package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/report"
)

func newClusterUpgrade() *cobra.Command {
	cmd := &cobra.Command{
		Use: "upgrade", Short: "Upgrade a cluster node by node: what to do next, and the last step",
		Long: `A release is rolled out node by node, under load: followers first, the leader last. As long
as not every node is upgraded, and until ` + "`finalize`" + `, all nodes compute as the old
release does, and going back is free: start the old binary again. ` + "`finalize`" + ` raises the
format; from then on the old release does not start on these folders any more.`,
		RunE: helpOnly,
	}
	cmd.AddCommand(newUpgradePlan(), newUpgradeStatus(), newUpgradeFinalize())
	return cmd
}

// upgrade is one run of a verb of `railguard cluster upgrade`.
type upgrade struct {
	client
	to, backups, confirm, reason, by string
	maxAge                           time.Duration

	status report.ClusterStatus
}

func (u *upgrade) defineFlags(cmd *cobra.Command) {
	u.client.defineFlags(cmd, false)
	cmd.Flags().StringVar(&u.to, "to", version, "the release to upgrade to (default: this program's, or the newest that a member runs)")
}

func (u *upgrade) lookAtCluster(cmd *cobra.Command) error {
	if err := u.findServer(cmd, false); err != nil {
		return err
	}
	if err := u.refreshStatus(cmd); err != nil {
		return err
	}
	return u.settleTarget(cmd.Flags().Changed("to"))
}

// settleTarget makes the newest release that a member runs the target, unless one was named. The
// program of an older release gives no advice then: it would tell upgraded nodes to go back.
func (u *upgrade) settleTarget(named bool) error {
	newest, of := u.to, ""
	for _, n := range u.status.Nodes {
		if compareReleases(n.Version, newest) > 0 {
			newest, of = n.Version, n.ID
		}
	}
	if of == "" || named {
		return nil
	}
	u.to = newest
	if compareReleases(version, newest) < 0 {
		return fmt.Errorf("this program is of release %s, and %s runs %s: ask with the program of that release (to go back to an older one, name it with --to)", version, of, newest)
	}
	return nil
}

// compareReleases compares semantic versions: below 0 if a is older. A release comes after its
// candidates (1.2.0-rc1), and what is no version before all.
func compareReleases(a, b string) int {
	aNumbers, aRest := splitRelease(a)
	bNumbers, bRest := splitRelease(b)
	if order := slices.Compare(aNumbers, bNumbers); order != 0 || aRest == bRest {
		return order
	}
	switch {
	case aRest == "":
		return 1
	case bRest == "":
		return -1
	}
	return strings.Compare(aRest, bRest)
}

func splitRelease(text string) (numbers []int, rest string) {
	text, rest, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	text, _, _ = strings.Cut(text, "+")
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, rest
		}
		numbers = append(numbers, n)
	}
	return numbers, rest
}

func (u *upgrade) refreshStatus(cmd *cobra.Command) error {
	data, err := u.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/cluster/status"})
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &u.status)
}

// upgradeOrder returns the nodes still to be upgraded: followers first, the leader last.
func (u *upgrade) upgradeOrder() (nodes []string) {
	leader := ""
	for _, n := range u.status.Nodes {
		switch {
		case n.Version == u.to:
		case u.status.Leader != nil && n.ID == u.status.Leader.ID:
			leader = n.ID
		default:
			nodes = append(nodes, n.ID)
		}
	}
	if leader != "" {
		nodes = append(nodes, leader)
	}
	return nodes
}

// leastFormat returns the highest format that every member supports; 0 if one does not answer.
func (u *upgrade) leastFormat() uint16 {
	least := u.status.MaxLevel
	for _, n := range u.status.Nodes {
		if n.Role == "unreachable" {
			return 0
		}
		least = min(least, n.FormatMax)
	}
	return least
}

// listHindrances returns why no node should be taken down now.
func (u *upgrade) listHindrances() []string {
	s := &u.status
	why := append([]string(nil), s.TakeDown.Why...)
	if !s.TakeDown.OK && len(why) == 0 {
		why = append(why, "the cluster says that no node may be taken down now")
	}
	if s.Quorum.Voters > 1 && s.Quorum.FailureTolerance == 0 {
		why = append(why, fmt.Sprintf("%d of %d voters are healthy: the loss of one more stops it", s.Quorum.Healthy, s.Quorum.Voters))
	}
	if s.Writes.State != "ok" {
		why = append(why, "writes: "+s.Writes.State)
	}
	return why
}

// nextStep returns one sentence that says what to do now.
func (u *upgrade) nextStep() string {
	order, why := u.upgradeOrder(), u.listHindrances()
	switch {
	case len(order) > 0 && len(why) > 0:
		return "wait: " + strings.Join(why, "; ")
	case len(order) > 0:
		return fmt.Sprintf("next: stop %s in order, replace its binary, start it, then railguard cluster wait --node %s", order[0], order[0])
	case u.leastFormat() > u.status.FeatureLevel:
		return "last: railguard cluster upgrade finalize"
	}
	return "done: every node runs " + u.to + ", and the format in force is its own"
}

func newUpgradePlan() *cobra.Command {
	u := &upgrade{}
	cmd := &cobra.Command{
		Use: "plan", Short: "Say whether an upgrade may begin, and in which order", Args: cobra.NoArgs,
		Long: `Look at the cluster and say whether an upgrade to a release may begin or go on, in which
order, and how each step is done. It changes nothing.

Exit codes: 0 it may, 1 it may not, and why.`,
		Example: "  railguard cluster upgrade plan --backups /backups",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.lookAtCluster(cmd); err != nil {
				return err
			}
			why := u.listHindrances()
			if u.backups != "" {
				if path, at, err := newestBackup(u.backups); err != nil {
					why = append(why, err.Error())
				} else if age := time.Since(at); age > u.maxAge {
					why = append(why, fmt.Sprintf("the newest backup, %s, is %s old: take one first", path, age.Round(time.Minute)))
				}
			}
			if err := u.showPlan(cmd.OutOrStdout(), why); err != nil {
				return err
			}
			if len(why) > 0 {
				return errors.New("do not begin: " + strings.Join(why, "; "))
			}
			return nil
		},
	}
	u.defineFlags(cmd)
	cmd.Flags().StringVar(&u.backups, "backups", "", "directory of backups: the newest must be young enough")
	cmd.Flags().DurationVar(&u.maxAge, "max-age", backupAgeMax, "how old it may be")
	return cmd
}

func (u *upgrade) showPlan(out io.Writer, why []string) error {
	order := u.upgradeOrder()
	if u.output == "json" {
		return printJSON(out, map[string]any{"to": u.to, "order": append([]string{}, order...), "may": len(why) == 0, "why": append([]string{}, why...), "format": u.status.FeatureLevel})
	}
	fmt.Fprintf(out, "cluster %s: %d nodes, format %d; to release %s\n", u.status.ClusterID, len(u.status.Nodes), u.status.FeatureLevel, u.to)
	if len(order) == 0 {
		_, err := fmt.Fprintln(out, u.nextStep())
		return err
	}
	fmt.Fprintf(out, "order: %s (the leader last)\n\n", strings.Join(order, ", "))
	_, err := fmt.Fprint(out, `for each, and no two at once:
  1. on its machine: replace the binary, then systemctl restart railguard. It leaves in
     order: not ready first, leadership handed on, calls served for --grace, then it ends.
  2. railguard cluster wait --node ID      # returns when the next one may be taken
when all are done: railguard cluster upgrade status, then finalize. Until then going back
is the same with the old binary; afterwards there is no way back but a backup.

`)
	for _, one := range why {
		fmt.Fprintln(out, "NOT NOW:", one)
	}
	return err
}

func newUpgradeStatus() *cobra.Command {
	u := &upgrade{}
	cmd := &cobra.Command{
		Use: "status", Short: "Show how far an upgrade is, and the next step", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.lookAtCluster(cmd); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if u.output == "json" {
				return printJSON(out, map[string]any{
					"to": u.to, "left": append([]string{}, u.upgradeOrder()...), "format": u.status.FeatureLevel, "allKnow": u.leastFormat(),
					"takeDown": u.status.TakeDown, "next": u.nextStep(), "nodes": u.status.Nodes,
				})
			}
			table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(table, "NODE\tROLE\tRELEASE\tKNOWS FORMAT\tUPGRADED\tHEALTHY")
			for _, n := range u.status.Nodes {
				fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", n.ID, n.Role, n.Version, n.FormatMax, yesOrNo(n.Version == u.to), yesOrNo(n.Healthy))
			}
			if err := table.Flush(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(out, "format in force: %d\n%s\n", u.status.FeatureLevel, u.nextStep())
			return err
		},
	}
	u.defineFlags(cmd)
	return cmd
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "NO"
}

func newUpgradeFinalize() *cobra.Command {
	u := &upgrade{}
	cmd := &cobra.Command{
		Use: "finalize", Short: "The last step: all nodes compute by the next format, for good", Args: cobra.NoArgs,
		Long: `Raise the format by one, on all nodes at one log index. Afterwards a node of the old
release stops and does not start again on its folder (exit code 70), and there is no way back but a
backup. It is refused while a member does not answer or does not know the format.

It asks for the cluster's id, or takes it by --confirm.`,
		Example: `  railguard cluster upgrade finalize --confirm cl_7a4cfc0ec8f5eafc --reason "release 0.3.0" --by ada`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := u.lookAtCluster(cmd); err != nil {
				return err
			}
			to := u.status.FeatureLevel + 1
			if least := u.leastFormat(); least < to {
				if order := u.upgradeOrder(); len(order) > 0 || least == 0 {
					return fmt.Errorf("format %d is in force, and not every member knows %d: %s", u.status.FeatureLevel, to, u.nextStep())
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing to do:", u.nextStep())
				return err
			}
			if err := u.askConfirmation(cmd, to); err != nil {
				return err
			}
			body, err := json.Marshal(map[string]any{"to": to, "reason": u.reason, "actor": u.by})
			if err != nil {
				return err
			}
			data, err := u.fetchAnswer(cmd.Context(), &call{method: http.MethodPost, path: "/v1/cluster/format", body: body})
			if err != nil {
				return err
			}
			return showAnswer(cmd.OutOrStdout(), data, u.output, nil)
		},
	}
	u.defineFlags(cmd)
	cmd.Flags().StringVar(&u.confirm, "confirm", "", "the cluster's id, typed; asked for otherwise")
	cmd.Flags().StringVar(&u.reason, "reason", "", "why, for the audit record")
	cmd.Flags().StringVar(&u.by, "by", "", "who decides")
	return cmd
}

func (u *upgrade) askConfirmation(cmd *cobra.Command, to uint16) error {
	given := u.confirm
	if given == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "Format %d becomes format %d, and no release before this one can read it. This cannot be taken back.\nType the cluster's id (%s) to go on: ", u.status.FeatureLevel, to, u.status.ClusterID)
		line, _ := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 1024)).ReadString('\n')
		given = strings.TrimSpace(line)
	}
	if given != u.status.ClusterID {
		return usageError("not confirmed: type %s, or give --confirm %s", u.status.ClusterID, u.status.ClusterID)
	}
	return nil
}
