package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
)

// Stopped is Saver for a stopped node: dir is its folder, which still holds. Leaves that cannot be
// read from history are taken from the log, where it has them; tell is called for each stretch.
// Nothing is written to the folder. scratch is where the state's temporary file goes ("": the
// system's folder for such files).
func Stopped(still *recovery.Still, dir, scratch string, tell func(string)) func(w io.Writer, from uint64) error {
	return func(w io.Writer, from uint64) (err error) {
		store, err := audit.OpenReadOnly(audit.OSDir(filepath.Join(dir, datadir.AuditFolder)), audit.Options{})
		if err != nil {
			return fmt.Errorf("backup: history: %w", err)
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		store.Prune(still.View.Oldest)
		history := &patched{Store: store, logged: map[uint64]audit.Leaf{}}
		if err := history.patch(still, from-from%audit.BundleLeaves, tell); err != nil {
			return err
		}
		who := still.Identity
		return Write(w, &Source{
			View: still.View, History: history, Lists: filepath.Join(dir, datadir.ListFolder), Scratch: scratch,
			Node: who.ID, Recovery: who.Recovery, Members: still.Members, From: from,
		})
	}
}

// patched is a history in which leaves are missing or damaged that the log has.
type patched struct {
	*audit.Store
	logged map[uint64]audit.Leaf
}

// stretchesMax bounds how many damaged places of a history are patched.
const stretchesMax = 1 << 16

// patch reads all of history, and takes what cannot be read from the log. It returns an error that
// names the first leaf that neither has.
func (p *patched) patch(still *recovery.Still, from uint64, tell func(string)) error {
	_, err := p.Verify(context.Background(), func(d *audit.DamageError) { tell(d.Error()) })
	if err != nil {
		return fmt.Errorf("backup: history: %w", err)
	}
	size := still.View.Size
	lacks := p.Missing(stretchesMax)
	if p.Size() < size {
		lacks = append(lacks, audit.Range{First: p.Size(), End: size})
	}
	if len(lacks) == 0 {
		return nil
	}
	at := 0
	if err := still.EachLeaf(func(index uint64, leaf audit.Leaf) error {
		for at < len(lacks) && lacks[at].End <= index {
			at++
		}
		if at < len(lacks) && lacks[at].First <= index {
			leaf.Data = append([]byte(nil), leaf.Data...)
			leaf.Keys = append([]uint64(nil), leaf.Keys...)
			p.logged[index] = leaf
		}
		return nil
	}); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	for _, lack := range lacks {
		if err := p.prove(lack, from, size, still.View.Oldest); err != nil {
			return err
		}
		tell(fmt.Sprintf("leaves %d to %d are taken from the log", lack.First, min(lack.End, size)-1))
	}
	return nil
}

// prove returns an error that names the first leaf of a stretch that can be read from neither
// history nor log.
func (p *patched) prove(lack audit.Range, from, size, oldest uint64) error {
	if lack.HashesOnly {
		return fmt.Errorf("backup: the hashes of the leaves %d to %d, which are past their retention, are not on this disk: the tree cannot be proven. Take the folder of another node", lack.First, lack.End-1)
	}
	for index := max(lack.First, from); index < min(lack.End, size); index++ {
		if _, ok := p.logged[index]; ok || index < oldest {
			continue
		}
		if _, err := p.Record(index); err != nil {
			return fmt.Errorf("backup: leaf %d can be read neither from history (%w) nor from the log, which begins behind it. Take the folder of another node, or the newest backup that has it", index, err)
		}
	}
	return nil
}

// Bundle implements History.
func (p *patched) Bundle(index uint64, width int) ([]audit.Leaf, error) {
	leaves, err := p.Store.Bundle(index, width)
	if err == nil || len(p.logged) == 0 {
		return leaves, err
	}
	leaves = make([]audit.Leaf, 0, width)
	for i := index * audit.BundleLeaves; len(leaves) < width; i++ {
		leaf, ok := p.logged[i]
		if !ok {
			if leaf, err = p.Record(i); err != nil {
				return nil, err
			}
		}
		leaves = append(leaves, leaf)
	}
	return leaves, nil
}
