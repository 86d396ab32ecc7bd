// Command bench measures the listener as a binary and prints each figure beside a yardstick that ran in the same go.
//
//	go run ./test/bench                 everything, in some minutes
//	go run ./test/bench -quick          less of everything
//	go run ./test/bench -only catchup   one measurement
//
// A figure alone says as much about the machine as about the listener, so what counts is the ratio. The yardstick does
// the least that any program must do for the same result: read the same rows, post the same bodies, not be there at
// all. What is measured, and what limits it, stands in docs/performance.md.
package main
