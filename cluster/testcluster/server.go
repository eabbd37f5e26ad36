package testcluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	stopPatience = 30 * time.Second
	pollEvery    = 20 * time.Millisecond
	logTailBytes = 2 << 10
)

// Server is one node of a bench. Its name, folder and log outlive its processes. It also knows
// the present process. Its fields are set before it is first started.
type Server struct {
	Name    string
	Data    string // Its data folder.
	Log     string // The output of all its processes, appended.
	Spawner *Spawner

	mu     sync.Mutex
	child  *Child
	mayEnd bool
}

// Secrets returns the environment of a server of a new cluster: that of this process, with the
// cluster's secret and its first API key.
func Secrets(secret, key string) []string {
	return append(os.Environ(), "RAILGUARD_CLUSTER_SECRET="+secret, "RAILGUARD_BOOTSTRAP_KEY="+key)
}

// Launch starts the process. If one is running, it starts none and returns nil.
func (s *Server) Launch(binary string, args, env []string) (*Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && !s.child.Ended() {
		return nil, nil
	}
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, err
	}
	child, err := s.Spawner.Launch(binary, args, env, s.Log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	s.child = child
	return child, nil
}

// PID returns the id of the running process, or 0 if there is none.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Ended() {
		return 0
	}
	return s.child.PID()
}

// Running reports whether a process runs.
func (s *Server) Running() bool { return s.PID() != 0 }

// Signal sends a signal to the process, if one runs. ends says that the signal asks the process
// to end.
func (s *Server) Signal(signal os.Signal, ends bool) (*Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Ended() {
		return nil, nil
	}
	if ends {
		s.child.Asked = true
	}
	if err := s.child.Command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	s.child.Paused = signal == SignalPause
	return s.child, nil
}

// ExpectEnd says that the process may give up by itself.
func (s *Server) ExpectEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mayEnd = true
}

// EndWasExpected reports whether somebody asked a process to end, or allowed it.
func (s *Server) EndWasExpected(child *Child) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return child.Asked || s.mayEnd
}

// Fell returns how the process ended, if it ended and nobody had asked for it.
func (s *Server) Fell() string {
	s.mu.Lock()
	child := s.child
	s.mu.Unlock()
	if child == nil || !child.Ended() || s.EndWasExpected(child) {
		return ""
	}
	return child.ExitText()
}

// Kill sends SIGKILL: no warning, and nothing is flushed. It waits for the end.
func (s *Server) Kill() error { return s.end(os.Kill) }

// Stop asks the process to drain and end, and waits for it. If the process does not end, Stop
// kills it and returns an error.
func (s *Server) Stop() error {
	if err := s.end(SignalEnd); err != nil {
		return errors.Join(fmt.Errorf("%s was asked to stop: %w", s.Name, err), s.Kill())
	}
	return nil
}

func (s *Server) end(signal os.Signal) error {
	child, err := s.Signal(signal, true)
	if err != nil || child == nil {
		return err
	}
	return child.Wait(stopPatience)
}

// Await calls ask until it returns no error. It stops waiting when the server has ended. Its
// error has the end of the server's log.
func (s *Server) Await(ctx context.Context, patience time.Duration, ask func() error) error {
	last := errors.New("no answer")
	err := Until(ctx, patience, func() bool {
		if !s.Running() {
			last = errors.New("the process has ended")
			return true
		}
		last = ask()
		return last == nil
	})
	if last == nil {
		return err
	}
	return fmt.Errorf("%s is not ready: %w\n%s", s.Name, last, s.LogTail())
}

// LogTail returns the end of the server's output.
func (s *Server) LogTail() string {
	raw, err := os.ReadFile(s.Log)
	if err != nil {
		return ""
	}
	if len(raw) > logTailBytes {
		raw = raw[len(raw)-logTailBytes:]
	}
	return "--- log of " + s.Name + ":\n" + strings.ToValidUTF8(string(raw), "")
}

// Until calls done repeatedly until it returns true or patience ends.
func Until(ctx context.Context, patience time.Duration, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %v: %w", patience, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	return nil
}

// RandomHex returns size random bytes in hexadecimal digits.
func RandomHex(size int) string {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // Never fails (crypto/rand).
	return hex.EncodeToString(raw)
}
