package controlplane

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// GateMode says who may open deployments.
type GateMode string

// The modes, from open to strict.
const (
	GateOpen    GateMode = "open"
	GateGuests  GateMode = "guests"
	GateMembers GateMode = "members"
)

// Stricter returns the stricter of two modes: a deployment is never more open than its
// environment.
func (m GateMode) Stricter(other GateMode) GateMode {
	if other.rank() > m.rank() {
		return other
	}
	return m
}

// IsValid reports whether the mode is one of the three.
func (m GateMode) IsValid() bool { return m == GateOpen || m.rank() > 0 }

func (m GateMode) rank() int {
	switch m {
	case GateGuests:
		return 1
	case GateMembers:
		return 2
	default:
		return 0
	}
}

// Zone is an environment's part of the name space.
type Zone struct {
	Environment EnvironmentID
	Name        string
	Domain      string
	EnvironmentGate
}

// EnvironmentGate is an admin's setting of who may enter, and how.
type EnvironmentGate struct {
	Gate GateMode
	// RedirectHTTPS redirects plain HTTP requests to HTTPS.
	RedirectHTTPS bool
}

// PassID identifies a pass.
type PassID string

// PassKind says how a pass was obtained.
type PassKind string

// The kinds. A code is traded once for a visit.
const (
	PassCode  PassKind = "code"
	PassVisit PassKind = "visit"
	PassGuest PassKind = "guest"
	PassRobot PassKind = "robot"
)

// Pass opens one deployment, or with a robot all of an environment.
type Pass struct {
	ID          PassID
	Kind        PassKind
	Hash        [32]byte
	Environment EnvironmentID
	Deployment  DeploymentID
	// Host is where a code may be used.
	Host      string
	Session   SessionID
	User      UserID
	Label     string
	CreatedBy string
	CreatedAt time.Time
	ExpiresAt time.Time
	LastUsed  *time.Time
}

// HostService is the deployment and service of a host, as far as access checks need it.
type HostService struct {
	Host        string
	Service     string
	Deployment  DeploymentID
	Name        string
	Status      DeploymentStatus
	Project     ProjectID
	Environment EnvironmentID
	Restricted  bool
}

// IngressConfig is what the ingress shows and asks for besides its routes.
type IngressConfig struct {
	Zones []Zone
	// Gates has the deployments whose own gate is not open.
	Gates map[DeploymentID]GateMode
	// Builds spells what deployments run, if responses name it.
	Builds map[DeploymentID]string
	// Removers names who took away what is gone.
	Removers map[DeploymentID]string
	// Steps are those of deployments on their way.
	Steps map[DeploymentID][]StartingStep
}

// StartingStep is a line of a page that waits.
type StartingStep struct {
	Title  string
	Status pipeline.StepStatus
}
