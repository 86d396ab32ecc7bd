package rest

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// prepare returns a proposal as it is sent: with the system metadata that DataHub's clients send, and the header that a
// mode needs. The caller's proposal stays as it is.
func (e *Emitter) prepare(p mcp.Proposal, mode Mode, now time.Time) mcp.Proposal {
	if p.ChangeType == mcp.ChangeDelete {
		return p
	}
	var m mcp.SystemMetadata
	if p.SystemMetadata != nil {
		m = *p.SystemMetadata
	}
	m.LastObserved = orDefault(m.LastObserved, now.UnixMilli())
	m.RunID = orDefault(m.RunID, orDefault(e.config.RunID, mcp.DefaultRunID))
	m.LastRunID = orDefault(m.LastRunID, mcp.DefaultRunID)
	properties := map[string]string{"clientId": e.config.Client}
	if e.config.ClientVersion != "" {
		properties["clientVersion"] = e.config.ClientVersion
	}
	maps.Copy(properties, m.Properties)
	m.Properties = properties
	p.SystemMetadata = &m
	if mode == SyncWait {
		headers := maps.Clone(p.Headers)
		if headers == nil {
			headers = map[string]string{}
		}
		headers[syncIndexHeader] = "true"
		p.Headers = headers
	}
	return p
}

// limits bound a batch.
type limits struct{ proposals, bytes int }

// plan puts items into batches, in an order in which no proposal overtakes an earlier one of its entity.
//
// Rest.li takes all entity types in one batch, so a batch ends only at its limits and at a deletion. OpenAPI takes one
// type and one method in a batch; an item joins the last batch of its kind if there is room and no later batch has its
// entity. One that is larger than the limit goes alone.
func plan(items []item, api API, l limits) []batch {
	var batches []batch
	last := map[string]int{}   // the newest batch of a kind and type
	newest := map[string]int{} // the newest batch with an entity
	barrier := -1              // Rest.li and deletions keep the order of everything around them
	for _, it := range items {
		k := kindOf(api, it.proposal.ChangeType)
		entity := ""
		if k == kindOpenAPI || k == kindOpenAPIPatch {
			entity = it.proposal.EntityType
		}
		key := string(rune('0'+k)) + entity
		at, ok := last[key]
		seen, again := newest[it.proposal.EntityURN]
		fits := ok && !k.deletes() && at > barrier && (!again || seen <= at) &&
			len(batches[at].items) < l.proposals && batches[at].size+len(it.encoded) <= l.bytes
		if !fits {
			at = len(batches)
			batches = append(batches, batch{kind: k, entity: entity})
			last[key] = at
		}
		if k.deletes() {
			barrier = at
		}
		batches[at].items = append(batches[at].items, it)
		batches[at].size += len(it.encoded)
		newest[it.proposal.EntityURN] = at
	}
	return batches
}

// halves splits a batch in two, in order.
func (b batch) halves() [2]batch {
	middle := len(b.items) / 2
	var parts [2]batch
	for i, items := range [][]item{b.items[:middle], b.items[middle:]} {
		parts[i] = batch{kind: b.kind, entity: b.entity, items: slices.Clip(items)}
		for _, it := range items {
			parts[i].size += len(it.encoded)
		}
	}
	return parts
}

// lanes divides items so that those of one entity stay together, in order.
func lanes(items []item, n int) [][]item {
	if n <= 1 || len(items) <= 1 {
		return [][]item{items}
	}
	parts := make([][]item, n)
	for _, it := range items {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(it.proposal.EntityURN)) // never fails
		lane := int(hash.Sum32() % uint32(n))
		parts[lane] = append(parts[lane], it)
	}
	return slices.DeleteFunc(parts, func(lane []item) bool { return len(lane) == 0 })
}
