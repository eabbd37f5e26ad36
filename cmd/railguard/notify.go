package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// overseer is the service manager that started this process and asked to be told how it is:
// systemd with Type=notify (sd_notify(3)). What it is told is one datagram each time, with lines
// of the form NAME=value.
type overseer struct {
	socket string        // "": nobody asked.
	signs  time.Duration // It ends a process from which it hears no sign of life for so long; 0: it does not ask for any.
}

// findOverseer reads what a service manager says in the environment of a process.
func findOverseer(environment func(name string) string, process int) overseer {
	o := overseer{socket: environment("NOTIFY_SOCKET")}
	if meant := environment("WATCHDOG_PID"); meant != "" && meant != strconv.Itoa(process) {
		return o // The signs are asked of the process that started this one.
	}
	if most, err := strconv.ParseInt(environment("WATCHDOG_USEC"), 10, 64); err == nil && most > 0 {
		o.signs = time.Duration(most) * time.Microsecond
	}
	return o
}

// tell sends lines to the overseer, if there is one.
func (o *overseer) tell(lines string) error {
	if o.socket == "" {
		return nil
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: o.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("the service manager's socket: %w", err)
	}
	_, err = connection.Write([]byte(lines))
	if err = errors.Join(err, connection.Close()); err != nil {
		return fmt.Errorf("the service manager's socket: %w", err)
	}
	return nil
}

// giveSigns tells the overseer that this process lives, twice as often as it asks, until stop is
// closed. It says nothing more when alive does not return true. alive must not wait for a disk or
// for other nodes: a node whose disk hangs is not to be ended for that.
func (o *overseer) giveSigns(stop <-chan struct{}, alive func() bool) {
	if o.socket == "" || o.signs == 0 {
		return
	}
	ticker := time.NewTicker(o.signs / 2)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			if alive() {
				_ = o.tell("WATCHDOG=1") // If it cannot be told, it ends this process, and says so.
			}
		}
	}
}

// tellOverseer tells the service manager. What cannot be told is a line in the log: the manager
// takes this node for one that does not start, and ends it.
func (s *server) tellOverseer(lines string) {
	if err := s.overseer.tell(lines); err != nil {
		s.log.Warn("the service manager could not be told how this node is", "lines", lines, "error", err)
	}
}

// answersLivez reports whether calls to /livez are answered with 200 behind the public listener.
func (s *server) answersLivez() bool {
	r, err := http.NewRequest(http.MethodGet, "/livez", nil)
	if err != nil {
		return false
	}
	r.RemoteAddr = "127.0.0.1:0"
	var told statusAlone
	s.publicDoor.ServeHTTP(&told, r)
	return told == http.StatusOK
}

// statusAlone is an answer of which only the status is kept.
type statusAlone int

func (s *statusAlone) Header() http.Header { return http.Header{} }

func (s *statusAlone) WriteHeader(status int) {
	if *s == 0 {
		*s = statusAlone(status)
	}
}

func (s *statusAlone) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}

// overseerOfProcess is the overseer of this very process.
func overseerOfProcess() overseer { return findOverseer(os.Getenv, os.Getpid()) }
