package evidence

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"railguard/audit"
	"railguard/audit/note"
	"railguard/edge"
	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/seal"
	"railguard/strictjson"
)

// The public audit log (C2SP tlog-tiles): checkpoints and hash tiles are public and reveal
// no content; entry bundles hold the leaves.

func (e *Room) logRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/log/checkpoint", Handle: e.showCheckpoint},
		{Method: http.MethodGet, Path: "/log/cosigned", Handle: e.showCosigned},
		{Method: http.MethodGet, Path: "/log/keys", Handle: e.showLogKeys},
		{Method: http.MethodGet, Path: "/log/policy", Handle: e.showPolicy},
		{Method: http.MethodGet, Path: "/log/consistency/{from}/{to}", Handle: showConsistency},
		{Method: http.MethodGet, Path: "/log/tile", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/{level}", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/{level}/{index...}", Handle: showTile},
		{Method: http.MethodGet, Path: "/log/tile/entries", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/entries/{index...}", Handle: showEntries},
	}
}

// logKeyRoutes are served on the admin listener.
func logKeyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/admin/log-key/rotate", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyObject, Handle: rotateLogKey},
	}
}

const (
	tileWidth      = 256
	checkpointKept = engine.Second // A signed checkpoint is reused for this time.
)

// Checkpoint is one signed statement of the log.
type Checkpoint struct {
	Size   uint64
	root   note.Hash
	at     engine.Time
	text   []byte
	signer *note.Signer // Signer of its line.

	unwitnessed bool // A quorum of witnesses is demanded, and has not signed it.
}

// checkpoints signs at most one checkpoint a second on each node. Raft makes a split view
// impossible inside the cluster, and a shared seed makes all nodes sign alike.
type checkpoints struct {
	mutex     sync.Mutex
	stretches []logStretch
	last      *Checkpoint
}

// logStretch is a stretch of the log with one name and one pair of keys.
type logStretch struct {
	from   uint64 // The smallest tree that it signs.
	origin string
	seed   []byte // The seed, sealed.
	signer *note.Signer

	endorsed string // The previous keys' endorsement of these, if the name stays the same.
}

// loadCheckpoint returns a checkpoint that covers at least size leaves.
func (e *Room) loadCheckpoint(c *border.Request, size uint64) (*Checkpoint, error) {
	if c.Settings().Genesis == nil {
		return nil, border.NotBootstrapped()
	}
	k := &e.signed
	if kept := k.keptCheckpoint(e, size); kept != nil {
		return kept, nil
	}
	view, err := c.Judge.View()
	if err != nil {
		return nil, err
	}
	return k.takeCheckpoint(e, view, size)
}

// keptCheckpoint returns the last checkpoint if it is new and large enough.
func (k *checkpoints) keptCheckpoint(e *Room, size uint64) *Checkpoint {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.last != nil && k.last.Size >= size && e.deps.Published.LogTime()-k.last.at < checkpointKept {
		return k.last
	}
	return nil
}

// takeCheckpoint signs a checkpoint of the leaves that both the view and the store have.
// Tree size and log name come from the same state, so no line signs a leaf of the next one.
func (k *checkpoints) takeCheckpoint(e *Room, view *fsm.View, size uint64) (*Checkpoint, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := e.deps.Published.LogTime()
	if k.last != nil && k.last.Size >= size && now-k.last.at < checkpointKept {
		return k.last, nil // Another call has signed one meanwhile.
	}
	if err := k.openSigners(e, view.Settings()); err != nil {
		return nil, err
	}
	store := e.deps.Records.Audit()
	current := min(store.Size(), view.Size)
	if k.last != nil && current <= k.last.Size && k.last.Size >= size {
		return k.last, nil
	}
	root, err := store.Root(current)
	if err != nil {
		return nil, fmt.Errorf("tree head: %w", err)
	}
	signer := k.signerOf(current)
	k.last = &Checkpoint{Size: current, root: root, at: now, text: signer.Sign(current, root, int64(now), listLines(view.Settings(), current)...), signer: signer}
	return k.last, nil
}

// listLines returns the extension line that names the list in force in a tree of that size;
// nothing where there was none. All nodes write the same one. A list that somebody doctored is
// so seen by whoever keeps checkpoints, and signed by the witnesses.
func listLines(settings *fsm.Settings, size uint64) []string {
	for i := len(settings.History) - 1; i >= 0; i-- {
		if info := settings.History[i]; info.ActivatedLeaf < size {
			return []string{note.List{Version: info.Version, Digest: info.Digest}.Line()}
		}
	}
	return nil
}

// signerOf returns the signer for a tree of that size. The caller holds the mutex.
func (k *checkpoints) signerOf(size uint64) *note.Signer {
	signer := k.stretches[0].signer
	for _, stretch := range k.stretches[1:] {
		if stretch.from <= size {
			signer = stretch.signer
		}
	}
	return signer
}

