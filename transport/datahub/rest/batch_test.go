package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
)

// states counts results by state.
func states(results []rest.Result) map[rest.State]int {
	count := map[rest.State]int{}
	for _, r := range results {
		count[r.State]++
	}
	return count
}

// TestOneBadProposalHidesNoOther has one proposal among many that the server does not take.
func TestOneBadProposalHidesNoOther(t *testing.T) {
	t.Parallel()
	const bad = 137
	for name, c := range map[string]struct {
		status int
		api    rest.API
		state  rest.State
	}{
		"400 over Rest.li": {400, rest.APIRestli, rest.Failed},
		"422 over OpenAPI": {422, rest.APIOpenAPI, rest.Failed},
		"413 over Rest.li": {413, rest.APIRestli, rest.Failed},
		"403 over OpenAPI": {403, rest.APIOpenAPI, rest.Failed},
		"404 over OpenAPI": {404, rest.APIOpenAPI, rest.Failed},
		"500 over Rest.li": {500, rest.APIRestli, rest.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			taken := map[string]int{}
			g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
				if holds(r.body, bad) {
					says(c.status, `{"message":"not this one"}`)(w, r)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for _, n := range tables(r.body) {
					taken[n]++
				}
			})
			e, time := newEmitter(t, g.URL, func(config *rest.Config) { config.API = c.api })
			results, err := e.EmitAll(t.Context(), proposals(t, 450))
			batch, ok := errors.AsType[*rest.BatchError](err)
			if !ok || batch.Total != 450 || batch.Failed+batch.Unknown != 1 || batch.Unsent != 0 {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(map[rest.State]int{rest.Written: 449, c.state: 1}, states(results)); diff != "" {
				t.Error(diff)
			}
			if problem, ok := errors.AsType[*rest.Error](results[bad].Err); !ok || problem.Status != c.status {
				t.Errorf("the bad one's result is %+v", results[bad])
			}
			if len(taken) != 449 {
				t.Errorf("the server has %d, want 449", len(taken))
			}
			if n := len(g.requests()); n > 2+4+2*8 { // the other chunks, the tries of a 500, twice the depth of the halving
				t.Errorf("%d requests", n)
			}
			if slept := time.Slept(); c.status != 500 && len(slept) != 0 {
				t.Errorf("slept %v", slept)
			}
		})
	}
}

