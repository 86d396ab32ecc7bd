package gcplineage_test

import (
	"strings"
	"testing"

	"github.com/prefect-openlineage/listener/test/docs"
	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// codes are google.rpc's, with the HTTP statuses that carry them.
func codes() map[string]int {
	return map[string]int{
		"RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504, "INTERNAL": 500, "UNKNOWN": 500, "ABORTED": 409,
		"CANCELLED": 499, "DATA_LOSS": 500, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404,
		"UNIMPLEMENTED": 501, "FAILED_PRECONDITION": 400, "INVALID_ARGUMENT": 400, "OUT_OF_RANGE": 400, "ALREADY_EXISTS": 409,
	}
}

// Each status and reason of the guide's table means what the table says, and the table has every status.
func TestTheGuidesAnswers(t *testing.T) {
	t.Parallel()
	table := docs.Read(t, "../../docs/transports/gcplineage.md").Section(t, "What Google answers").Tables[0]
	sink := transporttest.NewSink(t)
	tr := to(t, sink, nil, static("x"))
	seen := map[string]bool{}
	for _, row := range table.Rows {
		reasons := docs.Spans(row[1])
		if len(reasons) == 0 {
			reasons = []string{""}
		}
		for _, code := range docs.Spans(row[0]) {
			seen[code] = true
			for _, why := range reasons {
				body := said(code, "words")
				if why != "" {
					body = said(code, "words", reason(why, nil))
				}
				sink.Script(transporttest.Always(transporttest.Reply{Status: codes()[code], Body: body}))
				err := tr.Emit(t.Context(), transporttest.Event(1, 0))
				got := "delivered"
				if err != nil {
					got = map[transport.Outcome]string{
						transport.Retry: "retried", transport.Hold: "held", transport.Permanent: "dead letter",
					}[transport.ClassifyError(err).Outcome]
				}
				if !strings.HasPrefix(row[2], got) {
					t.Errorf("%s %s is %s, and the guide says %s", code, why, got, row[2])
				}
			}
		}
	}
	for code := range codes() {
		if !seen[code] {
			t.Errorf("the guide says nothing of %s", code)
		}
	}
}
