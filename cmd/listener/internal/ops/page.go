package ops

import (
	"bytes"
	"html/template"
	"net/http"
	"runtime"
	"time"

	"go.uber.org/zap"
)

// pageText is the page for people: how everything stands, without a script, read again every ten seconds.
var pageText = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<title>Prefect to OpenLineage listener</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td { overflow-wrap: anywhere; }
.good { color: #1b6e2d; }
.bad { color: #b00020; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } th, td { border-color: #444; } a { color: #8ab4f8; }
  .good { color: #7bc98b; } .bad { color: #ff8a80; }
}
</style>
</head>
<body>
<h1>Prefect to OpenLineage listener</h1>
<p>{{if .Report.Ready}}<span class="good">Ready.</span>{{else if .Report.Stopping}}<span class="bad">Stopping.</span>{{else if not .Report.Started}}<span class="bad">Starting.</span>{{else}}<span class="bad">Not ready.</span>{{end}}
Version {{.Build.Version}}{{with .Build.Revision}} ({{.}}){{end}}, {{.Go}}, up for {{.Up}}.</p>
<table>
<thead><tr><th scope="col">What</th><th scope="col">State</th><th scope="col">Detail</th></tr></thead>
<tbody>
{{range .Report.Checks}}<tr><td>{{.Name}}</td><td>{{if .OK}}<span class="good">good</span>{{else}}<span class="bad">{{if .Needed}}not ready{{else}}trouble{{end}}</span>{{end}}</td><td>{{.Words}}</td></tr>
{{end}}</tbody>
</table>
<p><a href="metrics">Metrics</a> · <a href="readyz?verbose">Health as JSON</a></p>
</body>
</html>
`))

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	err := pageText.Execute(&text, struct {
		Report Report
		Build  Build
		Go     string
		Up     time.Duration
	}{s.options.Health.Report(), s.options.Build, runtime.Version(), time.Since(s.began).Round(time.Second)})
	if err != nil {
		s.options.Log.Error("the page could not be made", zap.Error(err))
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_, _ = text.WriteTo(w) // a client that is gone is no trouble of ours
}
