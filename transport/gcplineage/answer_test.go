package gcplineage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prefect-openlineage/listener/transport"
	"github.com/prefect-openlineage/listener/transport/httptransport"
	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// said is an answer as Google's services write it.
func said(code, message string, details ...map[string]any) string {
	if details == nil {
		details = []map[string]any{}
	}
	text, err := json.MarshalIndent(map[string]any{
		"error": map[string]any{"code": 0, "message": message, "status": code, "details": details},
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func reason(reason string, about map[string]string) map[string]any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com", "metadata": about}
}

func retryIn(delay string) map[string]any {
	return map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
}

func counting(n *int) httptransport.TokenFunc {
	return func(context.Context, *http.Client) (string, time.Duration, error) {
		*n++
		return fmt.Sprintf("token-%d", *n), time.Hour, nil
	}
}

// answers are what Google says, and what has to become of the event.
func answers() []answer {
	const producer = "roles/datalineage.producer"
	return []answer{
		{"quota, with a wait", 429, said("RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Requests'", reason("RATE_LIMIT_EXCEEDED", nil), retryIn("30s")), transport.Retry, "status-429", 30 * time.Second, "Quota exceeded"},
		{"quota, with a long wait", 429, said("RESOURCE_EXHAUSTED", "Quota", retryIn("86400s")), transport.Retry, "status-429", transport.MaxRetryAfter, "Quota"},
		{"quota, without a wait", 429, said("RESOURCE_EXHAUSTED", "Quota"), transport.Retry, "status-429", 0, "RESOURCE_EXHAUSTED: Quota"},
		{"quota as it was said once", 403, said("PERMISSION_DENIED", "Rate", reason("RATE_LIMIT_EXCEEDED", nil)), transport.Retry, "status-429", 0, "Rate"},
		{"away", 503, said("UNAVAILABLE", "The service is currently unavailable."), transport.Retry, "status-503", 0, "UNAVAILABLE: The service"},
		{"too slow", 504, said("DEADLINE_EXCEEDED", "Deadline expired"), transport.Retry, "status-504", 0, "DEADLINE_EXCEEDED"},
		{"broken", 500, said("INTERNAL", "Internal error encountered."), transport.Retry, "status-500", 0, "INTERNAL"},
		{"two at once", 409, said("ABORTED", "Concurrent"), transport.Retry, "status-409", 0, "ABORTED"},
		{"cancelled", 499, said("CANCELLED", "Cancelled"), transport.Retry, "", 0, "CANCELLED"},

		{"no permission", 403, said("PERMISSION_DENIED", "Permission denied", reason("IAM_PERMISSION_DENIED", map[string]string{"permission": "datalineage.locations.processOpenLineageMessage"})), transport.Hold, "auth", 0, "datalineage.locations.processOpenLineageMessage is missing: grant the credentials " + producer},
		{"no permission, without a reason", 403, said("PERMISSION_DENIED", "The caller does not have permission"), transport.Hold, "auth", 0, "grant the credentials " + producer},
		{"the API is off", 403, said("PERMISSION_DENIED", "Data Lineage API has not been used in project 1", reason("SERVICE_DISABLED", map[string]string{"service": "datalineage.googleapis.com"})), transport.Hold, "auth", 0, "gcloud services enable datalineage.googleapis.com"},
		{"no billing", 403, said("PERMISSION_DENIED", "Billing", reason("BILLING_DISABLED", nil)), transport.Hold, "auth", 0, "no billing account"},
		{"no such project", 403, said("PERMISSION_DENIED", "Consumer", reason("CONSUMER_INVALID", nil)), transport.Hold, "auth", 0, "check project_id"},
		{"the quota's project", 403, said("PERMISSION_DENIED", "User project", reason("USER_PROJECT_DENIED", nil)), transport.Hold, "auth", 0, "roles/serviceusage.serviceUsageConsumer"},
		{"scopes", 403, said("PERMISSION_DENIED", "Scopes", reason("ACCESS_TOKEN_SCOPE_INSUFFICIENT", nil)), transport.Hold, "auth", 0, "cloud-platform"},
		{"a perimeter", 403, said("PERMISSION_DENIED", "Request is prohibited by organization's policy", reason("SECURITY_POLICY_VIOLATED", nil)), transport.Hold, "auth", 0, "a policy"},
		{"expired", 401, said("UNAUTHENTICATED", "Request had invalid authentication credentials.", reason("ACCESS_TOKEN_EXPIRED", nil)), transport.Hold, "auth", 0, "check the credentials"},
		{"no credentials", 401, said("UNAUTHENTICATED", "Missing"), transport.Hold, "auth", 0, "check the credentials"},
		{"a key that is none", 400, said("INVALID_ARGUMENT", "API key not valid.", reason("API_KEY_INVALID", nil)), transport.Hold, "auth", 0, "check the credentials"},
		{"no such place", 404, said("NOT_FOUND", "Location mars was not found"), transport.Hold, "status-404", 0, "check project_id, location and endpoint"},
		{"not there", 501, said("UNIMPLEMENTED", "Operation is not implemented"), transport.Hold, "status-501", 0, "check endpoint and location"},
		{"a setting of the project", 400, said("FAILED_PRECONDITION", "Precondition check failed."), transport.Hold, "status-400", 0, "policies"},

		{"the event is wrong", 400, said("INVALID_ARGUMENT", "Request contains an invalid argument."), transport.Permanent, "refused", 0, "INVALID_ARGUMENT: Request contains"},
		{"a policy against the job", 400, said("FAILED_PRECONDITION", "Operation denied by org policy", reason("CUSTOM_ORG_POLICY_VIOLATION", nil)), transport.Permanent, "refused", 0, "forbids this job"},
		{"too large", 413, "<html>413. That's an error.</html>", transport.Permanent, "too-large", 0, "413"},
		{"too large, in the words of the front door", 400, said("INVALID_ARGUMENT", "Request payload size exceeds the limit: 10485760 bytes."), transport.Permanent, "too-large", 0, "exceeds"},

		{"a page of somebody else's", 404, "<html>nginx</html>", transport.Hold, "status-404", 0, "that is not Google's API: check endpoint"},
		{"a bad gateway", 502, "<html>Error 502</html>", transport.Retry, "status-502", 0, "502 Bad Gateway: <html>"},
		{"a redirect", 302, "", transport.Hold, "redirect", 0, "check endpoint"},
	}
}

type answer struct {
	name    string
	status  int
	body    string
	outcome transport.Outcome
	reason  string // empty: not looked at
	wait    time.Duration
	text    string // what the error has to say
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range answers() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sink := transporttest.NewSink(t)
			sink.Script(transporttest.Always(transporttest.Reply{Status: tt.status, Body: tt.body}))
			e := transporttest.RequireError(t, to(t, sink, nil, static("x")).Emit(t.Context(), transporttest.Event(1, 0)))
			if e.Outcome != tt.outcome || (tt.reason != "" && e.Reason != tt.reason) || e.RetryAfter != tt.wait || e.Status != tt.status {
				t.Errorf("%v %s after %v, status %d; want %v %s after %v", e.Outcome, e.Reason, e.RetryAfter, e.Status, tt.outcome, tt.reason, tt.wait)
			}
			if !strings.Contains(e.Error(), tt.text) {
				t.Errorf("it says %q and not %q", e, tt.text)
			}
			if !strings.HasPrefix(tt.body, string(e.Answer)) {
				t.Errorf("the answer is kept as %q", e.Answer)
			}
		})
	}
}

// Google's word for "I have that already" is a success: the names of what it has are made of the event.
func TestAlreadyThere(t *testing.T) {
	t.Parallel()
	sink := transporttest.NewSink(t)
	sink.Script(transporttest.Always(transporttest.Reply{Status: 409, Body: said("ALREADY_EXISTS", "exists")}))
	if err := to(t, sink, nil, static("x")).Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
		t.Error(err)
	}
}

// Whatever comes back, it is classed without a panic.
func FuzzAnswer(f *testing.F) {
	for _, a := range answers() {
		f.Add(a.status, a.body)
	}
	sink := transporttest.NewSink(f)
	tr := to(f, sink, map[string]any{"timeout": 5}, static("x"))
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 400 || status > 599 {
			return
		}
		sink.Forget()
		sink.Script(transporttest.Always(transporttest.Reply{Status: status, Body: body}))
		if err := tr.Emit(t.Context(), transporttest.Event(1, 0)); err != nil {
			transporttest.RequireError(t, err)
		}
	})
}
