package main

import (
	"os/exec"
	"syscall"
)

func endWithParent(child *exec.Cmd) { child.SysProcAttr.Pdeathsig = syscall.SIGTERM }
