package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

type policyDiff struct {
	client
	from, to uint64 // Policy versions; 0: not given.

	left, right policySide
	widens      []string
}

// policySide is one of the two policies that are compared.
type policySide struct {
	title  string
	policy json.RawMessage
}

// policyChange is a setting that differs. nil means that the setting is left out and has its
// default.
type policyChange struct {
	Setting string          `json:"setting"`
	From    json.RawMessage `json:"from"`
	To      json.RawMessage `json:"to"`
	Wider   bool            `json:"wider"`
}

func newPolicyDiff() *cobra.Command {
	d := &policyDiff{}
	cmd := &cobra.Command{
		Use: "diff [FILE]", Short: "Show what a policy changes: a file against what is in force, or versions against one another",
		Long: `Show setting by setting what differs. With FILE (YAML or JSON), a candidate against
the policy in force, or against --from; without, version --from against --to, or
against what is in force. Nothing is changed.

A candidate is checked as ` + "`railguard policy put --check`" + ` does; what lets more through
is marked, and putting it into force needs --reason.

Exit codes: 0 shown, 1 refused or not a policy, 64 wrong flags, 3 not reachable.`,
		Example: "  railguard policy diff candidate.yaml\n  railguard policy diff --from 3\n  railguard policy diff --from 3 --to 7 -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("expected at most one policy file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.compareVersions(cmd, args) },
	}
	d.defineFlags(cmd, false)
	cmd.Flags().Uint64Var(&d.from, "from", 0, "this version instead of the policy in force (railguard policy versions)")
	cmd.Flags().Uint64Var(&d.to, "to", 0, "against this version, without FILE")
	return cmd
}

func (d *policyDiff) compareVersions(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && d.from == 0:
		return usageError("expected a policy file, or --from with a version")
	case len(args) == 1 && d.to != 0:
		return usageError("--to is for versions, not with a file")
	}
	if err := d.findServer(cmd, false); err != nil {
		return err
	}
	var err error
	if d.left, err = d.fetchVersion(cmd, d.from); err != nil {
		return err
	}
	if len(args) == 1 {
		err = d.readCandidate(cmd, args[0])
	} else {
		d.right, err = d.fetchVersion(cmd, d.to)
	}
	if err != nil {
		return err
	}
	changes, err := d.listChanges()
	if err != nil {
		return err
	}
	return d.printChanges(cmd.OutOrStdout(), changes)
}

// policyVersion is a policy as the API shows it.
type policyVersion struct {
	PolicyVersion uint64          `json:"policyVersion"`
	ActivatedAt   string          `json:"activatedAt"`
	Policy        json.RawMessage `json:"policy"`
}

// fetchVersion returns the policy of a version; 0 means the one in force. A version without a
// policy of its own was a change of the whitelist: it has the policy of the version before.
func (d *policyDiff) fetchVersion(cmd *cobra.Command, version uint64) (policySide, error) {
	var is policyVersion
	if version == 0 {
		data, err := d.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/policy"})
		if err == nil {
			err = json.Unmarshal(data, &is)
		}
		return policySide{fmt.Sprintf("IN FORCE (%d)", is.PolicyVersion), is.Policy}, err
	}
	for cursor := ""; ; {
		data, err := d.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/policy/versions?limit=100" + cursor})
		if err != nil {
			return policySide{}, err
		}
		var page struct {
			Data       []policyVersion
			NextCursor *string
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return policySide{}, err
		}
		for _, is := range page.Data { // Newest first.
			if is.PolicyVersion <= version {
				return policySide{fmt.Sprintf("VERSION %d (%s)", is.PolicyVersion, is.ActivatedAt), is.Policy}, nil
			}
		}
		if page.NextCursor == nil {
			return policySide{}, fmt.Errorf("version %d is of before the oldest that is kept: see railguard policy versions", version)
		}
		cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
	}
}

