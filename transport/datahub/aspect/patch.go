package aspect

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// The operations below belong to the aspect that each names; Patch makes a proposal of several for one entity. To add
// what is there already changes nothing, so that a patch may be sent again.

// Keys say by which members the items of an aspect's lists are told apart, and so what the parts of an operation's path
// are. Where they are not given, they are what the server's release has for them: those of tags and owners have changed.
type Keys map[string][]string

// sourceKey is the member in a member that says who attributed a tag or an owner; DataHub puts U+241F between the two.
const sourceKey = "attribution\u241fsource"

// TagKeys are the keys of AddTag's path. With them, what others attributed stays beside what is added.
func TagKeys() Keys { return Keys{"tags": {sourceKey, "tag"}} }

// OwnerKeys are the keys of AddOwner's path. The two that are mostly empty come first: a server can't make an entry
// whose path ends in an empty part.
func OwnerKeys() Keys { return Keys{"owners": {sourceKey, "typeUrn", "owner", "type"}} }

// AddTag adds a tag to globalTags, in a patch with TagKeys.
func AddTag(tag Tag) mcp.PatchOp { return add(tag, "tags", "", tag.Tag) }

// AddOwner adds an owner to ownership, in a patch with OwnerKeys; one person may own in several ways.
func AddOwner(owner Owner) mcp.PatchOp {
	return add(owner, "owners", "", owner.TypeURN, owner.Owner, owner.Type)
}

// AddPlainTag is AddTag for a patch without keys, which servers before 1.0 need.
func AddPlainTag(tag Tag) mcp.PatchOp { return add(tag, "tags", tag.Tag) }

// AddPlainOwner is AddOwner for a patch without keys, which servers before 1.0 need.
func AddPlainOwner(owner Owner) mcp.PatchOp { return add(owner, "owners", owner.Owner, owner.Type) }

// Patch returns a proposal that changes parts of an aspect of an entity, and leaves the rest as DataHub has it. Nil keys
// make the plain form, which all servers take.
func Patch(urn, aspectName string, keys Keys, ops []mcp.PatchOp) (mcp.Proposal, error) {
	p, err := mcp.Patch(urn, aspectName, ops)
	if err != nil || keys == nil {
		return p, err
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err = encoder.Encode(struct {
		Keys Keys            `json:"arrayPrimaryKeys"`
		Ops  json.RawMessage `json:"patch"`
	}{keys, p.Aspect})
	if err != nil {
		return mcp.Proposal{}, fmt.Errorf("encoding the patch of %s of %s: %w", aspectName, urn, err)
	}
	p.Aspect = bytes.TrimRight(b.Bytes(), "\n")
	return p, p.Validate()
}

// AddInputDataset adds what a task reads to dataJobInputOutput.
func AddInputDataset(edge Edge) mcp.PatchOp {
	return add(edge, "inputDatasetEdges", edge.DestinationURN)
}

// AddOutputDataset adds what a task writes to dataJobInputOutput.
func AddOutputDataset(edge Edge) mcp.PatchOp {
	return add(edge, "outputDatasetEdges", edge.DestinationURN)
}

// AddInputJob adds a task that a task waits for to dataJobInputOutput.
func AddInputJob(edge Edge) mcp.PatchOp { return add(edge, "inputDatajobEdges", edge.DestinationURN) }

// AddUpstream adds a dataset that a dataset comes from to upstreamLineage.
func AddUpstream(upstream Upstream) mcp.PatchOp { return add(upstream, "upstreams", upstream.Dataset) }

// DefaultTransform is the operation of a column's lineage where none is known.
const DefaultTransform = "TRANSFORM"

// AddColumn adds to dataJobInputOutput or to upstreamLineage that one column comes from another, both named by the URNs
// of their schema fields. An empty operation stands for DefaultTransform.
func AddColumn(operation, downstream, upstream string) mcp.PatchOp {
	if operation == "" {
		operation = DefaultTransform
	}
	return add(struct {
		ConfidenceScore float64 `json:"confidenceScore"`
	}{1}, "fineGrainedLineages", operation, downstream, "NONE", upstream)
}

// SetDescription sets the description in datasetProperties and leaves its other parts as they are.
func SetDescription(text string) mcp.PatchOp { return add(text, "description") }

// Remove returns the operation that takes back what another one added.
func Remove(added mcp.PatchOp) mcp.PatchOp { return mcp.PatchOp{Op: "remove", Path: added.Path} }

func add(value any, path ...string) mcp.PatchOp {
	return mcp.PatchOp{Op: "add", Path: mcp.PatchPath(path...), Value: value}
}
