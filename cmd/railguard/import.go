package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"railguard/engine"
	"railguard/ofac/feed"
	"railguard/ofac/keeper"
)

// newImport is `railguard ofac import DIR`. It uploads the published files of a folder to the
// admin listener of a running cluster, which checks, replicates and activates them.
func newImport() *cobra.Command {
	c := &client{}
	stage, force, replace, reason, asOf := false, false, false, "", ""
	cmd := &cobra.Command{
		Use: "import DIR", Short: "Import OFAC's published files into a running cluster", Args: exactArgs(1, "one folder (or file)"),
		Example: "  railguard ofac import ./lists",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, true); err != nil {
				return err
			}
			name, bundle, err := bundleOf(args[0])
			if err != nil {
				return err
			}
			c.http.Timeout = 5 * time.Minute
			query := url.Values{"name": {name}}
			if asOf != "" {
				query.Set("asOf", asOf)
			}
			if replace {
				query.Set("replace", "true")
			}
			bar := newProgress(cmd.ErrOrStderr(), "uploading, parsing and replicating")
			bar.setDone(int64(len(bundle)), 0)
			data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodPost, path: "/v1/ofac/snapshots?" + query.Encode(), admin: true, body: bundle, contentType: "application/octet-stream"})
			if err != nil {
				return err
			}
			bar.endLine()
			var staged struct{ SnapshotID string }
			if err := json.Unmarshal(data, &staged); err != nil || staged.SnapshotID == "" || stage {
				return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
			}
			data, err = c.activateStaged(cmd.Context(), staged.SnapshotID, force, reason)
			if err != nil {
				return fmt.Errorf("staged as %s but not activated: %w", staged.SnapshotID, err)
			}
			tellProposal(cmd.ErrOrStderr(), data)
			return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
		},
	}
	c.defineFlags(cmd, true)
	cmd.Flags().BoolVar(&stage, "stage-only", false, "do not activate yet")
	cmd.Flags().BoolVar(&replace, "replace", false, "give up the oldest staged list where no more may be staged")
	cmd.Flags().StringVar(&asOf, "as-of", "", "day or time at which CSV files were published, which have no date of their own")
	cmd.Flags().BoolVar(&force, "force", false, "past failed checks (older, shrunk, canary), but for a date in the future; needs --reason")
	cmd.Flags().StringVar(&reason, "reason", "", "why it is forced")
	return cmd
}

// activateStaged activates a staged list on the listener that received the upload.
func (c *client) activateStaged(ctx context.Context, snapshot string, force bool, reason string) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"force": force, "reason": reason, "actor": "railguard ofac import"})
	if err != nil {
		return nil, err
	}
	return c.fetchAnswer(ctx, &call{method: http.MethodPost, path: "/v1/ofac/" + url.PathEscape(snapshot) + "/activate", admin: true, body: body})
}

// bundleOf returns the bytes to upload: a single file as it is, or one archive with the
// unpacked published files of a folder.
func bundleOf(path string) (name string, data []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, usageError("%w", err)
	}
	if info.IsDir() {
		data, err = archiveOf(path)
		return "lists.zip", data, err
	}
	if info.Size() > engine.ListUploadMax {
		return "", nil, usageError("%s: more than %d MiB", path, engine.ListUploadMax/engine.MiB)
	}
	data, err = os.ReadFile(path)
	return filepath.Base(path), data, err
}

func archiveOf(path string) ([]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, usageError("%w", err)
	}
	var names []string
	for _, entry := range entries {
		if keeper.Claims(entry.Name()) {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	if len(names) == 0 {
		return nil, usageError("%s: no file with one of OFAC's published names (SDN_ENHANCED.XML, SDN_ADVANCED.XML, CONS_ENHANCED.XML, SDN.CSV, ...; .gz, .bz2, .zst, .zip)", path)
	}
	var bundle bytes.Buffer
	archive := zip.NewWriter(&bundle)
	for _, name := range names {
		if err := addFile(archive, name); err != nil {
			return nil, err
		}
		if bundle.Len() > engine.ListUploadMax {
			return nil, usageError("%s: more than %d MiB", path, engine.ListUploadMax/engine.MiB)
		}
	}
	if err := archive.Close(); err != nil { // Writes the archive's directory, so it comes before Bytes.
		return nil, err
	}
	return bundle.Bytes(), nil
}

// addFile adds a file under its published name, uncompressed if it was packed: the server does
// not unpack the members of an archive a second time.
func addFile(archive *zip.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return usageError("%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return usageError("%w", err)
	}
	content, err := feed.Open(file, info.Size())
	if err != nil {
		return usageError("%s: %w", path, err)
	}
	defer content.Close()
	kind, _ := feed.KindOf(filepath.Base(path))
	member, err := archive.CreateHeader(&zip.FileHeader{Name: kind.String(), Method: zip.Deflate})
	if err != nil {
		return err
	}
	if _, err = io.Copy(member, content); err != nil {
		return usageError("%s: %w", path, err)
	}
	return nil
}

// newPolicyPut is `railguard policy put FILE` (YAML or JSON).
func newPolicyPut() *cobra.Command {
	c := &client{}
	match, reason, check := "", "", false
	cmd := &cobra.Command{
		Use: "put FILE", Short: "Replace the institution's policy (YAML or JSON)", Args: exactArgs(1, "one policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, false); err != nil {
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return usageError("%w", err)
			}
			var any map[string]any
			if err := yaml.Unmarshal(data, &any); err != nil {
				return usageError("%s: %w", args[0], err)
			}
			request := &call{method: http.MethodPut, path: "/v1/policy", body: data, contentType: "application/yaml", headers: map[string]string{}}
			if check {
				request.method, request.path = http.MethodPost, "/v1/policy/validate"
			}
			if match != "" {
				request.headers["If-Match"] = match
			}
			if reason != "" {
				request.path += "?reason=" + url.QueryEscape(reason)
			}
			answer, err := c.fetchAnswer(cmd.Context(), request)
			if err != nil {
				return err
			}
			if err := showAnswer(cmd.OutOrStdout(), answer, c.output, nil); err != nil || !check {
				return err
			}
			var judged struct{ Valid bool }
			if err := json.Unmarshal(answer, &judged); err != nil || !judged.Valid {
				return fmt.Errorf("%s: not a valid policy", args[0])
			}
			return nil
		},
	}
	c.defineFlags(cmd, false)
	cmd.Flags().StringVar(&match, "if-match", "", "only if the policy still has this ETag")
	cmd.Flags().StringVar(&reason, "reason", "", "why; required when the change widens what may pass")
	cmd.Flags().BoolVar(&check, "check", false, "validate only")
	return cmd
}
