// Package judge says what is wrong with what a consumer got of the events that had to reach it.
//
// What had to come is worked out from what happened in Prefect, by the test that made it happen; nothing in here knows
// how the listener makes its events. A consumer is judged by eight rules:
//
//   - missing: every event that was to come has come, unless it is one of the dead letters that were to be expected.
//   - spurious: nothing else has come.
//   - wrong: an event's job, parent, root, datasets and error are those of its run.
//   - different: all copies of an event are the same bytes.
//   - disorder: no event of a run comes after a later one of that run, copies included, since consumers take the last
//     word on a run for its state. Only a replay, which repeats the run's later events after it, may go back.
//   - orphans: no event of a run comes before the first one of its parent run.
//   - dead: the dead letters are those that were to be expected.
//   - copies: there are at most so many more copies than events.
package judge
