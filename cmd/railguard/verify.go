package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"railguard/audit/examine"
)

type verification struct {
	keysFile, output   string
	policyFile         string
	headFile, pathFile string
	quiet, show        bool
}

// newVerify is `railguard verify`: it needs no server and imports none.
func newVerify() *cobra.Command {
	v := &verification{}
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Prove a record or an export offline, without any server", GroupID: "compliance",
		Long: `Check that every record in FILE is a leaf of the log whose tree head the
cluster signed, and that an export is whole: nothing removed, repeated, moved,
added or relabelled. FILE is what ` + "`railguard audit proof`" + ` or
` + "`railguard audit export`" + ` saved ("-" is standard input), or an examiner's folder or
.tar.zst (` + "`railguard audit bundle`" + `): then every file is proven and each decision made again.

An export of everything is a range: its records are numbered without a gap, and
the tree proves it. An export of one agent is a selection: the numbers of the
leaves about the agent prove that none is missing.

A C2SP tlog-proof (` + "`railguard audit proof --tlog`" + `) holds no keys: give --keys. A
witness's verifier key among them demands its signature, and --policy a quorum of witnesses.

Without --keys the verifier keys inside the file are used, which anybody can have made. Then
nothing is proven: verify says CONSISTENT, WHOSE LOG IS NOT SHOWN and ends with 4. Get the keys
another way (GET /log/keys, once), or compare their fingerprint.

The first line says "later: not shown": whatever was written behind the file's tree head, or
after an export's time, no file can show.

After the log's keys were replaced because somebody stole them, the thief can still sign trees of
the sizes that were theirs. --head gives the newest checkpoint (` + "`railguard log checkpoint`" + `):
then the file's tree must be of the same log, shown by --head-proof.

A file may be indented, ordered or escaped otherwise than it was saved: what it says is
compared by value. A record is held to the rule set that it was judged by, whichever release
showed it; one of a rule set that this program does not know is neither proven nor altered.

Exit codes: 0 proven, 1 not proven, 64 not readable, or wrong flags or keys, 4 consistent, but
without --keys nothing shows whose log it is, 5 rendered by a release that this program does
not know: verify with one that is as new.`,
		Example: "  railguard audit proof txn_1a2B3c4D > proof.json\n  railguard verify proof.json --keys keys.txt\n  railguard verify march.ndjson --keys keys.txt --show",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("expected one FILE (or - for standard input), or a bundle")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.headFile != "" && v.keysFile == "" && v.policyFile == "" || v.pathFile != "" && v.headFile == "" {
				return usageError("--head needs --keys, and --head-proof needs --head")
			}
			return v.verifyFile(cmd, args[0])
		},
	}
	cmd.Flags().StringVar(&v.keysFile, "keys", "", "file with the log's verifier keys (from GET /log/keys, received another way)")
	cmd.Flags().StringVar(&v.policyFile, "policy", "", policyUsage)
	cmd.Flags().StringVar(&v.headFile, "head", "", "file with the log's newest checkpoint, received another way: the file's tree and it must continue one another")
	cmd.Flags().StringVar(&v.pathFile, "head-proof", "", "file with the proof of that, what GET /log/consistency answers for both sizes; not needed for equal ones")
	cmd.Flags().BoolVar(&v.show, "show", false, "print the records too (a proof's always are)")
	cmd.Flags().StringVarP(&v.output, "output", "o", "table", "table or json")
	cmd.Flags().BoolVarP(&v.quiet, "quiet", "q", false, "print nothing but the verdict")
	return cmd
}

func (v *verification) verifyFile(cmd *cobra.Command, path string) error {
	if v.output != "table" && v.output != "json" {
		return usageError("--output must be table or json")
	}
	if isBundle(path) {
		return v.verifyBundle(cmd, path)
	}
	options := examine.Options{}
	if v.keysFile != "" && v.policyFile == "" {
		data, err := os.ReadFile(v.keysFile)
		if err != nil {
			return usageError("--keys: %w", err)
		}
		options.Keys, options.KeysGiven = string(data), true
	} else if v.policyFile != "" {
		keys, err := readTrust(v.keysFile, v.policyFile)
		if err != nil {
			return err
		}
		options.Keys, options.KeysGiven = keys, true
	}
	file, forget, err := openEvidence(path)
	if err != nil {
		return usageError("%w", err)
	}
	defer forget()
	report, err := examine.File(file, options)
	if err == nil {
		err = v.demandHead(&report)
	}
	if err != nil {
		return v.printRefusal(cmd.OutOrStdout(), err)
	}
	if v.output == "json" {
		err = v.printJSON(cmd.OutOrStdout(), file, options, &report)
	} else if printReport(cmd.OutOrStdout(), &report, v.quiet); !v.quiet && (v.show || report.Kind == "proof") {
		err = printRecords(cmd.OutOrStdout(), file, options)
	}
	if err != nil {
		return err
	}
	return nameNobody(&report)
}

// demandHead compares a file's tree with the head that was given, if one was.
func (v *verification) demandHead(r *examine.Report) error {
	if v.headFile == "" {
		return nil
	}
	signed, err := os.ReadFile(v.headFile)
	if err != nil {
		return fmt.Errorf("%w: --head: %w", examine.ErrFormat, err)
	}
	var path []byte
	if v.pathFile != "" {
		if path, err = os.ReadFile(v.pathFile); err != nil {
			return fmt.Errorf("%w: --head-proof: %w", examine.ErrFormat, err)
		}
	}
	return r.DemandHead(signed, path)
}

