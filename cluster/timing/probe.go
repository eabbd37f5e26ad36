package timing

import (
	"os"
	"sync"
	"time"
)

const (
	probeEvery = 5 * time.Millisecond   // Pause between two probes.
	probeValid = 100 * time.Millisecond // A result says nothing about what comes so much later.
)

// Probe measures how long a call waits before its handler begins: for the poll that finds its
// bytes, and for a processor. It sends one byte to itself through a pipe, whose reader is woken
// as the reader of a connection is. Nothing is sent unless somebody asks. A Probe is safe for
// concurrent use; the zero value, and nil, measure nothing.
type Probe struct {
	writer *os.File
	now    func() time.Duration // It does not jump.

	mu   sync.Mutex
	sent time.Duration // When the probe under way was sent; 0: none is.
	came time.Duration // When the last one came back,
	took time.Duration // and how long it took.
}

// NewProbe returns a probe that runs as long as the process does.
func NewProbe() (*Probe, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	began := time.Now().Add(-time.Hour) // So that the first probe is sent long after 0.
	p := &Probe{writer: writer, now: func() time.Duration { return time.Since(began) }}
	go p.receive(reader)
	return p, nil
}

func (p *Probe) receive(reader *os.File) {
	var one [1]byte
	for {
		if _, err := reader.Read(one[:]); err != nil {
			return
		}
		now := p.now()
		p.mu.Lock()
		p.came, p.took, p.sent = now, now-p.sent, 0
		p.mu.Unlock()
	}
}

// Wait returns how long a call waits at present before its handler begins, as far as is known,
// and sends the next probe if it is time.
func (p *Probe) Wait() time.Duration {
	if p == nil || p.writer == nil {
		return 0
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.took
	if now-p.came > probeValid {
		wait = 0
	}
	switch {
	case p.sent != 0:
		return max(wait, now-p.sent)
	case now-p.came >= probeEvery:
		if _, err := p.writer.Write([]byte{0}); err == nil {
			p.sent = now
		}
	}
	return wait
}
