package docker

// HangUp is what the death of an agent does to the sandboxes that wait for it.
func HangUp(d *Docker) {
	d.plugins.sandboxes.hangUp("", d.names)
}
