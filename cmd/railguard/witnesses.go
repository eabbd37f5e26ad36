package main

import (
	"os"
	"time"

	"railguard/httpapi/cosigning"
)

// witnessFlags say who cosigns the log's checkpoints.
type witnessFlags struct {
	given  []string
	file   string // A policy in place of given.
	every  time.Duration
	policy *cosigning.Policy   // Parsed from file by checkFlags.
	parsed []cosigning.Witness // Parsed from given by checkFlags.
}

func (w *witnessFlags) checkFlags() (err error) {
	if (len(w.given) > 0 || w.file != "") && w.every < cosigning.EveryMin {
		return usageError("--witness-every must be at least %v", cosigning.EveryMin)
	}
	if w.file != "" {
		return w.readPolicy()
	}
	if w.parsed, err = cosigning.ParseWitnesses(w.given); err != nil {
		return usageError("--witness: %w", err)
	}
	return nil
}

func (w *witnessFlags) readPolicy() error {
	if len(w.given) > 0 {
		return usageError("--witness and --log-policy: give one of them")
	}
	text, err := os.ReadFile(w.file)
	if err == nil {
		w.policy, w.parsed, err = cosigning.ParsePolicy(string(text))
	}
	if err != nil {
		return usageError("--log-policy: %w", err)
	}
	return nil
}
