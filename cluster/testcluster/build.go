package testcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const saidMax = 800 // Bytes of a failed build's output.

// BuildProduct builds railguard from the tree around the current folder, with additional build
// flags if any are given.
func BuildProduct(binary string, flags ...string) error {
	root, err := findTree()
	if err != nil {
		return err
	}
	command := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), "./cmd/railguard")...)
	command.Dir = root
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("the product does not build: %w\n%s", err, said[:min(len(said), saidMax)])
	}
	return nil
}

// findTree returns the folder that has the product's main program.
func findTree() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "cmd", "railguard", "main.go")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("the current folder is not in the product's tree")
		}
		folder = above
	}
}
