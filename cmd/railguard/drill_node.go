package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"railguard/cluster/backup"
)

const (
	drillNode     = "drill"
	drillPoll     = 100 * time.Millisecond
	drillStopWait = 30 * time.Second
	drillLogShown = 2000 // Bytes of the end of a node's log that a failure shows.
)

// drillServer is the node that a drill starts on what it restored: this binary, as a
// child, on loopback ports that the system chose.
type drillServer struct {
	dir, secret string // dir holds data/ and the node's log.
	patience    time.Duration
	restored    *backup.Restored

	child  *exec.Cmd
	ended  chan error
	client client
}

func (s *drillServer) log() string { return filepath.Join(s.dir, "node.log") }

// rehearse starts the node, asks it everything, and stops it.
func (s *drillServer) rehearse(ctx context.Context, r *drillReport) (err error) {
	if err := s.start(); err != nil {
		return fmt.Errorf("the node does not start: %w", err)
	}
	defer func() {
		if stopped := s.stop(); stopped != nil {
			err = errors.Join(err, fmt.Errorf("the node does not end in order: %w", stopped))
		}
	}()
	if err := s.awaitReady(ctx); err != nil {
		return fmt.Errorf("the node is not ready: %w; the end of its log:\n%s", err, s.lastWords())
	}
	r.Steps = append(r.Steps, "a node started on it and is ready")
	for _, ask := range []func(context.Context) (string, error){s.askKeySet, s.makeKey, s.askVerdict, s.askState} {
		found, err := ask(ctx)
		if err != nil {
			return fmt.Errorf("the started node: %w", err)
		}
		if found != "" {
			r.Steps = append(r.Steps, found)
		}
	}
	return nil
}

// start starts the child. Of this process's settings it gets none but the secret: they
// are those of a real node, perhaps with peers to join.
func (s *drillServer) start() error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.child = exec.Command(binary, "serve", "--id", drillNode, "--data", s.restored.Dir, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json", "--grace", "0s")
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "RAILGUARD_") {
			s.child.Env = append(s.child.Env, entry)
		}
	}
	s.child.Env = append(s.child.Env, "RAILGUARD_CLUSTER_SECRET="+s.secret)
	s.child.Stdout, s.child.Stderr = log, log
	inOwnGroup(s.child)
	if err := s.child.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	s.ended = make(chan error, 1)
	go func() { s.ended <- errors.Join(s.child.Wait(), log.Close()) }()
	return nil
}

// stop ends the child, in order where it can.
func (s *drillServer) stop() error {
	if err := s.child.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(drillStopWait):
		return errors.Join(errors.New("it was killed"), s.child.Process.Kill(), <-s.ended)
	}
}

// awaitReady waits for the line that names the addresses, then for a node that takes
// calls. Of a backup without a list the first verdict tells.
func (s *drillServer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	exclude := "disk"
	if s.restored.List == "" {
		exclude = "disk,list,ofac"
	}
	last := errors.New("it has not opened its state yet")
	for {
		if s.client.http == nil {
			s.findAddresses()
		}
		if s.client.http != nil {
			if _, last = s.client.fetch(ctx, &call{method: http.MethodGet, path: "/readyz?exclude=" + exclude}); last == nil {
				return nil
			}
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			return errors.Join(errors.New("it ended"), err)
		case <-ctx.Done():
			return last
		case <-time.After(drillPoll):
		}
	}
}

// findAddresses reads them from the node's log.
func (s *drillServer) findAddresses() {
	data, err := os.ReadFile(s.log())
	if err != nil {
		return
	}
	for line := range bytes.Lines(data) {
		var said struct{ Msg, HTTP, Admin string }
		if json.Unmarshal(line, &said) != nil || said.Msg != "serving" {
			continue
		}
		token, err := os.ReadFile(filepath.Join(s.restored.Dir, adminTokenFile))
		if err != nil {
			return
		}
		s.client = client{
			url: []string{"http://" + said.HTTP}, admin: []string{"http://" + said.Admin}, key: strings.TrimSpace(string(token)),
			http: &http.Client{Timeout: s.patience, Transport: &http.Transport{Proxy: nil}},
		}
	}
}

func (s *drillServer) lastWords() string {
	data, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-drillLogShown):])
}

func (s *drillServer) askKeySet(ctx context.Context) (string, error) {
	jwks, err := s.client.fetch(ctx, &call{method: http.MethodGet, path: "/v1/.well-known/jwks.json"})
	if err == nil && backup.Digest(jwks) != s.restored.JWKS {
		err = errors.New("its key set is not the backup's")
	}
	return "it publishes the backup's key set", err
}

// makeKey draws an API key of this lineage, which ends with the scratch folder.
func (s *drillServer) makeKey(ctx context.Context) (string, error) {
	data, err := s.client.fetch(ctx, &call{method: http.MethodPost, path: "/admin/keys", admin: true, body: []byte(`{"name":"drill","expires":"1d"}`)})
	var made struct{ Key string }
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	if err == nil && made.Key == "" {
		err = errors.New("it gave no API key")
	}
	s.client.key = made.Key
	return "", err
}

// askVerdict asks for one verdict without a record: of an agent of the backup where
// there is one, whose credential must be known.
func (s *drillServer) askVerdict(ctx context.Context) (string, error) {
	if s.restored.List == "" {
		return "", errors.New("the backup has no sanctions list: no verdict is given until one is imported")
	}
	token, err := s.anyToken(ctx)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"token": token, "amount": 1, "cpName": "Plain Harbour Bakery"})
	if err != nil {
		return "", err
	}
	data, err := s.client.fetch(ctx, &call{method: http.MethodPost, path: "/v1/screen/dry-run", body: body})
	var answer struct{ Verdict, Rule string }
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	switch {
	case err != nil:
		return "", err
	case answer.Verdict == "":
		return "", errors.New("it gives no verdict")
	case token != "" && answer.Verdict == "UNKNOWN":
		return "", fmt.Errorf("it does not know the credential of an active agent (%s)", answer.Rule)
	}
	return "it judges: a dry run is " + answer.Verdict, nil
}

// anyToken is the credential of an active agent; "" where there is none.
func (s *drillServer) anyToken(ctx context.Context) (string, error) {
	data, err := s.client.fetch(ctx, &call{method: http.MethodGet, path: "/v1/agents?limit=1&status=ACTIVE"})
	var page struct{ Data []struct{ AgentID string } }
	if err == nil {
		err = json.Unmarshal(data, &page)
	}
	if err != nil || len(page.Data) == 0 {
		return "", err
	}
	data, err = s.client.fetch(ctx, &call{method: http.MethodGet, path: "/v1/agents/" + url.PathEscape(page.Data[0].AgentID)})
	var agent struct{ Token string }
	if err == nil {
		err = json.Unmarshal(data, &agent)
	}
	if err == nil && agent.Token == "" {
		err = errors.New("it cannot mint an active agent's credential again")
	}
	return agent.Token, err
}

// askState takes a snapshot of the running node and compares it with what was restored.
func (s *drillServer) askState(ctx context.Context) (string, error) {
	if _, err := s.client.fetch(ctx, &call{method: http.MethodPost, path: "/v1/cluster/snapshot"}); err != nil {
		return "", err
	}
	response, err := s.client.open(ctx, &call{method: http.MethodGet, path: "/v1/cluster/snapshot"})
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if err := backup.Lives(io.Reader(response.Body), s.restored, 1); err != nil {
		return "", err
	}
	return "its own snapshot has the same counts, list and lineage", nil
}
