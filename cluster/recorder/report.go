package recorder

import "encoding/json"

// Report is what one node tells of itself for `railguard debug`. It holds no secret, no name of a
// person or party and no content of a payment.
type Report struct {
	Node      string          `json:"node"`
	Version   string          `json:"version"`
	Commit    string          `json:"commit"`
	Go        string          `json:"go"`
	StartedAt int64           `json:"startedAt"` // Milliseconds since 1970, as in entries.
	Now       int64           `json:"now"`
	LogTime   int64           `json:"logTime"`
	Entries   []Entry         `json:"entries"`
	Lines     []string        `json:"lines"` // JSON.
	Settings  [][3]string     `json:"settings"`
	Status    json.RawMessage `json:"status"` // As GET /v1/cluster/status answers.
	Metrics   string          `json:"metrics"`

	Goroutines string   `json:"goroutines"`
	Heap       []byte   `json:"heap"`    // In the form of pprof.
	CPU        []byte   `json:"cpu"`     // In the form of pprof; nil: none was made.
	Missing    []string `json:"missing"` // What could not be gathered, and why.
}
