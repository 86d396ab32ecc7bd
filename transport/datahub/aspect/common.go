package aspect

import "encoding/json"

// Actors that stand in audit stamps.
const (
	UnknownActor = "urn:li:corpuser:unknown"
	DataHubActor = "urn:li:corpuser:datahub" // what DataHub's own integrations name for what they create
)

// AuditStamp says who did something and when.
type AuditStamp struct {
	Time  int64  `json:"time"`  // milliseconds since 1970; 0: not known
	Actor string `json:"actor"` // a URN; empty: UnknownActor
}

// MarshalJSON writes the default of an actor that is not known.
func (s AuditStamp) MarshalJSON() ([]byte, error) {
	type plain AuditStamp
	if s.Actor == "" {
		s.Actor = UnknownActor
	}
	return json.Marshal(plain(s))
}

// TimeStamp is a time that may name who is behind it.
type TimeStamp struct {
	Time  int64  `json:"time"` // milliseconds since 1970
	Actor string `json:"actor,omitempty"`
}

// Properties are free texts by name; none is written as an empty object.
type Properties map[string]string

// MarshalJSON writes {} for none.
func (p Properties) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]string(p))
}

// List is a list that an aspect always has; none is written as an empty one.
type List[T any] []T

// MarshalJSON writes [] for none.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Edge is a link to another entity.
type Edge struct {
	SourceURN      string            `json:"sourceUrn,omitempty"`
	DestinationURN string            `json:"destinationUrn"`
	Created        *AuditStamp       `json:"created,omitempty"`
	LastModified   *AuditStamp       `json:"lastModified,omitempty"`
	Properties     map[string]string `json:"properties,omitempty"`
}

// Status says whether an entity is shown; Removed hides it and keeps all that is known of it.
type Status struct {
	Removed bool `json:"removed"`
}

// SubTypes say what an entity is more exactly, such as View.
type SubTypes struct {
	TypeNames List[string] `json:"typeNames"`
}

// GlobalTags are an entity's tags.
type GlobalTags struct {
	Tags List[Tag] `json:"tags"`
}

// Tag is one tag of an entity.
type Tag struct {
	Tag     string `json:"tag"`               // its URN
	Context string `json:"context,omitempty"` // free text
}

// The kinds of owners that DataHub has. With OwnerCustom an owner names an entity of its own in TypeURN.
const (
	OwnerTechnical = "TECHNICAL_OWNER"
	OwnerBusiness  = "BUSINESS_OWNER"
	OwnerSteward   = "DATA_STEWARD"
	OwnerNone      = "NONE"
	OwnerCustom    = "CUSTOM"
	OwnerDeveloper = "DEVELOPER" // DataHub advises against it: OwnerTechnical took its place
)

// SourceService is the source of what a program says.
const SourceService = "SERVICE"

// Ownership names those who answer for an entity.
type Ownership struct {
	Owners       List[Owner] `json:"owners"`
	OwnerTypes   Properties  `json:"ownerTypes"`
	LastModified AuditStamp  `json:"lastModified"`
}

// Owner is one of them.
type Owner struct {
	Owner   string       `json:"owner"` // the URN of a user or a group
	Type    string       `json:"type"`
	TypeURN string       `json:"typeUrn,omitempty"`
	Source  *OwnerSource `json:"source,omitempty"`
}

// OwnerSource says where an owner is known from.
type OwnerSource struct {
	Type string `json:"type"`
	URL  string `json:"url,omitempty"`
}

// DataPlatformInstance says on which platform an entity is, and on which installation of it.
type DataPlatformInstance struct {
	Platform string `json:"platform"`           // a URN
	Instance string `json:"instance,omitempty"` // a URN
}

// VersionInfo names a version of an entity.
type VersionInfo struct {
	CustomProperties Properties `json:"customProperties"`
	ExternalURL      string     `json:"externalUrl,omitempty"`
	Version          string     `json:"version"`
	VersionType      string     `json:"versionType"`
}

// AspectName implements an aspect.
func (Status) AspectName() string { return "status" }

// AspectName implements an aspect.
func (SubTypes) AspectName() string { return "subTypes" }

// AspectName implements an aspect.
func (GlobalTags) AspectName() string { return "globalTags" }

// AspectName implements an aspect.
func (Ownership) AspectName() string { return "ownership" }

// AspectName implements an aspect.
func (DataPlatformInstance) AspectName() string { return "dataPlatformInstance" }

// AspectName implements an aspect.
func (VersionInfo) AspectName() string { return "versionInfo" }
