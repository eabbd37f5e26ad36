package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// tokenFile is the file to which `signing-key reissue` writes new tokens, one JSON line each.
// The file FILE.now beside it names the agent whose token is being issued, and agents for
// which it is not known whether one was issued. A run may be killed after a token was issued
// and before its line was written. Without FILE.now the next run would not see that this
// agent's token is missing.
type tokenFile struct {
	*os.File
	now   string   // Path of FILE.now.
	owed  []string // Ids that the run before left in FILE.now.
	doubt []string // Ids for which this run does not know whether a token was issued.
}

const tokenLineMax = 64 << 10

// openTokenFile opens a token file or makes a new one. It cuts off an incomplete last line.
func openTokenFile(path string) (t *tokenFile, err error) {
	t = &tokenFile{now: path + ".now"}
	if t.File, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	last, err := t.mendEnd()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(t.now)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.owed = slices.DeleteFunc(strings.Fields(string(data)), func(id string) bool { return id == last }) // The line of last was written.
	return t, nil
}

// mendEnd cuts off what follows the last complete line, and returns the id in that line.
func (t *tokenFile) mendEnd() (last string, err error) {
	size, err := t.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return "", err
	}
	from := max(size-2*tokenLineMax, 0)
	tail := make([]byte, size-from)
	if _, err := t.ReadAt(tail, from); err != nil {
		return "", err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	if whole == 0 && from > 0 {
		return "", errors.New("its last lines are no tokens")
	}
	if err := t.Truncate(from + int64(whole)); err != nil {
		return "", err
	}
	if _, err := t.Seek(0, io.SeekEnd); err != nil {
		return "", err
	}
	line := bytes.TrimSuffix(tail[:whole], []byte{'\n'})
	var one struct{ AgentID, UserID string }
	if json.Unmarshal(line[bytes.LastIndexByte(line, '\n')+1:], &one) != nil {
		return "", nil //nolint:nilerr // Of another's making: it names nobody.
	}
	return cmp.Or(one.AgentID, one.UserID), nil
}

// owesToken reports whether the run before may have issued a token to id without writing its
// line.
func (t *tokenFile) owesToken(id string) bool { return slices.Contains(t.owed, id) }

// noteDoubt notes that it is not known whether id was issued a token.
func (t *tokenFile) noteDoubt(id string) { t.doubt = append(t.doubt, id) }

// beginToken writes to FILE.now that id is next.
func (t *tokenFile) beginToken(id string) error {
	text := strings.Join(slices.Concat(t.owed, t.doubt, []string{id}), "\n") + "\n"
	return os.WriteFile(t.now, []byte(text), 0o600)
}

func (t *tokenFile) writeToken(of *party, id, name, operator, token string) error {
	members := map[string]string{of.id: id, "token": token}
	if of.id == "agentId" {
		members["agentName"], members["operatorLegalName"] = name, operator
	}
	line, err := json.Marshal(members)
	if err != nil {
		return err
	}
	if _, err := t.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("--file: %w (the token of %s can be had again: railguard %s get %s)", err, id, strings.TrimSuffix(of.name, "s"), id)
	}
	t.owed = slices.DeleteFunc(t.owed, func(owed string) bool { return owed == id })
	return nil
}

// closeFile closes the file. After a completed run (done) it removes FILE.now.
func (t *tokenFile) closeFile(done bool) error {
	err := errors.Join(t.Sync(), t.Close())
	if done && err == nil {
		if err = os.Remove(t.now); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}
