package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"railguard/audit/note"
	"railguard/cluster/report"
	"railguard/edge"
	"railguard/engine"
	"railguard/httpapi/cosigning"
)

// Checkpoints that witnesses cosigned. The leader asks them (httpapi/cosigning) and
// tells the other nodes size, time and signature lines; the rest of a checkpoint is the
// same bytes on every node, so that any of them serves it.

// cosignedPoint is the newest one that this node can serve.
type cosignedPoint struct {
	told  report.Cosigned
	point checkpoint // text: with the lines.
	lines []string   // Those of the witnesses,
	names []string   // and whose they are.
}

// cosignedPoints keeps it.
type cosignedPoints struct {
	asker *cosigning.Asker
	mutex sync.Mutex
	own   report.Cosigned // What this node was answered, while it led.
	held  *cosignedPoint
}

// makeAsker makes the asker of this API's witnesses.
func (a *API) makeAsker() {
	a.cosigned.asker = cosigning.New(cosigning.Config{
		Witnesses: a.deps.Witnesses, Every: a.deps.WitnessEvery, Timeout: a.deps.WitnessTimeout,
		Leads:   func() bool { return a.role.text(a) == "leader" },
		Head:    a.witnessedHead,
		Path:    func(from, to uint64) ([][]byte, error) { return a.deps.Records.Audit().Consistency(from, to) },
		Publish: a.publishCosigned, Count: countWitness, Logger: a.log,
	})
}

// Witnesses asks for cosignatures from its Start to its Stop.
func (a *API) Witnesses() *cosigning.Asker { return a.cosigned.asker }

// witnessedHead is a checkpoint of all that this node has.
func (a *API) witnessedHead(ctx context.Context) (cosigning.Head, error) {
	if a.deps.Published.Settings().Genesis == nil {
		return cosigning.Head{}, notBorn()
	}
	view, err := a.deps.Records.View(ctx, 0)
	if err != nil {
		return cosigning.Head{}, err
	}
	cp, err := a.signed.take(a, view, 0)
	if err != nil {
		return cosigning.Head{}, err
	}
	return cosigning.Head{Size: cp.size, Time: int64(cp.at), Signed: cp.text}, nil
}

// publishCosigned keeps what witnesses answered here, and tells the other nodes.
func (a *API) publishCosigned(cosigned report.Cosigned) {
	a.cosigned.mutex.Lock()
	a.cosigned.own = cosigned
	a.cosigned.mutex.Unlock()
	if a.deps.Neighbours != nil {
		a.deps.Neighbours.TellCosigned(cosigned)
	}
}

// newestCosigned returns the newest cosigned checkpoint that this node has the tree of;
// nil: none yet.
func (a *API) newestCosigned(ctx context.Context) (*cosignedPoint, error) {
	k := &a.cosigned
	k.mutex.Lock()
	defer k.mutex.Unlock()
	best := k.own
	if a.deps.Neighbours != nil {
		for _, told := range a.deps.Neighbours.OthersCosigned() {
			if told.Size <= a.treeSize() && (told.Size > best.Size || told.Size == best.Size && len(told.Lines) > len(best.Lines)) {
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
	made, err := a.makeCosigned(ctx, best)
	if err == nil && made != nil {
		k.held = made
	}
	return k.held, err
}

// makeCosigned makes the checkpoint of what was told, and drops lines that do not hold
// under the witnesses of this node's settings, where it has any.
func (a *API) makeCosigned(ctx context.Context, told report.Cosigned) (*cosignedPoint, error) {
	view, err := a.deps.Records.View(ctx, 0)
	if err != nil || view.Size < told.Size {
		return nil, err
	}
	root, err := a.deps.Records.Audit().Root(told.Size)
	if err != nil {
		return nil, err
	}
	signer, err := a.signed.signerFor(a, view, told.Size)
	if err != nil {
		return nil, err
	}
	text := note.WithLines(signer.Sign(told.Size, root, told.Time), told.Lines...)
	made := &cosignedPoint{told: told}
	if keys := a.cosigned.asker.Keys(); keys != "" {
		found, err := note.Cosignatures(text, keys)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		for _, f := range found {
			made.lines, made.names = append(made.lines, f.Line), append(made.names, f.Name)
		}
	} else {
		for _, line := range told.Lines {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "— "), " ")
			made.lines, made.names = append(made.lines, line), append(made.names, name)
		}
	}
	text = note.WithLines(signer.Sign(told.Size, root, told.Time), made.lines...)
	made.point = checkpoint{size: told.Size, root: root, at: engine.Time(told.Time), text: text, signer: signer}
	return made, nil
}

// showCosigned is GET /log/cosigned: the newest checkpoint that witnesses cosigned.
func showCosigned(c *call) (Answer, error) {
	cosigned, err := c.api.newestCosigned(c.ctx)
	if err != nil {
		return Answer{}, edge.LeafError(err)
	}
	if cosigned == nil {
		return Answer{}, notFound("no checkpoint has been cosigned: no witness is configured, or none has answered yet")
	}
	return c.send(http.StatusOK, textType, cosigned.point.text), nil
}

// withCosignatures is a checkpoint's text, with those that its tree has.
func (a *API) withCosignatures(ctx context.Context, cp *checkpoint) []byte {
	cosigned, err := a.newestCosigned(ctx)
	if err != nil || cosigned == nil || cosigned.point.size != cp.size || cosigned.point.signer != cp.signer {
		return cp.text
	}
	return note.WithLines(cp.text, cosigned.lines...)
}

// logStatus is the log in the cluster's status.
func (a *API) logStatus(ctx context.Context) *report.LogStatus {
	s := &report.LogStatus{TreeSize: a.treeSize(), Witnesses: []report.WitnessStatus{}}
	cosigned, err := a.newestCosigned(ctx)
	var names []string
	if err == nil && cosigned != nil {
		names = cosigned.names
		s.CosignedSize, s.CosignedAt, s.Cosignatures = cosigned.point.size, cosigned.point.at.String(), len(cosigned.names)
	}
	failed := a.cosigned.asker.Failures()
	for _, name := range a.cosigned.asker.Witnesses() {
		s.Witnesses = append(s.Witnesses, report.WitnessStatus{Name: name, Cosigned: slices.Contains(names, name), Error: failed[name]})
	}
	return s
}
