package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// syncIndexHeader asks GMS, as a header of a proposal, to update the search index before it answers.
const syncIndexHeader = "X-DataHub-Sync-Index-Update"

// restliProposal is a proposal as Rest.li takes it. The aspect is JSON inside a JSON string.
type restliProposal struct {
	EntityType     string              `json:"entityType"`
	EntityURN      string              `json:"entityUrn"`
	ChangeType     mcp.ChangeType      `json:"changeType"`
	AspectName     string              `json:"aspectName"`
	Aspect         restliAspect        `json:"aspect"`
	SystemMetadata *mcp.SystemMetadata `json:"systemMetadata,omitempty"`
	Headers        map[string]string   `json:"headers,omitempty"`
}

type restliAspect struct {
	Value       string `json:"value"`
	ContentType string `json:"contentType"`
}

// encodeRestli returns a proposal as it stands in a Rest.li body.
func encodeRestli(p mcp.Proposal) ([]byte, error) {
	return encode(restliProposal{
		EntityType: p.EntityType, EntityURN: p.EntityURN, ChangeType: p.ChangeType, AspectName: p.AspectName,
		Aspect:         restliAspect{Value: string(p.Aspect), ContentType: p.ResolvedContentType()},
		SystemMetadata: p.SystemMetadata, Headers: p.Headers,
	})
}

// openAPIAspect is an aspect as the array form of OpenAPI v3 takes it.
type openAPIAspect struct {
	Value          json.RawMessage     `json:"value"`
	SystemMetadata *mcp.SystemMetadata `json:"systemMetadata,omitempty"`
	Headers        map[string]string   `json:"headers"` // {} when none, as DataHub's client sends
}

// encodeOpenAPI returns a proposal as an item of an OpenAPI body.
func encodeOpenAPI(p mcp.Proposal) ([]byte, error) {
	value := bytes.TrimSpace(p.Aspect)
	if p.ChangeType == mcp.ChangePatch && value[0] == '[' {
		value = fmt.Appendf(nil, `{"patch":%s}`, value)
	}
	headers := p.Headers
	if headers == nil {
		headers = map[string]string{}
	}
	aspect, err := encode(openAPIAspect{Value: value, SystemMetadata: p.SystemMetadata, Headers: headers})
	if err != nil {
		return nil, err
	}
	urn, err := encode(p.EntityURN)
	if err != nil {
		return nil, err
	}
	// An aspect's name is checked by Validate: it needs no escaping.
	return fmt.Appendf(nil, `{"urn":%s,%q:%s}`, urn, p.AspectName, aspect), nil
}

// encode is json.Marshal without escaping what only matters inside a web page.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// kind is how a proposal is sent.
type kind uint8

const (
	kindRestli kind = iota
	kindRestliDelete
	kindOpenAPI
	kindOpenAPIPatch
	kindOpenAPIDelete
)

// kindOf returns how a proposal goes over an API.
func kindOf(api API, c mcp.ChangeType) kind {
	switch {
	case api == APIOpenAPI && c == mcp.ChangeUpsert:
		return kindOpenAPI
	case api == APIOpenAPI && c == mcp.ChangePatch:
		return kindOpenAPIPatch
	case api == APIOpenAPI && c == mcp.ChangeDelete:
		return kindOpenAPIDelete
	case c == mcp.ChangeDelete:
		return kindRestliDelete
	default:
		return kindRestli // the array form of OpenAPI has no change type
	}
}

// deletes reports whether a kind deletes. A deletion goes alone, and is done when it is answered, whatever the mode.
func (k kind) deletes() bool { return k == kindRestliDelete || k == kindOpenAPIDelete }

// item is one proposal that is ready to be sent.
type item struct {
	index    int // in the call's proposals
	proposal mcp.Proposal
	encoded  []byte
}

// batch is what goes into one request.
type batch struct {
	kind   kind
	entity string
	items  []item
	size   int
	// plain says that the items were made without the header of SyncWait.
	plain bool
}

// request returns the HTTP request of a batch. single is the form of Rest.li for one proposal.
func (b batch) request(mode Mode, single bool) (request, error) {
	first := b.items[0].proposal
	async := strconv.FormatBool(mode.async())
	switch b.kind {
	case kindRestliDelete:
		body, err := encode(map[string]string{"urn": first.EntityURN})
		return request{method: http.MethodPost, path: "/entities", query: "action=delete", body: body}, err
	case kindOpenAPIDelete:
		return request{
			method: http.MethodDelete, path: "/openapi/v3/entity/" + first.EntityType + "/" + escapeURN(first.EntityURN),
		}, nil
	case kindOpenAPI, kindOpenAPIPatch:
		method := http.MethodPost
		if b.kind == kindOpenAPIPatch {
			method = http.MethodPatch
		}
		return request{
			method: method, path: "/openapi/v3/entity/" + b.entity, query: "async=" + async,
			body: b.join(`[`, `]`),
		}, nil
	default:
		// Rest.li takes the word, not the truth value.
		if single {
			return request{
				method: http.MethodPost, path: "/aspects", query: "action=ingestProposal",
				body: b.join(`{"proposal":`, `,"async":"`+async+`"}`),
			}, nil
		}
		return request{
			method: http.MethodPost, path: "/aspects", query: "action=ingestProposalBatch",
			body: b.join(`{"proposals":[`, `],"async":"`+async+`"}`),
		}, nil
	}
}

// join writes the encoded items between two texts.
func (b batch) join(before, after string) []byte {
	body := make([]byte, 0, len(before)+b.size+len(b.items)+len(after))
	body = append(body, before...)
	for i, it := range b.items {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, it.encoded...)
	}
	return append(body, after...)
}

// withoutSyncHeader returns a Rest.li batch as SyncPrimary sends it.
func (b batch) withoutSyncHeader() (batch, error) {
	plain := batch{kind: b.kind, plain: true}
	for _, it := range b.items {
		it.proposal.Headers = maps.Clone(it.proposal.Headers)
		delete(it.proposal.Headers, syncIndexHeader)
		var err error
		if it.encoded, err = encodeRestli(it.proposal); err != nil {
			return batch{}, err
		}
		plain.items = append(plain.items, it)
		plain.size += len(it.encoded)
	}
	return plain, nil
}
