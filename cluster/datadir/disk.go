package datadir

import (
	"errors"
	"os"
)

// Disk makes the folder's small files, the log's segments and the snapshots survive a power cut. It
// is the seam for disks that lose what was not synced, are slow, hang or fail. The syncs of raft's
// own file store and of the file of votes bypass it.
type Disk interface {
	// SyncFile makes a file's content durable.
	SyncFile(f *os.File) error
	// SyncData does the same to a file whose size has not changed.
	SyncData(f *os.File) error
	// Rename gives a file another name, which is durable when its folder is synced.
	Rename(from, to string) error
	// SyncFolder makes the names in a folder durable.
	SyncFolder(path string) error
}

// SystemDisk is the Disk of the operating system.
type SystemDisk struct{}

// SyncFile implements Disk.
func (SystemDisk) SyncFile(f *os.File) error { return f.Sync() }

// SyncData implements Disk.
func (SystemDisk) SyncData(f *os.File) error { return syncData(f) }

// Rename implements Disk.
func (SystemDisk) Rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder implements Disk.
func (SystemDisk) SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error { return SystemDisk{}.SyncFolder(path) }
