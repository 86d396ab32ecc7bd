package kafka

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// headerLength is what stands before the Avro form: the byte 0 and the schema's id.
const headerLength = 5

// setID writes the header of an encoded value.
func setID(value []byte, id uint32) {
	value[0] = 0
	binary.BigEndian.PutUint32(value[1:headerLength], id)
}

// Encode returns a proposal as the value of a record, under a schema that a registry knows by an id. It does not validate
// the proposal; its errors are of what Avro or the schema cannot hold.
func Encode(p mcp.Proposal, id uint32) ([]byte, error) {
	value, err := encode(p)
	if err != nil {
		return nil, err
	}
	setID(value, id)
	return value, nil
}

// encode returns a proposal as a value whose header is still to be set. The fields come in the schema's order; a
// field that may be null is preceded by the number of its branch.
func encode(p mcp.Proposal) ([]byte, error) {
	ordinal, ok := p.ChangeType.Ordinal()
	if !ok {
		return nil, fmt.Errorf("encoding the proposal for %s: the change type %q is not in the schema", p.EntityURN, p.ChangeType)
	}
	e := encoder{buf: make([]byte, headerLength, headerLength+128+len(p.EntityURN)+len(p.Aspect))}
	e.null() // auditHeader
	e.text("entityType", p.EntityType)
	e.optional("entityUrn", p.EntityURN)
	e.null() // entityKeyAspect
	e.long(int64(ordinal))
	e.optional("aspectName", p.AspectName)
	if p.Aspect == nil {
		e.null()
	} else {
		e.branch(1)
		e.bytes(p.Aspect)
		e.text("contentType", p.ResolvedContentType())
	}
	e.systemMetadata(p.SystemMetadata)
	e.optionalMap("headers", p.Headers)
	if e.badField != "" {
		return nil, fmt.Errorf("encoding the proposal for %s: %s is not UTF-8", p.EntityURN, e.badField)
	}
	return e.buf, nil
}

// encoder appends Avro's binary form (https://avro.apache.org/docs/1.12.0/specification/#binary-encoding).
type encoder struct {
	buf      []byte
	badField string // the first text that is not UTF-8
}

// long writes a number as a variable-length zig-zag one. Enum ordinals, branches and lengths are the same.
func (e *encoder) long(n int64) { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) branch(n int) { e.long(int64(n)) }
func (e *encoder) null()        { e.branch(0) }

func (e *encoder) bytes(b []byte) {
	e.long(int64(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) text(field, s string) {
	if e.badField == "" && !utf8.ValidString(s) {
		e.badField = field
	}
	e.long(int64(len(s)))
	e.buf = append(e.buf, s...)
}

// optional writes a ["null", "string"].
func (e *encoder) optional(field, s string) {
	if s == "" {
		e.null()
		return
	}
	e.branch(1)
	e.text(field, s)
}

// optionalMap writes a ["null", {"type": "map"}] as one block, its keys sorted so that the same map is the same bytes.
func (e *encoder) optionalMap(field string, m map[string]string) {
	if len(m) == 0 {
		e.null()
		return
	}
	e.branch(1)
	e.long(int64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		e.text(field, key)
		e.text(field, m[key])
	}
	e.long(0)
}

// systemMetadata writes what says where an aspect is from. The first three fields have the value for branch 0, and what
// is not set there is the schema's default, as in DataHub's clients.
func (e *encoder) systemMetadata(m *mcp.SystemMetadata) {
	if m == nil {
		e.null()
		return
	}
	e.branch(1)
	e.branch(0)
	e.long(m.LastObserved)
	e.runID("runId", m.RunID)
	e.runID("lastRunId", m.LastRunID)
	e.optional("pipelineName", m.PipelineName)
	e.optional("registryName", m.RegistryName)
	e.optional("registryVersion", m.RegistryVersion)
	e.optionalMap("properties", m.Properties)
	e.optional("version", m.Version)
	if m.SchemaVersion == nil {
		e.null()
	} else {
		e.branch(1)
		e.long(*m.SchemaVersion)
	}
	e.auditStamp("aspectCreated", m.AspectCreated)
	e.auditStamp("aspectModified", m.AspectModified)
}

// runID writes a ["string", "null"].
func (e *encoder) runID(field, id string) {
	if id == "" {
		id = mcp.DefaultRunID
	}
	e.branch(0)
	e.text(field, id)
}

func (e *encoder) auditStamp(field string, stamp *mcp.AuditStamp) {
	if stamp == nil {
		e.null()
		return
	}
	e.branch(1)
	e.long(stamp.Time)
	e.text(field+".actor", stamp.Actor)
	e.optional(field+".impersonator", stamp.Impersonator)
	e.optional(field+".message", stamp.Message)
}
