package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// spawner starts children from one thread that lives as long as it: where the
// system can, children are told to die with the thread that started them, so that
// an aborted run leaves nothing behind.
type spawner struct {
	orders chan func()
	ended  chan struct{}
	once   sync.Once
}

func newSpawner() *spawner {
	s := &spawner{orders: make(chan func()), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with this goroutine.
		for {
			select {
			case order := <-s.orders:
				order()
			case <-s.ended:
				return
			}
		}
	}()
	return s
}

var errSpawnerEnded = errors.New("the thread that starts children has ended")

// do runs something on the thread.
func (s *spawner) do(order func() error) error {
	done := make(chan error, 1)
	select {
	case s.orders <- func() { done <- order() }:
		return <-done
	case <-s.ended:
		return errSpawnerEnded
	}
}

func (s *spawner) start(command *exec.Cmd) error { return s.do(command.Start) }

// close ends the thread; children that still run end with it.
func (s *spawner) close() { s.once.Do(func() { close(s.ended) }) }

// child is one running process.
type child struct {
	command *exec.Cmd
	done    chan struct{} // Closed when it has ended.
	log     *os.File
	paused  bool
	asked   bool // Its end was asked for. Guarded by the node.
}

// launch starts a program with its output appended to a log file.
func (s *spawner) launch(binary string, args, env []string, logPath string) (*child, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr, command.Env = log, log, env
	ownGroup(command)
	if err := s.start(command); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	c := &child{command: command, done: make(chan struct{}), log: log}
	go func() {
		_ = command.Wait() // The state is read from ProcessState.
		_ = log.Close()
		close(c.done)
	}()
	return c, nil
}

func (c *child) pid() int { return c.command.Process.Pid }

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// wait waits for the end of the process.
func (c *child) wait(patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d has not ended in %v", c.pid(), patience)
	}
}

// exitText says how the process ended.
func (c *child) exitText() string {
	if !c.ended() || c.command.ProcessState == nil {
		return "running"
	}
	return c.command.ProcessState.String()
}
