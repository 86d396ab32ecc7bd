package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prefect-openlineage/listener/prefect"
)

// The words in a table artifact's description by which an author says that its rows are datasets. They count in any
// case and anywhere in it. A description with both means tables that were read and written.
const (
	inputMarker  = "ol-dataset_input"
	outputMarker = "ol-dataset_output"
)

// marks says what an artifact's rows are.
type marks struct{ input, output bool }

// marksOf reads an artifact's description. Anything but a table is not meant for lineage.
func marksOf(a prefect.Artifact) marks {
	if a.Type == nil || *a.Type != "table" || a.Description == nil {
		return marks{}
	}
	description := strings.ToLower(*a.Description)
	return marks{
		input:  strings.Contains(description, inputMarker),
		output: strings.Contains(description, outputMarker),
	}
}

// made says whether the run itself made the artifact: a task's artifacts belong to the task, and only those made in the
// flow's body to the flow run.
func (r row) made(a prefect.Artifact) bool {
	if r.kind == TaskRun {
		return a.TaskRunID == nil || *a.TaskRunID == r.id
	}
	return a.TaskRunID == nil && (a.FlowRunID == nil || *a.FlowRunID == r.id)
}

// inOrder returns the artifacts as they were made, whatever order they were read in.
func inOrder(artifacts []prefect.Artifact) []prefect.Artifact {
	sorted := slices.Clone(artifacts)
	slices.SortFunc(sorted, func(a, b prefect.Artifact) int {
		return cmp.Or(a.Created.Compare(b.Created), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return sorted
}

// tableRow is one row of a table artifact, each cell as it was written.
type tableRow map[string]json.RawMessage

// tableRows reads a table in every form that Prefect takes: a list of rows, an object of columns, or a list of lists
// under a list of names. Prefect's client wraps it into a JSON string; by REST it may come bare. A row that is no row is
// nil. The error says why there are none at all.
func tableRows(data json.RawMessage) ([]tableRow, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, errors.New("its data is no JSON")
		}
		data = bytes.TrimSpace([]byte(text))
	}
	if !json.Valid(data) {
		data = withoutNaN(data)
	}
	switch {
	case !json.Valid(data):
		return nil, errors.New("its data is no JSON")
	case data[0] == '[':
		return listRows(data)
	case data[0] == '{':
		return columnRows(data)
	default:
		return nil, fmt.Errorf("its data is %s, not a table", jsonKind(data))
	}
}

func listRows(data json.RawMessage) ([]tableRow, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, errors.New("its data is no list")
	}
	if len(items) > 0 && jsonKind(items[0]) == "a list" {
		return matrixRows(items)
	}
	rows := make([]tableRow, len(items))
	for i, item := range items {
		var row tableRow
		if json.Unmarshal(item, &row) == nil {
			rows[i] = row
		}
	}
	return rows, nil
}

// matrixRows reads a list of lists, the first of which names the columns. Without such names no row can tell which of
// its cells is the URI.
func matrixRows(items []json.RawMessage) ([]tableRow, error) {
	var header []string
	if json.Unmarshal(items[0], &header) != nil || !slices.Contains(header, uriKey) {
		return nil, fmt.Errorf("its first row does not name its columns, of which one has to be %s", uriKey)
	}
	rows := make([]tableRow, 0, len(items))
	for _, item := range items[1:] {
		var cells []json.RawMessage
		if json.Unmarshal(item, &cells) != nil {
			rows = append(rows, nil)
			continue
		}
		row := make(tableRow, len(header))
		for i, name := range header {
			if i < len(cells) {
				row[name] = cells[i]
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// columnRows reads an object of columns. A column that is no list holds the same cell in every row, so an object of
// plain values is one row. Cells that a short column lacks are missing from their rows.
func columnRows(data json.RawMessage) ([]tableRow, error) {
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(data, &columns); err != nil {
		return nil, errors.New("its data is no object")
	}
	lists := make(map[string][]json.RawMessage)
	height, listed := 1, false
	for _, name := range []string{uriKey, tableKey} {
		var cells []json.RawMessage
		if jsonKind(columns[name]) == "a list" && json.Unmarshal(columns[name], &cells) == nil {
			if !listed {
				height = 0
			}
			listed, height = true, max(height, len(cells))
		}
	}
	for name, raw := range columns {
		var cells []json.RawMessage
		// In a single row, a list is one cell: the schema of the one table.
		if listed && jsonKind(raw) == "a list" && json.Unmarshal(raw, &cells) == nil {
			lists[name] = cells
		}
	}
	rows := make([]tableRow, height)
	for i := range rows {
		rows[i] = make(tableRow, len(columns))
		for name, raw := range columns {
			cells, isList := lists[name]
			switch {
			case !isList:
				rows[i][name] = raw
			case i < len(cells):
				rows[i][name] = cells[i]
			}
		}
	}
	return rows, nil
}

// withoutNaN puts null in place of NaN and the infinities, which Python writes into JSON though it has no such words.
func withoutNaN(data []byte) []byte {
	out := make([]byte, 0, len(data))
	inString := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inString && c == '\\' && i+1 < len(data):
			out = append(out, c, data[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
		case !inString:
			if word := notANumber(data[i:]); word != "" {
				out = append(out, "null"...)
				i += len(word) - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func notANumber(data []byte) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return word
		}
	}
	return ""
}

// jsonKind names the kind of a JSON value for people.
func jsonKind(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
