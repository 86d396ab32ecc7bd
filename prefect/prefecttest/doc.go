// Package prefecttest is an in-memory Prefect API for tests, with the faults of real ones.
//
// It answers the calls that the listener makes as servers of 2.20.25, 3.6.0 and 3.9.1 were measured to answer them:
// the same rows, filters, sort orders, limits, refusals and headers. A filter that real servers know and this one
// doesn't is a 501, so that no test passes on a filter that was silently left out.
//
//	server := prefecttest.New(t)
//	flow := server.AddFlow("Load")
//	run := server.AddFlowRun(prefect.FlowRun{FlowID: flow.ID})
//	server.SetState(run.ID, prefect.State{Type: prefect.Running})
//	client, err := prefect.NewClient(server.Config(), zap.NewNop(), nil)
//
// New listens in memory, so that a server and its clients work inside a synctest bubble: waiting for one another they
// let the fake clock move on, which a socket would not. NewTCP listens on a port of the loopback interface.
package prefecttest
