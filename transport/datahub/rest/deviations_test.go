package rest_test

import (
	"strings"
)

// deviation is a thing that the emitter does otherwise than the Python emitter did in a recording. docs/datahub.md lists
// them for people.
type deviation struct {
	recording, what, reason string
	change                  func(*recording)
}

const (
	traceHeader = "00-00062c51b4f3a1c04bf92f3577b34da6-00f067aa0ba902b7-01"
	goldenTrace = "00062c51b4f3a1c04bf92f3577b34da6"
	goldenTable = "urn:li:dataset:(urn:li:dataPlatform:bigquery,my-project.my-dataset.user-table,PROD)"
	downstream  = "urn:li:dataset:(urn:li:dataPlatform:bigquery,downstream,PROD)"
	tracePath   = "/openapi/v1/trace/write/" + goldenTrace + "?onlyIncludeErrors=false&detailed=true"
	newServer   = `{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.3.0"}},"datahub":{"serverEnv":"core"}}`
	waits       = "the Python emitter documents that ASYNC_WAIT waits, sends the bytes of ASYNC over Rest.li and returns"
)

var deviations = []deviation{
	{"restli-dataset-properties-SYNC_WAIT", "asks for the search index", syncReason, syncHeader},
	{"restli-upstream-lineage-SYNC_WAIT", "asks for the search index", syncReason, syncHeader},
	{"restli-dataset-properties-ASYNC_WAIT", "waits over Rest.li", waits, waitOverRestli(goldenTable, "datasetProperties")},
	{"restli-upstream-lineage-ASYNC_WAIT", "waits over Rest.li", waits, waitOverRestli(downstream, "upstreamLineage")},
	{"restli-batch-ASYNC_WAIT", "waits over Rest.li", waits, waitOverRestli(goldenTable, "datasetProperties")},
	{"restli-plain-emitter-after-test-connection", "waits over Rest.li", waits, waitOverRestli(goldenTable, "datasetProperties")},
	{"restli-forced-on-new-server", "waits over Rest.li", waits, waitOverRestli(goldenTable, "datasetProperties")},
	{
		"restli-nonascii-single", "sends the URN as it is",
		"the Python emitter escapes a URN twice, so that another entity is written", func(r *recording) {
			fixed := strings.ReplaceAll(*r.Requests[0].Body, `tabl\\u00e9\\u1f600`, `tablé😀`)
			r.Requests[0].Body = &fixed
		},
	},
	{
		"openapi-delete", "escapes the URN in the path",
		"brackets, slashes or percent signs of a URN are parts of the address otherwise", func(r *recording) {
			r.Requests[1].Path = "/openapi/v3/entity/dataset/" +
				"urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3Abigquery%2Cmy-project.my-dataset.user-table%2CPROD%29"
		},
	},
	{
		"openapi-delete", "sends no body",
		"RFC 9110, 9.3.5: a body of a DELETE means nothing, and proxies refuse it", func(r *recording) {
			none := ""
			r.Requests[1].Body = &none
		},
	},
	{
		"openapi-create", "keeps CREATE by sending it over Rest.li",
		"the array form of OpenAPI has no change type: the Python emitter overwrites what CREATE must not", func(r *recording) {
			body := `{"proposal":{"entityType":"dataset","entityUrn":"` + goldenTable + `","changeType":"CREATE",` +
				`"aspectName":"status","aspect":{"value":"{\"removed\":false}","contentType":"application/json"},` +
				`"systemMetadata":{"lastObserved":1700000000000,"runId":"no-run-id-provided","lastRunId":"no-run-id-provided",` +
				`"properties":{"clientId":"acryl-datahub","clientVersion":"1.7.0.17"}}},"async":"false"}`
			r.Requests[1].Path, r.Requests[1].Body = "/aspects?action=ingestProposal", &body
		},
	},
	{
		"openapi-batch-ASYNC_WAIT", "waits for every aspect of a URN that comes twice",
		"the Python emitter waits for the last one only", func(r *recording) {
			for _, i := range []int{3, 4} {
				q := &r.Requests[i]
				asked := strings.Replace(*q.Body, `["status"]`, `["datasetProperties","status"]`, 1)
				q.Body = &asked
				done := `{"success":true,"primaryStorage":{"writeStatus":"ACTIVE_STATE"},"searchStorage":{"writeStatus":"NO_OP"}}`
				if i == 3 {
					done = strings.Replace(done, "NO_OP", "PENDING", 1)
				}
				q.Response.Body = strings.Replace(q.Response.Body, `"status":`, `"datasetProperties":`+done+`,"status":`, 1)
			}
		},
	},
	{
		"openapi-forced-ASYNC_WAIT", "asks whether the server can be waited for before it writes",
		"a write that can't be confirmed is refused before it is made", func(r *recording) {
			r.Requests[0], r.Requests[1] = r.Requests[1], r.Requests[0]
		},
	},
	{
		"trace-missing-header", "says that the write is not confirmed",
		"the Python emitter returns as if it were", func(r *recording) {
			r.Expect = "no traceparent to ask by"
		},
	},
}

const syncReason = "the Python emitter sends the bytes of SYNC_PRIMARY; the header in the proposal makes GMS wait over Rest.li too"

// syncHeader puts the header that waits for the search index into a recorded Rest.li proposal.
func syncHeader(r *recording) {
	body := strings.Replace(*r.Requests[0].Body, `}, "async"`, `, "headers": {"X-DataHub-Sync-Index-Update": "true"}}, "async"`, 1)
	r.Requests[0].Body = &body
}

// waitOverRestli puts a look at /config before the write, where it is not there yet, and the trace's answer behind it.
func waitOverRestli(urn, aspect string) func(*recording) {
	return func(r *recording) {
		if r.Requests[0].Path != "/config" {
			none := ""
			r.Requests = append([]recordedRequest{{
				Method: "GET", Path: "/config", Body: &none, Response: recordedResponse{Status: 200, Body: newServer},
			}}, r.Requests...)
		}
		ask := `{"` + urn + `":["` + aspect + `"]}`
		r.Requests = append(r.Requests, recordedRequest{
			Method: "POST", Path: tracePath, Body: &ask, Response: recordedResponse{Status: 200, Body: `{"` + urn + `":{"` + aspect +
				`":{"success":true,"primaryStorage":{"writeStatus":"ACTIVE_STATE"},"searchStorage":{"writeStatus":"ACTIVE_STATE"}}}}`},
		})
	}
}
