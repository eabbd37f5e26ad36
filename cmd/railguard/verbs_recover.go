package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
)

type recoverFlags struct {
	source  recovery.Source
	peers   []string
	follow  string // recovery.json of the recovered survivor.
	order   recovery.Order
	output  string
	inJSON  bool
	changed bool // --confirm was given.
}

// newClusterRecover is `railguard cluster recover`: it works on a stopped node's
// folder and asks no server.
func newClusterRecover() *cobra.Command {
	f := &recoverFlags{}
	cmd := &cobra.Command{
		Use: "recover", Short: "A majority is lost for good: make a stopped survivor the whole cluster", Args: cobra.NoArgs,
		Long: `Only when the machines of most voters, and their disks, are gone for good. If one
of them can still be started, start it instead: nothing is lost then.

Without --confirm this only reads. It shows what the survivor's disk holds, which
entries at its end would be taken for committed though they may never have been,
and what may be lost: all that was acknowledged after its last entry. No disk can
tell whether there was any. Look at every survivor that is left, and recover from
the furthest one.

With --confirm it writes one membership entry, of this node alone, behind the last
one, after a copy of what it changes. Two people answer for it. The next start of
the node writes a leaf that tells all of this into the audit log, before anything
else. The other nodes, lost or not, must be fenced first and may only come back
wiped, with --join. See "A majority is lost" in docs/OPERATING.md.`,
		Example: `  railguard cluster recover --data /var/lib/railguard
  railguard cluster recover --data /var/lib/railguard --peer-index n4=88123/7
  railguard cluster recover --data /var/lib/railguard --confirm CLUSTER-ID \
      --by "Ada Smith" --second "Bob Jones" --reason "fire in hall 2, n1 and n3 are gone"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.changed = cmd.Flags().Changed("confirm")
			if err := f.checkFlags(); err != nil {
				return err
			}
			return f.runRecovery(cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.source.Dir, "data", "", "the survivor's data folder; its node must be stopped (required)")
	flags.StringVar(&f.source.ID, "id", "", "the survivor's node id, to be held against the folder")
	flags.StringArrayVar(&f.source.Compare, "compare", nil, "data folder of another survivor, stopped or copied (repeatable)")
	flags.StringArrayVar(&f.peers, "peer-index", nil, "where another survivor's log ends: NODE=INDEX/TERM, from its own output of this verb (repeatable)")
	flags.StringVar(&f.order.ClusterID, "confirm", "", "do it: the cluster's id, typed again")
	flags.StringVar(&f.order.By, "by", "", "who does it (with --confirm)")
	flags.StringVar(&f.order.Second, "second", "", "who else answers for it (with --confirm)")
	flags.StringVar(&f.order.Reason, "reason", "", "why, for the audit record (with --confirm)")
	flags.BoolVar(&f.order.ForceBehind, "force-behind", false, "although another survivor is further: what it has more is given up")
	flags.StringSliceVar(&f.order.Keep, "keep", nil, "other survivors that stay members with the folders they have; --follow does their side")
	flags.StringVar(&f.follow, "follow", "", "on a kept survivor: recovery.json of the one that was recovered (with --confirm)")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.BoolVar(&f.inJSON, "json", false, "the same as --output json")
	return cmd
}

func (f *recoverFlags) checkFlags() error {
	switch {
	case f.source.Dir == "":
		return usageError("--data is required (the stopped survivor's folder)")
	case f.output != "table" && f.output != "json":
		return usageError("--output must be table or json")
	case f.follow != "" && (!f.changed || f.order.By != "" || f.order.Second != "" || f.order.Reason != "" || f.order.ForceBehind || len(f.order.Keep) > 0):
		return usageError("--follow needs --confirm CLUSTER-ID and nothing else: the word was given where the other survivor was recovered")
	case f.follow == "" && f.changed && (f.order.By == "" || f.order.Second == "" || f.order.Reason == ""):
		return usageError("--confirm needs --by, --second (two different people) and --reason")
	case !f.changed && (f.order.By != "" || f.order.Second != "" || f.order.Reason != "" || f.order.ForceBehind || len(f.order.Keep) > 0):
		return usageError("--by, --second, --reason, --keep and --force-behind go with --confirm CLUSTER-ID; without it this verb only reads")
	}
	f.inJSON = f.inJSON || f.output == "json"
	f.source.Peers = nil
	for _, text := range f.peers {
		peer, err := recovery.ParseSurvivor(text)
		if err != nil {
			return usageError("--peer-index: %w", err)
		}
		f.source.Peers = append(f.source.Peers, peer)
	}
	return nil
}

func (f *recoverFlags) runRecovery(out io.Writer) error {
	var report *recovery.Report
	var err error
	switch {
	case f.follow != "":
		report, err = recovery.Follow(f.source, f.follow, f.order.ClusterID)
	case f.changed:
		report, err = recovery.Recover(f.source, f.order)
	default:
		report, err = recovery.Inspect(f.source)
	}
	if report != nil && (err == nil || errors.Is(err, recovery.ErrOrder)) {
		if f.inJSON {
			encoder := json.NewEncoder(out)
			encoder.SetIndent("", "  ")
			encoder.SetEscapeHTML(false)
			err = errors.Join(err, encoder.Encode(recoverAnswer{Changed: f.changed && err == nil, Report: report}))
		} else {
			printRecovery(out, report, f.changed && err == nil)
		}
	}
	return err
}

// recoverAnswer is the output of `railguard cluster recover` as JSON.
type recoverAnswer struct {
	Changed bool `json:"changed"`
	*recovery.Report
}

func printRecovery(out io.Writer, r *recovery.Report, changed bool) {
	fmt.Fprintf(out, "cluster %s, node %s, data folder %s\n", r.ClusterID, r.Node, r.Dir)
	if !changed {
		fmt.Fprintln(out, "Nothing was changed: this is what the disk tells.")
	}
	printMembers(out, r)
	printHeld(out, r)
	printUncertain(out, r)
	fmt.Fprintf(out, `
MAY BE LOST
  Whatever was acknowledged after the last entry above (behind index %d, after
  %s): verdicts, registrations, dispositions, revocations, spending
  counted. This disk cannot tell whether there was any.
`, r.LastIndex, r.LastTime)
	printSurvivors(out, r)
	for _, warning := range r.Warnings {
		fmt.Fprintln(out, "\nWARNING:", warning)
	}
	printOutcome(out, r, changed)
}

func printMembers(out io.Writer, r *recovery.Report) {
	fmt.Fprintf(out, "\nMEMBERS, as this disk knows them; recoveries so far: %d\n", r.Recoveries)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "  NODE\tVOTE\tADDRESS\t")
	for _, m := range r.Members {
		vote, self := "no", ""
		if m.Voter {
			vote = "yes"
		}
		if m.Self {
			self = "this survivor"
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", m.ID, vote, m.Addr, self)
	}
	_ = table.Flush()
}

func printHeld(out io.Writer, r *recovery.Report) {
	fmt.Fprintln(out, "\nKEPT")
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "  last entry\tindex %d, term %d\n", r.LastIndex, r.LastTerm)
	fmt.Fprintf(table, "  its time\t%s\n", r.LastTime)
	fmt.Fprintf(table, "  newest snapshot\tindex %d, term %d\n", r.SnapshotIndex, r.SnapshotTerm)
	fmt.Fprintf(table, "  committed\tat least up to index %d (by %s)\n", r.CommittedIndex, r.CommittedBy)
	fmt.Fprintf(table, "  audit log\t%d leaves, tree head %s\n", r.AuditLeaves, r.TreeHead)
	fmt.Fprintf(table, "  of these\t%d written to history here, %d missing\n", r.AuditOnDisk, r.AuditMissing)
	fmt.Fprintf(table, "  state digest\t%s\n", r.StateDigest)
	_ = table.Flush()
}

func printUncertain(out io.Writer, r *recovery.Report) {
	u := &r.Uncertain
	fmt.Fprintln(out, "\nTAKEN FOR COMMITTED, though it may never have been")
	if u.Entries == 0 {
		fmt.Fprintln(out, "  nothing")
		return
	}
	fmt.Fprintf(out, "  %d entries, index %d to %d, with %d audit leaves. Their callers were not necessarily answered.\n", u.Entries, u.First, u.Last, u.Leaves)
	if len(u.Listed) == 0 {
		return
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "  INDEX\tLEAF\tKIND\tID\tVERDICT\tTIME")
	for _, leaf := range u.Listed {
		fmt.Fprintf(table, "  %d\t%d\t%s\t%s\t%s\t%s\n", leaf.Index, leaf.Leaf, leaf.Kind, leaf.ID, leaf.Verdict, leaf.Time)
	}
	_ = table.Flush()
	if more := u.Leaves - uint64(len(u.Listed)); more > 0 {
		fmt.Fprintf(out, "  and %d more\n", more)
	}
}

func printSurvivors(out io.Writer, r *recovery.Report) {
	fmt.Fprintln(out, "\nSURVIVORS")
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "  NODE\tINDEX/TERM\tAPPLIED\tHISTORY\tLEAVES\tTREE HEAD\tFROM\t")
	mark := func(node string) string {
		if node == r.Furthest && len(r.Survivors) > 0 {
			return "the furthest"
		}
		return ""
	}
	for _, s := range append([]datadir.Survivor{r.Own}, r.Survivors...) {
		applied, written, leaves, head := "-", "-", "-", "-"
		if s.Leaves > 0 {
			applied, written, leaves, head = fmt.Sprint(s.Applied), fmt.Sprint(s.Written), fmt.Sprint(s.Leaves), s.Head[:16]
		}
		fmt.Fprintf(table, "  %s\t%d/%d\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Node, s.Index, s.Term, applied, written, leaves, head, s.From, mark(s.Node))
	}
	_ = table.Flush()
	if len(r.Survivors) == 0 {
		fmt.Fprintf(out, "  No other was named. If there is one, run this there too and compare: --peer-index %s=%d/%d\n", r.Node, r.LastIndex, r.LastTerm)
	}
}

// onlyOnce warns of a mistake that no check on one disk can prevent. Each recovery begins the
// epoch after the last one known on its disk, so two separate recoveries begin the same epoch.
const onlyOnce = `
WARNING: recover ONE survivor, once. Another one that is recovered by itself becomes a
second cluster, which gives out the same ids and credentials for other agents and
payments. Wipe it and let it --join, or name it with --keep before.
`

// printOutcome prints what was done, or what to do next.
func printOutcome(out io.Writer, r *recovery.Report, changed bool) {
	switch {
	case changed && r.Earlier.Node != r.Node:
		fmt.Fprintf(out, "\nDONE: %s follows the recovery of %s (recovery %d, lineage %s). Start it as before.\n", r.Node, r.Earlier.Node, r.Earlier.Recovery, r.Earlier.Lineage)
	case changed:
		whole := r.Node + " alone is the cluster now"
		if len(r.Earlier.Kept) > 0 {
			whole = fmt.Sprintf("%s and %s are the cluster now", r.Node, strings.Join(r.Earlier.Kept, ", "))
		}
		fmt.Fprintf(out, `
DONE: %s (recovery %d, lineage %s).
  A copy of what was changed is in %s; it holds secrets and personal data.
  1. Make sure that the old nodes are fenced: stopped, and out of reach of callers.
  2. Start this node as before. Its first record is the leaf that tells of this.
  3. Wipe the old nodes' folders (or take new machines) and start them with --join.
%s`, whole, r.Earlier.Recovery, r.Earlier.Lineage, r.Earlier.Backup, onlyOnce)
		if len(r.Earlier.Kept) > 0 {
			fmt.Fprintf(out, "  Before 2, on each that is kept, with %s/recovery.json copied there:\n  railguard cluster recover --data DIR --follow recovery.json --confirm %s\n", r.Dir, r.ClusterID)
		}
	case len(r.Problems) > 0:
		for _, problem := range r.Problems {
			fmt.Fprintln(out, "\nCANNOT BE RECOVERED FROM HERE:", problem)
		}
	case r.Behind:
		fmt.Fprintf(out, "\nRECOVER FROM %s: it is further. What it has more would be given up here (--force-behind).\n", r.Furthest)
	default:
		fmt.Fprintf(out, `
NEXT, if the majority is gone for good
  1. Fence the lost nodes: power off, network cut, out of every load balancer.
  2. railguard cluster recover --data %s --confirm %s --by NAME --second NAME --reason TEXT
%s`, r.Dir, r.ClusterID, onlyOnce)
	}
}
