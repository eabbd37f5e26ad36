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

// tokenFile is where `signing-key reissue` writes new tokens, a JSON line each. Beside it,
// in FILE.now, stands whom it is issuing, and whose issuing has no known outcome: a run
// that is ended between the issuing and the line would leave that agent without a token
// that anybody has, and with one that needs no other.
type tokenFile struct {
	*os.File
	now   string   // Path of FILE.now.
	owed  []string // Of the run before.
	doubt []string // Of this one.
}

const tokenLineMax = 64 << 10

// openTokenFile makes a file or goes on with one. A last line that was not written whole is cut off.
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
	t.owed = slices.DeleteFunc(strings.Fields(string(data)), func(id string) bool { return id == last }) // Its line was written.
	return t, nil
}

// mendEnd cuts off what is behind the last whole line, and says whose that is.
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

// owesToken says whether somebody may have been issued a token in the run before that no line has.
func (t *tokenFile) owesToken(id string) bool { return slices.Contains(t.owed, id) }

// noteDoubt notes that it is not known whether somebody was issued a token.
func (t *tokenFile) noteDoubt(id string) { t.doubt = append(t.doubt, id) }

// beginToken notes whom is issued next.
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

// closeFile ends the file; of a run that came to its end nobody is owed anything.
func (t *tokenFile) closeFile(done bool) error {
	err := errors.Join(t.Sync(), t.Close())
	if done && err == nil {
		if err = os.Remove(t.now); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}
