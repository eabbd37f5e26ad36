package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"railguard/audit/bundle"
	"railguard/audit/bundle/judge"
	"railguard/audit/note"
)

type auditBundle struct {
	exportRun
	out, witnesses string
}

func newAuditBundle() *cobra.Command {
	b := &auditBundle{}
	cmd := &cobra.Command{
		Use: "bundle", Short: "Write an examiner's folder: decisions, proofs, lists and policies in force, a page that judges them again, words how to check it", Args: cobra.NoArgs,
		Long: `Write a folder (or one .tar.zst) that an examiner can check years later without a
server: the records of a time with their proofs, the lists and policies they were
judged with, the log's keys, its newest checkpoint with the witnesses' signatures, a
page (index.html) that proves all of it and makes each decision again in a browser,
without a network, README.txt, and checksums. The page begins with the same bytes in
every bundle of a release; their SHA-256 is printed, and published with the release.

` + "`railguard verify`" + ` proves it file by file and makes each decision again with the list
in it. It is whole when this command ends with 0; what was begun is called .part.

Exit codes: 0 whole, 1 refused, 64 wrong flags, 3 broken off or not reachable.`,
		Example: "  railguard audit bundle --from 2026-05-01T00:00:00Z --to 2026-05-31T23:59:59.999Z --out may.tar.zst\n  railguard verify may.tar.zst --keys keys.txt",
		RunE:    func(cmd *cobra.Command, _ []string) error { return b.makeBundle(cmd) },
	}
	b.defineFlags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&b.asked.From, "from", "", "from this time on (default: all 90 days)")
	flags.StringVar(&b.asked.To, "to", "", "up to this time")
	flags.StringVar(&b.asked.Agent, "agent", "", "only what is of this agent")
	flags.StringVar(&b.out, "out", "", "the folder to write, or a file that ends in "+bundle.Suffix+"; must not exist (required)")
	flags.StringVar(&b.witnesses, "witness-keys", "", "file with witnesses' verifier keys, to go with their signatures")
	return cmd
}

func (b *auditBundle) makeBundle(cmd *cobra.Command) error {
	b.out = strings.TrimSuffix(b.out, "/")
	if b.out == "" {
		return usageError("--out is required (the folder to write, or a file ending in %s)", bundle.Suffix)
	}
	if _, err := os.Stat(b.out); err == nil {
		return usageError("--out: %s exists", b.out)
	}
	if err := b.findServer(cmd, false); err != nil {
		return err
	}
	return b.writeBundle(cmd)
}

// writeBundle writes the bundle. What an earlier run left is begun anew.
func (b *auditBundle) writeBundle(cmd *cobra.Command) error {
	b.asked.Format = "ndjson"
	b.readAsStream()
	dir := b.out + ".part"
	if err := clearBegun(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, bundle.ListFolder), 0o755); err != nil {
		return usageError("--out: %w", err)
	}
	b.path = filepath.Join(dir, bundle.RecordsName)
	if err := b.toFile(cmd); err != nil {
		return err
	}
	if err := b.keepAnswer(cmd, "/log/keys", filepath.Join(dir, bundle.KeysName)); err != nil {
		return err
	}
	lists, size, err := bundle.RequiredLists(dir)
	if err != nil {
		return err
	}
	for _, digest := range lists {
		if err := b.keepAnswer(cmd, "/v1/ofac/"+digest+"/entities", filepath.Join(dir, bundle.ListFolder, digest+bundle.ListSuffix)); err != nil {
			return fmt.Errorf("the list %s: %w", digest, err)
		}
	}
	if err := errors.Join(b.keepCosigned(cmd, dir, size), b.keepPolicy(cmd, dir)); err != nil {
		return err
	}
	madeBy, err := nameProgram()
	if err != nil {
		return err
	}
	page := judge.Page()
	if err := bundle.Finish(dir, madeBy, page); err != nil {
		return err
	}
	if page == nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "index.html judges nothing: this program was built without the second judge")
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "index.html begins with the second judge, the %d bytes of railguard-%s-judge.html with the SHA-256 %s\n", len(page), version, judge.Digest())
	}
	return b.deliverBundle(cmd, dir)
}

// nameProgram returns the version and the digest of this program.
func nameProgram() (bundle.Program, error) {
	path, err := os.Executable()
	if err != nil {
		return bundle.Program{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return bundle.Program{}, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return bundle.Program{Version: version, Digest: hex.EncodeToString(hash.Sum(nil))}, err
}

// clearBegun removes from a folder what an earlier run left, because lists and policies of
// another time must not be in it. A file that no run writes belongs to somebody else and is an
// error.
func clearBegun(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		begun := strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(name), ".json"), ".part")
		if !bundle.IsBundleFile(filepath.ToSlash(name)) && !bundle.IsBundleFile(begun) {
			return usageError("--out: %s is of no bundle that was begun: remove it, or choose another name", path)
		}
		return os.Remove(path)
	})
}

// keepAnswer saves an answer to a file. If it breaks off, it asks the next address.
func (b *auditBundle) keepAnswer(cmd *cobra.Command, path, file string) (err error) {
	for range b.url {
		var settled bool
		if settled, err = b.keepOnce(cmd, path, file); settled || err == nil || cmd.Context().Err() != nil {
			return err
		}
		b.at = (b.at + 1) % len(b.url)
	}
	return err
}

