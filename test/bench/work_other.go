//go:build !linux

package main

import (
	"context"
	"time"
)

// processorTime is not known elsewhere than on Linux.
func processorTime() time.Duration { return 0 }

// work takes a time. Elsewhere than on Linux no core is kept busy with it.
func work(ctx context.Context, d time.Duration) { pause(ctx, d) }
