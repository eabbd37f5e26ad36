package load

import (
	"errors"
	"time"
)

// usage is what some processes have used of the machine so far.
type usage struct {
	at      time.Time
	cpu     time.Duration
	written int64 // Bytes handed to the disk.
	held    int64 // Present memory, in bytes.
}

// usageOf adds up some processes.
func usageOf(pids []int) (usage, error) {
	sum := usage{at: time.Now()}
	if len(pids) == 0 {
		return sum, errors.New("no processes of ours to measure")
	}
	for _, pid := range pids {
		one, err := processUsage(pid)
		if err != nil {
			return sum, err
		}
		sum.cpu += one.cpu
		sum.written += one.written
		sum.held += one.held
	}
	return sum, nil
}

// since returns what was used since an earlier moment.
func (u usage) since(before usage) usage {
	return usage{at: u.at, cpu: u.cpu - before.cpu, written: u.written - before.written, held: u.held}
}
