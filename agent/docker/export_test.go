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