// nameNobody returns the error of a file that was verified with no keys but its own, which anybody
// can have made.
func nameNobody(r *examine.Report) error {
	if r.KeysGiven {
		return nil
	}
	return &exitError{code: exitWarn, err: errors.New("nothing shows whose log this is: give --keys with keys that you got another way")}
}

// openEvidence opens a file so that it can be read twice, because records are shown only after
// all of it is proven. It copies standard input and pipes to a temporary file.
func openEvidence(path string) (file *os.File, forget func(), err error) {
	source := os.Stdin
	if path != "-" {
		if source, err = os.Open(path); err != nil {
			return nil, nil, err
		}
		if info, err := source.Stat(); err == nil && info.Mode().IsRegular() {
			return source, func() { _ = source.Close() }, nil
		}
		defer source.Close()
	}
	file, err = os.CreateTemp("", "railguard-verify-*")
	if err != nil {
		return nil, nil, err
	}
	forget = func() { _ = file.Close(); _ = os.Remove(file.Name()) }
	if _, err = io.Copy(file, source); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		forget()
	}
	return file, forget, err
}

// short says which witnesses of a quorum signed, and what is wanted.
type short struct {
	Have    []string `json:"have"`
	Need    string   `json:"need"`
	Missing []string `json:"missing"`
}

// printRefusal says why a file proves nothing.
func (v *verification) printRefusal(out io.Writer, err error) error {
	code := exitFailed
	switch {
	case errors.Is(err, examine.ErrRelease):
		code = exitNewer
	case errors.Is(err, examine.ErrFormat) || errors.Is(err, examine.ErrKeys):
		code = exitUsage
	}
	if v.output == "json" {
		verdict := struct {
			Proven bool   `json:"proven"`
			Agrees bool   `json:"consistent"`
			Newer  bool   `json:"newerRelease,omitempty"` // Neither proven nor altered.
			Error  string `json:"error"`
			Line   int    `json:"line,omitempty"`
			Quorum *short `json:"quorum,omitempty"`
		}{Newer: code == exitNewer, Error: err.Error()}
		var placed *examine.LineError
		if errors.As(err, &placed) {
			verdict.Line = placed.Line
		}
		if few := (*examine.QuorumError)(nil); errors.As(err, &few) {
			verdict.Quorum = &short{Have: append([]string{}, few.Have...), Need: few.Need, Missing: few.Missing}
		}
		_ = json.NewEncoder(out).Encode(verdict)
	}
	return &exitError{code: code, err: err}
}

func printReport(out io.Writer, r *examine.Report, quiet bool) {
	fmt.Fprintln(out, printableText(r.Headline()))
	if quiet {
		return
	}
	if r.Kind == "export" {
		gaps := "none"
		if r.Selection() {
			gaps = fmt.Sprintf("%d leaves of the range are not of the selection", r.Gaps())
		}
		fmt.Fprintf(out, "leaves from %d to before %d; gaps: %s\n", r.First, r.End, gaps)
	}
	for _, sentence := range r.Shown() {
		fmt.Fprintln(out, "shown:     ", printableText(sentence))
	}
	for _, sentence := range r.NotShown() {
		fmt.Fprintln(out, "NOT shown: ", printableText(sentence))
	}
	whose := "from the file itself"
	if r.KeysGiven {
		whose = "given by you"
	}
	if r.Keys != "" {
		fmt.Fprintf(out, "verifier keys %s, %s\n", r.Fingerprint(), whose)
	}
}

// readAgain reads a proven file once more and calls visit with its records.
func readAgain(file *os.File, options examine.Options, visit func(*examine.Record) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	options.Visit = visit
	_, err := examine.File(file, options)
	return err
}

// recordsAligned is how many rows of records share their column widths, so that a table of
// millions of rows is not held in memory.
const recordsAligned = 256

func printRecords(out io.Writer, file *os.File, options examine.Options) error {
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "LEAF\tTIME\tEVENT\tTXN\tVERDICT\tRULE\tAGENT\tAMOUNT\tDISPOSITION")
	rows := 0
	err := readAgain(file, options, func(r *examine.Record) error {
		agent := r.AgentName
		if agent == "" {
			agent = r.AgentID
		}
		cells := []string{fmt.Sprint(r.Index), r.Time, r.Kind, r.TxnID, r.Verdict, r.Rule, agent, r.Amount, r.Disposition}
		for i := range cells {
			if cells[i] == "" {
				cells[i] = "-"
			}
			cells[i] = printableText(cells[i])
		}
		if rows++; rows%recordsAligned == 0 {
			_ = table.Flush()
		}
		_, err := fmt.Fprintln(table, strings.Join(cells, "\t"))
		return err
	})
	if err != nil {
		return err
	}
	return table.Flush()
}

// printJSON writes the report as one object. With --show, and for a proof, its records come
// first.
func (v *verification) printJSON(out io.Writer, file *os.File, options examine.Options, r *examine.Report) error {
	fmt.Fprint(out, `{`)
	if v.show || r.Kind == "proof" {
		fmt.Fprint(out, `"records":[`)
		comma := ""
		err := readAgain(file, options, func(r *examine.Record) error {
			data, err := json.Marshal(r)
			if err == nil {
				_, err = fmt.Fprintf(out, "%s\n%s", comma, data)
			}
			comma = ","
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprint(out, "],\n")
	}
	report, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", report[1:])
	return err
}
