package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// client calls a server for the verbs.
type client struct {
	url, key, admin, data string
	output                string
	timeout               time.Duration
	http                  *http.Client
}

// answerMax bounds an answer that is held in memory; exports are streamed.
const answerMax = 64 << 20

func (c *client) flags(cmd *cobra.Command, admin bool) {
	flags := cmd.Flags()
	flags.StringVarP(&c.output, "output", "o", "table", "table or json")
	flags.DurationVar(&c.timeout, "timeout", 30*time.Second, "longest wait for the answer")
	flags.StringVar(&c.key, "key", "", "API key (better: RAILGUARD_KEY)")
	flags.StringVar(&c.data, "data", "railguard-data", "a development cluster's or a node's folder, to find address and key when none is given")
	if admin {
		flags.StringVar(&c.admin, "admin", "", "address of the admin listener, e.g. http://127.0.0.1:8180 (RAILGUARD_ADMIN)")
		return
	}
	flags.StringVar(&c.url, "url", "", "address of the service, e.g. http://127.0.0.1:8080 (RAILGUARD_URL)")
}

// settle finds the server: flags, environment, then the development cluster's file.
func (c *client) settle(cmd *cobra.Command, admin bool) error {
	if err := settle(cmd); err != nil {
		return err
	}
	if c.output != "table" && c.output != "json" {
		return usage("--output must be table or json")
	}
	c.http = &http.Client{Timeout: c.timeout}
	dev, devErr := readDevFile(c.data)
	if c.url == "" && devErr == nil {
		c.url = "http://" + dev.Nodes[0].HTTP
	}
	if c.admin == "" && devErr == nil {
		c.admin = "http://" + dev.Nodes[0].Admin
	}
	if c.key == "" && devErr == nil {
		c.key = dev.APIKey
	}
	if token, err := os.ReadFile(filepath.Join(c.data, adminTokenFile)); c.key == "" && admin && err == nil {
		c.key = strings.TrimSpace(string(token))
	}
	base := c.base(admin)
	if base == "" {
		return usage("no server given: set --%s, %s, or --data to a development cluster's folder", addressFlag(admin), envName(addressFlag(admin)))
	}
	if !strings.Contains(base, "://") {
		return usage("--%s: %q has no scheme: write http://%s", addressFlag(admin), base, base)
	}
	return nil
}

func addressFlag(admin bool) string {
	if admin {
		return "admin"
	}
	return "url"
}

func (c *client) base(admin bool) string {
	if admin {
		return strings.TrimRight(c.admin, "/")
	}
	return strings.TrimRight(c.url, "/")
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

// open sends a call and returns the answer of a success; the caller closes it.
func (c *client) open(ctx context.Context, call *call) (*http.Response, error) {
	var body io.Reader
	if call.body != nil {
		body = bytes.NewReader(call.body)
	}
	request, err := http.NewRequestWithContext(ctx, call.method, c.base(call.admin)+call.path, body)
	if err != nil {
		return nil, usage("%w", err)
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
	if err != nil {
		return nil, &exitError{code: exitAway, err: err}
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusedBy(response)
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
	return &exitError{code: code, err: fmt.Errorf("%d %s", response.StatusCode, text)}
}

// fetch sends a call and returns the whole answer.
func (c *client) fetch(ctx context.Context, call *call) ([]byte, error) {
	response, err := c.open(ctx, call)
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
