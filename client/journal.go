package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The steps of a payment, in their order. Decision 160 has the form of their lines, which the three
// languages share.
const (
	stepScreen  = "screen"  // It is about to be screened.
	stepVerdict = "verdict" // It was judged.
	stepSend    = "send"    // It is about to be sent.
	stepSent    = "sent"    // It was sent.
	stepNotSent = "notSent" // It surely was not.
	stepEnd     = "end"     // The service knows what became of it.
)

const (
	journalVersion = 1
	journalLineMax = 256 << 10 // Bytes.
	journalMax     = 64 << 20  // Bytes of a file. Then it takes no new payments: begin another one.
	journalIDMax   = 240       // Characters, so that the keys of settle and release fit too.
)

// Errors of a journal.
var (
	ErrJournal       = errors.New("railguard: the journal cannot be read")
	ErrJournalLocked = errors.New("railguard: another process uses the journal")
	ErrJournalFull   = errors.New("railguard: the journal is full: begin another file")
	ErrJournalKnown  = errors.New("railguard: the journal knows this payment: Resume ends it, and nothing sends it again")
)

// JournalStore keeps the lines of a journal. OpenJournal has one in a file; yours may be a table of a
// database. One process uses it at a time.
type JournalStore interface {
	// Lines returns all lines that are kept, in their order.
	Lines() ([][]byte, error)
	// Append keeps one line behind the others, and returns when it outlives a crash. A line of which it
	// returned an error may be there or not. The journal calls it once at a time, and not again after an error.
	Append(line []byte) error
	// Room reports whether a new payment fits.
	Room() bool
	Close() error
}

// Journal knows how far each payment came that Pay began. It may be used by many goroutines of one process.
type Journal struct {
	store JournalStore

	mutex  sync.Mutex
	known  map[string]*journalEntry
	order  []string // Of what is open, by its beginning.
	broken error
}

// journalEntry is how far a payment came. An ended one keeps its step and state alone.
type journalEntry struct {
	journalStep
	busy bool // A Pay or a Resume of this process works on it.
}

