// Command dashboards writes the Grafana dashboards of deploy/observability. It is a module of its
// own: the product needs nothing of Grafana.
//
//	GOWORK=off go -C tools/dashboards run . FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

// panel is one graph: what it shows, in which unit, and its queries with their legends.
type panel struct {
	title, unit string
	queries     []query
}

type query struct{ expr, legend string }

// board is one dashboard with its rows.
type board struct {
	file, title string
	rows        []row
}

type row struct {
	title  string
	panels []panel
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards FOLDER")
		os.Exit(2)
	}
	for _, b := range []board{overview(), traffic(), platform()} {
		if err := b.write(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "dashboards:", err)
			os.Exit(1)
		}
	}
}

func (b board) write(folder string) error {
	built, err := b.builder().Build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, b.file+".json"), append(text, '\n'), 0o644)
}

func (b board) builder() *dashboard.DashboardBuilder {
	d := dashboard.NewDashboardBuilder(b.title).Uid("nullops-"+b.file).
		Tags([]string{"nullops"}).Readonly().Refresh("30s").Time("now-6h", "now").
		Timezone(common.TimeZoneBrowser).Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").
			Type("prometheus"))
	for _, r := range b.rows {
		d = d.WithRow(dashboard.NewRowBuilder(r.title))
		for _, p := range r.panels {
			d = d.WithPanel(p.builder())
		}
	}
	return d
}

func (p panel) builder() *timeseries.PanelBuilder {
	source := common.DataSourceRef{Type: ptr("prometheus"), Uid: ptr("${datasource}")}
	b := timeseries.NewPanelBuilder().Title(p.title).Unit(p.unit).Min(0).Span(8).Height(7).
		Datasource(source).FillOpacity(10)
	for i, q := range p.queries {
		b = b.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).
			RefId(string(rune('A' + i))).Datasource(source).Exemplar(true))
	}
	return b
}

func ptr[T any](v T) *T { return &v }

// overview is what an operator looks at first.
func overview() board {
	return board{"overview", "NullOps: overview", []row{
		{"What needs attention", []panel{
			{"Active alerts", units.Short, []query{
				{"max by (condition) (nullops_alerts)", "{{condition}}"}}},
			{"Nodes by state", units.Short, []query{
				{"max by (status) (nullops_nodes)", "{{status}}"}}},
			{"Deployments by status", units.Short, []query{
				{"max by (status) (nullops_deployments)", "{{status}}"},
				{"max(nullops_deployments_degraded)", "degraded"}}},
			{"Runs by status", units.Short, []query{
				{"max by (status) (nullops_runs)", "{{status}}"}}},
		}},
		{"Runs", []panel{
			{"Runs ended per hour", units.Short, []query{
				{"sum by (outcome) (max without (instance) (increase(nullops_runs_ended_total[1h])))",
					"{{outcome}}"}}},
			{"Failures by reason per hour", units.Short, []query{
				{`sum by (reason) (max without (instance) ` +
					`(increase(nullops_runs_ended_total{reason!=""}[1h])))`, "{{reason}}"}}},
			{"Queue", units.Short, []query{{"max(nullops_queue_length)", "runs that wait"}}},
			{"Wait in the queue, 95 %", units.Seconds, []query{
				{"histogram_quantile(0.95, sum by (le) (rate(nullops_queue_wait_seconds_bucket[30m])))",
					"waited"}, {"max(nullops_queue_oldest_seconds)", "waits longest"}}},
			{"Step time by kind, 95 %", units.Seconds, []query{
				{"histogram_quantile(0.95, sum by (kind, le) (rate(nullops_step_seconds_bucket[30m])))",
					"{{kind}}"}}},
			{"Parts of steps, 95 %", units.Seconds, []query{
				{"histogram_quantile(0.95, " +
					"sum by (part, le) (rate(nullops_step_part_seconds_bucket[30m])))", "{{part}}"}}},
			{"Placement refusals per hour", units.Short, []query{
				{"sum by (reason) (increase(nullops_placement_refusals_total[1h]))", "{{reason}}"}}},
		}},
		{"Nodes", []panel{
			{"CPU in use", units.PercentUnit, []query{
				{"max by (node) (nullops_node_cpu_used_cores / nullops_node_cpu_cores)", "{{node}}"}}},
			{"Memory in use", units.PercentUnit, []query{
				{"max by (node) (nullops_node_memory_used_bytes / nullops_node_memory_bytes)",
					"{{node}}"}}},
			{"Free disk", units.BytesIEC, []query{
				{"min by (node) (nullops_node_disk_free_bytes)", "{{node}}"}}},
			{"Disk in use", units.PercentUnit, []query{
				{"1 - min by (node) (nullops_node_disk_free_bytes / nullops_node_disk_bytes)",
					"{{node}}"}}},
			{"Images", units.BytesIEC, []query{
				{"max by (node) (nullops_node_images_bytes)", "{{node}}"},
				{"max by (node) (increase(nullops_node_images_freed_bytes_total[1h]))",
					"{{node}} freed per hour"}}},
			{"Checks that found a problem", units.Short, []query{
				{"max by (node, severity) (nullops_node_checks) > 0", "{{node}} {{severity}}"}}},
			{"Age of figures", units.Seconds, []query{
				{"max by (node) (nullops_node_vitals_age_seconds)", "{{node}}"}}},
		}},
	}}
}

