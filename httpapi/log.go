package httpapi

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"railguard/audit"
	"railguard/audit/note"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// The audit log as the world may see it (C2SP tlog-tiles): checkpoints and hash
// tiles are public and give nothing away; entry bundles are the leaves.

func (a *API) logRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/log/checkpoint", scope: scopePublic, handle: showCheckpoint},
		{method: http.MethodGet, path: "/log/keys", scope: scopePublic, handle: showLogKeys},
		{method: http.MethodGet, path: "/log/tile", scope: scopePublic, handle: func(*call) error { return notFound("no such tile") }},
		{method: http.MethodGet, path: "/log/tile/{level}", scope: scopePublic, handle: func(*call) error { return notFound("no such tile") }},
		{method: http.MethodGet, path: "/log/tile/{level}/{index...}", scope: scopePublic, handle: showTile},
		{method: http.MethodGet, path: "/log/tile/entries", scope: scopePublic, handle: func(*call) error { return notFound("no such tile") }},
		{method: http.MethodGet, path: "/log/tile/entries/{index...}", scope: scopeInstitution, roles: wire.RoleAuditor, handle: showEntries},
	}
}

const (
	tileWidth      = 256
	checkpointKept = engine.Second // A signed checkpoint is served again for so long.
)

// checkpoint is one signed statement of the log.
type checkpoint struct {
	size uint64
	root note.Hash
	at   engine.Time
	text []byte
}

// checkpoints signs at most one a second, on any node: raft makes a split view
// impossible inside the cluster, and one seed makes all nodes sign alike.
type checkpoints struct {
	mutex  sync.Mutex
	signer *note.Signer
	last   *checkpoint
}

// checkpoint returns a checkpoint that covers at least size leaves.
func (a *API) checkpoint(e *edge.Terms, size uint64) (*checkpoint, error) {
	k := &a.signed
	k.mutex.Lock()
	defer k.mutex.Unlock()
	now := a.deps.Published.LogTime()
	if k.last != nil && k.last.size >= size && now-k.last.at < checkpointKept {
		return k.last, nil
	}
	signer, err := k.open(a, e)
	if err != nil {
		return nil, err
	}
	store := a.deps.Records.Audit()
	current := store.Size()
	if k.last != nil && current == k.last.size && current >= size {
		return k.last, nil
	}
	root, err := store.Root(current)
	if err != nil {
		return nil, fmt.Errorf("tree head: %w", err)
	}
	k.last = &checkpoint{size: current, root: root, at: now, text: signer.Sign(current, root, int64(now))}
	return k.last, nil
}

// signer returns the log's signer.
func (a *API) signer(e *edge.Terms) (*note.Signer, error) {
	a.signed.mutex.Lock()
	defer a.signed.mutex.Unlock()
	return a.signed.open(a, e)
}

// open makes the signer at its first use. The caller holds the mutex.
func (k *checkpoints) open(a *API, e *edge.Terms) (*note.Signer, error) {
	if k.signer == nil {
		signer, err := a.logSigner(e)
		if err != nil {
			return nil, err
		}
		k.signer = signer
	}
	return k.signer, nil
}

func (a *API) logSigner(e *edge.Terms) (*note.Signer, error) {
	if e.Settings.Genesis == nil {
		return nil, unavailable("no_leader", "the cluster is not bootstrapped")
	}
	seed, err := a.deps.Secrets.Open(seal.LabelLogSeed, e.Settings.Genesis.LogSeed)
	if err != nil {
		return nil, fmt.Errorf("log seed: %w", err)
	}
	return note.NewSigner(logOrigin(e.Settings.Genesis), seed)
}

// logOrigin is the log's name: the one its verifier keys carry.
func logOrigin(genesis *wire.Genesis) string {
	origin, _, _ := strings.Cut(genesis.LogKeys, "+")
	return origin
}

// treeSize is how many leaves this node has.
func (a *API) treeSize() uint64 { return a.deps.Records.Audit().Size() }

var (
	textType  = []string{"text/plain; charset=utf-8"}
	bytesType = []string{"application/octet-stream"}
)

// showCheckpoint is GET /log/checkpoint.
func showCheckpoint(c *call) error {
	cp, err := c.api.checkpoint(c.judge.Terms, 0)
	if err != nil {
		return edge.LeafError(err)
	}
	c.send(http.StatusOK, textType, cp.text)
	return nil
}

// showLogKeys is GET /log/keys: the verifier keys of the checkpoints.
func showLogKeys(c *call) error {
	if c.judge.Terms.Settings.Genesis == nil {
		return unavailable("no_leader", "the cluster is not bootstrapped")
	}
	c.header("Cache-Control", "public, max-age=3600")
	c.send(http.StatusOK, textType, []byte(c.judge.Terms.Settings.Genesis.LogKeys))
	return nil
}