// readCandidate reads a policy file and lets the server check it.
func (d *policyDiff) readCandidate(cmd *cobra.Command, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return usageError("%w", err)
	}
	var any map[string]any
	if err := yaml.Unmarshal(data, &any); err != nil {
		return usageError("%s: %w", path, err)
	}
	answer, err := d.fetchAnswer(cmd.Context(), &call{method: http.MethodPost, path: "/v1/policy/validate", body: data, contentType: "application/yaml"})
	if err != nil {
		return err
	}
	var judged struct {
		Valid  bool
		Errors []struct{ Param, Message string }
		Widens []string
		Policy json.RawMessage
	}
	if err := json.Unmarshal(answer, &judged); err != nil {
		return err
	}
	if !judged.Valid {
		var wrong []string
		for _, e := range judged.Errors {
			wrong = append(wrong, printableText(e.Param+" "+e.Message))
		}
		return fmt.Errorf("%s is not a valid policy:\n  %s", path, strings.Join(wrong, "\n  "))
	}
	d.right, d.widens = policySide{"CANDIDATE", judged.Policy}, judged.Widens
	return nil
}

// listChanges returns the settings that differ, sorted by name.
func (d *policyDiff) listChanges() ([]policyChange, error) {
	before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := flattenSettings("", d.left.policy, before); err != nil {
		return nil, err
	}
	if err := flattenSettings("", d.right.policy, after); err != nil {
		return nil, err
	}
	changes := []policyChange{}
	for setting := range before {
		if _, there := after[setting]; !there {
			changes = append(changes, d.describeChange(setting, before[setting], nil))
		}
	}
	for setting, to := range after {
		if from := before[setting]; !bytes.Equal(from, to) {
			changes = append(changes, d.describeChange(setting, from, to))
		}
	}
	slices.SortFunc(changes, func(a, b policyChange) int { return strings.Compare(a.Setting, b.Setting) })
	return changes, nil
}

func (d *policyDiff) describeChange(setting string, from, to json.RawMessage) policyChange {
	wider := slices.ContainsFunc(d.widens, func(w string) bool {
		return w == setting || strings.HasPrefix(setting, w+".") || strings.HasPrefix(w, setting+".")
	})
	return policyChange{setting, from, to, wider}
}

// flattenSettings collects the settings of a document by their paths. A list counts as one
// setting. So does an empty object, because it differs from an absent one.
func flattenSettings(path string, value json.RawMessage, into map[string]json.RawMessage) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return err
	}
	if text := compact.Bytes(); text[0] != '{' || len(text) == 2 && path != "" {
		into[path] = text
		return nil
	}
	var failed error
	err := eachMember(value, func(m member) {
		name := m.name
		if path != "" {
			name = path + "." + name
		}
		if err := flattenSettings(name, m.value, into); err != nil {
			failed = err
		}
	})
	if err != nil {
		return err
	}
	return failed
}

func (d *policyDiff) printChanges(out io.Writer, changes []policyChange) error {
	if d.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			From    string         `json:"from"`
			To      string         `json:"to"`
			Changes []policyChange `json:"changes"`
			Widens  []string       `json:"widens"`
		}{d.left.title, d.right.title, changes, append([]string{}, d.widens...)})
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(out, "no setting differs between %s and %s\n", strings.ToLower(d.left.title), strings.ToLower(d.right.title))
		return err
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "SETTING\t%s\t%s\t\n", printableText(d.left.title), printableText(d.right.title))
	for _, c := range changes {
		wider := ""
		if c.Wider {
			wider = "wider"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", printableText(c.Setting), settingText(c.From), settingText(c.To), wider)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, strconv.Itoa(len(changes))+" setting(s) differ")
	if len(d.widens) > 0 { // The server compares with the policy in force only.
		fmt.Fprintf(out, "lets more through than what is in force: %s\n  railguard policy put needs --reason\n", printableText(strings.Join(d.widens, ", ")))
	}
	return nil
}

// settingText returns the text of a setting; one that is left out has its default.
func settingText(value json.RawMessage) string {
	if value == nil {
		return "(default)"
	}
	return plainText(value)
}
