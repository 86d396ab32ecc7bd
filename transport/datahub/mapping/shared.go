package mapping

import (
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/openlineage"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
	"github.com/prefect-openlineage/listener/transport/datahub/urn"
)

// shared adds the tags and owners of a job or a dataset to an entity.
func (b *builder) shared(entity string, f facets) {
	tagKeys, ownerKeys := aspect.TagKeys(), aspect.OwnerKeys()
	if b.mapper.settings.PlainPatches {
		tagKeys, ownerKeys = nil, nil
	}
	b.addKeyed(entity, aspect.GlobalTags{}, tagKeys, b.tags(f))
	b.addKeyed(entity, aspect.Ownership{}, ownerKeys, b.owners(f))
}

func (b *builder) tags(f facets) []mcp.PatchOp {
	add := aspect.AddTag
	if b.mapper.settings.PlainPatches {
		add = aspect.AddPlainTag
	}
	var ops []mcp.PatchOp
	for _, tag := range read[openlineage.TagsJobFacet](f, "tags").Tags {
		text, err := checked(urn.Tag(tagName(tag)))
		if err != nil {
			b.refuse("tag", tagName(tag), err)
			continue
		}
		ops = append(ops, add(aspect.Tag{Tag: text}))
	}
	return distinct(ops)
}

// tagName returns a tag as DataHub writes one with a value, which is also how it is written in Prefect.
func tagName(tag openlineage.Tag) string {
	if tag.Value == "" || tag.Value == "true" {
		return tag.Key
	}
	return tag.Key + ":" + tag.Value
}

func (b *builder) owners(f facets) []mcp.PatchOp {
	add := aspect.AddOwner
	if b.mapper.settings.PlainPatches {
		add = aspect.AddPlainOwner
	}
	var ops []mcp.PatchOp
	for _, owner := range read[openlineage.OwnershipJobFacet](f, "ownership").Owners {
		text, err := checked(ownerURN(owner.Name))
		if err != nil {
			b.refuse("owner", owner.Name, err)
			continue
		}
		ops = append(ops, add(aspect.Owner{
			Owner: text, Type: ownerType(owner.Type), Source: &aspect.OwnerSource{Type: aspect.SourceService},
		}))
	}
	return distinct(ops)
}

// ownerURN returns who an owner is. OpenLineage writes what sort of name it is before the name: team:data, user:ada.
func ownerURN(name string) (string, error) {
	if strings.HasPrefix(name, "urn:li:") {
		return urn.User(name)
	}
	kind, rest, ok := strings.Cut(name, ":")
	switch {
	case ok && (kind == "team" || kind == "group"):
		return urn.Group(rest)
	case ok && kind == "user":
		return urn.User(rest)
	default:
		return urn.User(name)
	}
}

// ownerType returns DataHub's word for a kind of owner. Those that it does not have answer for the technical side.
func ownerType(kind string) string {
	word := strings.ToUpper(kind)
	switch {
	case word == "STEWARD":
		return aspect.OwnerSteward
	case word == "BUSINESS":
		return aspect.OwnerBusiness
	case slices.Contains([]string{
		aspect.OwnerBusiness, aspect.OwnerSteward, "DELEGATE", "PRODUCER", "CONSUMER", "STAKEHOLDER",
	}, word):
		return word
	default:
		return aspect.OwnerTechnical
	}
}

// description returns what people wrote about a job or a dataset.
func description(f facets) string {
	return read[openlineage.DocumentationJobFacet](f, "documentation").Description
}

// distinct drops operations on a path that has one.
func distinct(ops []mcp.PatchOp) []mcp.PatchOp {
	seen := map[string]bool{}
	return slices.DeleteFunc(ops, func(op mcp.PatchOp) bool {
		again := seen[op.Path]
		seen[op.Path] = true
		return again
	})
}