// showTile is GET /log/tile/{level}/{index}: 256 hashes, or fewer with .p/{width}.
func showTile(c *call) error {
	level, err := strconv.ParseUint(c.r.PathValue("level"), 10, 8)
	index, width, ok := parseTileIndex(c.r.PathValue("index"))
	if err != nil || !ok || level > 7 || strconv.FormatUint(level, 10) != c.r.PathValue("level") {
		return notFound("no such tile")
	}
	data, err := c.api.deps.Records.Audit().Tile(uint(level), index, width)
	if err != nil {
		return tileError(err)
	}
	c.header("Cache-Control", "public, max-age=31536000, immutable")
	c.send(http.StatusOK, bytesType, data)
	return nil
}

// showEntries is GET /log/tile/entries/{index}: the leaves, for auditors.
func showEntries(c *call) error {
	index, width, ok := parseTileIndex(c.r.PathValue("index"))
	if !ok {
		return notFound("no such bundle")
	}
	data, err := c.api.deps.Records.Audit().EntryBundle(index, width)
	if err != nil {
		return tileError(err)
	}
	c.send(http.StatusOK, bytesType, data)
	return nil
}

func tileError(err error) error {
	if errors.Is(err, audit.ErrLimit) {
		return notFound("no such tile")
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

// proveRecord is GET /v1/audit/{txnId}/proof: the stored bytes and the path
// from them to a signed tree head.
func proveRecord(c *call) error {
	l, err := c.screenRecord()
	if err != nil {
		return err
	}
	if c.api.treeSize() <= l.Index { // The record came from a peer: wait for our own log.
		if err := c.judge.Confirm(); err != nil {
			return err
		}
	}
	cp, err := c.api.checkpoint(c.judge.Terms, l.Index+1)
	if err != nil {
		return edge.LeafError(err)
	}
	if cp.size <= l.Index {
		return unavailable("overloaded", "this node is catching up; retry")
	}
	m := &c.out
	m.Text("txnId", c.txnID)
	if err := writeProof(c, m, &l, cp.size); err != nil {
		return err
	}
	m.Text("checkpoint", string(cp.text))
	m.Text("keys", c.judge.Terms.Settings.Genesis.LogKeys)
	if later, ok := c.api.deps.Published.Disposition(l.Index); ok && later < cp.size {
		inner, err := c.laterProof(later, cp.size)
		if err != nil {
			return err
		}
		m.Object("disposition", inner)
	}
	var comments []strictjson.Members
	for _, later := range c.api.deps.Published.Comments(l.Index) {
		if later >= cp.size {
			continue
		}
		inner, err := c.laterProof(later, cp.size)
		if err != nil {
			return err
		}
		comments = append(comments, inner)
	}
	if len(comments) > 0 {
		m.List("comments", comments)
	}
	c.reply(http.StatusOK, c.out)
	return nil
}

// laterProof is the proof of an event that speaks of the record.
func (c *call) laterProof(index, size uint64) (strictjson.Members, error) {
	l, err := c.judge.LoadLeaf(index)
	if err != nil {
		return nil, err
	}
	var m strictjson.Members
	err = writeProof(c, &m, &l, size)
	return m, err
}

// writeProof writes a leaf and its audit path; of a screening record also the
// profiles it names, with theirs.
func writeProof(c *call, m *strictjson.Members, l *edge.Leaf, size uint64) error {
	if err := writePath(c, m, l, size); err != nil {
		return err
	}
	m.Uint("treeSize", size)
	return writeProfiles(c, m, l, size, nil)
}

// writePath writes a leaf, its hash, its place and its audit path. An event is
// its own text, which as a string survives every JSON library; of any other form
// the bytes stand in base64, and beside them what they say.
func writePath(c *call, m *strictjson.Members, l *edge.Leaf, size uint64) error {
	path, err := c.api.deps.Records.Audit().Inclusion(l.Index, size)
	if err != nil {
		return edge.LeafError(err)
	}
	m.Uint("index", l.Index)
	m.Text("leafHash", leafHash(l.Data))
	if leaf.FormOf(l.Data) == leaf.FormEvent {
		m.Text("leaf", string(l.Data))
	} else {
		m.Text("leaf", base64.StdEncoding.EncodeToString(l.Data))
		m.Raw("record", l.Shown)
	}
	texts := make([]string, len(path))
	for i, hash := range path {
		texts[i] = base64.StdEncoding.EncodeToString(hash)
	}
	m.Texts("path", texts)
	return nil
}

// writeProfiles adds the profiles that a screening record names, but for those
// that the reader has.
func writeProfiles(c *call, m *strictjson.Members, l *edge.Leaf, size uint64, had func(leaf.Ref) bool) error {
	if l.Record == nil {
		return nil
	}
	for _, named := range [...]struct {
		name string
		ref  leaf.Ref
	}{{"profile", l.Record.Profile}, {"userProfile", l.Record.User}} {
		if named.ref.Hash == [32]byte{} || had != nil && had(named.ref) {
			continue
		}
		p, err := c.judge.LoadLeaf(named.ref.Leaf)
		if err != nil {
			return err
		}
		var inner strictjson.Members
		err = writePath(c, &inner, &p, size)
		c.judge.DropLeaf()
		if err != nil {
			return err
		}
		m.Object(named.name, inner)
	}
	return nil
}
