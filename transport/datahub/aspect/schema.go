package aspect

import "encoding/json"

// SchemaMetadata is a dataset's schema.
type SchemaMetadata struct {
	SchemaName     string            `json:"schemaName"`
	Platform       string            `json:"platform"` // a URN
	Version        int64             `json:"version"`
	Created        AuditStamp        `json:"created"`
	LastModified   AuditStamp        `json:"lastModified"`
	Hash           string            `json:"hash"`
	PlatformSchema OtherSchema       `json:"platformSchema"`
	Fields         List[SchemaField] `json:"fields"`
	PrimaryKeys    []string          `json:"primaryKeys,omitempty"`
}

// OtherSchema is a schema in the words of a platform that DataHub has no words for.
type OtherSchema struct{ RawSchema string }

// MarshalJSON writes the member of the union.
func (s OtherSchema) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"com.linkedin.schema.OtherSchema": map[string]string{"rawSchema": s.RawSchema}})
}

// UnmarshalJSON reads it back.
func (s *OtherSchema) UnmarshalJSON(raw []byte) error {
	var union map[string]struct {
		RawSchema string `json:"rawSchema"`
	}
	if err := json.Unmarshal(raw, &union); err != nil {
		return err
	}
	s.RawSchema = union["com.linkedin.schema.OtherSchema"].RawSchema
	return nil
}

// SchemaField is a column, or a field inside one: its path then names those above, with dots between.
type SchemaField struct {
	FieldPath      string    `json:"fieldPath"`
	Nullable       bool      `json:"nullable"`
	Description    string    `json:"description,omitempty"`
	Label          string    `json:"label,omitempty"`
	Type           FieldType `json:"type"`
	NativeDataType string    `json:"nativeDataType"`
	Recursive      bool      `json:"recursive"`
	IsPartOfKey    bool      `json:"isPartOfKey"`
}

// FieldType is what a column holds, in the words of DataHub: the name of a record of com.linkedin.schema.
type FieldType string

// The types that DataHub tells apart.
const (
	NullType    FieldType = "NullType"
	BooleanType FieldType = "BooleanType"
	StringType  FieldType = "StringType"
	BytesType   FieldType = "BytesType"
	NumberType  FieldType = "NumberType"
	DateType    FieldType = "DateType"
	TimeType    FieldType = "TimeType"
	EnumType    FieldType = "EnumType"
	FixedType   FieldType = "FixedType"
	ArrayType   FieldType = "ArrayType"
	MapType     FieldType = "MapType"
	RecordType  FieldType = "RecordType"
	UnionType   FieldType = "UnionType"
)

const schemaPackage = "com.linkedin.schema."

// MarshalJSON writes the member of the union. A type that is not known is a NullType, as in DataHub's own clients.
func (t FieldType) MarshalJSON() ([]byte, error) {
	if t == "" {
		t = NullType
	}
	return json.Marshal(map[string]any{"type": map[string]any{schemaPackage + string(t): map[string]any{}}})
}

// UnmarshalJSON reads it back.
func (t *FieldType) UnmarshalJSON(raw []byte) error {
	var union struct {
		Type map[string]json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(raw, &union); err != nil {
		return err
	}
	for name := range union.Type {
		if len(name) > len(schemaPackage) {
			*t = FieldType(name[len(schemaPackage):])
		}
	}
	return nil
}

// AspectName implements an aspect.
func (SchemaMetadata) AspectName() string { return "schemaMetadata" }
