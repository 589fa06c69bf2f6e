package agent

// Failpoint is called at every named place where a crash would be worst: each
// journal write, and before and after each call of the Runtime. It may kill
// the process, or return an error that the place then meets. Nil does nothing.
type Failpoint func(name string) error

func (f Failpoint) hit(name string) error {
	if f == nil {
		return nil
	}
	return f(name)
}

// Failpoints lists every name, for a sweep that must visit them all.
func Failpoints() []string {
	names := []string{"journal.append", "journal.sync", "journal.synced", "journal.compact",
		"journal.compacted",
		"goals.received", "secrets.received", "report.sent", "report.acked"}
	for _, kind := range []string{"prepare", "pull", "start", "probe", "create_ahead", "run",
		"remove", "remove_all"} {
		names = append(names, "runtime."+kind+".before", "runtime."+kind+".after")
	}
	return names
}
