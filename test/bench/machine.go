package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is USER_HZ, which Linux fixes for user space on all architectures that Go supports.
const ticksPerSecond = 100

// loadAverage is how many processes wanted to run, on average over the last minute; 0 where the system doesn't say.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}

// groupCPU is the time that the processes of a group have worked so far, with that of their children that have ended.
func groupCPU(group int) (time.Duration, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		if stat, err := parseStat(string(text)); err == nil && stat.group == group {
			sum, found = sum+stat.cpu, true
		}
	}
	if !found {
		return 0, fmt.Errorf("no process of group %d in /proc: CPU time can only be measured on Linux", group)
	}
	return sum, nil
}

// stat is what is needed of /proc/PID/stat, see proc_pid_stat(5).
type stat struct {
	group int
	cpu   time.Duration // its own and that of its children that have ended
}

func parseStat(text string) (stat, error) {
	// The second field is a name in parentheses that may hold anything.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("a stat file with %d fields", len(fields))
	}
	var s stat
	var err error
	if s.group, err = strconv.Atoi(fields[2]); err != nil {
		return stat{}, err
	}
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return stat{}, err
		}
		s.cpu += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	return s, nil
}

// residentMemory returns the memory of a process in MiB: now, and the most that it ever was.
func residentMemory(pid int) (now, most float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch name {
		case "VmRSS":
			now = kib / 1024
		case "VmHWM":
			most = kib / 1024
		}
	}
	return now, most, nil
}
