package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const drillRemoves = 20 // Attempts to remove a folder in which somebody still writes.

// abandonOnSignal has a second signal end the drill at once, without what it made: the first one
// asks for an end in order, and what restores, or a node that ends, may take its time. The
// function that it returns is called when there is nothing left to be removed.
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

// abandonRun ends the node and the process, and leaves no folder.
func (d *drillRun) abandonRun(scratch string) {
	if child := d.child.Load(); child != nil {
		_ = child.Kill() // It may have ended.
	}
	var err error
	for range drillRemoves { // Who still writes there makes a file anew; once the folder is gone nobody can.
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
