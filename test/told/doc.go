// Package told reads what the listener told a consumer in the tests on real servers, and says what is wrong with it:
// against what Prefect's own rows say, against the spec, and against what it told another time.
package told
