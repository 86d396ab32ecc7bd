package main

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is the time that this process has worked.
func processorTime() time.Duration {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}

// work keeps a core busy for a time of the core's own, so that on a machine with much to do it takes longer, as all
// else there does.
func work(ctx context.Context, d time.Duration) {
	runtime.LockOSThread() // the clock is the thread's
	defer runtime.UnlockOSThread()
	var began, now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &began) != nil {
		pause(ctx, d)
		return
	}
	var spin uint64 // work that nobody needs, kept alive so that the compiler does not leave it out
	defer func() { runtime.KeepAlive(spin) }()
	until := began.Nano() + d.Nanoseconds()
	for now.Nano() < until && ctx.Err() == nil {
		for range 1000 {
			spin++
		}
		if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
			return
		}
	}
}
