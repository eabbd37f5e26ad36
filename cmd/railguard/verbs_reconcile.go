package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"railguard/audit/bundle"
	"railguard/audit/examine"
	"railguard/audit/reconcile"
	"railguard/audit/reconcile/formats"
	"railguard/engine"
	"railguard/httpapi/x402"
	"railguard/strictjson"
)

// findingsShown is how many findings people are shown; --findings has all.
const findingsShown = 50

type reconciliation struct {
	settings             reconcile.Settings
	from, to             string
	skew, within         time.Duration
	assets               []string
	export               string
	keysFile, policyFile string
	findingsFile, output string
	inJSON               bool
	tokens               []x402.Asset
}

// newReconcile is `railguard reconcile`: it needs no server.
func newReconcile() *cobra.Command {
	v := &reconciliation{}
	cmd := &cobra.Command{
		Use: "reconcile FILE...", Short: "Compare what a rail paid with what the log allowed, offline", GroupID: "compliance",
		Long: `Match the settlements of a rail's extract (FILE...) with the records of an audit
export, and tell what does not agree: paid without a record, although refused, twice,
after its leave had ended, to another account, another amount, and so on; and what was
allowed or said to be settled, and is not on the rail.

The export must verify with --keys, or nothing is compared. It should begin twice
--settle-within before --from, and the extract once: a payment just after --from may
have been allowed before, and one allowed just before may be paid after.

Formats: lines (a JSON object a line), camt053 (a bank's statement in XML), erc20 (logs of
eth_getLogs with blockTimestamp, with --network, or decoded), x402 (a facilitator's log).

Nothing here shows that the rail made the extract: the guarantee is conditional, and the
answer says on what. The same files give the same bytes, here and at POST /v1/reconciliations.

Exit codes: 0 no fault (there may be notices), 6 faults were found, 1 the export is not
proven, 5 it is of a newer release, 64 wrong flags, or a file that is no extract.`,
		Example: "  railguard audit export --from 2026-11-21 --to 2026-11-24 --file export.ndjson\n  railguard reconcile --rail USDC --from 2026-11-23 --to 2026-11-24 --export export.ndjson --keys keys.txt extract.ndjson",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("expected the FILE... of an extract")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.readFlags(cmd); err != nil {
				return err
			}
			return v.compare(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&v.settings.Rail, "rail", "", "rail of the extract: USDC, ACH, WIRE, SWIFT or IBAN (required)")
	flags.StringVar(&v.from, "from", "", "beginning of the time to reconcile (required)")
	flags.StringVar(&v.to, "to", "", "its end, excluded (required)")
	flags.StringVar(&v.settings.Payer, "payer", "", "only payments from this account: a wallet, iban:... or account:...")
	flags.StringVar(&v.settings.Format, "format", formats.Lines, "format of the files: lines, camt053, erc20 or x402")
	flags.StringVar(&v.settings.Network, "network", "", "CAIP-2 network of raw logs, e.g. eip155:8453")
	flags.StringSliceVar(&v.assets, "x402-assets", nil, "tokens worth a dollar, as NETWORK/ADDRESS/DECIMALS/CHAIN (default: USDC on Ethereum, Base and Solana)")
	flags.DurationVar(&v.skew, "skew", 5*time.Minute, "how far the clocks of rail and log may differ")
	flags.DurationVar(&v.within, "settle-within", 0, "how long a payment may take (default: 1h for USDC, else 120h)")
	flags.StringVar(&v.export, "export", "", "what audit export or audit bundle saved (required)")
	flags.StringVar(&v.keysFile, "keys", "", "file with the log's verifier keys (from GET /log/keys, received another way)")
	flags.StringVar(&v.policyFile, "policy", "", policyUsage)
	flags.StringVar(&v.findingsFile, "findings", "", "write all findings to this file, a JSON object a line (- is standard output)")
	flags.StringVarP(&v.output, "output", "o", "table", "table or json")
	flags.BoolVar(&v.inJSON, "json", false, "the same as --output json")
	return cmd
}

func (v *reconciliation) readFlags(cmd *cobra.Command) error {
	if v.inJSON {
		v.output = "json"
	}
	s := &v.settings
	var okFrom, okTo bool
	s.From, okFrom = strictjson.ParseTime(v.from)
	s.To, okTo = strictjson.ParseTime(v.to)
	s.Rail = strings.ToUpper(s.Rail)
	s.Skew, s.SettleWithin = engine.Time(v.skew), engine.Time(v.within)
	if !cmd.Flags().Changed("settle-within") {
		s.SettleWithin = reconcile.SettleWithinDefault(s.Rail)
	}
	switch {
	case v.output != "table" && v.output != "json":
		return usageError("--output must be table or json")
	case !slices.Contains([]string{"USDC", "ACH", "WIRE", "SWIFT", "IBAN"}, s.Rail):
		return usageError("--rail must be USDC, ACH, WIRE, SWIFT or IBAN")
	case !okFrom || !okTo:
		return usageError("--from and --to are required: times of ISO 8601, such as 2026-11-23 or 2026-11-23T12:00:00Z")
	case v.export == "":
		return usageError("--export is required: what `railguard audit export` saved")
	case v.keysFile == "" && v.policyFile == "":
		return usageError("--keys is required: without the log's keys nothing shows whose records these are")
	}
	if s.Format != formats.ERC20 && s.Format != formats.X402 {
		if len(v.assets) > 0 || s.Network != "" {
			return usageError("--network and --x402-assets belong to the formats erc20 and x402")
		}
		return nil
	}
	var err error
	if v.tokens, err = x402.ParseAssets(v.assets); err != nil {
		return usageError("--x402-assets: %w", err)
	}
	if len(v.tokens) == 0 {
		v.tokens = x402.Published
	}
	return nil
}

// options are what the reader of the format has to know. The assets become part of the settings.
func (v *reconciliation) options() formats.Options {
	o := formats.Options{Network: v.settings.Network, Payer: v.settings.Payer, From: v.settings.From, To: v.settings.To}
	for _, token := range v.tokens {
		asset := formats.Asset{Network: token.Network, Address: token.Address, Decimals: token.Decimals}
		o.Assets = append(o.Assets, asset)
		v.settings.Assets = append(v.settings.Assets, asset.CAIP())
	}
	return o
}

func (v *reconciliation) compare(cmd *cobra.Command, files []string) error {
	options := v.options()
	run, err := reconcile.New(v.settings)
	if err != nil {
		return usageError("%w", err)
	}
	reader, err := formats.NewReader(v.settings.Format, options, run)
	if err != nil {
		return usageError("%w", err)
	}
	if err := v.takeExport(run); err != nil {
		return err
	}
	for _, path := range files {
		if err := readExtract(run, reader, path); err != nil {
			return usageError("%s: %w", path, err)
		}
	}
	if err := reader.Close(); err != nil {
		return usageError("%w", err)
	}
	result, err := run.End()
	if err != nil {
		return err
	}
	if err := v.show(cmd.OutOrStdout(), result); err != nil {
		return err
	}
	if result.Faults > 0 {
		return &exitError{code: exitFaults, err: fmt.Errorf("faults were found: %d", result.Faults)}
	}
	return nil
}

// readExtract reads one file of an extract. Not - : a reconciliation may be asked for again.
func readExtract(run *reconcile.Run, reader *formats.Reader, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return run.ReadFile(file, reader.File)
}

// takeExport verifies an export and gives its records to a run.
func (v *reconciliation) takeExport(run *reconcile.Run) error {
	keys, err := readTrust(v.keysFile, v.policyFile)
	if err != nil {
		return err
	}
	path, forget, err := v.exportFile()
	if err != nil {
		return err
	}
	defer forget()
	file, forgetFile, err := openEvidence(path)
	if err != nil {
		return usageError("--export: %w", err)
	}
	defer forgetFile()
	refusal := &verification{}
	report, err := examine.File(file, examine.Options{Keys: keys, KeysGiven: true, Visit: func(r *examine.Record) error {
		return run.Leaf(r.Index, r.Stored())
	}})
	switch {
	case err != nil:
		return refusal.printRefusal(io.Discard, fmt.Errorf("--export: %w", err))
	case report.Kind != "export":
		return usageError("--export: a %s, not an export", report.Kind)
	case report.Selection():
		return usageError("--export: only the records of one agent or operator: what others were allowed would be taken for unscreened; export all")
	}
	run.Settings().Witnessed = report.Checkpoint.Quorum != "" || len(report.Checkpoint.Witnesses) > 0
	return run.Records(reconcile.Span{First: report.First, End: report.End, From: report.From, To: report.To})
}

// exportFile returns the path of the export, which an examiner's folder has inside.
func (v *reconciliation) exportFile() (path string, forget func(), err error) {
	nothing := func() {}
	if !isBundle(v.export) {
		return v.export, nothing, nil
	}
	if !strings.HasSuffix(v.export, bundle.Suffix) {
		return filepath.Join(v.export, bundle.RecordsName), nothing, nil
	}
	dir, err := os.MkdirTemp("", "railguard-bundle-*")
	if err != nil {
		return "", nothing, err
	}
	forget = func() { _ = os.RemoveAll(dir) }
	file, err := os.Open(v.export)
	if err == nil {
		defer file.Close()
		err = bundle.Unpack(file, dir)
	}
	if err != nil {
		forget()
		return "", nothing, usageError("--export: %w", err)
	}
	return filepath.Join(dir, bundle.RecordsName), forget, nil
}

// show prints a result, and writes its findings where they are asked for.
func (v *reconciliation) show(out io.Writer, result *reconcile.Result) error {
	summary := result.Summary()
	if v.output == "json" {
		fmt.Fprintf(out, "%s\n", summary)
	} else if err := printReconciliation(out, summary); err != nil {
		return err
	}
	if v.findingsFile == "-" {
		return result.WriteFindings(out)
	}
	if v.findingsFile != "" {
		file, err := os.OpenFile(v.findingsFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return usageError("--findings: %w", err)
		}
		return errors.Join(result.WriteFindings(file), file.Close())
	}
	if v.output == "json" {
		return nil
	}
	shown := &someFindings{out: tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)}
	if err := result.WriteFindings(shown); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return shown.end(out, result.Findings)
}

