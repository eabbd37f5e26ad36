package backup

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/fsm"
)

// Node is the part of a running node that a backup reads.
type Node interface {
	NodeID() string
	View(ctx context.Context, minIndex uint64) (*fsm.View, error)
	Audit() *audit.Store
	Members() []datadir.Member
}

// errHistoryIncomplete refuses a backup of history in which leaves are missing or damaged.
var errHistoryIncomplete = errors.New("backup: this node still fetches history: take the backup from another one")

// Saver returns a function that writes the parts of a backup of a running node, in clear: the
// present state, history from a leaf on, and the lists that were in use after a log time
// (nanoseconds). dir is the node's data folder. If the function returns an error before it
// wrote the first byte, the caller can still answer with that error.
func Saver(n Node, dir string) func(ctx context.Context, w io.Writer, from uint64, since int64) error {
	return func(ctx context.Context, w io.Writer, from uint64, since int64) error {
		view, err := n.View(ctx, 0)
		if err != nil {
			return err
		}
		history := n.Audit()
		if len(history.Missing(1)) > 0 || len(history.Damage()) > 0 || history.Size() < view.Size {
			return errHistoryIncomplete
		}
		who, err := datadir.ReadIdentity(dir)
		if err != nil {
			return err
		}
		return Write(w, &Source{
			View: view, History: history, Lists: filepath.Join(dir, datadir.ListFolder), Scratch: filepath.Join(dir, datadir.RaftFolder),
			Node: n.NodeID(), Recovery: who.Recovery, Members: n.Members(), From: from, Since: since,
		})
	}
}
