package main

import (
	"encoding/json"
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
	"github.com/prefect-openlineage/listener/openlineage"
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

// maskingWriter is the last line of defence for the log: no line leaves with a credential in it, whoever wrote it.
type maskingWriter struct {
	to      io.Writer
	secrets func() []string
}

// Write writes one line, masked.
func (w maskingWriter) Write(line []byte) (int, error) {
	var forms []string
	for _, secret := range w.secrets() {
		forms = append(forms, secret, quoted(secret))
	}
	if _, err := io.WriteString(w.to, openlineage.MaskSecrets(string(line), forms)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// quoted is a text as it stands inside a JSON string.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil { // a string always can be
		return text
	}
	return string(encoded[1 : len(encoded)-1])
}
