package rest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/rest"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// server stands for GMS in the examples: it says what it was asked.
func server() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/config" {
			fmt.Fprint(w, `{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.3.0"}}}`)
			return
		}
		fmt.Println(r.Method, r.RequestURI)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			log.Print(err)
		}
	}))
}

// check ends an example that can't go on.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Describe a table.
func Example_datasetProperties() {
	gms := server() // http://localhost:8080 in real life
	defer gms.Close()

	emitter, err := rest.New(rest.Config{Server: gms.URL, Token: os.Getenv("DATAHUB_GMS_TOKEN")})
	check(err)
	defer emitter.Close()
	_, err = emitter.TestConnection(context.Background()) // fails where the address is that of DataHub's page
	check(err)

	table, err := urn.Dataset("bigquery", "", "my-project.my-dataset.user-table", "PROD").URN()
	check(err)
	proposal, err := mcp.New(table, aspect.DatasetProperties{
		Description:      "This table stored the canonical User profile",
		CustomProperties: aspect.Properties{"governance": "ENABLED"},
	})
	check(err)
	result, err := emitter.Emit(context.Background(), proposal)
	fmt.Println(result.State, err)
	// Output:
	// POST /openapi/v3/entity/dataset?async=false
	// written <nil>
}

// Say that one table comes from two others.
func Example_lineage() {
	gms := server()
	defer gms.Close()
	emitter, err := rest.New(rest.Config{Server: gms.URL})
	check(err)
	defer emitter.Close()

	table := func(name string) string {
		text, err := urn.Dataset("bigquery", "", name, "PROD").URN()
		check(err)
		return text
	}
	proposal, err := mcp.New(table("downstream"), aspect.UpstreamLineage{Upstreams: []aspect.Upstream{
		{Dataset: table("upstream1"), Type: aspect.Transformed},
		{Dataset: table("upstream2"), Type: aspect.Transformed},
	}})
	check(err)
	result, err := emitter.Emit(context.Background(), proposal, rest.WithMode(rest.SyncWait))
	fmt.Println(result.State, err)
	// Output:
	// POST /openapi/v3/entity/dataset?async=false
	// written <nil>
}

// The mode is that of the call, else the emitter's, else SYNC_PRIMARY. What DATAHUB_EMIT_MODE says is put into the
// emitter's by the program.
func Example_defaultModeAndOverride() {
	gms := server()
	defer gms.Close()

	mode, err := rest.ModeFromEnv(func(string) string { return "async" }) // os.Getenv in real life
	check(err)
	emitter, err := rest.New(rest.Config{Server: gms.URL, Mode: mode})
	check(err)
	defer emitter.Close()
	proposal, err := mcp.New("urn:li:tag:finance", aspect.Status{})
	check(err)
	result, err := emitter.Emit(context.Background(), proposal)
	fmt.Println(result.Mode, result.State, err)
	result, err = emitter.Emit(context.Background(), proposal, rest.WithMode(rest.SyncPrimary))
	fmt.Println(result.Mode, result.State, err)
	// Output:
	// POST /openapi/v3/entity/tag?async=true
	// ASYNC queued <nil>
	// POST /openapi/v3/entity/tag?async=false
	// SYNC_PRIMARY written <nil>
}

// Send many, and look at what became of each.
func ExampleEmitter_EmitAll() {
	gms := server()
	defer gms.Close()
	emitter, err := rest.New(rest.Config{Server: gms.URL, API: rest.APIRestli, Parallel: 4})
	check(err)
	defer emitter.Close()
	var proposals []mcp.Proposal
	for _, tag := range []string{"urn:li:tag:finance", "urn:li:tag:orders"} {
		proposal, err := mcp.New(tag, aspect.Status{})
		check(err)
		proposals = append(proposals, proposal)
	}
	proposals[1].AspectName = "" // a mistake
	results, err := emitter.EmitAll(context.Background(), proposals)
	fmt.Println(err != nil)
	for _, r := range results {
		fmt.Println(r.State, r.Err)
	}
	// Output:
	// POST /aspects?action=ingestProposalBatch
	// true
	// written <nil>
	// failed the proposal for urn:li:tag:orders is not valid: its aspect name is "", which is no name of an aspect
}
