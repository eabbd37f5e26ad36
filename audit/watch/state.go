package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"railguard/audit/note"
)

// The watcher's folder:
//
//	DIR/lock                  held by the one process that may use DIR
//	DIR/keys                  the verifier keys it trusts, those of rotations it followed included
//	DIR/latest                the newest checkpoint that it has verified to continue all before
//	DIR/checkpoints/DATE      every such checkpoint of a UTC day, each between a line "@ TIME" and an empty line
//	DIR/alarms/TIME-N-KIND.txt what was found wrong, with the signed notes that show it
//	DIR/cosigned/HASH         the newest checkpoint that was cosigned, by SHA-256 of the origin
//
// Every file is synced before its content is trusted. Old days may be deleted.
const (
	lockName     = "lock"
	keysName     = "keys"
	latestName   = "latest"
	historyName  = "checkpoints"
	alarmsName   = "alarms"
	cosignedName = "cosigned"
)

// alarmsMax bounds the files of alarms.
const alarmsMax = 10_000

// State is the watcher's own folder.
type State struct {
	dir  string
	lock *os.File

	mutex  sync.Mutex
	keys   string
	latest []byte
	point  note.Checkpoint // The checkpoint in the file latest.
	grewAt time.Time       // When latest was accepted.
}

// OpenState opens or makes a folder, and locks it. If the operator gives keys that the folder
// does not hold, they replace the trusted keys.
func OpenState(dir, keys string) (*State, error) {
	for _, name := range []string{"", historyName, alarmsName, cosignedName} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &State{dir: dir, lock: lock}
	if err := lockFile(lock); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another watcher: %w", dir, err), s.Close())
	}
	if err := s.loadFolder(keys); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *State) loadFolder(keys string) error {
	held, err := s.readFile(keysName)
	if err != nil {
		return err
	}
	s.keys = string(held)
	if keys != "" {
		if err := note.CheckKeys(keys); err != nil {
			return err
		}
	}
	given := keys != "" && !holdsAll(s.keys, keys)
	if !given {
		keys = s.keys
	}
	if s.latest, err = s.readFile(latestName); err != nil {
		return err
	}
	if s.latest != nil {
		if s.point, err = note.Verify(s.latest, keys); err != nil {
			return fmt.Errorf("%s/%s: the checkpoint kept there does not verify under the keys: %w", s.dir, latestName, err)
		}
	}
	if given { // Keys are replaced only now that the latest checkpoint was verified with them.
		if err := s.SetKeys(keys); err != nil {
			return err
		}
	}
	if s.latest == nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(s.dir, latestName))
	if err != nil {
		return err
	}
	s.grewAt = info.ModTime()
	return nil
}

// holdsAll reports whether the keys of a folder include all given ones.
func holdsAll(held, given string) bool {
	for line := range strings.Lines(given) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.Contains("\n"+held, "\n"+line+"\n") {
			return false
		}
	}
	return true
}

// Close unlocks the folder.
func (s *State) Close() error { return s.lock.Close() }

// Keys returns the trusted verifier keys; "" before any were given.
func (s *State) Keys() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.keys
}

// KeysOf returns the trusted verifier keys: a watcher's folder is of one log, under all its names.
func (s *State) KeysOf(string) string { return s.Keys() }

// SetKeys replaces the trusted keys.
func (s *State) SetKeys(keys string) error {
	if err := s.replaceFile(keysName, []byte(keys)); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.keys = keys
	return nil
}

// Latest returns the newest checkpoint that was verified to continue all before it, and when
// it was accepted. ok is false if there is none.
func (s *State) Latest() (point note.Checkpoint, signed []byte, taken time.Time, ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.point, s.latest, s.grewAt, s.latest != nil
}

// acceptCheckpoint keeps a checkpoint that was verified.
func (s *State) acceptCheckpoint(point note.Checkpoint, signed []byte, now time.Time) error {
	entry := append(fmt.Appendf(nil, "@ %s\n", now.UTC().Format(time.RFC3339)), signed...)
	if err := s.appendFile(filepath.Join(historyName, now.UTC().Format(time.DateOnly)), append(entry, '\n')); err != nil {
		return err
	}
	if err := s.replaceFile(latestName, signed); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.latest, s.point, s.grewAt = signed, point, now
	return nil
}

// keepAlarm writes an alarm and its evidence to a file.
func (s *State) keepAlarm(f *Finding, now time.Time) (path string, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, alarmsName))
	if err != nil || len(entries) >= alarmsMax {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n%s\nseen at %s\n", f.Kind, now.UTC().Format(time.RFC3339), f.Text, f.Source)
	for _, signed := range f.Evidence {
		fmt.Fprintf(&text, "\n----\n%s", signed)
	}
	name := filepath.Join(alarmsName, fmt.Sprintf("%s-%d-%s.txt", now.UTC().Format("20060102T150405Z"), len(entries), f.Kind))
	return filepath.Join(s.dir, name), s.replaceFile(name, []byte(text.String()))
}

func cosignedFile(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return filepath.Join(cosignedName, hex.EncodeToString(sum[:]))
}

// Cosigned returns the newest checkpoint that was cosigned for an origin; nil: none.
func (s *State) Cosigned(origin string) ([]byte, error) { return s.readFile(cosignedFile(origin)) }

// SetCosigned keeps a checkpoint before it is cosigned. It is on disk when SetCosigned
// returns.
func (s *State) SetCosigned(origin string, signed []byte) error {
	return s.replaceFile(cosignedFile(origin), signed)
}

// readFile returns the content of a file; nil if there is none.
func (s *State) readFile(name string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// replaceFile replaces a file so that a crash leaves the old or the new content.
func (s *State) replaceFile(name string, data []byte) error {
	path := filepath.Join(s.dir, name)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func (s *State) appendFile(name string, data []byte) error {
	path := filepath.Join(s.dir, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
