package sqlite_test

const childEnv = "LISTENER_STATE_TEST_CHILD"

func child() int { return 0 }
