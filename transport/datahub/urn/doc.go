// Package urn builds and reads the names that DataHub gives to things, such as
// urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD).
//
// A key holds a thing's parts as people know them; its URN method writes them and Parse… reads them back. Only the comma,
// the two round brackets and U+241F are escaped in a part, as DataHub's own clients do. The percent sign is not, so a
// part that already holds one of the four escapes comes back unescaped: the URN of both is the same.
//
// A URN that these builders return is one that DataHub's own parser takes. Where the Python client writes one that its
// parser refuses (a data process instance, a platform instance or a domain whose name holds a reserved character), the
// character is escaped here.
//
// The rules are those of acryl-datahub 1.7.0.17 (datahub.emitter.mce_builder, datahub.utilities.urns).
package urn
