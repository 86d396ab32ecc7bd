package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// place is where a listener keeps its things. Two calls with the same place share a store.
type place struct{ dir string }

func (b *bench) newPlace() place { return place{b.TempDir()} }

func (p place) log() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "log")) // only to show it
	return string(text[max(0, len(text)-4000):])
}

// listener is the binary at work.
type listener struct {
	b     *bench
	at    place
	cmd   *exec.Cmd
	began time.Time
	done  chan struct{}
	err   error

	most     float64 // MiB that it had at most
	watching sync.WaitGroup
}

// start starts a command of the listener that reads from a Prefect and delivers to a sink.
func (b *bench) start(at place, prefectURL, sinkURL string, env []string, args ...string) *listener {
	l := &listener{b: b, at: at, cmd: b.command(at, prefectURL, sinkURL, env, args...), done: make(chan struct{})}
	log, err := os.OpenFile(filepath.Join(at.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	l.cmd.Stderr = log
	l.began = time.Now()
	if err := l.cmd.Start(); err != nil {
		b.Fatalf("starting the listener: %v", err)
	}
	go func() {
		defer close(l.done)
		l.err = l.cmd.Wait()
	}()
	l.watching.Go(l.watchMemory)
	b.Cleanup(func() {
		_ = l.cmd.Process.Kill() // it may have ended
		<-l.done
		l.watching.Wait()
	})
	return l
}

// command is a call of the listener with nothing but the settings that are needed: all else is as people have it.
func (b *bench) command(at place, prefectURL, sinkURL string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), b.options.listener, args...) //nolint:gosec // the binary that is to be measured
	cmd.Dir = at.dir
	cmd.Env = append([]string{
		"PREFECT_API_URL=" + prefectURL, "OPENLINEAGE_URL=" + sinkURL,
		"LISTENER_STATE=sqlite://" + filepath.Join(at.dir, "state", "listener.db"), "LISTENER_HTTP_ADDR=127.0.0.1:0",
		"LISTENER_LOG_FORMAT=json", "HOME=" + at.dir, "PATH=" + os.Getenv("PATH"),
	}, env...)
	cmd.Env = append(cmd.Env, b.options.env...)
	return cmd
}

func (l *listener) pid() int { return l.cmd.Process.Pid }

// stop ends the listener as a service manager does.
func (l *listener) stop() {
	_ = l.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	l.wait(time.Minute)
}

// wait waits for the end by itself.
func (l *listener) wait(within time.Duration) {
	select {
	case <-l.done:
	case <-time.After(within):
		l.b.Fatalf("the listener did not end within %s; its log:\n%s", within, l.at.log())
	}
}

// finish waits for the end of a command that has to succeed.
func (l *listener) finish(within time.Duration) {
	l.wait(within)
	if l.err != nil {
		l.b.Fatalf("the listener ended with %v; its log:\n%s", l.err, l.at.log())
	}
}

// watchMemory notes the most memory that the process ever had, until it ends. The system's own account of a process
// that has ended is of no use here: it begins with the memory of the process that started it.
func (l *listener) watchMemory() {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, most, err := residentMemory(l.pid()); err == nil && most > 0 {
			l.most = most
		}
		select {
		case <-l.done:
			return
		case <-ticker.C:
		}
	}
}

// mostMemory is the most memory of a listener that has ended, in MiB.
func (l *listener) mostMemory() float64 {
	l.watching.Wait()
	return l.most
}

// cpu is the time that a listener which has ended has worked.
func (l *listener) cpu() time.Duration {
	return l.cmd.ProcessState.UserTime() + l.cmd.ProcessState.SystemTime()
}

// until waits until something holds that only a question can show, as long as the listener runs.
func (l *listener) until(what string, within time.Duration, holds func() bool) {
	deadline := time.Now().Add(within)
	for !holds() {
		select {
		case <-l.done:
			l.b.Fatalf("the listener ended (%v) before %s; its log:\n%s", l.err, what, l.at.log())
		default:
		}
		if time.Now().After(deadline) {
			l.b.Fatalf("not within %s: %s; the listener's log:\n%s", within, what, l.at.log())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// patience is how long nothing may come before a listener counts as stuck.
const patience = time.Minute

// delivers waits until the sink has so many events.
func (l *listener) delivers(to *sink, events int) {
	got, since := to.got(), time.Now()
	for got < events {
		pause(l.b.Context(), 10*time.Millisecond)
		if now := to.got(); now != got {
			got, since = now, time.Now()
		}
		select {
		case <-l.done:
			if to.got() < events {
				l.b.Fatalf("the listener ended (%v) with %d of %d events delivered; its log:\n%s", l.err, to.got(), events, l.at.log())
			}
			return
		default:
		}
		if time.Since(since) > patience {
			l.b.Fatalf("nothing came for %s, with %d of %d events delivered; the listener's log:\n%s", patience, got, events, l.at.log())
		}
	}
}
