package datazone

import (
	"encoding/json"
	"strings"

	"github.com/prefect-openlineage/listener/transport"
)

// failure is an error as AWS's REST services write it.
type failure struct {
	kind    string // such as AccessDeniedException
	message string
}

// parse reads an error. False: the answer is none of AWS's, so something else than the service gave it.
func parse(a transport.Answer) (failure, bool) {
	var body struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"` // encoding/json takes Message for it too
	}
	readable := json.Unmarshal(a.Body, &body) == nil
	kind := a.Header.Get("X-Amzn-Errortype") // may have an address behind a colon
	if kind == "" && readable {
		kind = body.Type // may have a namespace before a #
	}
	if kind == "" && readable && body.Code != "" {
		kind = body.Code
	}
	kind, _, _ = strings.Cut(kind, ":")
	kind = kind[strings.LastIndexByte(kind, '#')+1:]
	return failure{kind: kind, message: body.Message}, kind != ""
}

// verdict is what becomes of an event, the reason for metrics (empty: that of the HTTP status), and what to do about it.
type verdict struct {
	outcome transport.Outcome
	reason  string
	hint    string
	expired bool // the credentials have ended
}

// verdicts are the errors of PostLineageEvent and those that all services of AWS have in common, by their names. What
// is not among them means what its HTTP status means.
var verdicts = map[string]verdict{
	"AccessDeniedException": hold("allow datazone:PostLineageEvent on the domain; a domain of another account has to be shared with this one"),
	"AccessDenied":          hold("allow datazone:PostLineageEvent on the domain"),
	"UnauthorizedException": hold("allow datazone:PostLineageEvent on the domain"),
	"NotAuthorized":         hold("allow datazone:PostLineageEvent on the domain"),
	"OptInRequired":         hold("the account has not opened this region"),

	"ExpiredTokenException": expired, "ExpiredToken": expired,

	"UnrecognizedClientException": hold(checkKeys), "InvalidClientTokenId": hold(checkKeys), "InvalidAccessKeyId": hold(checkKeys),
	"InvalidSignatureException": hold(checkKeys + ", the region, and this machine's clock"),
	"SignatureDoesNotMatch":     hold(checkKeys + ", the region, and this machine's clock"),
	"IncompleteSignature":       hold(checkKeys), "IncompleteSignatureException": hold(checkKeys),
	"MissingAuthenticationToken": hold(checkKeys), "MissingAuthenticationTokenException": hold(checkKeys),
	"RequestExpired": hold("check this machine's clock"), "RequestTimeTooSkewed": hold("check this machine's clock"),

	"ResourceNotFoundException": {outcome: transport.Hold, hint: "check domainId and region: the domain is not there"},
	"UnknownOperationException": {outcome: transport.Hold, hint: "check region and endpointOverride: DataZone does not answer there"},
	"InvalidAction":             {outcome: transport.Hold, hint: "check region and endpointOverride: DataZone does not answer there"},

	"ServiceQuotaExceededException": {outcome: transport.Hold, reason: reasonQuota, hint: "a quota of the account is used up: have it raised in AWS's Service Quotas, or remove what is not needed"},

	"ThrottlingException": throttled, "Throttling": throttled, "TooManyRequestsException": throttled,
	"RequestLimitExceeded": throttled, "RequestThrottled": throttled, "RequestThrottledException": throttled, "SlowDown": throttled,

	// A request with the same token may still be under way, one that was cut off after DataZone had it.
	"ConflictException": {outcome: transport.Retry},

	"InternalServerException": {outcome: transport.Retry}, "InternalFailure": {outcome: transport.Retry},
	"ServiceUnavailable": {outcome: transport.Retry}, "ServiceUnavailableException": {outcome: transport.Retry},
	"RequestAbortedException": {outcome: transport.Retry}, "RequestTimeoutException": {outcome: transport.Retry},

	"ValidationException": refused, "ValidationError": refused, "InvalidParameterException": refused,
	"MalformedHttpRequestException":        refused,
	"RequestEntityTooLargeException":       {outcome: transport.Permanent, reason: transport.ReasonTooLarge},
	"PayloadTooLargeException":             {outcome: transport.Permanent, reason: transport.ReasonTooLarge},
	"ContentLengthExceeded":                {outcome: transport.Permanent, reason: transport.ReasonTooLarge},
	"RequestHeaderSectionTooLarge":         {outcome: transport.Hold},
	"UnsupportedMediaTypeException":        {outcome: transport.Hold},
	"IdempotentParameterMismatch":          refused,
	"IdempotentParameterMismatchException": refused,
}

// The words for several errors.
const checkKeys = "check the credentials"

// reasonQuota is the reason of a quota that is used up; status 402 stands for it on DataZone's wire.
const reasonQuota = "quota"

var (
	expired   = verdict{outcome: transport.Hold, reason: transport.ReasonAuth, hint: "the credentials have ended: renew them", expired: true}
	throttled = verdict{outcome: transport.Retry, reason: transport.StatusReason(429)}
	refused   = verdict{outcome: transport.Permanent, reason: transport.ReasonRefused}
)

func hold(hint string) verdict {
	return verdict{outcome: transport.Hold, reason: transport.ReasonAuth, hint: hint}
}

// judge says what an answer means and in a few words what it said and what to do. ended is called when it says that the
// credentials have ended.
func judge(a transport.Answer, ended func()) (*transport.Error, string) {
	e := transport.Classify(a)
	if e == nil {
		return nil, ""
	}
	said, ok := parse(a)
	if !ok {
		return e, foreign(e, a.Body)
	}
	v, known := verdicts[said.kind]
	if known {
		if v.outcome == transport.Permanent && v.reason == transport.ReasonRefused {
			v = said.aboutEvent(v)
		}
		e.Outcome = v.outcome
		if v.reason != "" {
			e.Reason = v.reason
		}
		if e.Outcome != transport.Retry {
			e.RetryAfter = 0
		}
	}
	if v.expired {
		ended()
	}
	words := ", " + oneLine(said.kind)
	if text := oneLine(said.message); text != "" {
		words += ": " + text
	}
	if v.hint != "" {
		words += "; " + v.hint
	}
	return e, words
}

// aboutEvent looks closer at what is wrong with a request: a domain's id is not the event's fault, and one that is too
// large can be made smaller.
func (f failure) aboutEvent(v verdict) verdict {
	text := strings.ToLower(f.message)
	switch {
	case strings.Contains(text, "domainidentifier"):
		return verdict{outcome: transport.Hold, hint: "check domainId"}
	case strings.Contains(text, "'event'") && strings.Contains(text, "length less than or equal to"):
		return verdict{outcome: transport.Permanent, reason: transport.ReasonTooLarge}
	default:
		return v
	}
}

// foreign says what is to be done about an answer that is not AWS's.
func foreign(e *transport.Error, body []byte) string {
	words := ""
	switch {
	case e.Reason == transport.ReasonRedirect:
		words = " (a redirect, which is not followed: check endpointOverride)"
	case e.Outcome == transport.Hold:
		words = " (that is not AWS: check endpointOverride, and what stands in between)"
	}
	if text := oneLine(string(body)); text != "" {
		words += ": " + text
	}
	if words == "" {
		words = " (without a word)"
	}
	return words
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
