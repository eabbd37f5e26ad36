package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/engine"
	"railguard/engine/jws"
	"railguard/engine/permit"
	"railguard/fsm/wire"
	"railguard/httpapi/gateway"
)

// readGatewayMap reads the map of --gateway-map, so that a wrong one ends the start.
func (f *guestFlags) readGatewayMap() (err error) {
	if f.gatewayFile == "" {
		return nil
	}
	if f.gateway, err = readGatewayFile(f.gatewayFile); err != nil {
		return usageError("--gateway-map: %w", err)
	}
	return nil
}

func readGatewayFile(path string) (*gateway.Map, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m, err := gateway.ReadMap(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// gatewayDigest returns the SHA-256 of the map for gateways; "" without one.
func (f *guestFlags) gatewayDigest() string {
	if f.gateway == nil {
		return ""
	}
	return f.gateway.Digest
}

// trustedPermits returns by what this service's own permits are verified now: like an API key, a
// permit expires on a node that is cut off too.
func (s *server) trustedPermits() (permit.Want, error) {
	settings := s.node.Settings()
	if settings.Genesis == nil {
		return permit.Want{}, errors.New("the cluster is not bootstrapped")
	}
	var keys []jws.PublicKey
	for _, key := range settings.SigningKeys {
		if key.For == wire.ForPermits && key.RevokedAt == 0 {
			keys = append(keys, jws.PublicKey{ID: key.KID, Point: key.Public})
		}
	}
	set, err := jws.NewKeySet(keys)
	now := max(s.node.LogTime(), engine.Time(time.Now().UnixNano()))
	return permit.Want{Keys: set, Issuer: strings.TrimSuffix(settings.Genesis.PublicURL, "/"), Now: now}, err
}

// gatewayTrial is a request that `railguard gateway check` tries.
type gatewayTrial struct {
	profile, method, path string
	headers               []string
	body, output          string
}

func newGateway() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gateway", Short: "Check what requests of a gateway pay", GroupID: "server",
		Long: "What `railguard serve --gateway-map FILE` makes of the requests that an Envoy asks about.",
		RunE: helpOnly,
	}
	cmd.AddCommand(newGatewayCheck())
	return cmd
}

func newGatewayCheck() *cobra.Command {
	v := &gatewayTrial{}
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Say what is wrong with a map, or what it makes of a request, offline",
		Long: `Read a map as --gateway-map would. With --profile and --path also say what would
become of that request: which route it is, and which payment stands in it. Nothing is
asked, and values of token, userToken and proof are not shown.

Exit codes: 0 the map is good, and the request is one that is asked about or let through;
1 the request would be refused; 64 the map cannot be used, or wrong flags.`,
		Example: "  railguard gateway check gateway-map.yaml\n" +
			"  railguard gateway check gateway-map.yaml --profile payouts --method POST --path /v1/payouts --header 'content-type: application/json' --header 'idempotency-key: inv-7' --body request.json",
		Args: exactArgs(1, "one FILE with a map"),
		RunE: func(cmd *cobra.Command, args []string) error { return v.check(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&v.profile, "profile", "", "profile that the gateway asks with")
	flags.StringVar(&v.method, "method", http.MethodPost, "method of the request")
	flags.StringVar(&v.path, "path", "", "path of the request, as it is sent")
	flags.StringArrayVar(&v.headers, "header", nil, "a header of the request, as \"name: value\"; may be given several times")
	flags.StringVar(&v.body, "body", "", "file with the body of the request, or -")
	flags.StringVarP(&v.output, "output", "o", "table", "table or json")
	return cmd
}

func (v *gatewayTrial) check(cmd *cobra.Command, path string) error {
	switch {
	case v.output != "table" && v.output != "json":
		return usageError("--output must be table or json")
	case (v.profile == "") != (v.path == ""):
		return usageError("--profile and --path go together")
	case v.path == "" && (len(v.headers) > 0 || v.body != ""):
		return usageError("--header and --body are of a request: give --profile and --path")
	case v.path != "" && v.path[0] != '/':
		return usageError("--path must begin with /")
	}
	m, err := readGatewayFile(path)
	if err != nil {
		return usageError("%w", err)
	}
	if v.path != "" {
		return v.try(cmd, m)
	}
	profiles, routes := m.Size()
	if v.output == "json" {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"good": true, "profiles": profiles, "routes": routes, "sha256": m.Digest})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: %d profiles, %d routes, SHA-256 %s\n", profiles, routes, m.Digest)
	return err
}

// try prints what would become of the request.
func (v *gatewayTrial) try(cmd *cobra.Command, m *gateway.Map) error {
	head := http.Header{}
	for _, text := range v.headers {
		name, value, found := strings.Cut(text, ":")
		if !found {
			return usageError("--header %q: write \"name: value\"", text)
		}
		head.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	body, err := v.readBody(cmd.InOrStdin())
	if err != nil {
		return usageError("--body: %w", err)
	}
	t := m.Try(v.profile, v.method, v.path, head, body)
	out := cmd.OutOrStdout()
	if v.output == "json" {
		err = json.NewEncoder(out).Encode(t)
	} else {
		fmt.Fprintln(out, printableText(strings.TrimSuffix(fmt.Sprintf("%s: %s", t.Outcome, cmp.Or(t.Message, t.Route)), ": ")))
		for _, value := range t.Values {
			fmt.Fprintf(out, "  %-14s%s\n", value.Name, printableText(value.Value))
		}
	}
	if err == nil && t.Refused {
		return &exitError{code: exitFailed, err: errors.New("REFUSED: " + printableText(t.Message))}
	}
	return err
}

func (v *gatewayTrial) readBody(input io.Reader) ([]byte, error) {
	switch v.body {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(io.LimitReader(input, engine.BodyMax))
	}
	return os.ReadFile(v.body)
}
