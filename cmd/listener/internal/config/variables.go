package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/kelseyhightower/envconfig"
	"golang.org/x/term"
)

// Variables are the environment variables with fixed names, as text; empty means unset. The desc tag says what a
// variable is, what it takes and what holds without it. No field may have a default tag (see the package's comment).
type Variables struct {
	PrefectAPIURL         string `envconfig:"PREFECT_API_URL" desc:"the Prefect API, such as http://127.0.0.1:4200/api; else that of the Prefect profile"`
	PrefectAPIKey         string `envconfig:"PREFECT_API_KEY" desc:"Prefect Cloud's API key"`
	PrefectAPIKeyFile     string `envconfig:"PREFECT_API_KEY_FILE" desc:"a file that holds PREFECT_API_KEY, read again when it changes"`
	PrefectAPIAuth        string `envconfig:"PREFECT_API_AUTH_STRING" desc:"user:password of a Prefect server of your own"`
	PrefectAPIAuthFile    string `envconfig:"PREFECT_API_AUTH_STRING_FILE" desc:"a file that holds PREFECT_API_AUTH_STRING, read again when it changes"`
	PrefectHeaders        string `envconfig:"PREFECT_CLIENT_CUSTOM_HEADERS" desc:"headers for every request to Prefect, as a JSON object"`
	PrefectHeadersFile    string `envconfig:"PREFECT_CLIENT_CUSTOM_HEADERS_FILE" desc:"a file that holds PREFECT_CLIENT_CUSTOM_HEADERS, read again when it changes"`
	PrefectSkipVerify     string `envconfig:"PREFECT_API_TLS_INSECURE_SKIP_VERIFY" desc:"true: take any certificate of Prefect's; default false"`
	PrefectCertFile       string `envconfig:"PREFECT_API_SSL_CERT_FILE" desc:"a PEM file with the authorities to trust for Prefect; default the system's"`
	WSProxy               string `envconfig:"WS_PROXY" desc:"the proxy for the websocket of an http PREFECT_API_URL; default none of its own"`
	WSSProxy              string `envconfig:"WSS_PROXY" desc:"the proxy for the websocket of an https PREFECT_API_URL; default none of its own"`
	PrefectRequestTimeout string `envconfig:"PREFECT_API_REQUEST_TIMEOUT" desc:"seconds that one request to Prefect may take; default 60"`
	PrefectUIURL          string `envconfig:"PREFECT_UI_URL" desc:"where people see Prefect's pages, for links; default from the API's address"`
	PrefectProfile        string `envconfig:"PREFECT_PROFILE" desc:"the Prefect profile to read; default the active one"`
	PrefectProfilesPath   string `envconfig:"PREFECT_PROFILES_PATH" desc:"Prefect's file of profiles; default profiles.toml in PREFECT_HOME"`
	PrefectHome           string `envconfig:"PREFECT_HOME" desc:"Prefect's folder; default ~/.prefect"`

	OpenLineageURL        string `envconfig:"OPENLINEAGE_URL" desc:"send events over HTTP to this address"`
	OpenLineageEndpoint   string `envconfig:"OPENLINEAGE_ENDPOINT" desc:"the path under OPENLINEAGE_URL; default api/v1/lineage"`
	OpenLineageAPIKey     string `envconfig:"OPENLINEAGE_API_KEY" desc:"bearer token for OPENLINEAGE_URL"`
	OpenLineageAPIKeyFile string `envconfig:"OPENLINEAGE_API_KEY_FILE" desc:"a file that holds OPENLINEAGE_API_KEY, read again when it changes"`
	OpenLineageConfig     string `envconfig:"OPENLINEAGE_CONFIG" desc:"the openlineage.yml to read; default ./openlineage.yml, then ~/.openlineage/openlineage.yml"`
	OpenLineageDisabled   string `envconfig:"OPENLINEAGE_DISABLED" desc:"true: read nothing, send nothing"`
	OpenLineageNamespace  string `envconfig:"OPENLINEAGE_NAMESPACE" desc:"namespace of jobs whose deployment names none; default default"`
	OpenLineageLogging    string `envconfig:"OPENLINEAGE_CLIENT_LOGGING" desc:"no effect here; see LISTENER_LOG_LEVEL"`

	State            string `envconfig:"LISTENER_STATE" desc:"the store, as sqlite:///absolute/path; default listener.db in $STATE_DIRECTORY, else in the user's state folder"`
	PollInterval     string `envconfig:"LISTENER_POLL_INTERVAL" desc:"time between two looks at Prefect; default 2s, for Prefect Cloud 10s; up to 30s while its events are heard"`
	Hints            string `envconfig:"LISTENER_HINTS" desc:"on: hear Prefect's events and poll rarely meanwhile; off: poll alone; default on"`
	Lookback         string `envconfig:"LISTENER_LOOKBACK" desc:"how far back the first start looks for runs that ended; default 1h"`
	Grace            string `envconfig:"LISTENER_GRACE" desc:"how long after its flow run's end an open task run is taken as ended; default 10m"`
	Retention        string `envconfig:"LISTENER_RETENTION" desc:"how long an ended run is remembered; default 720h"`
	OutboxMaxBytes   string `envconfig:"LISTENER_OUTBOX_MAX_BYTES" desc:"size of the outbox at which reading pauses, such as 512MiB; default 1GiB"`
	MaxRequests      string `envconfig:"LISTENER_MAX_REQUESTS_PER_SECOND" desc:"cap on requests to Prefect; default 50, for Prefect Cloud 5"`
	HTTPAddr         string `envconfig:"LISTENER_HTTP_ADDR" desc:"where metrics, health and the page are served; port 0 takes a free one, off serves none; default 127.0.0.1:4280"`
	HTTPAuth         string `envconfig:"LISTENER_HTTP_AUTH" desc:"user:password that LISTENER_HTTP_ADDR asks for; default none"`
	HTTPAuthFile     string `envconfig:"LISTENER_HTTP_AUTH_FILE" desc:"a file that holds LISTENER_HTTP_AUTH, read again when it changes"`
	HeartbeatURL     string `envconfig:"LISTENER_HEARTBEAT_URL" desc:"an address that is asked for (GET) once a minute while Prefect is read and every destination is current; default none"`
	HeartbeatURLFile string `envconfig:"LISTENER_HEARTBEAT_URL_FILE" desc:"a file that holds LISTENER_HEARTBEAT_URL, read again when it changes"`
	LogLevel         string `envconfig:"LISTENER_LOG_LEVEL" desc:"debug, info, warn or error; default info"`
	LogFormat        string `envconfig:"LISTENER_LOG_FORMAT" desc:"json or console; default console on a terminal, else json"`
	Producer         string `envconfig:"LISTENER_PRODUCER" desc:"the producer that events name, a URI; default this version's source"`
	Parameters       string `envconfig:"LISTENER_PARAMETERS" desc:"true: events carry the parameters of flow runs, secrets masked; default false"`
	Policy           string `envconfig:"LISTENER_POLICY" desc:"which runs are told about: a list of rules as JSON, or a file that holds one; default every run"`

	TaskNameType      string `envconfig:"TASK_NAME_TYPE" desc:"job names of tasks: qualified (flow.task), base (task) or full (the run's name); default qualified"`
	JobNameType       string `envconfig:"JOB_NAME_TYPE" desc:"old name of TASK_NAME_TYPE, read where that is unset"`
	FlowNameType      string `envconfig:"FLOW_NAME_TYPE" desc:"job names of flows: flow, flow-run or path; default flow"`
	RunIDType         string `envconfig:"RUN_ID_TYPE" desc:"run ids: prefect (Prefect's own) or openlineage-prefect (that package's); default prefect"`
	DatasetNaming     string `envconfig:"DATASET_NAMING" desc:"dataset names: spec (the OpenLineage naming table) or verbatim (as given); default spec"`
	DatasetMap        string `envconfig:"DATASET_MAP" desc:"rules that rename datasets, as JSON or a file that holds them; default none"`
	DatasetsOnFailure string `envconfig:"DATASETS_ON_FAILURE" desc:"datasets of a failed run: observed or last (those of its job's last good run, where it named none); default observed"`
	FlowDatasets      string `envconfig:"FLOW_DATASETS" desc:"datasets of a flow run besides its own: none or rollup (those of its tasks); default none"`

	StateDirectory string `envconfig:"STATE_DIRECTORY" desc:"set by systemd: the default folder of the store"`
	XDGStateHome   string `envconfig:"XDG_STATE_HOME" desc:"the user's state folder; default ~/.local/state"`
}

