package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows how far a long task is: on one line of a terminal, otherwise as a new line
// every few seconds.
type progress struct {
	out      io.Writer
	what     string
	total    int64 // Bytes or other units; 0: unknown.
	done     int64
	last     time.Time
	terminal bool
	shown    bool
	printed  int64 // The value of done in the last line.
}

func newProgress(out io.Writer, what string) *progress {
	p := &progress{out: out, what: what}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// Write counts bytes, so that progress can be one writer of a copy.
func (p *progress) Write(data []byte) (int, error) {
	p.setDone(p.done+int64(len(data)), p.total)
	return len(data), nil
}

func (p *progress) setDone(done, total int64) {
	p.done, p.total = done, total
	every := 3 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	p.printState()
}

func (p *progress) printState() {
	text := fmt.Sprintf("%s %.1f MB", p.what, float64(p.done)/1e6)
	if p.total > 0 {
		text = fmt.Sprintf("%s %3d%% of %.1f MB", p.what, p.done*100/p.total, float64(p.total)/1e6)
	}
	p.shown, p.printed = true, p.done
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.out, text)
}

// endLine prints the last state and ends the line.
func (p *progress) endLine() {
	if !p.shown && !p.terminal {
		return
	}
	if p.terminal || p.done != p.printed {
		p.printState()
	}
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}
