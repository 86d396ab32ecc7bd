package differential_test

import (
	"net/http"
	"slices"

	"github.com/prefect-openlineage/listener/transport/transporttest"
)

// ownKeys are credentials of AWS; without the last one boto3 looks for a machine's own.
var ownKeys = []string{
	"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "AWS_EC2_METADATA_DISABLED=true",
}

// viaDataZone is an openlineage.yml with an amazon_datazone_api transport that posts to the consumer.
func viaDataZone(keys string) string {
	return viaKind("amazon_datazone_api", "domainId: dzd_4example, endpointOverride: $SINK, "+keys)
}

// took is what DataZone says to an event that it has.
func took() transporttest.Reply {
	return transporttest.Reply{
		Status: http.StatusOK, Body: `{"domainId":"dzd_4example","id":"a1b2c3d4e5f6g7"}`,
		Header: map[string]string{"Content-Type": "application/json"},
	}
}

// says is an error of AWS's.
func says(status int, kind string) transporttest.Reply {
	return transporttest.Reply{
		Status: status, Body: `{"message":"as you can see"}`,
		Header: map[string]string{"Content-Type": "application/json", "X-Amzn-Errortype": kind},
	}
}

// dataZoneConfigurations are the transport's keys, in the file and in variables, and the credentials that count.
func dataZoneConfigurations() []configuration {
	of := func(name, yaml string, env ...string) configuration {
		return configuration{name: "datazone: " + name, yaml: yaml, env: append(slices.Clone(ownKeys), env...), script: always(took())}
	}
	const region = "AWS_DEFAULT_REGION=eu-central-1"
	home := of("keys of a profile", viaDataZone(""), "AWS_PROFILE=lineage")
	home.env = []string{"AWS_PROFILE=lineage", "AWS_EC2_METADATA_DISABLED=true"}
	home.files = map[string]string{
		"home/.aws/credentials": "[lineage]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = abc\n",
		"home/.aws/config":      "[profile lineage]\nregion = us-west-2\n",
	}
	nobody := of("no keys", viaDataZone(""), region)
	nobody.env, nobody.waits = []string{region, "AWS_EC2_METADATA_DISABLED=true"}, true
	fails := func(name string, reply transporttest.Reply, waits bool) configuration {
		c := of(name, viaDataZone(""), region, "AWS_MAX_ATTEMPTS=1")
		c.script, c.waits = always(reply), waits
		return c
	}
	busy := of("throttled once", viaDataZone(""), region)
	busy.script = func() transporttest.Script {
		return transporttest.Script(func(r transporttest.Request) transporttest.Reply {
			if r.N == 1 {
				return says(http.StatusTooManyRequests, "ThrottlingException")
			}
			return took()
		})
	}
	kind := "OPENLINEAGE__TRANSPORT__TYPE=amazon_datazone_api"
	return []configuration{
		of("alone", viaDataZone(""), region),
		of("with a session token", viaDataZone(""), region, "AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEXAMPLE"),
		home, nobody,
		of("region of the file", viaDataZone("region: eu-west-1")),
		of("region of file and variable", viaDataZone("region: eu-west-1"), region),
		of("region of AWS_REGION", viaDataZone(""), "AWS_REGION=eu-west-1"),
		of("no region", viaDataZone("")),
		of("no domain", viaKind("amazon_datazone_api", "endpointOverride: $SINK"), region),
		of("domain is empty", viaKind("amazon_datazone_api", "domainId: '', endpointOverride: $SINK"), region),
		of("domain that is none", viaKind("amazon_datazone_api", "domainId: 'a b/c', endpointOverride: $SINK"), region),
		of("domain with a dash", viaKind("amazon_datazone_api", "domainId: dzd-4_ex-1, endpointOverride: $SINK"), region),
		of("endpoint with a path", viaKind("amazon_datazone_api", "domainId: dzd_4example, endpointOverride: $SINK/base"), region),
		of("endpoint that is none", viaKind("amazon_datazone_api", "domainId: dzd_4example, endpointOverride: localhost"), region),
		of("endpoint of a variable", viaKind("amazon_datazone_api", "domainId: dzd_4example"), region, "AWS_ENDPOINT_URL_DATAZONE=$SINK"),
		of("endpoint of the general variable", viaKind("amazon_datazone_api", "domainId: dzd_4example"), region, "AWS_ENDPOINT_URL=$SINK"),
		of("endpoint before the variable", viaDataZone(""), region, "AWS_ENDPOINT_URL=http://127.0.0.1:1"),
		of("unknown keys", viaDataZone("color: green, timeout: 3"), region),
		of("all in JSON", "", region, `OPENLINEAGE__TRANSPORT={"type":"amazon_datazone_api","domainId":"dzd_4example","endpointOverride":"$SINK"}`),
		of("all by variables", "", region, kind, "OPENLINEAGE__TRANSPORT__DOMAINID=dzd_4example", "OPENLINEAGE__TRANSPORT__ENDPOINTOVERRIDE=$SINK"),
		of("all by variables with underscores", "", region, kind, "OPENLINEAGE__TRANSPORT__DOMAIN_ID=dzd_4example", "OPENLINEAGE__TRANSPORT__ENDPOINT_OVERRIDE=$SINK"),
		of("file before variables", viaDataZone(""), region, kind, `OPENLINEAGE__TRANSPORT={"type":"amazon_datazone_api","domainId":"dzd_other"}`),
		of("in a composite", viaKind("composite", "transports: {zone: {type: amazon_datazone_api, domainId: dzd_4example, endpointOverride: $SINK}, disk: {type: file, log_file_path: $OUT/all, append: true}}"), region),
		busy,
		fails("access denied", says(http.StatusForbidden, "AccessDeniedException"), true),
		fails("expired", says(http.StatusForbidden, "ExpiredTokenException"), true),
		fails("not found", says(http.StatusNotFound, "ResourceNotFoundException"), true),
		fails("quota", says(http.StatusPaymentRequired, "ServiceQuotaExceededException"), true),
		fails("validation", says(http.StatusBadRequest, "ValidationException"), false),
		fails("internal", says(http.StatusInternalServerError, "InternalServerException"), true),
	}
}
