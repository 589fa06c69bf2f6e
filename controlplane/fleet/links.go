package fleet

// Links counts the nodes that this control plane speaks with at the moment.
func (f *Fleet) Links() int { return len(f.roster.list()) }