// logSigner returns the signer for a tree of that size, which this node must have.
func (e *Room) logSigner(c *border.Request, size uint64) (*note.Signer, error) {
	view, err := c.Judge.View()
	if err != nil {
		return nil, err
	}
	return e.signed.signerFor(e, view, size)
}

// signerFor returns the signer for a tree of that size, which the view must have.
func (k *checkpoints) signerFor(e *Room, view *fsm.View, size uint64) (*note.Signer, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.openSigners(e, view.Settings()); err != nil {
		return nil, err
	}
	return k.signerOf(size), nil
}

// openSigners makes the signers of new stretches. The caller holds the mutex.
func (k *checkpoints) openSigners(e *Room, settings *fsm.Settings) error {
	if settings.Genesis == nil {
		return border.NotBootstrapped()
	}
	stretches := logStretches(settings)
	for i := range stretches {
		if i < len(k.stretches) && k.stretches[i].from == stretches[i].from && bytes.Equal(k.stretches[i].seed, stretches[i].seed) {
			stretches[i].signer, stretches[i].endorsed = k.stretches[i].signer, k.stretches[i].endorsed
			continue
		}
		seed, err := e.deps.Secrets.Open(seal.LabelLogSeed, stretches[i].seed)
		if err != nil {
			return fmt.Errorf("log seed: %w", err)
		}
		if stretches[i].signer, err = note.NewSigner(stretches[i].origin, seed); err != nil {
			return err
		}
		if i > 0 && stretches[i].origin == stretches[i-1].origin {
			stretches[i].endorsed = stretches[i-1].signer.Endorse(stretches[i].signer, stretches[i].from)
		}
	}
	k.stretches = stretches
	return nil
}

// logStretches returns the log's stretches, oldest first.
func logStretches(settings *fsm.Settings) []logStretch {
	base, _, _ := strings.Cut(settings.Genesis.LogKeys, "+")
	stretches := []logStretch{{origin: base, seed: settings.Genesis.LogSeed}}
	for _, stretch := range settings.LogLines {
		origin := base
		if stretch.Lineage != "" {
			origin += "/" + stretch.Lineage
		}
		stretches = append(stretches, logStretch{from: stretch.From, origin: origin, seed: stretch.Seed})
	}
	return stretches
}

// verifierKeys returns the verifier keys of all stretches, the currently signing stretch first. A
// stretch ends where the next one has the same name. A stretch that a recovery ended may have
// signed leaves that were lost, so it has no end.
func (k *checkpoints) verifierKeys() string {
	if len(k.stretches) == 1 {
		return k.stretches[0].signer.VerifierKeys()
	}
	var text strings.Builder
	for i := len(k.stretches) - 1; i >= 0; i-- {
		to := uint64(math.MaxUint64)
		if i+1 < len(k.stretches) && k.stretches[i+1].origin == k.stretches[i].origin {
			to = k.stretches[i+1].from - 1
		}
		text.WriteString(note.SizesLine(k.stretches[i].from, to))
		text.WriteString(k.stretches[i].signer.VerifierKeys())
		text.WriteString(k.stretches[i].endorsed)
	}
	return text.String()
}

// listRotations returns the verifier keys of all lines, each with its endorsement by the
// line before; "" where the keys never changed. With it a verifier that has old keys can
// adopt the new ones.
func (e *Room) listRotations(c *border.Request) (string, error) {
	k := &e.signed
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.openSigners(e, c.Settings()); err != nil || len(k.stretches) == 1 {
		return "", err
	}
	return k.verifierKeys(), nil
}

// treeSize returns how many leaves this node has.
func (e *Room) treeSize() uint64 { return e.deps.Records.Audit().Size() }

var ()

// showCheckpoint is GET /log/checkpoint.
func (e *Room) showCheckpoint(c *border.Request) (border.Answer, error) {
	cp, err := e.loadCheckpoint(c, 0)
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	return c.Send(http.StatusOK, border.TextType, e.withCosignatures(c.Context(), cp)), nil
}

// showLogKeys is GET /log/keys: the verifier keys of the checkpoints.
func (e *Room) showLogKeys(c *border.Request) (border.Answer, error) {
	k := &e.signed
	k.mutex.Lock()
	err := k.openSigners(e, c.Settings())
	text := ""
	if err == nil {
		text = k.verifierKeys()
	}
	k.mutex.Unlock()
	if err != nil {
		return border.Answer{}, err
	}
	c.SetHeader("Cache-Control", "public, max-age=3600")
	return c.Send(http.StatusOK, border.TextType, []byte(text)), nil
}

