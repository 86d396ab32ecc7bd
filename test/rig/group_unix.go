//go:build unix

package rig

import "syscall"

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and all it started. One that is gone already is fine.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func signalGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }
