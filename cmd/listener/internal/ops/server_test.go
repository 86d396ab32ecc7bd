package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/prefect-openlineage/listener/cmd/listener/internal/ops"
)

// client keeps no connections, so that none is left when a test ends.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func start(t *testing.T, options ops.Options) *ops.Server {
	t.Helper()
	options.Addr = "127.0.0.1:0"
	if options.Health == nil {
		options.Health = ops.NewHealth()
	}
	if options.Registry == nil {
		options.Registry = ops.NewRegistry(options.Build)
	}
	server, err := ops.New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server
}

func get(t *testing.T, url string, change ...func(*http.Request)) (status int, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(request)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

func TestProbes(t *testing.T) {
	t.Parallel()
	health := ops.NewHealth()
	store := health.Need("store")
	health.Show("destination marquez", func() (bool, string) { return false, "down for 3m0s" })
	server := start(t, ops.Options{Health: health, Auth: "u:p"})
	url := "http://" + server.Addr()
	check := func(path string, wantStatus int, want string) {
		t.Helper()
		status, body, header := get(t, url+path)
		if status != wantStatus || body != want {
			t.Errorf("%s: %d %q, want %d %q", path, status, body, wantStatus, want)
		}
		if got := header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
	check("/livez", 200, "alive\n")
	check("/startupz", 503, "starting\n")
	check("/readyz", 503, "not ready\nstarting\nstore: not there yet\n")

	health.Started()
	store.OK()
	check("/startupz", 200, "started\n")
	check("/readyz", 200, "ready\n") // though a destination is down

	status, body, header := get(t, url+"/readyz?verbose")
	var report ops.Report
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		t.Fatal(err)
	}
	if status != 200 || header.Get("Content-Type") != "application/json" || !report.Ready ||
		len(report.Checks) != 2 || report.Checks[1].Words != "down for 3m0s" {
		t.Errorf("%d %+v", status, report)
	}

	health.Stopping()
	check("/readyz", 503, "not ready\nstopping\n")
	check("/livez", 200, "alive\n")
	if status, _, _ := get(t, url+"/readyz?verbose"); status != 503 {
		t.Errorf("verbose while stopping: %d", status)
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	t.Parallel()
	url := "http://" + start(t, ops.Options{}).Addr()
	for path, want := range map[string]int{"/nothing": 404, "/debug/pprof/": 404, "/readyz/": 404} {
		if status, _, _ := get(t, url+path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	response, err := client.Post(url+"/livez", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", response.StatusCode)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := ops.NewRegistry(ops.Build{Version: "1.2.3", Revision: "abc"})
	broken := prometheus.NewDesc("broken", "Never works.", nil, nil)
	registry.MustRegister(collector{broken})
	server := start(t, ops.Options{Registry: registry})
	status, body, _ := get(t, "http://"+server.Addr()+"/metrics")
	if status != 200 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{
		`prefect_openlineage_build_info{goversion="go`, `revision="abc",version="1.2.3"} 1`,
		"go_goroutines ", "process_resident_memory_bytes ", "promhttp_metric_handler_requests_total",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// collector fails at each scrape.
type collector struct{ desc *prometheus.Desc }

func (c collector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }
func (c collector) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(c.desc, errors.New("not now"))
}

func TestMetricsPassTheLinter(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(ops.NewRegistry(ops.Build{Version: "1"}), "prefect_openlineage_build_info")
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestAuth(t *testing.T) {
	t.Parallel()
	server := start(t, ops.Options{Auth: "ops:pa:ss"})
	tests := []struct {
		name           string
		user, password string
		want           int
	}{
		{"none", "", "", 401},
		{"right", "ops", "pa:ss", 200},
		{"wrong password", "ops", "pa", 401},
		{"wrong user", "other", "pa:ss", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/", "/metrics"} {
				status, _, header := get(t, "http://"+server.Addr()+path, func(r *http.Request) {
					if tt.user != "" {
						r.SetBasicAuth(tt.user, tt.password)
					}
				})
				if status != tt.want {
					t.Errorf("%s: %d, want %d", path, status, tt.want)
				}
				if challenged := header.Get("WWW-Authenticate") != ""; challenged != (tt.want == 401) {
					t.Errorf("%s: challenge %v", path, challenged)
				}
			}
			if status, _, _ := get(t, "http://"+server.Addr()+"/livez"); status != 200 {
				t.Errorf("a probe needs credentials: %d", status)
			}
		})
	}
}

func TestAuthChanges(t *testing.T) {
	t.Parallel()
	server := start(t, ops.Options{Auth: "ops:old"})
	status := func(password string) int {
		status, _, _ := get(t, "http://"+server.Addr()+"/metrics", func(r *http.Request) { r.SetBasicAuth("ops", password) })
		return status
	}
	if err := server.SetAuth("nonsense"); err == nil {
		t.Error("no error")
	}
	if got := status("old"); got != 200 {
		t.Errorf("after a change that failed: %d", got)
	}
	if err := server.SetAuth("ops:new"); err != nil {
		t.Fatal(err)
	}
	if old, now := status("old"), status("new"); old != 401 || now != 200 {
		t.Errorf("after the change: %d with the old, %d with the new", old, now)
	}
	if err := server.SetAuth(""); err != nil || status("") != 200 {
		t.Error("credentials are still asked for")
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	health := ops.NewHealth()
	health.Need("store").OK()
	health.Show("destination <b>", func() (bool, string) { return false, "down <script>alert(1)</script>" })
	health.Started()
	server := start(t, ops.Options{Health: health, Build: ops.Build{Version: "1.2.3"}})
	status, body, header := get(t, "http://"+server.Addr()+"/")
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %s", status, header.Get("Content-Type"))
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("no policy")
	}
	for _, want := range []string{"Version 1.2.3", "Ready.", "store", "destination &lt;b&gt;", "down &lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestPprof(t *testing.T) {
	t.Parallel()
	server := start(t, ops.Options{PprofAddr: "127.0.0.1:0"})
	if status, body, _ := get(t, "http://"+server.PprofAddr()+"/debug/pprof/goroutine?debug=1"); status != 200 || !strings.Contains(body, "goroutine profile") {
		t.Errorf("%d %.100s", status, body)
	}
	if status, _, _ := get(t, "http://"+server.PprofAddr()+"/metrics"); status != 404 {
		t.Errorf("metrics on the profiles' listener: %d", status)
	}
	if start(t, ops.Options{}).PprofAddr() != "" {
		t.Error("profiles without being asked for")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	tests := map[string]ops.Options{
		"port in use":           {Addr: taken.Addr().String()},
		"no port":               {Addr: "127.0.0.1"},
		"credentials":           {Addr: "127.0.0.1:0", Auth: "s3cret"},
		"no password":           {Addr: "127.0.0.1:0", Auth: "s3cret:"},
		"profiles for everyone": {Addr: "127.0.0.1:0", PprofAddr: "0.0.0.0:0"},
		"profiles in use":       {Addr: "127.0.0.1:0", PprofAddr: taken.Addr().String()},
	}
	for name, options := range tests {
		t.Run(name, func(t *testing.T) {
			options.Health, options.Registry = ops.NewHealth(), prometheus.NewRegistry()
			server, err := ops.New(t.Context(), options)
			if err == nil {
				_ = server.Close()
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("a secret in %q", err)
			}
		})
	}
}

// A request in hand is answered before Run returns, and the port is free then.
func TestRunEndsInOrder(t *testing.T) {
	t.Parallel()
	health := ops.NewHealth()
	asked, answer := make(chan struct{}), make(chan struct{})
	health.Show("slow", func() (bool, string) {
		close(asked)
		<-answer
		return true, ""
	})
	server, err := ops.New(t.Context(), ops.Options{Addr: "127.0.0.1:0", Health: health, Registry: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	got := make(chan int, 1)
	go func() {
		response, err := client.Get("http://" + server.Addr() + "/readyz?verbose")
		if err != nil {
			got <- 0
			return
		}
		_ = response.Body.Close()
		got <- response.StatusCode
	}()
	<-asked
	cancel()
	close(answer)
	if status := <-got; status != 503 {
		t.Errorf("status %d", status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	again, err := new(net.ListenConfig).Listen(t.Context(), "tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestCloseWithoutRun(t *testing.T) {
	t.Parallel()
	server, err := ops.New(t.Context(), ops.Options{
		Addr: "127.0.0.1:0", PprofAddr: "127.0.0.1:0", Health: ops.NewHealth(), Registry: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
