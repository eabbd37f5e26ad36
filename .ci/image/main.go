package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	source := flag.String("context", ".", "folder of the build context, a git checkout")
	dockerfile := flag.String("dockerfile", "deploy/docker/Dockerfile", "the Dockerfile, below the context")
	version := flag.String("version", "", "build argument VERSION")
	commit := flag.String("commit", "", "build argument COMMIT")
	inside := flag.Bool("inside", false, "set by the program itself, in its own mount namespace")
	flag.Parse()
	if os.Geteuid() != 0 || runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "image: needs root on Linux: it mounts, and it changes the root of what it starts")
		os.Exit(3)
	}
	if !*inside {
		os.Exit(runInside())
	}
	if err := buildImage(*source, *dockerfile, *version, *commit); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// runInside runs this program again in its own mount namespace. The kernel undoes the mounts
// when that process ends, even if it crashes.
func runInside() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		return 1
	}
	scratch, err := os.MkdirTemp("", "railguard-image-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	command := exec.Command(self, append([]string{"-inside"}, os.Args[1:]...)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Env = append(os.Environ(), "IMAGE_SCRATCH="+scratch)
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		return 1
	}
	return 0
}

func buildImage(source, dockerfile, version, commit string) error {
	instructions, err := readDockerfile(filepath.Join(source, dockerfile))
	if err != nil {
		return err
	}
	files, err := listContext(source)
	if err != nil {
		return err
	}
	given := map[string]string{"TARGETOS": runtime.GOOS, "TARGETARCH": runtime.GOARCH}
	if version != "" {
		given["VERSION"] = version
	}
	if commit != "" {
		given["COMMIT"] = commit
	}
	b := &builder{
		source: source, files: files, scratch: os.Getenv("IMAGE_SCRATCH"), given: given,
		global: map[string]string{"BUILDPLATFORM": runtime.GOOS + "/" + runtime.GOARCH}, stages: map[string]*stage{},
	}
	for _, i := range instructions {
		fmt.Printf("-- %s %s\n", i.word, strings.Join(strings.Fields(i.rest), " "))
		if err := b.run(i); err != nil {
			return fmt.Errorf("%s %s: %w", i.word, i.rest, err)
		}
	}
	if b.current == nil || len(b.current.entry) == 0 || b.current.user == "" {
		return fmt.Errorf("%s makes no image with an entry point and a user", dockerfile)
	}
	fmt.Println("-- start")
	if err := checkOwner(b.current); err != nil {
		return err
	}
	if err := startImage(b.current, version, commit); err != nil {
		return fmt.Errorf("the image does not run: %w", err)
	}
	fmt.Println("the image was built, told its version, served and ended")
	return nil
}
