//go:build unix

package chaos

import "syscall"

// freeBytes returns how many bytes are free in a folder's file system.
func freeBytes(folder string) (int64, error) {
	var stat syscall.Statfs_t
	err := syscall.Statfs(folder, &stat)
	return int64(stat.Bavail) * int64(stat.Bsize), err //nolint:unconvert // Bsize is of another type on other systems.
}
