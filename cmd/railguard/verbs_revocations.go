package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/backup"
)

// revocationsKept is the verb that keeps what ends, so that a restored backup can end it again.
type revocationsKept struct {
	client
	file  string
	once  bool
	said  time.Time // When the file last said up to where it is complete.
	after func(time.Duration) <-chan time.Time
}

const (
	revocationPause = 2 * time.Second // Pause after a round that failed, or that a server which drains ended at once.
	revocationMark  = time.Minute     // So often the file says up to where it is complete although nothing happened.
)

// eventAnswer is an answer of GET /v1/events.
type eventAnswer struct {
	Data []json.RawMessage `json:"data"`
	Next string            `json:"nextCursor"`
}

func newBackupRevocations() *cobra.Command {
	k := &revocationsKept{after: time.After}
	cmd := &cobra.Command{
		Use: "revocations", Short: "Keep what is revoked in a file, so that a restore can end it again", Args: cobra.NoArgs,
		Long: `Follow the events by which agents, users, operators, keys and signing keys end, are
suspended or are renewed, and append each to a file, synced to disk. A backup is older than
the last of them: "backup restore --revocations FILE" ends again what ended after it. Run it
on another machine than the nodes, or with the file on another disk, with a key of the
institution that has the role auditor. The file names no counterparty and no amount.

It goes on until it is stopped, and begins again where the file ends. A line without an
event says up to where the file is complete. After a recovery or a restore, whose events
begin elsewhere, it reads the last 30 days again.`,
		Example: `  railguard backup revocations --file /mnt/elsewhere/revocations.ndjson --url https://pay.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.file == "" {
				return usageError("--file is required")
			}
			if err := k.findServer(cmd, false); err != nil {
				return err
			}
			return k.follow(cmd)
		},
	}
	k.client.defineFlags(cmd, false)
	cmd.Flags().StringVar(&k.file, "file", "", "file to append to (required)")
	cmd.Flags().BoolVar(&k.once, "once", false, "read what there is, and end")
	return cmd
}

func (k *revocationsKept) follow(cmd *cobra.Command) error {
	cursor, err := k.repairFile()
	if err != nil {
		return err
	}
	for {
		asked := time.Now()
		count, next, err := k.keepAnswer(cmd.Context(), cursor)
		refused := new(exitError)
		if cmd.Context().Err() != nil {
			return nil //nolint:nilerr // Somebody stopped it, which broke the call off.
		}
		switch {
		case err != nil && errors.As(err, &refused) && refused.status == http.StatusBadRequest && cursor != "":
			fmt.Fprintf(cmd.ErrOrStderr(), "the server does not know event %s: the last 30 days are read again\n", cursor)
			cursor = ""
			continue
		case err != nil && (k.once || errors.As(err, &refused) && refused.status/100 == 4 && refused.status != http.StatusTooManyRequests):
			return err
		case err != nil:
			fmt.Fprintln(cmd.ErrOrStderr(), "not read, and tried again:", err)
			k.pause(cmd.Context())
			continue
		case k.once && count == 0:
			return nil
		case count == 0 && next == cursor && time.Since(asked) < revocationPause:
			k.pause(cmd.Context())
		}
		cursor = next
	}
}

func (k *revocationsKept) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-k.after(revocationPause):
	}
}

// keepAnswer reads the next events and appends it. It waits for an event up to 20 seconds.
func (k *revocationsKept) keepAnswer(ctx context.Context, cursor string) (count int, next string, err error) {
	query := url.Values{"types": {strings.Join(backup.RevocationTypes, ",")}, "limit": {"100"}}
	if cursor != "" {
		query.Set("after", cursor)
	}
	if !k.once && cursor != "" { // The first answer comes at once, so that the file is there.
		query.Set("wait", "20")
	}
	data, err := k.fetchAnswer(ctx, &call{method: http.MethodGet, path: "/v1/events?" + query.Encode()})
	if err != nil {
		return 0, "", err
	}
	var answer eventAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, "", fmt.Errorf("the answer is not that of GET /v1/events: %w", err)
	}
	if len(answer.Data) == 0 && answer.Next == cursor && time.Since(k.said) < revocationMark {
		return 0, cursor, nil
	}
	var lines bytes.Buffer
	for _, event := range answer.Data {
		if err := json.Compact(&lines, event); err != nil {
			return 0, "", err
		}
		lines.WriteByte('\n')
	}
	mark, err := json.Marshal(struct {
		Cursor string `json:"completeTo"`
		At     string `json:"at"`
	}{answer.Next, time.Now().UTC().Format(time.RFC3339)})
	if err != nil {
		return 0, "", err
	}
	lines.Write(append(mark, '\n'))
	k.said = time.Now()
	return len(answer.Data), answer.Next, k.appendLines(lines.Bytes())
}

func (k *revocationsKept) appendLines(lines []byte) error {
	file, err := os.OpenFile(k.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(lines)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// repairFile cuts a torn last line, drops marks that later ones replace, and returns where to go on.
// The file is replaced, so that a crash leaves the old or the new one.
func (k *revocationsKept) repairFile() (cursor string, err error) {
	data, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var kept bytes.Buffer
	var mark []byte
	for line := range bytes.Lines(data) {
		var seen struct {
			Cursor *string `json:"completeTo"`
		}
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &seen) != nil {
			continue
		}
		if seen.Cursor != nil {
			cursor, mark = *seen.Cursor, line
			continue
		}
		kept.Write(line)
	}
	kept.Write(mark)
	if bytes.Equal(kept.Bytes(), data) {
		return cursor, nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(k.file), filepath.Base(k.file)+".*")
	if err != nil {
		return "", err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(kept.Bytes())
	if err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return "", err
	}
	return cursor, os.Rename(temporary.Name(), k.file)
}
