package main

import (
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// newLogger returns a logger that writes every line, without sampling: the thousandth warning may be the one that
// matters.
func newLogger(settings config.Log, w io.Writer) *zap.Logger {
	keys := zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "message", StacktraceKey: "stack",
		LineEnding: zapcore.DefaultLineEnding, EncodeLevel: zapcore.LowercaseLevelEncoder,
		EncodeTime:     func(t time.Time, to zapcore.PrimitiveArrayEncoder) { to.AppendString(t.UTC().Format(time.RFC3339Nano)) },
		EncodeDuration: zapcore.StringDurationEncoder, EncodeName: zapcore.FullNameEncoder,
	}
	encoder := zapcore.NewJSONEncoder(keys)
	if settings.Format == "console" {
		keys.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(keys)
	}
	level, err := zapcore.ParseLevel(settings.Level)
	if err != nil { // config takes only words that zap knows
		level = zapcore.InfoLevel
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(unsynced(w)), level))
}

// unsynced hides a file's Sync: terminals and pipes answer it with EINVAL or ENOTTY, which is no error of ours, and
// standard error keeps nothing back that it could write.
func unsynced(w io.Writer) zapcore.WriteSyncer { return zapcore.AddSync(struct{ io.Writer }{w}) }
