package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// A running development cluster can be told to kill, stop or start one of its nodes:
// `railguard dev kill n1`. The command is sent over the socket DATA/dev.sock.

const devSocket = "dev.sock"

func newDevVerbs() []*cobra.Command {
	short := map[string]string{
		"kill":  "Kill a node of the running development cluster at once (kill -9)",
		"stop":  "Stop a node of the running development cluster in order",
		"start": "Start a node again that was killed or stopped",
	}
	var verbs []*cobra.Command
	for _, word := range []string{"kill", "stop", "start"} {
		data := ""
		cmd := &cobra.Command{
			Use: word + " NODE", Short: short[word], Args: exactArgs(1, "one node id, e.g. n1"),
			Example: "  railguard dev " + word + " n1",
			RunE: func(cmd *cobra.Command, args []string) error {
				answer, err := tellDev(data, word+" "+args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), answer)
				return err
			},
		}
		cmd.Flags().StringVar(&data, "data", "railguard-data", "folder of the running development cluster")
		verbs = append(verbs, cmd)
	}
	return verbs
}

// devRuns reports whether a development cluster listens in a folder.
func devRuns(data string) bool {
	connection, err := net.DialTimeout("unix", filepath.Join(data, devSocket), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

func tellDev(data, words string) (string, error) {
	connection, err := net.DialTimeout("unix", filepath.Join(data, devSocket), 3*time.Second)
	if err != nil {
		return "", &exitError{code: exitAway, err: fmt.Errorf("no development cluster runs on %s", data)}
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintln(connection, words); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return "", err
	}
	answer = strings.TrimSpace(answer)
	if problem, failed := strings.CutPrefix(answer, "error: "); failed {
		return "", usageError("%s", problem)
	}
	return answer, nil
}

// listenForWords carries out commands from the socket until the listener is closed.
func (c *devCluster) listenForWords() (io.Closer, error) {
	path := filepath.Join(c.flags.data, devSocket)
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	go func() {
		runtime.LockOSThread() // On Linux, children end when the thread that started them ends.
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.SetDeadline(time.Now().Add(30 * time.Second))
			line, err := bufio.NewReader(io.LimitReader(connection, 256)).ReadString('\n')
			if err == nil {
				answer, err := c.obeyWords(strings.Fields(line))
				if err != nil {
					answer = "error: " + err.Error()
				}
				fmt.Fprintln(connection, answer)
			}
			connection.Close()
		}
	}()
	return listener, nil
}

// obeyWords carries out one command: a verb and a node.
func (c *devCluster) obeyWords(words []string) (string, error) {
	if len(words) != 2 {
		return "", errors.New("expected a word and a node")
	}
	for i := range c.file.Nodes {
		if c.file.Nodes[i].ID == words[1] {
			return c.obeyFor(i, words[0])
		}
	}
	return "", fmt.Errorf("no node %q", words[1])
}

func (c *devCluster) obeyFor(i int, word string) (string, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	node, child := &c.file.Nodes[i], c.children[i]
	switch word {
	case "kill", "stop":
		if child.hasEnded() {
			return "", fmt.Errorf("node %s does not run", node.ID)
		}
		signal := syscall.SIGKILL
		if word == "stop" {
			signal = syscall.SIGINT
		}
		if err := child.Process.Signal(signal); err != nil {
			return "", err
		}
		select {
		case <-child.done:
			return node.ID + " ended", nil
		case <-time.After(25 * time.Second):
			return "", fmt.Errorf("node %s did not end", node.ID)
		}
	case "start":
		if !child.hasEnded() {
			return "", fmt.Errorf("node %s runs already", node.ID)
		}
		started, err := c.spawnNode(node)
		if err != nil {
			return "", err
		}
		c.children[i] = started
		return node.ID + " started", c.writeFile()
	}
	return "", fmt.Errorf("unknown word %q", word)
}

func (d *devChild) hasEnded() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}
