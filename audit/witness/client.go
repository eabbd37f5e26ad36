package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"railguard/audit/note"
)

// answerMax bounds a witness's answer in bytes.
const answerMax = 64 << 10

var (
	// ErrAhead: the witness has cosigned a larger tree; ask again with a newer checkpoint.
	ErrAhead = errors.New("witness: is ahead of this checkpoint")
	// ErrRefused: the witness refuses this checkpoint, or its answer is not that of a witness.
	ErrRefused = errors.New("witness: refused")
)

// Peer is a witness from a log's side. Only one goroutine at a time may use it.
type Peer struct {
	URL  string // Submission prefix of the witness's URLs.
	Keys string // Verifier keys, one a line.
	HTTP *http.Client

	old uint64 // The size that the witness cosigned last, as far as this side knows.
}

// Ask asks the witness to cosign a signed checkpoint. path returns the consistency proof
// between two sizes. Ask makes at most two requests.
func (p *Peer) Ask(ctx context.Context, signed []byte, path func(from, to uint64) ([][]byte, error)) ([]note.Cosignature, error) {
	point, err := note.Parse(signed)
	if err != nil {
		return nil, err
	}
	if p.old > point.Size {
		return nil, ErrAhead
	}
	for try := range 2 {
		at, lines, err := p.submitCheckpoint(ctx, signed, point.Size, path)
		if err == nil {
			found, err := note.Cosignatures(note.WithLines(signed, lines...), p.Keys)
			if err != nil || len(found) == 0 {
				return nil, fmt.Errorf("%w: its answer holds no cosignature by the key that is known of it", errors.Join(ErrRefused, err))
			}
			p.old = point.Size
			return found, nil
		}
		var conflict *conflictError
		if !errors.As(err, &conflict) || try > 0 {
			return nil, err
		}
		if p.old = at; at > point.Size {
			return nil, ErrAhead
		}
	}
	return nil, ErrRefused
}

// conflictError says that the witness last cosigned another size.
type conflictError struct{ size uint64 }

func (e *conflictError) Error() string {
	return fmt.Sprintf("witness: it is at %d leaves", e.size)
}

func (e *conflictError) Unwrap() error { return ErrRefused }

func (p *Peer) submitCheckpoint(ctx context.Context, signed []byte, size uint64, path func(from, to uint64) ([][]byte, error)) (uint64, []string, error) {
	var hashes [][]byte
	if p.old > 0 && p.old < size {
		var err error
		if hashes, err = path(p.old, size); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(p.URL, "/")+"/add-checkpoint", bytes.NewReader(encodeBody(p.old, hashes, signed)))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := p.HTTP.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	switch {
	case err != nil:
		return 0, nil, err
	case len(data) > answerMax:
		return 0, nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrRefused, answerMax)
	case response.StatusCode == http.StatusConflict && response.Header.Get("Content-Type") == sizeType:
		at, err := strconv.ParseUint(strings.TrimSuffix(string(data), "\n"), 10, 63)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: a size that is none", ErrRefused)
		}
		return at, nil, &conflictError{at}
	case response.StatusCode != http.StatusOK:
		text := data[:min(len(data), 200)]
		return 0, nil, fmt.Errorf("%w: %d %q", ErrRefused, response.StatusCode, text)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "— ") || !strings.HasSuffix(line, "\n") {
			return 0, nil, fmt.Errorf("%w: an answer that is no signature line", ErrRefused)
		}
		lines = append(lines, line)
	}
	return 0, lines, nil
}