// keepOnce saves an answer to a file. settled reports that no other address would help.
func (b *auditBundle) keepOnce(cmd *cobra.Command, path, file string) (settled bool, err error) {
	response, err := b.openAnswer(cmd.Context(), &call{method: http.MethodGet, path: path})
	if err != nil {
		return true, err // openAnswer has asked all addresses.
	}
	defer response.Body.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return true, err
	}
	n, err := io.Copy(out, response.Body)
	if err == nil && response.ContentLength >= 0 && n != response.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return false, errors.Join(err, out.Close())
}

// keepCosigned saves the newest checkpoint that witnesses signed, if there is one that covers
// the records, and the proof that it continues the checkpoint of the records.
func (b *auditBundle) keepCosigned(cmd *cobra.Command, dir string, size uint64) error {
	file := filepath.Join(dir, bundle.CosignedName)
	var coded *exitError
	err := b.keepAnswer(cmd, "/log/cosigned", file)
	if errors.As(err, &coded) && coded.status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	signed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	point, err := note.Parse(signed)
	if err != nil {
		return err
	}
	if point.Size < size { // It is older than the records and proves nothing about them.
		fmt.Fprintln(cmd.ErrOrStderr(), "the newest cosigned checkpoint is older than these records: left out")
		return os.Remove(file)
	}
	if point.Size > size {
		if err := b.keepAnswer(cmd, fmt.Sprintf("/log/consistency/%d/%d", size, point.Size), filepath.Join(dir, bundle.ConsistencyName)); err != nil {
			return err
		}
	}
	if b.witnesses == "" {
		return nil
	}
	keys, err := os.ReadFile(b.witnesses)
	if err == nil {
		err = note.CheckCosigners(string(keys))
	}
	if err != nil {
		return usageError("--witness-keys: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, bundle.WitnessesName), keys, 0o644)
}

// keepPolicy saves the log's own policy of witnesses, if it has one.
func (b *auditBundle) keepPolicy(cmd *cobra.Command, dir string) error {
	err := b.keepAnswer(cmd, "/log/policy", filepath.Join(dir, bundle.PolicyName))
	if coded := new(exitError); errors.As(err, &coded) && coded.status == http.StatusNotFound {
		return nil // It has none, or is of a release that does not show it.
	}
	return err
}

// deliverBundle renames the folder to its final name, or packs it.
func (b *auditBundle) deliverBundle(cmd *cobra.Command, dir string) error {
	if !strings.HasSuffix(b.out, bundle.Suffix) {
		if err := os.Rename(dir, b.out); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), b.out)
		return nil
	}
	packing := b.out + ".packing" // A temporary name, so that even if this run is killed only a complete file has the final one.
	file, err := os.OpenFile(packing, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(bundle.Pack(dir, file), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(packing))
	}
	if err := os.Rename(packing, b.out); err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), b.out)
	return os.RemoveAll(dir)
}

// isBundle reports whether a path is an examiner's folder, packed or not.
func isBundle(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() || strings.HasSuffix(path, bundle.Suffix)
}

// verifyBundle verifies an examiner's folder without a server.
func (v *verification) verifyBundle(cmd *cobra.Command, path string) error {
	keys := ""
	if v.keysFile != "" || v.policyFile != "" {
		var err error
		if keys, err = readTrust(v.keysFile, v.policyFile); err != nil {
			return err
		}
	}
	if strings.HasSuffix(path, bundle.Suffix) {
		dir, err := os.MkdirTemp("", "railguard-bundle-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file, err := os.Open(path)
		if err != nil {
			return usageError("%w", err)
		}
		defer file.Close()
		if err := bundle.Unpack(file, dir); err != nil {
			return v.printRefusal(cmd.OutOrStdout(), err)
		}
		path = dir
	}
	report, err := bundle.Verify(path, keys)
	if err == nil {
		report.JudgeKnown = report.Judge != nil && report.Judge.Digest == judge.Digest()
		err = v.demandHead(&report.Export)
	}
	if err != nil {
		return v.printRefusal(cmd.OutOrStdout(), err)
	}
	if v.output == "json" {
		shown := struct {
			Proven     bool `json:"proven"`
			Consistent bool `json:"consistent"`
			KeysGiven  bool `json:"keysGiven"`
			*bundle.Report
		}{report.Export.KeysGiven, true, report.Export.KeysGiven, report}
		if err := json.NewEncoder(cmd.OutOrStdout()).Encode(shown); err != nil {
			return err
		}
		return nameNobody(&report.Export)
	}
	printReport(cmd.OutOrStdout(), &report.Export, v.quiet)
	if v.quiet {
		return nameNobody(&report.Export)
	}
	shown, open := report.Sentences()
	for _, sentence := range shown {
		fmt.Fprintln(cmd.OutOrStdout(), "shown:     ", printableText(sentence))
	}
	for _, sentence := range open {
		fmt.Fprintln(cmd.OutOrStdout(), "NOT shown: ", printableText(sentence))
	}
	return nameNobody(&report.Export)
}
