package differential_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain lets more configurations run side by side than there are processors: most of their time is waiting.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil { // -parallel on the command line counts before it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
