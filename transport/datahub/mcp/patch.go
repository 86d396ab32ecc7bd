package mcp

import (
	"fmt"
	"slices"
	"strings"
)

// PatchOp is one operation of a JSON patch (RFC 6902) as DataHub applies it: a list whose items have a key, such as
// upstreams or tags, is seen as a map by that key, so /upstreams/<urn> is one upstream.
type PatchOp struct {
	// Op is add, remove, replace, test, move or copy. DataHub's add overwrites what is there.
	Op string
	// Path is a JSON pointer; PatchPath makes one.
	Path string
	// From is where move and copy take the value.
	From string
	// Value is encoded by encoding/json for add, replace and test, and ignored otherwise.
	Value any
}

// MarshalJSON writes the members that the operation has.
func (op PatchOp) MarshalJSON() ([]byte, error) {
	switch op.Op {
	case "move", "copy":
		return encode(struct {
			Op   string `json:"op"`
			From string `json:"from"`
			Path string `json:"path"`
		}{op.Op, op.From, op.Path})
	case "remove":
		return encode(struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		}{op.Op, op.Path})
	default:
		return encode(struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			Value any    `json:"value"` // null is a value
		}{op.Op, op.Path, op.Value})
	}
}

// PatchPath returns the JSON pointer (RFC 6901) to a member, with ~ and / in its parts escaped:
// PatchPath("upstreams", urn).
func PatchPath(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		b.WriteString(escape.Replace(part))
	}
	return b.String()
}

// Patch returns a proposal that changes parts of an aspect and leaves the rest as DataHub has it. Adding what is keyed
// may be repeated; an operation that appends (a path that ends in /-) may not, and an emitter that retries may repeat it.
func Patch(urn, aspectName string, ops []PatchOp) (Proposal, error) {
	entity, err := EntityType(urn)
	if err != nil {
		return Proposal{}, err
	}
	if len(ops) == 0 {
		return Proposal{}, invalid(urn, "patch", "has no operation")
	}
	for i, op := range ops {
		if problem := op.problem(); problem != "" {
			return Proposal{}, invalid(urn, fmt.Sprintf("patch operation %d", i), problem)
		}
	}
	value, err := encode(ops)
	if err != nil {
		return Proposal{}, fmt.Errorf("encoding the patch of %s of %s: %w", aspectName, urn, err)
	}
	p := Proposal{
		EntityType: entity, EntityURN: urn, ChangeType: ChangePatch,
		AspectName: aspectName, Aspect: value, ContentType: ContentTypeJSONPatch,
	}
	return p, p.Validate()
}

// problem says what is wrong with an operation, "" when nothing is.
func (op PatchOp) problem() string {
	switch {
	case !slices.Contains([]string{"add", "remove", "replace", "test", "move", "copy"}, op.Op):
		return fmt.Sprintf("has the op %q, which is none of add, remove, replace, test, move and copy", op.Op)
	case op.Path != "" && op.Path[0] != '/':
		return fmt.Sprintf("has the path %q, which does not begin with a slash", op.Path)
	case (op.Op == "move" || op.Op == "copy") && op.From != "" && op.From[0] != '/':
		return fmt.Sprintf("has the from %q, which does not begin with a slash", op.From)
	default:
		return ""
	}
}
