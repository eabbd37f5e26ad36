package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/fsm/wire"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
	"railguard/ofac/keeper"
)

// joinList lets the API change lists beside OFAC's; the rooms of either side do not know each other.
func joinList(active *ofac.Index, held *wire.ListInfo, change rulebook.ListChange) ([]byte, wire.ListInfo, error) {
	return keeper.Join(active, held, keeper.Change(change))
}

// newListImport is `railguard list import --list ID FILE`. It uploads a list beside OFAC's to the
// admin listener of a running cluster, which joins it with the list in force, judges and activates it.
func newListImport() *cobra.Command {
	c := &client{}
	stage, force, replace, reason := false, false, false, ""
	described := struct {
		list, name, authority, effect, format string
		families                              []string
		maxAge                                time.Duration
	}{}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import a list beside OFAC's: an own list (CSV, JSON), the UN's XML, FollowTheMoney", Args: exactArgs(1, "one file"),
		Example: "  railguard list import --list un --name \"UN Security Council\" consolidated.xml\n  railguard list import --list house --effect block own.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, true); err != nil {
				return err
			}
			_, file, err := bundleOf(args[0])
			if err != nil {
				return err
			}
			query := url.Values{"list": {described.list}}
			for name, value := range map[string]string{"listName": described.name, "authority": described.authority, "effect": described.effect, "format": described.format, "families": strings.Join(described.families, ",")} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if cmd.Flags().Changed("max-age") {
				query.Set("maxAge", described.maxAge.String())
			}
			if replace {
				query.Set("replace", "true")
			}
			return c.changeList(cmd, query, file, stage, force, reason)
		},
	}
	c.defineFlags(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&described.list, "list", "", "id of the list: small letters, digits, dashes (required)")
	flags.StringVar(&described.name, "name", "", "name that reasons and evidence show; else as before, or the id")
	flags.StringVar(&described.authority, "authority", "", "who is responsible for it")
	flags.StringVar(&described.effect, "effect", "", "what an exact hit does: review or block; else as before, or review")
	flags.StringVar(&described.format, "format", "", "un-xml, ftm or own; else by its content")
	flags.StringSliceVar(&described.families, "families", nil, "only these of the file: UN list types, FollowTheMoney datasets")
	flags.DurationVar(&described.maxAge, "max-age", 0, "after how long without an import it is late; 0s: never")
	flags.BoolVar(&stage, "stage-only", false, "do not activate yet")
	flags.BoolVar(&replace, "replace", false, "give up the oldest staged list where no more may be staged")
	flags.BoolVar(&force, "force", false, "past failed checks (older, shrunk, effect lowered), but for a date in the future; needs --reason")
	flags.StringVar(&reason, "reason", "", "why")
	_ = cmd.MarkFlagRequired("list")
	return cmd
}

// newListRemove is `railguard list remove ID`.
func newListRemove() *cobra.Command {
	c := &client{}
	reason := ""
	cmd := &cobra.Command{
		Use: "remove ID", Short: "Remove a list beside OFAC's: nobody is screened against it any more", Args: exactArgs(1, "one id of a list"),
		Example: "  railguard list remove un --reason \"the institution screens against it elsewhere\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.findServer(cmd, true); err != nil {
				return err
			}
			return c.changeList(cmd, url.Values{"list": {args[0]}, "remove": {"true"}}, nil, false, true, reason)
		},
	}
	c.defineFlags(cmd, true)
	cmd.Flags().StringVar(&reason, "reason", "", "why (required)")
	_ = cmd.MarkFlagRequired("reason")
	return cmd
}

// changeList stages a list and activates it.
func (c *client) changeList(cmd *cobra.Command, query url.Values, file []byte, stage, force bool, reason string) error {
	c.http.Timeout = 5 * time.Minute
	data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodPost, path: "/v1/ofac/snapshots?" + query.Encode(), admin: true, body: file, contentType: "application/octet-stream"})
	if err != nil {
		return err
	}
	var staged struct{ SnapshotID string }
	if err := json.Unmarshal(data, &staged); err != nil || staged.SnapshotID == "" || stage {
		return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
	}
	if data, err = c.activateStaged(cmd.Context(), staged.SnapshotID, force, reason); err != nil {
		return fmt.Errorf("staged as %s but not activated: %w", staged.SnapshotID, err)
	}
	tellProposal(cmd.ErrOrStderr(), data)
	return showAnswer(cmd.OutOrStdout(), data, c.output, nil)
}
