package rig

import "os/exec"

// Python prepares a Python program that uses this server, with its arguments, in the server's folder.
func (p *Prefect) Python(args ...string) *exec.Cmd {
	cmd := exec.Command(p.python, args...)
	cmd.Env, cmd.Dir = p.environ(), p.home
	return cmd
}
