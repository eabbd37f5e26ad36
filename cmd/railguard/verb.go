package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"railguard/httpapi/description"
)

// verb describes a verb that makes one call of the service: one row of the table of verbs. Its
// flags are derived from the description of the API; the row has only what differs. Verbs that
// need more than one call are functions elsewhere.
type verb struct {
	path    string // Command and subcommand, such as "agent register".
	short   string
	long    string
	example string
	group   string  // Help group of the command, taken from the command's first verb.
	call    string  // Method and path; each {name} of the path is an argument.
	loose   string  // Flag that an additional argument may set; "": none.
	fields  []field // Members of the body whose flags differ from the description; all members if the call is not described.
	query   []field // Parameters of the query whose flags differ from the description.
	omit    string  // Members and parameters without a flag, separated by spaces.
	columns string  // Columns of a list, separated by spaces.
	keyed   bool    // Has the flag --idempotency-key; set from the description.
	file    bool    // Can take a file of payments.
	confirm string  // Name of a flag that demands a confirmation. The word to confirm with is the value of --revoke if it is given, else the flag's name.
	word    string  // The word to confirm with if the flag in confirm is not set; "": none.
	subject string  // Name of the flag whose value is the word to confirm with; "": none.
	token   bool    // Reads the credential from --token, --token-file or standard input.
	each    bool    // The answer has several outcomes; exit code 0 if all succeeded.

	preset map[string]string                                                    // Values of members that the caller does not choose.
	plan   func(cmd *cobra.Command, c *client, values map[string]*string) error // Prints what will happen, before the confirmation.
	person func(out io.Writer, data []byte) error                               // Prints an answer for people; nil: a table of its members.
	form   string                                                               // Query parameter for the format of the answer; any format but json is printed unchanged.
	beside []string                                                             // Further calls for people: "name url" adds the answer under that name, "url" adds the members that are missing.
}

// httpMethod and urlPath are the parts of the verb's call.
func (v *verb) httpMethod() string { return strings.Fields(v.call)[0] }
func (v *verb) urlPath() string    { return strings.Fields(v.call)[1] }

// isAdmin reports whether the call goes to the admin listener.
func (v *verb) isAdmin() bool { return strings.HasPrefix(v.urlPath(), "/admin/") }

// argumentNames returns the names of the verb's positional arguments, which its path contains.
func (v *verb) argumentNames() (names []string) {
	for _, match := range pathArgument.FindAllStringSubmatch(v.call, -1) {
		names = append(names, match[1])
	}
	return names
}

var pathArgument = regexp.MustCompile(`\{([^}]*)\}`)

