package transporttest

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
)

// reset ends a connection with a reset instead of an orderly end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	raw := conn
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		raw = wrapped.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // an end without lingering is a reset
	}
	_ = raw.Close()
}

// cut writes the beginning of an answer and ends the connection.
func cut(w http.ResponseWriter, beginning string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, beginning)
	_ = conn.Close()
}

// quiet is a logger for what servers say about connections that tests break on purpose.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// identity is what makes two events the same.
type identity struct{ run, eventType, time string }

func identify(body []byte) identity {
	var event struct {
		EventType string `json:"eventType"`
		EventTime string `json:"eventTime"`
		Run       struct {
			RunID string `json:"runId"`
		} `json:"run"`
	}
	if json.Unmarshal(body, &event) != nil {
		return identity{}
	}
	return identity{event.Run.RunID, event.EventType, event.EventTime}
}
