package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Every flag can also be set by an environment variable: --http-base by RAILGUARD_HTTP_BASE. A
// flag wins over the environment, the environment over the file of --config, the file over the
// default.

func envName(flag string) string {
	return "RAILGUARD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// verbTwins are the flags of verbs that the environment may set. The other flags say what the
// verb does: a variable meant for a server (RAILGUARD_ID=n1) must not choose the node that a
// verb removes.
var verbTwins = map[string]bool{
	"url": true, "key": true, "admin": true, "data": true, "output": true, "timeout": true, "ca": true, "cert": true, "cert-key": true,
}

// settleVerb is settleFlags for verbs.
func settleVerb(cmd *cobra.Command) error {
	return settleFrom(cmd, func(flag string) string {
		if !verbTwins[flag] {
			return ""
		}
		return os.Getenv(envName(flag))
	})
}

// settleFlags sets the flags that were not given, from the environment and the file.
func settleFlags(cmd *cobra.Command) error { return settleFrom(cmd, serverEnvironment) }

func serverEnvironment(flag string) string { return os.Getenv(envName(flag)) }

func settleFrom(cmd *cobra.Command, environment func(flag string) string) error {
	_, err := settleOrigins(cmd, environment)
	return err
}

// settleOrigins is settleFrom. It also returns where each value comes from: "flag",
// "environment" or "file"; flags with their default are not in the map.
func settleOrigins(cmd *cobra.Command, environment func(flag string) string) (map[string]string, error) {
	file, err := configFile(cmd)
	if err != nil {
		return nil, err
	}
	origins := map[string]string{}
	var failed error
	known := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		known[f.Name] = true
		if f.Changed {
			origins[f.Name] = "flag"
		}
		if f.Changed || failed != nil {
			return
		}
		value, from, origin := environment(f.Name), envName(f.Name), "environment"
		if value == "" {
			value, from, origin = file[f.Name], "config file: "+f.Name, "file"
		}
		if value == "" {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			failed = usageError("%s: %w", from, err)
		}
		origins[f.Name] = origin
	})
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if !known[name] && failed == nil {
			failed = usageError("config file: unknown setting %q%s", name, likeFlags(cmd, name))
		}
	}
	return origins, failed
}

// configFile reads --config: a YAML (or JSON) object of flag names and values.
func configFile(cmd *cobra.Command) (map[string]string, error) {
	flag := cmd.Flags().Lookup("config")
	if flag == nil {
		return nil, nil
	}
	path := flag.Value.String()
	if path == "" {
		path = os.Getenv(envName("config"))
	}
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError("config file: %w", err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return nil, usageError("config file %s: %w", path, err)
	}
	values := make(map[string]string, len(raw))
	for name, value := range raw {
		switch v := value.(type) {
		case []any:
			parts := make([]string, len(v))
			for i, part := range v {
				parts[i] = fmt.Sprint(part)
			}
			values[name] = strings.Join(parts, ",")
		case map[string]any, nil:
			return nil, usageError("config file %s: %s must be a plain value or a list", path, name)
		default:
			values[name] = fmt.Sprint(v)
		}
	}
	return values, nil
}

// secretOf returns the value of the variable NAME, or the content of the file that NAME_FILE
// names.
func secretOf(name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	path := os.Getenv(name + "_FILE")
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usageError("%s_FILE: %w", name, err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" { // An empty file is an error: if it counted as not set, a cluster of one would generate a secret.
		return "", usageError("%s_FILE: %s is empty", name, path)
	}
	return text, nil
}
