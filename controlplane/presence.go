package controlplane

import "time"

// PresenceFor is how long after their last request somebody still counts as there.
const PresenceFor = 5 * time.Minute

// VisitorKind says how a visitor came in.
type VisitorKind string

// The kinds. Where the gate asks for no pass, visitors are counted only.
const (
	VisitorPerson VisitorKind = "person"
	VisitorGuest  VisitorKind = "guest"
	VisitorRobot  VisitorKind = "robot"
	VisitorCount  VisitorKind = "count"
)

// Visitor is somebody at a deployment's addresses, or how many are there.
type Visitor struct {
	Kind VisitorKind
	// User is empty for all but people.
	User UserID
	// Name is a person's, or what a guest's link or a robot's token is called.
	Name string
	// Visitors is one, except for counts.
	Visitors int
	LastSeen time.Time
}

// KnownVisitors returns those who showed a pass. Where none is asked for, nobody knows whether a
// visitor is the one who asks, a monitor or a tester, so nothing waits for them.
func KnownVisitors(all []Visitor) (known []Visitor) {
	for _, v := range all {
		if v.Kind != VisitorCount {
			known = append(known, v)
		}
	}
	return known
}

// PresenceReport says that somebody made a request.
type PresenceReport struct {
	Deployment DeploymentID
	// Pass is whose; empty where none is asked for.
	Pass PassID
	// Visitors is how many Ingress counted lately, without a pass.
	Visitors int
	Ingress  string
}