func (v *verb) makeCommand() *cobra.Command {
	c := &client{}
	names := v.argumentNames()
	cmd := &cobra.Command{
		Use: v.usageLine(), Short: v.short, Long: v.long, Example: v.exampleOf(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != len(names) && (v.loose == "" || len(args) != len(names)+1) {
				return usageError("expected %d argument(s): %s", len(names), strings.ToUpper(strings.Join(names, " ")))
			}
			return nil
		},
	}
	c.defineFlags(cmd, v.isAdmin())
	values := v.flagValues(cmd)
	idempotency := ""
	if v.keyed {
		cmd.Flags().StringVar(&idempotency, "idempotency-key", "", "makes a repeated call give the one outcome")
	}
	tokenFile := ""
	if v.token {
		cmd.Flags().StringVar(&tokenFile, "token-file", "", "file with the credential (- is standard input)")
	}
	confirm := ""
	if v.confirm != "" || v.subject != "" {
		cmd.Flags().StringVar(&confirm, "confirm", "", v.confirmHelp())
	}
	all := false
	if v.isPaged() {
		cmd.Flags().BoolVar(&all, "all", false, "to the end (default: 50 rows, or --limit)")
	}
	file := &fileRun{client: c}
	if v.file {
		file.defineFlags(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.findServer(cmd, v.isAdmin()); err != nil {
			return err
		}
		if err := v.fillValues(args, values, tokenFile); err != nil {
			return err
		}
		if file.path != "" {
			file.token = *values["token"]
			return file.screenFile(cmd)
		}
		request, err := v.buildCall(args, values)
		if err != nil {
			return err
		}
		if idempotency != "" {
			request.headers = map[string]string{"Idempotency-Key": idempotency}
		}
		if err := v.askConfirmation(cmd, c, values, confirm); err != nil {
			return err
		}
		data, err := v.fetchAnswer(cmd.Context(), c, request, values, all)
		if err != nil {
			return err
		}
		tellProposal(cmd.ErrOrStderr(), data)
		return v.tellOutcome(cmd.OutOrStdout(), v.addContext(cmd.Context(), c, args, data), v.outputForm(values, c.output))
	}
	return cmd
}

// usageLine returns the last word of the verb's name and its arguments.
func (v *verb) usageLine() string {
	words := strings.Fields(v.path)
	line := words[len(words)-1]
	for _, name := range v.argumentNames() {
		line += " " + strings.ToUpper(name)
	}
	if v.loose != "" {
		line += " [" + strings.ToUpper(v.loose) + "]"
	}
	return line
}

// asItCame is an output form besides table and json: the unchanged bytes of the answer.
const asItCame = "as it came"

// outputForm returns the chosen output form, or asItCame if the answer is not JSON.
func (v *verb) outputForm(values map[string]*string, chosen string) string {
	if form := values[v.form]; form != nil && *form != "" && *form != "json" {
		return asItCame
	}
	return chosen
}

// addContext adds to an answer what a person wants to see with it, if the API key may read
// that.
func (v *verb) addContext(ctx context.Context, c *client, args []string, data []byte) []byte {
	if c.output == "json" {
		return data
	}
	var whole map[string]json.RawMessage
	for _, source := range v.beside {
		name, path, named := strings.Cut(source, " ")
		if !named {
			path = source
		}
		further, err := c.fetchAnswer(ctx, &call{method: http.MethodGet, path: v.fillPath(path, args)})
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal(further, &members) != nil || whole == nil && json.Unmarshal(data, &whole) != nil {
			continue
		}
		if named {
			members = map[string]json.RawMessage{name: further}
		}
		for name, value := range members {
			if _, there := whole[name]; !there {
				whole[name] = value
			}
		}
	}
	if merged, err := json.Marshal(whole); err == nil && whole != nil {
		return merged
	}
	return data
}

// fillPath returns a path with the verb's arguments in it.
func (v *verb) fillPath(path string, args []string) string {
	for i, name := range v.argumentNames() {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(args[i]))
	}
	return path
}

// tellOutcome prints an answer. Its error says which parts of a call were not done.
func (v *verb) tellOutcome(out io.Writer, data []byte, output string) error {
	if err := v.showAnswer(out, data, output); err != nil || !v.each {
		return err
	}
	return countUndone(data)
}

