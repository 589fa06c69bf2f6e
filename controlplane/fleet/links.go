package fleet

// CountSessions counts the nodes that this control plane speaks with at the moment.
func (f *Fleet) CountSessions() int { return len(f.roster.list()) }
