package statetest

import "testing"

func testModel(t *testing.T, rig Rig) {}
