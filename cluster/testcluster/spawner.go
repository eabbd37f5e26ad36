package testcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Spawner starts children from one thread that lives as long as the Spawner. Where the system
// can, children die with the thread that started them, so that an aborted run leaves nothing
// behind.
type Spawner struct {
	orders chan func()
	ended  chan struct{}
	once   sync.Once
}

// NewSpawner starts the thread; Close ends it.
func NewSpawner() *Spawner {
	s := &Spawner{orders: make(chan func()), ended: make(chan struct{})}
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

// Do runs a function on the thread.
func (s *Spawner) Do(order func() error) error {
	done := make(chan error, 1)
	select {
	case s.orders <- func() { done <- order() }:
		return <-done
	case <-s.ended:
		return errSpawnerEnded
	}
}

// Start starts a prepared command on the thread.
func (s *Spawner) Start(command *exec.Cmd) error { return s.Do(command.Start) }

// Close ends the thread; children that still run end with it.
func (s *Spawner) Close() { s.once.Do(func() { close(s.ended) }) }

// Child is one running process.
type Child struct {
	Command *exec.Cmd
	Done    chan struct{} // Closed when it has ended.
	Paused  bool          // Set and guarded by the owner, as is Asked. Asked says that the owner has asked the process to end.
	Asked   bool
	log     *os.File
}

// Launch starts a program with its output appended to a log file.
func (s *Spawner) Launch(binary string, args, env []string, logPath string) (*Child, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr, command.Env = log, log, env
	ownGroup(command)
	if err := s.Start(command); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	c := &Child{Command: command, Done: make(chan struct{}), log: log}
	go func() {
		_ = command.Wait() // The state is read from ProcessState.
		_ = log.Close()
		close(c.Done)
	}()
	return c, nil
}

// PID is the process id, also after its end.
func (c *Child) PID() int { return c.Command.Process.Pid }

// Ended reports whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.Done:
		return true
	default:
		return false
	}
}

// Wait waits for the end of the process.
func (c *Child) Wait(patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.Done:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d has not ended in %v", c.PID(), patience)
	}
}

// ExitText returns how the process ended.
func (c *Child) ExitText() string {
	if !c.Ended() || c.Command.ProcessState == nil {
		return "running"
	}
	return c.Command.ProcessState.String()
}
