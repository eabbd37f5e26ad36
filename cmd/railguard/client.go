package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// client calls a server for the verbs.
type client struct {
	url, admin []string // Addresses, tried in turn.
	key, data  string
	ca         string // File with the authorities of https addresses; "": the system's.
	cert       string // File with the certificate to show to a listener that asks for one (an admin listener).
	certKey    string // File with the key of cert.
	output     string
	timeout    time.Duration
	patience   time.Duration // How long a stream may be silent, before it begins and between two pieces; see readAsStream.
	http       *http.Client
	at         int // Index of the address that answered last.
	reached    bool
	note       io.Writer // Where fetchPatiently says what it waits for; nil: nowhere.
}

// errNoServer: neither flags, environment nor a development cluster's file give an address.
var errNoServer = errors.New("no server given")

// answerMax bounds an answer that is held in memory; exports are streamed.
const answerMax = 64 << 20

func (c *client) defineFlags(cmd *cobra.Command, admin bool) {
	flags := cmd.Flags()
	flags.StringVarP(&c.output, "output", "o", "table", "table or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	flags.DurationVar(&c.timeout, "timeout", 30*time.Second, "longest wait for the answer")
	flags.StringVar(&c.key, "key", "", "API key (better: RAILGUARD_KEY, or a file named by RAILGUARD_KEY_FILE)")
	flags.StringVar(&c.data, "data", "railguard-data", "a development cluster's or a node's folder, to find address and key when none is given")
	if admin {
		flags.StringSliceVar(&c.admin, "admin", nil, "address of the admin listener, e.g. http://127.0.0.1:8180 (RAILGUARD_ADMIN); several, comma-separated, are tried in turn")
	} else {
		flags.StringSliceVar(&c.url, "url", nil, "address of the service, e.g. http://127.0.0.1:8080 (RAILGUARD_URL); several, comma-separated, are tried in turn")
	}
	flags.StringVar(&c.ca, "ca", "", "file with the certificate authorities of https addresses (default: the system's; RAILGUARD_CA)")
	flags.StringVar(&c.cert, "cert", "", "certificate file to show to a listener that asks for one, as admin listeners off loopback do (RAILGUARD_CERT)")
	flags.StringVar(&c.certKey, "cert-key", "", "its key file (RAILGUARD_CERT_KEY)")
}

// findServer settles the addresses and the key: from flags, then the environment, then the
// development cluster's file.
func (c *client) findServer(cmd *cobra.Command, admin bool) error {
	if err := settleVerb(cmd); err != nil {
		return err
	}
	if c.key == "" { // Neither a flag nor RAILGUARD_KEY gave it: read the file that RAILGUARD_KEY_FILE names.
		key, err := secretOf("RAILGUARD_KEY")
		if err != nil {
			return usageError("%w", err)
		}
		c.key = key
	}
	if c.output != "table" && c.output != "json" {
		return usageError("--output must be table or json")
	}
	if c.timeout <= 0 {
		return usageError("--timeout must be above 0, e.g. 30s: without one a verb could wait for ever")
	}
	c.patience = streamPatience
	if cmd.Flags().Changed("timeout") {
		c.patience = c.timeout
	}
	if err := c.buildHTTPClient(); err != nil {
		return err
	}
	if dev, err := readDevFile(c.data); err == nil {
		if err := c.useDevFile(&dev, admin); err != nil {
			return err
		}
	}
	if token, err := os.ReadFile(filepath.Join(c.data, adminTokenFile)); c.key == "" && admin && err == nil {
		c.key = strings.TrimSpace(string(token))
	}
	bases := c.addresses(admin)
	if len(bases) == 0 {
		return usageError("%w: set --%s, %s, or --data to a development cluster's folder", errNoServer, addressFlag(admin), envName(addressFlag(admin)))
	}
	for i, base := range bases {
		whole, err := c.wholeAddress(base)
		if err != nil {
			return usageError("--%s: %w", addressFlag(admin), err)
		}
		bases[i] = whole
	}
	return nil
}

// wholeAddress returns an address with its scheme. One without a scheme is where a server listens:
// in a container verbs read the server's own variables, as RAILGUARD_ADMIN=0.0.0.0:8180. Whoever
// listens on all addresses is reached at loopback. A verb that has a certificate to show speaks
// TLS there, and always beyond this machine: a key is not sent in clear because nobody said how.
func (c *client) wholeAddress(base string) (string, error) {
	if strings.Contains(base, "://") {
		return base, nil
	}
	host, port, err := net.SplitHostPort(base)
	if err != nil || port == "" {
		return "", fmt.Errorf("%q has no scheme: write http://%s or https://%s", base, base, base)
	}
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip.Equal(net.IPv4zero):
		host, ip = "127.0.0.1", net.IPv4(127, 0, 0, 1)
	case ip.Equal(net.IPv6unspecified):
		host, ip = "::1", net.IPv6loopback
	}
	scheme := "https://"
	if c.cert == "" && (host == "localhost" || ip.IsLoopback()) {
		scheme = "http://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// buildHTTPClient makes the HTTP client, with the authorities of --ca and the certificate of --cert.
func (c *client) buildHTTPClient() error {
	c.http = &http.Client{Timeout: c.timeout}
	if (c.cert == "") != (c.certKey == "") {
		return usageError("--cert and --cert-key go together")
	}
	if c.ca == "" && c.cert == "" {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.ca != "" {
		text, err := os.ReadFile(c.ca)
		if err != nil {
			return usageError("--ca: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(text) {
			return usageError("--ca: %s holds no certificate", c.ca)
		}
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.certKey)
		if err != nil {
			return usageError("--cert, --cert-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	c.http.Transport = transport
	return nil
}

// useDevFile takes addresses and key from a development cluster's file. It takes the addresses
// only together with the key, and only if they are on this machine: a file that happens to lie
// in the current folder must not decide where a production key is sent.
func (c *client) useDevFile(dev *devFile, admin bool) error {
	given := c.key != "" && c.key != dev.APIKey
	if given && len(c.addresses(admin)) == 0 {
		return usageError("--%s is not given, and %s is of another key than yours: say where to send it", addressFlag(admin), filepath.Join(c.data, "dev.json"))
	}
	if bases := c.addresses(admin); given || len(bases) > 0 {
		if c.key == "" && dev.hasAll(bases) {
			c.key = dev.APIKey
		}
		return nil
	}
	for _, node := range dev.Nodes {
		for _, address := range []string{node.HTTP, node.Admin} {
			if host, _, err := net.SplitHostPort(address); err != nil || !net.ParseIP(host).IsLoopback() {
				return usageError("%s names %s, which is not on this machine: give --%s", filepath.Join(c.data, "dev.json"), address, addressFlag(admin))
			}
		}
		c.url, c.admin = append(c.url, "http://"+node.HTTP), append(c.admin, "http://"+node.Admin)
	}
	c.key = dev.APIKey
	return nil
}

func addressFlag(admin bool) string {
	if admin {
		return "admin"
	}
	return "url"
}

// hasAll tells whether all addresses are the development cluster's own.
func (f *devFile) hasAll(bases []string) bool {
	for _, base := range bases {
		if !slices.ContainsFunc(f.Nodes, func(n devNode) bool { return base == "http://"+n.HTTP || base == "http://"+n.Admin }) {
			return false
		}
	}
	return true
}

func (c *client) addresses(admin bool) []string {
	if admin {
		return c.admin
	}
	return c.url
}

func readDevFile(folder string) (devFile, error) {
	var file devFile
	data, err := os.ReadFile(filepath.Join(folder, "dev.json"))
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return file, err
	}
	if len(file.Nodes) == 0 {
		return file, errors.New("dev.json names no node")
	}
	return file, nil
}

// call is one request of a verb.
type call struct {
	method, path string
	admin        bool
	body         []byte
	contentType  string
	headers      map[string]string
}

// openAnswer sends a call and returns the answer if it is a success; the caller closes it.
// It tries the next address if the call certainly had no effect at the one before: it was not
// reached, or its answer said so. A read is also repeated after a broken connection, 502 or 503.
func (c *client) openAnswer(ctx context.Context, call *call) (*http.Response, error) {
	bases := c.addresses(call.admin)
	var said error // The answer of an address that refused is preferred to the error of an address that was not reached.
	for try := range bases {
		at := (c.at + try) % len(bases)
		response, elsewhere, err := c.sendTo(ctx, strings.TrimRight(bases[at], "/"), call)
		if err == nil {
			c.at = at
			return response, nil
		}
		if first := new(exitError); said == nil || errors.As(err, &first) && first.status != 0 {
			said = err
		}
		if !elsewhere || ctx.Err() != nil {
			return nil, err
		}
	}
	return nil, said
}

// sendTo sends a call to one address. elsewhere reports whether the next address may be tried.
func (c *client) sendTo(ctx context.Context, base string, call *call) (answer *http.Response, elsewhere bool, err error) {
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, base+call.path, body)
	if err != nil {
		return nil, false, usageError("%w", err)
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	if call.body != nil && call.contentType == "" {
		request.Header.Set("Content-Type", "application/json")
	} else if call.contentType != "" {
		request.Header.Set("Content-Type", call.contentType)
	}
	for name, value := range call.headers {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	read := call.method == http.MethodGet
	if err != nil {
		var dial *net.OpError
		unreached := errors.As(err, &dial) && dial.Op == "dial"
		if call.admin && c.cert == "" && !unreached && strings.HasPrefix(base, "https://") {
			err = fmt.Errorf("%w (an admin listener with TLS asks for a certificate: give --cert and --cert-key)", err)
		}
		return nil, read || unreached, &exitError{code: exitAway, err: err}
	}
	if response.StatusCode/100 == 2 {
		return response, false, nil
	}
	defer response.Body.Close()
	away := response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusBadGateway
	elsewhere = away && (read || response.Header.Get("X-Railguard-Outcome") == "none")
	return nil, elsewhere, refusedBy(response)
}

// refusedBy turns an error answer into one line: status, code, message, what is
// wrong with which field, and the request id for support.
func refusedBy(response *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(response.Body, answerMax))
	var shape struct {
		Code, Message, RequestID string
		Details                  json.RawMessage
	}
	text := strings.TrimSpace(string(data))
	if json.Unmarshal(data, &shape) == nil && shape.Code != "" {
		text = shape.Code + ": " + shape.Message
		if len(shape.Details) > 0 && string(shape.Details) != "null" && string(shape.Details) != "[]" {
			text += "\n  details: " + string(shape.Details)
		}
		if shape.RequestID != "" {
			text += "\n  request: " + shape.RequestID
		}
	}
	code := exitFailed
	if response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusBadGateway {
		code = exitAway
	}
	return &exitError{code: code, err: fmt.Errorf("%d %s", response.StatusCode, text), status: response.StatusCode}
}

// fetchAnswer sends a call and returns the whole answer.
func (c *client) fetchAnswer(ctx context.Context, call *call) ([]byte, error) {
	response, err := c.openAnswer(ctx, call)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	if err != nil {
		return nil, &exitError{code: exitAway, err: err}
	}
	if len(data) > answerMax {
		return nil, errors.New("the answer is too large for a table; use the export verb")
	}
	return data, nil
}

// fetchPatiently repeats a call while the service asks it to wait (429 and 503), or cannot be
// reached although it was before. It does not wait for a service that was never reached.
func (c *client) fetchPatiently(ctx context.Context, request *call) (data []byte, err error) {
	for try := 0; ; try++ {
		data, err = c.fetchAnswer(ctx, request)
		refused := new(exitError)
		answered := err == nil || errors.As(err, &refused) && refused.status != 0
		c.reached = c.reached || answered
		wait := err != nil && (refused.status == http.StatusTooManyRequests || refused.code == exitAway && c.reached)
		if !wait || try >= reissueTries || ctx.Err() != nil {
			return data, err
		}
		if c.note != nil && try%reissueNotes == 1 {
			fmt.Fprintln(c.note, "waiting:", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reissueWait):
		}
	}
}