// printReconciliation prints a summary for people.
func printReconciliation(out io.Writer, summary []byte) error {
	var s struct {
		Rail, From, To string
		Records        struct{ Payments uint64 }
		Settlements    uint64
		Faults         uint64
		FindingsDigest string
		MatchedBy      map[string]struct {
			Count  uint64
			Amount string
		}
		Classes map[string]struct {
			Count  uint64
			Amount string
		}
		Because []string
	}
	if err := json.Unmarshal(summary, &s); err != nil {
		return err
	}
	word := "NO FAULT"
	if s.Faults > 0 {
		word = fmt.Sprintf("%d FAULT(S)", s.Faults)
	}
	fmt.Fprintf(out, "%s: %s from %s to %s: %d settlement(s) against %d record(s)\n", word, s.Rail, s.From, s.To, s.Settlements, s.Records.Payments)
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, way := range sortedKeys(s.MatchedBy) {
		fmt.Fprintf(table, "matched by %s\t%d\t%s USD\t\n", way, s.MatchedBy[way].Count, s.MatchedBy[way].Amount)
	}
	for _, fault := range []bool{true, false} {
		for _, name := range sortedKeys(s.Classes) {
			class, known := reconcile.ClassNamed(name)
			if !known || class.IsFault() != fault {
				continue
			}
			kind := "notice"
			if fault {
				kind = "FAULT"
			}
			fmt.Fprintf(table, "%s %s\t%d\t%s USD\t%s\n", kind, name, s.Classes[name].Count, s.Classes[name].Amount, class.Meaning())
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "findings: SHA-256 %s\n", s.FindingsDigest)
	for _, reason := range s.Because {
		fmt.Fprintln(out, "NOT shown: ", notShownBecause[reason])
	}
	return nil
}

// notShownBecause says in words what the guarantee depends on.
var notShownBecause = map[string]string{
	"extract_unauthenticated": "that the rail made these files: nothing in them is signed",
	"inferred":                "that what was matched by payee, amount and time alone is the same payment",
	"unwitnessed":             "that any witness saw the log's tree head: none was demanded (--policy)",
}

func sortedKeys[V any](of map[string]V) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var errEnough = errors.New("enough findings were shown")

// someFindings prints the first findings as a table.
type someFindings struct {
	out   *tabwriter.Writer
	shown uint64
}

func (s *someFindings) Write(data []byte) (int, error) {
	for line := range bytes.Lines(data) {
		if s.shown == findingsShown {
			return 0, errEnough
		}
		var f struct {
			Class, Settlement, Reason, Statement string
			TxnIDs                               []string
			More                                 int
		}
		if err := json.Unmarshal(line, &f); err != nil {
			return 0, err
		}
		if s.shown == 0 {
			fmt.Fprintln(s.out, "\nCLASS\tSETTLEMENT\tRECORDS")
		}
		s.shown++
		records := strings.Join(f.TxnIDs, " ")
		if f.More > 0 {
			records += fmt.Sprintf(" and %d more", f.More)
		}
		place := strings.TrimSpace(f.Settlement + f.Reason + " " + f.Statement)
		for _, cell := range []*string{&place, &records} {
			if *cell == "" {
				*cell = "-"
			}
		}
		fmt.Fprintf(s.out, "%s\t%s\t%s\n", f.Class, printableText(place), records)
	}
	return len(data), nil
}

func (s *someFindings) end(out io.Writer, all uint64) error {
	if err := s.out.Flush(); err != nil {
		return err
	}
	if s.shown < all {
		fmt.Fprintf(out, "and %d more: --findings FILE writes all\n", all-s.shown)
	}
	return nil
}