// rotateLogKey is POST /admin/log-key/rotate {"reason"}. New keys sign the checkpoints from
// the next leaf on; the old keys stay listed for what they signed.
func rotateLogKey(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	key, err := keys.ReadLogKey(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	result, err := c.Propose(border.Proposal{Kind: wire.KindLogKey, Record: func() (any, error) { return key.Record(&c.Judge) }})
	if err != nil {
		return border.Answer{}, err
	}
	rotated, err := c.OpenResult(result)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	rotated.CopyTo(&m, "fromTreeSize", "time", "reason", "eventId")
	return c.Reply(http.StatusCreated, m), nil
}

// showTile is GET /log/tile/{level}/{index}: 256 hashes, or fewer with .p/{width}.
func showTile(c *border.Request) (border.Answer, error) {
	level, err := strconv.ParseUint(c.PathValue("level"), 10, 8)
	index, width, ok := parseTileIndex(c.PathValue("index"))
	if err != nil || !ok || level > 7 || strconv.FormatUint(level, 10) != c.PathValue("level") {
		return border.Answer{}, border.NotFound("no such tile")
	}
	data, err := c.Records().Audit().Tile(uint(level), index, width)
	if err != nil {
		return border.Answer{}, tileError(err)
	}
	c.SetHeader("Cache-Control", "public, max-age=31536000, immutable")
	return c.Send(http.StatusOK, border.BytesType, data), nil
}

// showEntries is GET /log/tile/entries/{index}: the leaves, for auditors.
func showEntries(c *border.Request) (border.Answer, error) {
	index, width, ok := parseTileIndex(c.PathValue("index"))
	if !ok {
		return border.Answer{}, border.NotFound("no such bundle")
	}
	data, err := c.Records().Audit().EntryBundle(index, width)
	if err != nil {
		return border.Answer{}, tileError(err)
	}
	return c.Send(http.StatusOK, border.BytesType, data), nil
}

// showConsistency is GET /log/consistency/{from}/{to}: the RFC 6962 proof that the tree of
// size to begins with the whole tree of size from, with both roots. The roots are unsigned:
// a verifier compares them with checkpoints. The proof between two sizes never changes, so
// the answer may be cached for ever.
func showConsistency(c *border.Request) (border.Answer, error) {
	from, fromOK := treeSizeOf(c.PathValue("from"))
	to, toOK := treeSizeOf(c.PathValue("to"))
	store := c.Records().Audit()
	if !fromOK || !toOK || from > to || to > store.Size() {
		return border.Answer{}, border.NotFound("no such proof: two sizes of the tree, the smaller one first, neither larger than the tree is")
	}
	fromRoot, err := store.Root(from)
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	toRoot, err := store.Root(to)
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	path := [][]byte{}
	if from > 0 {
		if path, err = store.Consistency(from, to); err != nil {
			return border.Answer{}, edge.LeafError(err)
		}
	}
	texts := make([]string, len(path))
	for i, hash := range path {
		texts[i] = base64.StdEncoding.EncodeToString(hash)
	}
	m := &c.Out
	m.Uint("from", from)
	m.Uint("to", to)
	m.Text("fromRoot", base64.StdEncoding.EncodeToString(fromRoot[:]))
	m.Text("toRoot", base64.StdEncoding.EncodeToString(toRoot[:]))
	m.Texts("path", texts)
	c.SetHeader("Cache-Control", "public, max-age=31536000, immutable")
	return c.Reply(http.StatusOK, c.Out), nil
}

// treeSizeOf parses a size; it accepts one spelling only.
func treeSizeOf(text string) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

func tileError(err error) error {
	if errors.Is(err, audit.ErrLimit) {
		return border.NotFound("no such tile")
	}
	return edge.LeafError(err)
}

// parseTileIndex parses a tile's number as C2SP writes it: groups of three digits, with an
// x before all but the last, as in "x001/x234/067" or "067.p/8".
func parseTileIndex(text string) (index uint64, width int, ok bool) {
	width = tileWidth
	if whole, partial, found := strings.Cut(text, ".p/"); found {
		n, err := strconv.ParseUint(partial, 10, 16)
		if err != nil || n == 0 || n >= tileWidth || strconv.FormatUint(n, 10) != partial {
			return 0, 0, false
		}
		text, width = whole, int(n)
	}
	groups := strings.Split(text, "/")
	if len(groups) > 7 {
		return 0, 0, false
	}
	for i, group := range groups {
		if i < len(groups)-1 {
			if !strings.HasPrefix(group, "x") {
				return 0, 0, false
			}
			group = group[1:]
		}
		n, err := strconv.ParseUint(group, 10, 16)
		if err != nil || len(group) != 3 || i == 0 && len(groups) > 1 && n == 0 {
			return 0, 0, false
		}
		index = index*1000 + n
	}
	return index, width, true
}
