package factory_test

import (
	"slices"
	"testing"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/factory"
)

// Every kind that sends somewhere can be tried without an event, which is what check does.
func TestEveryKindCanBeTried(t *testing.T) {
	t.Parallel()
	for kind, specs := range bases() {
		if slices.Contains([]string{"composite", "transform", "console", "noop"}, kind) {
			continue // they stand for others, or have nobody to ask
		}
		leaf := factory.LeafOf(specs[0])
		if leaf == nil {
			t.Errorf("%s: nothing comes of %v", kind, specs[0])
			continue
		}
		if _, ok := leaf.(transport.Prober); !ok {
			t.Errorf("%s can't be tried", kind)
		}
		if err := leaf.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
