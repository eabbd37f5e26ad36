package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// instruction is one line of a Dockerfile, its continuation lines joined.
type instruction struct {
	word string // In upper case.
	rest string
}

// readDockerfile reads the instructions of a Dockerfile, without comments.
func readDockerfile(path string) ([]instruction, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []instruction
	joined := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") || line == "" && joined == "" {
			continue
		}
		if head, continued := strings.CutSuffix(line, `\`); continued {
			joined += head
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(joined+line), " ")
		all = append(all, instruction{word: strings.ToUpper(word), rest: strings.TrimSpace(rest)})
		joined = ""
	}
	if joined != "" {
		return nil, fmt.Errorf("%s ends within an instruction", path)
	}
	return all, nil
}

var reference = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?`)

// expandVariables replaces $NAME and ${NAME}; a name without a value is an error.
func expandVariables(text string, values map[string]string) (string, error) {
	var missing error
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		name := reference.FindStringSubmatch(found)[1]
		value, known := values[name]
		if !known {
			missing = fmt.Errorf("%s has no value in %q", name, text)
		}
		return value
	}), missing
}

// splitFlags divides the --name=value words at the head of an instruction from the rest.
func splitFlags(text string) (flags map[string]string, words []string) {
	flags = map[string]string{}
	for _, word := range strings.Fields(text) {
		name, value, found := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && found && len(words) == 0 {
			flags[name] = value
			continue
		}
		words = append(words, word)
	}
	return flags, words
}

// readWords reads the JSON form of ENTRYPOINT and CMD; the shell form is refused,
// because an image without a shell cannot run it.
func readWords(text string) (words []string, err error) {
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		return nil, fmt.Errorf("%s is not a JSON list of words: %w", text, err)
	}
	return words, nil
}
