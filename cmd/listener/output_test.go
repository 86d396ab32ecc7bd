package main

import "testing"

func TestRounded(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 5 << 50: "5120.0 TiB"} {
		equal(t, want, rounded(bytes))
	}
}
