package config

import (
	"time"

	"github.com/prefect-openlineage/listener/adapter"
	"github.com/prefect-openlineage/listener/openlineage"
)

// Config is what the listener runs by.
type Config struct {
	Prefect     Prefect
	OpenLineage OpenLineage
	Names       Names

	// StatePath is the absolute path of the SQLite file.
	StatePath    string
	PollInterval time.Duration
	// Hints: Prefect's events are heard, so that polls can be rare.
	Hints     bool
	Lookback  time.Duration
	Grace     time.Duration
	Retention time.Duration
	// OutboxMaxBytes is the outbox's size at which reading pauses.
	OutboxMaxBytes int64

	HTTP HTTP
	Log  Log
	// Heartbeat is the address to ask for while all is well. Not set: none.
	Heartbeat Credential

	// Settings are all values in effect with their origins, secrets masked, in a fixed order.
	Settings []Setting
}

// Prefect says how to reach Prefect.
type Prefect struct {
	// URL is the API's address without user, password and a slash at the end.
	URL        string
	APIKey     Credential
	AuthString Credential // user:password
	// Headers go with every request.
	Headers            Headers
	InsecureSkipVerify bool
	// CertFile is a PEM file of the authorities to trust. Empty: the system's.
	CertFile string
	// SocketProxy is the proxy for the websocket alone, with its user and password. Zero: the one for everything else.
	SocketProxy          Secret
	RequestTimeout       time.Duration
	MaxRequestsPerSecond float64
	// UIURL is where people see Prefect's pages, without a slash at the end.
	UIURL string
	// Cloud: the API is Prefect Cloud's.
	Cloud bool
}

// Names are the switches that decide what events say.
type Names struct {
	// Namespace is that of jobs whose deployment and job variables name none.
	Namespace string
	Producer  string
	// TaskName is qualified, base or full; FlowName is flow, flow-run or path.
	TaskName, FlowName string
	// RunID is prefect or openlineage-prefect.
	RunID string
	// DatasetNaming is spec or verbatim.
	DatasetNaming string
	// DatasetsOnFailure is observed or last.
	DatasetsOnFailure string
	// FlowDatasets is none or rollup.
	FlowDatasets string
	// DatasetMap renames datasets that were named so.
	DatasetMap openlineage.NameMap
	// Policy says which runs are told about.
	Policy adapter.Policy
	// Parameters: flow runs' parameters go into events, masked.
	Parameters bool
}

// HTTP says where metrics, health and the page are served.
type HTTP struct {
	// Addr is host:port, or OffAddr.
	Addr string
	// Auth is the user:password to ask for. Not set: nobody is asked.
	Auth Credential
}

// Log says how to log.
type Log struct {
	// Level is debug, info, warn or error; Format is json or console.
	Level, Format string
}

// Setting is one value in effect.
type Setting struct {
	// Name is a variable's name, or a path such as transport.url.
	Name string `json:"name"`
	// Value is the text in effect, or Redacted.
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// SecretsChanged says whether a secret that came from a file is another one than when the Config was loaded. Load
// makes a Config with the new one.
func (c Config) SecretsChanged() bool {
	for _, credential := range []Credential{c.Prefect.APIKey, c.Prefect.AuthString, c.Prefect.Headers.text, c.HTTP.Auth, c.Heartbeat} {
		if credential.Changed() {
			return true
		}
	}
	return c.OpenLineage.secretsChanged()
}
