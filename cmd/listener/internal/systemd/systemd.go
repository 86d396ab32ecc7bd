// Package systemd tells the service manager how the daemon is, by the protocol of sd_notify(3): one datagram for each
// change, to the socket that NOTIFY_SOCKET names. Podman and others that run services speak it too. It is written here
// rather than taken from a library because it is this short, and because the environment is handed in.
package systemd

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// Manager is the service manager that started this process.
type Manager struct {
	socket   net.UnixAddr
	patience time.Duration
}

// FromEnv returns the manager that the environment names: NOTIFY_SOCKET says where it listens, and WATCHDOG_USEC how
// many microseconds it waits for a sign of life, if it waits for one of the process with the given id. Nil: there is no
// manager that wants to be told anything.
func FromEnv(getenv func(string) string, pid int) *Manager {
	name := getenv("NOTIFY_SOCKET")
	// Other forms, such as vsock:, belong to managers outside of a virtual machine.
	if name == "" || (name[0] != '/' && name[0] != '@') {
		return nil
	}
	m := &Manager{socket: net.UnixAddr{Name: name, Net: "unixgram"}}
	// A watchdog of another process was inherited by mistake.
	if owner := getenv("WATCHDOG_PID"); owner != "" && owner != strconv.Itoa(pid) {
		return m
	}
	if microseconds, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && microseconds > 0 {
		m.patience = time.Duration(microseconds) * time.Microsecond
	}
	return m
}

// Ready tells that the start is over.
func (m *Manager) Ready() error { return m.tell("READY=1") }

// Stopping tells that the daemon has begun to stop.
func (m *Manager) Stopping() error { return m.tell("STOPPING=1") }

// Alive is a sign of life. The next one must follow within Patience.
func (m *Manager) Alive() error { return m.tell("WATCHDOG=1") }

// Patience is how long the manager waits for a sign of life before it ends the process and starts another; 0: it waits
// for none.
func (m *Manager) Patience() time.Duration { return m.patience }

func (m *Manager) tell(what string) error {
	conn, err := net.DialUnix("unixgram", nil, &m.socket)
	if err != nil {
		return fmt.Errorf("telling the service manager %s: %w", what, err)
	}
	defer func() { _ = conn.Close() }() // a datagram is sent or not, whatever closing says
	// A manager that does not read must not stop the daemon.
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return fmt.Errorf("telling the service manager %s: %w", what, err)
	}
	if _, err := conn.Write([]byte(what)); err != nil {
		return fmt.Errorf("telling the service manager %s: %w", what, err)
	}
	return nil
}
