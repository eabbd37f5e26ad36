package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startImage starts the image's entry point twice: first to print its version, then to serve
// as a cluster of one node until it gets SIGTERM.
func startImage(s *stage, version, commit string) error {
	told, err := s.prepareCommand("version").CombinedOutput()
	if err != nil || !strings.Contains(string(told), version) || !strings.Contains(string(told), "commit "+commit) {
		return fmt.Errorf("%v version: %w: %s", s.entry, err, told)
	}
	fmt.Printf("   %s", told)

	addresses, err := freeAddresses(3)
	if err != nil {
		return err
	}
	serve := s.prepareCommand(s.command...)
	serve.Env = append(serve.Env, "RAILGUARD_ID=image", "RAILGUARD_BOOTSTRAP_EXPECT=1", "RAILGUARD_GRACE=0s", "RAILGUARD_PUBLIC_URL=http://"+addresses[0],
		"RAILGUARD_HTTP="+addresses[0], "RAILGUARD_CLUSTER="+addresses[1], "RAILGUARD_ADMIN="+addresses[2])
	log, err := os.Create(s.root + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	serve.Stdout, serve.Stderr = log, log
	if err := serve.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	if err := waitUntilAlive("http://"+addresses[0]+"/livez", ended); err != nil {
		_ = serve.Process.Kill()
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w; it said:\n%s", err, text)
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err // Nil: it ended by itself, with exit code 0.
	case <-time.After(time.Minute):
		_ = serve.Process.Kill()
		return fmt.Errorf("it did not end within a minute of SIGTERM")
	}
}

// prepareCommand is the image's entry point as a container engine would start it.
func (s *stage) prepareCommand(words ...string) *exec.Cmd {
	command := exec.Command(s.entry[0], append(s.entry[1:], words...)...)
	uid, gid, _ := strings.Cut(s.user, ":")
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: s.root, Credential: &syscall.Credential{Uid: readID(uid), Gid: readID(gid)}}
	command.Path, command.Err = s.entry[0], nil // The path is one inside the image.
	command.Dir = s.folder
	for name, value := range s.environment {
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

func readID(text string) uint32 {
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		panic("the image's user is not numbers: " + text)
	}
	return uint32(id)
}

func waitUntilAlive(url string, ended <-chan error) error {
	for range 600 {
		select {
		case err := <-ended:
			return fmt.Errorf("it ended before it was alive: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
		answer, err := http.Get(url)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("%s did not answer 200 within a minute", url)
}

func freeAddresses(count int) ([]string, error) {
	var addresses []string
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// checkOwner checks that every file in the image belongs to the image's user.
func checkOwner(s *stage) error {
	uid, _, _ := strings.Cut(s.user, ":")
	want := readID(uid)
	return filepath.Walk(s.root, func(path string, info os.FileInfo, err error) error {
		if err == nil && path != s.root && info.Sys().(*syscall.Stat_t).Uid != want {
			return fmt.Errorf("%s does not belong to user %d", strings.TrimPrefix(path, s.root), want)
		}
		return err
	})
}
