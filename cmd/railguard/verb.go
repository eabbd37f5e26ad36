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

// verb is one row of the table of verbs: a call of the service described as data. Its
// flags follow from the description of the API; the row says what differs. What needs
// more than one call has a function of its own elsewhere.
type verb struct {
	path    string // "agent register": command and subcommand.
	short   string
	long    string
	example string
	group   string  // Of the command; the first verb of a command decides.
	call    string  // Method and path; each {name} of the path is an argument.
	loose   string  // Flag that one more argument may fill; "": none.
	fields  []field // Members of the body whose flags differ from their description; of calls that are not described, all.
	query   []field // The same of the parameters of the query.
	omit    string  // Names of members and parameters that are not offered, with spaces between them.
	columns string  // Of a list, with spaces between them.
	keyed   bool    // Offers --idempotency-key; set from the description.
	file    bool    // Takes a file of payments.
	confirm string  // Flag that, when set, asks for the word of the flag "revoke", or for its own name.
	word    string  // That is asked for where the flag confirm is not set; "": none is.
	token   bool    // Reads the credential from --token, --token-file or standard input.
	each    bool    // The answer has an outcome for each of several: exit code 0 where all were done.

	preset map[string]string                                                    // Members that the verb itself sets.
	plan   func(cmd *cobra.Command, c *client, values map[string]*string) error // Says what will happen, before it is asked for a word.
	person func(out io.Writer, data []byte) error                               // Shows an answer to a person; nil is a table of its members.
	form   string                                                               // Query parameter that chooses the answer's form: any but json is shown as it came.
	beside []string                                                             // Of what a person is shown: "name url" gives a further answer that name, "url" gives what the answer lacks.
}

// httpMethod and url are those of the verb's call.
func (v *verb) httpMethod() string { return strings.Fields(v.call)[0] }
func (v *verb) urlPath() string    { return strings.Fields(v.call)[1] }

// isAdmin reports whether the call goes to the admin listener.
func (v *verb) isAdmin() bool { return strings.HasPrefix(v.urlPath(), "/admin/") }

// argumentNames are the names of the verb's positional arguments: those of its path.
func (v *verb) argumentNames() (names []string) {
	for _, match := range pathArgument.FindAllStringSubmatch(v.call, -1) {
		names = append(names, match[1])
	}
	return names
}

var pathArgument = regexp.MustCompile(`\{([^}]*)\}`)

// makeCommand makes the cobra command of a verb.
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
	if v.confirm != "" {
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
		return v.tellOutcome(cmd.OutOrStdout(), v.addContext(cmd.Context(), c, args, data), v.outputForm(values, c.output))
	}
	return cmd
}

// usageLine is the verb's last word with its arguments.
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

// asItCame is an output beside table and json: the bytes of the answer.
const asItCame = "as it came"

// outputForm is how an answer is shown: as was chosen, or as it came where it is no JSON.
func (v *verb) outputForm(values map[string]*string, chosen string) string {
	if form := values[v.form]; form != nil && *form != "" && *form != "json" {
		return asItCame
	}
	return chosen
}

// addContext adds what a person wants to see beside an answer, as far as the key may read it.
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

// fillPath is a path with the arguments of a verb in it.
func (v *verb) fillPath(path string, args []string) string {
	for i, name := range v.argumentNames() {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(args[i]))
	}
	return path
}

// tellOutcome shows an answer; its error says what of it was not done.
func (v *verb) tellOutcome(out io.Writer, data []byte, output string) error {
	if err := v.showAnswer(out, data, output); err != nil || !v.each {
		return err
	}
	return countUndone(data)
}

// countUndone says how many of a call's parts were not done; nil: all were.
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

// fillValues gives values what stands in a file or as an argument.
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

// flagValues makes the flags of a verb's fields and parameters.
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

// askConfirmation shows the plan, and asks for a word before what cannot be taken back: by --confirm, else on
// standard input.
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

// buildCall fills url, query and body.
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

// commandTree hangs verbs under their commands.
func commandTree(verbs []verb, describe map[string]string) []*cobra.Command {
	var parents []*cobra.Command
	byName := map[string]*cobra.Command{}
	for i := range verbs {
		v := verbs[i] // The table stays as it is written.
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

// helpOnly is what a command of subcommands does alone.
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
