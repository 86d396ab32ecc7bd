package file

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/prefect-openlineage/listener/transport"
)

const (
	stamp      = "20060102-150405.000000"
	debugStamp = "060102T150405.000000"
	// maxName is the longest file name of the usual file systems, in bytes.
	maxName = 255
)

// name returns the file of one event, named as the Python client names it: the path is the beginning, so events.json
// gives events.json-20261130-101500.000000.json.
func (c Config) name(event transport.Event, at time.Time) string {
	if !c.Debug {
		return c.Path + "-" + at.Format(stamp) + ".json"
	}
	eventType := event.Type
	if eventType == "" {
		eventType = "unknown_event_type"
	}
	prefix, suffix := c.Path+"-"+at.Format(debugStamp)+"-", "-"+safe(eventType)+".json"
	job := safe(event.Name)
	if room := maxName - len(filepath.Base(prefix)) - len(suffix); len(job) > room {
		sum := sha256.Sum256([]byte(event.Name))
		tail := "-" + hex.EncodeToString(sum[:4])
		job = strings.ToValidUTF8(job[:max(0, room-len(tail))], "") + tail
	}
	return prefix + job + suffix
}

// safe makes a text fit for a file name: all but letters, digits, "_", "." and "-" becomes two underscores.
func safe(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' || r == '.' || r == '-' {
			b.WriteRune(r)
		} else {
			b.WriteString("__")
		}
	}
	return b.String()
}
