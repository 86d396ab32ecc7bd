package gcplineage

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/prefect-openlineage/listener/transport"
)

// status is google.rpc.Status as Google's REST services write it (https://google.aip.dev/193).
type status struct {
	Error struct {
		Status  string   `json:"status"` // the name of a google.rpc.Code
		Message string   `json:"message"`
		Details []detail `json:"details"`
	} `json:"error"`
}

// detail is what is read of google.rpc.ErrorInfo and google.rpc.RetryInfo.
type detail struct {
	Type       string            `json:"@type"`
	Reason     string            `json:"reason"`
	Metadata   map[string]string `json:"metadata"`
	RetryDelay string            `json:"retryDelay"`
}

// parse reads a status. False: the answer is none, so something else than the service gave it.
func parse(body []byte) (status, bool) {
	var s status
	err := json.Unmarshal(body, &s)
	return s, err == nil && s.Error.Status != ""
}

// info returns the reason of the answer, such as SERVICE_DISABLED, and what is said to it.
func (s status) info() (string, map[string]string) {
	for _, d := range s.Error.Details {
		if d.Reason != "" {
			return d.Reason, d.Metadata
		}
	}
	return "", nil
}

// retryAfter returns the wait that Google asks for, capped; 0: none.
func (s status) retryAfter() time.Duration {
	for _, d := range s.Error.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			return min(wait, transport.MaxRetryAfter)
		}
	}
	return 0
}

// verdict is what becomes of an event, the reason for metrics (empty: that of the HTTP status), and what to do about it.
type verdict struct {
	delivered bool
	outcome   transport.Outcome
	reason    string
	hint      string
}

// judge says what an answer means. Answers that are not Google's (a proxy's page, say) are classed by their HTTP status.
func judge(a transport.Answer) (*transport.Error, string) {
	e := transport.Classify(a)
	if e == nil {
		return nil, ""
	}
	said, ok := parse(a.Body)
	if !ok {
		return e, foreign(e, a.Body)
	}
	v := said.verdict()
	if v.delivered {
		return nil, ""
	}
	e.Outcome = v.outcome
	if v.reason != "" {
		e.Reason = v.reason
	}
	if e.Outcome == transport.Retry {
		e.RetryAfter = max(e.RetryAfter, said.retryAfter())
	} else {
		e.RetryAfter = 0
	}
	words := ", " + said.Error.Status
	if reason, _ := said.info(); reason != "" {
		words += " (" + reason + ")"
	}
	if text := oneLine(said.Error.Message); text != "" {
		words += ": " + text
	}
	if v.hint != "" {
		words += "; " + v.hint
	}
	return e, words
}

// foreign says what is to be done about an answer that is not Google's.
func foreign(e *transport.Error, body []byte) string {
	words := " "
	switch {
	case e.Reason == transport.ReasonRedirect:
		words = " (a redirect, which is not followed: check endpoint)"
	case e.Outcome == transport.Hold:
		words = " (that is not Google's API: check endpoint, and what stands in between)"
	}
	if text := oneLine(string(body)); text != "" {
		words = strings.TrimSuffix(words, " ") + ": " + text
	}
	return words
}

// verdict classes a status by its reason, else by its code.
func (s status) verdict() verdict {
	reason, about := s.info()
	if v, ok := byReason(reason, about); ok {
		return v
	}
	switch s.Error.Status {
	case "ALREADY_EXISTS":
		return verdict{delivered: true} // names are made of the event: what is there is this event
	case "INVALID_ARGUMENT", "OUT_OF_RANGE":
		// The words of Google's front door, which knows no better code for it.
		if strings.Contains(s.Error.Message, "payload size exceeds the limit") {
			return verdict{outcome: transport.Permanent, reason: transport.ReasonTooLarge}
		}
		return verdict{outcome: transport.Permanent, reason: transport.ReasonRefused}
	case "UNAUTHENTICATED":
		return verdict{outcome: transport.Hold, reason: transport.ReasonAuth, hint: "check the credentials"}
	case "PERMISSION_DENIED":
		return verdict{outcome: transport.Hold, reason: transport.ReasonAuth, hint: grant("")}
	case "NOT_FOUND":
		return verdict{outcome: transport.Hold, hint: "check project_id, location and endpoint"}
	case "FAILED_PRECONDITION":
		return verdict{outcome: transport.Hold, hint: "check the project's settings and its organisation's policies"}
	case "UNIMPLEMENTED":
		return verdict{outcome: transport.Hold, hint: "check endpoint and location"}
	default: // RESOURCE_EXHAUSTED, UNAVAILABLE, ABORTED, INTERNAL, UNKNOWN, DEADLINE_EXCEEDED, CANCELLED, DATA_LOSS
		return verdict{outcome: transport.Retry}
	}
}

// byReason classes what has a reason that says more than its code (https://docs.cloud.google.com/apis/docs/reference/rpc/google.api#errorreason).
func byReason(reason string, about map[string]string) (verdict, bool) {
	hold := func(hint string) (verdict, bool) {
		return verdict{outcome: transport.Hold, reason: transport.ReasonAuth, hint: hint}, true
	}
	switch reason {
	case "SERVICE_DISABLED":
		return hold("enable the Data Lineage API in the project: gcloud services enable datalineage.googleapis.com")
	case "IAM_PERMISSION_DENIED":
		return hold(grant(about["permission"]))
	case "BILLING_DISABLED":
		return hold("the project has no billing account")
	case "CONSUMER_INVALID", "CONSUMER_SUSPENDED":
		return hold("check project_id and quota_project: Google knows no such project, or has suspended it")
	case "USER_PROJECT_DENIED":
		return hold("the credentials may not charge quota_project: they need roles/serviceusage.serviceUsageConsumer there")
	case "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
		return hold("the credentials' token lacks the scope cloud-platform; on a virtual machine it is set with its access scopes")
	case "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING", "ACCESS_TOKEN_TYPE_UNSUPPORTED", "ACCOUNT_STATE_INVALID", "API_KEY_INVALID":
		return hold("check the credentials")
	case "SECURITY_POLICY_VIOLATED", "LOCATION_POLICY_VIOLATED", "LOCATION_ORG_POLICY_VIOLATED", "ORG_RESTRICTION_VIOLATION":
		return hold("a policy of the organisation's forbids it")
	case "CUSTOM_ORG_POLICY_VIOLATION":
		// Policies may be about a process's display name and origin, so about one job and not the next.
		return verdict{outcome: transport.Permanent, reason: transport.ReasonRefused, hint: "a policy of the organisation's forbids this job"}, true
	case "RATE_LIMIT_EXCEEDED", "RESOURCE_QUOTA_EXCEEDED":
		return verdict{outcome: transport.Retry, reason: transport.StatusReason(429)}, true
	default:
		return verdict{}, false
	}
}

func grant(permission string) string {
	if permission != "" {
		permission = " " + permission + " is missing:"
	}
	return strings.TrimSpace(permission + " grant the credentials roles/datalineage.producer in the project")
}

// maxSaid is how many characters of a message stand in an error's text; the error's Answer holds more.
const maxSaid = 300

// oneLine returns a text on one line, shortened.
func oneLine(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	if len(words) > maxSaid {
		return string(words[:maxSaid]) + "…"
	}
	return string(words)
}
