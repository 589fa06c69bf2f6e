package controlplane

import "strings"

// DeploymentOrder is an order that lists of deployments come in. Names and creation times never
// change, so the next page is right even if deployments come and go.
type DeploymentOrder int

// The orders; names that are the same follow each other by age.
const (
	NewestFirst DeploymentOrder = iota
	OldestFirst
	ByName
	NameBackwards
)

// ByName reports whether names come before ages.
func (o DeploymentOrder) ByName() bool { return o == ByName || o == NameBackwards }

// DeploymentPlace is a place in an ordered list: that of a deployment, which may
// be gone. Name is empty in orders that do not need it.
type DeploymentPlace struct {
	Name string
	ID   DeploymentID
}

// PlaceOf is where the deployment stands in the order.
func (o DeploymentOrder) PlaceOf(d Deployment) DeploymentPlace {
	if o.ByName() {
		return DeploymentPlace{Name: d.Name, ID: d.ID}
	}
	return DeploymentPlace{ID: d.ID}
}

// Cursor is how a place travels: NAME/ID, or ID where the name does not count.
func (p DeploymentPlace) Cursor() string {
	if p.Name == "" {
		return string(p.ID)
	}
	return p.Name + "/" + string(p.ID)
}

// ParseCursor reads a cursor of this order back; the empty one is the beginning.
func (o DeploymentOrder) ParseCursor(cursor string) (p DeploymentPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	name, id, named := strings.Cut(cursor, "/")
	if !named {
		name, id = "", cursor
	}
	if named != o.ByName() || !ValidID(id) || named && !isLabel(name) {
		return p, &Error{Kind: Invalid, Code: "cursor_invalid", Field: "cursor",
			Message: "this is no cursor of a list in this order",
			Remedy:  "Send the one of the page before with the same order, or none."}
	}
	return DeploymentPlace{Name: name, ID: DeploymentID(id)}, nil
}