// journalStep is one line, and the members are in the form's order.
type journalStep struct {
	Version     int             `json:"v"`
	ID          string          `json:"id"`
	At          string          `json:"at"`
	Step        string          `json:"step"`
	Payment     json.RawMessage `json:"payment,omitempty"` // The body of the screening call, without token and hold.
	HoldSeconds int             `json:"holdSeconds,omitempty"`
	Verdict     string          `json:"verdict,omitempty"`
	TxnID       string          `json:"txnId,omitempty"`
	RailRef     *string         `json:"railRef,omitempty"`
	Amount      *string         `json:"amount,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	State       string          `json:"state,omitempty"`
}

// OpenJournal opens a journal in a file, or makes it. Close it at the end. Only one process may have it open:
// another one gets ErrJournalLocked. What a crash left of a last line is taken away.
func OpenJournal(path string) (*Journal, error) {
	store, err := OpenJournalFile(path)
	if err != nil {
		return nil, err
	}
	journal, err := NewJournal(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return journal, nil
}

// NewJournal reads what a store holds.
func NewJournal(store JournalStore) (*Journal, error) {
	lines, err := store.Lines()
	if err != nil {
		return nil, err
	}
	j := &Journal{store: store, known: map[string]*journalEntry{}}
	for i, raw := range lines {
		var step journalStep
		if err := json.Unmarshal(raw, &step); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrJournal, i+1, err)
		}
		if err := j.take(&step); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrJournal, i+1, err)
		}
	}
	return j, nil
}

// Close gives the journal back.
func (j *Journal) Close() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.broken = errors.New("railguard: the journal is closed")
	return j.store.Close()
}

// followers are the steps that may follow a step; "" is before the first.
var followers = map[string]string{
	"": stepScreen, stepScreen: stepVerdict + " " + stepEnd, stepVerdict: stepSend + " " + stepEnd, stepSend: stepSent + " " + stepNotSent, stepSent: stepEnd, stepNotSent: stepEnd, stepEnd: "",
}

// take adds a line to what is known.
func (j *Journal) take(step *journalStep) error {
	entry := j.known[step.ID]
	before := ""
	if entry != nil {
		before = entry.Step
	}
	switch {
	case step.Version != journalVersion:
		return fmt.Errorf("version %d", step.Version)
	case step.ID == "" || step.At == "":
		return errors.New("no id or no time")
	case step.Step == "" || !strings.Contains(" "+followers[before]+" ", " "+step.Step+" "):
		return fmt.Errorf("step %q behind %q", step.Step, before)
	}
	if entry == nil {
		entry = &journalEntry{}
		j.known[step.ID] = entry
		j.order = append(j.order, step.ID)
	}
	entry.follow(step)
	if step.Step == stepEnd {
		j.forget(step.ID)
	}
	return step.whole()
}

// whole reports what a line lacks.
func (l *journalStep) whole() error {
	lacks := false
	switch l.Step {
	case stepScreen:
		lacks = len(l.Payment) < 2 || l.Payment[0] != '{' || l.HoldSeconds <= 0
	case stepVerdict:
		lacks = l.Verdict == "" || l.TxnID == ""
	case stepSend:
		lacks = l.TxnID == ""
	case stepSent:
		lacks = l.RailRef == nil
	case stepEnd:
		lacks = l.State != PaidSettled && l.State != PaidReleased && l.State != PaidRefused
	}
	if lacks {
		return fmt.Errorf("step %q is not whole", l.Step)
	}
	return nil
}

// follow writes a line's members over those of earlier steps.
func (e *journalEntry) follow(step *journalStep) {
	if step.Step == stepEnd {
		e.journalStep = journalStep{ID: step.ID, Step: step.Step, TxnID: e.TxnID, State: step.State}
		return
	}
	before := e.journalStep
	e.journalStep = *step
	if step.Step != stepScreen {
		e.At = before.At // When it began.
		e.Payment, e.HoldSeconds = before.Payment, before.HoldSeconds
	}
	if step.TxnID == "" {
		e.TxnID = before.TxnID
	}
	if step.Verdict == "" {
		e.Verdict = before.Verdict
	}
}

func (j *Journal) forget(id string) {
	for i := range j.order {
		if j.order[i] == id {
			j.order = append(j.order[:i], j.order[i+1:]...)
			return
		}
	}
}

// append keeps a line before what it announces is done.
func (j *Journal) append(step journalStep) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.broken != nil {
		return j.broken
	}
	step.Version, step.At = journalVersion, time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	raw, err := rawMember(step)
	if err != nil {
		return err
	}
	if len(raw) > journalLineMax {
		return fmt.Errorf("railguard: a line of %d bytes: the journal takes %d", len(raw), journalLineMax)
	}
	if err := j.store.Append(raw); err != nil {
		j.broken = fmt.Errorf("railguard: the journal: %w", err)
		return j.broken
	}
	return j.take(&step)
}

// begin keeps the first line of a payment, which is busy from then on.
func (j *Journal) begin(step journalStep) error {
	j.mutex.Lock()
	if j.known[step.ID] != nil {
		j.mutex.Unlock()
		return ErrJournalKnown
	}
	if j.broken == nil && !j.store.Room() {
		j.mutex.Unlock()
		return ErrJournalFull
	}
	j.known[step.ID] = &journalEntry{busy: true} // Nobody else begins it meanwhile.
	j.order = append(j.order, step.ID)
	j.mutex.Unlock()
	if err := j.append(step); err != nil {
		j.mutex.Lock()
		delete(j.known, step.ID)
		j.forget(step.ID)
		j.mutex.Unlock()
		return err
	}
	return nil
}

// claim returns the open payments that nobody works on, and makes them busy.
func (j *Journal) claim() (all []journalStep) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for _, id := range j.order {
		if entry := j.known[id]; !entry.busy {
			entry.busy = true
			all = append(all, entry.journalStep)
		}
	}
	return all
}

func (j *Journal) leave(id string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if entry := j.known[id]; entry != nil {
		entry.busy = false
	}
}
