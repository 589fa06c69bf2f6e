package access

import (
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// CheckAlert decides about an alert as about its cause: what is about a deployment, or an
// environment as a whole, is for those who may do the action there, and everything else for
// admins. An alert about a node stays one when the node was deleted.
func CheckAlert(a Actor, action Action, one controlplane.Alert) error {
	o := Object{What: "alert", Name: string(one.ID), Project: one.Project,
		Environment: one.Environment, Restricted: one.Restricted}
	aboutNode := one.Node != "" || strings.HasPrefix(one.Condition, "node.")
	if one.Deployment != "" || !aboutNode && one.Environment != "" {
		return Check(a, action, o)
	}
	if a.SignedIn() && !a.IsAdmin() {
		return unseenError(o)
	}
	return Check(a, Admin, o)
}
