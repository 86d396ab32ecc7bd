// Package transporttest holds what transports are tested with and what tests of delivery need: a consumer that can be
// told to misbehave (Sink), a transport that is all memory (Recorder), a judge over what arrived (Judge), and the
// contract that every kind of transport keeps (Run, RunHTTP).
//
//	sink := transporttest.NewSink(t)
//	sink.Script(transporttest.Sequence(transporttest.Status(503), transporttest.Cut(transporttest.ResetAfter)))
//	... send events to sink.URL() ...
//	sink.WaitTaken(t, 2)
package transporttest
