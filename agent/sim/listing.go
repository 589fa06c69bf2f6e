package sim

import "github.com/nullops/nullops/agent/engine"

// noteObject sorts one object into a listing, as package agent does.
func noteObject(l *engine.ObjectsListed, o object) {
	l.Objects++
	switch o.kind {
	case network:
		l.Network = true
	case relay:
		l.Relay = l.Relay || o.state == running
	case service:
		if o.state == running {
			l.Running = append(l.Running, o.step)
		}
	case plugin:
		l.Plugins = append(l.Plugins, o.step)
	}
}
