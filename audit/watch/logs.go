package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"railguard/audit/note"
)

// LogsMax bounds the logs of one witness.
const LogsMax = 256

// followPause is the least time between two times that a log is asked for its keys.
const followPause = time.Minute

// Logs are the folders of a witness of many logs, DIR/HASH by the SHA-256 of the origin, each a State
// of its own: nothing that one log sends reaches what is kept of another. It is a witness.Store.
type Logs struct {
	dir  string
	lock *os.File
	logs map[string]*State // By origin. It does not change after OpenLogs.

	mutex sync.Mutex
	asked map[string]time.Time // When each log was last asked for its keys.
}

// OpenLogs opens or makes a folder for logs, each given by its verifier keys, and locks it.
func OpenLogs(dir string, keys []string) (*Logs, error) {
	if len(keys) == 0 || len(keys) > LogsMax {
		return nil, fmt.Errorf("%d logs; 1 to %d", len(keys), LogsMax)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Logs{dir: dir, lock: lock, logs: map[string]*State{}, asked: map[string]time.Time{}}
	if err := lockFile(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another witness: %w", dir, err), l.Close())
	}
	for _, own := range keys {
		if err := l.open(own); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// open opens the folder of one log.
func (l *Logs) open(keys string) error {
	if err := note.CheckKeys(keys); err != nil {
		return err
	}
	origin := note.NewestOrigin(keys)
	if l.logs[origin] != nil {
		return fmt.Errorf("the log %s is given twice: put all its keys together", origin)
	}
	sum := sha256.Sum256([]byte(origin))
	state, err := OpenState(filepath.Join(l.dir, hex.EncodeToString(sum[:])), keys)
	if err == nil {
		l.logs[origin] = state
	}
	return err
}

// Close unlocks the folders.
func (l *Logs) Close() error {
	err := l.lock.Close()
	for _, state := range l.logs {
		err = errors.Join(err, state.Close())
	}
	return err
}

// Origins returns the logs.
func (l *Logs) Origins() []string { return slices.Sorted(maps.Keys(l.logs)) }

// KeysOf returns the trusted keys of a log; "" if it is not one of these.
func (l *Logs) KeysOf(origin string) string {
	if state := l.logs[origin]; state != nil {
		return state.Keys()
	}
	return ""
}

// Cosigned returns the newest checkpoint of a log that was cosigned; nil: none.
func (l *Logs) Cosigned(origin string) ([]byte, error) { return l.logs[origin].Cosigned(origin) }

// SetCosigned keeps a checkpoint before it is cosigned.
func (l *Logs) SetCosigned(origin string, signed []byte) error {
	return l.logs[origin].SetCosigned(origin, signed)
}

// Latest returns nothing: a witness without a watcher knows only what it is sent.
func (l *Logs) Latest() (point note.Checkpoint, signed []byte, taken time.Time, ok bool) {
	return point, nil, taken, false
}

// MayAsk reports whether a log may be asked for its keys now, and counts that as asked. Anybody can
// send a checkpoint that nobody signed, and nobody may have the witness ask a log for each.
func (l *Logs) MayAsk(origin string, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if last, asked := l.asked[origin]; asked && now.Sub(last) < followPause {
		return false
	}
	l.asked[origin] = now
	return true
}

// Follow takes the keys of a log that those trusted endorse, one after another, from what the log
// lists. changed reports whether there were any.
func (l *Logs) Follow(origin, listed string) (changed bool, err error) {
	trusted, steps, err := note.Succession(l.KeysOf(origin), listed)
	if err != nil || len(steps) == 0 {
		return false, err
	}
	return true, l.logs[origin].SetKeys(trusted)
}
