package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// builtPrefix begins the name of the folder in which a process keeps the product that its tests run;
// the process's id ends it.
const builtPrefix = "railguard-built-"

// built returns the product's binary, built once for all tests of this process: to link it takes longer
// than to start three nodes. Nothing tells a package of tests that it ends, so the next process
// removes what those before it have left.
var built = sync.OnceValues(func() (string, error) {
	removeBuilt(os.TempDir())
	folder := filepath.Join(os.TempDir(), builtPrefix+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("a folder for the product: %w", err)
	}
	binary := filepath.Join(folder, "railguard")
	return binary, BuildProduct(binary)
})

// removeBuilt removes the folders of processes that are gone. One that cannot be removed harms nobody.
func removeBuilt(parent string) {
	folders, _ := filepath.Glob(filepath.Join(parent, builtPrefix+"*")) // The pattern is sound.
	for _, folder := range folders {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), builtPrefix))
		if err != nil {
			continue
		}
		if process, err := os.FindProcess(id); err != nil || process.Signal(syscall.Signal(0)) != nil {
			_ = os.RemoveAll(folder)
		}
	}
}
