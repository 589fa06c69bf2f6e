// What writes the Grafana dashboards of deploy/observability, beside tools/go.mod: nothing else
// needs Grafana's types.
module github.com/nullops/nullops/tools/dashboards

go 1.26.0

require github.com/grafana/grafana-foundation-sdk/go v0.0.22
