package evidence

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"railguard/audit/note"
	"railguard/cluster/report"
	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/httpapi/cosigning"
)

// Checkpoints that witnesses cosigned. The leader asks the witnesses (httpapi/cosigning)
// and sends the other nodes size, time and signature lines. The rest of a checkpoint is the
// same bytes on every node, so each of them can serve it.

// cosignedPoint is a cosigned checkpoint that this node can serve.
type cosignedPoint struct {
	told  report.Cosigned
	point Checkpoint // The checkpoint, whose text includes the lines.
	lines []string   // Lines of the witnesses.
	names []string   // Names of the witnesses.
}

// addLine adds a line of a witness, which may have a line under each of two algorithms.
func (p *cosignedPoint) addLine(name, line string) {
	if p.lines = append(p.lines, line); !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
}

// cosignedPoints keeps the newest one.
type cosignedPoints struct {
	asker *cosigning.Asker
	mutex sync.Mutex
	own   report.Cosigned // What witnesses answered this node while it led.
	held  *cosignedPoint
}

// makeAsker makes the asker of this API's witnesses.
func (e *Room) makeAsker() {
	e.cosigned.asker = cosigning.New(cosigning.Config{
		Witnesses: e.deps.Witnesses, Policy: e.deps.LogPolicy, Every: e.deps.WitnessEvery, Timeout: e.deps.WitnessTimeout,
		Leads:   e.deps.Leads,
		Head:    e.witnessedHead,
		Path:    func(from, to uint64) ([][]byte, error) { return e.deps.Records.Audit().Consistency(from, to) },
		Publish: e.publishCosigned, Count: countWitness, Logger: e.deps.Logger,
	})
}

// Asker returns the asker that collects cosignatures between its Start and its Stop.
func (e *Room) Asker() *cosigning.Asker { return e.cosigned.asker }

// witnessedHead signs a checkpoint of this node's whole log.
func (e *Room) witnessedHead(ctx context.Context) (cosigning.Head, error) {
	if e.deps.Published.Settings().Genesis == nil {
		return cosigning.Head{}, border.NotBootstrapped()
	}
	view, err := e.deps.Records.View(ctx, 0)
	if err != nil {
		return cosigning.Head{}, err
	}
	cp, err := e.signed.takeCheckpoint(e, view, 0)
	if err != nil {
		return cosigning.Head{}, err
	}
	return cosigning.Head{Size: cp.Size, Time: int64(cp.at), Signed: cp.text}, nil
}

// publishCosigned keeps the witnesses' answers, and sends them to the other nodes.
func (e *Room) publishCosigned(cosigned report.Cosigned) {
	e.cosigned.mutex.Lock()
	e.cosigned.own = cosigned
	e.cosigned.mutex.Unlock()
	if e.deps.Tellers != nil {
		e.deps.Tellers.TellCosigned(cosigned)
	}
}

// newestCosigned returns the newest cosigned checkpoint whose tree this node has; nil: there is
// none yet.
func (e *Room) newestCosigned(ctx context.Context) (*cosignedPoint, error) {
	k := &e.cosigned
	k.mutex.Lock()
	defer k.mutex.Unlock()
	best := k.own
	if e.deps.Tellers != nil {
		for _, told := range e.deps.Tellers.OthersCosigned() {
			if told.Size <= e.treeSize() && (told.Size > best.Size || told.Size == best.Size && len(told.Lines) > len(best.Lines)) {
				best = told
			}
		}
	}
	if k.held != nil && (best.Size < k.held.told.Size || best.Size == k.held.told.Size && len(best.Lines) <= len(k.held.told.Lines)) {
		return k.held, nil
	}
	if len(best.Lines) == 0 {
		return nil, nil
	}
	made, err := e.makeCosigned(ctx, best)
	if err == nil && made != nil {
		k.held = made
	}
	return k.held, err
}

