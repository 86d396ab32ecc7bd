package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/config"
)

// Every line is written, and syncing what can't be synced is no error.
func TestLogger(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	log := newLogger(config.Log{Level: "info", Format: "json"}, &w)
	for range 2000 {
		log.Info("same")
	}
	log.Debug("hidden")
	equal(t, 2000, strings.Count(w.String(), "\n"))

	w.Reset()
	log.Named("deliver").Warn("slow", zap.Duration("after", 1500*time.Millisecond))
	_, rest, _ := strings.Cut(w.String(), `Z"`)
	equal(t, `,"logger":"deliver","message":"slow","after":"1.5s"}`+"\n", rest)

	w.Reset()
	newLogger(config.Log{Level: "warn", Format: "console"}, &w).Warn("slow")
	if got := w.String(); !strings.Contains(got, "\tWARN\tslow\n") {
		t.Errorf("the console shows %q", got)
	}

	closed, err := os.Create(t.TempDir() + "/closed")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := newLogger(config.Log{Level: "info", Format: "json"}, closed).Sync(); err != nil {
		t.Errorf("Sync: %v", err)
	}
}

func TestLogMasksCredentials(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	secrets := []string{"pnu_0123456789", `quo"ted\password`}
	log := newLogger(config.Log{Level: "info", Format: "json"}, maskingWriter{&w, func() []string { return secrets }})
	log.Info("sent pnu_0123456789", zap.String("answer", `no quo"ted\password here`))
	_, rest, _ := strings.Cut(w.String(), `Z"`)
	equal(t, `,"message":"sent ***","answer":"no *** here"}`+"\n", rest)
}