// countUndone returns an error that says how many parts of a call were not done; nil: all
// were.
func countUndone(data []byte) error {
	var answer struct{ Results []struct{ Status int } }
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	failed := 0
	for _, result := range answer.Results {
		if result.Status != http.StatusOK {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d were not done: see their status", failed, len(answer.Results))
}

func (v *verb) showAnswer(out io.Writer, data []byte, output string) error {
	if output == asItCame {
		_, err := out.Write(data)
		return err
	}
	if v.person != nil && output != "json" {
		return v.person(out, data)
	}
	return showAnswer(out, data, output, strings.Fields(v.columns))
}

// fillValues takes values from the token file and from an additional argument.
func (v *verb) fillValues(args []string, values map[string]*string, tokenFile string) error {
	if v.token && *values["token"] == "" && tokenFile != "" {
		token, err := readTokenFile(tokenFile)
		if err != nil {
			return err
		}
		*values["token"] = token
	}
	if names := v.argumentNames(); len(args) > len(names) {
		if *values[v.loose] != "" {
			return usageError("give the %s once: as an argument or with --%s", v.loose, v.loose)
		}
		*values[v.loose] = args[len(names)]
	}
	return nil
}

// flagValues defines the flags of a verb's fields and parameters.
func (v *verb) flagValues(cmd *cobra.Command) map[string]*string {
	values := map[string]*string{}
	for _, list := range [][]field{v.fields, v.query} {
		for i := range list {
			if value, set := v.preset[list[i].memberName()]; set {
				values[list[i].flag] = &value
				continue
			}
			values[list[i].flag] = cmd.Flags().String(list[i].flag, "", list[i].describeFlag())
			if kind := list[i].kind; kind == description.TruthField || kind == oppositeField {
				cmd.Flags().Lookup(list[i].flag).NoOptDefVal = "true"
			}
		}
	}
	return values
}

// askConfirmation prints the plan. Before an action that cannot be undone it demands a word,
// from --confirm or from standard input.
func (v *verb) askConfirmation(cmd *cobra.Command, c *client, values map[string]*string, given string) error {
	if v.plan != nil {
		if err := v.plan(cmd, c, values); err != nil {
			return err
		}
	}
	word := v.word
	if v.confirm != "" && *values[v.confirm] == "true" {
		word = cmp.Or(*values["revoke"], v.confirm)
	}
	if v.subject != "" {
		word = *values[v.subject]
	}
	if word == "" {
		return nil
	}
	if given == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "This cannot be taken back. Type %s to go on: ", word)
		line, _ := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 1024)).ReadString('\n')
		given = strings.TrimSpace(line)
	}
	if given != word {
		return usageError("not confirmed: type %s, or give --confirm %s", word, word)
	}
	return nil
}

func (v *verb) confirmHelp() string {
	if v.subject != "" {
		return "the word that is asked for otherwise: the value of --" + v.subject
	}
	if v.word != "" {
		return "the word that is asked for otherwise: " + v.word + "; with --" + v.confirm + " another one, which it names"
	}
	return "the word that is asked for otherwise, with --" + v.confirm
}

func (f *field) describeFlag() string {
	text := f.help
	if f.required {
		text += " (required)"
	}
	return text
}

func readTokenFile(path string) (string, error) {
	if path == "-" {
		path = "/dev/stdin"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usageError("--token-file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// buildCall builds the call: its URL, query and body.
func (v *verb) buildCall(args []string, values map[string]*string) (*call, error) {
	path, query := v.fillPath(v.urlPath(), args), url.Values{}
	for i := range v.query {
		f := &v.query[i]
		if value := *values[f.flag]; value != "" {
			query.Set(f.memberName(), value)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	request := &call{method: v.httpMethod(), path: path, admin: v.isAdmin()}
	if len(v.fields) == 0 {
		return request, nil
	}
	body, err := bodyOf(v.fields, values)
	request.body = body
	return request, err
}

// commandTree groups the verbs under their commands.
func commandTree(verbs []verb, describe map[string]string) []*cobra.Command {
	var parents []*cobra.Command
	byName := map[string]*cobra.Command{}
	for i := range verbs {
		v := verbs[i] // A copy: the table must not change.
		v.followDescription()
		name, _, grouped := strings.Cut(v.path, " ")
		if !grouped {
			cmd := v.makeCommand()
			cmd.GroupID = v.group
			parents, byName[name] = append(parents, cmd), cmd
			continue
		}
		parent := byName[name]
		if parent == nil {
			parent = &cobra.Command{Use: name, Short: describe[name], GroupID: v.group, RunE: helpOnly}
			byName[name] = parent
			parents = append(parents, parent)
		}
		parent.AddCommand(v.makeCommand())
	}
	return parents
}

// helpOnly runs for a command that has only subcommands: it prints help, or refuses an unknown
// one.
func helpOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2
		meant := ""
		if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
			meant = "; did you mean " + strings.Join(close, " or ") + "?"
		}
		return usageError("unknown command %q%s\nsee `%s --help`", args[0], meant, cmd.CommandPath())
	}
	return cmd.Help()
}
