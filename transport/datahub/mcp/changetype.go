package mcp

import "slices"

// ChangeType says what DataHub does with an aspect. The zero value is no change type and fails Validate.
type ChangeType string

// The change types of the schema. What a server does with CREATE, CREATE_ENTITY, UPDATE and RESTATE is its own matter:
// DataHub's schema calls UPDATE not supported yet.
const (
	// ChangeUpsert writes the aspect, whether or not it is there.
	ChangeUpsert ChangeType = "UPSERT"
	// ChangeCreate writes the aspect only if the entity has none of its name, and fails otherwise.
	ChangeCreate ChangeType = "CREATE"
	// ChangeUpdate writes the aspect only if the entity has one of its name.
	ChangeUpdate ChangeType = "UPDATE"
	// ChangeDelete deletes the entity, see Delete.
	ChangeDelete ChangeType = "DELETE"
	// ChangePatch changes parts of the aspect, see Patch.
	ChangePatch ChangeType = "PATCH"
	// ChangeRestate writes the aspect as a restoring of indices does.
	ChangeRestate ChangeType = "RESTATE"
	// ChangeCreateEntity writes the aspect only if the entity is not there, and fails otherwise.
	ChangeCreateEntity ChangeType = "CREATE_ENTITY"
)

// ChangeTypes returns all change types in the order of the Avro schema's enum, so that an index is an Avro ordinal.
func ChangeTypes() []ChangeType {
	return []ChangeType{
		ChangeUpsert, ChangeCreate, ChangeUpdate, ChangeDelete, ChangePatch, ChangeRestate, ChangeCreateEntity,
	}
}

// Ordinal returns the change type's place in the Avro schema's enum, and false for one that is not in it.
func (c ChangeType) Ordinal() (int, bool) {
	i := slices.Index(ChangeTypes(), c)
	return i, i >= 0
}
