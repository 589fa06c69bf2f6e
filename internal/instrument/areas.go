package instrument

// Areas lists every metric of NullOps by the part of the product that it is about.
func Areas() []Area {
	return append([]Area{
		{"API", []Metric{
			timed(APIRequests, "Time of API calls, by operation and status code. Its count is their "+
				"rate; codes of 500 and more are our errors.", requestBuckets(), "operation", "code"),
		}},
		{"Ingress", []Metric{
			counted(IngressAnswers, "Answers of the ingress, by environment and class of their "+
				"status. Answers about unknown hosts have no environment.", "answers",
				"environment", "class"),
			timed(IngressRequests, "Time of requests that were passed to a service, until its "+
				"answer was sent on. Upgraded connections do not count.", requestBuckets(),
				"environment"),
			counted(IngressDials, "Connections of the ingress to services, by way: local or tunnel.",
				"connections", "way"),
			gauge(IngressRoutesChecked, "Time since the ingress last knew that its routes are those "+
				"of the control plane.", "seconds"),
		}},
		{"Links to nodes", []Metric{
			gauge(Links, "Nodes that this control plane speaks with.", "nodes"),
			counted(LinkDials, "Attempts to open a session with a node, by result.", "attempts",
				"result"),
			timed(LinkLasted, "How long sessions with nodes lasted, counted when they end.",
				[]float64{1, 10, 60, 600, 3600, 86400}),
		}},
		{"Nodes", append([]Metric{
			gauge(Nodes, "Nodes, by state of their link.", "nodes", "status"),
			gauge(Leases, "Leases of nodes: held by a control plane, or expired.", "leases", "state"),
		}, nodeMetrics()...)},
		{"Deployments and runs", []Metric{
			gauge(Deployments, "Deployments that are not gone, by status. Those that are stuck could "+
				"not be removed completely.", "deployments", "status"),
			gauge(Degraded, "Ready deployments with services that do not work.", "deployments"),
			gauge(Runs, "Runs, by status.", "runs", "status"),
			counted(RunsEnded, "Runs that ended, by outcome and the code of their failure, as far as "+
				"this process stored it. An outcome of stuck is an undo that failed.", "runs",
				"outcome", "reason"),
			timed(Steps, "Time of steps, by kind and by how they ended, as far as this process "+
				"stored it.", minutesBuckets(), "kind", "status"),
			timed(StepParts, "What steps spent their time on, such as pulling an image, as far as "+
				"this process stored it.", minutesBuckets(), "part", "result"),
			gauge(QueueLength, "Runs that wait.", "runs"),
			gauge(QueueOldest, "How long the run has waited that has waited longest.", "seconds"),
			timed(QueueWaits, "How long runs waited before they started.", minutesBuckets()),
			counted(PlacementRefusals, "Nodes that could not take a deployment which found no node, "+
				"by reason.", "nodes", "reason"),
		}},
		{"Registries, notifications and SSH", []Metric{
			timed(RegistryCalls, "Time of requests to container registries, by result: a status "+
				"class, or error if there was no answer.", requestBuckets(), "result"),
			timed(NotificationSends, "Time of attempts to send a notification, by channel and result.",
				requestBuckets(), "channel", "result"),
			gauge(NoticesWaiting, "Events that were not handed out to subscribers yet.", "events"),
			gauge(NoticesOldest, "Event lag: the age of the oldest of them.", "seconds"),
			gauge(DeliveriesWaiting, "Notifications that wait to be sent, or to be sent again.",
				"notifications"),
			timed(SSHAttempts, "Time of attempts to set up a machine over SSH, by result.",
				minutesBuckets(), "result"),
		}},
	}, storeAreas()...)
}

// storeAreas are about what the control plane stands on: the database, keys, and itself.
func storeAreas() []Area {
	return []Area{
		{"Database", []Metric{
			gauge(DatabaseInUse, "Connections of the pool that are in use.", "connections"),
			gauge(DatabaseIdle, "Connections of the pool that are idle.", "connections"),
			gauge(DatabaseMax, "Most connections that the pool opens.", "connections"),
			total(DatabaseWaits, "How often a connection had to be waited for.", "waits"),
			total(DatabaseWaited, "Time that was spent waiting for a connection.", "seconds"),
			gauge(DatabaseSize, "Size of the database.", "bytes"),
			gauge(DatabaseLocks, "Locks in the database that someone waits for.", "locks"),
			gauge(DatabaseOldest, "Age of the oldest open transaction of the database.", "seconds"),
			gauge(DatabaseListens, "1 if this process hears the database's notifications.", ""),
		}},
		{"Certificates, backup, audit and keys", []Metric{
			gauge(CertificateEnd, "When the certificate ends that ends first, by where it is from: "+
				"acme, uploaded or authority.", "Unix seconds", "source", "environment"),
			gauge(CertificateFailures, "Certificates whose last order failed.", "certificates",
				"environment"),
			gauge(BackupAt, "When the last backup was written completely.", "Unix seconds"),
			gauge(BackupFailed, "1 if the last backup failed.", ""),
			total(AuditEntries, "Entries of the audit log.", "entries"),
			counted(KeyUses, "Values that were sealed or opened, by operation and result.", "values",
				"operation", "result"),
		}},
		{"The control plane itself", []Metric{
			gauge(Servers, "Processes that have told of themselves within a minute, by role.",
				"processes", "role"),
			gauge(ClockSkew, "How far this machine's clock is ahead of the database's.", "seconds"),
			timed(JobRuns, "Time of periodic jobs, by job and result.", minutesBuckets(), "job_name",
				"result"),
			gauge(JobFailures, "How often a job failed in a row.", "failures", "job_name"),
			gauge(Alerts, "Alerts that are active, by condition and severity.", "alerts",
				"condition", "severity"),
			total(TraceSpansSent, "Spans that the collector of traces took.", "spans"),
			total(TraceSpansDropped, "Spans that were lost: the collector did not take them, or not "+
				"fast enough.", "spans"),
			total(LogLinesDropped, "Lines of the log that a flood of the same line lost.", "lines"),
			gauge(BuildInfo, "Always 1; the label is the release.", "", "version"),
		}},
	}
}

// nodeMetrics is what agents report. It comes through the control plane, so that nothing new
// listens on a node.
func nodeMetrics() []Metric {
	of := []string{"environment", "node"}
	return []Metric{
		gauge(NodeCPU, "Processors of the node.", "cores", of...),
		gauge(NodeCPUUsed, "Processors of the node in use.", "cores", of...),
		gauge(NodeMemory, "Memory of the node.", "bytes", of...),
		gauge(NodeMemoryUsed, "Memory of the node in use.", "bytes", of...),
		gauge(NodeDisk, "Size of the file system that deployments fill.", "bytes", of...),
		gauge(NodeDiskFree, "What of it is free.", "bytes", of...),
		gauge(NodeImages, "What images take on the node.", "bytes", of...),
		total(NodeImagesFreed, "What removing unused images freed since the agent started.", "bytes",
			of...),
		gauge(NodeVitalsAge, "Age of the node's figures.", "seconds", of...),
		gauge(NodeChecks, "Checks of the node that found a problem, by severity.", "checks",
			"environment", "node", "severity"),
	}
}
