package main

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// planRotation prints what a rotation will do to the present keys.
func planRotation(cmd *cobra.Command, c *client, values map[string]*string) error {
	data, err := c.fetchAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/admin/signing-keys", admin: true})
	var keys struct {
		Data []struct{ KID, For, State, ActivateAt string }
	}
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		return err
	}
	out := cmd.ErrOrStderr()
	what := cmp.Or(*values["for"], "credential")
	for _, key := range keys.Data {
		if key.For != what {
			continue
		}
		if key.State == "signing" || key.State == "next" {
			fmt.Fprintf(out, "now: %s is %s\n", key.KID, key.State)
		}
	}
	revoke := *values["revoke"]
	switch {
	case what == "permit" && *values["emergency"] != "true":
		fmt.Fprintln(out, "plan: a new key is published now and signs permits from 24 hours on; the one before leaves the key set 24 hours after that")
	case what == "permit" && revoke == "":
		fmt.Fprintln(out, "plan: a new key is published and signs permits AT ONCE; who holds an older copy of the key set (up to an hour) does not know its permits yet")
	case what == "permit":
		fmt.Fprintf(out, "plan: a new key is published and signs permits AT ONCE; %s leaves the key set, and whoever verifies its permits learns it within the hour of its copy. Credentials are not touched\n", revoke)
	case *values["emergency"] != "true":
		fmt.Fprintln(out, "plan: a new key is published now and signs from 24 hours on; tokens of the keys before stay good until they expire, and nothing needs to be issued anew")
	case revoke == "":
		fmt.Fprintln(out, "plan: a new key is published and signs AT ONCE; who holds an older copy of the key set (up to an hour) does not know its tokens yet; older tokens stay good")
	default:
		fmt.Fprintf(out, "plan: a new key is published and signs AT ONCE; EVERY token of %s is BLOCK R2 from then on; afterwards: railguard signing-key reissue --file tokens.ndjson\n", revoke)
	}
	return nil
}

type reissueAll struct {
	client
	kid, file, reason, by string
	overlap               int
	plan                  bool
	every                 time.Duration // Time between two lines of progress.

	out                            *tokenFile
	of                             *party
	looked, issued, passed, failed int
	told                           time.Time
}

// party is a kind of party that has credentials.
type party struct {
	name, path, id string // Such as "agents", "/v1/agents" and "agentId", the member with the id.
}

// Within agents, parents come before delegates, because they were registered before. Users
// come last, because they are bound to agents.
var parties = []party{{"agents", "/v1/agents", "agentId"}, {"users", "/v1/users", "userId"}}

const (
	reissueTries = 120 // For one call, a second apart, while the service asks to wait.
	reissueWait  = time.Second
	reissueNotes = 10 // Tries between two lines that say what it waits for.
)

func newReissueAll() *cobra.Command {
	r := &reissueAll{every: 2 * time.Second}
	cmd := &cobra.Command{
		Use: "reissue", Short: "Issue anew what a revoked (or retired) signing key had signed, to agents and users, with progress", Args: cobra.NoArgs,
		Long: `Go through all agents, then all users, and issue those a new credential whose token was signed
by a key that was revoked since; with --kid those of that key, which may be retired only. Parents
come before their delegates. Each new token is written to --file as one JSON line: hand it to its
agent or user.

It may be ended and run again: what has a new token is passed over. Who was revoked is too.

Exit codes: 0 all have theirs, 1 some failed (named; run it again).`,
		Example: `  railguard signing-key reissue --plan
  railguard signing-key reissue --file tokens.ndjson --reason "cc-v1 leaked" --by ada`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := r.findServer(cmd, false); err != nil {
				return err
			}
			if r.plan == (r.file != "") {
				return usageError("give --file FILE for the new tokens, or --plan to see how many it would be")
			}
			return r.reissueEveryone(cmd)
		},
	}
	r.client.defineFlags(cmd, false)
	flags := cmd.Flags()
	flags.StringVar(&r.kid, "kid", "", "those that this key signed (default: those of any revoked key)")
	flags.StringVar(&r.file, "file", "", "file that the new tokens are written to, one JSON line each (0600; continued when it exists)")
	flags.BoolVar(&r.plan, "plan", false, "count, and change nothing")
	flags.IntVar(&r.overlap, "overlap-hours", 24, "how long the token before stays good, where its key is not revoked")
	flags.StringVar(&r.reason, "reason", "", "why, for the audit record")
	flags.StringVar(&r.by, "by", "", "who decides")
	return cmd
}