// TestATroubleStopsTheCall has a server that fails from its second chunk on.
func TestATroubleStopsTheCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		requests int
		want     map[rest.State]int
	}{
		"away":      {503, 1 + 5, map[rest.State]int{rest.Written: 200, rest.Unknown: 200, rest.Unsent: 600}},
		"throttled": {429, 1 + 9, map[rest.State]int{rest.Written: 200, rest.Failed: 200, rest.Unsent: 600}},
		"401":       {401, 1 + 1, map[rest.State]int{rest.Written: 200, rest.Failed: 200, rest.Unsent: 600}},
		// What may be one proposal's fault is looked into within bounds, and twice in a row it is the server's.
		"500": {500, 1 + 2*(5+16), map[rest.State]int{rest.Written: 200, rest.Unknown: 400, rest.Unsent: 400}},
		"403": {403, 1 + 2*(1+16), map[rest.State]int{rest.Written: 200, rest.Failed: 400, rest.Unsent: 400}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, tries(says(200, ""), says(c.status, "")))
			e, _ := newEmitter(t, g.URL, nil)
			results, err := e.EmitAll(t.Context(), proposals(t, 1000))
			if diff := cmp.Diff(c.want, states(results)); diff != "" {
				t.Error(diff)
			}
			if n := len(g.requests()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			for i, r := range results {
				if (r.Err == nil) != (r.State == rest.Written) || (r.State == rest.Unsent) != errors.Is(r.Err, rest.ErrUnsent) {
					t.Fatalf("result %d is %+v", i, r)
				}
			}
			if problem, ok := errors.AsType[*rest.Error](err); !ok || problem.Status != c.status {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInvalidProposalsAreNotSent(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, nil)
	all := proposals(t, 3)
	all[1].AspectName = ""
	results, err := e.EmitAll(t.Context(), all)
	if problem, ok := errors.AsType[*mcp.ValidationError](results[1].Err); !ok || problem.Field != "aspect name" {
		t.Errorf("got %+v", results[1])
	}
	if diff := cmp.Diff(map[rest.State]int{rest.Written: 2, rest.Failed: 1}, states(results)); diff != "" {
		t.Error(diff)
	}
	if _, ok := errors.AsType[*rest.BatchError](err); !ok {
		t.Errorf("got %v", err)
	}
	if sent := g.requests(); len(sent) != 1 || len(tables(sent[0].body)) != 2 {
		t.Errorf("sent %v", sent)
	}
	all = all[1:2]
	if _, err := e.EmitAll(t.Context(), all); err == nil || len(g.requests()) != 1 {
		t.Errorf("a call with nothing to send: %v, %d requests", err, len(g.requests()))
	}
	if results, err := e.EmitAll(t.Context(), nil); err != nil || len(results) != 0 {
		t.Errorf("an empty call: %v, %v", results, err)
	}
}

// TestParallelKeepsTheOrderOfAnEntity sends many versions of a few entities over several lanes.
func TestParallelKeepsTheOrderOfAnEntity(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string][]string{} // per entity, as the server got them
	g := newGMS(t, func(_ http.ResponseWriter, r sentRequest) {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range restliProposals(t, r.body) {
			seen[p.EntityURN] = append(seen[p.EntityURN], string(p.Aspect))
		}
	})
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.Parallel, c.ChunkProposals = 4, 7 })
	want := map[string][]string{}
	var all []mcp.Proposal
	for i := range 300 {
		p, err := mcp.New(fmt.Sprintf("urn:li:tag:%d", i%11), properties{Description: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		want[p.EntityURN] = append(want[p.EntityURN], string(p.Aspect))
	}
	if _, err := e.EmitAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOverKinds(t *testing.T) {
	t.Parallel()
	write := proposals(t, 3)
	patch, err := mcp.Patch(write[0].EntityURN, "globalTags", []mcp.PatchOp{{Op: "add", Path: "/tags/x", Value: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	remove, err := mcp.Delete(write[1].EntityURN)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := mcp.New("urn:li:tag:1", properties{})
	if err != nil {
		t.Fatal(err)
	}
	create := write[2]
	create.ChangeType = mcp.ChangeCreate
	escaped := "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3Ahive%2Ct1%2CPROD%29"
	for name, c := range map[string]struct {
		api  rest.API
		want []string
	}{
		"Rest.li": {rest.APIRestli, []string{
			"POST /aspects?action=ingestProposalBatch 0 2 0", // with the patch and the tag
			"POST /entities?action=delete 1",
			"POST /aspects?action=ingestProposalBatch 1 0 2",
		}},
		"OpenAPI": {rest.APIOpenAPI, []string{
			"POST /openapi/v3/entity/dataset?async=false 0 2",
			"PATCH /openapi/v3/entity/dataset?async=false 0",
			"POST /openapi/v3/entity/tag?async=false",
			"DELETE /openapi/v3/entity/dataset/" + escaped,
			"POST /openapi/v3/entity/dataset?async=false 1 0",
			"POST /aspects?action=ingestProposalBatch 2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGMS(t, nil)
			e, _ := newEmitter(t, g.URL, func(config *rest.Config) { config.API = c.api })
			all := []mcp.Proposal{write[0], write[2], patch, tag, remove, write[1], write[0], create}
			if _, err := e.EmitAll(t.Context(), all); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range g.requests() {
				got = append(got, strings.TrimSpace(r.method+" "+r.path+" "+strings.Join(tables(r.body), " ")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALargeProposalGoesAlone(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.ChunkBytes = 2000 })
	all := proposals(t, 5)
	large, err := mcp.New(all[2].EntityURN, properties{Description: strings.Repeat("x", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	all[2] = large
	if _, err := e.EmitAll(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range g.requests() {
		got = append(got, tables(r.body))
	}
	if diff := cmp.Diff([][]string{{"0", "1"}, {"2"}, {"3", "4"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAContextEndsACall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("enough")
	g := newGMS(t, func(w http.ResponseWriter, r sentRequest) {
		if holds(r.body, 3) {
			cancel(ended)
		}
	})
	e, _ := newEmitter(t, g.URL, func(c *rest.Config) { c.ChunkProposals = 2 })
	results, err := e.EmitAll(ctx, proposals(t, 8))
	if !errors.Is(err, ended) {
		t.Errorf("got %v", err)
	}
	got := states(results)
	if got[rest.Written]+got[rest.Unknown] != 4 || got[rest.Unsent] != 4 {
		t.Errorf("got %v", got)
	}
	results, err = e.EmitAll(ctx, proposals(t, 2))
	if !errors.Is(err, ended) || states(results)[rest.Unsent] != 2 {
		t.Errorf("a call whose context is over: %v, %v", err, states(results))
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	g := newGMS(t, nil)
	e, _ := newEmitter(t, g.URL, nil)
	e.Close()
	if r, err := e.Emit(t.Context(), proposal(t, 1)); !errors.Is(err, rest.ErrClosed) || r.State != rest.Unsent {
		t.Errorf("got %+v, %v", r, err)
	}
	if paths := g.paths(); slices.Contains(paths, "POST") {
		t.Error(paths)
	}
}