// Input is what a process was started with.
type Input struct {
	Variables Variables
	// Environ is the whole environment as NAME=value: it holds the variables whose names are free.
	Environ []string
	// Dir and Home are absolute paths of the working folder and the user's folder. Empty: unknown.
	Dir, Home string
	// Files is the file system from its root.
	Files fs.FS
	// Profile returns the settings of one profile in Prefect's file of profiles; name empty: the active one. A file
	// that isn't there is an empty one.
	Profile func(path, name string) (map[string]string, error)
	// Version is the listener's own, without a leading v.
	Version string
	// Terminal says whether standard error is a terminal.
	Terminal bool
}

// FromProcess returns the Input of this process. profile reads Prefect's file of profiles, as Input.Profile says.
func FromProcess(version string, profile func(path, name string) (map[string]string, error)) (Input, error) {
	in := Input{
		Environ: os.Environ(), Files: os.DirFS("/"), Profile: profile, Version: version,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if err := envconfig.Process("", &in.Variables); err != nil {
		return Input{}, fmt.Errorf("reading the environment: %w", err)
	}
	var err error
	if in.Dir, err = os.Getwd(); err != nil {
		return Input{}, fmt.Errorf("finding the working folder: %w", err)
	}
	// Without a home the files that would lie there are not looked for.
	in.Home, _ = os.UserHomeDir()
	return in, nil
}

// Usage writes the list of variables and what they take.
func Usage(w io.Writer) error {
	const entry = "{{range .}}{{usage_key .}}\n    {{usage_description .}}\n{{end}}"
	if err := envconfig.Usagef("", &Variables{}, w, entry); err != nil {
		return fmt.Errorf("listing the variables: %w", err)
	}
	return nil
}
