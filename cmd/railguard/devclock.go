package main

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"railguard/cluster"
	"railguard/engine"
	"railguard/fsm/wire"
)

// A development node can be given a wrong clock (--test-clock-file). The file holds the error,
// such as 5m or -24h. The node reads it every 50 ms, so that a test can also make the clock
// jump. Without the file, or with an empty one, the clock is right.

const clockFileEvery = 50 * time.Millisecond

// clockError is the error of this node's wall clock, in nanoseconds.
type clockError struct {
	file string
	by   atomic.Int64
	bad  string // The last content that could not be parsed, so that it is reported once.
}

// testClock returns the node's clock: nil, which means the machine's own, unless
// --test-clock-file is given.
func (s *server) testClock() (cluster.Clock, error) {
	if s.flags.testClockFile == "" {
		return nil, nil
	}
	wrong := &clockError{file: s.flags.testClockFile}
	if err := wrong.readFile(); err != nil {
		return nil, usageError("--test-clock-file: %w", err)
	}
	go s.followClock(wrong)
	return cluster.ShiftedClock(cluster.SystemClock(), func() engine.Time { return engine.Time(wrong.by.Load()) }), nil
}

// followClock reads the file again and again until the server closes.
func (s *server) followClock(wrong *clockError) {
	ticker := time.NewTicker(clockFileEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-ticker.C:
		}
		before := wrong.by.Load()
		if err := wrong.readFile(); err != nil {
			s.log.Warn("the test clock's file is not understood; the clock stays as it is", "error", err)
		} else if now := wrong.by.Load(); now != before {
			s.log.Warn("this node's clock jumps, as its test clock's file says", "off", time.Duration(now))
		}
	}
}

// readFile takes over the file's content. A content that cannot be parsed changes nothing; it
// is an error the first time only.
func (c *clockError) readFile() error {
	raw, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		c.by.Store(0)
		return nil
	}
	by, err := time.ParseDuration(text)
	if err != nil {
		if c.bad == text {
			return nil
		}
		c.bad = text
		return err
	}
	c.bad = ""
	c.by.Store(int64(by))
	return nil
}

// checkTestClock refuses to let a node with a wrong clock into a cluster that was not formed
// for development.
func (s *server) checkTestClock(genesis *wire.Genesis) error {
	if s.flags.testClockFile == "" || genesis.Dev {
		return nil
	}
	return usageError("--test-clock-file: cluster %s is no development cluster", genesis.ClusterID)
}
