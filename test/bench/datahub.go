package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/prefect-openlineage/listener/test/rig"
	"github.com/prefect-openlineage/listener/transport/datahub/aspect"
	"github.com/prefect-openlineage/listener/transport/datahub/mcp"
)

// datahubPython is DataHub's own client, in a virtual environment that make bench sets up.
func (b *bench) datahubPython() string {
	python := filepath.Join(rig.Root(), ".cache", "datahub-venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		b.Fatalf("DataHub's own client is not there (make bench sets it up): %v", err)
	}
	return python
}

// described is a proposal of the measurement, as both clients read it from a file of lines.
type described struct {
	URN              string            `json:"urn"`
	Description      string            `json:"description"`
	CustomProperties aspect.Properties `json:"customProperties"`
}

// writeProposals writes n proposals, each for a table of its own and of the size that dataset properties mostly have.
func (b *bench) writeProposals(n int) string {
	path := filepath.Join(b.TempDir(), "proposals")
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	for i := range n {
		err := out.Encode(described{
			URN:         fmt.Sprintf("urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.table_%06d,PROD)", i),
			Description: "This table holds what was sold, by day and shop.",
			CustomProperties: aspect.Properties{
				"owner": "sales", "row_count": fmt.Sprint(i), "source": "nightly",
			},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// readProposals reads what writeProposals wrote, as proposals.
func readProposals(path string) ([]mcp.Proposal, error) {
	lines, err := readDescribed(path)
	if err != nil {
		return nil, err
	}
	var all []mcp.Proposal
	for _, d := range lines {
		p, err := d.proposal()
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (d described) proposal() (mcp.Proposal, error) {
	return mcp.New(d.URN, aspect.DatasetProperties{Description: d.Description, CustomProperties: d.CustomProperties})
}

// readDescribed reads what writeProposals wrote.
func readDescribed(path string) ([]described, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []described
	in := json.NewDecoder(bufio.NewReader(file))
	for {
		var d described
		switch err := in.Decode(&d); err {
		case nil:
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		all = append(all, d)
	}
}

// spent is what a client says of its sending: from the first proposal to the last answer, without its start.
type spent struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	// First is how long the first proposal took where it was sent by itself, with connecting.
	First float64 `json:"first,omitempty"`
}

// spend runs a client and reads what it says last.
func (b *bench) spend(cmd *exec.Cmd) spent {
	home := b.TempDir()
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "DATAHUB_TELEMETRY_ENABLED=false"}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	said, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s", filepath.Base(cmd.Path), err, problems.String())
	}
	var s spent
	if err := json.Unmarshal(said, &s); err != nil || s.Seconds <= 0 {
		b.Fatalf("%s said %q: %v", filepath.Base(cmd.Path), said, err)
	}
	return s
}

// gms stands for DataHub's metadata service: it takes every proposal at once and counts them.
type gms struct {
	url string

	mu    sync.Mutex
	count int
}

func (b *bench) newGMS() *gms {
	g := &gms{}
	listener := b.listen()
	g.url = "http://" + listener.Addr().String()
	b.serve(&http.Server{Handler: g, ReadHeaderTimeout: time.Minute}, listener)
	return g
}

// ServeHTTP takes the proposals of a Rest.li request.
func (g *gms) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	g.mu.Lock()
	g.count += bytes.Count(body, []byte(`"entityUrn"`))
	g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"value":"success"}`) // the client went away
}

// taken returns how many proposals came since it was last asked.
func (g *gms) taken() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.count
	g.count = 0
	return n
}
