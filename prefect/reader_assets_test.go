package prefect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/prefect-openlineage/listener/prefect"
	"github.com/prefect-openlineage/listener/prefect/prefecttest"
)

var assetDay = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func assetWorld(t *testing.T, options ...prefecttest.Option) (*prefecttest.Server, *prefect.Reader) {
	t.Helper()
	options = append(options, prefecttest.Clock(func() time.Time { return assetDay.Add(time.Hour) }))
	server := prefecttest.New(t, options...)
	return server, prefect.NewReader(server.Client(t), prefect.ReaderConfig{})
}

func fullAssetEvent() prefect.AssetEvent {
	return prefect.AssetEvent{
		Name: "prefect.asset.materialization.succeeded", Occurred: assetDay.Add(time.Minute),
		Asset: prefect.Asset{
			Key: "s3://lake/clean/orders.parquet", Name: "Orders", Description: "Cleaned.", URL: "https://example.com/orders",
			Owners: []string{"data", "sales"},
		},
		Upstream: []string{"s3://lake/raw/orders.parquet", "postgres://db.example.com/shop/public/customers"},
		By:       "spark", Metadata: json.RawMessage(`{"row_count":42}`),
		TaskRunID: prefecttest.ID("task"), FlowRunID: prefecttest.ID("flow"),
	}
}

// TestAssetsComeBackAsTheyWere reads one event by its task run and by its flow run.
func TestAssetsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	server, reader := assetWorld(t)
	want := server.AddAssetEvent(fullAssetEvent(), 0)
	other := fullAssetEvent()
	other.TaskRunID, other.FlowRunID = prefecttest.ID("another task"), prefecttest.ID("another flow")
	server.AddAssetEvent(other, 0)
	for name, read := range map[string]func() (map[uuid.UUID][]prefect.AssetEvent, []prefect.BadRow, error){
		"task run": func() (map[uuid.UUID][]prefect.AssetEvent, []prefect.BadRow, error) {
			return reader.AssetsOfTaskRuns(t.Context(), []uuid.UUID{want.TaskRunID}, assetDay)
		},
		"flow run": func() (map[uuid.UUID][]prefect.AssetEvent, []prefect.BadRow, error) {
			return reader.AssetsOfFlowRuns(t.Context(), []uuid.UUID{want.FlowRunID}, assetDay)
		},
	} {
		got, bad, err := read()
		if err != nil || len(bad) > 0 {
			t.Fatalf("by %s: %v, %v", name, bad, err)
		}
		if diff := cmp.Diff(map[uuid.UUID][]prefect.AssetEvent{want.TaskRunID: {want}}, got); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAssetsFillPages reads more events than a page holds, of more runs than a request names, each once and in order.
func TestAssetsFillPages(t *testing.T) {
	t.Parallel()
	server, reader := assetWorld(t)
	var ids []uuid.UUID
	for i := range 120 {
		id := prefecttest.ID(fmt.Sprint("task ", i))
		ids = append(ids, id)
		for j := range 3 {
			server.AddAssetEvent(prefect.AssetEvent{
				Name: "prefect.asset.materialization.succeeded", Asset: prefect.Asset{Key: fmt.Sprintf("s3://lake/%d", j)},
				Occurred: assetDay.Add(time.Duration(j*1000+i) * time.Millisecond), TaskRunID: id,
			}, 0)
		}
	}
	got, _, err := reader.AssetsOfTaskRuns(t.Context(), ids, assetDay)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if len(got[id]) != 3 || got[id][0].Asset.Key != "s3://lake/0" || got[id][2].Asset.Key != "s3://lake/2" {
			t.Fatalf("events of %s: %+v", id, got[id])
		}
	}
	if n := server.Count("/events/filter") + server.Count("/events/filter/next"); n != 6+2 {
		t.Errorf("%d requests for 360 events in pages of 50", n)
	}
	newest, err := reader.NewestAssetEvents(t.Context(), assetDay, 2)
	if err != nil || len(newest) != 100 || newest[0].Occurred.Before(newest[99].Occurred) {
		t.Errorf("%d newest events, %v", len(newest), err)
	}
}

