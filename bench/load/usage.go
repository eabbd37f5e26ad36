package load

import (
	"encoding/json"
	"time"
)

// usage is what some processes have used of the machine so far.
type usage struct {
	at      time.Time
	cpu     time.Duration
	written int64 // Bytes handed to the disk.
	held    int64 // Present memory, in bytes.
	peak    int64 // The most memory since the process began.
}

// add adds what another process has used.
func (u *usage) add(other usage) {
	u.at = other.at
	u.cpu += other.cpu
	u.written += other.written
	u.held += other.held
	u.peak += other.peak
}

// usageText is usage between an attendant and a loader. Clocks of two machines differ, so it has
// no time.
type usageText struct {
	CPU     time.Duration `json:"cpu"`
	Written int64         `json:"written"`
	Held    int64         `json:"held"`
	Peak    int64         `json:"peak"`
}

// MarshalJSON writes usage for a loader.
func (u usage) MarshalJSON() ([]byte, error) {
	return json.Marshal(usageText{u.cpu, u.written, u.held, u.peak})
}

// UnmarshalJSON reads what an attendant wrote.
func (u *usage) UnmarshalJSON(raw []byte) error {
	var text usageText
	err := json.Unmarshal(raw, &text)
	*u = usage{time.Now(), text.CPU, text.Written, text.Held, text.Peak}
	return err
}

// since returns what was used since an earlier moment.
func (u usage) since(before usage) usage {
	return usage{at: u.at, cpu: u.cpu - before.cpu, written: u.written - before.written, held: u.held, peak: u.peak}
}
