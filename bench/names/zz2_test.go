package names_test

import (
	"os"
	"railguard/bench/names"
	"testing"
)

func XTestMiss(t *testing.T) {
	d := load(t)
	f, _ := names.NewFit(d)
	o, _ := os.Create("/tmp/w/miss.txt")
	f.Misses(o)
	o.Close()
}
