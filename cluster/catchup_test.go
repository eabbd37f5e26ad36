package cluster

import (
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// lookingDisk calls look while a file is made durable.
type lookingDisk struct {
	datadir.SystemDisk
	look func()
}

func (d *lookingDisk) SyncFile(file *os.File) error {
	if d.look != nil {
		d.look()
	}
	return d.SystemDisk.SyncFile(file)
}

// TestHoleIsFetchedWhoeverLooks: a look for holes may find none while a snapshot is about to
// make one. The node must fetch what is missing all the same.
func TestHoleIsFetchedWhoeverLooks(t *testing.T) {
	whole := openAlone(t, t.TempDir())
	for _, name := range []string{"a", "b", "c"} {
		propose(t, whole, wire.KindRegister, register(name))
	}
	view, err := whole.View(t.Context(), whole.Applied())
	require.NoError(t, err)

	disk := &lookingDisk{}
	folder, err := datadir.Open(disk, t.TempDir(), "n2")
	require.NoError(t, err)
	defer func() { require.NoError(t, folder.Close()) }()
	store, err := audit.Open(audit.OSDir(t.TempDir()), audit.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	h := &history{life: newLife(slog.New(slog.DiscardHandler), func(string) {}), folder: folder, audit: store}
	looked := 0
	disk.look = func() {
		looked++
		_, err := h.fillHoles()
		require.NoError(t, err)
	}
	require.NoError(t, h.adoptView(view))
	require.Positive(t, looked)
	require.NotEmpty(t, store.Missing(1))
	require.True(t, h.busy.Load(), "it is looked for")
}
