package edge

import (
	"context"
	"errors"
	"time"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/leafjson"
	"railguard/ofac"
	"railguard/seal"
)

// Retracing returns what judging history again reads from this node.
func (js *Judges) Retracing() retrace.Sources {
	return retrace.Sources{
		Record: func(ctx context.Context, data []byte) (*leafjson.Screen, error) {
			x := new(leafjson.Screen)
			if err := openRecord(ctx, js, data, x); err != nil {
				return nil, err
			}
			return x, nil
		},
		List: js.pastList,
		Reference: func(keyID, text string) engine.ReferenceKey {
			return referenceKey(js.Now().owners.byKey[keyID], text)
		},
		EIN: func(sealed []byte) (string, error) {
			digits, err := js.deps.Secrets.Open(seal.LabelEIN, sealed)
			return string(digits), err
		},
		Cleared: func(name string, told *engine.Told, list *ofac.Index) []uint32 {
			uids, _ := heldEntries(js.Now().cleared.hold(nil, "", name, told, list, js.deps.Published.LogTime()), "")
			return uids
		},
		Panicked: containedTotal.Inc,
	}
}

// How long judging history again waits for a list whose tables are being compiled, and how
// often it looks.
const (
	pastListPatience = time.Minute
	pastListLook     = 250 * time.Millisecond
)

// pastList returns any list of the last 90 days with the tables of a version of the matcher.
func (js *Judges) pastList(ctx context.Context, digest [32]byte, matcher uint16) (*ofac.Index, error) {
	for range pastListPatience / pastListLook {
		list, err := js.deps.Published.ListAs(digest, matcher)
		if !errors.Is(err, ofac.ErrBeingCompiled) {
			return list, err
		}
		select {
		case <-time.After(pastListLook):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, ofac.ErrBeingCompiled
}
