package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"railguard/audit/note"
	"railguard/audit/proof"
)

var (
	// ErrAway: the log did not answer, or answered something else. That proves nothing against
	// the log unless it lasts.
	ErrAway = errors.New("watch: no answer")
	// ErrAbsent: the log answered that it does not have the document.
	ErrAbsent = fmt.Errorf("%w: not there", ErrAway)
	// ErrFork: the log has shown two trees of which neither continues the other.
	ErrFork = errors.New("watch: the trees do not continue one another")
)

// Bounds of a log's answers, in bytes.
const (
	keysMax        = 1 << 20
	consistencyMax = 64 << 10
	tileMax        = 256 * 32
)

// Source is a log's public documents at one address.
type Source struct {
	Base string // The part of the URL before /log/…, without a slash at its end.
	HTTP *http.Client
}

// Checkpoint returns the signed tree head, unverified.
func (s *Source) Checkpoint(ctx context.Context) ([]byte, error) {
	return s.fetchDocument(ctx, "/log/checkpoint", note.CheckpointSizeMax)
}

// Head returns the signed tree head to verify with some keys, unverified: if they demand a
// witness, the newest that witnesses cosigned.
func (s *Source) Head(ctx context.Context, keys string) ([]byte, error) {
	if len(note.Witnesses(keys)) > 0 {
		return s.Cosigned(ctx)
	}
	return s.Checkpoint(ctx)
}

// Cosigned returns the newest checkpoint that witnesses cosigned, unverified.
func (s *Source) Cosigned(ctx context.Context) ([]byte, error) {
	return s.fetchDocument(ctx, "/log/cosigned", note.CheckpointSizeMax)
}

// Keys returns the log's own list of its verifier keys, unverified.
func (s *Source) Keys(ctx context.Context) (string, error) {
	data, err := s.fetchDocument(ctx, "/log/keys", keysMax)
	return string(data), err
}

// Consistency returns the log's own proof between two sizes, unverified.
func (s *Source) Consistency(ctx context.Context, from, to uint64) ([][]byte, error) {
	data, err := s.fetchDocument(ctx, fmt.Sprintf("/log/consistency/%d/%d", from, to), consistencyMax)
	if err != nil {
		return nil, err
	}
	path, err := proof.ParseConsistency(data, from, to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return path, nil
}

func (s *Source) fetchDocument(ctx context.Context, path string, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.Base, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	response, err := s.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrAway, path, err)
	case response.StatusCode == http.StatusNotFound:
		var why struct{ Message string }
		_ = json.Unmarshal(data, &why)
		return nil, fmt.Errorf("%s: %w %q", path, ErrAbsent, why.Message)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: %s answers %d", ErrAway, path, response.StatusCode)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%w: %s answers more than %d bytes", ErrAway, path, most)
	}
	return data, nil
}

// Prove checks that the tree of to continues the tree of from, which is not larger, and
// returns the proof. It takes the log's own proof; without one it makes a proof from the log's
// tiles. It returns ErrFork if there can be no proof, ErrAway if the log shows none.
func Prove(ctx context.Context, s *Source, from, to *note.Checkpoint) ([][]byte, error) {
	switch {
	case from.Size == to.Size && from.Root != to.Root:
		return nil, fmt.Errorf("%w: two trees of %d leaves", ErrFork, to.Size)
	case from.Size == to.Size:
		return nil, nil
	case from.Size == 0:
		return nil, proof.VerifyConsistency(0, to.Size, from.Root, to.Root, nil)
	}
	path, err := s.Consistency(ctx, from.Size, to.Size)
	if err == nil {
		if err = proof.VerifyConsistency(from.Size, to.Size, from.Root, to.Root, path); err == nil {
			return path, nil
		}
	} else if !errors.Is(err, ErrAbsent) {
		return nil, err
	}
	return proveByTiles(ctx, s, from, to)
}
