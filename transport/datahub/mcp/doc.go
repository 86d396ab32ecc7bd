// Package mcp holds DataHub's metadata change proposal: one aspect of one entity, and what to do with it. Both emitters
// take it: package rest sends it over HTTP, package kafka as Avro.
//
// The fields are those of the record com.linkedin.pegasus2avro.mxe.MetadataChangeProposal
// (https://docs.datahub.com/docs/advanced/mcp-mcl) less the two that no client sets, auditHeader and entityKeyAspect.
//
// A proposal is a value: the emitters neither change nor keep what its slices and maps point to.
package mcp