// makeCosigned makes the checkpoint from what a node sent. It drops signature lines that
// are invalid under the witnesses of this node's settings, if there are any. Where those demand a
// quorum it makes none of fewer.
func (e *Room) makeCosigned(ctx context.Context, told report.Cosigned) (*cosignedPoint, error) {
	view, err := e.deps.Records.View(ctx, 0)
	if err != nil || view.Size < told.Size {
		return nil, err
	}
	root, err := e.deps.Records.Audit().Root(told.Size)
	if err != nil {
		return nil, err
	}
	signer, err := e.signed.signerFor(e, view, told.Size)
	if err != nil {
		return nil, err
	}
	signed := signer.Sign(told.Size, root, told.Time, listLines(view.Settings(), told.Size)...)
	text := note.WithLines(signed, told.Lines...)
	made := &cosignedPoint{told: told}
	if keys := e.cosigned.asker.Keys(); keys != "" {
		found, err := note.Cosignatures(text, keys)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		for _, f := range found {
			made.addLine(f.Name, f.Line)
		}
	} else {
		for _, line := range told.Lines {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "— "), " ")
			made.addLine(name, line)
		}
	}
	text = note.WithLines(signed, made.lines...)
	if policy := e.cosigned.asker.Policy(); policy != nil && policy.Check(text) != nil {
		return nil, nil //nolint:nilerr // A tree head without its quorum is none.
	}
	made.point = Checkpoint{Size: told.Size, root: root, at: engine.Time(told.Time), text: text, signer: signer}
	return made, nil
}

// showCosigned is GET /log/cosigned: the newest checkpoint that witnesses cosigned.
func (e *Room) showCosigned(c *border.Request) (border.Answer, error) {
	cosigned, err := e.newestCosigned(c.Context())
	if err != nil {
		return border.Answer{}, edge.LeafError(err)
	}
	if cosigned == nil {
		return border.Answer{}, border.NotFound("no checkpoint has been cosigned: no witness is configured, or none has answered yet")
	}
	return c.Send(http.StatusOK, border.TextType, cosigned.point.text), nil
}

// cosignedWait is how long an export waits for witnesses, if its caller asks for that: two rounds
// of them.
const (
	cosignedWait  = 20 * time.Second
	cosignedPause = 100 * time.Millisecond
)

// coveringHead returns the tree head that evidence of need leaves leads to: the newest one that
// witnesses cosigned if that covers the leaves, and otherwise a new one. It waits that long for
// witnesses, if there are any.
func (e *Room) coveringHead(c *border.Request, need uint64, wait time.Duration) (*Checkpoint, error) {
	until := time.Now().Add(wait)
	for {
		cosigned, err := e.newestCosigned(c.Context())
		if err == nil && cosigned != nil && cosigned.point.Size >= need {
			return &cosigned.point, nil
		}
		if err != nil || cosigned == nil || !time.Now().Before(until) {
			return e.loadUnwitnessed(c, need)
		}
		select {
		case <-c.Context().Done():
			return nil, c.Context().Err()
		case <-time.After(cosignedPause):
		}
	}
}

// withCosignatures returns a checkpoint's text, with the cosignatures for its tree.
func (e *Room) withCosignatures(ctx context.Context, cp *Checkpoint) []byte {
	cosigned, err := e.newestCosigned(ctx)
	if err != nil || cosigned == nil || cosigned.point.Size != cp.Size || cosigned.point.signer != cp.signer {
		return cp.text
	}
	return note.WithLines(cp.text, cosigned.lines...)
}

// LogStatus returns the log's part of the cluster's status.
func (e *Room) LogStatus(ctx context.Context) *report.LogStatus {
	s := &report.LogStatus{TreeSize: e.treeSize(), Witnesses: []report.WitnessStatus{}, Short: e.cosigned.asker.Short()}
	if policy := e.cosigned.asker.Policy(); policy != nil {
		s.Quorum = policy.Need()
	}
	if e.demandsQuorum() {
		age := e.cosignedAge(ctx)
		met, seconds := isQuorumMet(age), int64(age)
		s.QuorumMet, s.QuorumAge = &met, &seconds
	}
	cosigned, err := e.newestCosigned(ctx)
	var names []string
	if err == nil && cosigned != nil {
		names = cosigned.names
		s.CosignedSize, s.CosignedAt, s.Cosignatures = cosigned.point.Size, cosigned.point.at.String(), len(cosigned.names)
	}
	failed := e.cosigned.asker.Failures()
	for _, name := range e.cosigned.asker.Witnesses() {
		s.Witnesses = append(s.Witnesses, report.WitnessStatus{Name: name, Cosigned: slices.Contains(names, name), Error: failed[name]})
	}
	return s
}
