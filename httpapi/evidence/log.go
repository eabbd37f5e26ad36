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

// The audit log as the world may see it (C2SP tlog-tiles): checkpoints and hash
// tiles are public and give nothing away; entry bundles are the leaves.

func (e *Room) logRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/log/checkpoint", Handle: e.showCheckpoint},
		{Method: http.MethodGet, Path: "/log/cosigned", Handle: e.showCosigned},
		{Method: http.MethodGet, Path: "/log/keys", Handle: e.showLogKeys},
		{Method: http.MethodGet, Path: "/log/consistency/{from}/{to}", Handle: showConsistency},
		{Method: http.MethodGet, Path: "/log/tile", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/{level}", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/{level}/{index...}", Handle: showTile},
		{Method: http.MethodGet, Path: "/log/tile/entries", Handle: func(*border.Request) (border.Answer, error) { return border.Answer{}, border.NotFound("no such tile") }},
		{Method: http.MethodGet, Path: "/log/tile/entries/{index...}", Handle: showEntries},
	}
}

// logKeyRoutes are on the admin listener.
func logKeyRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/admin/log-key/rotate", Scope: border.ScopeInstitution, Roles: wire.RoleAdmin, Body: border.BodyObject, Handle: rotateLogKey},
	}
}

const (
	tileWidth      = 256
	checkpointKept = engine.Second // A signed checkpoint is served again for so long.
)

// checkpoint is one signed statement of the log.
type Checkpoint struct {
	Size   uint64
	root   note.Hash
	at     engine.Time
	text   []byte
	signer *note.Signer // Of the line it is of.
}

// checkpoints signs at most one a second, on any node: raft makes a split view
// impossible inside the cluster, and one seed makes all nodes sign alike.
type checkpoints struct {
	mutex sync.Mutex
	lines []logLine
	last  *Checkpoint
}

// logLine is a stretch of the log under one name and one pair of keys.
type logLine struct {
	from   uint64 // The smallest tree it vouches for.
	origin string
	seed   []byte // Sealed.
	signer *note.Signer

	endorsed string // What the keys before say of these, where the line goes on under their name.
}

