package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// listenerAt has the settings name a server that answers as a listener would.
func (r *rig) listenerAt(t *testing.T, answers map[string]int) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.WriteHeader(answers[request.URL.Path])
		_, _ = w.Write([]byte("first \x1b[31mwords\nsecond words\n"))
	}))
	t.Cleanup(server.Close)
	r.input.Variables.HTTPAddr = strings.TrimPrefix(server.URL, "http://")
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		answers map[string]int
		args    []string
		code    int
		says    string
	}{
		{"alive", map[string]int{"/livez": 200, "/readyz": 503}, nil, exitOK, "first \uFFFD[31mwords\nsecond words\n"},
		{"ready", map[string]int{"/livez": 200, "/readyz": 200}, []string{"--ready"}, exitOK, "first \uFFFD[31mwords\nsecond words\n"},
		{"not ready", map[string]int{"/livez": 200, "/readyz": 503}, []string{"--ready"}, exitError, "answers 503: first \uFFFD[31mwords; second words\n"},
		{"something else", map[string]int{"/livez": 404}, nil, exitError, "/livez answers 404"},
		{"no time", nil, []string{"--timeout", "0s"}, exitUsage, "--timeout=0s: takes a duration above zero"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig()
			r.listenerAt(t, test.answers)
			r.want(t, test.code, append([]string{"healthcheck"}, test.args...)...)
			if said := r.stdout.String() + r.stderr.String(); !strings.Contains(said, test.says) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

func TestHealthcheckOfNobody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	addr := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	for _, test := range []struct{ addr, says string }{
		{addr, "listener: no answer from http://" + addr + "/livez: "},
		{"off", "listener: LISTENER_HTTP_ADDR=off: the listener serves no health"},
		{"127.0.0.1:0", "listener: LISTENER_HTTP_ADDR=127.0.0.1:0: the listener took a free port"},
	} {
		r := newRig()
		r.input.Variables.HTTPAddr = test.addr
		r.want(t, exitError, "healthcheck")
		if !strings.HasPrefix(r.stderr.String(), test.says) {
			t.Errorf("%s: it says %q", test.addr, r.stderr.String())
		}
	}
}

func TestHealthHost(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "[::1]:8080", "[::1]:8080": "[::1]:8080",
		"127.0.0.1:4280": "127.0.0.1:4280", "10.1.2.3:80": "10.1.2.3:80", "listener:80": "listener:80",
	} {
		got, err := healthHost(addr)
		equal(t, []any{want, nil}, []any{got, err})
	}
}
