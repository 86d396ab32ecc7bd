package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The content types of an aspect.
const (
	ContentTypeJSON      = "application/json"
	ContentTypeJSONPatch = "application/json-patch+json"
)

// Proposal is a metadata change proposal. New, Patch and Delete make one that Validate takes.
type Proposal struct {
	// EntityType is the entity's type as its URN has it, such as dataset.
	EntityType string
	// EntityURN is the entity, such as urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD).
	EntityURN  string
	ChangeType ChangeType
	// AspectName is the aspect's name in DataHub's model, such as datasetProperties.
	AspectName string
	// Aspect is the aspect as JSON; a patch's operations for ChangePatch; nil for ChangeDelete.
	Aspect json.RawMessage
	// ContentType of Aspect; empty: what ResolvedContentType says.
	ContentType string
	// SystemMetadata is nil where the caller says nothing. The REST emitter fills in what DataHub's own client sends, the
	// Kafka emitter sends it as it is.
	SystemMetadata *SystemMetadata
	// Headers travel with the proposal to DataHub's processors. They are no HTTP or Kafka headers.
	Headers map[string]string
}

// Aspect is an aspect that knows its name and is encoded by encoding/json. Those of package aspect are.
type Aspect interface {
	// AspectName returns the name in DataHub's model, such as datasetProperties.
	AspectName() string
}

// New returns a proposal that writes an aspect of an entity (ChangeUpsert). For another change type set it afterwards.
func New(urn string, aspect Aspect) (Proposal, error) {
	entity, err := EntityType(urn)
	if err != nil {
		return Proposal{}, err
	}
	if aspect == nil {
		return Proposal{}, invalid(urn, "aspect", "is nil")
	}
	value, err := encode(aspect)
	if err != nil {
		return Proposal{}, fmt.Errorf("encoding the aspect %s of %s: %w", aspect.AspectName(), urn, err)
	}
	p := Proposal{
		EntityType: entity, EntityURN: urn, ChangeType: ChangeUpsert,
		AspectName: aspect.AspectName(), Aspect: value, ContentType: ContentTypeJSON,
	}
	return p, p.Validate()
}

// Delete returns a proposal that deletes an entity with all of its aspects, for good. To hide an entity and keep what
// is known of it, write the aspect status with removed true instead.
func Delete(urn string) (Proposal, error) {
	entity, err := EntityType(urn)
	if err != nil {
		return Proposal{}, err
	}
	return Proposal{EntityType: entity, EntityURN: urn, ChangeType: ChangeDelete, AspectName: KeyAspect(entity)}, nil
}

// ResolvedContentType returns the content type of the aspect: ContentType, else what goes with the change type.
func (p Proposal) ResolvedContentType() string {
	switch {
	case p.ContentType != "":
		return p.ContentType
	case p.ChangeType == ChangePatch:
		return ContentTypeJSONPatch
	default:
		return ContentTypeJSON
	}
}

// KeyAspect returns the name of the aspect that holds the parts of an entity's URN. A proposal to delete an entity
// names it.
func KeyAspect(entityType string) string {
	if entityType == "corpuser" {
		return "corpUserKey" // the one entity whose key does not bear its name
	}
	return entityType + "Key"
}

// encode is json.Marshal without escaping what only matters inside a web page: an aspect is stored as it is sent.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
