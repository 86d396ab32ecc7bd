package deliver

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// observed returns a reporter whose lines from info up can be read.
func observed() (*reporter, *observer.ObservedLogs) {
	core, logs := observer.New(zapcore.InfoLevel)
	return newReporter(zap.New(core)), logs
}
