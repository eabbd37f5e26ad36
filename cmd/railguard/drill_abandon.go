package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const drillRemoves = 20 // Attempts to remove a folder in which another process still writes.

// abandonOnSignal makes a second signal end the drill at once and remove its folder. The first
// signal asks for an orderly end, which can take time while files are restored or a node ends.
// The caller calls done when there is nothing left to remove.
func (d *drillRun) abandonOnSignal(ctx context.Context, scratch string) (done func()) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for again := ctx.Err() != nil; ; again = true {
			select {
			case <-over:
				return
			case <-signals:
			}
			if again {
				d.abandonRun(scratch)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

// abandonRun kills the node, removes the folder and ends the process.
func (d *drillRun) abandonRun(scratch string) {
	if child := d.child.Load(); child != nil {
		_ = child.Kill() // It may have ended already.
	}
	var err error
	for range drillRemoves { // A process that still writes can create a file in the folder again, until the folder is gone.
		if err = os.RemoveAll(scratch); err == nil {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "railguard: the drill was ended before it was done: nothing is known")
	if err != nil {
		fmt.Fprintln(os.Stderr, "railguard: scratch folder:", err)
	}
	os.Exit(exitFailed)
}
