package aspect_test

import (
	"fmt"

	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// A table comes from two others, and one of its columns from a column.
func ExampleUpstreamLineage() {
	const (
		orders  = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
		revenue = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.revenue,PROD)"
	)
	proposal, err := mcp.New(revenue, aspect.UpstreamLineage{
		Upstreams: []aspect.Upstream{{Dataset: orders, Type: aspect.Transformed}},
		FineGrainedLineages: []aspect.FineGrainedLineage{{
			UpstreamType: aspect.FieldSet, Upstreams: []string{"urn:li:schemaField:(" + orders + ",amount)"},
			DownstreamType: aspect.Field, Downstreams: []string{"urn:li:schemaField:(" + revenue + ",total)"},
		}},
	})
	fmt.Println(proposal.EntityType, proposal.AspectName, err)
	// Output: dataset upstreamLineage <nil>
}

// Tags that others have set stay.
func ExamplePatch() {
	proposal, err := aspect.Patch("urn:li:dataFlow:(prefect,nightly,PROD)", "globalTags", nil, []mcp.PatchOp{
		aspect.AddPlainTag(aspect.Tag{Tag: "urn:li:tag:finance"}),
	})
	fmt.Println(string(proposal.Aspect), err)
	// Output: [{"op":"add","path":"/tags/urn:li:tag:finance","value":{"tag":"urn:li:tag:finance"}}] <nil>
}
