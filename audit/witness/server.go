package witness

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"railguard/audit/note"
	"railguard/audit/proof"
)

// Store keeps a witness's data: the keys that it trusts of a log, and what it cosigned last for each
// log. SetCosigned returns when the checkpoint is on disk.
type Store interface {
	KeysOf(origin string) string // Without keys of that origin the log is none of the witness's.
	Cosigned(origin string) ([]byte, error)
	SetCosigned(origin string, signed []byte) error
	Latest() (point note.Checkpoint, signed []byte, taken time.Time, ok bool)
}

// Witness answers POST …/add-checkpoint, and GET …/HASH/checkpoint by the SHA-256 of a log's origin,
// in hex. It is safe for concurrent use.
type Witness struct {
	Cosigner *note.Cosigner
	Store    Store
	Now      func() time.Time
	Log      func(text string, args ...any) // Called for refusals that need attention.
	// Origins are the logs whose newest cosigned checkpoint is shown; nil: none is.
	Origins func() []string
	// Follow is called when the trusted keys of a known log did not sign its checkpoint: they may have
	// been replaced. It reports whether there are others now. nil: nobody follows keys here.
	Follow func(ctx context.Context, origin string) bool

	mutex sync.Mutex          // Held from the comparison of a checkpoint until it is on disk.
	given map[string]cosigned // What was cosigned last, by origin. Guarded by mutex.

	warned time.Time // When the last refusal was logged. Guarded by mutex.
	unsaid int       // Refusals since that were not logged. Guarded by mutex.
}

// warnPause is the least time between two logged refusals: anybody may send checkpoints, and
// nobody may fill the witness's disk with them.
const warnPause = time.Minute

// warn logs a refusal that needs attention, at most one in warnPause, and how many were left out
// before it. The caller holds the mutex.
func (w *Witness) warn(text string, args ...any) {
	now := w.Now()
	if !w.warned.IsZero() && now.Sub(w.warned) < warnPause {
		w.unsaid++
		return
	}
	w.Log(text, append(args, "refusalsNotLogged", w.unsaid)...)
	w.warned, w.unsaid = now, 0
}

// refusal is an error that says why a witness does not cosign, with the HTTP answer.
type refusal struct {
	status int
	text   string
	kind   string // Content-Type; "" is plain text.
}

func (r *refusal) Error() string { return r.text }

func newRefusal(status int, format string, args ...any) error {
	return &refusal{status: status, text: fmt.Sprintf(format, args...) + "\n"}
}

// ServeHTTP implements http.Handler.
func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if hash, ok := strings.CutSuffix(r.URL.Path, "/checkpoint"); ok && hash != "" {
		w.showCheckpoint(rw, r, hash[1:])
		return
	}
	if r.URL.Path != "/add-checkpoint" {
		http.Error(rw, "no such path", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		rw.Header().Set("Allow", http.MethodPost)
		http.Error(rw, "add-checkpoint is a POST", http.StatusMethodNotAllowed)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, BodyMax))
	if err != nil {
		http.Error(rw, "the body is too long, or never came whole", http.StatusBadRequest)
		return
	}
	line, err := w.addCheckpoint(r.Context(), data)
	var refused *refusal
	switch {
	case err == nil:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = rw.Write(line)
	case errors.As(err, &refused):
		if refused.kind == "" {
			refused.kind = "text/plain; charset=utf-8"
		}
		rw.Header().Set("Content-Type", refused.kind)
		rw.WriteHeader(refused.status)
		_, _ = io.WriteString(rw, refused.text)
	default: // The checkpoint could not be written to disk, so it is not signed.
		w.Log("a checkpoint could not be kept, so it is not cosigned", "error", err)
		http.Error(rw, "this witness cannot keep what it would sign", http.StatusInternalServerError)
	}
}

// addCheckpoint checks a request, keeps its checkpoint on disk and returns the cosignature.
func (w *Witness) addCheckpoint(ctx context.Context, data []byte) ([]byte, error) {
	old, path, signed, err := parseBody(data)
	if err != nil {
		return nil, newRefusal(http.StatusBadRequest, "%v", err)
	}
	said, err := note.Parse(signed)
	if err != nil {
		return nil, newRefusal(http.StatusBadRequest, "%v", err)
	}
	keys := w.Store.KeysOf(said.Origin)
	if !note.HasKeysOf(keys, said.Origin) {
		return nil, newRefusal(http.StatusNotFound, "not a log of this witness: %q", said.Origin)
	}
	point, err := note.Verify(signed, keys)
	if err != nil && w.Follow != nil && w.Follow(ctx, said.Origin) {
		point, err = note.Verify(signed, w.Store.KeysOf(said.Origin))
	}
	if err != nil {
		return nil, newRefusal(http.StatusForbidden, "%v", err)
	}
	if old > point.Size {
		return nil, newRefusal(http.StatusBadRequest, "the old size is larger than the tree")
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.checkContinuation(&point, old, path); err != nil {
		return nil, err
	}
	if seen, _, _, ok := w.Store.Latest(); ok && seen.Origin == point.Origin && seen.Size == point.Size && seen.Root != point.Root {
		w.warn("FORK: a checkpoint to be cosigned is not the one that the log shows", "size", point.Size, "submitted", string(signed))
		return nil, newRefusal(http.StatusForbidden, "the log has shown another tree of %d leaves", point.Size)
	}
	if err := w.Store.SetCosigned(point.Origin, signed); err != nil {
		return nil, err
	}
	return []byte(w.sign(&point, signed)), nil
}

// checkContinuation checks that a checkpoint continues the one that was cosigned last. The
// caller holds the mutex.
func (w *Witness) checkContinuation(point *note.Checkpoint, old uint64, path [][]byte) error {
	kept, err := w.Store.Cosigned(point.Origin)
	if err != nil {
		return err
	}
	var last note.Checkpoint
	if kept != nil {
		if last, err = note.Parse(kept); err != nil || last.Origin != point.Origin {
			return fmt.Errorf("what was cosigned last cannot be read: %w", err)
		}
	}
	switch {
	case old != last.Size:
		return &refusal{status: http.StatusConflict, text: fmt.Sprintf("%d\n", last.Size), kind: sizeType}
	case old == 0 && len(path) > 0 || old == point.Size && len(path) > 0:
		return newRefusal(http.StatusUnprocessableEntity, "there is nothing to prove, and hashes")
	case kept != nil && last.Size == point.Size && last.Root != point.Root:
		w.warn("FORK: two trees of one size to be cosigned", "size", point.Size)
		return newRefusal(http.StatusUnprocessableEntity, "another tree of %d leaves was cosigned", last.Size)
	case point.Size == 0 && point.Root != sha256.Sum256(nil):
		return newRefusal(http.StatusUnprocessableEntity, "a tree without leaves has another root")
	case old == 0:
		return nil // Every tree continues the empty one.
	}
	if err := proof.VerifyConsistency(old, point.Size, last.Root, point.Root, path); err != nil {
		w.warn("a checkpoint to be cosigned does not continue the last one", "from", old, "to", point.Size, "error", err)
		return newRefusal(http.StatusUnprocessableEntity, "%v", err)
	}
	return nil
}
