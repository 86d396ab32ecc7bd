// Package producer sends records to Kafka and says of each what became of it. A record is delivered once the brokers
// have acknowledged it, and by nothing else.
//
// # Why clients are replaced
//
// The client (franz-go) numbers the records of a partition, and brokers drop a number that they have seen: so a retry
// within the client makes no copy. The numbers hold only as long as no record is given up whose fate nobody knows. If one
// is, the next record may get the same number, and the brokers may take it for the copy of the lost one, acknowledge it
// and drop it. The client begins anew with its numbers in the cases that it knows of; nothing here relies on that.
//
// So a client whose record failed in any way but by a refusal that nothing was written for gets no more records, and
// what it acknowledges after that does not count. Its place is taken by another, which has numbers of its own at the
// brokers. A caller whose context ends does not wait for the client either: the client is left to those who still wait
// for it and is closed after the last of them, so that nothing is tried any more that nobody waits for.
//
// The price is a copy now and then: of what was acknowledged too late to count. Each copy has the same bytes.
//
// # Refusals
//
// Records of several callers travel in one batch, and brokers refuse a batch as a whole. A refusal counts only for a
// record that travelled alone, so one that was refused in company is sent once more by itself.
package producer
