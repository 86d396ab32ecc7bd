package differential_test

import "slices"

// difference is one on purpose: in which aspects, and why.
type difference struct {
	aspects []string
	why     string
}

// differences are all that there are, by configuration. One more fails the test, and so does one that does not show any
// more. What differs everywhere stands in alwaysDifferent and at ownTag.
var differences = map[string]difference{
	// Configurations that the Python client takes, and finds wanting with the first event or never.
	"verify by a path that is not there": {
		is(failed, refused), "what can be seen to be wrong at the start is said at the start",
	},
	"client certificate that is not there": {is(failed, refused), "likewise"},
	"url for ftp":                          {is(failed, refused), "likewise"},
	"timeout is zero":                      {is(failed, refused), "likewise"},
	"file: elsewhere": {
		is(failed, refused), "without fsspec the Python client looks for a local folder s3:; files elsewhere are not written here, which is said at the start",
	},
	"endpoint with a sign of percent": {
		is(delivered, refused, "requests"), "the Python client's HTTP library guesses that %25 is meant; a wrong address is said at the start",
	},
	"OPENLINEAGE_CONFIG that is not there": {
		is(delivered, refused, "requests"), "a file that was asked for and is not there stops the start: the next best one is for somebody else",
	},
	"file that is broken": {
		is(delivered, refused, "requests"), "the Python client goes on with what else there is, without a word on the console",
	},
	"env: without a type": {is(delivered, refused, "console"), "the Python client falls back to the console, where nobody looks"},
	"type is empty":       {is(delivered, refused, "console"), "likewise"},
	"composite: the same twice": {
		is(delivered, refused, "requests"), "two destinations of one name would share a position in the outbox; a name of its own for each is asked for",
	},

	// Configurations that the Python client stumbles over by chance, with an error that no one meant.
	"auth is null":                        {is(refused, delivered, "requests"), "null is unset, as it is for other keys; the Python client looks for a key in it"},
	"env: value is null":                  {is(refused, delivered, "requests"), "likewise"},
	"retry is null":                       {is(refused, delivered, "requests"), "likewise"},
	"headers are null":                    {is(failed, delivered, "requests"), "likewise"},
	"header is a number":                  {is(failed, delivered, "requests"), "a variable that looks like a number is one; its text is meant"},
	"timeout as text":                     {is(failed, delivered, "requests"), "the number is meant"},
	"env: file whose name is a number":    {is(refused, delivered), "a variable that looks like a number is one; its text is meant"},
	"an argument that there is not":       {is(failed, delivered, "requests"), "unknown keys warn, here as elsewhere; the Python client fails with the first event"},
	"file: in a folder that is not there": {is(failed, delivered, "file names"), "the folder is made"},
	"env: token endpoint without underscores": {
		is(refused, delivered, "requests"), "a nested variable cannot have capitals, so tokenEndpoint is known without them too",
	},
	"env: name within three underscores": {
		[]string{"requests"}, "keys are known with and without underscores; the Python client drops _endpoint as unknown",
	},
	"env: header names in JSON": {
		[]string{"header X-B"}, "UTF-8, as in the body; Python's HTTP library writes Latin-1",
	},
	"legacy: endpoint is empty": {
		[]string{"requests"}, "an empty variable is an unset one, as deployments leave them; an endpoint that is written empty in openlineage.yml counts",
	},
	"netrc": {
		[]string{"header Authorization"}, "the credentials are those of the settings; that a file in the home folder replaces them is an accident of Python's HTTP library",
	},

	// Redirects: the Python client follows them as GET, or takes them for success, and the event is lost.
	"301":            {is(delivered, waiting), "an event that would be lost is kept, and the destination is held until its address is right"},
	"302":            {is(delivered, waiting), "likewise"},
	"303":            {is(delivered, waiting), "likewise"},
	"302 to nowhere": {is(delivered, waiting), "likewise"},
	"304":            {is(delivered, waiting), "likewise"},

	// Failures after which the Python client gives the event up.
	"tls that nobody vouches for":        {is(failed, waiting), "the outbox keeps the event until the operator has mended it"},
	"client certificate that is missing": {is(failed, waiting), "likewise"},
	"caCertPath counts before verify":    {is(failed, waiting), "likewise; both do not believe the server in spite of verify"},
	"401":                                {is(failed, waiting), "likewise"},
	"404":                                {is(failed, waiting), "likewise"},
	"501":                                {is(failed, waiting), "likewise"},
	"nobody listens":                     {is(failed, waiting), "the outbox keeps the event until it can be delivered"},
	"500 all the time":                   {is(failed, waiting), "likewise"},
	"no retry": {
		is(failed, delivered, "requests"), "the retry settings are for the quick try within one attempt; the outbox tries again later in any case",
	},
	"no retry by false":                    {is(failed, delivered, "requests"), "likewise"},
	"methods without POST":                 {is(failed, delivered, "requests"), "likewise"},
	"a status that is not to be retried":   {is(failed, delivered, "requests"), "likewise"},
	"429 without a time":                   {is(failed, delivered, "requests"), "a consumer that is busy gets the event later"},
	"429 with a time that is not to count": {is(failed, delivered, "requests"), "likewise"},
	"async: 429 once":                      {is(failed, delivered, "requests"), "likewise"},
	"composite: all in spite of a failure": {
		is(delivered, failed), "the Python client takes one success for all; here each destination has its own result, and the refused event is a dead letter",
	},

	// Where the listener asks less often, or the Python client does not do what its setting says.
	"jwt whose token ends soon": {
		[]string{"requests"}, "a token that lives shorter than the buffer is used for a part of its life; the Python client asks for one for each event",
	},
	"jwt without an end": {[]string{"requests"}, "a token without an end is used until it is refused; the Python client asks for one for each event"},
	"async: verify is off": {
		is(failed, delivered, "requests"), "verify works for async_http too; the Python client ignores it",
	},
	"async: sslContext": {is(failed, delivered, "requests"), "sslContext works for async_http too; the Python client does not know it there"},
	"file: debug names do not count with append": {
		[]string{"file contents"}, "append is one event a line; the Python client appends indented events, which no reader of lines can take",
	},

	// Datadog.
	"datadog: key with an underscore": {
		is(refused, delivered, "requests"), "keys are known with and without underscores; the Python client knows apiKey and apikey",
	},
	"datadog: variables with an underscore": {is(refused, delivered, "requests"), "likewise"},
	"datadog: timeout is zero":              {is(failed, refused), "what can be seen to be wrong at the start is said at the start"},
	"datadog: rules are a list":             {is(failed, refused), "likewise"},
	"datadog: env and service of Datadog's variables": {
		[]string{"body"}, "DD_ENV and DD_SERVICE hold for all that reports to Datadog; the Python client leaves them to its caller",
	},
	"datadog: 401": {is(failed, waiting), "the outbox keeps the event until the operator has mended it"},
	"datadog: 403": {is(failed, waiting), "likewise"},
	"datadog: 404": {is(failed, waiting), "likewise"},
	"datadog: 429 without a time": {
		is(failed, delivered, "requests"), "a consumer that is busy gets the event later",
	},
	"datadog: no retry": {
		is(failed, delivered, "requests"), "the retry settings are for the quick try within one attempt; the outbox tries again later in any case",
	},

	// Amazon DataZone.
	"datazone: region of the file": {
		is(refused, delivered, "requests"), "the Python client does not look at region beside endpointOverride; what is set is meant",
	},
	"datazone: region of file and variable": {[]string{"header Authorization"}, "likewise"},
	"datazone: region of AWS_REGION": {
		is(refused, delivered, "requests"), "AWS_REGION is what most of AWS's tools read, and what its services set; boto3 reads AWS_DEFAULT_REGION alone",
	},
	"datazone: domain is empty":     {is(delivered, refused, "requests"), "what can be seen to be wrong at the start is said at the start"},
	"datazone: domain that is none": {is(delivered, refused, "requests"), "likewise"},
	"datazone: all by variables": {
		is(refused, delivered, "requests"), "a nested variable cannot have capitals, so domainId is known without them too",
	},
	"datazone: all by variables with underscores": {is(refused, delivered, "requests"), "likewise"},
	"datazone: no keys":                           {is(failed, waiting), "the outbox keeps the event until the operator has mended it"},
	"datazone: access denied":                     {is(failed, waiting), "likewise"},
	"datazone: expired":                           {is(failed, waiting), "likewise"},
	"datazone: not found":                         {is(failed, waiting), "likewise"},
	"datazone: quota":                             {is(failed, waiting), "likewise"},
	"datazone: internal":                          {is(failed, waiting), "the outbox keeps the event until it can be delivered"},

	// What stands beside the transport.
	"filter by what Go's expressions lack": {
		is(delivered, refused), "the expression is named; what it means can't be done here, and events that were to stay in must not go out",
	},
	"filter without a type":  {is(delivered, refused, "requests"), "the Python client passes over a filter that it can't use, and the events that were to stay in go out"},
	"filter of another type": {is(delivered, refused, "requests"), "likewise"},
	"filter without a name":  {is(delivered, refused, "requests"), "likewise"},
	"tags that are numbers":  {[]string{"body"}, "a tag's value is a text in the spec; the Python client sends numbers"},
	"variable that is a secret": {
		[]string{"body"}, "events leave the house: what looks like a secret is masked, which is said in a warning",
	},
	"source whose address holds a password": {[]string{"body"}, "credentials are left out of addresses"},
	"reducing with a class": {
		is(delivered, refused, "requests"), "the Python client goes on without a trimmer that it can't load; here it is said that there is none",
	},
}

// is names the difference of two results and further aspects.
func is(python, here string, more ...string) []string {
	return slices.Concat([]string{"result: python " + python + ", here " + here}, more)
}