func (r *reissueAll) reissueEveryone(cmd *cobra.Command) (err error) {
	if r.file != "" {
		if r.out, err = openTokenFile(r.file); err != nil {
			return usageError("--file: %w", err)
		}
		defer func() { err = errors.Join(err, r.out.closeFile(err == nil)) }()
	}
	failed := 0
	for i := range parties {
		r.of = &parties[i]
		r.looked, r.issued, r.passed, r.failed = 0, 0, 0, 0
		if err := r.reissueKind(cmd); err != nil {
			return err
		}
		failed += r.failed
	}
	if failed > 0 {
		return fmt.Errorf("%d have no new token: run it again", failed)
	}
	return nil
}

// reissueKind goes through all parties of one kind.
func (r *reissueAll) reissueKind(cmd *cobra.Command) error {
	cursor := ""
	r.note = cmd.ErrOrStderr()
	for {
		data, err := r.fetchPatiently(cmd.Context(), &call{method: http.MethodGet, path: r.of.path + "?order=asc&limit=500" + cursor})
		var page struct {
			Data       []struct{ AgentID, UserID string }
			NextCursor string
		}
		if err == nil {
			err = json.Unmarshal(data, &page)
		}
		if err != nil {
			return err
		}
		for _, is := range page.Data {
			if err := r.reissueOne(cmd, cmp.Or(is.AgentID, is.UserID)); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
	verb := "issued anew"
	if r.plan {
		verb = "would be issued anew"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d %s: %d %s, %d passed over, %d failed\n", r.looked, r.of.name, r.issued, verb, r.passed, r.failed)
	return nil
}

// reissueOne looks at one agent or user and issues a new credential if one is due. Its error
// ends the run.
func (r *reissueAll) reissueOne(cmd *cobra.Command, id string) error {
	r.looked++
	data, err := r.fetchPatiently(cmd.Context(), &call{method: http.MethodGet, path: r.of.path + "/" + url.PathEscape(id)})
	var agent struct {
		AgentName, OperatorLegalName string
		Token                        *string
		CredentialVersion            int
	}
	if err == nil {
		err = json.Unmarshal(data, &agent)
	}
	if err != nil {
		return err
	}
	switch {
	case !r.isWanted(agent.Token) && r.out != nil && r.out.owesToken(id) && agent.Token != nil: // The run before issued this token but ended before writing its line.
		if err := r.out.writeToken(r.of, id, agent.AgentName, agent.OperatorLegalName, *agent.Token); err != nil {
			return err
		}
		r.issued++
	case !r.isWanted(agent.Token):
		r.passed++
	case r.plan:
		r.issued++
	default:
		if err := r.issueAnew(cmd, id, agent.CredentialVersion); err != nil {
			return err
		}
	}
	if now := time.Now(); now.Sub(r.told) >= r.every {
		r.told = now
		fmt.Fprintf(cmd.ErrOrStderr(), "%d %s looked at, %d issued anew, %d passed over, %d failed\n", r.looked, r.of.name, r.issued, r.passed, r.failed)
	}
	return nil
}

// isWanted reports whether a token is to be replaced. A nil token means that its key was
// revoked.
func (r *reissueAll) isWanted(token *string) bool {
	if r.kid == "" || token == nil {
		return token == nil && r.kid == ""
	}
	head, _, _ := strings.Cut(*token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	var header struct{ KID string }
	return err == nil && json.Unmarshal(text, &header) == nil && header.KID == r.kid
}

// issueAnew issues a new credential to one agent or user. The idempotency key makes a second
// try the same call.
func (r *reissueAll) issueAnew(cmd *cobra.Command, id string, version int) error {
	members := map[string]any{"overlapHours": r.overlap}
	if r.reason != "" {
		members["reason"] = r.reason
	}
	if r.by != "" {
		members["actor"] = r.by
	}
	body, err := json.Marshal(members)
	if err != nil {
		return err
	}
	request := &call{
		method: http.MethodPost, path: r.of.path + "/" + url.PathEscape(id) + "/reissue", body: body,
		headers: map[string]string{"Idempotency-Key": fmt.Sprintf("signing-key-reissue-%s-%d", id, version)},
	}
	if err := r.out.beginToken(id); err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	data, err := r.fetchPatiently(cmd.Context(), request)
	refused := new(exitError)
	switch {
	case err == nil:
	case errors.As(err, &refused) && refused.status == http.StatusConflict:
		r.passed++
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is passed over: %v\n", id, err)
		return nil
	case cmd.Context().Err() != nil:
		return err
	default:
		r.failed++
		r.out.noteDoubt(id)
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", id, err)
		return nil
	}
	var issued struct{ AgentName, OperatorLegalName, Token string }
	if err := json.Unmarshal(data, &issued); err != nil || issued.Token == "" {
		return fmt.Errorf("%s: the answer has no token: %w", id, errors.Join(err, errors.New(string(data[:min(len(data), 200)]))))
	}
	if err := r.out.writeToken(r.of, id, issued.AgentName, issued.OperatorLegalName, issued.Token); err != nil {
		return err
	}
	r.issued++
	return nil
}
