package testcluster

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's signals from the child and lets it die with us.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
