package witness

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"railguard/audit/note"
)

// showCheckpoint is GET …/HASH/checkpoint: the newest checkpoint of a log that this witness cosigned,
// with its signatures. Who watches a log compares it with what the log shows him.
func (w *Witness) showCheckpoint(rw http.ResponseWriter, r *http.Request, hash string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		rw.Header().Set("Allow", "GET, HEAD")
		http.Error(rw, "a checkpoint is only read", http.StatusMethodNotAllowed)
		return
	}
	text, err := w.newestOf(hash)
	switch {
	case err != nil:
		w.Log("what was cosigned last cannot be read", "error", err)
		http.Error(rw, "this witness cannot read what it cosigned", http.StatusInternalServerError)
	case text == nil:
		http.Error(rw, "no log of this witness, or it has cosigned nothing of it", http.StatusNotFound)
	default:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = rw.Write(text)
	}
}

// newestOf returns the newest cosigned checkpoint of the log with that hash of its origin; nil: there
// is none. Its signatures are those that were given, or after a restart newer ones of the same.
func (w *Witness) newestOf(hash string) ([]byte, error) {
	if w.Origins == nil {
		return nil, nil
	}
	origins := w.Origins()
	at := slices.IndexFunc(origins, func(origin string) bool {
		sum := sha256.Sum256([]byte(origin))
		return hex.EncodeToString(sum[:]) == hash
	})
	if at < 0 {
		return nil, nil
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	signed, err := w.Store.Cosigned(origins[at])
	if err != nil || signed == nil {
		return nil, err
	}
	if given, there := w.given[origins[at]]; there && given.signed == string(signed) {
		return note.WithLines(signed, given.lines), nil
	}
	point, err := note.Parse(signed)
	if err != nil {
		return nil, err
	}
	return note.WithLines(signed, w.sign(&point, signed)), nil
}

// cosigned is a checkpoint with the lines that were given for it.
type cosigned struct{ signed, lines string }

// sign signs a checkpoint that is on disk, and keeps the lines. The caller holds the mutex.
func (w *Witness) sign(point *note.Checkpoint, signed []byte) string {
	if w.given == nil {
		w.given = map[string]cosigned{}
	}
	lines := string(w.Cosigner.Cosign(point, w.Now().Unix()))
	w.given[point.Origin] = cosigned{string(signed), lines}
	return lines
}
