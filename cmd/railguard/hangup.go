package main

import (
	"os"
	"os/signal"
	"syscall"
)

// answerHangups reads the certificate files again at each SIGHUP, which would else end the process
// at once: a terminal that closes and a supervisor's reload both send it. No other setting is read
// again.
func (s *server) answerHangups() {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-s.closing:
			return
		case <-hangups:
			for _, door := range s.doors {
				door.lookNow()
			}
			s.log.Info("SIGHUP: the certificate files of the listeners were read again; other settings need a restart", "listeners", len(s.doors))
		}
	}
}
