package docker

// HangUp is what the death of an agent does to the sandboxes that wait for it.
func HangUp(d *Docker) {
	d.plugins.sandboxes.hangUp("", d.names)
}

// HangUpHolders is what the death of an agent does to the holders of places in networks.
func HangUpHolders(d *Docker) {
	for _, h := range d.plugins.holders.all {
		_ = h.conn.Conn.Close()
	}
}

// HideProcesses makes d one that does not see the engine's processes, such as an agent in a
// container.
func HideProcesses(d *Docker, empty string) { d.relays.inside.processes.proc = empty }
