package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/ofac"
)

// A list's file is named by the digest of its content, so a damaged one is known by itself. It is
// replaced by what the state has of the active and the staged list, or by a peer's copy. Until
// then it stays as it is: nobody has to believe it, and part of it may be of use to a person.

// checkNext reads the file of the list whose name follows the given one, mends it if it is damaged,
// and returns its name; "": there is none.
func (k *listKeeper) checkNext(after string) string {
	entries, err := os.ReadDir(k.dir) // Sorted.
	if err != nil {
		k.tell(slog.LevelError, "kept lists could not be read again", "error", err)
		return ""
	}
	for _, entry := range entries {
		name := entry.Name()
		digest, is := digestOf(name)
		if name <= after || !is {
			continue
		}
		data, err := os.ReadFile(filepath.Join(k.dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // Deleted or renamed meanwhile.
		case err == nil && ofac.Digest(data) == digest:
			k.forgetRotten(name)
		default:
			k.noteRotten(name)
			_ = k.mendFile(name, digest) // It is told; the next pass tries again.
		}
		return name
	}
	return ""
}

// digestOf returns the digest that the name of a list's file gives.
func digestOf(name string) (digest [32]byte, is bool) {
	for _, suffix := range []string{listSuffix, stagedSuffix} {
		if text, has := strings.CutSuffix(name, suffix); has {
			b, err := hex.DecodeString(text)
			if err == nil && len(b) == sha256.Size {
				return [32]byte(b), true
			}
		}
	}
	return digest, false
}

// tell logs what became of a list's file.
func (k *listKeeper) tell(level slog.Level, text string, members ...any) {
	k.life.log.Log(context.Background(), level, text, members...)
}

// noteRotten counts and tells a damaged file, once until it is mended.
func (k *listKeeper) noteRotten(name string) {
	k.mu.Lock()
	known := k.rotten[name]
	k.rotten[name] = true
	k.mu.Unlock()
	if !known {
		listDamageFound.Inc()
		k.life.note(recorder.List, "damaged on disk: "+name)
		k.tell(slog.LevelError, "a sanctions list on this disk is damaged: its content is not that of its name", "file", datadir.ListFolder+"/"+name)
	}
}

func (k *listKeeper) forgetRotten(name string) {
	k.mu.Lock()
	delete(k.rotten, name)
	k.mu.Unlock()
}

// describeRotten says which lists on this disk are damaged and how they come back.
func (k *listKeeper) describeRotten() (warnings []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.rotten {
		warnings = append(warnings, fmt.Sprintf("the sanctions list %s/%s on this node's disk is damaged, and no node that answers has another copy: "+
			"verdicts go on, but those of its time cannot be judged again. Put the file of that name from a backup in its place (RailguardHistoryDamaged in docs/RUNBOOKS.md)", datadir.ListFolder, name))
	}
	slices.Sort(warnings)
	return warnings
}

// mendFile writes a list's file from a copy that the state or a peer has, in place of a damaged one
// or of none. It returns ErrNoList if nobody has one.
func (k *listKeeper) mendFile(name string, digest [32]byte) error {
	k.mending.Lock()
	defer k.mending.Unlock()
	path := filepath.Join(k.dir, name)
	have, err := os.ReadFile(path)
	found := !errors.Is(err, fs.ErrNotExist)
	if err == nil && ofac.Digest(have) == digest {
		k.forgetRotten(name)
		return nil // Mended meanwhile.
	}
	data, from := k.copyOf(digest)
	if data == nil {
		return ErrNoList
	}
	if err := datadir.ReplaceGently(k.dir, name, data, func() bool { return true }); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if found {
		k.tell(slog.LevelWarn, "the damaged list is whole again", "file", datadir.ListFolder+"/"+name, "from_byte", differsAt(have, data), "copy", from)
	}
	k.forgetRotten(name)
	// Marked as in use now: an increment of a backup that left it out must take it.
	return touchFile(path, k.state.LogTime())
}

// differsAt returns the first byte in which two files differ.
func differsAt(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// copyOf returns the entities of a list from the state, or from a peer, and which of the two; nil:
// nobody who answers has them.
func (k *listKeeper) copyOf(digest [32]byte) (data []byte, from string) {
	k.mu.Lock()
	for _, list := range append([]wantedList{k.active}, k.staged...) {
		if list.digest == digest && len(list.entities) > 0 {
			data = list.entities
		}
	}
	k.mu.Unlock()
	if data != nil && ofac.Digest(data) == digest {
		return data, "the state"
	}
	if k.peers == nil || k.peers.hasNoPort() {
		return nil, ""
	}
	for _, l := range k.peers.leaderFirst(linkFetch) {
		data, err := readList(l, digest)
		if err == nil && ofac.Digest(data) == digest {
			return data, "a peer"
		}
	}
	return nil, ""
}

// readList reads a whole list from a peer, in pieces.
func readList(l *port.Link, digest [32]byte) ([]byte, error) {
	var data bytes.Buffer
	for {
		ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
		r, err := port.Ask(ctx, l, &port.ListCall{Digest: digest[:], Offset: int64(data.Len())})
		cancel()
		switch {
		case err != nil:
			return nil, err
		case r.Code != 0, len(r.Data) == 0, r.Total > engine.ListMax:
			return nil, ErrNoList
		}
		data.Write(r.Data)
		if int64(data.Len()) >= r.Total {
			return data.Bytes(), nil
		}
	}
}
