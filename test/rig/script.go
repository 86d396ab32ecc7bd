package rig

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Script is a Python program of the checkout that runs against a server.
type Script struct {
	p       *Prefect
	running *process
	out     bytes.Buffer
}

// StartScript starts a Python program of the checkout, in an environment in which it finds the server.
func (p *Prefect) StartScript(path string, args ...string) *Script {
	p.t.Helper()
	s := &Script{p: p}
	cmd := exec.Command(p.python, append([]string{filepath.Join(Root(), path)}, args...)...)
	cmd.Env, cmd.Dir = p.environ(), p.home
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	s.running = start(p.t, cmd)
	return s
}

// Wait waits for the program's own end, which must be a good one.
func (s *Script) Wait() {
	s.p.t.Helper()
	<-s.running.done
	if s.running.err != nil {
		s.p.t.Fatalf("%s: %v\n%s", strings.Join(s.running.Args, " "), s.running.err, s.out.String())
	}
}

// Stop ends the program.
func (s *Script) Stop() {
	signalGroup(s.running.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.running.done:
	case <-time.After(20 * time.Second):
		s.running.kill()
	}
}
