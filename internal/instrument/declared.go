package instrument

// Kind is Prometheus' type of a metric.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Metric is one metric as operators read of it.
type Metric struct {
	Name   string
	Kind   Kind
	Unit   string
	Labels []string
	// Help is a sentence.
	Help string
	// Buckets are a histogram's bounds.
	Buckets []float64
	// Read is set for what is read at a scrape, instead of being counted as it happens.
	Read bool
}

// Area is a part of the product with its metrics, as docs/observability.md lists them.
type Area struct {
	Title   string
	Metrics []Metric
}

// Names of metrics that are counted, or timed, as something happens.
const (
	APIRequests       = "nullops_api_request_seconds"
	IngressAnswers    = "nullops_ingress_answers_total"
	IngressRequests   = "nullops_ingress_request_seconds"
	IngressDials      = "nullops_ingress_connections_total"
	LinkDials         = "nullops_node_link_dials_total"
	LinkLasted        = "nullops_node_link_lasted_seconds"
	RegistryCalls     = "nullops_registry_request_seconds"
	NotificationSends = "nullops_notification_send_seconds"
	SSHAttempts       = "nullops_ssh_attempt_seconds"
	Steps             = "nullops_step_seconds"
	StepParts         = "nullops_step_part_seconds"
	RunsEnded         = "nullops_runs_ended_total"
	QueueWaits        = "nullops_queue_wait_seconds"
	PlacementRefusals = "nullops_placement_refusals_total"
	KeyUses           = "nullops_key_uses_total"
	JobRuns           = "nullops_job_seconds"
)

// Names of metrics that are read at a scrape.
const (
	TraceSpansSent       = "nullops_trace_spans_sent_total"
	TraceSpansDropped    = "nullops_trace_spans_dropped_total"
	LogLinesDropped      = "nullops_log_lines_dropped_total"
	Links                = "nullops_node_links"
	DatabaseInUse        = "nullops_database_connections_in_use"
	DatabaseIdle         = "nullops_database_connections_idle"
	DatabaseMax          = "nullops_database_connections_max"
	DatabaseWaits        = "nullops_database_waits_total"
	DatabaseWaited       = "nullops_database_waited_seconds_total"
	DatabaseSize         = "nullops_database_size_bytes"
	DatabaseLocks        = "nullops_database_locks_waiting"
	DatabaseOldest       = "nullops_database_oldest_transaction_seconds"
	DatabaseListens      = "nullops_database_listening"
	Runs                 = "nullops_runs"
	Deployments          = "nullops_deployments"
	Degraded             = "nullops_deployments_degraded"
	QueueLength          = "nullops_queue_length"
	QueueOldest          = "nullops_queue_oldest_seconds"
	Nodes                = "nullops_nodes"
	NodeCPU              = "nullops_node_cpu_cores"
	NodeCPUUsed          = "nullops_node_cpu_used_cores"
	NodeMemory           = "nullops_node_memory_bytes"
	NodeMemoryUsed       = "nullops_node_memory_used_bytes"
	NodeDisk             = "nullops_node_disk_bytes"
	NodeDiskFree         = "nullops_node_disk_free_bytes"
	NodeImages           = "nullops_node_images_bytes"
	NodeImagesFreed      = "nullops_node_images_freed_bytes_total"
	NodeVitalsAge        = "nullops_node_vitals_age_seconds"
	NodeChecks           = "nullops_node_checks"
	CertificateEnd       = "nullops_certificate_expiry_timestamp_seconds"
	CertificateFailures  = "nullops_certificate_orders_failing"
	BackupAt             = "nullops_backup_success_timestamp_seconds"
	BackupFailed         = "nullops_backup_failed"
	AuditEntries         = "nullops_audit_entries_total"
	JobFailures          = "nullops_job_failures"
	NoticesWaiting       = "nullops_notices_waiting"
	NoticesOldest        = "nullops_notices_oldest_seconds"
	DeliveriesWaiting    = "nullops_deliveries_waiting"
	ClockSkew            = "nullops_clock_skew_seconds"
	Leases               = "nullops_leases"
	Servers              = "nullops_servers"
	Alerts               = "nullops_alerts"
	BuildInfo            = "nullops_build_info"
	IngressRoutesChecked = "nullops_ingress_routes_age_seconds"
)

// Declared lists every metric of NullOps.
func Declared() []Metric {
	var all []Metric
	for _, a := range Areas() {
		all = append(all, a.Metrics...)
	}
	return all
}

// Buckets: requests end within seconds; pulls of large images, slow migrations and waits for
// room take minutes.
func requestBuckets() []float64 {
	return []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5}
}

func minutesBuckets() []float64 {
	return []float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}
}

func timed(name, unitOf string, buckets []float64, labels ...string) Metric {
	return Metric{Name: name, Kind: Histogram, Unit: "seconds", Help: unitOf, Buckets: buckets,
		Labels: labels}
}

func counted(name, help, unit string, labels ...string) Metric {
	return Metric{Name: name, Kind: Counter, Unit: unit, Help: help, Labels: labels}
}

func gauge(name, help, unit string, labels ...string) Metric {
	return Metric{Name: name, Kind: Gauge, Unit: unit, Help: help, Labels: labels, Read: true}
}

func total(name, help, unit string, labels ...string) Metric {
	return Metric{Name: name, Kind: Counter, Unit: unit, Help: help, Labels: labels, Read: true}
}