// traffic is what people and visitors feel.
func traffic() board {
	return board{"traffic", "NullOps: API and ingress", []row{
		{"API", []panel{
			{"Calls", units.RequestsPerSecond, []query{
				{"sum by (operation) (rate(nullops_api_request_seconds_count[5m]))", "{{operation}}"}}},
			{"Errors", units.PercentUnit, []query{{"nullops:api_errors:ratio_rate5m", "5xx"}}},
			{"Time, 99 %", units.Seconds, []query{
				{"nullops:api_request_seconds:p99_rate5m", "all"},
				{"histogram_quantile(0.99, sum by (operation, le) " +
					"(rate(nullops_api_request_seconds_bucket[5m])))", "{{operation}}"}}},
		}},
		{"Ingress", []panel{
			{"Answers", units.RequestsPerSecond, []query{
				{"sum by (environment, class) (rate(nullops_ingress_answers_total[5m]))",
					"{{environment}} {{class}}"}}},
			{"Errors", units.PercentUnit, []query{
				{"environment:nullops_ingress_errors:ratio_rate5m", "{{environment}}"}}},
			{"Time, 99 %", units.Seconds, []query{
				{"environment:nullops_ingress_request_seconds:p99_rate5m", "{{environment}}"}}},
			{"Connections to services", units.Short, []query{
				{"sum by (way) (rate(nullops_ingress_connections_total[5m]))", "{{way}}"}}},
			{"Age of routes", units.Seconds, []query{
				{"nullops_ingress_routes_age_seconds", "{{instance}}"}}},
		}},
		{"Others", []panel{
			{"Registry calls", units.RequestsPerSecond, []query{
				{"sum by (result) (rate(nullops_registry_request_seconds_count[5m]))", "{{result}}"}}},
			{"Notifications", units.RequestsPerSecond, []query{
				{"sum by (channel, result) (rate(nullops_notification_send_seconds_count[5m]))",
					"{{channel}} {{result}}"}}},
			{"SSH attempts per hour", units.Short, []query{
				{"sum by (result) (increase(nullops_ssh_attempt_seconds_count[1h]))", "{{result}}"}}},
		}},
	}}
}

