package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"railguard/audit/note"
	"railguard/audit/proof"
	"railguard/audit/watch"
	"railguard/engine/permit"
)

// permitPoll is how often the log is asked for a checkpoint that covers a permit's leaf.
const permitPoll = 250 * time.Millisecond

// proveHeld proves that the leaf which a permit names is in the log. It waits for a checkpoint that
// covers the leaf and that the trusted keys, and the demanded witnesses, signed.
func (v *permitVerification) proveHeld(ctx context.Context, claims *permit.Claims) error {
	raw, err := base64.RawURLEncoding.DecodeString(claims.LeafHash)
	if err != nil || len(raw) != len(proof.Hash{}) {
		return errors.New("the permit names no leaf's hash")
	}
	source := &watch.Source{Base: v.logURL, HTTP: v.http}
	keys := followKeys(ctx, source, v.trust)
	point, err := awaitLeaf(ctx, source, keys, claims.Leaf, time.Now().Add(v.patience))
	if err != nil {
		return awayOr(err)
	}
	err = watch.Include(ctx, source, &point, claims.Leaf, proof.Hash(raw))
	switch {
	case errors.Is(err, watch.ErrAway):
		return awayOr(err)
	case err != nil:
		return fmt.Errorf("leaf %d of it is another record: %w", claims.Leaf, err)
	}
	v.tree = &point
	return nil
}

// awaitLeaf returns a verified checkpoint whose tree has a leaf. Until a time it asks again while the
// log, or witnesses, have not come so far.
func awaitLeaf(ctx context.Context, source *watch.Source, keys string, leaf uint64, end time.Time) (note.Checkpoint, error) {
	for {
		point, err := coveringCheckpoint(ctx, source, keys, leaf)
		few := (*note.QuorumError)(nil)
		switch {
		case err == nil || !errors.Is(err, watch.ErrAbsent) && !errors.As(err, &few):
			return point, err
		case time.Now().After(end) && few != nil:
			return point, err
		case time.Now().After(end):
			return point, explainAbsence(ctx, source, keys, leaf)
		}
		select {
		case <-ctx.Done():
			return point, err
		case <-time.After(permitPoll):
		}
	}
}

// coveringCheckpoint fetches and verifies a checkpoint. Its error is watch.ErrAbsent while the log has
// none that covers the leaf, and a note.QuorumError while too few witnesses signed one that does.
func coveringCheckpoint(ctx context.Context, source *watch.Source, keys string, leaf uint64) (note.Checkpoint, error) {
	signed, err := source.Head(ctx, keys)
	if err != nil {
		return note.Checkpoint{}, err
	}
	claimed, err := note.Parse(signed)
	if err != nil {
		return claimed, fmt.Errorf("%w: its checkpoint cannot be read: %w", watch.ErrAway, err)
	}
	point, err := note.Verify(signed, keys)
	few := (*note.QuorumError)(nil)
	switch {
	case err != nil && !errors.As(err, &few):
		return point, fmt.Errorf("its checkpoint: %w", err)
	case claimed.Size <= leaf:
		return point, fmt.Errorf("%w: a checkpoint that covers leaf %d", watch.ErrAbsent, leaf)
	}
	return point, err
}

// explainAbsence says why no checkpoint covers a leaf after the wait: the log has not come so far, or
// the demanded witnesses have not.
func explainAbsence(ctx context.Context, source *watch.Source, keys string, leaf uint64) error {
	signed, err := source.Checkpoint(ctx)
	if err != nil {
		return err
	}
	claimed, err := note.Parse(signed)
	if err != nil {
		return fmt.Errorf("%w: its checkpoint cannot be read: %w", watch.ErrAway, err)
	}
	if claimed.Size > leaf {
		if _, err := note.Verify(signed, keys); err != nil {
			return fmt.Errorf("its checkpoint: %w", err)
		}
	}
	return fmt.Errorf("it has no checkpoint that covers leaf %d", leaf)
}