// loadCheckpoint returns a checkpoint that covers at least size leaves.
func (e *Room) loadCheckpoint(c *border.Request, size uint64) (*Checkpoint, error) {
	if c.Judge.Terms.Settings.Genesis == nil {
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

// keptCheckpoint is the last checkpoint, where it will do.
func (k *checkpoints) keptCheckpoint(e *Room, size uint64) *Checkpoint {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.last != nil && k.last.Size >= size && e.deps.Published.LogTime()-k.last.at < checkpointKept {
		return k.last
	}
	return nil
}

// takeCheckpoint signs a checkpoint of what a view and the store have. The tree and the name it is
// signed under come from one state: no line signs a leaf of the next one.
func (k *checkpoints) takeCheckpoint(e *Room, view *fsm.View, size uint64) (*Checkpoint, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := e.deps.Published.LogTime()
	if k.last != nil && k.last.Size >= size && now-k.last.at < checkpointKept {
		return k.last, nil // Somebody else has, meanwhile.
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
	k.last = &Checkpoint{Size: current, root: root, at: now, text: signer.Sign(current, root, int64(now)), signer: signer}
	return k.last, nil
}

// signerOf is the signer that vouches for a tree of a size. The caller holds the mutex.
func (k *checkpoints) signerOf(size uint64) *note.Signer {
	signer := k.lines[0].signer
	for _, line := range k.lines[1:] {
		if line.from <= size {
			signer = line.signer
		}
	}
	return signer
}

// logSigner is the signer that vouches for a tree of a size, which this node has.
func (e *Room) logSigner(c *border.Request, size uint64) (*note.Signer, error) {
	view, err := c.Judge.View()
	if err != nil {
		return nil, err
	}
	return e.signed.signerFor(e, view, size)
}

// signerFor is the signer that vouches for a tree of a size, which the view has.
func (k *checkpoints) signerFor(e *Room, view *fsm.View, size uint64) (*note.Signer, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.openSigners(e, view.Settings()); err != nil {
		return nil, err
	}
	return k.signerOf(size), nil
}

// openSigners makes the signers of lines that are new. The caller holds the mutex.
func (k *checkpoints) openSigners(e *Room, settings *fsm.Settings) error {
	if settings.Genesis == nil {
		return border.NotBootstrapped()
	}
	lines := logLines(settings)
	for i := range lines {
		if i < len(k.lines) && k.lines[i].from == lines[i].from && bytes.Equal(k.lines[i].seed, lines[i].seed) {
			lines[i].signer, lines[i].endorsed = k.lines[i].signer, k.lines[i].endorsed
			continue
		}
		seed, err := e.deps.Secrets.Open(seal.LabelLogSeed, lines[i].seed)
		if err != nil {
			return fmt.Errorf("log seed: %w", err)
		}
		if lines[i].signer, err = note.NewSigner(lines[i].origin, seed); err != nil {
			return err
		}
		if i > 0 && lines[i].origin == lines[i-1].origin {
			lines[i].endorsed = lines[i-1].signer.Endorse(lines[i].signer, lines[i].from)
		}
	}
	k.lines = lines
	return nil
}

// logLines are the log's lines, oldest first.
func logLines(settings *fsm.Settings) []logLine {
	base, _, _ := strings.Cut(settings.Genesis.LogKeys, "+")
	lines := []logLine{{origin: base, seed: settings.Genesis.LogSeed}}
	for _, line := range settings.LogLines {
		origin := base
		if line.Lineage != "" {
			origin += "/" + line.Lineage
		}
		lines = append(lines, logLine{from: line.From, origin: origin, seed: line.Seed})
	}
	return lines
}

// verifierKeys are the verifier keys of all lines, the one that signs now first. A line that
// was followed by another of its name ends there; one that a recovery ended may have
// signed what was lost, and has no end.
func (k *checkpoints) verifierKeys() string {
	if len(k.lines) == 1 {
		return k.lines[0].signer.VerifierKeys()
	}
	var text strings.Builder
	for i := len(k.lines) - 1; i >= 0; i-- {
		to := uint64(math.MaxUint64)
		if i+1 < len(k.lines) && k.lines[i+1].origin == k.lines[i].origin {
			to = k.lines[i+1].from - 1
		}
		text.WriteString(note.SizesLine(k.lines[i].from, to))
		text.WriteString(k.lines[i].signer.VerifierKeys())
		text.WriteString(k.lines[i].endorsed)
	}
	return text.String()
}

// listRotations are the verifier keys of all lines with what each says of the next, "" where
// the keys never changed: with them a verifier who has old keys can go on to new ones.
func (e *Room) listRotations(c *border.Request) (string, error) {
	k := &e.signed
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.openSigners(e, c.Judge.Terms.Settings); err != nil || len(k.lines) == 1 {
		return "", err
	}
	return k.verifierKeys(), nil
}

// treeSize is how many leaves this node has.
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
	err := k.openSigners(e, c.Judge.Terms.Settings)
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

// rotateLogKey is POST /admin/log-key/rotate {"reason"}: the log's checkpoints are
// signed by new keys from the next leaf on; the old ones stay listed for those that
// they signed.
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

// showConsistency is GET /log/consistency/{from}/{to}: the RFC 6962 proof that the
// tree of size to begins with all of the tree of size from, with both roots. They are
// unsigned: who verifies compares them with checkpoints. What two sizes have between
// them never changes, so the answer may be kept for ever.
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

// treeSizeOf reads a size in its one spelling.
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

// parseTileIndex reads a tile's number as C2SP writes it: groups of three
// digits, all but the last behind an x; "x001/x234/067", "067.p/8".
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