// platform is what the control plane itself lives on.
func platform() board {
	return board{"platform", "NullOps: control plane", []row{
		{"Processes", []panel{
			{"Processes that live", units.Short, []query{
				{"max by (role) (nullops_servers)", "{{role}}"}}},
			{"CPU", units.Short, []query{
				{`rate(process_cpu_seconds_total{job="nullops"}[5m])`, "{{instance}}"}}},
			{"Memory", units.BytesIEC, []query{
				{`process_resident_memory_bytes{job="nullops"}`, "{{instance}}"}}},
			{"Links to nodes", units.Short, []query{{"nullops_node_links", "{{instance}}"}}},
			{"Attempts to open a session", units.Short, []query{
				{"sum by (result) (rate(nullops_node_link_dials_total[5m]))", "{{result}}"}}},
			{"Sessions that ended per hour", units.Short, []query{
				{"sum(increase(nullops_node_link_lasted_seconds_count[1h]))", "ended"}}},
			{"Leases", units.Short, []query{{"max by (state) (nullops_leases)", "{{state}}"}}},
			{"Clock ahead of the database's", units.Seconds, []query{
				{"nullops_clock_skew_seconds", "{{instance}}"}}},
		}},
		{"Database", []panel{
			{"Pool", units.Short, []query{
				{"nullops_database_connections_in_use", "{{instance}} in use"},
				{"nullops_database_connections_idle", "{{instance}} idle"},
				{"nullops_database_connections_max", "{{instance}} at most"}}},
			{"Waits for a connection", units.Seconds, []query{
				{"rate(nullops_database_waited_seconds_total[5m])", "{{instance}} time"},
				{"rate(nullops_database_waits_total[5m])", "{{instance}} times"}}},
			{"Size", units.BytesIEC, []query{{"max(nullops_database_size_bytes)", "database"}}},
			{"Locks that are waited for", units.Short, []query{
				{"max(nullops_database_locks_waiting)", "locks"}}},
			{"Oldest transaction", units.Seconds, []query{
				{"max(nullops_database_oldest_transaction_seconds)", "open"}}},
			{"Notifications heard", units.Short, []query{
				{"nullops_database_listening", "{{instance}}"}}},
		}},
		{"Work", []panel{
			{"Jobs, 95 %", units.Seconds, []query{
				{"histogram_quantile(0.95, sum by (job_name, le) (rate(nullops_job_seconds_bucket[1h])))",
					"{{job_name}}"}}},
			{"Failures in a row", units.Short, []query{
				{"max by (job_name) (nullops_job_failures) > 0", "{{job_name}}"}}},
			{"Event lag", units.Seconds, []query{
				{"max(nullops_notices_oldest_seconds)", "oldest"}}},
			{"Waiting", units.Short, []query{{"max(nullops_notices_waiting)", "events"},
				{"max(nullops_deliveries_waiting)", "notifications"}}},
			{"Audit entries per hour", units.Short, []query{
				{"max(increase(nullops_audit_entries_total[1h]))", "entries"}}},
			{"Keys", units.Short, []query{
				{"sum by (operation, result) (rate(nullops_key_uses_total[5m]))",
					"{{operation}} {{result}}"}}},
			{"Observing", units.Short, []query{
				{"sum(rate(nullops_trace_spans_sent_total[5m]))", "spans sent"},
				{"sum(rate(nullops_trace_spans_dropped_total[5m]))", "spans dropped"},
				{"sum(rate(nullops_log_lines_dropped_total[5m]))", "log lines dropped"}}},
		}},
		{"Deadlines", []panel{
			{"Certificates end in", units.Seconds, []query{
				{"min by (source, environment) (nullops_certificate_expiry_timestamp_seconds) - time()",
					"{{source}} {{environment}}"}}},
			{"Certificates that cannot be ordered", units.Short, []query{
				{"max by (environment) (nullops_certificate_orders_failing)", "{{environment}}"}}},
			{"Age of the last backup", units.Seconds, []query{
				{"time() - max(nullops_backup_success_timestamp_seconds)", "backup"},
				{"max(nullops_backup_failed)", "failed"}}},
		}},
	}}
}
