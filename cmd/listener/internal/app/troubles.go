package app

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/deliver"
	"github.com/prefect-openlineage/listener/state"
)

// lookEvery is how often the destinations are looked at for a change.
const lookEvery = time.Second

// troubles writes down which destinations fail, so that commands beside the daemon can show it.
type troubles struct {
	look func() []deliver.DestinationState
	set  func(context.Context, []state.Trouble) error
	log  *zap.Logger
}

// run notes every change until the context ends. What was noted before is forgotten at the start. A store that cannot
// be written for the moment is asked again at the next look.
func (t *troubles) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var noted []state.Trouble
	for first := true; ; {
		if now := troublesOf(t.look()); first || !slices.Equal(now, noted) {
			err := t.set(ctx, now)
			if err == nil {
				noted, first = now, false
			} else {
				t.log.Debug("the destinations' troubles could not be noted", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// troublesOf are those destinations to which nothing passes. One that is merely retrying is no trouble yet.
func troublesOf(all []deliver.DestinationState) []state.Trouble {
	var found []state.Trouble
	for _, s := range all {
		if !s.OK() {
			found = append(found, state.Trouble{Destination: s.Name, State: s.State, Reason: s.Reason, Since: s.Since})
		}
	}
	return found
}