// TestWorkersAhead reads an event that a worker dated after the server's now.
func TestWorkersAhead(t *testing.T) {
	t.Parallel()
	server, reader := assetWorld(t)
	e := fullAssetEvent()
	e.Occurred = assetDay.Add(3 * time.Hour)
	server.AddAssetEvent(e, 0)
	got, _, err := reader.AssetsOfTaskRuns(t.Context(), []uuid.UUID{e.TaskRunID}, assetDay)
	if err != nil || len(got[e.TaskRunID]) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestServersWithoutEvents asks a server that shows none once, and again only after a while.
func TestServersWithoutEvents(t *testing.T) {
	t.Parallel()
	refusals := map[string]func(*prefecttest.Server){
		"2.20": func(*prefecttest.Server) {},
		"forbidden": func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events"), prefecttest.Status(http.StatusForbidden))
		},
		"another refusal": func(s *prefecttest.Server) {
			s.FaultAlways(prefecttest.Path("/events"), prefecttest.Status(http.StatusUnprocessableEntity))
		},
	}
	for name, refuse := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []prefecttest.Option
			if name == "2.20" {
				options = append(options, prefecttest.Version(prefecttest.V2_20))
			}
			server, reader := assetWorld(t, options...)
			refuse(server)
			for range 3 {
				if _, err := reader.NewestAssetEvents(t.Context(), assetDay, 1); !errors.Is(err, prefect.ErrNoEvents) {
					t.Fatalf("got %v", err)
				}
			}
			if n := server.Count("/events/filter"); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
	t.Run("in trouble", func(t *testing.T) {
		t.Parallel()
		server, reader := assetWorld(t)
		server.Fault(prefecttest.Path("/events"), prefecttest.Answer(http.StatusOK, "application/json", `{"detail":"none"}`))
		if _, err := reader.NewestAssetEvents(t.Context(), assetDay, 1); !errors.Is(err, prefect.ErrNotPrefect) {
			t.Errorf("an answer without events: %v", err)
		}
	})
}

// TestOddAssetEvents keeps what can't be understood apart from the rest.
func TestOddAssetEvents(t *testing.T) {
	t.Parallel()
	server, reader := assetWorld(t)
	id := prefecttest.ID("task")
	good := `{"id":"` + prefecttest.ID("e").String() + `","occurred":"2026-03-01T12:00:00Z","event":"prefect.asset.referenced",` +
		`"resource":{"prefect.resource.id":"s3://b/k","prefect.asset.owners":"no list","prefect.resource.name":7},` +
		`"related":[{"prefect.resource.id":"prefect.task-run.` + id.String() + `","prefect.resource.role":"task-run"},` +
		`{"prefect.resource.role":"asset"}],"payload":null}`
	for _, odd := range []string{`{}`, `7`, `{"occurred":"yesterday"}`, `{"occurred":"2026-03-01T12:00:00Z","resource":{}}`} {
		server.Fault(prefecttest.Path("/events"), prefecttest.Answer(http.StatusOK, "application/json",
			`{"events":[`+odd+`,`+good+`],"total":2,"next_page":null}`))
		got, bad, err := reader.AssetsOfTaskRuns(t.Context(), []uuid.UUID{id}, assetDay)
		if err != nil || len(bad) != 1 || bad[0].Resource != "events" || len(got[id]) != 1 || got[id][0].Asset.Name != "7" {
			t.Errorf("%s: %v, %v, %v", odd, got, bad, err)
		}
	}
}

// TestCapturedAssetEvents reads events as a real server of 3.9.1 showed them.
func TestCapturedAssetEvents(t *testing.T) {
	t.Parallel()
	server, reader := assetWorld(t)
	page, err := os.ReadFile(filepath.Join("testdata", "captured", "3.9.1", "events.json"))
	if err != nil {
		t.Fatal(err)
	}
	server.Fault(prefecttest.Path("/events"), prefecttest.Answer(http.StatusOK, "application/json", string(page)))
	got, err := reader.NewestAssetEvents(t.Context(), assetDay, 1)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range got {
		lines = append(lines, fmt.Sprintf("%s %s %q %v %q of %v by %q %s", strings.TrimPrefix(e.Name, "prefect.asset."), e.Asset.Key,
			e.Asset.Name, e.Asset.Owners, e.Asset.URL, e.Upstream, e.By, e.Metadata))
		if e.TaskRunID == uuid.Nil || e.FlowRunID == uuid.Nil || e.Occurred.IsZero() {
			t.Errorf("no runs or no time: %+v", e)
		}
	}
	want := []string{
		`materialization.succeeded s3://lake/raw/orders.parquet "Raw orders" [data-team x] "https://example.com/orders" of [] by "" {"row_count":42}`,
		`referenced postgres://db.example.com:5432/shop/public/customers "" [] "" of [] by "" `,
		`materialization.succeeded s3://lake/clean/orders.parquet "Orders" [data-team] "" of [postgres://db.example.com:5432/shop/public/customers] by "spark" `,
		`materialization.failed s3://lake/bad "" [] "" of [s3://lake/raw/orders.parquet] by "" `,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
