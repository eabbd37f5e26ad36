package main

import (
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"railguard/httpapi/tracing"
)

// traceFlags say whether, and where, the walk of sampled calls is sent
// (docs/decisions/0168-traces.md).
type traceFlags struct {
	collector, headerFile string
	share                 float64
}

func (f *traceFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.collector, "trace-to", "", "URL of a collector of OpenTelemetry (OTLP over HTTP, JSON), such as http://127.0.0.1:4318/v1/traces: sampled calls are sent there as spans; none is sent without it")
	flags.Float64Var(&f.share, "trace-share", 0, "part of the calls without a traceparent that are sampled, 0 to 1; a call with one is sampled if its flag says so")
	flags.StringVar(&f.headerFile, "trace-header-file", "", "file with a header for the collector (Name: value), such as its key")
}

func (f *traceFlags) check() error {
	_, err := f.makeTracer("", slog.New(slog.DiscardHandler))
	return err
}

// makeTracer returns the tracer of a node; nil: its calls are not traced.
func (f *traceFlags) makeTracer(node string, log *slog.Logger) (*tracing.Tracer, error) {
	if f.collector == "" {
		if f.share != 0 || f.headerFile != "" {
			return nil, usageError("--trace-share and --trace-header-file are for --trace-to")
		}
		return nil, nil
	}
	header := ""
	if f.headerFile != "" {
		data, err := os.ReadFile(f.headerFile)
		if err != nil {
			return nil, usageError("--trace-header-file: %w", err)
		}
		header = strings.TrimSpace(string(data))
	}
	tracer, err := tracing.New(tracing.Config{Collector: f.collector, Share: f.share, Header: header, Node: node, Version: version, Logger: log})
	if err != nil {
		return nil, usageError("--trace-to: %w", err)
	}
	return tracer, nil
}
