package load

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// tell reports the progress of a load once a second, until stop is called.
func (b *bench) tell(r *running) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		last := int64(0)
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				done := r.done.Load()
				phase := ""
				if time.Now().Before(r.recorder.start) {
					phase = "warming up, "
				}
				text := fmt.Sprintf("%s: %s%d/s, %d failed, %.0f s left", r.load.name, phase, done-last, r.failed.Load(), max(time.Until(r.end).Seconds(), 0))
				b.options.progress(text)
				last = done
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// shortError names the kind of a connection error, without the port.
func shortError(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return err.Error()
}
