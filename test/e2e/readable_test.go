package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/test/told"
)

// watch is a bare poller beside the listener: it notes when a run's state could first be read over REST. Prefect's own
// recorder can be many seconds behind the tasks, which no reader can make up for.
type watch struct {
	url  string
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	seen map[string]time.Time // run id + event type -> first readable
	err  error
}

const watchEvery = 100 * time.Millisecond

func startWatch(t *testing.T, p *rig.Prefect) *watch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{url: p.URL, stop: cancel, seen: map[string]time.Time{}}
	w.done.Go(func() { w.run(ctx) })
	t.Cleanup(func() {
		cancel()
		w.done.Wait()
	})
	return w
}

func (w *watch) run(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		for offset := 0; ; offset += 200 {
			n, err := w.page(ctx, offset)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				w.mu.Lock()
				w.err = err
				w.mu.Unlock()
			}
			if n < 200 {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *watch) page(ctx context.Context, offset int) (int, error) {
	body := fmt.Sprintf(`{"limit":200,"offset":%d}`, offset)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/task_runs/filter", bytes.NewBufferString(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var rows []struct {
		ID        string `json:"id"`
		StateType string `json:"state_type"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&rows); err != nil {
		return 0, err
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range rows {
		if end := told.EndTypes[row.StateType]; end != "" {
			w.note(row.ID+end, now)
			w.note(row.ID+"START", now) // a start that was never seen by itself
		} else if row.StateType == "RUNNING" {
			w.note(row.ID+"START", now)
		}
	}
	return len(rows), nil
}

func (w *watch) note(key string, now time.Time) {
	if _, ok := w.seen[key]; !ok {
		w.seen[key] = now
	}
}

// readable says when the state that an event tells of could first be read.
func (w *watch) readable(e told.Event) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.seen[e.Run.RunID+e.EventType]
	return at, ok
}
