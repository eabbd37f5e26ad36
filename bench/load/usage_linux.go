package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const clockTick = 10 * time.Millisecond // USER_HZ is 100 on every Linux.

// processUsage reads /proc of one process.
func processUsage(pid int) (usage, error) {
	folder := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	at := bytes.LastIndexByte(stat, ')') // The process name before it may hold anything.
	fields := bytes.Fields(stat[at+1:])
	if at < 0 || len(fields) < 22 {
		return usage{}, fmt.Errorf("process %d: its stat is unreadable", pid)
	}
	u := usage{at: time.Now()}
	for _, field := range fields[11:13] { // utime and stime.
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("process %d: its stat is unreadable", pid)
		}
		u.cpu += time.Duration(ticks) * clockTick
	}
	pages, err := strconv.ParseInt(string(fields[21]), 10, 64)
	if err != nil {
		return usage{}, fmt.Errorf("process %d: its stat is unreadable", pid)
	}
	u.held = pages * int64(os.Getpagesize())
	kilobytes, _, _ := strings.Cut(after(folder+"/status", "VmHWM"), " ")
	if u.peak, err = strconv.ParseInt(kilobytes, 10, 64); err != nil {
		return usage{}, fmt.Errorf("process %d: its status is unreadable", pid)
	}
	u.peak <<= 10
	io, err := os.ReadFile(folder + "/io")
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	for line := range bytes.Lines(io) {
		if value, found := bytes.CutPrefix(line, []byte("write_bytes: ")); found {
			u.written, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		}
	}
	return u, err
}

// machineBusy is how long all processors together have worked since the machine started; 0: the
// system does not tell it.
func machineBusy() time.Duration {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	var ticks int64
	for i, field := range bytes.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // The name; idle and waiting for disks; guests, who are counted already.
			continue
		}
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}
