package controlplane

// Failpoints lists every place where a crash would be worst, for a test that crashes
// at each of them. "…commit" is at the end of the transaction, "…committed" is after
// it and before any notification.
func Failpoints() []string {
	// A request is checked, a node is chosen and held, the rows are written.
	names := []string{"create.planned", "create.placed"}
	for _, verb := range []string{"create", "retry", "cancel", "delete", "forget"} {
		names = append(names, verb+".commit", verb+".committed")
	}
	// Orders go down: read from the database, written to the link. "gone" are
	// those that tell a node to remove something.
	names = append(names, "goals.read", "goals.sent", "gone.read", "gone.sent",
		"secrets.opened", "secrets.sent")
	// Reports come up; "gone" are those that say that it is removed.
	for _, what := range []string{"report", "gone"} {
		names = append(names, what+".received", what+".commit", what+".committed", what+".acked")
	}
	// An update takes the place of what ran.
	names = append(names, "switch.commit", "switch.committed")
	// The ingress hears of routes that changed, and answers by them.
	return append(names, "routes.read", "routes.published")
}
