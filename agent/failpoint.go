package agent

// Failpoints lists every place of the agent where a crash would be worst: each journal
// write (those that hold a decision have a second one), before and after each call of
// the Runtime and each step of an approval, and while a sandbox is prepared and used.
func Failpoints() []string {
	names := []string{"journal.append", "journal.sync", "journal.synced",
		"journal.decided", "journal.compact",
		"journal.compacted",
		"goals.received", "secrets.received", "report.sent", "report.acked"}
	for _, kind := range []string{"prepare", "pull", "start", "probe", "create_ahead", "run",
		"remove", "remove_all"} {
		names = append(names, "runtime."+kind+".before", "runtime."+kind+".after")
	}
	for _, kind := range []string{"ask", "answer"} {
		names = append(names, "approval."+kind+".before", "approval."+kind+".after")
	}
	return append(names, "holder.started", "sandbox.created", "sandbox.waits", "sandbox.go",
		"sandbox.service_created", "sandbox.service_waits", "sandbox.service_go",
		"sandbox.service_told")
}
