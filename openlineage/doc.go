// Package openlineage holds the OpenLineage event and facet types, dataset naming, run ids, canonical JSON and the
// masking of secrets. It does no I/O: the same values in give the same bytes out, on any machine.
//
// # Canonical JSON
//
// Events are compared, stored and sent as bytes, so there is one way to write each of them:
//
//   - object keys are sorted by their UTF-8 bytes, at every level; a key that stands twice keeps its last value
//   - no blanks; strings escape only the quote, the backslash and control characters (never <, > or &)
//   - invalid UTF-8 and U+0000 become U+FFFD: PostgreSQL, behind Marquez and others, stores neither
//   - numbers stand as they were written, 1.0 stays 1.0
//   - null is never written, neither as a member nor in a list: absent is the only way to say absent
//   - times are UTC with six digits of fraction and Z: 2026-11-30T12:00:00.000000Z; finer digits are cut off
//   - inputs, outputs, facets, inputFacets and outputFacets are always there, empty or not
package openlineage
