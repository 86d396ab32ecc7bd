package prefect

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"
)

// resourceLabels are the labels of a resource; those that are no text are taken as they are written.
type resourceLabels map[string]text

func (r resourceLabels) id() string   { return strings.TrimSpace(string(r["prefect.resource.id"])) }
func (r resourceLabels) role() string { return string(r["prefect.resource.role"]) }

// decodeEvent reads one event about an asset. Without the asset's key and the time it says nothing.
func decodeEvent(raw json.RawMessage) (AssetEvent, error) {
	var wire struct {
		ID       uuid.UUID        `json:"id"`
		Occurred stamp            `json:"occurred"`
		Event    text             `json:"event"`
		Resource resourceLabels   `json:"resource"`
		Related  []resourceLabels `json:"related"`
		Payload  object           `json:"payload"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return AssetEvent{}, err
	}
	switch {
	case wire.Occurred.IsZero():
		return AssetEvent{}, errors.New("no occurred")
	case wire.Resource.id() == "":
		return AssetEvent{}, errors.New("no resource")
	}
	e := AssetEvent{
		ID: wire.ID, Name: string(wire.Event), Occurred: wire.Occurred.Time,
		Asset: Asset{
			Key:         wire.Resource.id(),
			Name:        string(wire.Resource["prefect.resource.name"]),
			Description: string(wire.Resource["prefect.asset.description"]),
			URL:         string(wire.Resource["prefect.asset.url"]),
			Owners:      ownersOf(wire.Resource["prefect.asset.owners"]),
		},
	}
	for _, related := range wire.Related {
		switch related.role() {
		case "asset":
			if key := related.id(); key != "" {
				e.Upstream = append(e.Upstream, key)
			}
		case "asset-materialized-by":
			e.By = related.id()
		case "task-run":
			e.TaskRunID = runOf(related.id(), "prefect.task-run.")
		case "flow-run":
			e.FlowRunID = runOf(related.id(), "prefect.flow-run.")
		}
	}
	if len(wire.Payload) > 0 {
		metadata, err := json.Marshal(wire.Payload)
		if err != nil {
			return AssetEvent{}, err
		}
		e.Metadata = metadata
	}
	return e, nil
}

// ownersOf reads the list of owners, which the label holds as JSON.
func ownersOf(label text) []string {
	var list texts
	if label == "" || json.Unmarshal([]byte(label), &list) != nil {
		return nil
	}
	return list
}

func runOf(resource, prefix string) uuid.UUID {
	id, err := uuid.Parse(strings.TrimPrefix(resource, prefix))
	if err != nil {
		return uuid.Nil
	}
	return id
}
